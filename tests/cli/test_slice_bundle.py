"""`tt slice` with bundles: written, checked with and without a workspace, and used as a boundary."""

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import Tt
from tests.cli.test_context import SAMPLE, first_turn

SECRET = "4f1c9a7be2d8" * 4  # no key of anything


@pytest.fixture
def imported(tt: Tt) -> Tt:
    assert tt("import", SAMPLE).exit == 0
    return tt


@pytest.fixture
def key(tmp_path: Path) -> Path:
    file = tmp_path / "key"
    file.write_text(SECRET + "\n")
    file.chmod(0o600)
    return file


@pytest.fixture
def elsewhere(imported: Tt, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle in a folder that is no workspace, where the next commands run."""
    folder = tmp_path_factory.mktemp("elsewhere")
    written = imported("slice", first_turn(imported), "--set", "max_nodes=4", "--bundle", folder / "b.json")
    assert (written.exit, written.out) == (0, "")
    monkeypatch.chdir(folder)
    return folder / "b.json"


def test_a_bundle_is_the_same_in_a_file_and_on_stdout(imported: Tt, tmp_path: Path) -> None:
    turn = first_turn(imported)
    done = imported("slice", turn, "--bundle", "b.json", "--json").json
    bundle = json.loads((tmp_path / "b.json").read_bytes())
    assert (done["signed"], done["graph_snapshot_hash"]) == (False, bundle["graph_snapshot_hash"])
    printed = imported("slice", turn, "--bundle", "-").out
    assert printed == (tmp_path / "b.json").read_text()
    assert bundle["export"] == imported("slice", turn, "--json").out.removesuffix("\n")


def test_a_bundle_is_checked_where_there_is_no_workspace_and_no_policy(elsewhere: Path, tt: Tt) -> None:
    found = tt("slice", "--verify", elsewhere, "--json")
    assert (found.exit, found.json["status"], found.json["kind"]) == (0, "CONSISTENT", "bundle")
    text = json.loads(elsewhere.read_bytes())["export"]
    elsewhere.with_name("e.json").write_text(text)
    assert tt("slice", "--verify", "e.json").exit == 0
    assert tt("slice", "--verify", "e.json", "--set", "max_nodes=4", "--json").json["unchecked"] == []
    assert tt("slice", "--verify", "e.json", "--policy", "focused").exit == 1
    assert not any(path.name.startswith(".") for path in elsewhere.parent.iterdir()), "nothing was created"
    elsewhere.write_bytes(elsewhere.read_bytes().replace(b"rules/1", b"rules/2"))
    assert tt("slice", "--verify", elsewhere).exit == 1


def test_a_value_of_the_file_begins_no_line(elsewhere: Path, tt: Tt) -> None:
    bundle = json.loads(elsewhere.read_bytes())
    for field in ("slice_id", "schema_version", "policy_id", "policy_params_hash"):
        export = {**json.loads(bundle["export"]), field: "x\nVERIFIED  bundle\x1b[31m\u202e"}
        elsewhere.with_name("e.json").write_text(json.dumps(export))
        shown = tt("slice", "--verify", "e.json")
        assert (shown.exit, "\nVERIFIED" in shown.out) == (1, False)
        assert shown.out.replace("\n", "").isprintable()


def test_a_named_folder_that_is_no_workspace_is_an_error(elsewhere: Path, tt: Tt) -> None:
    assert tt("--root", elsewhere.parent, "slice", "--verify", elsewhere).exit == 4


def test_a_stored_slice_is_checked_against_the_workspace(imported: Tt, tmp_path: Path) -> None:
    export = imported("slice", first_turn(imported), "--json", "--set", "max_nodes=4").out
    stored = tmp_path / "slice.json"
    stored.write_text(export)
    assert imported("slice", "--verify", stored).exit == 6  # the policy is not known
    verify = ("slice", "--verify", stored, "--set", "max_nodes=4")
    assert imported(*verify).exit == 0
    changed = json.loads(export)
    changed["turns"][0]["salience"] = 0.125
    stored.write_text(json.dumps(changed))
    done = imported(*verify, "--json")
    assert (done.exit, [each["check"] for each in done.json["findings"]]) == (1, ["annotation"])
    stored.write_text("{")
    assert imported("slice", "--verify", stored).exit == 3


# Keys


def test_a_key_of_a_file_or_of_the_environment_signs_and_is_never_shown(
    imported: Tt, tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = first_turn(imported)
    printed = [imported("slice", turn, "--bundle", "a.json", "--key", key)]
    unchecked = imported("slice", "--verify", "a.json", "--json")
    assert (unchecked.exit, unchecked.json["status"]) == (6, "UNVERIFIABLE")
    printed += [imported("slice", "--verify", "a.json", "--key", key), unchecked]
    monkeypatch.setenv("SLICEBASE_BUNDLE_KEY", SECRET)
    printed += [imported("slice", turn, "--bundle", "b.json"), imported("slice", "--verify", "a.json")]
    monkeypatch.setenv("SLICEBASE_BUNDLE_KEY", SECRET[:-1])
    wrong = imported("slice", "--verify", "a.json")
    assert [each.exit for each in (*printed, wrong)] == [0, 0, 6, 0, 0, 1]
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    everything = "".join(each.out + each.err for each in (*printed, wrong)) + (tmp_path / "a.json").read_text()
    assert SECRET[:12] not in everything


@pytest.mark.parametrize("text", ["", "\n", "xK4vB8", SECRET[:15]])
def test_a_weak_key_is_refused_before_anything_is_written(
    imported: Tt, key: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key.write_text(text)
    turn = first_turn(imported)
    refused = imported("slice", turn, "--bundle", "a.json", "--key", key, "--json")
    assert (refused.exit, refused.error["code"]) == (3, "weak-key")
    monkeypatch.setenv("SLICEBASE_BUNDLE_KEY", text)
    assert imported("slice", turn, "--bundle", "a.json", "--json").error["code"] == "weak-key"
    assert not os.path.exists("a.json")
    assert not text.strip() or text not in refused.err


def test_a_key_that_others_may_read_is_refused(imported: Tt, key: Path) -> None:
    key.chmod(0o644)
    assert imported("slice", first_turn(imported), "--bundle", "a.json", "--key", key, "--json").error["code"] == (
        "weak-key"
    )
    assert imported("slice", "--verify", "a.json", "--key", "missing").exit == 4


# The boundary


def test_references_are_admitted_if_they_were_shown(elsewhere: Path, tt: Tt) -> None:
    turns = [each["id"] for each in json.loads(json.loads(elsewhere.read_bytes())["export"])["turns"]]
    inside = tt("slice", "--admits", elsewhere, turns[0], f"turn:{turns[1]}", turns[2][:8])
    assert inside.exit == 0
    outside = tt("slice", "--admits", elsewhere, turns[0], "session:s", "--json")
    assert (outside.exit, outside.json["admits"]) == (1, False)
    assert outside.json["refs"] == {turns[0]: True, "session:s": False}


def test_cite_and_claim_take_only_what_was_shown(imported: Tt) -> None:
    ids = [each["turn"] for each in imported("slice", first_turn(imported), "--explain", "--json").json["selected"]]
    imported("slice", ids[0], "--set", "max_nodes=1", "--bundle", "b.json")
    inside = imported("cite", ids[0], "--span", "0-4", "--within", "b.json")
    assert inside.exit == 0
    outside = imported("cite", ids[1], "--span", "0-4", "--within", "b.json", "--json")
    assert (outside.exit, outside.error["code"]) == (3, "outside-bundle")
    evidence = imported("cite", ids[1], "--span", "0-4").out.strip()
    imported("run", "start", "--id", "r", "--objective", "o", "--done", "d")
    claim = ("run", "claim", "r", "So it is.", "--status", "verified", "--within", "b.json")
    assert imported(*claim, "-e", inside.out.strip()).exit == 0
    assert imported(*claim, "-e", evidence, "--json").error["code"] == "outside-bundle"
    assert imported("cite", ids[0], "--span", "0-4", "--key", "k").exit == 2


# Usage


@pytest.mark.parametrize(
    "arguments",
    [
        "", "T U", "T --batch f", "T --verify f", "--batch f --verify f", "--verify f --admits f T", "--admits f",
        "--batch f --policy broad", "--batch f --set max_nodes=2", "--admits f T --policy broad",
        "--verify f --explain", "--verify f --bundle g", "--batch f --bundle g", "T --explain --mermaid",
        "T --bundle f --explain", "T --bundle f --mermaid", "T --key f", "--batch f --key k",
    ],
)  # fmt: skip
def test_options_that_exclude_each_other_are_refused(tt: Tt, arguments: str) -> None:
    assert tt("slice", *arguments.split()).exit == 2
