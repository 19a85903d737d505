"""Messages from the queue: each is a turn once, wherever the client wrote it."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.importers.claude_code import FORMAT
from slicebase.importers.values import ImportSource, Options
from tests.importers.reading import Taken, calls_of, jsonl, take, without
from tests.importers.test_claude_code import SESSION, call, record, result, uuid


def operation(name: str, second: int = 30, **more: Any) -> dict[str, Any]:
    time = f"2026-01-01T10:00:{second:02}.000Z"
    return {"type": "queue-operation", "operation": name, "sessionId": SESSION, "timestamp": time, **more}


def taken_of(*lines: dict[str, Any]) -> Taken:
    return take(("s.jsonl", jsonl(list(lines))))


def typed(taken: Taken) -> list[str | None]:
    """Returns the texts of the turns that are neither calls nor results."""
    return [turn.parts[0].text for turn in taken.turns if turn.parts[0].type == "text"]


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


def test_what_was_taken_back_or_dequeued_is_no_turn_and_what_was_named_is_the_message_that_left() -> None:
    lines = [
        record(1, None),
        operation("enqueue", content="typed again"),
        operation("popAll"),
        operation("enqueue", content="sent"),
        operation("dequeue"),
        record(2, 1, "user", "sent"),
        operation("enqueue", content="stays"),
        operation("enqueue", content="taken back"),
        operation("enqueue", content="seen"),
        operation("popAll", content="taken back"),
        operation("remove", content="seen"),
        record(3, 2, "assistant"),
    ]
    assert typed(taken_of(*lines)) == ["hello", "sent", "seen", "hello"]


def test_a_command_is_taken_for_what_left_only_if_nothing_else_waits() -> None:
    """Newer clients keep commands in the queue. Older ones gave them to the model, which answers to them."""
    working = [record(1, None), call(2, 1, "c1"), operation("enqueue", content="/config")]
    answer = [result(3, 2, "c1"), operation("remove"), record(4, 3, "assistant")]
    assert typed(taken_of(*working, *answer)) == ["hello", "/config", "hello"]
    run = [operation("dequeue"), record(5, 4, "user", "<command-name>/config</command-name>")]
    lines = [*working, operation("enqueue", content="/tmp/log shows it"), *answer, *run, record(6, 5, "assistant")]
    taken = taken_of(*lines)
    assert typed(taken) == ["hello", "/tmp/log shows it", "hello", "<command-name>/config</command-name>", "hello"]
    assert taken.report.others == {"queue-operation/enqueue": 2, "queue-operation/dequeue": 1}


def test_a_prompt_leaves_the_queue_before_a_notice() -> None:
    notice = "<task-notification>done</task-notification>"
    lines = [record(1, None), call(2, 1, "c1"), operation("enqueue", content=notice)]
    lines += [operation("enqueue", content="do X"), result(3, 2, "c1"), operation("remove"), record(4, 3, "assistant")]
    lines += [operation("dequeue"), record(5, 4, "user", notice), record(6, 5, "assistant")]
    assert typed(taken_of(*lines)) == ["hello", "do X", "hello", notice, "hello"]


def test_what_clients_write_around_a_message_does_not_make_it_another_one() -> None:
    lines = [record(1, None), operation("enqueue", content="look"), operation("dequeue")]
    lines += [record(2, 1, "user", "Another session says:\nlook", isMeta=True), record(3, 2, "assistant")]
    assert len(taken_of(*lines).turns) == 3


def test_a_message_that_has_no_record_stays_a_turn_however_it_left() -> None:
    lines = [record(1, None), operation("enqueue", content="look"), operation("dequeue"), record(2, 1, "assistant")]
    assert typed(taken_of(*lines)) == ["hello", "look", "hello"]


def test_the_same_words_twice_are_two_turns() -> None:
    twice = [operation(name, content=text) for name, text in (("enqueue", "go on"), ("remove", ""))] * 2
    lines = [record(1, None), call(2, 1, "c1"), *sorted(twice, key=lambda each: str(each["operation"]))]
    taken = taken_of(*lines, result(3, 2, "c1"), record(4, 3, "assistant"))
    assert typed(taken) == ["hello", "go on", "go on", "hello"]
    assert not taken.report.reasons


def test_a_message_stands_before_the_next_answer_and_not_between_the_blocks_of_one() -> None:
    def block(number: int, parent: int, answer: str, call_id: str) -> dict[str, Any]:
        line = call(number, parent, call_id)
        return {**line, "message": {**line["message"], "id": answer}}

    lines = [record(1, None), block(2, 1, "a", "c1"), operation("enqueue", content="look"), operation("remove")]
    lines += [block(3, 2, "a", "c2"), result(4, 2, "c1"), result(5, 3, "c2"), block(6, 5, "b", "c3")]
    taken = taken_of(*lines)
    (message,) = [turn for turn in taken.turns if turn.parts[0].text == "look"]
    assert [parent.id for parent in taken.by_id[uuid(3)].parents] == [uuid(2)]
    assert [parent.id for parent in message.parents] == [uuid(5)]
    assert [parent.id for parent in taken.by_id[uuid(6)].parents] == [message.id]


def test_a_message_stands_before_the_next_prompt_if_the_model_never_answered() -> None:
    taken = queued(result(3, 2, "c1"), record(4, 3, "user", "Are you there?"))
    (message,) = [turn for turn in taken.turns if turn.parts[0].text == "use port 80"]
    assert [parent.id for parent in message.parents] == [uuid(3)]
    assert [parent.id for parent in taken.by_id[uuid(4)].parents] == [message.id]


def test_a_record_that_comes_late_is_no_second_turn() -> None:
    late = {
        **without(record(5, 4, "attachment"), "message"),
        "attachment": {"type": "queued_command", "prompt": "use port 80"},
    }
    taken = queued(result(3, 2, "c1"), record(4, 3, "assistant"), late, record(6, 5))
    assert [turn.parts[0].text for turn in taken.turns].count("use port 80") == 1
    assert [parent.id for parent in taken.by_id[uuid(6)].parents] == [uuid(4)]


def test_a_notice_of_a_background_task_is_a_turn_of_the_system() -> None:
    taken = queued(record(3, 2, "assistant"), text=[{"type": "text", "text": "<task-notification>done"}])
    assert [turn.role for turn in taken.turns] == ["user", "assistant", "system", "assistant"]


def test_a_message_at_the_end_of_the_file_is_kept_if_the_model_waits_for_nothing_else() -> None:
    assert queued(result(3, 2, "c1")).turns[-1].parts[0].text == "use port 80"
    waiting = queued()  # for the result of a call, after which the model gets the message
    assert (len(waiting.turns), waiting.report.others["queue-operation/remove"]) == (2, 1)


def test_a_message_at_the_end_of_a_file_that_grows_waits_for_its_record() -> None:
    lines = [record(1, None), call(2, 1, "c1"), operation("enqueue", content="look"), operation("remove")]
    source = ImportSource("s.jsonl", [jsonl([*lines, result(3, 2, "c1")])], is_growing=True)
    batches = list(FORMAT.start(Options())(source))
    assert sum(len(batch.turns) for batch in batches) == 3
    assert any(batch.is_open for batch in batches)


def test_a_message_before_a_compaction_is_kept() -> None:
    boundary = {
        **without(record(4, None, "system"), "message"),
        "subtype": "compact_boundary",
        "content": "Compacted",
        "logicalParentUuid": uuid(3),
    }
    turns = queued(result(3, 2, "c1"), boundary).by_id
    (message,) = [turn for turn in turns.values() if turn.parts[0].text == "use port 80"]
    assert [parent.id for parent in turns[uuid(4)].parents] == [message.id]


class Client:
    """A client that queues messages, and knows which of them the model saw. Each message has words of its own."""

    def __init__(self, data: st.DataObject) -> None:
        draw = self.draw = data.draw
        self.names = draw(st.booleans())  # whether records say which message left
        self.attaches = draw(st.booleans())  # whether what left has a record of its own
        self.lines = [record(1, None)]
        self.last = 1
        self.queue: list[str] = []
        self.seen: list[str] = []

    def add(self, kind: str, content: Any, **more: Any) -> None:
        self.last += 1
        self.lines.append(record(self.last, self.last - 1, kind, content, **more))

    def operate(self, name: str, text: str | None = None) -> None:
        named = {"content": text} if text is not None else {}
        self.lines.append(operation(name, len(self.lines) % 60, **named))

    def enqueue(self) -> None:
        text = self.draw(st.sampled_from(["say {}", "<task-notification>{}", "/command{} now", "/usr/bin/{} fails"]))
        self.queue.append(text.format(len(self.lines)))
        self.operate("enqueue", self.queue[-1])

    def put_back(self) -> None:
        if not self.names:
            self.operate("popAll")
        for text in self.queue if self.names else ():
            self.operate("popAll", text)
        self.queue.clear()

    def work(self) -> None:
        """Calls a tool, and gives the model the first messages that are no commands, prompts before notices."""
        place = len(self.lines)
        self.add("assistant", [{"type": "tool_use", "id": f"c{place}", "name": "Bash", "input": {}}])
        ready = sorted((each for each in self.queue if "/command" not in each), key=lambda each: each.startswith("<"))
        left = ready[: self.draw(st.integers(0, len(ready)))]
        late = self.draw(st.booleans())
        for text in left:
            self.queue.remove(text)
            self.seen.append(text)
        if late:
            self.leave(left)
        self.add("user", [{"type": "tool_result", "tool_use_id": f"c{place}", "content": "ok"}])
        for text in left if self.attaches else ():
            self.add("attachment", "", attachment={"type": "queued_command", "prompt": text})
        if not late:
            self.leave(left)
        self.add("assistant", "I see")

    def leave(self, texts: list[str]) -> None:
        for text in texts:
            self.operate("remove", text if self.names else None)

    def send(self) -> None:
        """Gives the model the first message as a prompt, as a client does that has nothing else to do."""
        if self.queue:
            kinds = {text: ("/command" in text, text.startswith("<")) for text in self.queue}
            text = min(self.queue, key=lambda each: kinds[each])
            self.queue.remove(text)
            self.seen.append(text)
            self.operate("dequeue")
            self.add("user", f"<command-name>{text}" if "/command" in text else text)
            self.add("assistant", "Done")


@given(st.data())
@settings(max_examples=40)
def test_whatever_a_client_does_with_its_queue_each_message_that_the_model_saw_is_one_turn(data: st.DataObject) -> None:
    client = Client(data)
    for action in data.draw(st.lists(st.sampled_from(["work", "work", "send", "put_back"]), min_size=1, max_size=4)):
        for _ in range(data.draw(st.integers(0, 3))):
            client.enqueue()
        getattr(client, action)()
    taken = taken_of(*client.lines)
    stored = [(part.text or "").removeprefix("<command-name>") for turn in taken.turns for part in turn.parts[:1]]
    known = {"hello", "I see", "Done", "ok", ""}
    assert sorted(text for text in stored if text not in known) == sorted(client.seen)
    assert [text for text in stored if text in client.seen] == client.seen
    path = [taken.turns[-1].id]
    while parents := taken.by_id[path[-1]].parents:
        path.append(parents[0].id)
    assert len(path) == len(taken.turns)  # each between the records around it


def test_a_long_queue_is_followed_in_linear_time() -> None:
    def calls(size: int) -> int:
        lines = [operation("enqueue", content=f"message {number}") for number in range(size)]
        data = jsonl([*lines, *(record(number + 1, number or None) for number in range(size))])
        return calls_of(lambda: take(("s.jsonl", data)))

    assert calls(200) < 3 * calls(100)
