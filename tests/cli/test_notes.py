"""The commands that take a folder of notes."""

from pathlib import Path

from slicebase.errors import Exit
from tests.cli.conftest import Tt


def write(folder: Path, **texts: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text)


def test_add_refresh_and_search_speak_of_notes(tt: Tt, tmp_path: Path) -> None:
    write(tmp_path / "docs", a="# Alpha\n\nHerons, see [[b]] and [[c]].\n", b="# Beta\n")
    (tmp_path / "docs" / "bad.md").write_bytes(b"\xff")
    done = tt("add", "docs")
    assert (done.exit, done.out) == (Exit.DONE, "2 added\n1 link between them, 1 to no note\n")
    assert "skipped docs/bad.md: it is not UTF-8" in done.err
    assert tt("add", "docs", "--json").json["unchanged"] == 2
    (tmp_path / "docs" / "a.md").write_text("# Alpha\n\nHerons and storks.\n")
    assert "[STALE - note changed]" in tt("search", "storks").out
    assert tt("search", "storks", "--json").json["files"][0]["note"] == "changed"
    assert tt("refresh", "--all", "--dry-run").out == "would be: 1 changed, 1 unchanged\n"
    assert tt("refresh", "--all").out == "1 changed, 1 unchanged\n"
    assert "[FRESH" in tt("search", "storks").out


def test_refresh_of_one_pointer_takes_what_its_note_says_now(tt: Tt, tmp_path: Path) -> None:
    write(tmp_path / "docs", a="# Alpha\n\nHerons.\n")
    tt("add", "docs")
    pointer = tt("list", "--json").json["files"][0]["id"]
    assert not tt("refresh", pointer, "--json").json["changed"]
    write(tmp_path / "docs", a="# Omega\n\nStorks.\n")
    assert tt("refresh", pointer, "--json").json["changed"]
    (entry,) = tt("list", "--json").json["files"]
    assert (entry["title"], entry["summary"]) == ("Omega", "Storks.")
    assert tt("refresh", "--all").out == "1 unchanged\n"
    (tmp_path / "docs" / "a.md").write_bytes(b"\xff")
    assert "no-input" in tt("refresh", pointer).err


def test_a_folder_without_notes_is_exit_1_and_one_outside_is_refused(tt: Tt, tmp_path: Path) -> None:
    write(tmp_path / "docs")
    tt("init")
    assert (tt("add", "docs").exit, tt("add", "docs").out) == (Exit.FINDINGS, "no notes\n")
    done = tt("add", tmp_path.parent)
    assert (done.exit, "outside-workspace" in done.err) == (Exit.REFUSED, True)


def test_create_from_a_folder_makes_slice_files(tt: Tt, tmp_path: Path) -> None:
    write(tmp_path / "vault", a="# Alpha\n\n[[b]]\n", b="# Beta\n")
    assert tt("create", "--from", "vault").out == "2 added\n1 link between them\n"
    assert tt("list", "--kind", "context", "--json").json["files"][0]["type"] == "markdown"


def test_options_that_do_not_go_together_are_refused(tt: Tt, tmp_path: Path) -> None:
    write(tmp_path / "docs", a="x")
    tt("init")
    for line in (
        ("add", "docs", "--title", "t"),
        ("add", "docs/a.md", "--glob", "*.md"),
        ("create", "--from", "docs", "--title", "t"),
        ("create", "--title", "t"),
        ("refresh", "--all", "x"),
        ("refresh",),
    ):
        assert tt(*line).exit == Exit.USAGE, line
