"""The documented forms of the public tool for slice files work beside our own."""

import json
from pathlib import Path

import pytest

from slicebase.errors import Exit
from slicebase.files.slice_file import SliceFile
from tests.cli.conftest import Tt


def read(folder: Path, file_id: str) -> SliceFile:
    return SliceFile.parse((folder / ".slices" / f"{file_id}.slice").read_bytes(), file_id)


@pytest.mark.parametrize(
    "line",
    [
        ["Title", "Summary."],
        ["Title", "--summary", "Summary."],
        ["--title", "Title", "Summary."],
        ["--title", "Title", "--summary", "Summary."],
    ],
)
def test_title_and_summary_are_arguments_or_options(tt: Tt, tmp_path: Path, line: list[str]) -> None:
    file = read(tmp_path, tt("create", *line).out.strip())
    assert (file.title, file.summary) == ("Title", "Summary.")


@pytest.mark.parametrize(
    "line", [[], ["Title"], ["T", "S", "more"], ["T", "S", "--title", "T"], ["--title", "T"], ["--summary", "S"]]
)
def test_too_few_or_too_many_texts_create_nothing(tt: Tt, tmp_path: Path, line: list[str]) -> None:
    assert tt("create", *line).exit == Exit.USAGE
    assert not (tmp_path / ".slices").exists()


def test_a_new_file_takes_an_id_and_keys_of_its_own(tt: Tt, tmp_path: Path) -> None:
    line = ["--id", "notes-2026", "--meta", "author=alice", "--meta", "review.done=true", "--meta", "meta.tags=[a, b]"]
    assert tt("create", "T", "S.", *line).out.strip() == "notes-2026"
    assert dict(read(tmp_path, "notes-2026").meta) == {"author": "alice", "review": {"done": True}, "tags": ["a", "b"]}
    assert tt("create", "T", "S.", "--id", "notes-2026").exit == Exit.CONFLICT
    assert tt("create", "T", "S.", "--meta", "a=1", "--meta", "a.b=2").exit == Exit.USAGE
    assert tt("create", "T", "S.", "--meta", "author").exit == Exit.USAGE


def test_the_rules_of_a_contract_are_options_of_define(tt: Tt, tmp_path: Path) -> None:
    file_id = tt("create", "T", "S.").out.strip()
    rules = {
        "purpose": "[what, belongs",
        "format": "12",
        "cleanup": "- yearly",
        "write": "replace",
        "overflow": "error",
    }
    line = [word for name, text in rules.items() for word in (f"--{name}", text)]
    assert tt("define", file_id, "title=New", *line, "--exclude", "a, b", "--exclude", "12").exit == Exit.DONE
    file = read(tmp_path, file_id)
    assert file.title == "New"
    assert {name: getattr(file.contract, name) for name in rules} == rules
    assert list(file.contract.exclude) == ["a, b", "12"]
    assert tt("define", file_id, "--purpose", "").exit == Exit.DONE
    assert read(tmp_path, file_id).contract.purpose is None
    assert tt("define", file_id, "--write", "sometimes").exit == Exit.REFUSED
    assert tt("define", file_id).exit == Exit.USAGE


# A passage


def test_a_passage_that_is_there_once_is_replaced(tt: Tt, tmp_path: Path) -> None:
    body = "One.\n\nTwo, and two.\n"
    file_id = tt("create", "T", "S.", "--body", body, "--contract", "write=replace").out.strip()
    assert tt("remember", file_id, "--replace", "Two, and", "- Three\nand").exit == Exit.DONE
    assert read(tmp_path, file_id).body == b"One.\n\n- Three\nand two.\n"
    assert tt("remember", file_id, "--replace", " two", "").exit == Exit.DONE
    assert read(tmp_path, file_id).body == b"One.\n\n- Three\nand.\n"


@pytest.mark.parametrize(
    ("body", "old", "code", "hint"),
    [
        ("a b\nc\na b\n", "a b", "ambiguous-passage", "lines 13, 15"),
        ("aaa\n", "aa", "ambiguous-passage", "lines 13, 13"),
        ("abc\n", "x", "no-passage", ""),
        ("abc\n", "", "no-passage", ""),
    ],
)
def test_a_passage_that_is_not_there_once_is_an_error_with_its_lines(
    tt: Tt, tmp_path: Path, body: str, old: str, code: str, hint: str
) -> None:
    file_id = tt("create", "T", "S.", "--body", body, "--contract", "write=replace").out.strip()
    before = read(tmp_path, file_id).to_bytes()
    first = before.count(b"\n", 0, before.index(b"---\n", 4)) + 2
    refused = tt("remember", file_id, "--replace", old, "new", "--json").error
    assert refused["code"] == code
    assert hint.replace("13", str(first)).replace("15", str(first + 2)) in refused["hint"]
    assert read(tmp_path, file_id).to_bytes() == before


def test_a_contract_that_only_adds_allows_no_edit_and_rows_are_superseded(tt: Tt) -> None:
    notes = tt("create", "T", "S.", "--body", "text").out.strip()
    log = tt("create", "T", "S.", "--type", "jsonl", "--contract", "write=replace").out.strip()
    assert tt("remember", notes, "--replace", "text", "new", "--json").error["code"] == "write-mode"
    refused = tt("remember", log, "--replace", "a", "b", "--json").error
    assert refused["code"] == "write-mode"
    assert "--supersedes" in refused["hint"]
    for more in (["text"], ["--section", "s"], ["--supersedes", "r"]):
        assert tt("remember", notes, "--replace", "a", "b", *more).exit == Exit.USAGE


