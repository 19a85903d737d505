"""Conversation slice files: read, written, and read again."""

from slicebase.core.ids import turn_id
from slicebase.graph.turn import Edge, Parent, Part, Session, Turn
from slicebase.importers.conversation import export_conversation
from tests.importers.reading import Taken, jsonl, take, texts
from tests.importers.test_claude_code import SAMPLE

HEADER = """---
slice:
  v: "1"
  id: 01JC0000000000000000000001
  title: Weather
  summary: A talk.
  body:
    type: conversation
    conversation:
      session_id: sess_abc
  meta: {cwd: /repo}
---
"""
BODY = """{"role": "user", "content": "Weather?", "ts": "2026-02-03T10:00:00Z"}
{"role": "assistant", "content": "Let me look.", "ts": "2026-02-03T10:00:05Z"}
{"role": "tool_call", "name": "weather", "args": {"city": "Bern"}, "call_id": "call_001"}
{"role": "tool_result", "call_id": "call_001", "content": "Rain"}
{"type": "compaction_note", "summary": "It rains.", "turns_summarized": 4}
"""


def test_the_lines_of_the_specification() -> None:
    taken = take(("w.slice", (HEADER + BODY).encode()))
    assert [turn.role for turn in taken.turns] == ["user", "assistant", "assistant", "tool", "system"]
    assert taken.turns[2].parts == (Part("tool_call", name="weather", arguments={"city": "Bern"}, call_id="call_001"),)
    assert taken.turns[3].parts == (Part("tool_result", text="Rain", call_id="call_001"),)
    assert taken.turns[4].parts == (Part("text", text="It rains.", summary=True),)
    assert len(taken.edges) == 4
    assert taken.turns[0].id == turn_id("conversation", "sess_abc", 0)
    assert taken.sessions["sess_abc"] == Session("sess_abc", "conversation", "Weather", {"cwd": "/repo"})
    assert taken.reasons() == {"no-time": 3}
    assert taken.report.notes[0].where == "w.slice:15"


def test_a_file_without_a_session_id_is_named_by_its_stem() -> None:
    data = (HEADER.replace("session_id: sess_abc", "format: messages") + BODY).encode()
    assert set(take(("folder/talk.slice", data)).sessions) == {"talk"}


def written(session: Session, turns: list[Turn], links: list[Edge]) -> bytes:
    exported = export_conversation(session, turns, links)
    assert exported.header["body"]["conversation"]["session_id"] == session.id
    header = HEADER.replace("sess_abc", session.id)
    return header.encode() + b"".join(exported.lines)


def exported_again(taken: Taken, session: Session) -> Taken:
    turns = [turn for turn in taken.turns if turn.session == session.id]
    children = {turn.id for turn in turns}
    return take(("x.slice", written(session, turns, [link for link in taken.links if link.child in children])))


def test_an_exported_session_imports_to_the_same_turns() -> None:
    """They have the same ids, branches, times, contents and source hashes."""
    taken = take((SAMPLE.name, SAMPLE.read_bytes()))
    (session,) = taken.sessions.values()
    again = exported_again(taken, session)
    assert again.turns == taken.turns
    assert not again.report.reasons


def test_what_the_fields_of_a_line_cannot_hold_is_in_its_meta() -> None:
    parts = (
        Part("thinking", text="Hm"),
        Part("text", text="See", hidden=True),
        Part("tool_call", name="f", arguments=[1, None], call_id="c"),
        Part("pointer", uri="sha256:0", media_type="image/png"),
    )
    ids = [turn_id("x", "s", number) for number in range(5)]
    turns = [
        Turn(
            ids[0],
            "s",
            "assistant",
            parts,
            1,
            (Parent(ids[4], "default"), Parent(ids[3], "reference")),
            f"sha256:{'0' * 64}",
        ),
        Turn(ids[1], "s", "user", (), 2, (Parent(ids[0], "branch"),), f"sha256:{'1' * 64}"),
        Turn(
            ids[2],
            "s",
            "tool",
            (Part("tool_result", text="no", name="f", call_id="c", error=True),),
            3,
            (),
            f"sha256:{'2' * 64}",
        ),
    ]
    links = [Edge(ids[3], ids[2], "reference")]
    again = take(("x.slice", written(Session("s", "x"), turns, links)))
    assert again.turns == turns
    assert again.links == links


def test_parents_that_are_named_by_ids_of_the_file_are_those_turns() -> None:
    """An id need not be a UUID, and a UUID may be in upper case (ruling 16)."""
    lines = [
        {"role": "user", "content": "Go.", "_meta": {"id": "first"}},
        {"role": "user", "content": "Stop.", "_meta": {"id": "AAAAAAAA-0000-4000-8000-00000000000A"}},
        {"role": "assistant", "content": "Yes.", "_meta": {"id": "third", "parents": [["first", "reply"]]}},
    ]
    lines[2]["_meta"]["links"] = [["AAAAAAAA-0000-4000-8000-00000000000A", "branch"]]  # type: ignore[index]
    taken = take(("talk.slice", HEADER.encode() + jsonl(lines)))
    first, second, third = taken.turns
    assert second.id == "aaaaaaaa-0000-4000-8000-00000000000a"
    assert third.parents == (Parent(first.id),)
    assert taken.links == [Edge(second.id, third.id, "branch")]


def test_a_line_that_holds_everything_has_no_parts_in_its_meta() -> None:
    text = Turn(turn_id("x", "s", 0), "s", "user", (Part("text", text="hello"),), 0, (), f"sha256:{'0' * 64}")
    (line,) = export_conversation(Session("s", "x"), [text]).lines
    assert b'"content":"hello","role":"user","ts":"1970-01-01T00:00:00.000Z"' in line
    assert b'"parts"' not in line


def test_nonsense_in_a_lines_meta_is_ignored() -> None:
    meta = '{"id":7,"parents":[[1],["x",{}],3],"parts":[4],"source_hash":"?","links":"?"}'
    body = f'{{"role":"user","content":"a","ts":"2026-02-03T10:00:00Z","_meta":{meta}}}\n'
    (turn,) = take(("x.slice", (HEADER + body).encode())).turns
    assert (texts(turn), turn.parents, len(turn.source_hash)) == (["a"], (), 71)
