"""Contexts over HTTP: as a model would see them, and never recorded."""

import shlex
from pathlib import Path

from starlette.testclient import TestClient

from slicebase import Slicebase
from tests.web.test_app import SECRET

ASK = {"q": "how are discount codes compared?", "tokens": "800", "as_of": "2026-11-15T00:00:00Z"}


def test_a_context_is_the_one_of_the_verb_and_is_not_recorded(client: TestClient, root: Path) -> None:
    found = client.get("/api/v1/context", params=ASK).json()
    with Slicebase.open(root) as memory:
        built = memory.context(ASK["q"], 800, as_of=ASK["as_of"], record=False)
        assert memory.truth.manifests.size()[0] == 0
    assert (found["text"], found["manifest_id"], found["recorded"]) == (built.text, built.id, False)
    assert [piece["ref"] for piece in found["pieces"]] == [piece.ref for piece in built.pieces]
    for piece in found["pieces"]:
        assert sum(piece["parts"].values()) == piece["score"]
        assert found["text"][piece["at"]["start"] : piece["at"]["end"]] == piece["text"]


def test_what_was_left_out_is_listed_as_far_as_it_is_asked_for(client: TestClient) -> None:
    found = client.get("/api/v1/context", params={**ASK, "left_out": "5"}).json()
    assert len(found["left_out"]) == 5
    assert found["manifest"]["left_out"]["count"] > 5
    scores = [each["score"] for each in found["left_out"]]
    assert scores == sorted(scores, reverse=True)


def test_the_command_prints_the_same_context(client: TestClient) -> None:
    command = client.get("/api/v1/context", params=ASK).json()["command"]
    assert shlex.split(command) == [
        "tt", "context", ASK["q"], "--tokens", "800", "--as-of", ASK["as_of"], "--no-record",
    ]  # fmt: skip


def test_bad_questions_and_budgets_are_errors_of_ours(client: TestClient) -> None:
    for params, status, code in [
        ({}, 400, "bad-arguments"),
        ({"q": " "}, 422, "bad-question"),
        ({"q": "x", "tokens": "3"}, 422, "bad-budget"),
        ({"q": "x", "tokens": "many"}, 400, "bad-arguments"),
        ({"q": "x", "as_of": "yesterdayish"}, 422, "bad-time"),
        ({"q": "x", "run": "nothing"}, 404, "no-run"),
        ({"q": "x", "colour": "red"}, 400, "bad-arguments"),
    ]:
        answer = client.get("/api/v1/context", params=params)
        assert (answer.status_code, answer.json()["code"]) == (status, code), params


def test_a_policy_is_a_name_or_a_hash_and_never_a_file(client: TestClient, root: Path) -> None:
    (root / "policy.json").write_text('{"max_nodes": 3}')
    refused = client.get("/api/v1/context", params={"q": "codes", "policy": str(root / "policy.json")})
    assert (refused.status_code, refused.json()["code"]) == (404, "unknown-policy")
    named = client.get("/api/v1/context", params={"q": "codes", "policy": "default"}).json()
    with Slicebase.open(root) as memory:
        assert named["manifest"]["policy_params_hash"] == memory.graph.policy("default").params_hash


def test_the_answer_to_a_question_with_a_secret_repeats_it_nowhere(client: TestClient) -> None:
    answer = client.get("/api/v1/context", params={"q": f"is {SECRET} a code?"})
    assert answer.status_code == 200
    assert SECRET[:12] not in answer.text
    assert shlex.split(answer.json()["command"])[2] == answer.json()["manifest"]["question"]
