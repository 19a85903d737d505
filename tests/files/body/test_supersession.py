"""Supersession: § Mutation Model, ruling 27."""

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.files.body import supersession
from slicebase.files.body.rows import Row, read_rows
from slicebase.files.body.supersession import active, history, newest, supersession_findings

Spec = tuple[str, str, list[str]]  # id, day, what it supersedes


def rows(*specs: Spec, **status: str) -> tuple[Row, ...]:
    def line(row_id: str, day: str, supersedes: list[str]) -> str:
        meta: dict[str, Any] = {"id": row_id, "created_at": f"2026-01-{day}T00:00:00Z", "supersedes": supersedes}
        if row_id in status:
            meta["status"] = status[row_id]
        return json.dumps({"_meta": meta, "text": row_id})

    read, findings = read_rows("\n".join(line(*spec) for spec in specs).encode())
    assert findings == ()
    return read


def ids(found: tuple[Row, ...]) -> list[str]:
    return [row.id for row in found]


def places(found: tuple[Row, ...]) -> list[tuple[str, int | None]]:
    return [(finding.rule, finding.line) for finding in supersession_findings(found)]


CHAIN = rows(("A", "01", []), ("B", "02", ["A"]), ("C", "03", ["B"]), ("X", "02", []))


def test_a_row_without_a_time_is_older_than_every_other() -> None:
    undated = b'{"_meta": {"id": "Z"}, "text": "Z"}'
    found = (*CHAIN, *read_rows(undated).rows)
    last = newest(found)
    assert last is not None
    assert last.id == "C"
    assert ids(active(found)) == ["Z", "X", "C"]


def test_a_row_that_is_superseded_is_not_active() -> None:
    assert ids(active(CHAIN)) == ["X", "C"]
    assert places(CHAIN) == []


def test_a_row_with_another_status_than_active_is_not_active() -> None:
    found = rows(("A", "01", []), ("B", "02", []), ("C", "03", []), B="retracted", C="active")
    assert ids(active(found)) == ["A", "C"]


def test_a_row_that_was_retracted_still_supersedes() -> None:
    """Ruling 27: a superseded row stays superseded, whatever the status of the row that supersedes it."""
    assert ids(active(rows(("A", "01", []), ("B", "02", ["A"]), B="retracted"))) == []


def test_the_history_of_a_row_is_everything_before_and_after_it_in_its_chain() -> None:
    assert ids(history(CHAIN, "B")) == ["A", "B", "C"]
    assert ids(history(CHAIN, "X")) == ["X"]
    assert history(CHAIN, "unknown") == ()


def test_the_history_of_a_row_leaves_out_the_rival_branch() -> None:
    found = rows(("A", "01", []), ("B", "02", ["A"]), ("C", "03", ["A"]))
    assert ids(history(found, "B")) == ["A", "B"]
    assert ids(history(found, "A")) == ["A", "B", "C"]


def test_the_newest_row_is_found_by_time_then_id_never_by_position() -> None:
    found = rows(("B", "09", []), ("Z", "01", []), ("A", "09", []))
    assert newest(found) is found[0]
    assert newest(()) is None


def test_one_row_may_replace_several() -> None:
    found = rows(("A", "01", []), ("B", "01", []), ("C", "02", ["A", "B"]))
    assert ids(active(found)) == ["C"]
    assert places(found) == []


def test_two_heads_are_a_finding_and_both_stay() -> None:
    """Ruling 27."""
    found = rows(("A", "01", []), ("B", "03", ["A"]), ("C", "02", ["A"]))
    assert ids(active(found)) == ["C", "B"]
    (finding,) = supersession_findings(found)
    assert (finding.rule, finding.line) == ("supersedes-fork", 2)
    assert found[1].line.raw.decode()[(finding.column or 0) - 1 :].startswith('["A"]')


def test_two_heads_are_resolved_by_a_row_that_supersedes_both() -> None:
    found = rows(("A", "01", []), ("B", "02", ["A"]), ("C", "02", ["A"]), ("D", "03", ["B", "C"]))
    assert ids(active(found)) == ["D"]
    assert places(found) == []


def test_two_heads_are_resolved_when_one_is_retracted() -> None:
    found = rows(("A", "01", []), ("B", "02", ["A"]), ("C", "02", ["A"]), C="retracted")
    assert ids(active(found)) == ["B"]
    assert places(found) == []


def test_rows_that_supersede_each_other_are_a_finding_and_the_newest_stays() -> None:
    """§ Mutation Model: the active version is the newest of its chain, and a cycle is a chain without an end."""
    found = rows(("A", "03", ["B"]), ("B", "02", ["A"]))
    assert ids(active(found)) == ["A"]
    assert places(found) == [("supersedes-cycle", 1)]


