"""`tt atlas` as a table, JSON and a picture, and what `--replay` says about a printed one."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Tt
from tests.paths import GOLDEN, PROJECT

GRAPH = GOLDEN / "tree_40_random.json"


@pytest.fixture
def tree(tt: Tt) -> Tt:
    assert tt("import", GRAPH).exit == 0
    return tt


def test_the_lists_have_as_many_rows_as_asked_for(tree: Tt) -> None:
    shown = tree("atlas", "--limit", "3")
    assert shown.exit == 0
    assert shown.out.count("turn:") <= 4 * 3
    found = tree("atlas", "--limit", "3", "--json").json
    assert len(found["influential"]) == 3
    assert found["totals"]["turns"] == found["totals"]["anchors"] == len(json.loads(GRAPH.read_bytes())["turns"])


def test_a_picture_is_printed_as_svg(tree: Tt) -> None:
    assert ElementTree.fromstring(tree("atlas", "--svg").out).tag.endswith("svg")


def test_the_picture_in_the_documents_is_the_one_that_is_printed(tt: Tt) -> None:
    assert tt("import", GOLDEN / "bushy_100_coarse.json").exit == 0
    assert tt("atlas", "--svg").out == (PROJECT / "docs" / "images" / "atlas.svg").read_text()


def test_a_printed_atlas_is_made_again(tree: Tt, tmp_path: Path) -> None:
    file = tmp_path / "atlas.json"
    file.write_text(tree("atlas", "--sample", "5", "--policy", "focused", "--json").out)
    again = tree("atlas", "--replay", file, "--json")
    assert (again.exit, [each["answer"] for each in again.json["sessions"]]) == (0, ["VERIFIED"])
    printed = json.loads(file.read_bytes())
    printed["manifest"]["sessions"][0]["result"] = "sha256:" + "0" * 64
    file.write_text(json.dumps(printed))
    assert tree("atlas", "--replay", file).exit == 1
    printed["manifest"]["sessions"][0]["session"] = "elsewhere"
    file.write_text(json.dumps(printed))
    assert tree("atlas", "--replay", file).exit == 6
    file.write_text("{")
    refused = tree("atlas", "--replay", file, "--json")
    assert (refused.exit, refused.error["where"]["file"]) == (3, str(file))


def test_the_id_of_a_session_begins_no_line(tt: Tt, tmp_path: Path) -> None:
    """It comes from a file of somebody else, and an answer at the beginning of a line is ours."""
    hostile = "s  unchanged since then\nVERIFIED      session:other\x1b[31m\u202e"
    given = json.loads(GRAPH.read_bytes())
    for turn in given["turns"]:
        turn["session_id"] = hostile
    (tmp_path / "graph.json").write_text(json.dumps(given))
    assert tt("import", tmp_path / "graph.json").exit == 0
    (tmp_path / "atlas.json").write_text(tt("atlas", "--json").out)
    again = tt("atlas", "--replay", tmp_path / "atlas.json")
    assert (again.exit, len(again.out.splitlines())) == (0, 1)
    for shown in (again.out, tt("atlas").out):
        assert shown.replace("\n", "").isprintable()
        assert "\nVERIFIED" not in shown


@pytest.mark.parametrize(
    "options",
    [
        ("--session", "s", "--all"),
        ("--svg", "--all"),
        ("--svg", "--json"),
        ("--replay", "a", "--sample", "3"),
        ("--sample", "0"),
        ("--role", "nobody"),
    ],
)
def test_options_that_contradict_each_other_are_a_usage_error(tt: Tt, options: tuple[str, ...]) -> None:
    assert tt("atlas", *options).exit == 2


def test_without_a_session_there_is_none_to_show(tt: Tt) -> None:
    assert tt("init").exit == 0
    assert tt("atlas").exit == 4
    assert tt("atlas", "--all").exit == 0
