"""The path from import to verify on the command line."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Tt
from tests.context.rendered import pieces_in
from tests.paths import PROJECT

SAMPLE = PROJECT / "src" / "slicebase" / "samples" / "claude-code-session.jsonl"
QUESTION = "why was the webhook test flaky?"
NOW = "2026-11-15T00:00:00Z"


@pytest.fixture
def imported(tt: Tt) -> Tt:
    assert tt("import", SAMPLE).exit == 0
    return tt


def first_turn(tt: Tt) -> str:
    session = tt("turns", "--json").json["rows"][0]["session"]
    return str(tt("turns", session, "--json").json["rows"][5]["ref"])


def test_import_creates_a_missing_workspace_and_reports_it(tt: Tt, tmp_path: Path) -> None:
    done = tt("import", SAMPLE)
    assert done.exit == 0
    assert str(tmp_path) in done.err
    assert (tmp_path / ".slicebase" / "slicebase.db").exists()


def test_the_same_import_again_adds_nothing(imported: Tt) -> None:
    again = imported("import", SAMPLE, "--json").json
    assert again["turns"]["new"] == 0
    assert again["turns"]["known"] == 41
    assert imported("verify", "--json").json["checked"]["turns"] == 41


def test_a_dry_run_shows_what_would_happen_and_stores_nothing(tt: Tt, tmp_path: Path) -> None:
    tt("init")
    result = tt("import", SAMPLE, "--dry-run", "--json").json
    assert result["turns"]["new"] == 41
    assert tt("turns").exit == 1


def test_every_record_of_an_import_is_accounted_for(tt: Tt) -> None:
    result = tt("import", SAMPLE, "--json").json
    assert result["records"] == result["turns"]["new"] + sum(result["no_turns"].values())


def test_a_slice_has_the_same_bytes_again(imported: Tt) -> None:
    turn = first_turn(imported)
    export = imported("slice", turn, "--json")
    assert export.exit == 0
    assert export.out == imported("slice", turn.removeprefix("turn:").upper(), "--json").out
    assert export.json["anchor_turn_id"] == turn.removeprefix("turn:")


def test_a_batch_prints_a_line_for_each_request_in_order(imported: Tt, tmp_path: Path) -> None:
    turn = first_turn(imported).removeprefix("turn:")
    requests = [
        json.dumps({"anchor_turn_id": turn}),
        json.dumps({"anchor_turn_id": turn, "policy": "focused"}),
        json.dumps({"anchor_turn_id": turn, "policy": {"max_nodes": 2}}),
        json.dumps({"anchor_turn_id": "00000000-0000-0000-0000-000000000000"}),
        json.dumps({"anchor_turn_id": "x"}),
        json.dumps({"anchor_turn_id": turn, "policy": {"max_nodes": 0}}),
        "{broken",
        "[]",
        json.dumps({"anchor_turn_id": turn, "radius": 1}),
    ]
    path = tmp_path / "requests.jsonl"
    path.write_text("\n".join(requests))
    done = imported("slice", "--batch", path)
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert done.exit == 1
    assert [len(answer["turns"]) for answer in answers[:3]][2] == 2
    assert [answer["code"] for answer in answers[3:]] == [
        "no-turn", "bad-reference", "out-of-range", "bad-json", "bad-request", "bad-request",
    ]  # fmt: skip
    assert [answer["where"]["line"] for answer in answers[3:]] == [4, 5, 6, 7, 8, 9]
    path.write_text("\n".join(requests[:3]))
    assert imported("slice", "--batch", path).exit == 0


def test_a_request_with_a_key_that_occurs_twice_is_refused(imported: Tt, tmp_path: Path) -> None:
    """Ruling 14: it is ambiguous, in the request and in its policy."""
    path, turn = tmp_path / "requests.jsonl", first_turn(imported)
    twice = '{"max_nodes": 3, "max_nodes": 4}'
    path.write_text(
        f'{{"anchor_turn_id": "{turn}", "policy": {twice}}}\n{{"anchor_turn_id": 1, "anchor_turn_id": 2}}\n'
    )
    done = imported("slice", "--batch", path)
    assert [json.loads(line)["code"] for line in done.out.splitlines()] == ["bad-json", "bad-json"]
    assert done.exit == 1


def test_a_slice_can_be_explained_and_drawn(imported: Tt) -> None:
    turn = first_turn(imported)
    result = imported("slice", turn, "--explain", "--json", "--policy", "focused").json
    assert result["selected"][0]["way"] == "anchor"
    assert {row["reason"] for row in result["left_out"]} == {"radius"}
    assert imported("slice", turn, "--mermaid").out.startswith("flowchart")
    assert f"▶ {turn[:13]}  " in imported("slice", turn[:13]).out


@pytest.mark.parametrize(
    ("arguments", "code", "status"),
    [
        (["slice", "00000000-0000-0000-0000-000000000000"], "no-turn", 4),
        (["slice", "not-a-uuid"], "bad-reference", 3),
        (["slice", "session:x"], "bad-reference", 3),
        (["slice", "{turn}", "--policy", "nobody"], "unknown-policy", 4),
        (["slice", "{turn}", "--set", "max_nodes=0"], "out-of-range", 3),
        (["slice", "{turn}", "--set", "salience_weight=0.0000001"], "policy-millionth", 3),
        (["slice", "{turn}", "--batch", "x"], "usage", 2),
        (["slice", "--batch", "nowhere.jsonl"], "no-input", 4),
        (["context", ""], "bad-question", 3),
        (["context", "x", "--tokens", "5"], "bad-budget", 3),
        (["context", "x", "--turns", "0"], "bad-budget", 3),
        (["context", "x", "--as-of", "yesterday"], "bad-time", 3),
        (["replay", "mf_" + "0" * 32], "no-manifest", 4),
        (["replay", "nothing"], "bad-reference", 3),
        (["show", "turn:x"], "bad-reference", 3),
        (["show", "session:nobody"], "no-session", 4),
        (["import", "nowhere.jsonl"], "no-input", 4),
        (["import", "{sample}", "--format", "nothing"], "unknown-format", 3),
        (["nonsense"], "usage", 2),
    ],
)
def test_bad_input_is_a_clear_error(imported: Tt, arguments: list[str], code: str, status: int) -> None:
    turn = first_turn(imported)
    done = imported(*(each.format(turn=turn, sample=SAMPLE) for each in arguments), "--json")
    assert (done.exit, done.error["code"], done.out) == (status, code, "")


def test_without_a_workspace_reading_is_an_error_and_writes_nothing(tt: Tt, tmp_path: Path) -> None:
    for command in (["turns"], ["verify"], ["context", "x"], ["slice", "x"]):
        done = tt(*command, "--json")
        assert (done.exit, done.error["code"]) == (4, "no-workspace")
    assert list(tmp_path.iterdir()) == []


def test_a_context_is_fenced_labelled_and_within_its_budget(imported: Tt) -> None:
    result = imported("context", QUESTION, "--tokens", 900, "--as-of", NOW, "--json").json
    manifest = result["manifest"]
    assert manifest["tokens_used"] <= 900
    assert result["recorded"]
    assert manifest["pieces"]
    assert [piece.shown for piece in pieces_in(result["text"])] == [piece["shown"] for piece in manifest["pieces"]]
    for piece in manifest["pieces"]:
        assert imported("recall", piece["shown"], "--json").json["pieces"][0]["ref"] == piece["ref"]
    scores = {piece["ref"]: sum(piece["parts"].values()) for piece in result["pieces"]}
    assert scores == {piece["ref"]: piece["score"] for piece in manifest["pieces"]}
    assert list(scores.values()) == sorted(scores.values(), reverse=True)
    assert {left["reason"] for left in result["left_out"]} == {"tokens"} == manifest["left_out"]["reasons"].keys()
    assert manifest["left_out"]["count"] == len(result["left_out"])
    assert manifest["considered"] == len(manifest["pieces"]) + len(result["left_out"])


def test_the_status_of_a_workspace_says_what_contexts_take(imported: Tt) -> None:
    assert "contexts" not in imported("status").out
    built = imported("context", QUESTION, "--tokens", 900, "--json").json
    found = imported("status", "--json").json
    assert (found["contexts"], 500 < found["context_bytes"] < 4000) == (1, True)
    assert "1 context recorded, " in imported("status").out
    assert imported("replay", built["manifest_id"], "--json").json["identical"]


def test_a_context_that_is_not_recorded_leaves_no_manifest(imported: Tt) -> None:
    result = imported("context", QUESTION, "--no-record", "--json").json
    assert not result["recorded"]
    assert imported("replay", result["manifest_id"]).exit == 4


def test_a_limit_of_turns_is_respected(imported: Tt) -> None:
    result = imported("context", QUESTION, "--turns", 3, "--json").json
    assert len(result["manifest"]["pieces"]) == 3
    assert {left["reason"] for left in result["left_out"]} == {"turns"}


def test_a_context_as_of_a_time_says_how_many_texts_have_no_date(imported: Tt, tmp_path: Path) -> None:
    (tmp_path / "chat.json").write_text('[{"role": "user", "content": "a flaky webhook test"}]')
    assert imported("import", tmp_path / "chat.json").exit == 0
    note = "1 text without a date left out: nobody knows whether it is later"
    assert note in imported("context", QUESTION, "--as-of", NOW).err
    assert "without a date" not in imported("context", QUESTION).err
    assert note in imported("context", QUESTION, "--as-of", "1999-01-01T00:00:00Z").err


def test_nothing_found_is_exit_status_1(imported: Tt) -> None:
    assert imported("context", "zyxwvut").exit == 1
    assert "room" not in imported("context", "zyxwvut").err


def test_a_budget_without_room_for_anything_says_so(imported: Tt) -> None:
    done = imported("context", QUESTION, "--tokens", "80")
    assert (done.exit, "has room in 80 tokens" in done.err) == (1, True)


def test_replay_gives_the_same_bytes(imported: Tt) -> None:
    built = imported("context", QUESTION, "--tokens", 900, "--as-of", NOW, "--json").json
    replayed = imported("replay", built["manifest_id"])
    assert (replayed.exit, replayed.out) == (0, built["text"])
    assert imported("replay", built["manifest_id"], "--json").json["identical"]


def test_the_newest_manifest_is_replayed_by_default(imported: Tt) -> None:
    assert imported("replay").exit == 4
    imported("context", "delay")
    newest = imported("context", QUESTION, "--json").json
    assert imported("replay").out == newest["text"]


def test_the_same_question_to_the_same_store_gives_the_same_manifest(imported: Tt, tmp_path: Path) -> None:
    """Ruling 43: the index is disposable."""
    before = imported("context", QUESTION, "--as-of", NOW, "--json").json["manifest_id"]
    for path in (tmp_path / ".slicebase" / "cache").iterdir():
        path.unlink()
    assert imported("context", QUESTION, "--as-of", NOW, "--json").json["manifest_id"] == before


def test_a_context_asked_again_shows_what_differs(imported: Tt, tmp_path: Path) -> None:
    before = imported("context", QUESTION, "--tokens", 900, "--as-of", NOW, "--json").json["manifest_id"]
    assert imported("context", "--again", before).exit == 0
    line = next(record for record in map(json.loads, SAMPLE.read_text().splitlines()) if "message" in record)
    line["uuid"] = "11111111-1111-4111-8111-111111111111"
    line["message"]["content"] = [{"type": "text", "text": "The webhook test was flaky because of jitter. Flaky test!"}]
    grown = tmp_path / "grown.jsonl"
    grown.write_text(json.dumps(line) + "\n")
    assert imported("import", grown).exit == 0
    done = imported("context", "--again", before, "--json")
    assert done.exit == 1
    assert "turn:11111111-1111-4111-8111-111111111111" in [
        change["ref"] for change in done.json["changes"] if change["change"] == "added"
    ]
    between = imported("context", "--diff", before, done.json["after"], "--json").json["changes"]
    assert list(map(without_reason, between)) == list(map(without_reason, done.json["changes"]))


def without_reason(change: dict[str, str]) -> dict[str, str]:
    """Returns a change as both forms know it: only the new context itself knows why each piece has no room in it."""
    return change if change["change"] != "removed" else {**change, "what": ""}


def test_one_flipped_byte_in_the_file_is_found(imported: Tt, tmp_path: Path) -> None:
    manifest = imported("context", QUESTION, "--tokens", 900, "--json").json["manifest_id"]
    assert imported("verify").exit == 0
    path = tmp_path / ".slicebase" / "slicebase.db"
    data = path.read_bytes()
    assert b"never on my machine" in data
    path.write_bytes(data.replace(b"never on my machine", b"Never on my machine"))
    done = imported("verify", "--json")
    assert done.exit == 1
    assert [(each["status"], each["check"]) for each in done.json["findings"]] == [("BROKEN", "text-hash")]
    assert imported("replay", manifest).exit == 1


def test_show_prints_what_a_reference_names(imported: Tt) -> None:
    turn = first_turn(imported)
    shown = imported("show", turn, "--json").json
    assert shown["session"] == "5b0c7c1e-3d52-4f0e-9a86-2f7b1d0c64aa"
    assert shown["text"]
    assert imported("show", f"session:{shown['session']}", "--json").json["turns"] == 41
    manifest = imported("context", QUESTION, "--json").json["manifest_id"]
    assert imported("show", manifest, "--json").json["question"] == QUESTION


def test_show_prints_the_quote_of_evidence_once(imported: Tt) -> None:
    turn = first_turn(imported)
    text = imported("show", turn, "--json").json["text"]
    cited = imported("cite", turn, "--quote", text[:40], "--json").json["evidence_id"]
    shown = imported("show", cited, "--json").json
    assert shown["text"] == text[:40]
    assert "quote" not in shown


def test_turns_are_searched_by_their_content(imported: Tt) -> None:
    found = imported("turns", "--search", "idempotency key", "--json").json["rows"]
    assert found
    assert imported("turns", "--search", "zyxwvut").exit == 1


def test_a_large_purge_is_some_lines_of_the_verdict_and_all_of_its_json(imported: Tt) -> None:
    session = imported("turns", "--json").json["rows"][0]["session"]
    imported("purge", f"session:{session}", "--yes")
    listed = [each for each in imported("verify", "--json").json["findings"] if each["status"] == "PURGED"]
    printed = [line for line in imported("verify").out.splitlines() if line.startswith("PURGED")]
    assert len(listed) > len(printed) == 6
    assert printed[-1] == f"PURGED {len(listed) - 5} more; --json lists all of them"


def test_a_purged_turn_is_gone_from_every_file_and_reported_as_purged(imported: Tt, tmp_path: Path) -> None:
    """Ruling 19."""
    built = imported("context", QUESTION, "--tokens", 900, "--json").json
    turn = imported("turns", "--search", "never on my machine", "--json").json["rows"][0]["ref"]
    assert turn in {piece["ref"] for piece in built["manifest"]["pieces"]}
    assert imported("purge", turn, "--dry-run", "--json").json["texts"] == 1
    assert imported("show", turn, "--json").json["text"]
    done = imported("purge", turn, "--reason", "a secret", "--json")
    assert (done.exit, done.json["turns"]) == (0, [turn])
    assert imported("show", turn, "--json").json["text"] is None
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert b"never on my machine" not in path.read_bytes(), path
    assert turn not in imported("turns", "--search", "never on my machine", "--json").out
    verdict = imported("verify", "--json")
    assert (verdict.exit, {each["status"] for each in verdict.json["findings"]}) == (0, {"PURGED"})
    replayed = imported("replay", built["manifest_id"])
    assert replayed.exit == 6
    assert "[purged]" in replayed.out
    assert imported("import", SAMPLE, "--json").json["turns"]["new"] == 0
    assert imported("show", turn, "--json").json["text"] is None


def test_a_complete_session_can_be_purged(imported: Tt) -> None:
    session = imported("turns", "--json").json["rows"][0]["session"]
    assert len(imported("purge", f"session:{session}", "--json").json["turns"]) == 41
    assert imported("context", QUESTION).exit == 1
    assert imported("purge", "session:nobody").exit == 4
    assert imported("verify").exit == 0


def test_a_context_asked_again_says_whether_it_is_recorded(imported: Tt) -> None:
    before = imported("context", "limit", "--json").json["manifest_id"]
    assert imported("context", "--again", before, "--json").json["recorded"] is True
    assert imported("context", "--again", before, "--no-record", "--json").json["recorded"] is False
    assert "(not recorded)" in imported("context", "--again", before, "--no-record").err
    assert "(not recorded)" not in imported("context", "--again", before).err


@pytest.mark.parametrize(
    "option",
    [
        "--tokens=400",
        "--tokens=4000",
        "--turns=3",
        "--policy=focused",
        "--as-of=2026-01-01",
        "--run=r",
        "--step=1",
        "--explain",
    ],
)
def test_an_option_that_would_be_ignored_is_refused(imported: Tt, option: str) -> None:
    before = imported("context", "limit", "--json").json["manifest_id"]
    assert imported("context", "--again", before, option).exit == 2
    assert imported("context", "--diff", before, before, option).exit == 2


def test_the_options_that_need_others_are_refused_without_them(imported: Tt) -> None:
    before = imported("context", "limit", "--json").json["manifest_id"]
    assert imported("context", "--diff", before, before, "--no-record").exit == 2
    assert imported("context", "limit", "--step", 1).exit == 2
