"""`tt lost` on the sample, and on real transcripts with counts that were checked by hand."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Tt
from tests.paths import PROJECT, SHARED

SAMPLE = PROJECT / "src" / "slicebase" / "samples" / "long-session.jsonl"
SESSION = "c41f0a52-6b7d-4c1e-9f58-7d0e2a93b610"
REAL = SHARED / "data" / "claude-code" / "compacted"
NOW = "2026-11-15T00:00:00Z"


@pytest.fixture
def sampled(tt: Tt) -> Tt:
    assert tt("lost", SAMPLE).exit == 0
    return tt


def counts(tt: Tt, *what: object) -> dict[str, tuple[int, int]]:
    (found,) = tt("lost", *what, "--json").json["compactions"]
    return {kind: (each["kept"], each["of"]) for kind, each in found["kinds"].items()}


def test_the_sample_is_several_hundred_turns_with_one_compaction(sampled: Tt) -> None:
    (found,) = sampled("lost", "--json").json["compactions"]
    assert found["turns"] == 380
    assert found["readable"]


def test_the_counts_of_the_sample(sampled: Tt) -> None:
    """Counted by hand in the file: 64 distinct paths, and 63 calls of Bash with 43 distinct commands. One of these was
    refused and 14 are tests; one test is repeated in a loop. Sentences and errors were read."""
    assert counts(sampled) == {
        "decision": (3, 14),
        "instruction": (5, 28),
        "task": (1, 4),
        "error": (2, 15),
        "test": (0, 13),
        "file": (8, 64),
        "command": (1, 28),
    }


def test_the_summary_comes_first_then_the_lost_items_by_importance_with_references(sampled: Tt) -> None:
    done = sampled("lost", "--limit", 3)
    lines = done.out.splitlines()
    assert "kept 3 of 14 decisions" in lines[1]
    assert [line.strip() for line in lines[4::2]] == [
        each["ref"][:13] for each in sampled("lost", "--json").json["compactions"][0]["lost"][:3]
    ]
    assert "--limit 146" in done.err


def test_what_was_lost_can_be_recalled(sampled: Tt) -> None:
    lost = sampled("lost", "--json").json["compactions"][0]["lost"]
    for each in lost[:: len(lost) // 12]:
        (piece,) = sampled("recall", each["ref"], "--json").json["pieces"]
        span = piece["text"][each["span"]["start"] : each["span"]["end"]]
        assert span.strip()
        if each["kind"] in ("decision", "error"):
            assert " ".join(span.split()) == each["text"]


def test_the_same_is_printed_again(sampled: Tt) -> None:
    assert sampled("lost").out == sampled("lost", SESSION).out == sampled("lost", f"session:{SESSION}").out
    assert sampled("lost", SAMPLE).out == sampled("lost").out


def test_the_lost_items_are_a_context_that_can_be_replayed_and_verified(sampled: Tt) -> None:
    done = sampled("lost", "--tokens", 900, "--as-of", NOW, "--json")
    manifest = done.json["manifest"]
    assert done.exit == 0
    assert manifest["tokens_used"] <= 900
    assert manifest["left_out"]
    assert manifest["ranker"] == "lost/1"
    assert "we won't send PDFs" in done.json["text"]
    replayed = sampled("replay", done.json["manifest_id"], "--json").json
    assert replayed["identical"]
    assert replayed["text"] == done.json["text"]
    assert sampled("verify").exit == 0
    again = sampled("lost", SESSION, "--tokens", 900, "--as-of", NOW, "--json")
    assert again.json["manifest_id"] == done.json["manifest_id"]
    assert sampled("context", "--again", done.json["manifest_id"]).exit == 0


def test_a_transcript_is_imported_first_and_redacted(tt: Tt, tmp_path: Path) -> None:
    records = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
    typed = next(record for record in records if record["type"] == "user")
    typed["message"]["content"] += " We decided to use the key ghp_" + "a1B2" * 9 + " for now."
    copy = tmp_path / "copy.jsonl"
    copy.write_text("".join(json.dumps(record) + "\n" for record in records))
    done = tt("lost", copy, "--json")
    assert done.exit == 0
    assert "ghp_a1B2" not in done.out
    assert tt("turns").exit == 0


def test_a_session_without_a_compaction_exits_1(tt: Tt, tmp_path: Path) -> None:
    small = tmp_path / "small.jsonl"
    small.write_text("\n".join(SAMPLE.read_text().splitlines()[:30]) + "\n")
    assert tt("lost", small).exit == 1
    assert tt("lost").exit == 1
    assert tt("lost", "--json").json == {"schema_version": "1", "session": None, "compactions": [], "redacted": {}}
    assert tt("lost", "--all").exit == 1
    assert tt("lost", "--tokens", 500).exit == 1


def test_an_unknown_session_is_not_found(sampled: Tt) -> None:
    assert sampled("lost", "nowhere", "--json").error["code"] == "no-session"
    assert sampled("lost", "--tokens", 5, "--json").error["code"] == "bad-budget"


@pytest.mark.parametrize("arguments", [("x", "--sample"), ("--all", "--sample"), ("--all", "--tokens", "900")])
def test_arguments_that_exclude_each_other_are_refused(tt: Tt, arguments: tuple[str, ...]) -> None:
    assert tt("lost", *arguments).exit == 2


def test_all_sessions_as_a_table(sampled: Tt) -> None:
    done = sampled("lost", "--all")
    assert done.exit == 0
    heading, row = done.out.splitlines()
    assert "decisions" in heading
    assert "3 of 14" in row
    assert row.endswith(f"session:{SESSION[:8]}")
    assert [each["session"] for each in sampled("lost", "--all", "--json").json["sessions"]] == [SESSION]


def test_several_compactions_of_a_session_are_listed_one_by_one(tt: Tt, tmp_path: Path) -> None:
    lines = SAMPLE.read_text().splitlines()
    last = json.loads(lines[-1])
    summary = {**json.loads(lines[-7]), "parentUuid": last["uuid"], "uuid": "0" * 8 + last["uuid"][8:]}
    longer = {**summary, "isCompactSummary": True, "message": {"role": "user", "content": "They talked."}}
    grown = tmp_path / "grown.jsonl"
    grown.write_text("\n".join([*lines, json.dumps(longer | {"type": "user"})]) + "\n")
    first, second = tt("lost", grown, "--json").json["compactions"]
    assert first["kinds"]["decision"] == {"kept": 3, "of": 14}
    assert second["turns"] == 9
    assert "make release" in json.dumps(second["lost"])


@pytest.mark.skipif(not REAL.is_dir(), reason="../shared/data is not here")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("24a274a3-0317-440d-b17a-41e83ee34fec", {"instruction": (17, 19), "task": (2, 2), "file": (8, 8)}),
        (
            "deeac353-0765-4439-9056-293619a99172",
            {"instruction": (5, 5), "error": (0, 1), "test": (0, 3), "file": (9, 20), "command": (0, 6)},
        ),
    ],
)
def test_real_transcripts_with_counts_that_were_checked_by_hand(
    tt: Tt, tmp_path: Path, name: str, expected: dict[str, tuple[int, int]]
) -> None:
    """docs/lost.md describes how they were checked."""
    copy = tmp_path / f"{name}.jsonl"
    shutil.copyfile(REAL / f"{name}.jsonl", copy)
    assert counts(tt, copy) == expected


def test_the_sample_is_in_a_workspace_of_its_own_that_is_gone_afterwards(tt: Tt, tmp_path: Path) -> None:
    assert tt("lost", "--sample", "--limit", 1).exit == 0
    assert not (tmp_path / ".slicebase").exists()
    assert tt("import", "--sample").exit == 0
    assert tt("lost", "--sample", "--json").json["session"] == SESSION
    assert SESSION not in {row["session"] for row in tt("turns", "--json").json["rows"]}
