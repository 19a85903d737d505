"""opencode's sessions: its export, its folder and its database give the same turns."""

import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import apsw
import pytest

from slicebase.core.ids import turn_id
from slicebase.graph.turn import Edge, Part
from slicebase.history.annotate import Annotator
from slicebase.history.imports import import_inputs
from slicebase.history.inputs import inputs
from slicebase.history.opencode_store import QUIET
from slicebase.importers.formats import recognise
from slicebase.importers.times import moment
from slicebase.importers.values import ImportSource, Options
from slicebase.truth.truth import Truth
from tests.importers.reading import recognised, take


def message(name: str, role: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    time = {"created": 1_749_564_000_000, **({"completed": 1_749_564_001_000} if role == "assistant" else {})}
    return {"info": {"id": name, "role": role, "time": time, **more}, "parts": list(parts)}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def tool(call: str, name: str, **state: Any) -> dict[str, Any]:
    return {"type": "tool", "callID": call, "tool": name, "state": {"status": "completed", "input": {"a": 1}, **state}}


NOW = 1_749_564_000_000
PARENT: dict[str, Any] = {
    "info": {"id": "ses_1", "title": "Flags", "directory": "/repo", "version": "1.2.0", "time": {"created": NOW}},
    "messages": [
        message("msg_1", "user", text("Add a flag"), text("<file>a</file>", synthetic=True)),
        message(
            "msg_2", "assistant", {"type": "step-start"}, {"type": "reasoning", "text": "Read it"}, text("I read it."),
            tool("c1", "read", output="set -e"), tool("c2", "edit", status="error", error="not found"),
            tool("c3", "task", output="done", metadata={"sessionId": "ses_2"}), {"type": "step-finish", "cost": 0.5},
        ),
        message("msg_3", "user", {"type": "compaction", "auto": True}),
        message("msg_4", "assistant", text("The summary"), summary=True),
        message("msg_5", "user", {"type": "file", "mime": "image/png", "filename": "a.png", "url": "data:,A"}),
        {"info": {"id": "msg_6", "role": "assistant", "time": {"created": NOW}}, "parts": [text("I am st")]},
    ],
}  # fmt: skip
CHILD: dict[str, Any] = {
    "info": {"id": "ses_2", "parentID": "ses_1"},
    "messages": [message("msg_7", "user", text("Check the docs"))],
}


def test_messages_with_calls_results_summaries_and_files() -> None:
    taken = take(("ses_1.json", json.dumps(PARENT).encode()))
    assert [turn.role for turn in taken.turns] == ["user", "assistant", "system", "user", "assistant"]
    asked, answered, summary, shown, _ = taken.turns
    assert [part.hidden for part in asked.parts] == [False, True]
    assert [part.type for part in answered.parts] == ["thinking", "text", *["tool_call", "tool_result"] * 3]
    assert answered.parts[5] == Part("tool_result", text="not found", name="edit", call_id="c2", error=True)
    assert (summary.parts[0].summary, shown.parts[0].media_type) == (True, "image/png")
    assert taken.report.others == {"empty message": 1}
    assert taken.sessions["ses_1"].title == "Flags"
    assert len(taken.edges) == 4


TOLD: dict[str, Any] = {
    "info": {"id": "ses_3"},
    "messages": [
        message("msg_1", "user", text("Add a flag"), system="Answer in French."),
        message("msg_2", "assistant", text("Oui."), system=["You are opencode.", "It is Monday."]),
        message("msg_3", "assistant", text("Fini."), system=["You are opencode.", "It is Tuesday.", "", None]),
        message("msg_4", "assistant", text("Oui."), system=["You are opencode.", "It is Tuesday."]),
        message("msg_5", "assistant", text("Bon."), system=[]),
    ],
}


def test_the_instructions_of_a_message_are_a_hidden_turn_before_it_and_each_text_is_one_once() -> None:
    taken = take(("ses_3.json", json.dumps(TOLD).encode()))
    assert [(turn.role, [part.text for part in turn.parts]) for turn in taken.turns] == [
        ("system", ["Answer in French."]),
        ("user", ["Add a flag"]),
        ("system", ["You are opencode.", "It is Monday."]),
        ("assistant", ["Oui."]),
        ("system", ["It is Tuesday."]),
        ("assistant", ["Fini."]),
        ("assistant", ["Oui."]),
        ("assistant", ["Bon."]),
    ]
    assert all(part.hidden is (turn.role == "system") for turn in taken.turns for part in turn.parts)
    ids = [turn.id for turn in taken.turns]
    assert [edge[:2] for edge in taken.edges] == [*pairwise(ids)]
    assert taken.report.adds_up


@pytest.mark.parametrize("order", [(PARENT, CHILD), (CHILD, PARENT)], ids=["parent", "child"])
def test_a_subagent_continues_the_turn_that_started_it(order: tuple[dict[str, Any], ...]) -> None:
    taken = take(*((f"{number}.json", json.dumps(each).encode()) for number, each in enumerate(order)))
    by_text = {turn.parts[0].text: turn.id for turn in taken.turns}
    assert taken.links == [Edge(by_text["Read it"], by_text["Check the docs"], "reference")]


def as_export(folder: Path) -> Path:
    for session in (PARENT, CHILD):
        (folder / f"{session['info']['id']}.json").write_text(json.dumps(session, indent=1))
    return folder


def as_folder(folder: Path) -> Path:
    for session in (PARENT, CHILD):
        files = {f"session/p1/{session['info']['id']}.json": session["info"]}
        for each in session["messages"]:
            info = each["info"]
            files[f"message/{session['info']['id']}/{info['id']}.json"] = info
            files |= {f"part/{info['id']}/prt_{number}.json": part for number, part in enumerate(each["parts"])}
        for name, value in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(json.dumps(value))
    return folder


def as_database(folder: Path) -> Path:
    connection = apsw.Connection(str(folder / "opencode.db"))
    connection.execute("""
        CREATE TABLE session (id, project_id, parent_id, title, directory, version, time_created);
        CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
        CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT)""")
    for session in (PARENT, CHILD):
        info = session["info"]
        row = (info["id"], "p1", info.get("parentID"), info.get("title"), info.get("directory"), info.get("version"), 1)
        connection.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        for each in session["messages"]:
            data = {key: value for key, value in each["info"].items() if key != "id"}
            said = (each["info"]["id"], info["id"], each["info"]["time"]["created"], json.dumps(data))
            connection.execute("INSERT INTO message VALUES (?, ?, ?, ?)", said)
            for number, part in enumerate(each["parts"]):
                piece = (f"{each['info']['id']}_{number}", each["info"]["id"], info["id"], json.dumps(part))
                connection.execute("INSERT INTO part VALUES (?, ?, ?, ?)", piece)
    connection.close()
    return folder


def age(folder: Path, seconds: float) -> Path:
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (path.stat().st_mtime - seconds,) * 2)
    return folder


