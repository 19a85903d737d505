"""Bad input affects only its own record, is reported with its place, and never raises."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slicebase.core.ids import is_uuid
from slicebase.core.times import EARLIEST, LATEST
from slicebase.graph.turn import EDGE_TYPES, ROLES
from slicebase.importers.batches import BatchBuilder
from slicebase.importers.blocks import arguments_of
from slicebase.importers.claude_code import Transcript
from slicebase.importers.codex import Rollout
from slicebase.importers.formats import FORMATS
from slicebase.importers.heads import head_of
from slicebase.importers.json_stream import MAX_VALUES, RecordLine, json_lines
from slicebase.importers.thread import SourceRecord, read_records
from slicebase.importers.values import REASONS, Batch, Format, ImportReport, ImportSource, Options
from tests.importers import (
    test_boundaries,
    test_chatgpt,
    test_claude,
    test_codex,
    test_conversation,
    test_gemini,
    test_messages,
    test_oasst,
    test_opencode,
    test_queued,
    test_subagents,
    test_swe_agent,
)
from tests.importers.reading import Taken, jsonl, recognised, take
from tests.importers.test_claude_code import SAMPLE, call, record, result, uuid

# An undamaged input of each format, small enough to be damaged often.
SOUND: dict[str, bytes] = {
    "claude-code": b"".join(SAMPLE.read_bytes().splitlines(keepends=True)[:12]),
    "chatgpt": test_chatgpt.export(test_chatgpt.TREE, test_chatgpt.TREE, indent=0),
    "claude": test_claude.export(test_claude.message(1, None), test_claude.message(2, 1, "assistant"))[1],
    "codex": jsonl(test_codex.NEW),
    "conversation": (test_conversation.HEADER + test_conversation.BODY).encode(),
    "gemini": jsonl(
        [test_gemini.HEAD, test_gemini.message("a"), test_gemini.message("b", "gemini"), {"$rewindTo": "b"}]
    ),
    "messages": jsonl(test_messages.OPENAI),
    "opencode": jsonl([test_opencode.PARENT]),
    "oasst": jsonl([test_oasst.TREE, test_oasst.TREE]),
    "swe-agent": jsonl([test_swe_agent.WHOLE, {"history": test_swe_agent.HISTORY}]),
}
_STARTED = {"agentId": "a77", "runId": "wf_1"}
_SAID_BY_HOOK = {"type": "hook_additional_context", "content": ["Use tabs."]}
# Records of many kinds, in each of which any value may be of any type.
KINDS: dict[str, list[Any]] = {
    "claude-code": [
        *test_subagents.MAIN,
        test_queued.operation("enqueue", content="use port 80"),
        test_queued.operation("enqueue", content=[{"type": "text", "text": "and tabs"}]),
        record(41, 3, "user", "and tabs"),
        test_queued.operation("remove"),
        call(42, 41, "t9", "Agent", prompt="Look"),
        result(43, 42, "t9", toolUseResult=_STARTED, sourceToolAssistantUUID=uuid(42)),
        result(44, 43, "t0", sourceToolAssistantUUID=uuid(42), toolUseResult=_STARTED),
        {**record(45, 44, "attachment"), "attachment": _SAID_BY_HOOK},
        {**record(46, 45, "content-replacement"), "replacements": [{"toolUseId": "t9", "replacement": "cut"}]},
        test_boundaries.boundary(47, 45),
        test_boundaries.summary(48, 47),
        {"type": "summary", "summary": "A title", "leafUuid": uuid(3)},
    ],
    "conversation": [
        {"role": "user", "content": "Go.", "_meta": {"id": uuid(1), "parents": []}},
        {
            "role": "assistant",
            "content": "Look.",
            "_meta": {
                "id": "second",
                "parents": [[uuid(1), "reply"]],
                "links": [[uuid(3), "branch"]],
                "parts": [{"type": "tool_call", "name": "ls", "arguments": {"path": "."}, "call_id": "c1"}],
                "source_hash": "sha256:" + "0" * 64,
            },
        },
    ],
    "codex": [
        *test_codex.NEW,
        test_codex.SPAWNED,
        test_codex.event("agent_message", message="Done."),
        test_codex.event("item_completed", item={"type": "AgentMessage", "content": [{"text": "Done."}]}),
        test_codex.event("item_completed", item={"type": "Plan", "text": "Look first."}),
        test_codex.event("exited_review_mode", review_output={"findings": [{"title": "t", "body": "b"}]}),
        test_codex.event("thread_goal_updated", goal={"objective": "Build it."}),
        test_codex.event("web_search_end", results=test_codex.RESULTS, call_id="w"),
        test_codex.line("compacted", message="", replacement_history=[test_codex.said("user", "go")["payload"]]),
    ],
}
by_format = pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)


def check(taken: Taken) -> None:
    """Checks what is true of every import, for any input."""
    assert taken.report.adds_up
    for turn in taken.turns:
        assert is_uuid(turn.id)
        assert turn.session
        assert turn.role in ROLES
        assert type(turn.time) is int
        assert EARLIEST <= turn.time <= LATEST
        assert turn.content_hash.startswith("sha256:")  # so its content has a canonical form
        assert all(parent.type in EDGE_TYPES and parent.id != turn.id for parent in turn.parents)
        assert all(is_uuid(parent.id) for parent in turn.parents)
    assert all(is_uuid(link.parent) and is_uuid(link.child) for link in taken.links)
    assert all(note.reason in REASONS for note in taken.report.notes)
    assert not {"importer-failed", "partly-read"} & taken.reasons().keys()
    assert_no_cycle(taken)


def assert_no_cycle(taken: Taken) -> None:
    first: dict[str, set[str]] = {}
    for turn in taken.turns:  # the first record with an id is kept
        first.setdefault(turn.id, {parent.id for parent in turn.parents})
    for link in taken.links:
        first.setdefault(link.child, set()).add(link.parent)
    while first:
        leaves = [turn for turn, parents in first.items() if not parents & first.keys()]
        assert leaves, "a cycle"
        for leaf in leaves:
            del first[leaf]


@by_format
@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=400))
def test_arbitrary_bytes_raise_nothing(known: Format, data: bytes) -> None:
    check(take(("x.jsonl", data), known=known))
    check(take(("x.json", data), known=known))
    known.sniff(head_of(data, "x.json"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def damaged(draw: st.DrawFn, sound: bytes) -> bytes:
    """Draws damaged bytes: the given ones after some accidents."""
    data = sound
    for _ in range(draw(st.integers(1, 4))):
        accident = draw(st.sampled_from(ACCIDENTS))
        data = accident(draw, data)
    return data


def _lines(change: Callable[[st.DrawFn, list[bytes]], list[bytes]]) -> Callable[[st.DrawFn, bytes], bytes]:
    return lambda draw, data: b"\n".join(change(draw, data.split(b"\n")))


def _index(draw: st.DrawFn, items: list[bytes] | bytes) -> int:
    return draw(st.integers(0, max(len(items) - 1, 0)))


def _drop(draw: st.DrawFn, lines: list[bytes]) -> list[bytes]:
    at = _index(draw, lines)
    return lines[:at] + lines[at + 1 :]


def _repeat(draw: st.DrawFn, lines: list[bytes]) -> list[bytes]:
    at = _index(draw, lines)
    return lines[:at] + lines[at : at + 1] * 2 + lines[at + 1 :]


def _swap(draw: st.DrawFn, lines: list[bytes]) -> list[bytes]:
    at = _index(draw, lines)
    return lines[at:] + lines[:at]


def _glue(draw: st.DrawFn, data: bytes) -> bytes:
    at = data.find(b"\n", _index(draw, data))
    return data if at < 0 else data[:at] + data[at + 1 :]


def _cut(draw: st.DrawFn, data: bytes) -> bytes:
    return data[: _index(draw, data)]


def _insert(draw: st.DrawFn, data: bytes) -> bytes:
    at = _index(draw, data)
    return (
        data[:at]
        + draw(st.sampled_from([b"\0", b"\xff", b"\xef\xbb\xbf", b'"', b"}{", b"\r\n", b"# note\n", b"\\ud800"]))
        + data[at:]
    )


def _replace_value(draw: st.DrawFn, lines: list[bytes]) -> list[bytes]:
    """Puts another value somewhere into a record, so that a field may have any type."""
    at = _index(draw, lines)
    try:
        value = json.loads(lines[at])
    except ValueError:
        return lines
    spots = [(value, key) for key in value] if isinstance(value, dict) else []
    spots += [(inner, key) for outer, name in spots if isinstance(inner := outer[name], dict) for key in inner]
    if spots:
        holder, key = spots[draw(st.integers(0, len(spots) - 1))]
        holder[key] = draw(JSON)
    return [*lines[:at], json.dumps(value).encode(), *lines[at + 1 :]]


ACCIDENTS = [_lines(_drop), _lines(_repeat), _lines(_swap), _glue, _cut, _insert, _lines(_replace_value)]


@by_format
@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_damaged_inputs_raise_nothing_and_always_add_up(known: Format, data: st.DataObject) -> None:
    taken = take(("x.jsonl", data.draw(damaged(SOUND[known.name]))), known=known)
    check(taken)


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the place of every value inside a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield (*place, key)
        yield from _places(inner, (*place, key))


def _with(value: Any, place: tuple[Any, ...], other: Any) -> Any:
    """Returns a value with another one at a place."""
    if not place:
        return other
    changed = value.copy()
    changed[place[0]] = _with(value[place[0]], place[1:], other)
    return changed


@by_format
@pytest.mark.parametrize("other", [None, True, 2**70, "two words", ["b"], {"a": 1}], ids=repr)
def test_any_value_may_be_of_any_type(known: Format, other: Any) -> None:
    """It is read, counted or reported, and costs no other record."""
    records = KINDS.get(known.name) or head_of(SOUND[known.name], "x.jsonl").records
    for number, sound in enumerate(records):
        for place in _places(sound):
            data = jsonl([*records[:number], _with(sound, place, other), *records[number + 1 :]])
            for is_growing in (False, True):
                check(take(("x.jsonl", data), known=known, is_growing=is_growing))


@pytest.mark.parametrize("other", [2**70, "\ud800", ["b"], {"a": 2**70}], ids=repr)
@pytest.mark.parametrize("reader", [Transcript, partial(Rollout, is_growing=True)])
def test_what_is_kept_of_a_transcript_can_be_written_whatever_a_value_is(reader: Any, other: Any) -> None:
    """It may end with any record, and is read again where it was left."""
    records = KINDS["codex" if isinstance(reader, partial) else "claude-code"]
    for number, sound in enumerate(records):
        for place in _places(sound):
            transcript = reader("x.jsonl", Options())
            list(transcript.read([jsonl([*records[:number], _with(sound, place, other)])]))
            list(transcript.flush())
            if (state := transcript.state) is not None:
                written = msgspec.msgpack.encode(state)
                assert msgspec.msgpack.encode(msgspec.msgpack.decode(written, type=type(state))) == written


@by_format
@pytest.mark.parametrize("name", ["x.jsonl", "x.traj"])
def test_a_sound_input_is_recognised_as_its_own_format(known: Format, name: str) -> None:
    assert recognised(name, SOUND[known.name]) is known


LONG = "a pasted file " * 6_000  # longer than the beginning by which most sources are recognised


@pytest.mark.parametrize("known", [each for each in FORMATS if each.name != "conversation"], ids=lambda each: each.name)
@pytest.mark.parametrize("name", ["x.jsonl", "x.json"])
def test_a_source_is_recognised_whatever_the_length_of_its_first_records(known: Format, name: str) -> None:
    records = head_of(SOUND[known.name], name).records
    long = [{"aside": LONG, **record} for record in records]
    unknown = [{"type": "news", "text": LONG}] * 3
    for printed in (jsonl(long), json.dumps(long).encode(), jsonl(unknown + records), jsonl(records)[:-20]):
        assert recognised(name, printed) is known


@by_format
def test_reading_twice_gives_the_same(known: Format) -> None:
    first, second = (take(("x.jsonl", SOUND[known.name]), known=known).batches for _ in range(2))
    assert first == second


@by_format
def test_a_cut_file_gives_the_turns_before_the_cut(known: Format) -> None:
    whole = take(("x.jsonl", SOUND[known.name]), known=known)
    cut = take(("x.jsonl", SOUND[known.name][:-30]), known=known)
    assert [turn.id for turn in cut.turns] == [turn.id for turn in whole.turns][: len(cut.turns)]


def one(line: bytes, *more: bytes) -> Taken:
    data = b"\n".join((json.dumps(record(1, None)).encode(), line, json.dumps(record(3, 1)).encode(), *more))
    return take(("x.jsonl", data))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"type": "user", "uuid"', "not-json"),
        (b"\0\0\0\0", "only-nul"),
        (b"[1, 2]", "not-object"),
        (b"42", "not-object"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, "too-deep"),
        (b'{"a":' * 100_000, "too-deep"),
        (b"<html>", "not-json"),
    ],
)
def test_a_line_that_is_not_a_record_is_skipped_with_its_place(line: bytes, reason: str) -> None:
    taken = one(line)
    assert [turn.id for turn in taken.turns] == [uuid(1), uuid(3)]
    (note,) = taken.report.notes
    assert (note.action, note.reason, note.where, note.lost) == ("skipped", reason, "x.jsonl:2", True)


@pytest.mark.parametrize("mark", [b"# ", b"// "])
def test_a_comment_is_not_a_record_of_the_conversation(mark: bytes) -> None:
    assert one(mark + b"a note").report.others == {"comment": 1}


def encoded(text: str) -> bytes:
    return json.dumps(record(2, 1, content="@")).encode().replace(b"@", text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    ("line", "reason", "text"),
    [
        (encoded("a\\ud800b"), "lone-surrogate", "a�b"),
        (encoded("a@b").replace(b"@", b"\xff"), "not-utf8", "a�b"),
        (encoded("a\0b"), "nul-bytes", "ab"),
        (encoded("a\tb"), "control-characters", "a\tb"),
    ],
)
def test_damage_that_can_be_repaired_is_repaired_and_reported(line: bytes, reason: str, text: str) -> None:
    """Ruling 1."""
    taken = one(line)
    assert taken.turns[1].parts[0].text == text
    assert taken.reasons() == {reason: 1}
    assert taken.report.notes[0].where == "x.jsonl:2"


def test_numbers_that_readers_disagree_on_become_text() -> None:
    block = {"type": "tool_use", "id": "c", "name": "f", "input": {"big": 2**60, "small": 2**53 - 1}}
    taken = one(json.dumps(record(2, 1, "assistant", [block])).encode())
    assert taken.turns[1].parts[0].arguments == {"big": str(2**60), "small": 2**53 - 1}
    assert taken.reasons() == {"integer-range": 1}
    huge = one(json.dumps(record(2, 1, "assistant", [block])).replace("1152921504606846976", "9" * 6000).encode())
    assert huge.turns[1].parts[0].arguments["big"] == "9" * 6000
    endless = one(json.dumps(record(2, 1, "assistant", [{**block, "input": {"x": float("nan")}}])).encode())
    assert endless.reasons() == {"not-finite": 1}


def test_records_glued_together_are_both_read() -> None:
    both = json.dumps(record(2, 1)).encode() + json.dumps(record(4, 2)).encode()
    taken = one(both)
    assert len(taken.turns) == 4
    assert taken.reasons() == {"glued": 2}


def test_a_complete_record_after_one_that_was_cut_off_is_read() -> None:
    taken = one(json.dumps(record(2, 1)).encode()[:100] + json.dumps(record(4, 2)).encode())
    assert [turn.id for turn in taken.turns] == [uuid(1), uuid(4), uuid(3)]
    assert taken.reasons() == {"not-json": 1, "glued": 1}


def test_bom_crlf_and_blank_lines_do_not_matter() -> None:
    lines = [json.dumps(record(1, None)).encode(), b"", json.dumps(record(2, 1)).encode()]
    taken = take(("x.jsonl", b"\xef\xbb\xbf" + b"\r\n".join(lines)))
    assert len(taken.turns) == 2
    assert not taken.report.reasons


def test_the_same_record_twice_is_the_same_turn_twice() -> None:
    taken = take(("x.jsonl", jsonl([record(1, None), record(2, 1), record(2, 1)])))
    assert replace(taken.turns[1], parents=()) == taken.turns[2]  # which states no parents again


def test_every_chunk_size_gives_the_same_batches() -> None:
    data = Path(SAMPLE).read_bytes()
    whole = take((SAMPLE.name, data)).batches
    for size in (1, 1000, 4097):
        assert take((SAMPLE.name, data), chunk=size).batches == whole


def test_a_record_at_which_the_importer_fails_costs_itself_alone() -> None:
    """No such record is known. If there is one, it is reported with its place, and the others are read."""
    builder = BatchBuilder("test")

    def handle(value: SourceRecord, line: RecordLine) -> Iterator[Batch]:
        if value["n"] == 2:
            raise KeyError("surprise")
        builder.other("fine")
        if value["n"] == 3:
            raise TypeError("late")
        yield from ()

    lines = json_lines(ImportSource("x.jsonl", [jsonl({"n": number} for number in range(1, 5))]), lambda _: True)
    report = ImportReport()
    for batch in (*read_records(builder, lines, handle), *builder.close()):
        report.add(batch)
    assert report.adds_up
    assert report.others == {"fine": 3}
    assert [(note.reason, note.where) for note in report.notes] == [
        ("importer-failed", "x.jsonl:2"),
        ("partly-read", "x.jsonl:3"),
    ]


@pytest.mark.parametrize("tiny", [b"{}", b"[]", b"1", b'""', b"null"])
def test_a_record_with_too_many_values_is_refused_before_it_takes_memory(tiny: bytes) -> None:
    many = b",".join([tiny] * (MAX_VALUES + 1)) + b" " * MAX_VALUES
    taken = one(b'{"type":"user","uuid":"%s","message":{"content":[%s]}}' % (uuid(2).encode(), many))
    assert taken.reasons() == {"too-large": 1}
    assert len(taken.turns) == 2


def test_commas_in_a_text_are_not_values() -> None:
    long = {**record(2, 1), "message": {"role": "user", "content": "a,b[" * MAX_VALUES}}
    assert one(json.dumps(long).encode()).reasons() == {}


def test_values_that_follow_one_another_on_a_line_are_not_all_reported() -> None:
    assert one(b"1 " * 100_000).reasons() == {"not-object": 1000, "not-json": 1}


def test_arguments_with_too_many_values_stay_text() -> None:
    text = "[" + "{}," * MAX_VALUES + "{}]"
    assert arguments_of(text) is text
