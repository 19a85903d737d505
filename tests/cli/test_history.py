"""Importing the sessions on this machine, and exporting sessions."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.cli.conftest import Tt
from tests.importers.reading import jsonl
from tests.importers.test_codex import NEW
from tests.paths import PROJECT

SAMPLE = PROJECT / "src" / "slicebase" / "samples" / "claude-code-session.jsonl"
SESSION = "5b0c7c1e-3d52-4f0e-9a86-2f7b1d0c64aa"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path / "home"


def test_without_paths_the_sessions_of_this_machine_are_found_and_asked_about(tt: Tt, home: Path) -> None:
    assert tt("import").exit == 4
    project = home / ".claude" / "projects" / "-repo"
    project.mkdir(parents=True)
    shutil.copy(SAMPLE, project / f"{SESSION}.jsonl")
    asked = tt("import")
    assert asked.exit == 2
    assert str(home / ".claude" / "projects") in asked.err
    assert tt("import", "--yes", "--json").json["turns"]["new"] == 41


def test_without_paths_a_format_chooses_the_agent_whose_sessions_are_imported(tt: Tt, home: Path) -> None:
    """Those of the others are not read as sessions of this one, and left out. A look at them asks nobody."""
    for path, data in (
        (".claude/projects/-repo/a.jsonl", SAMPLE.read_bytes()),
        (".codex/sessions/r.jsonl", jsonl(NEW)),
    ):
        (home / path).parent.mkdir(parents=True)
        (home / path).write_bytes(data)
    assert tt("import", "--dry-run", "--json").json["formats"] == {"claude-code": 1, "codex": 1}
    chosen = tt("import", "--yes", "--format", "codex", "--json")
    assert (chosen.exit, chosen.json["formats"]) == (0, {"codex": 1})
    assert ".claude" not in chosen.err
    assert tt("import", "--yes", "--format", "gemini").exit == 4
    assert tt("import", "--yes", "--session", "mine").exit == 2


def test_an_agent_that_keeps_its_sessions_in_another_folder_is_found_there(
    tt: Tt, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = tmp_path / "moved" / "projects"
    moved.mkdir(parents=True)
    shutil.copy(SAMPLE, moved / "x.jsonl")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "moved"))
    assert tt("import", "-y", "--json").json["turns"]["new"] == 41


def test_importing_an_exported_session_gives_the_same_ids_branches_and_slices(tt: Tt, tmp_path: Path) -> None:
    tt("import", SAMPLE)
    turn = "2c95cb2b-f886-45d4-96e8-2595a5b1f061"
    before = tt("slice", turn, "--json").out
    assert tt("export", SESSION, "--format", "slice", "--to", "session.slice").exit == 0
    assert tt("validate", "session.slice", "--strict").exit == 0
    assert tt("import", "session.slice", "--json").json["turns"] == {"new": 0, "known": 41, "conflicts": []}
    (tmp_path / "other").mkdir()
    tt("init", tmp_path / "other")
    assert tt("--root", tmp_path / "other", "import", "session.slice", "--json").json["turns"]["new"] == 41
    assert tt("--root", tmp_path / "other", "slice", turn, "--json").out == before


def test_an_export_overwrites_nothing_and_names_what_is_missing(tt: Tt, tmp_path: Path) -> None:
    tt("import", SAMPLE)
    (tmp_path / "there.slice").write_text("mine")
    assert tt("export", SESSION, "--to", "there.slice", "--json").error["code"] == "file-exists"
    for form in ("slice", "html"):
        assert tt("export", SESSION, "--format", form, "--to", "-", "--json").error["code"] == "usage"
    assert (tmp_path / "there.slice").read_text() == "mine"
    assert tt("export", "nobody", "--to", "x.slice", "--json").error["code"] == "no-session"
    tt("purge", f"session:{SESSION}")
    assert tt("export", SESSION, "--to", "x.slice", "--json").error["code"] == "purged"
    assert not (tmp_path / "x.slice").exists()


def test_a_page_is_written_once_for_what_has_one(tt: Tt, tmp_path: Path) -> None:
    tt("import", SAMPLE)
    log = tt("create", "--title", "Log", "--summary", "What was decided.", "--type", "jsonl").out.strip()
    tt("remember", log, "Codes are </script> upper case.")
    written = tt("export", "--html", log[:10], "--to", "log.html", "--json").json
    assert (written["format"], written["path"]) == ("html", "log.html")
    page = (tmp_path / "log.html").read_bytes()
    assert b"Codes are \\u003c/script\\u003e upper case." in page
    assert tt("export", "--format", "html", f"file:{log}", "--to", "log.html", "--json").error["code"] == "file-exists"
    assert (tmp_path / "log.html").read_bytes() == page
    (tmp_path / "link").symlink_to(tmp_path / ".slices")
    for name, to, code in (
        ("nobody", "x.html", "no-session"),
        (f"row:{log}/x", "x.html", "bad-reference"),
        (log, "no/such/folder/x.html", "cannot-write"),
        (log, ".slices/x.html", "cannot-write"),
        (log, "link/x.html", "cannot-write"),
    ):
        assert tt("export", "--html", name, "--to", to, "--json").error["code"] == code
    assert not (tmp_path / "x.html").exists()
    assert not list((tmp_path / ".slices").glob("*.html"))


def test_two_formats_at_once_are_refused(tt: Tt, tmp_path: Path) -> None:
    tt("import", SAMPLE)
    for options in (["--html", "--format", "slice"], ["--format", "slice", "--html"]):
        assert tt("export", SESSION, *options, "--to", "x.html", "--json").error["code"] == "usage"
    assert not (tmp_path / "x.html").exists()
    assert tt("export", SESSION, "--html", "--format", "html", "--to", "x.html", "--json").json["format"] == "html"


def test_a_dry_run_creates_no_workspace(tt: Tt, tmp_path: Path) -> None:
    assert tt("import", SAMPLE, "--dry-run", "--json").json["turns"]["new"] == 41
    assert list(tmp_path.iterdir()) == []


def test_an_unreadable_file_of_a_folder_does_not_stop_the_others(tt: Tt, tmp_path: Path) -> None:
    folder = tmp_path / "exports"
    folder.mkdir()
    (folder / "a.zip").write_bytes(b"PK\x03\x04 no more")
    with zipfile.ZipFile(folder / "b.zip", "w") as archive:
        archive.write(SAMPLE, "damaged.jsonl")
        archive.write(SAMPLE, "whole.jsonl")
    packed = bytearray((folder / "b.zip").read_bytes())
    packed[packed.index(b"sessionId")] ^= 1  # in the first member, whose checksum no longer matches
    (folder / "b.zip").write_bytes(packed)
    done = tt("import", folder, "--json")
    assert (done.exit, done.json["turns"]["new"], done.json["content_left_out"]) == (1, 41, 2)
    assert [Path(text.partition(":")[0]).name for text in done.json["unreadable"]] == ["a.zip", "b.zip!damaged.jsonl"]
    assert tt("import", folder / "a.zip", "--json").error["code"] == "bad-zip"


def test_files_in_a_folder_that_no_importer_recognises_are_named(tt: Tt, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "chat.json").write_text('[{"role": "user", "content": "hello"}]')
    for number in range(30):
        (tmp_path / "in" / f"map-{number:02}.json").write_text('{"type": "FeatureCollection"}')
    found = tt("import", "in", "--lenient")
    assert (found.exit, "30 files are not conversations" in found.out) == (0, True)
    assert [f"map-{number:02}.json" in found.err for number in (0, 19, 20)] == [True, True, False]


def test_named_inputs_that_cannot_be_imported_are_listed_and_do_not_stop_the_others(tt: Tt, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.jsonl").write_text("Nothing that an importer knows.\n")
    (tmp_path / "x.zip").write_bytes(b"PK\x03\x04 no more")
    (tmp_path / "run.traj").write_text(json.dumps({"history": [{"role": "user", "content": "Find the bug."}]}))
    bad = {"notes.jsonl": "unknown-format", "none.jsonl": "no-input", "x.zip": "bad-zip", "empty": "no-input"}
    done = tt("import", "notes.jsonl", "none.jsonl", SAMPLE, "x.zip", "empty", "run.traj", "--json")
    assert (done.exit, done.json["turns"]["new"], done.json["content_left_out"]) == (1, 42, 4)
    assert {error["where"]["file"]: error["code"] for error in done.json["errors"]} == bad
    assert {text.partition(":")[0] for text in done.json["unreadable"]} == bad.keys()
    again = tt("import", "notes.jsonl", SAMPLE, "none.jsonl")
    assert again.exit == 1
    assert "left out  notes.jsonl: " in again.err
    assert "left out  none.jsonl: " in again.err
    assert tt("import", "notes.jsonl", SAMPLE, "--lenient").exit == 0
    assert tt("import", "notes.jsonl", SAMPLE, "--dry-run").exit == 1
    for name, code in bad.items():
        alone = tt("import", name, "--json")
        assert (alone.exit, alone.error["code"]) == ((4 if code == "no-input" else 3), code)
    both = tt("import", "notes.jsonl", "none.jsonl", "--lenient", "--json")
    assert (both.exit, both.error["code"], "none.jsonl" in both.error["message"]) == (3, "unknown-format", True)


def test_the_format_of_trajectories_can_be_named(tt: Tt, tmp_path: Path) -> None:
    (tmp_path / "chat.json").write_text(json.dumps({"history": [{"role": "user", "content": "Find the bug."}]}))
    assert tt("import", "chat.json").exit == 3
    done = tt("import", "chat.json", "--format", "swe-agent", "--session", "mine", "--json")
    assert (done.exit, done.json["formats"], done.json["turns"]["new"]) == (0, {"swe-agent": 1}, 1)
    assert tt("turns", "mine").out


def test_a_record_that_differs_from_a_stored_turn_is_reported_with_its_place(tt: Tt, tmp_path: Path) -> None:
    """Ruling 15: the first record stays, the other one counts as content that was left out."""
    tt("import", SAMPLE)
    line = next(line for line in SAMPLE.read_text().splitlines() if '"role"' in line)
    changed = {**json.loads(line), "message": {"role": "user", "content": "edited"}}
    (tmp_path / "edited.jsonl").write_text(json.dumps(changed) + "\n")
    done = tt("import", "edited.jsonl", "--json")
    (conflict,) = done.json["turns"]["conflicts"]
    assert (done.exit, done.json["content_left_out"], conflict["where"]) == (1, 1, "edited.jsonl")
    assert tt("import", "edited.jsonl", "--lenient").exit == 0


def test_an_empty_path_is_not_the_current_folder(tt: Tt, tmp_path: Path) -> None:
    shutil.copy(SAMPLE, tmp_path / "session.jsonl")
    done = tt("import", "", "--json")
    assert (done.exit, done.error["code"]) == (4, "no-input")


def test_every_input_that_was_left_out_is_named(tt: Tt, tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / "chats" / str(number)).mkdir(parents=True)
        chat = [{"role": "user", "content": f"Question {number}."}]
        (tmp_path / "chats" / str(number) / "chat.json").write_text(json.dumps(chat))
    done = tt("import", "chats")
    assert done.exit == 1
    assert done.err.count("chat.json: ") == 29
    assert done.err.count("--session NAME") == 29


def test_a_folder_without_conversations_is_named_with_its_files(tt: Tt, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "package.json").write_text("{}")
    done = tt("import", "folder")
    assert done.exit == 1
    assert "left out  folder: " in done.err
    assert "package.json" in done.err


def test_a_broken_zip_is_named_once(tt: Tt, tmp_path: Path) -> None:
    (tmp_path / "broken.zip").write_bytes(b"PK")
    assert tt("import", "broken.zip").err.count("broken.zip") == 1
