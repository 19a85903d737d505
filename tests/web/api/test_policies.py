"""Policies and references over HTTP."""

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from slicebase.cli.main import run

TURN = "0961d9aa-a012-46c7-b376-16f70598151d"


def test_a_policy_is_shown_by_name_and_by_hash(client: TestClient) -> None:
    focused = client.get("/api/v1/policies/focused").json()
    assert focused["names"] == ["focused"]
    assert client.get(f"/api/v1/policies/{focused['policy']}").json() == focused
    assert client.get("/api/v1/policies/nothing").json()["code"] == "unknown-policy"


def test_two_policies_are_compared(client: TestClient) -> None:
    found = client.get("/api/v1/policies/default/diff/focused").json()["differences"]
    assert {"parameter", "one", "other"} == found[0].keys()
    assert client.get("/api/v1/policies/default/diff/default").json() == {"differences": []}


def test_a_reference_shows_what_it_names(client: TestClient) -> None:
    shown = client.get("/api/v1/show", params={"reference": f"turn:{TURN[:8]}"}).json()
    assert TURN in str(shown)
    assert client.get("/api/v1/show", params={"reference": "ev_" + "0" * 32}).status_code == 404


@pytest.mark.parametrize(
    ("path", "command"),
    [
        ("policies", "policy list"),
        (f"recall?ref=turn:{TURN}&tokens=200", f"recall turn:{TURN} --tokens 200"),
        (f"show?reference=turn:{TURN}", f"show turn:{TURN}"),
        ("atlas?limit=2&sample=5", "atlas --limit 2 --sample 5"),
        ("verify", "verify"),
    ],
)
def test_an_answer_has_the_fields_of_the_command(
    client: TestClient, root: Path, capfd: pytest.CaptureFixture[str], path: str, command: str
) -> None:
    run(["--root", str(root), *command.split(), "--json"])
    printed = json.loads(capfd.readouterr().out)
    answer = client.get(f"/api/v1/{path}").json()
    assert printed.keys() - {"schema_version"} <= answer.keys()
    for name in printed.keys() & answer.keys():
        if isinstance(printed[name], list) and printed[name] and isinstance(printed[name][0], dict):
            assert printed[name][0].keys() <= answer[name][0].keys()
        else:
            assert printed[name] == answer[name]
