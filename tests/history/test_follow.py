"""A transcript that grows is read from the last position; the result is the same as after one import of all of it."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.graph.session import PURGED_FACT
from slicebase.graph.turn import Session
from slicebase.history import follow as following
from slicebase.history import live_files
from slicebase.history.annotate import Annotator
from slicebase.history.follow import follow, purged_states
from slicebase.history.imports import import_inputs
from slicebase.history.inputs import inputs
from slicebase.history.live_files import has_marks
from slicebase.importers import codex_events, json_stream
from slicebase.importers.values import Options
from slicebase.truth.truth import Truth
from slicebase.workspace.doors import Redaction
from slicebase.workspace.workspace import TRANSCRIPTS
from tests.codes import code_of
from tests.paths import SHARED

REAL = sorted((SHARED / "data" / "claude-code").rglob("*.jsonl"))
ROLLOUTS = sorted((SHARED / "data" / "codex").rglob("*.jsonl"))


def redaction() -> Redaction:
    return Redaction(Path(), lambda: None)


@contextmanager
def fresh() -> Iterator[tuple[Truth, Path]]:
    with TemporaryDirectory() as name:
        truth = Truth(Path(name) / "slicebase.db", create=True)
        try:
            yield truth, Path(name)
        finally:
            truth.close()


def stored(truth: Truth) -> dict[str, Any]:
    """Returns turns, edges, annotations and facts by session, each in its order."""
    found: dict[str, Any] = {}
    for session, _ in truth.turns.sessions():
        records = [each.record for each in truth.turns.of_session(session.id)]
        found[session.id] = (
            records,
            sorted((link.child, link.parent, link.type) for link in truth.turns.links_of(session.id)),
            [truth.turns.annotation_of(record.id) for record in records],
            {name: fact for name, fact in truth.turns.session(session.id).facts.items() if fact},
        )
    return found


def at_once(path: Path, format_name: str | None = "claude-code") -> dict[str, Any]:
    with fresh() as (truth, _):
        with suppress(SlicebaseError):  # a file without any record of the format
            import_inputs(truth, inputs([path]), Options(), format_name=format_name, annotate=Annotator(truth))
        return stored(truth)


def in_pieces(data: bytes, cuts: list[int], name: str) -> dict[str, Any]:
    with fresh() as (truth, folder):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
        for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            with path.open("ab") as stream:
                stream.write(data[start:end])
            followed = follow(truth, folder / "cache", path, redaction(), is_growing=end < len(data))
            assert not followed.account.conflicts
        return stored(truth)


def uuid(number: int) -> str:
    return f"{number:08}-0000-4000-8000-000000000000"


def _kinds(number: int, message: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns what makes the record with this number a record of each kind."""
    call = {"type": "tool_use", "id": f"c{number % 3}", "name": "Task", "input": {"prompt": "because of 1"}}
    result = {"type": "tool_result", "tool_use_id": f"c{number % 3}", "content": "Error: no"}
    inner = {"type": "user", "uuid": uuid(number + 100), "message": message}
    queue = {"type": "queue-operation"}
    typed = {"type": "queued_command", "prompt": "queued 1"}
    return {
        "user": {},
        "call": {"type": "assistant", "message": {"role": "assistant", "id": f"m{number // 2}", "content": [call]}},
        "result": {"message": {"role": "user", "content": [result]}, "toolUseResult": {"agentId": "a1"}},
        "progress": {"type": "progress", "data": {}},
        "side": {"isSidechain": True, "agentId": "a1"},
        "agent": {"type": "progress", "data": {"type": "agent_progress", "agentId": "a1", "message": inner}},
        "enqueue": {**queue, "operation": "enqueue", "content": f"queued {number % 3}"},
        "remove": {**queue, "operation": "remove"},
        "removed": {**queue, "operation": "remove", "content": f"queued {number % 3}"},
        "dequeue": {**queue, "operation": "dequeue"},
        "typed": {"type": "attachment", "attachment": typed},
        "boundary": {"type": "system", "subtype": "compact_boundary", "content": "Compacted"},
        "summary": {"isCompactSummary": True},
        "attachment": {"type": "attachment", "attachment": {"type": "file", "content": f"text {number}"}},
        "title": {"type": "custom-title", "customTitle": f"title {number}", "sessionId": "s1"},
    }


