"""Gemini CLI's and opencode's sessions, step by step: what was seen is not read again, and the result is the same."""

import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.history import kept_messages, opencode_store
from slicebase.history.account import Account
from slicebase.history.compactions import compactions
from slicebase.history.follow import follow
from slicebase.history.kept_messages import MESSAGES, load_messages
from slicebase.importers import gemini, opencode
from slicebase.truth.acts import PurgedText, PurgeRecord
from slicebase.truth.truth import Truth
from slicebase.workspace.workspace import TRANSCRIPTS
from tests.history.test_follow import fresh, redaction, stored, uuid

Said = dict[str, Any]
NOW = 1_749_564_000_000


@pytest.fixture(autouse=True)
def keep_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps what was seen of any transcript, and of files that were written just now."""
    monkeypatch.setattr(kept_messages, "_LEAST", 1)
    monkeypatch.setattr(opencode_store, "_SETTLED", -1.0)


# A session that changes: messages are added, grow, are edited, removed, moved and replaced by a summary


def said(number: int, **more: Any) -> Said:
    """Returns a message of no client, with the fields from which each form of one is written."""
    return {"n": number, "role": "assistant" if number % 2 else "user", "text": f"because of {number}", **more}


_ODD = ["surrogate", "untimed", "empty", "old", "numbered", "unfinished", "told"]
_TEXTS: dict[str, dict[str, Any]] = {"surrogate": {"text": "\ud800"}, "empty": {"text": ""}}


def _steps(number: int, at: int, now: list[Said], odd: str) -> dict[str, list[Said]]:
    """Returns what becomes of a session in a step of each kind. `at` is the place of a message."""
    summary = said(10 * number, text=f"summary {number}", summary=True)
    return {
        "grow": [*now[:at], {**now[at], "call": f"c{number % 3}"}, *now[at + 1 :]],
        "edit": [*now[:at], {**now[at], "text": f"edited {number}"}, *now[at + 1 :]],
        "remove": now[:at] + now[at + 1 :],
        "swap": [*now[at:], *now[:at]],
        "compact": [summary, said(10 * number + 1, text="Got it."), *now[len(now) // 2 :]],
        "cut": now[:at],
        "repeat": [*now, now[at]],
        "rename": [{**now[0], "session": "other"}, *now[1:]],
        "other": [said(10 * number + each, session="other") for each in range(2)],
        "odd": [*now, said(10 * number + 1, **_TEXTS.get(odd, {odd: True}))],
        "same": now,
    }


def _step(draw: st.DrawFn, number: int, now: list[Said]) -> list[Said]:
    if not now or draw(st.integers(0, 3)) == 0:
        return [*now, *(said(10 * number + each) for each in range(draw(st.integers(1, 3))))]
    steps = _steps(number, draw(st.integers(0, len(now) - 1)), now, draw(st.sampled_from(_ODD)))
    return steps[draw(st.sampled_from(sorted(steps)))]


@st.composite
def histories(draw: st.DrawFn) -> list[list[Said]]:
    """Draws the states of a session, one after the other."""
    states: list[list[Said]] = [[said(each) for each in range(draw(st.integers(1, 4)))]]
    for number in range(1, draw(st.integers(2, 6))):
        states.append(_step(draw, number, states[-1]))
    return [[{**each, "told": True} for each in state] for state in states] if draw(st.booleans()) else states


# The forms in which clients write it


def chat_message(message: Said) -> dict[str, Any]:
    number = message["n"]
    written: dict[str, Any] = {
        "id": number if "numbered" in message else uuid(number) if number % 3 else f"m{number}",
        "type": "gemini" if message["role"] == "assistant" else "user",
        "timestamp": f"1970-01-01T00:00:{number % 60:02}Z"
        if "old" in message
        else f"2026-01-01T00:00:{number % 60:02}Z",
        "content": [{"text": message["text"]}] if message["text"] else "",
        "model": f"model {number % 2}",
    }
    if "call" in message:
        written["toolCalls"] = [{"id": message["call"], "name": "ls", "args": {"messages": []}, "result": "a.txt"}]
    return {name: value for name, value in written.items() if name != "timestamp" or "untimed" not in message}


def chat_head(state: list[Said]) -> dict[str, Any]:
    session = "other" if state and "session" in state[0] else "s1"
    return {"sessionId": session, "projectHash": "h", "startTime": "2026-01-01T00:00:00Z", "kind": f"k{len(state)}"}


def as_document(path: Path, _before: list[Said], state: list[Said]) -> None:
    path.write_text(json.dumps({**chat_head(state), "messages": list(map(chat_message, state))}, indent=2))


def as_lines(path: Path, before: list[Said], state: list[Said]) -> None:
    """Appends what is new; a state that does not begin with the one before is set as a whole, or another session's."""
    if not path.exists() or (state and "session" in state[0]):
        path.write_text(json.dumps(chat_head(state)) + "\n")
        before = []
    written = list(map(chat_message, state))
    with path.open("a") as stream:
        if state[: len(before)] == before:
            records = [each for message in written[len(before) :] for each in (message, {**message, "tokens": 1})]
            records += [{"$set": {"lastUpdated": "2026-01-01T00:01:00Z"}}]
        elif state == before[: len(state)]:
            records = [{"$rewindTo": chat_message(before[len(state)])["id"]}]
        elif state[:-1] == before[:-1]:
            records = written[-1:]
        else:
            records = [{"$set": {"messages": written}}]
        stream.write("".join(json.dumps(record) + "\n" for record in records))


