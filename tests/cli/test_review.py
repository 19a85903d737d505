"""`tt validate` for code review: SARIF, annotations of GitHub, and the hook of pre-commit."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.cli.main import run
from slicebase.cli.review import github, sarif
from slicebase.errors import Exit
from slicebase.files.findings import FORMAT_RULES, Finding
from slicebase.files.yaml.load import load
from tests.files.check.workspace import ID, OTHER, THIRD, text, write
from tests.paths import PROJECT

NAME = f".slices/{ID}.slice"
BROKEN = text().replace('"1"', '"2"')
WARNED = text(more="  links:\n    - rel: see_also\n      to: gone\n", file_id=OTHER)

findings = st.builds(
    Finding,
    st.sampled_from(sorted(FORMAT_RULES)),
    st.none() | st.integers(1, 10**6),
    st.none() | st.integers(1, 10**6),
    st.text(),
    st.text(),
    st.text(min_size=1).filter(lambda name: "\0" not in name),
)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns a git checkout with an error and a warning. The current folder is below its top."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    write(tmp_path, {NAME: BROKEN, f".slices/{OTHER}.slice": WARNED, "below/x.txt": b""})
    monkeypatch.chdir(tmp_path / "below")
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    capsys.readouterr()
    status = run(["validate", *arguments])
    return status, capsys.readouterr().out


def test_sarif_names_rules_levels_and_places_from_the_top_of_the_checkout(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = printed(capsys, "--format", "sarif")
    log = json.loads(out)
    assert status == Exit.FINDINGS
    assert log["version"] == "2.1.0"
    (only,) = log["runs"]
    rules = only["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(FORMAT_RULES)
    error, warning = only["results"]
    assert (error["ruleId"], error["level"]) == ("version", "error")
    assert rules[error["ruleIndex"]]["id"] == "version"
    assert error["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": NAME, "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 3, "startColumn": 3},
    }
    assert (warning["ruleId"], warning["level"]) == ("link-target", "warning")


def test_sarif_without_findings_has_an_empty_list_of_results(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(checkout, {NAME: text()})
    status, out = printed(capsys, f"../{NAME}", "--format", "sarif")
    assert status == Exit.DONE
    assert json.loads(out)["runs"][0]["results"] == []


def test_github_gets_a_workflow_command_for_each_finding(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out = printed(capsys, "--format", "github")
    assert status == Exit.FINDINGS
    first, second = out.splitlines()
    assert first.startswith(f"::error file={NAME},line=3,col=3,title=slicebase version::")
    assert second.startswith(f"::warning file=.slices/{OTHER}.slice,line=")


def test_json_is_a_format_too_and_two_formats_are_refused(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "--format", "json") == printed(capsys, "--json")
    assert printed(capsys, "--json", "--format", "sarif")[0] == Exit.USAGE


@given(findings)
def test_any_finding_is_one_line_for_github_from_which_its_parts_can_be_read(finding: Finding) -> None:
    (line,) = github([finding], Path("/nowhere"))
    assert "\n" not in line
    assert "\r" not in line
    match = re.fullmatch(r"::(error|warning|notice) ([^:]*)::(.*)", line)
    assert match
    properties = dict(pair.split("=", 1) for pair in match[2].split(","))
    assert properties.keys() <= {"file", "line", "col", "title"}
    assert properties.get("line") == (None if finding.line is None else str(finding.line))
    assert _unescaped(match[3]).startswith(finding.message)


def _unescaped(data: str) -> str:
    return data.replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%")


@given(findings)
def test_any_finding_has_a_place_in_sarif_whose_uri_leads_back_to_its_file(finding: Finding) -> None:
    (result,) = sarif([finding], Path("/"))["runs"][0]["results"]
    place: dict[str, Any] = result["locations"][0]["physicalLocation"]
    uri = place["artifactLocation"]["uri"]
    assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", uri)
    assert os.path.abspath(f"/{unquote(uri)}") == re.sub("^/+", "/", os.path.abspath(finding.file))
    assert ("region" in place) == (finding.line is not None)
    assert result["level"] in ("error", "warning", "note")


# pre-commit


def test_the_hook_of_pre_commit_checks_the_files_that_it_is_given(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """pre-commit installs the package, and calls the entry at the top of the checkout with the names that match."""
    (hook,) = load((PROJECT / ".pre-commit-hooks.yaml").read_text())
    assert hook["language"] == "python"
    monkeypatch.chdir(checkout)
    write(checkout, {"-dashed name.slice": text(file_id=THIRD), "notes.md": b"", "sliced.txt": b""})
    subprocess.run(["git", "add", "-A"], check=True)
    staged = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True, text=True).stdout.split("\0")
    names = [name for name in staged if re.search(hook["files"], name)]
    assert len(names) == 3
    program, *entry = shlex.split(hook["entry"])
    assert f'{program} = "slicebase.cli.entry:main"' in (PROJECT / "pyproject.toml").read_text()
    assert run([*entry, *names]) == Exit.FINDINGS
    assert f"{NAME}:3:3 error version " in capsys.readouterr().out
    write(checkout, {NAME: text()})
    assert run([*entry, *names]) == Exit.DONE
    assert run([*entry, "--strict", *names]) == Exit.FINDINGS