def test_line_ends_of_the_body_are_kept(tt: Tt, tmp_path: Path) -> None:
    file_id = tt("create", "T", "S.", "--contract", "write=replace").out.strip()
    path = tmp_path / ".slices" / f"{file_id}.slice"
    path.write_bytes(path.read_bytes() + b"One.\r\nTwo.\r\n")
    assert tt("remember", file_id, "--replace", "One.\nTwo", "1\n2\n3").exit == Exit.DONE
    assert read(tmp_path, file_id).body == b"1\r\n2\r\n3.\r\n"


def test_a_secret_that_an_edit_puts_together_is_redacted_and_the_rest_of_the_body_stays(tt: Tt, tmp_path: Path) -> None:
    token = "gh" + "p_" + "7hQ2mZ9xK4vB8nR1cT6wY3jL5sD0fG2aE9uP"
    file_id = tt("create", "T", "S.", "--contract", "write=replace").out.strip()
    path = tmp_path / ".slices" / f"{file_id}.slice"
    path.write_bytes(path.read_bytes() + f"{token}\n@{token[3:]}\n".encode())
    assert tt("remember", file_id, "--replace", "@", token[:3]).exit == Exit.DONE
    assert read(tmp_path, file_id).body == f"{token}\n[redacted:github-token]\n".encode()


# Other commands


def test_forget_permanently_is_a_purge(tt: Tt, tmp_path: Path) -> None:
    file_id = tt("create", "T", "S.", "--body", "gone").out.strip()
    assert tt("forget", file_id, "--yes").exit == Exit.USAGE
    assert tt("forget", file_id, "--permanent", "--dry-run").exit == Exit.DONE
    assert not read(tmp_path, file_id).purged
    assert tt("forget", file_id, "--permanent", "--yes", "--reason", "named somebody").exit == Exit.DONE
    purged = read(tmp_path, file_id).purged
    assert purged
    assert purged.reason == "named somebody"
    assert tt("forget", "turn:05ce3f25-3b45-539e-8730-509ea3dc8613", "--permanent").exit == Exit.REFUSED


def test_info_without_an_id_is_an_overview(tt: Tt) -> None:
    ids = [tt("create", f"T{number}", "S.", "--id", f"file-{number:02}").out.strip() for number in range(12)]
    shown = tt("info")
    assert shown.exit == Exit.DONE
    assert "library   12 files" in shown.out
    assert shown.out.count("FRESH") == 10
    overview = tt("info", "--json").json
    assert overview["files"] == {"markdown": 12}
    assert {each["id"] for each in overview["newest"]} <= set(ids)


@pytest.mark.parametrize("given", ["elsewhere", "elsewhere/.slices"])
def test_tt_dir_names_the_workspace_or_its_folder_of_slice_files(
    tt: Tt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv("TT_DIR", str(tmp_path / given))
    file_id = tt("create", "T", "S.").out.strip()
    assert (tmp_path / "elsewhere" / ".slices" / f"{file_id}.slice").exists()
    monkeypatch.setenv("TT_DIR", given)  # from the current folder
    assert file_id in tt("list", "--json").out
    monkeypatch.setenv("SLICEBASE_ROOT", str(tmp_path))
    assert tt("list").exit == Exit.NOT_FOUND  # our own variable comes first
    assert file_id in tt("--root", tmp_path / "elsewhere", "list", "--json").out


def test_connect_understands_the_other_order_where_it_is_certain(tt: Tt, tmp_path: Path) -> None:
    for name in ("alpha", "beta", "parent"):
        tt("create", name, "S.", "--id", name)
    assert tt("connect", "alpha", "beta", "depends_on").exit == Exit.DONE
    assert tt("connect", "alpha", "see_also", "beta").exit == Exit.DONE
    assert tt("connect", "alpha", "see_also", "parent").exit == Exit.DONE  # here `parent` is a file
    links = [(link.rel, link.to) for link in read(tmp_path, "alpha").links]
    assert links == [("depends_on", "beta"), ("see_also", "beta"), ("see_also", "parent")]
    assert tt("connect", "alpha", "nobody", "depends_on").exit != Exit.DONE
    assert tt("connect", "alpha", "beta", "parent", "--json").exit != Exit.DONE  # both could be meant
    assert tt("disconnect", "alpha", "beta", "depends_on").exit == Exit.DONE
    assert len(read(tmp_path, "alpha").links) == 2


def test_connect_understands_every_kind_of_target_in_either_order(tt: Tt, tmp_path: Path) -> None:
    """Only the last word is a relationship, whatever the target is."""
    tt("create", "alpha", "S.", "--id", "alpha")
    tt("create", "beta", "S.", "--id", "beta", "--type", "jsonl")
    (tmp_path / "README.md").write_text("Words.\n")
    row = tt("remember", "beta", "Words.", "--json").json["refs"][0]
    snapshot = "sn_" + "0" * 32
    for target in ("./beta.slice", "../README.md", row, snapshot):
        assert tt("connect", "alpha", target, "see_also").exit == Exit.DONE
        (link,) = read(tmp_path, "alpha").links
        assert (link.rel, link.to) == ("see_also", "beta" if "beta.slice" in target else target)
        assert tt("disconnect", "alpha", target, "see_also").exit == Exit.DONE


def test_explore_counts_hops(tt: Tt) -> None:
    for name, link in (("c", []), ("b", ["--link", "depends_on:c"]), ("a", ["--link", "depends_on:b"])):
        tt("create", name, "S.", "--id", name, *link)
    assert tt("explore", "a", "--hops", "2").out == tt("explore", "a", "--depth", "2").out
    assert len(json.loads(tt("explore", "a", "--hops", "2", "--json").out)["places"]) == 3