def opencode_message(message: Said) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
    number = message["n"]
    created = {"created": 5 if "old" in message else NOW + number}
    info = {"role": message["role"], "time": {**created, "completed": NOW + number}, "modelID": f"m{number % 2}"}
    if message.get("summary"):
        info |= {"role": "assistant", "summary": True}
    if "told" in message:
        info["system"] = ["You are opencode.", f"It is day {number % 3}."] if number % 2 else "Be brief."
    if "untimed" in message:
        info["time"] = {"completed": 1}
    elif "unfinished" in message:
        info["time"] = created
    parts: list[dict[str, Any]] = [{"type": "text", "text": message["text"]}] if message["text"] else []
    if "call" in message:
        state = {"status": "completed", "input": {}, "output": "done", "metadata": {"sessionId": f"ses_{number % 3}"}}
        parts.append({"type": "tool", "callID": message["call"], "tool": "task", "state": state})
    return f"msg_{number:04}", info, parts


def as_database(path: Path, _before: list[Said], state: list[Said]) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("""
        CREATE TABLE IF NOT EXISTS session (id, title, directory, parent_id, time_created);
        CREATE TABLE IF NOT EXISTS message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
        CREATE TABLE IF NOT EXISTS part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);
        DELETE FROM session; DELETE FROM message; DELETE FROM part""")
    connection.execute("INSERT INTO session VALUES ('ses_1', ?, '/repo', 'ses_0', 1)", (f"title {len(state)}",))
    for place, message in enumerate(state):
        name, info, parts = opencode_message(message)
        row = (name, place, json.dumps(info))
        connection.execute("INSERT INTO message VALUES (?, 'ses_1', ?, ?)", row)
        if name not in map(_name, state[:place]):
            for number, part in enumerate(parts):
                connection.execute(
                    "INSERT INTO part VALUES (?, ?, 'ses_1', ?)", (f"{name}_{number}", name, json.dumps(part))
                )
    connection.close()


def _name(message: Said) -> str:
    return opencode_message(message)[0]


def as_folder(path: Path, before: list[Said], state: list[Said]) -> None:
    for name in {*map(_name, before)} - {*map(_name, state)}:
        (path / "message" / "ses_1" / f"{name}.json").unlink()
    files: dict[str, Any] = {"session/p/ses_1.json": {"title": f"title {len(state)}", "time": {"created": 1}}}
    for message in state:
        name, info, parts = opencode_message(message)
        files[f"message/ses_1/{name}.json"] = info
        files |= {f"part/{name}/prt_{number}.json": part for number, part in enumerate(parts)}
    for folder in ("message/ses_1", "part"):
        (path / folder).mkdir(parents=True, exist_ok=True)
    for name, value in files.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text() != json.dumps(value):
            file.write_text(json.dumps(value))


Write = Callable[[Path, list[Said], list[Said]], None]
FORMS: dict[str, Write] = {
    "chat.json": as_document,
    "chat.jsonl": as_lines,
    "opencode.db": as_database,
    "storage": as_folder,
}


# Both ways to follow it


