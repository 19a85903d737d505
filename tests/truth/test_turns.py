"""Turns in the truth: idempotent, append-only, and the same in any order of arrival."""

import contextlib

import apsw
import pytest
from msgspec.structs import replace

from slicebase.graph.record import annotation_records
from slicebase.graph.turn import Edge, Parent, Session
from slicebase.truth.truth import Truth
from tests.conversations import SESSION, annotate, annotation, name, salient, turn


def test_the_same_turns_again_add_nothing(truth: Truth) -> None:
    turns = [turn("a"), turn("b", "a")]
    assert len(truth.turns.add(SESSION, turns).turns) == 2
    again = truth.turns.add(SESSION, turns)
    assert (again.turns, again.known) == ((), 2)


def test_another_source_record_under_a_known_id_is_reported_and_the_first_stays(truth: Truth) -> None:
    """Ruling 15."""
    truth.turns.add(SESSION, [turn("a")])
    added = truth.turns.add(SESSION, [turn("a", text="changed")])
    assert added.conflicts == (turn("a").id,)
    assert truth.turns.get(turn("a").id).record.source_hash == turn("a").source_hash


def test_the_newest_title_and_facts_of_a_session_count_and_what_it_does_not_say_stays(truth: Truth) -> None:
    truth.turns.add(Session("s", "test", "First", {"model": "a", "branch": "main"}), [turn("a")])
    truth.turns.add(Session("s", "test", "Second", {"model": "b"}), [turn("b")])
    truth.turns.add(Session("s", "test"), [turn("c")])
    assert truth.turns.session("s") == Session("s", "test", "Second", {"model": "b", "branch": "main"})
    assert list(truth.turns.sessions()) == [(truth.turns.session("s"), 3)]
    assert len(list(truth.turns.records_of("s"))) == 2, "what says nothing new is not recorded"


def test_the_newest_annotation_of_a_turn_counts(truth: Truth) -> None:
    """Ruling 17."""
    truth.turns.add(SESSION, [turn("a"), turn("b", "a"), turn("c", "b")], annotate)
    for salience in (0.25, 0.75):
        notes = [annotation(name("b"), salience=salience)]
        truth.turns.annotate(next(iter(annotation_records("s", notes))))
    assert truth.turns.annotation_of(name("b")).salience == 0.75
    assert truth.turns.annotation_of(name("a")).salience == pytest.approx(salient(name("a")))


def test_edges_continues_and_waiting_parents_are_counted_separately(truth: Truth) -> None:
    """Ruling 13."""
    truth.turns.add(SESSION, [turn("a")])
    other = [turn("b", "a", session="t"), turn("c", "b", session="t"), turn("d", "z", session="t")]
    added = truth.turns.add(Session("t", "test"), other)
    assert (added.edges, added.continues, added.waiting) == (1, 1, 1)


def test_an_orphan_is_joined_when_its_parent_arrives(truth: Truth) -> None:
    truth.turns.add(SESSION, [turn("child", "parent")])
    assert truth.turns.add(SESSION, [turn("parent")]).joined == (turn("child").id,)
    assert truth.turns.add(SESSION, [turn("x", "parent")]).joined == ()


def test_a_turn_may_wait_for_one_parent_through_several_edges(truth: Truth) -> None:
    twice = replace(turn("child"), parents=(Parent(name("z")), Parent(name("z"), "reference")))
    assert truth.turns.add(SESSION, [twice]).waiting == 2
    linked = truth.turns.link([Edge(name("z"), name("child"), "branch"), Edge(name("y"), name("child"), "branch")])
    assert (linked.edges, linked.continues, linked.waiting) == (0, 0, 2)
    assert truth.turns.add(SESSION, [turn("z")]).joined == (name("child"),)


def test_an_edge_that_closes_a_cycle_over_two_imports_is_left_out(truth: Truth) -> None:
    """Ruling 14."""
    truth.turns.add(SESSION, [turn("a", "b")])
    added = truth.turns.add(SESSION, [turn("b", "a")])
    assert added.cycles == ((turn("b").id, turn("a").id),)
    assert truth.turns.get(turn("b").id).record.parents == ()


def test_links_are_appended_once_and_never_close_a_cycle(truth: Truth) -> None:
    truth.turns.add(SESSION, [turn("a"), turn("b", "a"), turn("c")])
    link = Edge(turn("b").id, turn("c").id, "reference")
    assert truth.turns.link([link]).edges == 1
    assert truth.turns.link([link]).edges == 0
    backwards = Edge(turn("c").id, turn("a").id, "reference")
    assert truth.turns.link([backwards]).cycles == ((turn("a").id, turn("c").id),)
    stranger = Edge(turn("a").id, turn("nobody").id, "reply")
    assert truth.turns.link([stranger]).unknown == (stranger,)


@pytest.mark.parametrize("statement", [
    "UPDATE turns SET record = x'00'",
    "DELETE FROM turns",
    "INSERT OR REPLACE INTO turns SELECT session, seq, turn, x'00', hash FROM turns LIMIT 1",
    "UPDATE texts SET bytes = x'00'",
    "DELETE FROM texts",
    "INSERT OR REPLACE INTO texts SELECT owner, hash, x'00', NULL FROM texts LIMIT 1",
    "UPDATE sessions SET record = x'00'",
    "DELETE FROM sessions",
])  # fmt: skip
@pytest.mark.sqlite
def test_sql_changes_and_removes_nothing(truth: Truth, statement: str) -> None:
    """Also holds for the connection of another program, where recursive triggers are off."""
    truth.turns.add(SESSION, [turn("a"), turn("b", "a")])
    foreign = apsw.Connection(str(truth.database.path))
    tables = ("turns", "texts", "sessions")
    before = [foreign.execute(f"SELECT * FROM {table}").fetchall() for table in tables]
    with contextlib.suppress(apsw.ConstraintError):  # or the statement is ignored
        foreign.execute(statement)
    assert [foreign.execute(f"SELECT * FROM {table}").fetchall() for table in tables] == before
    foreign.close()
