"""`tt lost` on the sample, and on real transcripts with counts that were checked by hand."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from slicebase.context.lost.follow import OVER
from tests.cli.conftest import Tt
from tests.paths import PROJECT, SHARED

SAMPLE = PROJECT / "src" / "slicebase" / "samples" / "long-session.jsonl"
SESSION = "c41f0a52-6b7d-4c1e-9f58-7d0e2a93b610"
REAL = SHARED / "data" / "claude-code" / "compacted"
NOW = "2026-11-15T00:00:00Z"


@pytest.fixture
def sampled(tt: Tt, sample_lost: Path, tmp_path: Path) -> Tt:
    shutil.copytree(sample_lost, tmp_path, dirs_exist_ok=True)
    return tt


def counts(tt: Tt, *what: object) -> dict[str, tuple[int, int]]:
    (found,) = tt("lost", *what, "--json").json["compactions"]
    return {kind: (each["kept"], each["of"]) for kind, each in found["kinds"].items()}


def test_the_sample_is_several_hundred_turns_with_one_compaction(sampled: Tt) -> None:
    (found,) = sampled("lost", "--json").json["compactions"]
    assert found["turns"] == 379
    assert found["readable"]


def test_the_counts_of_the_sample(sampled: Tt) -> None:
    """Read in the file: six rules and the last request; of 43 commands, 20 change nothing and may be needed again.

    Of these, 11 run a few tests, and a later command differs only in which.
    """
    assert counts(sampled) == {
        "instruction": (0, 7),
        "decision": (1, 12),
        "finding": (1, 16),
        "artefact": (5, 15),
        "task": (2, 4),
        "error": (0, 2),
        "command": (0, 9),
    }


def test_the_summary_comes_first_then_the_lost_items_by_importance_with_references(sampled: Tt) -> None:
    done = sampled("lost", "--limit", 3)
    lines = done.out.splitlines()
    assert "kept 0 of 7 instructions" in lines[1]
    found = sampled("lost", "--json").json["compactions"][0]["lost"]
    assert [line.strip() for line in lines[4::2]] == [each["ref"][:13] for each in found[:3]]
    assert "more: --limit" in done.err


def test_rules_and_decisions_are_among_the_first_and_what_is_done_is_not_listed(sampled: Tt) -> None:
    found = sampled("lost", "--json", "--limit", 500).json["compactions"][0]["lost"]
    assert {each["kind"] for each in found[:10]} >= {"instruction", "decision", "command"}
    assert any("Do not drop tables on staging" in each["text"] for each in found[:10])
    assert not {each["state"] for each in found} & OVER
    rules = {each["text"] for each in found if (each["kind"], each["mark"]) == ("instruction", "rule")}
    assert len(rules) == 6
    assert not any("make stage" in each["text"] for each in found)  # it deploys


def test_the_limit_holds_for_json_too(sampled: Tt) -> None:
    (found,) = sampled("lost", "--json", "--limit", 4).json["compactions"]
    (all_,) = sampled("lost", "--json", "--limit", 500).json["compactions"]
    assert (len(found["lost"]), all_["more"]) == (4, 0)
    assert found["more"] == len(all_["lost"]) - 4


def test_the_parts_of_a_score_are_explained(sampled: Tt) -> None:
    (line,) = [line for line in sampled("lost", "--explain", "--limit", 1).out.splitlines() if " = " in line]
    assert "instruction, rule +" in line
    assert "rule by itself +" in line
    (each,) = sampled("lost", "--json", "--limit", 1).json["compactions"][0]["lost"]
    assert sum(each["parts"].values()) == each["score"]


def test_what_a_prompt_asks_for_comes_first(sampled: Tt) -> None:
    prompt = "write the migration for the staging tables"
    done = sampled("lost", "--for", prompt, "--limit", 5, "--json")
    assert done.json["lost"][0]["text"].startswith("Do not drop tables on staging")
    assert len(done.json["lost"]) == 5
    assert "Do not drop tables" in sampled("lost", "--for", prompt).out.splitlines()[0]
    built = sampled("lost", "--for", prompt, "--tokens", 600, "--json").json
    assert "Do not drop tables on staging" in built["text"]
    assert built["manifest"]["filters"]["prompt"] == prompt
    assert sampled("context", "--again", built["manifest_id"]).exit == 0
    long = sampled("lost", "--for", "so many words " * 2000, "--tokens", 300, "--json").json
    assert long["manifest"]["tokens_used"] <= 300


def test_the_cost_of_a_compaction_is_what_was_looked_up_again(sampled: Tt) -> None:
    (found,) = sampled("lost", "--cost", "--json").json["compactions"]
    assert found["counts"] == {"file": 0, "search": 0, "command": 1, "question": 0}
    assert {each["what"]: each["in_summary"] for each in found["again"]} == {
        "alembic upgrade head": True,
        "pytest -q tests/test_discount_model.py": False,
    }
    done = sampled("lost", "--cost")
    assert "After it 1 command was run again.\n1 command was run again, too, although the summary names it." in done.out
    for each in found["again"]:
        assert sampled("recall", each["ref"], *each["again"]).exit == 0


@pytest.mark.parametrize(
    "printing",
    [
        ("lost",),
        ("lost", "--limit", 1),
        ("lost", "--for", "discounts", "--limit", 1),
        ("lost", "--cost", "--limit", 1),
        ("lost", "--all"),
        ("turns",),
        ("search", "discount"),
        ("show", SESSION),
        ("find", "discount"),
        ("list",),
        ("status",),
        ("context", "discount"),
        ("recall", f"session:{SESSION}"),
        ("lost", "nosuchsession"),
    ],
)
def test_every_command_that_is_printed_can_be_run(sampled: Tt, printing: tuple[str, ...]) -> None:
    done = sampled(*printing)
    for command in re.findall(r"`tt ([^`\n]+)`", f"{done.out}\n{done.err}"):
        if "…" not in command and not re.search(r"\b[A-Z]{2,}\b", command):
            ran = sampled(*shlex.split(command))
            assert ran.exit in (0, 1), (command, ran.err)
    for option in re.findall(r"(--limit \d+) lists them all", done.err):
        ran = sampled(*printing, *shlex.split(option))
        assert ran.exit == 0
        assert "lists them all" not in ran.err


@pytest.mark.parametrize("options", [("--tokens", 300), ("--cost",), ("--for", "discounts", "--tokens", 300)])
def test_a_session_may_be_named_in_any_way(sampled: Tt, options: tuple[object, ...]) -> None:
    named = [sampled("lost", name, *options) for name in (SESSION, f"session:{SESSION}", SESSION[:8])]
    assert [each.exit for each in named] == [0, 0, 0]
    assert sampled("lost", "nosuch00", *options).exit == 4


def test_what_was_lost_can_be_recalled(sampled: Tt) -> None:
    lost = sampled("lost", "--json", "--limit", 200).json["compactions"][0]["lost"]
    for each in lost[:: len(lost) // 12]:
        (piece,) = sampled("recall", each["ref"], "--json").json["pieces"]
        span = piece["text"][each["span"]["start"] : each["span"]["end"]]
        assert span.strip()
        if each["kind"] not in ("task", "artefact", "command"):
            assert " ".join(span.split()) == each["text"]


def test_the_same_is_printed_again(sampled: Tt) -> None:
    assert sampled("lost").out == sampled("lost", SESSION).out == sampled("lost", f"session:{SESSION}").out
    assert sampled("lost", SAMPLE).out == sampled("lost").out


def test_the_lost_items_are_a_context_that_can_be_replayed_and_verified(sampled: Tt) -> None:
    done = sampled("lost", "--tokens", 900, "--as-of", NOW, "--json")
    manifest = done.json["manifest"]
    assert done.exit == 0
    assert manifest["tokens_used"] <= 900
    assert manifest["left_out"]["count"]
    assert manifest["ranker"] == "lost/6"
    assert "Do not drop tables on staging" in done.json["text"]
    assert "## Constraints" in done.json["text"]
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


@pytest.mark.parametrize(
    "arguments",
    [
        ("x", "--sample"),
        ("--all", "--sample"),
        ("--all", "--tokens", "900"),
        ("--all", "--cost"),
        ("--cost", "--for", "x"),
        ("--cost", "--explain"),
        ("--as-of", "2026-01-01"),
        ("--limit", "0"),
        ("--limit", "-1"),
        ("--for", " "),
    ],
)
def test_arguments_that_exclude_each_other_are_refused(tt: Tt, arguments: tuple[str, ...]) -> None:
    assert tt("lost", *arguments).exit == 2


def test_all_sessions_as_a_table(sampled: Tt) -> None:
    done = sampled("lost", "--all")
    assert done.exit == 0
    heading, row = done.out.splitlines()
    assert "decisions" in heading
    assert "0 of 7" in row
    assert row.endswith(f"session:{SESSION[:8]}")
    assert [each["session"] for each in sampled("lost", "--all", "--json").json["sessions"]] == [SESSION]


def test_a_compaction_without_a_date_has_none(tt: Tt, tmp_path: Path) -> None:
    records = [json.loads(line) for line in SAMPLE.read_text().splitlines()[-30:]]
    bare = tmp_path / "bare.jsonl"
    bare.write_text("".join(json.dumps({**record, "timestamp": None}) + "\n" for record in records))
    assert "compaction at an unknown time" in tt("lost", bare).out
    assert "compaction at an unknown time" in tt("lost", "--cost").out
    for option in ("--limit=1", "--cost"):
        assert tt("lost", option, "--json").json["compactions"][0]["time"] is None


def test_several_compactions_of_a_session_are_listed_one_by_one(tt: Tt, tmp_path: Path) -> None:
    lines = SAMPLE.read_text().splitlines()
    last = json.loads(lines[-1])
    summary = {**json.loads(lines[-7]), "parentUuid": last["uuid"], "uuid": "0" * 8 + last["uuid"][8:]}
    longer = {**summary, "isCompactSummary": True, "message": {"role": "user", "content": "They talked."}}
    grown = tmp_path / "grown.jsonl"
    grown.write_text("\n".join([*lines, json.dumps(longer | {"type": "user"})]) + "\n")
    first, second = tt("lost", grown, "--json").json["compactions"]
    assert first["kinds"]["instruction"] == {"kept": 0, "of": 7}
    assert second["turns"] == 9
    assert second["lost"]


@pytest.mark.skipif(not REAL.is_dir(), reason="../shared/data is not here")
def test_a_real_transcript_with_items_that_were_checked_by_hand(tt: Tt, tmp_path: Path) -> None:
    """docs/lost.md describes how they were checked."""
    name = "deeac353-0765-4439-9056-293619a99172.jsonl"
    shutil.copyfile(REAL / name, tmp_path / name)
    (found,) = tt("lost", tmp_path / name, "--json", "--limit", 200).json["compactions"]
    commands = [each["text"] for each in found["lost"] if each["kind"] == "command"]
    assert any("mise run test:integration" in each for each in commands)
    assert not any(each.startswith(("git ", "grep")) for each in commands)


def test_the_sample_is_in_a_workspace_of_its_own_that_is_gone_afterwards(tt: Tt, tmp_path: Path) -> None:
    assert tt("lost", "--sample", "--limit", 1).exit == 0
    assert not (tmp_path / ".slicebase").exists()
    assert tt("import", "--sample").exit == 0
    assert tt("lost", "--sample", "--json").json["session"] == SESSION
    assert SESSION not in {row["session"] for row in tt("turns", "--json").json["rows"]}