@pytest.mark.parametrize("store", [as_folder, as_database])
def test_the_last_message_is_a_turn_when_it_is_finished_or_nothing_follows(
    store: Any, truth: Truth, tmp_path: Path
) -> None:
    growing = import_inputs(truth, inputs([store(tmp_path)]), Options(), annotate=Annotator(truth))
    assert (growing.added, growing.report.count("skipped"), growing.content_left_out) == (5, 1, 0)
    later = import_inputs(truth, inputs([age(tmp_path, QUIET + 60)]), Options(), annotate=Annotator(truth))
    assert (later.added, later.known, later.content_left_out) == (1, 5, 0)
    assert not later.report.others.keys() - {"empty message"}


def test_a_database_says_when_a_session_changed(truth: Truth, tmp_path: Path) -> None:
    now = (as_database(tmp_path) / "opencode.db").stat().st_mtime
    connection = apsw.Connection(str(tmp_path / "opencode.db"))
    for table in ("session", "message", "part"):
        connection.execute(f"ALTER TABLE {table} ADD COLUMN time_updated")
        connection.execute(f"UPDATE {table} SET time_updated = ?", (now * 1000,))
    connection.close()
    account = import_inputs(truth, inputs([age(tmp_path, QUIET * 2)]), Options(), annotate=Annotator(truth))
    assert [note.reason for note in account.report.notes if note.action == "skipped"] == ["unfinished"]


