"""The tools that list: files, sessions, turns, and what a compaction forgot."""

from importlib.resources import as_file, files

import pytest

from tests.mcp.conftest import Agent


def test_files_are_listed_the_last_changed_first_with_their_titles_in_the_text(one_agent: Agent) -> None:
    made = [one_agent.result("create", title=f"File {n}", summary="S.", type="jsonl")["id"] for n in range(2)]
    one_agent.result("create", title="Text", summary="S.")
    with one_agent.environment.open() as base:
        known = [entry.ref for entry in base.finder.list_files()]
    found = one_agent.result("list")
    assert [each["ref"] for each in found["files"]] == known
    assert "File 0 [FRESH]: S." in found["text"]
    logs = one_agent.result("list", type="jsonl")
    assert {each["ref"] for each in logs["files"]} == {f"file:{each}" for each in made}
    assert one_agent.result("list", of="stale")["total"] == 0


def test_sessions_and_their_turns_are_listed_and_narrowed(one_agent: Agent) -> None:
    with one_agent.environment.open() as base:
        (session,) = base.graph.sessions()
        turns = base.graph.turns(session.id)
        asked = base.graph.turns(session.id, "role:user")
    found = one_agent.result("list", of="sessions")
    assert [(each["ref"], each["turns"]) for each in found["sessions"]] == [(session.ref, session.turns)]
    first = one_agent.result("list", session=session.ref, limit=5)
    assert [each["ref"] for each in first["turns"]] == [each.ref for each in turns[:5]]
    assert (first["total"], first["next"]) == (len(turns), 2)
    narrowed = one_agent.result("list", session=session.id, query="role:user", limit=200)
    assert [each["ref"] for each in narrowed["turns"]] == [each.ref for each in asked]
    assert one_agent.result("list", of="sessions", query="zyzzyva")["total"] == 0


@pytest.mark.parametrize(
    "arguments", [{"query": "x"}, {"of": "sessions", "type": "jsonl"}, {"session": "s", "archived": True}]
)
def test_arguments_that_would_be_ignored_are_refused(one_agent: Agent, arguments: dict[str, str]) -> None:
    assert one_agent.refusal("list", **arguments) == "bad-arguments"


def test_a_forgotten_file_is_left_out_until_it_is_asked_for_or_restored(one_agent: Agent) -> None:
    made = one_agent.result("create", title="Old", summary="Obsolete facts.")["id"]
    assert one_agent.result("forget", id=made, reason="Wrong.")["changed"]
    assert not one_agent.result("forget", id=made)["changed"]
    assert one_agent.result("list")["total"] == 0
    assert one_agent.result("search", query="obsolete")["files"] == []
    assert one_agent.result("search", query="obsolete", archived=True)["files"][0]["ref"] == f"file:{made}"
    assert "[archived]" in one_agent.result("list", archived=True)["text"]
    assert one_agent.refusal("remember", id=made, text="More.") == "archived"
    one_agent.result("forget", id=made, restore=True)
    assert one_agent.result("list")["total"] == 1
    with one_agent.environment.open() as base:
        assert b"agent: weaver" in base.library.folder.find(made).to_bytes()


def test_what_was_lost_is_rendered_as_of_a_time(one_agent: Agent) -> None:
    with one_agent.environment.open() as base, as_file(files("slicebase") / "samples/long-session.jsonl") as sample:
        base.import_([sample])
        session = base.lost().session
        turns = base.graph.turns(str(session))
        before = base.lost_context(tokens=900, as_of=turns[40].time, record=False)
    built = one_agent.result("lost", tokens=900, as_of=turns[40].time)
    assert [each["ref"] for each in built["lost"]] == [piece.ref for piece in before.pieces]
    assert before.text in built["text"]
    assert one_agent.refusal("lost", as_of=turns[40].time) == "bad-arguments"
