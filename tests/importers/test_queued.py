"""Messages from the queue: each is a turn once, wherever the client wrote it."""

from typing import Any

from tests.importers.reading import Taken, jsonl, take, without
from tests.importers.test_claude_code import SESSION, call, record, result, uuid


def operation(name: str, second: int = 30, **more: Any) -> dict[str, Any]:
    time = f"2026-01-01T10:00:{second:02}.000Z"
    return {"type": "queue-operation", "operation": name, "sessionId": SESSION, "timestamp": time, **more}


def taken_of(*lines: dict[str, Any]) -> Taken:
    return take(("s.jsonl", jsonl(list(lines))))


def queued(*around: dict[str, Any], text: Any = "use port 80") -> Taken:
    start = [record(1, None), call(2, 1, "c1"), operation("enqueue", content=text), operation("remove")]
    return taken_of(*start, *around)


def test_a_message_that_the_model_got_between_two_calls_stands_between_them() -> None:
    taken = queued(result(3, 2, "c1"), record(4, 3, "assistant"))
    (message,) = [turn for turn in taken.turns if turn.parts[0].text == "use port 80"]
    assert message.role == "user"
    assert [parent.id for parent in message.parents] == [uuid(3)]
    assert [parent.id for parent in taken.by_id[uuid(4)].parents] == [message.id]
    assert taken.report.others == {"queue-operation/enqueue": 1}
    assert taken.report.adds_up


def test_a_message_that_has_a_record_of_its_own_is_no_second_turn() -> None:
    attached = {
        **without(record(4, 3, "attachment"), "message"),
        "attachment": {"type": "queued_command", "prompt": "use port 80"},
    }
    later = queued(result(3, 2, "c1"), attached, record(5, 4, "assistant"))
    assert [turn.id for turn in later.turns] == [uuid(number) for number in (1, 2, 3, 4, 5)]
    before = [record(1, None), operation("enqueue", content="use port 80"), record(2, 1, "user", "use port 80")]
    earlier = taken_of(*before, operation("remove"), record(3, 2, "assistant"))
    assert [turn.id for turn in earlier.turns] == [uuid(1), uuid(2), uuid(3)]
    for taken in (earlier, later):
        assert taken.report.others == {"queue-operation/enqueue": 1, "queue-operation/remove": 1}
        assert taken.report.adds_up


def test_what_was_taken_back_dequeued_or_run_by_the_client_is_no_turn() -> None:
    lines = [
        record(1, None),
        operation("enqueue", content="typed again"),
        operation("popAll"),
        operation("enqueue", content="sent"),
        operation("dequeue"),
        record(2, 1, "user", "sent"),
        operation("enqueue", content="/config"),
        operation("remove"),
        record(3, 2, "assistant"),
    ]
    assert len(taken_of(*lines).turns) == 3


def test_a_notice_of_a_background_task_is_a_turn_of_the_system() -> None:
    taken = queued(record(3, 2, "assistant"), text=[{"type": "text", "text": "<task-notification>done"}])
    assert [turn.role for turn in taken.turns] == ["user", "assistant", "system", "assistant"]


def test_a_message_at_the_end_of_the_file_and_one_before_a_compaction_are_kept() -> None:
    assert queued(result(3, 2, "c1")).turns[-1].parts[0].text == "use port 80"
    boundary = {
        **without(record(4, None, "system"), "message"),
        "subtype": "compact_boundary",
        "content": "Compacted",
        "logicalParentUuid": uuid(3),
    }
    turns = queued(result(3, 2, "c1"), boundary).by_id
    (message,) = [turn for turn in turns.values() if turn.parts[0].text == "use port 80"]
    assert [parent.id for parent in turns[uuid(4)].parents] == [message.id]