@st.composite
def transcripts(draw: st.DrawFn) -> bytes:
    """Draws records that depend on earlier ones: branches, progress, calls, late parents, agents, a queue, copies."""
    lines: list[bytes] = []
    for number in range(draw(st.integers(1, 12))):
        message = {"role": "user", "content": f"because of {number} we decide"}
        kinds = _kinds(number, message)
        kind = draw(st.sampled_from([*kinds, "broken", *(["copy"] if lines else [])]))
        if kind == "copy":
            lines.append(draw(st.sampled_from(lines)))
            continue
        record: dict[str, Any] = {
            "uuid": uuid(number),
            "parentUuid": draw(st.one_of(st.none(), st.integers(0, 14).map(uuid))),
            "logicalParentUuid": draw(st.one_of(st.none(), st.integers(0, 14).map(uuid))),
            "sessionId": draw(st.sampled_from(["s1", "s1", "s2"])),
            "timestamp": f"2026-01-01T00:00:{number:02}Z",
            "type": "user",
            "message": message,
            **kinds.get(kind, {}),
        }
        lines.append(b'{"type": "user", "uu\n' if kind == "broken" else json.dumps(record).encode() + b"\n")
    return b"".join(lines) + b"".join(_answer(session) for session in ("s1", "s2"))


def _answer(session: str) -> bytes:
    """Returns an answer, before which the model got what was in the queue."""
    message = {"role": "assistant", "content": "done"}
    answer = {"type": "assistant", "uuid": f"{session}-end", "sessionId": session, "parentUuid": None}
    return json.dumps({**answer, "timestamp": "2026-01-01T00:01:00Z", "message": message}).encode() + b"\n"


@given(transcripts(), st.data())
@settings(max_examples=25)
def test_any_split_into_appended_pieces_gives_the_same_store(data: bytes, more: st.DataObject) -> None:
    cuts = sorted(more.draw(st.lists(st.integers(0, len(data)), max_size=4)))
    with TemporaryDirectory() as name:
        whole = Path(name) / "t.jsonl"
        whole.write_bytes(data)
        assert in_pieces(data, cuts, "t.jsonl") == at_once(whole)


def _rollout_kinds(number: int) -> dict[str, tuple[str, dict[str, Any]]]:
    """Returns the records of a rollout by kind; an event repeats the text of an item near it, or stands alone."""
    text, call = f"text {number // 2}", f"c{number % 2}"
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    told = {"type": "agent_message", "message": f"only here {number // 3}"}
    completed = {"type": "AgentMessage", "content": told["message"]}
    return {
        "item": ("response_item", message),
        "shown": ("event_msg", {"type": "user_message", "message": text}),
        "alone": ("event_msg", told),
        "completed": ("event_msg", {"type": "item_completed", "item": completed}),
        "goal": ("event_msg", {"type": "thread_goal_updated", "goal": {"objective": f"goal {number % 2}"}}),
        "search": ("event_msg", {"type": "web_search_end", "call_id": call, "results": [{"title": text}]}),
        "named": ("response_item", {**message, "id": f"msg_{number % 4}"}),
        "uuid": ("response_item", {**message, "id": uuid(number)}),
        "thought": ("response_item", {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}),
        "call": ("response_item", {"type": "function_call", "call_id": call, "name": "f", "arguments": "{}"}),
        "output": ("response_item", {"type": "function_call_output", "call_id": call, "output": "Error"}),
        "snapshot": ("response_item", {"type": "ghost_snapshot"}),
        "compacted": ("compacted", {"message": f"summary {number}", "replacement_history": [message]}),
        "replaced": ("compacted", {"message": "", "replacement_history": [message, {**message, "role": "assistant"}]}),
        "summary": ("compacted", {"message": f"summary {number}"}),
        "context": ("turn_context", {"model": f"m{number}", "user_instructions": f"instructions {number % 3}"}),
        "world": ("world_state", {"text": f"instructions {number % 3}"}),
        "fork": ("session_meta", {"id": f"s{number}", "instructions": f"instructions {number % 3}"}),
        "title": ("event_msg", {"type": "thread_name_updated", "thread_name": f"title {number}"}),
        "agent": ("event_msg", {"type": "collab_agent_spawn_end", "call_id": call, "new_thread_id": f"a{number % 2}"}),
        "silent": ("event_msg", {"type": "token_count"}),
        "unknown": ("event_msg", {"type": "unheard_of", "text": "who knows what this is"}),
    }  # fmt: skip


def _codex(number: int, kind: str) -> dict[str, Any]:
    name, payload = _rollout_kinds(number)[kind]
    return {"timestamp": f"2026-01-01T00:00:{number:02}Z", "type": name, "payload": payload}


