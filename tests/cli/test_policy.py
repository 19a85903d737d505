"""`tt policy`: what people see of the policies of a workspace."""

import io
import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Tt


def test_a_policy_is_saved_shown_listed_and_compared(tt: Tt) -> None:
    tt("init")
    saved = tt("policy", "save", "mine", "--policy", "focused", "--set", "max_nodes=9")
    assert saved.exit == 0
    assert saved.out.startswith("slice_policy_v1:")
    shown = tt("policy", "show", saved.out.strip(), "--json").json
    assert (shown["names"], shown["policy"]["max_nodes"], shown["source"]) == (["mine"], 9, "focused max_nodes=9")
    listed = tt("policy", "list", "--json").json["policies"]
    assert [each["names"] for each in listed] == [["default"], ["focused"], ["broad"], ["mine"]]
    different = tt("policy", "diff", "mine", "focused")
    assert (different.exit, different.out) == (1, "max_nodes: 9 → 32\n")
    assert tt("policy", "diff", "mine", "mine", "--json").json["differences"] == []
    assert tt("policy", "save", "mine").exit == 5
    assert tt("policy", "show", "other").exit == 4
    for command in (("list",), ("show", "mine"), ("export", "mine")):
        assert tt("policy", *command).out


def test_a_policy_goes_from_one_workspace_to_another(tt: Tt, tmp_path: Path) -> None:
    tt("init")
    saved = tt("policy", "save", "mine", "--set", "max_nodes=9").out
    (tmp_path / "mine.json").write_text(tt("policy", "export", "mine").out)
    assert json.loads((tmp_path / "mine.json").read_text())["max_nodes"] == 9
    tt("init", "other")
    assert tt("--root", "other", "policy", "import", "mine.json", "--name", "theirs").out == saved
    assert tt("--root", "other", "policy", "show", "theirs").exit == 0
    (tmp_path / "twice.json").write_text('{"max_nodes": 1, "max_nodes": 2}')
    assert tt("policy", "import", "twice.json").exit == 3


def give(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Puts a text on stdin."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_a_policy_comes_from_stdin(tt: Tt, monkeypatch: pytest.MonkeyPatch) -> None:
    tt("init")
    give(monkeypatch, '{"max_nodes": 9}')
    assert tt("policy", "import", "-", "--name", "mine").exit == 0
    shown = tt("policy", "show", "mine", "--json").json
    assert (shown["policy"]["max_nodes"], shown["source"]) == (9, "stdin")
    for text in ("", "{", '{"max_nodes": 1, "max_nodes": 2}', '{"unknown": 1}'):
        give(monkeypatch, text)
        failed = tt("policy", "import", "-", "--json")
        assert (failed.exit, failed.error["where"]["file"]) == (3, "stdin")
