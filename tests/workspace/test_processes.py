"""Processes that work for this one start where they can, and disturb nobody."""

import sys
from pathlib import Path

import pytest

from slicebase.workspace.processes import end, serving

SERVES = (
    "import sys\n\ndef serve():\n    print(sys.path[0], flush=True)\n    raise RuntimeError('only for this process')\n"
)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "one_that_serves.py").write_text(SERVES)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "one_that_serves"


def answer(module: str) -> str:
    process = serving(module)
    try:
        assert process.stdout is not None
        return process.stdout.read().decode().strip()
    finally:
        end(process)


def test_it_imports_from_where_this_process_does(module: str, tmp_path: Path) -> None:
    assert answer(module) == str(tmp_path)


def test_what_is_no_text_in_the_path_of_modules_is_left_out(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [tmp_path / "as a path", *sys.path])
    assert answer(module) == str(tmp_path)


def test_its_errors_are_not_shown(module: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert answer(module)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("program", [None, ""])
def test_without_an_interpreter_there_is_none(program: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", program)
    with pytest.raises(OSError, match="interpreter"):
        serving("slicebase")


def test_a_frozen_program_is_not_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with pytest.raises(OSError, match="interpreter"):
        serving("slicebase")
