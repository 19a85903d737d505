"""What follows a compaction goes on from its summary, also where the client names the turn before it as the parent."""

from typing import Any

from slicebase.graph.turn import Parent
from tests.importers.reading import Taken, jsonl, take, without
from tests.importers.test_claude_code import record, uuid


def boundary(number: int, logical: int | None) -> dict[str, Any]:
    bare = {**without(record(number, None, "system"), "message"), "subtype": "compact_boundary", "content": "Compacted"}
    return bare if logical is None else {**bare, "logicalParentUuid": uuid(logical)}


def summary(number: int, parent: int) -> dict[str, Any]:
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
