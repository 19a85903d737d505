"""The walk through a folder of notes meets anything that a disk can hold, and says what it passes over."""

import os
from pathlib import Path

import pytest

from slicebase.errors import SlicebaseError
from slicebase.library.walk import FoundFile, folder_in, given_globs, walk


def paths(root: Path, *globs: str) -> list[str]:
    return [file.path for file in walk(root, "docs", given_globs(globs)).found]


def put(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def test_files_whose_names_match_are_found_in_the_order_of_paths_without_hidden_ones(tmp_path: Path) -> None:
    put(tmp_path, "docs/b.md", "docs/a/B.MD", "docs/c.txt", "docs/d.py", "docs/.obsidian/x.md", "docs/.x.md", "o.md")
    assert paths(tmp_path) == ["docs/a/B.MD", "docs/b.md", "docs/c.txt"]
    assert paths(tmp_path, "*.py") == ["docs/d.py"]
    assert paths(tmp_path, "a/*.md") == ["docs/a/B.MD"]
    assert walk(tmp_path, ".", ["o*"]).found == [FoundFile("o.md", 1)]


def test_what_is_no_note_is_passed_over_with_a_reason(tmp_path: Path) -> None:
    put(tmp_path, "docs/good.md", "outside.md")
    docs = tmp_path / "docs"
    (docs / "line\nbreak.md").write_text("x")
    Path(os.fsdecode(os.fsencode(docs) + b"/\xff.md")).write_text("x")
    (docs / "link.md").symlink_to("../outside.md")
    (docs / "folder").symlink_to("..")
    os.mkfifo(docs / "pipe.md")
    with open(docs / "large.md", "wb") as large:
        large.truncate(5 << 20)
    deep = docs
    for _ in range(70):
        deep /= "d"
    deep.mkdir(parents=True)
    walked = walk(tmp_path, "docs", given_globs(()))
    assert [file.path for file in walked.found] == ["docs/good.md"]
    reasons = {each.path.rpartition("/")[2]: each.reason for each in walked.skipped}
    assert {name: reasons[name].split()[-1] for name in reasons} == {
        "line\nbreak.md": "character", "\udcff.md": "UTF-8", "link.md": "link", "folder": "link", "pipe.md": "file",
        "large.md": "MiB", "d": "deeply",
    }  # fmt: skip


def test_a_folder_outside_a_hidden_one_and_none_at_all_are_refused(tmp_path: Path) -> None:
    root = tmp_path / "root"
    put(root, "docs/a.md", ".hidden/a.md")
    (root / "out").symlink_to(tmp_path)
    cases = {tmp_path: "outside-workspace", root / "out": "outside-workspace", root / ".hidden": "no-input"}
    for folder, code in {**cases, root / "docs" / "a.md": "no-input", root / "none": "no-input"}.items():
        with pytest.raises(SlicebaseError) as caught:
            folder_in(root, folder)
        assert caught.value.code == code
    assert folder_in(root, root / "docs") == "docs"
    assert folder_in(root, root) == "."


def test_an_empty_pattern_is_refused() -> None:
    with pytest.raises(SlicebaseError) as caught:
        given_globs("")
    assert caught.value.code == "usage"