@pytest.mark.parametrize("store", [as_folder, as_database])
@pytest.mark.parametrize("bad", ["part", "message"])
def test_what_is_not_json_costs_nothing_else(store: Any, bad: str, truth: Truth, tmp_path: Path) -> None:
    store(tmp_path)
    if store is as_folder:
        (tmp_path / {"part": "part/msg_1/prt_0.json", "message": "message/ses_1/msg_1.json"}[bad]).write_text(
            "{cut off"
        )
    else:
        name = {"part": "msg_1_0", "message": "msg_1"}[bad]
        connection = apsw.Connection(str(tmp_path / "opencode.db"))
        connection.execute(f"UPDATE {bad} SET data = '{{cut off' WHERE id = ?", (name,))
        connection.close()
    account = import_inputs(truth, inputs([age(tmp_path, QUIET * 2)]), Options(), annotate=Annotator(truth))
    assert (account.added, account.content_left_out) == (6, 0)
    first = truth.turn(turn_id("opencode", "ses_1", "msg_1"))
    assert first is not None
    assert (first.role, len(first.parts)) == (("user", 2) if bad == "part" else ("system", 2))
    assert ("{cut off" in [part.text for part in first.parts]) is (bad == "part")


def test_a_session_with_links_is_left_out_by_name(truth: Truth, tmp_path: Path) -> None:
    kept = as_folder(tmp_path / "kept")
    part = kept / "part" / "msg_1" / "prt_0.json"
    part.rename(tmp_path / "elsewhere.json")
    part.symlink_to(tmp_path / "elsewhere.json")
    account = import_inputs(truth, inputs([kept]), Options(), annotate=Annotator(truth))
    assert [error.code for error in account.unreadable] == ["no-input"]
    assert (account.added, "ses_1" in str(account.unreadable[0])) == (1, True)


@pytest.mark.parametrize("store", [as_folder, as_database])
def test_what_opencode_keeps_gives_the_turns_of_its_export(store: Any, truth: Truth, tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    (tmp_path / "kept").mkdir()
    import_inputs(truth, inputs([as_export(tmp_path / "export")]), Options(), annotate=Annotator(truth))
    account = import_inputs(
        truth, inputs([age(store(tmp_path / "kept"), QUIET * 2)]), Options(), annotate=Annotator(truth)
    )
    assert (account.added, account.known, account.content_left_out) == (0, 6, 0)
    assert account.formats == {"opencode": 2}


def test_another_database_and_other_json_are_not_recognised(tmp_path: Path) -> None:
    apsw.Connection(str(tmp_path / "opencode.db")).execute("CREATE TABLE session (id)").close()
    assert [recognise(ImportSource(each.name, each.chunks())) for each in inputs([tmp_path / "opencode.db"])] == [None]
    assert recognised("x.json", b'{"info": {"id": "x"}, "messages": []}') is None


@pytest.mark.parametrize("created", ["soon", 1e300, [NOW], {"at": NOW}, "2025-06-10T14:00:00Z", NOW, NOW / 1000])
def test_a_message_without_a_time_has_that_of_its_session_if_that_is_one(created: Any) -> None:
    untimed = {"info": {"id": "msg_1", "role": "user"}, "parts": [text("Go.")]}
    session = {"info": {"id": "ses_1", "time": {"created": created}}, "messages": [untimed]}
    (turn,) = take(("ses_1.json", json.dumps(session).encode())).turns
    assert turn.time == (moment(created) or 0)
