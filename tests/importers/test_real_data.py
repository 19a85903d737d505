"""Real exports under ../shared/data: each of them imports with a report that adds up (`take` asserts this)."""

import json

import pytest

from tests.importers.reading import DATA, Taken, folder, needs_data, take
from tests.importers.test_damage import check

pytestmark = needs_data


def taken_from(place: str, pattern: str = "**/*.json*") -> Taken:
    return take(
        *(
            (name, data)
            for name, data in folder(DATA / place, pattern)
            if not name.endswith(("meta.json", "demo01.json", "labels.jsonl"))
        )
    )


@pytest.mark.parametrize("place", ["claude-code", "chatgpt", "claude-ai", "codex", "gemini", "oasst"])
def test_every_export_imports_and_adds_up(place: str) -> None:
    taken = taken_from(place)
    assert taken.turns
    check(taken)
    assert not taken.report.content_left_out


def test_the_forked_transcript() -> None:
    taken = taken_from("claude-code", "dag_fork.jsonl")
    assert (len(taken.sessions), len(taken.edges), len(taken.continues)) == (3, 8, 2)


def test_the_forked_and_the_resumed_transcript_have_different_records_with_the_same_ids() -> None:
    """Ruling 15: the database keeps the first and reports the others."""
    fork, resume = (taken_from("claude-code", f"dag_{name}.jsonl").by_id for name in ("fork", "resume"))
    common = fork.keys() & resume.keys()
    assert (len(common), sum(fork[turn].source_hash != resume[turn].source_hash for turn in common)) == (8, 3)


def test_compactions_do_not_break_the_chain() -> None:
    taken = taken_from("claude-code/compacted")
    assert len(taken.edges) == len(taken.turns) - len(taken.sessions)
    assert taken.reasons() == {"logical-parent": 1}
    assert sum(turn.role == "system" for turn in taken.turns) == 4


def test_a_workflow_has_its_agents_linked_to_the_turn_that_started_it() -> None:
    taken = taken_from("claude-code/workflow_basic")
    assert len(taken.sessions) == 4
    assert {taken.by_id[link.parent].session for link in taken.links} == {"11110000-0000-4000-8000-000000000001"}
    assert len(taken.links) == 3


def test_the_assistant_trees_keep_every_branch() -> None:
    taken = taken_from("oasst")
    trees = [json.loads(line) for line in (DATA / "oasst" / "en_100_tree.jsonl").read_text().splitlines()]
    ahead = [tree["prompt"] for tree in trees]
    branching = 0
    for message in ahead:
        ahead += message["replies"]
        branching += len(message["replies"]) > 1
    assert (
        (len(taken.turns), len(taken.edges), len(taken.sessions))
        == (len(ahead), len(ahead) - 100, 100)
        == (1167, 1067, 100)
    )
    parents = {parent for parent, _, kind in taken.edges if kind == "branch"}
    assert len(parents) == branching == 260


@pytest.mark.parametrize(
    "name", ["chatgpt-tree", "chatgpt-export", "chatgpt2graph-conversations", "crafted-multimodal"]
)
def test_the_chatgpt_trees_keep_every_branch(name: str) -> None:
    value = json.loads((DATA / "chatgpt" / f"{name}.json").read_text())
    conversations = value if isinstance(value, list) else [value]
    nodes = [node for each in conversations for node in each["mapping"].values()]
    messages = [node for node in nodes if node["message"]]
    taken = taken_from("chatgpt", f"{name}.json")
    assert len(taken.turns) == len(messages)
    assert len(taken.edges) == len(messages) - len(conversations)
    extra = sum(max(len(node["children"]) - 1, 0) for node in messages)
    assert sum(kind == "branch" for _, _, kind in taken.edges) == extra


def test_codex_rollouts_of_several_versions() -> None:
    taken = taken_from("codex")
    assert (len(taken.sessions), len(taken.turns), taken.report.records) == (2, 34, 142)


def test_gemini_sessions_of_several_versions() -> None:
    taken = taken_from("gemini")
    assert (len(taken.sessions), len(taken.turns), len(taken.edges)) == (3, 11, 8)
