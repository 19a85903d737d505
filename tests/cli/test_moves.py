"""`tt backup`, `tt restore` of a backup, and a workspace that is exported and imported."""

import json
from pathlib import Path
from typing import Any

import pytest

from slicebase import Slicebase
from slicebase.cli.main import run
from slicebase.errors import Exit
from tests.conversations import store, turn


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a workspace `w`, which is the current folder."""
    with Slicebase.init(tmp_path / "w") as memory:
        store(memory.truth, [turn(0), turn(1, 0)])
        memory.runs.start("r", "Find it.", "Found.")
        memory.library.create("Page", "A page.", body="one")
    monkeypatch.chdir(tmp_path / "w")
    return tmp_path


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    status = run([*arguments, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_a_backup_and_its_restoration(places: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, made = as_json(capsys, "backup", "../b.tar.zst")
    assert (status, made["files"], made["path"]) == (Exit.DONE, 1, "../b.tar.zst")
    status, done = as_json(capsys, "restore", "../b.tar.zst", "../r")
    assert (status, done["verdict"]["status"], done["heads"]) == (Exit.DONE, "VERIFIED", made["heads"])
    assert done["before"] == made["database"] != done["database"]
    assert run(["restore", "../b.tar.zst", "../r"]) == Exit.CONFLICT
    assert run(["backup", "../b.tar.zst"]) == Exit.CONFLICT
    assert run(["restore", "../none.tar.zst", "../q"]) == Exit.NOT_FOUND
    assert run(["backup", "../b.db"]) == Exit.REFUSED
    (places / "x.tar.zst").write_bytes(b"x")
    assert run(["restore", "../x.tar.zst", "../q"]) == Exit.REFUSED


def test_an_export_and_its_import_say_what_they_did(places: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, made = as_json(capsys, "export", "--workspace", "../e")
    assert (status, made["conflicts"], made["ahead"]) == (Exit.DONE, [], [])
    assert "runs/r.jsonl" in made["written"]
    status, done = as_json(capsys, "--root", str(places / "i"), "import", "../e")
    assert (status, done["heads"], done["heads_there"]) == (Exit.DONE, made["heads"], made["heads"])
    assert done["verdict"]["status"] == "VERIFIED"
    assert run(["--root", str(places / "i"), "import", "../e"]) == Exit.DONE
    assert "nothing that is not here" in capsys.readouterr().out


def test_a_conflict_and_a_refusal_have_their_own_exit_statuses(
    places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = ["--root", str(places / "i")]
    assert run(["export", "--workspace", "../e"]) == run([*other, "import", "../e"]) == Exit.DONE
    assert run(["run", "log", "r", "note"]) == run([*other, "run", "log", "r", "note"]) == Exit.DONE
    assert run(["export", "--workspace", "../e"]) == Exit.DONE
    assert run([*other, "import", "../e"]) == Exit.CONFLICT
    shown = capsys.readouterr().err
    assert "CONFLICT  events/r" in shown
    assert run([*other, "export", "--workspace", "../e"]) == Exit.CONFLICT
    text = places / "e" / "texts" / "run" / "r.jsonl"
    text.write_bytes(text.read_bytes().replace(b"Find", b"Lose"))
    status, done = as_json(capsys, "--root", str(places / "j"), "import", "../e")
    assert status == Exit.REFUSED
    assert [error["code"] for error in done["refused"]] == ["bad-move"]
    assert "session:s" in done["taken"]


def test_a_name_with_a_line_end_begins_no_line_of_the_report(places: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for place in ("i", "j"):
        with Slicebase.init(places / place) as memory:
            store(memory.truth, [turn(place, session="x\nverified  VERIFIED"), turn("same", session=f"{place}\nheads")])
    assert run(["--root", str(places / "i"), "export", "--workspace", "../e"]) == Exit.DONE
    assert run(["--root", str(places / "j"), "import", "../e"]) == Exit.CONFLICT
    assert run(["--root", str(places / "j"), "export", "--workspace", "../e"]) == Exit.CONFLICT
    said = capsys.readouterr()
    begins = (
        "CONFLICT  ",
        "          here  ",
        "          there ",
        "heads     sha256:",
        "taken     ",
        str(places),
        "../e",
    )
    assert not [line for line in (said.out + said.err).splitlines() if not line.startswith(begins)]


@pytest.mark.parametrize(
    "arguments",
    [
        ["export", "--workspace", "../e", "r"],
        ["export", "--workspace", "../e", "--html"],
        ["export", "r"],
        ["export"],
        ["import", "x.tar.zst", "y"],
        ["import", "x.tar.zst", "--dry-run"],
        ["import", "x.tar.zst", "--session", "s"],
        ["restore", "x.tar.zst", "--dry-run"],
        ["restore", "an-id", "folder"],
        ["backup"],
    ],
)
def test_what_does_not_go_together_is_a_usage_error(arguments: list[str], places: Path) -> None:
    assert run(arguments) == Exit.USAGE


def test_a_backup_that_is_imported_and_an_export_that_is_restored_are_refused(
    places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["backup", "../b.tar.zst"]) == run(["export", "--workspace", "../e.tar.zst"]) == Exit.DONE
    assert run(["--root", str(places / "i"), "import", "../b.tar.zst"]) == Exit.REFUSED
    assert "tt restore" in capsys.readouterr().err
    assert run(["restore", "../e.tar.zst", "../r"]) == Exit.REFUSED
