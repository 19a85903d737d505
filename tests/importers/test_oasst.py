"""OpenAssistant's trees. The expected numbers were counted by hand."""

from typing import Any

from tests.importers.reading import jsonl, take


def uuid(number: int) -> str:
    return f"20000000-0000-4000-8000-{number:012}"


def message(number: int, role: str, *replies: Any, **more: Any) -> dict[str, Any]:
    return {"message_id": uuid(number), "text": f"text {number}", "role": role, "replies": list(replies), **more}


TREE = {
    "message_tree_id": uuid(1),
    "prompt": message(1, "prompter", message(2, "assistant", message(4, "prompter")), message(3, "assistant", rank=0)),
}


def test_a_tree_is_a_session_with_every_branch() -> None:
    taken = take(("trees.jsonl", jsonl([TREE])))
    assert taken.edges == [
        (uuid(1), uuid(2), "reply"), (uuid(2), uuid(4), "reply"), (uuid(1), uuid(3), "branch"),
    ]  # fmt: skip
    assert [turn.role for turn in taken.turns] == ["user", "assistant", "user", "assistant"]
    assert set(taken.sessions) == {uuid(1)}
    assert taken.report.records == 4


def test_one_message_on_each_line_gives_the_same_tree_in_any_order() -> None:
    flat = [
        {
            "message_id": uuid(number),
            "parent_id": parent,
            "message_tree_id": uuid(1),
            "text": f"text {number}",
            "role": role,
        }
        for number, parent, role in ((2, uuid(1), "assistant"), (1, None, "prompter"), (3, uuid(1), "assistant"))
    ]
    taken = take(("flat.jsonl", jsonl(flat)))
    assert [(parent, child) for parent, child, _ in taken.edges] == [(uuid(1), uuid(2)), (uuid(1), uuid(3))]


def test_a_message_without_text_is_skipped_and_bridged() -> None:
    broken = message(2, "assistant", message(4, "prompter"))
    del broken["text"]
    taken = take(("trees.jsonl", jsonl([{"message_tree_id": uuid(1), "prompt": message(1, "prompter", broken)}])))
    assert taken.edges == [(uuid(1), uuid(4), "reply")]
    assert taken.reasons()["no-message"] == 1