def _codex_line(number: int, kind: str) -> bytes:
    """Returns a line of a rollout: a record, one in another form, or one that is damaged."""
    record = _codex(number, kind) if kind in _rollout_kinds(0) else _codex(number, "item")
    if kind == "timeless":
        del record["timestamp"]
    elif kind == "bare":
        record = record["payload"]
    elif kind == "loose":
        record = {"role": "user", "message": f"text {number // 2}"}
    line = json.dumps(record).encode() + b"\n"
    return {"broken": line[:30] + b"\n", "glued": line[:-1] + line, "comment": b"# no\n\n"}.get(kind, line)


_CODEX_LINES = [*_rollout_kinds(0), "timeless", "bare", "loose", "broken", "glued", "comment", "copy"]
_HEAD = {
    "timestamp": "2026-01-01T00:00:00Z",
    "type": "session_meta",
    "payload": {"id": "s1", "parent_thread_id": "s0", "instructions": "instructions 0"},
}


@given(st.lists(st.sampled_from(_CODEX_LINES), max_size=16), st.data())
@settings(max_examples=40)
def test_any_split_of_a_rollout_gives_the_same_store(kinds: list[str], more: st.DataObject) -> None:
    lines = [json.dumps(_HEAD).encode() + b"\n"]
    for number, kind in enumerate(kinds):
        lines.append(lines[-1] if kind == "copy" else _codex_line(number, kind))
    data = b"".join(lines)
    cuts = sorted(more.draw(st.lists(st.integers(0, len(data)), max_size=4)))
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(codex_events, "_REACH", more.draw(st.sampled_from([1, 2, 5])))  # an item near an event
        whole = Path(folder) / "rollout-1.jsonl"
        whole.write_bytes(data)
        os.utime(whole, (0, 0))  # it does not grow any more
        assert in_pieces(data, cuts, "rollout-1.jsonl") == at_once(whole, format_name="codex")


def rollout(count: int) -> bytes:
    """Returns lines of a rollout with results, which have ids."""
    output = {"type": "function_call_output", "output": "word"}
    payloads = [{**output, "call_id": f"c{number}", "id": f"i{number}"} for number in range(count)]
    time = "2026-01-01T00:00:00Z"
    lines = [{"timestamp": time, "type": "response_item", "payload": payload} for payload in payloads]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@pytest.mark.parametrize("path", ROLLOUTS, ids=lambda path: path.stem[-8:])
def test_real_rollouts_in_pieces_give_the_same_store(path: Path) -> None:
    data = path.read_bytes()
    cuts = [len(data) * part // 4 for part in range(1, 4)]
    assert in_pieces(data, cuts, path.name) == at_once(path, "codex")


def test_of_a_rollout_only_the_new_lines_and_some_before_them_are_read(truth: Truth, tmp_path: Path) -> None:
    path, cache = tmp_path / "rollout-1.jsonl", tmp_path / "cache"
    lines = rollout(300).splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:250]))
    first = follow(truth, cache, path, redaction())
    path.write_bytes(b"".join(lines))
    second = follow(truth, cache, path, redaction())
    assert (first.start, first.end, second.end) == (0, len(b"".join(lines[:250])), len(b"".join(lines)))
    assert second.start == len(b"".join(lines[:150])), "fifty lines wait for the next, and fifty before them are near"
    (state,) = (cache / TRANSCRIPTS).iterdir()
    assert b"word" not in state.read_bytes()