class Followed:
    """A session that is followed in two workspaces: with what was kept of its messages, and always without."""

    def __init__(self, folder: Path, truth: Truth, other: Truth, name: str) -> None:
        self.path = folder / name
        self.session = "ses_1" if name in ("opencode.db", "storage") else None
        self.caches = (folder / "with", folder / "without")
        self.truths = (truth, other)

    def follow(self, *, is_growing: bool = True) -> tuple[Account, Account]:
        for kept in (self.caches[1] / TRANSCRIPTS).glob(f"*{MESSAGES}"):
            kept.unlink()
        accounts = [
            follow(truth, cache, self.path, redaction(), session=self.session, is_growing=is_growing).account
            for truth, cache in zip(self.truths, self.caches, strict=True)
        ]
        return accounts[0], accounts[1]

    @property
    def kept(self) -> list[Path]:
        return sorted((self.caches[0] / TRANSCRIPTS).glob(f"*{MESSAGES}"))


@contextmanager
def followed(name: str) -> Iterator[Followed]:
    with TemporaryDirectory() as place, fresh() as (truth, _), fresh() as (other, _):
        yield Followed(Path(place), truth, other, name)


def counted(account: Account) -> dict[str, Any]:
    """Returns what an account says, except how many secrets were replaced in what was read."""
    report = account.report
    numbers = ("added", "known", "edges", "branches", "continues", "waiting", "joined", "sessions", "conflicts")
    notes = sorted((note.action, note.reason, note.where, note.detail, note.lost) for note in report.notes)
    counts = {name: getattr(account, name) for name in numbers}
    return {**counts, "records": report.records, "turns": report.turns, "others": report.others, "notes": notes}


def everything(truth: Truth) -> tuple[Any, ...]:
    found = stored(truth)
    return found, {session: compactions(truth, session) for session in found}, [
        truth.turn(record.id) for records, *_ in found.values() for record in records
    ]  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
@given(states=histories(), more=st.data())
@settings(max_examples=25)
def test_any_steps_give_what_reading_everything_again_gives(
    name: str, states: list[list[Said]], more: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gemini, "BATCH_TURNS", more.draw(st.sampled_from([1, 3, 500])))  # messages that still may change
        agree(name, states, lambda: more.draw(st.booleans()))


def agree(name: str, states: list[list[Said]], is_growing: Callable[[], bool]) -> None:
    """Follows a session through its states in both ways, and compares them after each."""
    with followed(name) as session:
        before: list[Said] = []
        for state in states:
            FORMS[name](session.path, before, state)
            before = state
            with_kept, without = session.follow(is_growing=is_growing())
            assert counted(with_kept) == counted(without)
            assert everything(session.truths[0]) == everything(session.truths[1])
            assert with_kept.report.adds_up


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("odd", _ODD)
def test_a_message_with_something_to_report_is_reported_each_time(name: str, odd: str) -> None:
    plain = [said(each) for each in range(3)]
    states = [[*plain, said(5, **{**_TEXTS.get(odd, {odd: True}), **more})] for more in ({}, {"untimed": True})]
    for begun in states:
        later = [*begun, said(12, untimed=True), said(13), said(14)]
        agree(name, [begun, later[:5], later[:6], later], lambda: False)


@pytest.mark.parametrize("name", FORMS)
def test_the_same_messages_in_another_session_are_those_of_the_other_session(name: str) -> None:
    state = [said(each) for each in range(6)]
    agree(name, [state, [{**state[0], "session": "other"}, *state[1:]], [*state, said(6)]], lambda: False)


# What is kept


def grown(session: Followed, name: str, count: int, before: int = 0) -> list[Said]:
    """Writes a session with so many messages, of which some were there before."""
    state = [said(each) for each in range(count)]
    FORMS[name](session.path, state[:before], state)
    return state


