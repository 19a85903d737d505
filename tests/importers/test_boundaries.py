"""What follows a compaction goes on from its summary, also where the client names the turn before it as the parent."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.graph.turn import Parent
from slicebase.importers.boundaries import Boundaries
from slicebase.importers.parents import ParentLinks
from tests.importers.reading import Taken, jsonl, take, without
from tests.importers.test_claude_code import record, uuid


def boundary(number: int, logical: int | None) -> dict[str, Any]:
    bare = {**without(record(number, None, "system"), "message"), "subtype": "compact_boundary", "content": "Compacted"}
    return bare if logical is None else {**bare, "logicalParentUuid": uuid(logical)}


def summary(number: int, parent: int | None) -> dict[str, Any]:
    return record(number, parent, "user", f"summary {number}", isCompactSummary=True)


def parents(taken: Taken, number: int) -> list[str]:
    return [parent.id for parent in taken.by_id[uuid(number)].parents]


def read(*lines: dict[str, Any]) -> Taken:
    return take(("s.jsonl", jsonl(list(lines))))


def test_a_record_that_goes_on_from_before_the_boundary_follows_the_summary() -> None:
    """Both compactions of a session without a screen, each with a record that names an old parent."""
    lines = [record(1, None), record(2, 1, "assistant"), boundary(3, 2), summary(4, 3)]
    lines += [record(5, 2), record(6, 5, "assistant"), boundary(7, 6), summary(8, 7), record(9, 6)]
    taken = read(*lines)
    assert (parents(taken, 5), parents(taken, 9)) == ([uuid(4)], [uuid(8)])
    assert taken.report.reasons["repaired", "compacted-parent"] == 2


def test_the_command_that_compacts_and_what_it_prints_do_not_hide_the_boundary() -> None:
    command = record(3, 2, "user", "<command-name>/compact</command-name>")
    printed = record(6, 3, "user", "<local-command-stdout>Compacted</local-command-stdout>")
    lines = [record(1, None), record(2, 1, "assistant"), command, boundary(4, 2), summary(5, 4)]
    assert parents(read(*lines, printed, record(7, 6)), 6) == [uuid(5)]
    assert parents(read(*lines, record(7, 2)), 7) == [uuid(5)]


def test_a_user_who_goes_back_to_before_the_compaction_starts_a_branch_there() -> None:
    lines = [record(1, None), record(2, 1, "assistant"), record(3, 2), record(4, 3, "assistant")]
    taken = read(*lines, boundary(5, 4), summary(6, 5), record(7, 2))
    assert taken.by_id[uuid(7)].parents == (Parent(uuid(2), "branch"),)


def test_a_boundary_that_names_no_parent_follows_the_last_turn() -> None:
    taken = read(record(1, None), boundary(2, None), summary(3, 2), record(4, 3))
    assert parents(taken, 2) == [uuid(1)]
    assert taken.report.reasons["repaired", "logical-parent"] == 1


def test_compactions_that_name_each_other_do_not_stop_the_reader() -> None:
    taken = read(record(1, None), boundary(3, 4), boundary(4, 3), record(5, 3))
    assert len(taken.turns) == 4
    assert parents(taken, 5)


def test_records_of_compactions_that_are_repeated_change_nothing() -> None:
    """As in a file to which a client has copied a part of itself."""
    lines = [record(1, None), record(2, 1, "assistant"), boundary(3, 2), summary(4, 3), boundary(5, 4), summary(6, 5)]
    lines += [record(7, 2), record(8, 7, "assistant")]
    once, again = read(*lines, record(9, 8)), read(*lines, *lines[2:7], record(9, 8))
    assert again.by_id.keys() == once.by_id.keys()
    assert parents(once, 7) == [uuid(6)]
    for number in range(1, 10):
        stated = {parent for turn in again.turns if turn.id == uuid(number) for parent in turn.parents}
        assert stated == set(once.by_id[uuid(number)].parents)


def test_a_summary_without_a_parent_follows_the_boundary() -> None:
    lines = [record(1, None), record(2, 1, "assistant"), boundary(3, 2), summary(4, None), record(5, 2)]
    taken = read(*lines)
    assert (parents(taken, 4), parents(taken, 5)) == ([uuid(3)], [uuid(4)])
    assert taken.report.reasons["repaired", "logical-parent"] == 1


def test_a_summary_that_comes_before_its_boundary_or_has_none_is_followed() -> None:
    start = [record(1, None), record(2, 1, "assistant")]
    assert parents(read(*start, summary(4, 3), boundary(3, 2), record(5, 2)), 5) == [uuid(4)]
    assert parents(read(*start, summary(4, 2), record(5, 2)), 5) == [uuid(4)]


def test_a_compaction_right_after_another_goes_on_from_its_summary() -> None:
    start = [record(1, None), record(2, 1, "assistant"), boundary(3, 2), summary(4, 3)]
    taken = read(*start, boundary(5, 2), summary(6, 5), record(7, 2))
    assert (parents(taken, 5), parents(taken, 7)) == ([uuid(4)], [uuid(6)])


KINDS: dict[str, dict[str, Any]] = {
    "boundary": {"type": "system", "subtype": "compact_boundary"},
    "summary": {"type": "user", "isCompactSummary": True},
    "command": {"type": "attachment"},
    "prompt": {"type": "user"},
}
TURNS = st.sampled_from("abcdef")


@given(st.lists(st.tuples(st.sampled_from([*KINDS]), TURNS, TURNS, TURNS, st.none() | TURNS), max_size=12))
@settings(max_examples=100)
def test_no_chain_of_compactions_leads_in_a_circle(added: list[tuple[str, str, str, str, str | None]]) -> None:
    links = ParentLinks()
    boundaries = Boundaries(links)
    for kind, turn, parent, before, logical in added:
        links.join(turn, parent)
        boundaries.add(KINDS[kind], turn, before, logical)
        closed = boundaries.state.closed
        for first in closed:
            steps, end = 0, first
            while end in closed and steps <= len(closed):
                steps, end = steps + 1, closed[end]
            assert steps <= len(closed)


class CountedId(str):
    """An id that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        CountedId.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_commands_before_a_compaction_and_compactions_in_a_row_take_linear_time() -> None:
    def compared(kinds: list[str]) -> int:
        links = ParentLinks()
        boundaries = Boundaries(links)
        turns = [CountedId(number) for number in range(len(kinds))]
        CountedId.compared = 0
        for number, kind in enumerate(kinds):
            before = turns[number - 1] if number else None
            links.join(turns[number], before)
            boundaries.add(KINDS[kind], turns[number], before, before)
            boundaries.follow(turns[0])
        return CountedId.compared

    for kinds in (["command"] * 4, ["boundary"] * 4, ["boundary", "summary"] * 2, ["boundary", "summary", "prompt"]):
        assert compared([*kinds * 40, "boundary"]) <= 3 * compared([*kinds * 20, "boundary"]) + 10