def test_a_long_rollout_is_read_in_several_calls(truth: Truth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rollout-1.jsonl"
    path.write_bytes(rollout(300))
    monkeypatch.setattr(following, "MOST_AT_ONCE", 20_000)
    calls = [follow(truth, tmp_path / "cache", path, redaction(), is_growing=False) for _ in range(4)]
    assert calls[0].left > calls[1].left > calls[2].left == calls[3].left == 0
    assert stored(truth) == at_once(path, "codex")


def test_what_is_kept_of_a_session_of_which_something_was_purged_is_removed(truth: Truth, tmp_path: Path) -> None:
    path, cache = tmp_path / "rollout-1.jsonl", tmp_path / "cache"
    path.write_bytes(json.dumps(_HEAD).encode() + b"\n" + rollout(120))
    follow(truth, cache, path, redaction())
    assert list(purged_states(truth, cache)) == []
    truth.turns.add(Session("s1", "codex", facts={PURGED_FACT: 1}), ())
    assert list(purged_states(truth, cache)) == list((cache / TRANSCRIPTS).iterdir()) != []
    follow(truth, cache, path, redaction())
    assert list((cache / TRANSCRIPTS).iterdir()) == []


@pytest.mark.parametrize("name", ["rollout-1.jsonl", "t.jsonl"])
def test_no_secret_of_a_title_is_kept(truth: Truth, tmp_path: Path, name: str) -> None:
    secret = "sk-ant-api03-" + "Zx9" * 30
    event = {"type": "thread_name_updated", "thread_name": secret}
    titles = [
        {"type": "event_msg", "payload": event},
        {"type": "custom-title", "customTitle": secret, "sessionId": "s1"},
    ]
    (tmp_path / name).write_bytes(
        json.dumps(titles[name == "t.jsonl"]).encode() + b"\n" + (rollout if name != "t.jsonl" else records)(120)
    )
    follow(truth, tmp_path / "cache", tmp_path / name, redaction())
    (state,) = (tmp_path / "cache" / TRANSCRIPTS).iterdir()
    assert b"Zx9Zx9" not in state.read_bytes()


_CHAT = {"sessionId": "s1", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z"}


@st.composite
def chats(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draws a chat: messages that get their calls later, resumes that say all of them again, rewinds, compressions."""
    records: list[dict[str, Any]] = [_CHAT]
    context: list[dict[str, Any]] = []
    for number, kind in enumerate(
        draw(st.lists(st.sampled_from(["user", "gemini", "call", "resume", "rewind", "compress"]), max_size=12))
    ):
        time = f"2026-01-01T00:00:{number:02}Z"
        said = {"id": f"m{number}", "timestamp": time, "type": "user", "content": [{"text": f"because {number}"}]}
        if kind in ("user", "gemini"):
            context.append({**said, "type": kind})
            records.append(context[-1])
        elif kind == "call":
            context.append({**said, "type": "gemini"})
            calls = [{"id": "c", "name": "ls", "args": {}, "result": "a.txt"}]
            records += [context[-1], {**context[-1], "toolCalls": calls}]
        elif kind == "rewind" and context:
            target = draw(st.sampled_from(context))
            del context[context.index(target) :]
            records.append({"$rewindTo": target["id"]})
        elif kind in ("resume", "compress"):
            if kind == "compress":
                kept = context[len(context) // 2 :]
                context = [said, {**said, "id": f"ok{number}", "type": "gemini", "content": "Got it."}, *kept]
            records.append({"$set": {"messages": [{**each, "timestamp": time, "tokens": number} for each in context]}})
    return records


@given(chats(), st.data())
@settings(max_examples=15)
def test_any_split_of_a_chat_gives_the_same_store(records: list[dict[str, Any]], more: st.DataObject) -> None:
    lines = [json.dumps(record).encode() + b"\n" for record in records]
    data = b"".join(lines)
    ends = sorted(more.draw(st.lists(st.integers(0, len(lines)), max_size=4)))
    cuts = [len(b"".join(lines[:end])) for end in ends]
    with TemporaryDirectory() as folder:
        whole = Path(folder) / "session-1.jsonl"
        whole.write_bytes(data)
        os.utime(whole, (0, 0))  # it does not grow any more
        assert in_pieces(data, cuts, whole.name) == at_once(whole, format_name=None)


def test_a_session_of_a_folder_with_many_is_followed_by_its_name(truth: Truth, tmp_path: Path) -> None:
    files: dict[str, dict[str, Any]] = {}
    for name in ("ses_1", "ses_2"):
        files[f"session/p/{name}.json"] = {"id": name, "time": {"created": 1}}
        files[f"message/{name}/msg_{name}.json"] = {"id": f"msg_{name}", "role": "user", "time": {"created": 2}}
        files[f"part/msg_{name}/prt_1.json"] = {"id": "prt_1", "type": "text", "text": f"said in {name}"}
    for place, value in files.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(json.dumps(value))
    followed = follow(truth, tmp_path / "cache", tmp_path, redaction(), session="ses_2")
    assert (followed.account.sessions, followed.account.added) == (["ses_2"], 1)
    assert follow(truth, tmp_path / "cache", tmp_path, redaction(), session="ses_2").account.added == 0
    assert code_of(follow, truth, tmp_path / "cache", tmp_path, redaction(), session="ses_3") == "no-input"


def test_a_transcript_that_has_not_changed_is_not_read_again(truth: Truth, tmp_path: Path) -> None:
    path = tmp_path / "session-1.jsonl"
    said = [
        {"id": f"m{number}", "timestamp": "2026-01-01T00:00:00Z", "type": "user", "content": "a"} for number in range(5)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in [_CHAT, *said[:4]]))
    assert follow(truth, tmp_path / "cache", path, redaction()).account.added == 4
    assert follow(truth, tmp_path / "cache", path, redaction()).account.report.records == 0
    with path.open("a") as stream:
        stream.write(json.dumps(said[4]) + "\n")
    assert follow(truth, tmp_path / "cache", path, redaction()).account.added == 1
    other = Truth(tmp_path / "other.db", create=True)
    assert follow(other, tmp_path / "cache", path, redaction()).account.added == 5
    other.close()


@given(transcripts(), st.data())
@settings(max_examples=25)
def test_a_file_that_is_imported_while_it_grows_gives_the_same_store(data: bytes, more: st.DataObject) -> None:
    lines = data.splitlines(keepends=True)
    cuts = sorted(more.draw(st.lists(st.integers(0, len(lines)), max_size=4)))
    with fresh() as (truth, folder):
        path = folder / "t.jsonl"
        for cut in (*cuts, len(lines)):
            path.write_bytes(b"".join(lines[:cut]))
            import_inputs(truth, inputs([folder]), Options(), format_name="claude-code", annotate=Annotator(truth))
        assert stored(truth) == at_once(path)


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem[:8])
def test_real_transcripts_in_pieces_give_the_same_store(path: Path) -> None:
    data = path.read_bytes()
    cuts = [len(data) * part // 4 for part in range(1, 4)]
    # The run of an agent is known by the folder of its file.
    assert in_pieces(data, cuts, str(path.relative_to(SHARED))) == at_once(path)


def records(count: int, first: int = 0) -> bytes:
    lines = []
    for number in range(first, first + count):
        message = {"role": "user", "content": f"word {number}"}
        lines.append(
            {
                "uuid": uuid(number),
                "parentUuid": uuid(number - 1) if number else None,
                "sessionId": "s1",
                "timestamp": "2026-01-01T00:00:00Z",
                "type": "user",
                "message": message,
            }
        )
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def test_only_the_new_part_is_read(truth: Truth, tmp_path: Path) -> None:
    path = tmp_path / "with space.jsonl"
    path.write_bytes(records(5))
    first = follow(truth, tmp_path / "cache", path, redaction())
    with path.open("ab") as stream:
        stream.write(records(2, first=5))
    second = follow(truth, tmp_path / "cache", path, redaction())
    assert (first.start, first.end, first.account.added) == (0, len(records(5)), 5)
    assert (second.start, second.account.added, second.account.report.records) == (first.end, 2, 2)
    assert follow(truth, tmp_path / "cache", path, redaction()).account.report.records == 0


def test_a_line_that_is_still_being_written_waits_and_a_complete_one_without_its_end_counts(
    truth: Truth, tmp_path: Path
) -> None:
    path = tmp_path / "t.jsonl"
    data = records(2)
    path.write_bytes(data[:-40])
    assert follow(truth, tmp_path / "cache", path, redaction()).account.added == 1
    path.write_bytes(data[:-1])
    assert follow(truth, tmp_path / "cache", path, redaction()).account.added == 1
    path.write_bytes(data)
    assert follow(truth, tmp_path / "cache", path, redaction()).account.known == 1


def rewritten(path: Path, truth: Truth, cache: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"word", b"Word"))


def replaced(path: Path, truth: Truth, cache: Path) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes())
    os.replace(other, path)


def shortened(path: Path, truth: Truth, cache: Path) -> None:
    path.write_bytes(records(2))


def without_cache(path: Path, truth: Truth, cache: Path) -> None:
    for state in (cache / TRANSCRIPTS).iterdir():
        state.unlink()


def damaged_cache(path: Path, truth: Truth, cache: Path) -> None:
    for state in (cache / TRANSCRIPTS).iterdir():
        state.write_bytes(state.read_bytes()[:-9])


@pytest.mark.parametrize("name", ["t.jsonl", "rollout-1.jsonl"])
@pytest.mark.parametrize("change", [rewritten, replaced, shortened, without_cache, damaged_cache])
def test_everything_is_read_again_if_the_file_or_the_cache_was_changed(
    change: Callable[[Path, Truth, Path], None], name: str, truth: Truth, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(records(4) if name == "t.jsonl" else rollout(120))
    follow(truth, tmp_path / "cache", path, redaction())
    assert follow(truth, tmp_path / "cache", path, redaction()).start > 0
    change(path, truth, tmp_path / "cache")
    assert follow(truth, tmp_path / "cache", path, redaction()).start == 0


def test_everything_is_read_again_if_the_database_is_another_one(truth: Truth, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(records(4))
    follow(truth, tmp_path / "cache", path, redaction())
    other = Truth(tmp_path / "other.db", create=True)
    assert follow(other, tmp_path / "cache", path, redaction()).account.added == 4
    other.close()


def test_a_cache_that_cannot_be_written_only_costs_time(truth: Truth, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(records(4))
    (tmp_path / "cache").write_text("a file, not a folder")
    assert follow(truth, tmp_path / "cache", path, redaction()).account.added == 4
    assert follow(truth, tmp_path / "cache", path, redaction()).account.known == 4


def test_secrets_are_redacted(truth: Truth, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(records(1).replace(b"word 0", b"the key is sk-ant-api03-" + b"Zx9" * 30))
    assert follow(truth, tmp_path / "cache", path, redaction()).account.report.redacted.total() == 1


def test_a_transcript_that_does_not_exist_is_an_error(truth: Truth, tmp_path: Path) -> None:
    assert code_of(follow, truth, tmp_path / "cache", tmp_path / "no.jsonl", redaction()) == "no-input"


# Marks in new lines


def test_marks_are_looked_for_in_new_lines_only(tmp_path: Path) -> None:
    path, marks = tmp_path / "t.jsonl", (b"$set", b"messages")
    path.write_bytes(b"$set\nmessages\n$set and mess")
    found, place = has_marks(path, (0, 0), marks)
    assert (found, place[1]) == (False, len(b"$set\nmessages\n"))
    with path.open("ab") as stream:
        stream.write(b"ages")
    assert has_marks(path, place, marks) == (True, place), "the line may not be complete yet"
    with path.open("ab") as stream:
        stream.write(b"\nmore\n")
    found, place = has_marks(path, place, marks)
    assert (found, place[1]) == (True, path.stat().st_size)
    assert has_marks(path, place, marks) == (False, place)
    path.write_bytes(b"messages $set\n")
    assert has_marks(path, place, marks)[0], "a shorter file is another one"


# Files without an end


def user(number: int) -> bytes:
    record = {"type": "user", "uuid": uuid(number), "sessionId": "s", "message": {"content": f"prompt {number}"}}
    return json.dumps(record).encode() + b"\n"


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "circle"])
def test_what_is_not_a_file_is_refused_at_once(truth: Truth, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t.jsonl"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
        (path / "s.jsonl").write_bytes(user(1))
    else:
        path.symlink_to("/dev/zero" if kind == "device" else path)
    assert code_of(follow, truth, tmp_path / "cache", path, redaction()) == "no-input"
    assert code_of(follow, truth, tmp_path / "cache", path, redaction(), session="s") == "no-input"


def test_a_large_file_is_read_in_several_calls(truth: Truth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "MOST_AT_ONCE", 2_000)
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"".join(user(number) for number in range(40)))
    left = [follow(truth, tmp_path / "cache", path, redaction()).left for _ in range(4)]
    assert left[0] > left[1] > left[2] == left[3] == 0
    assert [count for _, count in truth.turns.sessions()] == [40]


def test_a_line_without_an_end_is_passed_over_and_reported(
    truth: Truth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (following, live_files, json_stream):
        monkeypatch.setattr(module, "MAX_RECORD", 1_000)
    monkeypatch.setattr(following, "MOST_AT_ONCE", 1_500)
    monkeypatch.setattr(live_files, "_CHUNK", 400)
    path = tmp_path / "t.jsonl"
    path.write_bytes(user(1) + b"x" * 2_900 + b"\n" + user(2))
    calls = [follow(truth, tmp_path / "cache", path, redaction()) for _ in range(5)]
    assert sum(call.account.report.reasons["skipped", "too-large"] for call in calls) >= 1
    assert [count for _, count in truth.turns.sessions()] == [2]


def test_a_file_that_grows_while_it_is_read_is_read_up_to_its_size(truth: Truth, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"".join(user(number) for number in range(20)))
    for each in inputs([path]):
        for chunk in each.chunks():
            with path.open("ab") as stream:
                stream.write(chunk)  # as long as anybody reads
    assert path.stat().st_size == 2 * len(b"".join(user(number) for number in range(20)))
