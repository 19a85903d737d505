"""`tt validate` and `tt verify` on the command line: their output on stdout and stderr, and their exit status."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from slicebase.cli.main import run
from slicebase.files.findings import FORMAT_RULES
from tests.cli.conftest import Tt
from tests.files.check.workspace import ID, text, write
from tests.paths import PROJECT

NAME = f".slices/{ID}.slice"
WARNED = text(more="  links:\n    - rel: see_also\n      to: gone\n")
BROKEN = text().replace('"1"', '"2"')


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path, {NAME: text(), "below/x.txt": b""})
    monkeypatch.chdir(tmp_path / "below")
    return tmp_path


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    run(["validate", "--json", *arguments])
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_the_workspace_is_checked_without_arguments(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate"]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "1 file: 0 errors, 0 warnings, 0 hints\n"


def test_a_finding_is_printed_with_its_place(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(workspace, {NAME: BROKEN})
    assert run(["validate"]) == 1
    assert capsys.readouterr().out.startswith(f"../{NAME}:3:3 error version ")


def test_warnings_fail_only_with_strict(workspace: Path) -> None:
    write(workspace, {NAME: WARNED})
    assert run(["validate"]) == 0
    assert run(["validate", "--strict"]) == 1


def test_hints_never_fail(workspace: Path) -> None:
    write(workspace, {NAME: text(more="  own: 1\n")})
    assert run(["validate", "--strict"]) == 0


def test_json_is_one_object_of_the_documented_shape(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(workspace, {NAME: BROKEN})
    answer = as_json(capsys)
    assert list(answer) == ["schema_version", "findings", "counts"]
    (finding,) = answer["findings"]
    assert list(finding) == ["rule", "severity", "file", "line", "column", "message", "hint"]
    assert (finding["rule"], finding["severity"], finding["line"], finding["column"]) == ("version", "error", 3, 3)
    assert answer["counts"] == {"files": 1, "errors": 1, "warnings": 0, "hints": 0}


def test_a_path_that_does_not_exist_exits_with_4(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", "gone"]) == 4
    assert run(["validate", "--json", "gone"]) == 4
    assert json.loads(capsys.readouterr().err.splitlines()[-1])["code"] == "no-input"


def test_without_a_workspace_and_without_paths_there_is_nothing_to_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["validate"]) == 4


def test_root_names_another_workspace(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(workspace, {NAME: BROKEN})
    monkeypatch.chdir("/")
    assert run(["--root", str(workspace), "validate"]) == 1


def test_the_rules_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", "--rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(FORMAT_RULES)
    rules = as_json(capsys, "--rules")["rules"]
    assert [(rule["rule"], rule["severity"]) for rule in rules] == [(r.name, r.severity) for r in FORMAT_RULES.values()]


def test_control_characters_of_a_file_are_escaped_on_the_terminal(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = '{"_meta":{"id":"\\u001b[2J","created_at":"2026-01-01T00:00:00Z"}}\n'
    write(workspace, {NAME: text("jsonl", line + line)})
    assert run(["validate"]) == 1
    assert "\\x1b[2J" in capsys.readouterr().out


def test_a_name_in_a_finding_of_verify_begins_no_line(tt: Tt, tmp_path: Path) -> None:
    """A session is called as its file says, and what stands at the beginning of a line is ours."""
    hostile = "s\nVERIFIED 9 sessions\x1b[31m"
    given = json.loads((PROJECT / "tests" / "golden" / "tree_40_random.json").read_bytes())
    for turn in given["turns"]:
        turn["session_id"] = hostile
    (tmp_path / "graph.json").write_text(json.dumps(given))
    assert tt("import", tmp_path / "graph.json").exit == 0
    with closing(apsw.Connection(str(tmp_path / ".slicebase" / "slicebase.db"))) as connection:
        connection.execute("DELETE FROM nodes WHERE seq = 2")
    found = tt("verify")
    assert found.exit == 1
    assert "\nVERIFIED" not in found.out
    assert found.out.replace("\n", "").isprintable()
    assert any(each["place"] == f"nodes of {hostile}" for each in tt("verify", "--json").json["findings"])