@pytest.mark.parametrize("name", FORMS)
def test_only_new_messages_are_built_and_no_text_is_kept(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with followed(name) as session:
        grown(session, name, 40)
        session.follow(is_growing=False)
        (kept,) = session.kept
        assert b"because" not in kept.read_bytes()
        grown(session, name, 43, before=40)
        built: list[object] = []

        def noted(build: Callable[..., object], *given: object) -> object:
            built.append(given)
            return build(*given)

        for module in (gemini, opencode):
            monkeypatch.setattr(module, "_build", partial(noted, module._build))
        accounts = session.follow(is_growing=False)
        assert [(account.added, account.known) for account in accounts] == [(3, 40)] * 2
        last = 1 if session.session else 0  # only the text of opencode's last message says whether it is finished
        assert len(built) == 43 + 3 + last


@pytest.mark.parametrize("name", ["opencode.db", "storage"])
def test_instructions_of_messages_that_were_seen_are_known_and_not_kept(name: str) -> None:
    with followed(name) as session:
        states = [[said(each, told=True) for each in range(count)] for count in (20, 24)]
        FORMS[name](session.path, [], states[0])
        session.follow(is_growing=False)
        (kept,) = session.kept
        assert b"You are opencode" not in kept.read_bytes()
        FORMS[name](session.path, states[0], states[1])
        accounts = session.follow(is_growing=False)
        assert [(account.added, account.known) for account in accounts] == [(4, 24)] * 2
        assert all(account.report.adds_up for account in accounts)


@pytest.mark.parametrize("name", FORMS)
def test_what_is_kept_and_damaged_forged_or_of_another_database_counts_for_nothing(name: str) -> None:
    with followed(name) as session, fresh() as (other, _):
        grown(session, name, 6)
        session.follow()
        (kept,) = session.kept
        data = kept.read_bytes()
        forged = data[: len(data) // 2] + bytes(each ^ 1 for each in data[len(data) // 2 :])
        flipped = [data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :] for at in range(0, len(data), len(data) // 12)]
        known = load_messages(session.truths[0], kept, real_name(session))
        assert known.messages
        for each in (b"", data[:-1], data + b"x", forged, *flipped):
            kept.write_bytes(each)
            assert load_messages(session.truths[0], kept, real_name(session)).messages in ({}, known.messages)
        kept.write_bytes(data)
        assert not load_messages(other, kept, real_name(session)).messages
        assert not load_messages(session.truths[0], kept, "another file").messages
        account = follow(other, session.caches[0], session.path, redaction(), session=session.session).account
        assert (account.known, account.added > 0) == (0, True)


def real_name(session: Followed) -> str:
    """Returns the name under which a transcript is kept: for a store, that of the session in it."""
    path = session.path
    if path.name == "storage":
        return str(path / "session" / "p" / "ses_1.json")
    return f"{path}!ses_1.json" if path.name == "opencode.db" else os.path.realpath(path)


@pytest.mark.parametrize("name", FORMS)
def test_what_a_killed_hook_or_a_slower_one_left_gives_the_same(name: str) -> None:
    with followed(name) as session:
        grown(session, name, 6)
        session.follow()
        (kept,) = session.kept
        before = kept.read_bytes()
        grown(session, name, 9, before=6)
        session.follow()
        kept.write_bytes(before)  # a hook that was killed before it wrote, or one that began earlier and wrote later
        grown(session, name, 11, before=9)
        with_kept, without = session.follow()
        assert counted(with_kept) == counted(without)
        assert everything(session.truths[0]) == everything(session.truths[1])


@pytest.mark.parametrize("name", ["chat.jsonl", "opencode.db"])
def test_two_hooks_at_once_give_the_same(name: str) -> None:
    with followed(name) as session:
        for count in (4, 9, 14):
            grown(session, name, count, before=max(0, count - 5))

            def hook(_: int) -> None:
                truth = Truth(session.truths[0].database.path)
                try:
                    follow(truth, session.caches[0], session.path, redaction(), session=session.session)
                finally:
                    truth.close()

            with ThreadPoolExecutor(2) as pool:
                list(pool.map(hook, range(2)))
            session.follow()
            assert everything(session.truths[0]) == everything(session.truths[1])


@pytest.mark.parametrize("name", ["chat.json", "chat.jsonl"])
def test_a_file_that_is_half_written_gives_the_same(name: str) -> None:
    with followed(name) as session:
        grown(session, name, 6)
        session.follow()
        data = session.path.read_bytes()
        for size in (len(data) // 2, len(data) - 3, 0, len(data)):
            session.path.write_bytes(data[:size])
            accounts = [_outcome(session, way) for way in range(2)]
            assert accounts[0] == accounts[1]
            assert everything(session.truths[0]) == everything(session.truths[1])


def _outcome(session: Followed, way: int) -> Any:
    """Follows a session in one of the two ways."""
    for kept in (session.caches[1] / TRANSCRIPTS).glob(f"*{MESSAGES}"):
        kept.unlink()
    return counted(follow(session.truths[way], session.caches[way], session.path, redaction()).account)


@pytest.mark.parametrize("name", FORMS)
def test_a_text_that_was_purged_does_not_come_back(name: str) -> None:
    with followed(name) as session:
        grown(session, name, 6)
        session.follow()
        truth = session.truths[0]
        (stored_session, _), *_ = truth.turns.sessions()
        first = next(iter(truth.turns.of_session(stored_session.id))).record
        purged = (PurgedText(f"session:{stored_session.id}", first.content_hash),)
        truth.texts.purge(PurgeRecord("", purged, "2026-01-02T00:00:00.000Z", "x"))
        grown(session, name, 9, before=6)
        session.follow()
        found = truth.texts.get(f"session:{stored_session.id}", first.content_hash)
        assert found is not None
        assert found.data is None


def test_a_call_that_goes_from_running_to_completed_is_not_missed() -> None:
    """The row of the part changes where it is; that of its message does not."""
    with followed("opencode.db") as session:
        grown(session, "opencode.db", 6)
        session.follow()
        connection = apsw.Connection(str(session.path))
        running = {"type": "tool", "callID": "c1", "tool": "ls", "state": {"status": "running", "input": {}}}
        connection.execute("INSERT INTO part VALUES ('p', 'msg_0006', 'ses_1', ?)", (json.dumps(running),))
        row = ("msg_0006", 6, json.dumps(opencode_message(said(6))[1]))
        connection.execute("INSERT INTO message VALUES (?, 'ses_1', ?, ?)", row)
        session.follow()
        done = {**running, "state": {"status": "completed", "input": {}, "output": "a.txt"}}
        connection.execute("UPDATE part SET data = ? WHERE id = 'p'", (json.dumps(done),))
        connection.close()
        with_kept, without = session.follow()
        assert len(with_kept.conflicts) == len(without.conflicts) == 1, "the stored turn stays, and that is said"


def test_a_database_that_cannot_be_read_now_is_an_error_and_no_other_transcript() -> None:
    """A pipe in its place would be waited for forever, and a locked one has nothing of another client."""
    with followed("opencode.db") as session:
        grown(session, "opencode.db", 6)
        holder = apsw.Connection(str(session.path))
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(SlicebaseError) as locked:
            session.follow()
        holder.close()
        damaged = bytearray(session.path.read_bytes())
        damaged[16:100] = bytes(84)
        session.path.write_bytes(damaged)
        with pytest.raises(SlicebaseError) as unreadable:
            session.follow()
        session.path.unlink()
        grown(session, "opencode.db", 6)
        journal = session.path.with_name("opencode.db-journal")
        os.mkfifo(journal)
        with pytest.raises(SlicebaseError) as log:
            session.follow()
        journal.unlink()
        session.path.unlink()
        os.mkfifo(session.path)
        with pytest.raises(SlicebaseError) as pipe:
            session.follow()
        assert [each.value.code for each in (locked, unreadable, log, pipe)] == ["no-input"] * 4
        assert not stored(session.truths[0])


@pytest.mark.parametrize("mark", ["2026-01-01", "ab" * 20, True])
def test_what_an_export_calls_its_messages_is_not_taken_for_a_digest(mark: object, tmp_path: Path) -> None:
    """Only our own reader of a store says which messages were seen."""
    path = tmp_path / "export.json"
    with fresh() as (truth, _):
        for count in (3, 6):
            told = [opencode_message(said(number)) for number in range(count)]
            messages = [{"info": {**info, "id": name}, "parts": parts, "seen": mark} for name, info, parts in told]
            path.write_text(json.dumps({"info": {"id": "ses_1"}, "messages": messages}))
            account = follow(truth, tmp_path / "cache", path, redaction()).account
            assert (account.added, account.report.notes) == (3, [])


def test_a_secret_in_an_id_is_not_kept(tmp_path: Path, truth: Truth) -> None:
    secret = "sk-ant-api03-" + "Zx9" * 30
    messages = [chat_message(said(number)) for number in range(4)]
    messages[1]["toolCalls"] = [{"id": secret, "name": "ls", "args": {}, "result": "a"}]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({**chat_head([]), "messages": messages}))
    follow(truth, tmp_path / "cache", path, redaction())
    (kept,) = (tmp_path / "cache" / TRANSCRIPTS).iterdir()
    assert b"Zx9Zx9" not in kept.read_bytes()
