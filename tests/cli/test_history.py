"""Importing what is on the machine, and exporting sessions."""

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Tt
from tests.paths import PROJECT

SAMPLE = PROJECT / "src" / "slicebase" / "samples" / "claude-code-session.jsonl"
SESSION = "5b0c7c1e-3d52-4f0e-9a86-2f7b1d0c64aa"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
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


def test_an_agent_that_keeps_its_sessions_elsewhere_is_found_there(
    tt: Tt, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = tmp_path / "moved" / "projects"
    moved.mkdir(parents=True)
    shutil.copy(SAMPLE, moved / "x.jsonl")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "moved"))
    assert tt("import", "-y", "--json").json["turns"]["new"] == 41


def test_an_exported_session_imports_to_the_same_ids_branches_and_slices(tt: Tt, tmp_path: Path) -> None:
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
    assert tt("export", SESSION, "--to", "there.slice", "--json").error["code"] == "conflict"
    assert (tmp_path / "there.slice").read_text() == "mine"
    assert tt("export", "nobody", "--to", "x.slice", "--json").error["code"] == "no-session"
    tt("purge", f"session:{SESSION}")
    assert tt("export", SESSION, "--to", "x.slice", "--json").error["code"] == "purged"
    assert not (tmp_path / "x.slice").exists()