def test_a_row_that_supersedes_itself_is_a_cycle_of_one() -> None:
    found = rows(("A", "01", ["A"]))
    assert ids(active(found)) == ["A"]
    assert places(found) == [("supersedes-cycle", 1)]


def test_a_cycle_that_a_later_row_supersedes_has_no_active_row() -> None:
    found = rows(("A", "03", ["B"]), ("B", "02", ["A"]), ("C", "04", ["A"]))
    assert ids(active(found)) == ["C"]


def test_an_unknown_superseded_row_is_a_finding() -> None:
    found = rows(("A", "01", []), ("B", "02", ["A", "GONE"]))
    (finding,) = supersession_findings(found)
    assert (finding.rule, finding.line) == ("supersedes-unknown", 2)
    assert found[1].line.raw.decode()[(finding.column or 0) - 1 :].startswith('"GONE"')


def test_rows_of_several_files_are_one_log() -> None:
    """Ruling 32: a row may supersede a row that has moved to another file, and each finding names its own file."""
    old, _ = read_rows(b'{"_meta":{"id":"A","created_at":"2026-01-01"}}', 1, "old.slice")
    new, _ = read_rows(b'{"_meta":{"id":"B","created_at":"2026-01-02","supersedes":["A","C"]}}', 7, "new.slice")
    (finding,) = supersession_findings((*old, *new))
    assert (finding.rule, finding.file, finding.line) == ("supersedes-unknown", "new.slice", 7)
    assert ids(active((*old, *new))) == ["B"]


def test_the_same_id_twice_is_a_finding_at_the_second() -> None:
    """§ Row Envelope: a row's id is unique."""
    found = rows(("A", "01", []), ("B", "01", []), ("A", "02", []))
    assert places(found) == [("row-duplicate", 3)]
    assert ids(active(found)) == ["A", "B", "A"]


_logs = st.lists(
    st.tuples(
        st.sampled_from("ABCDEFG"),
        st.sampled_from(["01", "02", "03"]),
        st.lists(st.sampled_from("ABCDEFGZ"), max_size=2),
    ),
    max_size=7,
)


@settings(max_examples=150)
@given(_logs, st.randoms(use_true_random=False))
def test_the_order_of_lines_changes_nothing(specs: list[Spec], chance: random.Random) -> None:
    """Ruling 27: never position."""
    shuffled = list(specs)
    chance.shuffle(shuffled)
    one, other = rows(*specs), rows(*shuffled)
    assert ids(active(one)) == ids(active(other))
    for row in one:
        assert ids(history(one, row.id)) == ids(history(other, row.id))

    def rules(found: tuple[Row, ...]) -> list[str]:
        return sorted(finding.rule for finding in supersession_findings(found))

    assert rules(one) == rules(other)


@settings(max_examples=150)
@given(_logs)
def test_a_chain_always_has_an_active_row(specs: list[Spec]) -> None:
    """Nothing is forgotten silently: what all rows of a log supersede is in the log's active rows or their past."""
    found = rows(*specs)
    heads = active(found)
    covered = {version.id for head in heads for version in history(found, head.id)}
    assert {row.id for row in found} <= covered


def test_a_very_long_chain_is_quick_and_needs_no_recursion() -> None:
    found = rows(*((f"R{n:06}", "01", [f"R{n - 1:06}"] if n else []) for n in range(20_000)))
    assert ids(active(found)) == ["R019999"]
    assert len(history(found, "R010000")) == 20_000
    assert list(supersession_findings(found)) == []


def test_many_cycles_are_quick() -> None:
    found = rows(*((f"R{n:06}", "01", [f"R{n:06}"]) for n in range(5_000)))
    assert len(active(found)) == 5_000
    assert len(list(supersession_findings(found))) == 5_000


def test_a_cycle_of_many_rows_is_never_hashed_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be once for each of its rows, in a file of anybody."""

    class Cycle(tuple[str, ...]):
        __slots__ = ()
        __hash__ = None  # type: ignore[assignment]

    found = supersession._cycles_among
    monkeypatch.setattr(supersession, "_cycles_among", lambda by_age: [Cycle(each) for each in found(by_age)])
    many = rows(*((f"r{number}", "01", [f"r{(number + 1) % 50}"]) for number in range(50)))
    assert len(active(many)) == 1
    (finding,) = supersession_findings(many)
    assert finding.message.count("r") < 50
