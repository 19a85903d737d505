"""Contexts as of a time (ruling 52): nothing of them is later, and what has no date is left out and counted."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from slicebase import Slicebase
from slicebase.context.assemble import Context
from slicebase.core.times import to_text
from slicebase.graph.turn import Session, Turn
from tests.conversations import annotate, name, store, turn

DAY = 86_400_000
T = 20_000 * DAY
TALK = (
    turn("red", text="the pump is red", time=T),
    turn("blue", "red", text="the pump is blue now", time=T + 1),
    turn("sold", "blue", text="it was sold", time=T + 210 * DAY),
    turn("undated", "red", text="a pump of some day"),
)


@pytest.fixture
def clock() -> list[int]:
    """The time of the workspace: its one number."""
    return [T]


@pytest.fixture
def memory(tmp_path: Path, clock: list[int]) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path, clock=lambda: clock[0] / 1000) as opened:
        opened.truth.turns.add(Session("s", "test", "Sold pumps"), TALK, annotate)
        yield opened


def refs(context: Context) -> set[str]:
    return {piece.ref for piece in context.pieces}


def turns(*names: str) -> set[str]:
    return {f"turn:{name(each)}" for each in names}


def at(context: Context) -> tuple[set[str], int]:
    return refs(context), context.undated


def test_what_is_later_or_undated_is_left_out_and_the_undated_are_counted(memory: Slicebase) -> None:
    assert at(memory.context("pump", as_of=T / 1000)) == (turns("red"), 1)
    assert at(memory.context("pump", as_of=(T + DAY) / 1000)) == (turns("red", "blue"), 1)
    assert at(memory.context("pump", as_of=(T - 1) / 1000)) == (set(), 1)
    assert at(memory.context("pump session:s role:assistant", as_of=T / 1000)) == (set(), 0)
    assert at(memory.context("pump")) == (turns("red", "blue", "sold", "undated"), 0)


def test_slices_are_of_that_time_and_do_not_drift_when_the_session_goes_on(memory: Slicebase) -> None:
    before = memory.context("pump", as_of=(T + DAY) / 1000)
    store(memory.truth, [turn("more", "blue", text="the pump again", time=T + 2 * DAY)])
    assert memory.context("pump", as_of=(T + DAY) / 1000).id == before.id
    assert not memory.verify().findings
    assert memory.replay(before.id).text == before.text


def test_no_title_of_a_session_is_shown_since_it_may_be_given_or_changed_later(memory: Slicebase) -> None:
    def stored(title: str, *added: Turn) -> str:
        memory.truth.turns.add(Session("t", "test", title), added, annotate)
        assert f"## {title} · session:t" in memory.context("mill", record=False).text
        return memory.context("mill", as_of=T / 1000, record=False).id

    mill = turn("mill", session="t", text="a mill", time=T)
    before = stored("Mills", mill)
    assert stored("The mill was sold", mill) == before
    assert stored("The mill was sold", turn("later", "mill", session="t", text="a mill", time=T + DAY)) == before


def test_a_context_as_of_a_time_is_asked_again_as_of_that_time(memory: Slicebase) -> None:
    before = memory.context("pump", as_of=T / 1000)
    assert memory.context_again(before.id).id == before.id


def test_a_run_begins_with_its_last_snapshot_of_that_time(memory: Slicebase, clock: list[int]) -> None:
    memory.runs.start("r", "Sell the pumps.", "Sold.")
    for day in (1, 2):
        clock[0] = T + day * DAY
        memory.runs.compact("r")

    def first(moment: int) -> str:
        pieces = memory.context("pump", as_of=moment / 1000, run="r", record=False).pieces
        return pieces[0].label.partition(" · ")[0]

    assert [first(T + day * DAY) for day in (3, 2, 1)] == ["snapshot 2", "snapshot 2", "snapshot 1"]
    assert first(T + DAY - 1) == "2024-10-04"


def test_rows_have_their_own_dates_and_sections_that_of_their_file(memory: Slicebase, clock: list[int]) -> None:
    clock[0] = T
    log = memory.library.create("Log", "Rows.", type="jsonl")
    page = memory.library.create("Page", "Sections.", body="# Weir\n\nA heron.\n\n# Mill\n\nNo heron.\n")
    for day in (1, 2):
        clock[0] = T + day * DAY
        memory.library.remember(log.id, f"heron number {day}")

    def found(moment: int) -> list[str]:
        texts = [piece.text for piece in memory.context("heron", as_of=moment / 1000, record=False).pieces]
        return sorted(text.partition("\n")[0] for text in texts)

    assert found(T - 1) == []
    assert found(T) == ["# Mill", "# Weir"]
    assert found(T + 2 * DAY - 1) == ["# Mill", "# Weir", "heron number 1"]
    memory.library.remember(page.id, "A third heron.")
    assert found(T + 2 * DAY - 1) == ["heron number 1"]
    assert len(found(T + 2 * DAY)) == 4


def test_the_time_of_the_disk_is_no_date(memory: Slicebase) -> None:
    page = memory.root / ".slices" / "page.slice"
    header = 'slice:\n  v: "1"\n  kind: context\n  id: page\n  title: Page\n  summary: Birds.\n'
    page.write_text(f"---\n{header}  body:\n    type: markdown\n---\nA heron.\n")
    os.utime(page, (0, T // 1000))
    assert at(memory.context("heron", as_of=(T + DAY) / 1000)) == (set(), 2)
    assert len(memory.context("heron", record=False).pieces) == 1
    page.write_text(page.read_text().replace("  body:", f'  updated_at: "{to_text(T)}"\n  body:', 1))
    assert len(memory.context("heron", as_of=T / 1000, record=False).pieces) == 1


def test_a_note_that_has_changed_since_it_was_added_has_no_date(memory: Slicebase, clock: list[int]) -> None:
    note = memory.root / "notes" / "birds.md"
    note.parent.mkdir()
    note.write_text("A heron.\n")
    os.utime(note, (0, T // 1000))
    memory.library.add(note.parent)
    assert len(memory.context("heron", as_of=T / 1000).pieces) == 1
    note.write_text("A heron of tomorrow.\n")
    os.utime(note, (0, T // 1000 + 86_400))
    assert at(memory.context("heron", as_of=T / 1000)) == (set(), 2)
    clock[0] = T + DAY
    memory.library.add(note.parent)
    assert at(memory.context("heron", as_of=T / 1000)) == (set(), 1)
    assert len(memory.context("heron", as_of=(T + DAY) / 1000).pieces) == 1


def test_dates_of_a_question_are_counted_from_that_time_or_from_now(memory: Slicebase, clock: list[int]) -> None:
    days = [turn(f"day {n}", session=f"d{n}", text="the mill", time=T + n * DAY) for n in range(5)]
    store(memory.truth, days)

    def dated(as_of: int | None) -> set[str]:
        context = memory.context("the mill yesterday", as_of=as_of and as_of / 1000, record=False)
        return {piece.ref for piece in context.pieces if piece.parts.get("date")}

    clock[0] = T + 4 * DAY
    assert dated(None) == turns("day 3")
    assert dated(T + 3 * DAY) == turns("day 2")


WORDS = ("heron", "weir", "mill", "boats", "boating", "the", "painted")


@st.composite
def histories(draw: st.DrawFn) -> list[Turn]:
    """A session that branches and one without parents, on three days and without a date."""
    found = []
    for number in range(draw(st.integers(1, 9))):
        session = draw(st.sampled_from("pq"))
        above = draw(st.sampled_from(["nobody", *range(number)])) if session == "p" else None
        found.append(
            turn(
                number,
                *(() if above is None else (above,)),
                session=session,
                text=" ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5))),
                time=draw(st.sampled_from([0, T, T + DAY, T + 2 * DAY])),
            )
        )
    return found


def built(history: list[Turn], moment: int) -> Context:
    with TemporaryDirectory() as folder, Slicebase.init(Path(folder)) as memory:
        store(memory.truth, history)
        return memory.context("boats by the mill", as_of=to_text(moment), record=False)


@settings(max_examples=6, deadline=None)
@given(histories(), st.sampled_from([T, T + DAY]))
def test_it_is_the_context_of_a_workspace_that_has_only_the_turns_up_to_that_time(
    history: list[Turn], moment: int
) -> None:
    known = [each for each in history if 0 < each.time <= moment]
    one, other = built(history, moment), built(known, moment)
    assert one.text == other.text
    assert one.undated == len([each for each in history if not each.time])
    expected = msgspec.structs.replace(other.manifest, filters={**other.manifest.filters, "undated": one.undated})
    assert one.manifest == expected


# Rows that were superseded later


def test_a_row_that_was_superseded_later_counts_as_it_did_then(memory: Slicebase, clock: list[int]) -> None:
    log = memory.library.create("Log", "Rows.", type="jsonl")
    row = ""
    for number, text in enumerate(("five herons", "eight herons", "ten herons")):
        clock[0] = T + (number + 1) * DAY
        row = memory.library.remember(log.id, text, supersedes=[row] if row else []).ref.partition("/")[2]

    def found(days: float) -> list[tuple[str, str]]:
        context = memory.context("herons", as_of=(T + days * DAY) / 1000)
        assert memory.context_again(context.id).id == context.id
        assert memory.replay(context.id).text == context.text
        return [(piece.text, piece.label) for piece in context.pieces]

    assert found(0) == []
    assert found(1) == [("five herons", "row of 2024-10-05")]
    assert found(2.5) == [("eight herons", "row of 2024-10-06")]
    assert found(3) == [("ten herons", "row of 2024-10-07")]
    assert [piece.text for piece in memory.context("herons").pieces] == ["ten herons"]


def test_a_row_without_a_date_has_that_of_its_file_also_for_what_it_supersedes(
    memory: Slicebase, clock: list[int]
) -> None:
    log = memory.library.create("Log", "Rows.", type="jsonl")
    clock[0] = T + DAY
    first = memory.library.remember(log.id, "five herons").ref.partition("/")[2]
    path = memory.root / ".slices" / f"{log.id}.slice"
    undated = {"_meta": {"id": "by-hand", "supersedes": [first]}, "text": "six herons"}
    path.write_text(f"{path.read_text()}{json.dumps(undated)}\n")
    clock[0] = T + 3 * DAY
    memory.library.remember(log.id, "a kite")

    def found(days: int) -> list[str]:
        return [piece.text for piece in memory.context("herons", as_of=(T + days * DAY) / 1000).pieces]

    assert found(2) == ["five herons"]
    assert found(3) == ["six herons", "a kite"]


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from(WORDS), st.integers(0, 3)), min_size=1, max_size=9),
    st.integers(0, 8),
)
@example([(0, WORDS[0], 0), (1, WORDS[0], 0), (0, WORDS[1], 0)], 1)
def test_it_is_the_context_of_a_workspace_that_has_only_the_rows_up_to_that_time(
    steps: list[tuple[int, str, int]], chosen: int
) -> None:
    """Each step appends a row to one of three logs; it supersedes one that is there, if there are so many."""
    last = T + min(chosen, len(steps) - 1) * DAY
    clock, rows, then = [T - DAY], [list[str]() for _ in range(3)], list[tuple[Path, bytes]]()
    with TemporaryDirectory() as folder, Slicebase.init(Path(folder), clock=lambda: clock[0] / 1000) as memory:
        logs = [memory.library.create(f"Log {number}", "Rows.", type="jsonl").id for number in range(3)]
        for number, (log, word, place) in enumerate(steps):
            clock[0] = T + number * DAY
            old = rows[log][place : place + 1]
            added = memory.library.remember(logs[log], f"{word} and boats {number}", supersedes=old)
            rows[log] = [*(row for row in rows[log] if row not in old), added.ref.partition("/")[2]]
            if clock[0] == last:
                then = [(path, path.read_bytes()) for path in (memory.root / ".slices").iterdir()]
        clock[0] = T + 20 * DAY
        later = memory.context("boats by the mill", as_of=to_text(last), record=False)
        for path, body in then:
            path.write_bytes(body)
        assert later.manifest == memory.context("boats by the mill", as_of=to_text(last), record=False).manifest


def test_filters_of_time_take_rows_by_their_own_dates(memory: Slicebase, clock: list[int]) -> None:
    """The rows of a log that was changed after a day were all after it, and none was before."""
    log = memory.library.create("Log", "Rows.", type="jsonl")
    for number in range(4):
        clock[0] = T + number * DAY
        memory.library.remember(log.id, f"heron {number}")
    memory.library.create("Page", "A page.", body="# Heron\n\nA heron.")
    clock[0] = T + 9 * DAY

    def found(filters: str, as_of: int | None = None) -> list[str]:
        moment = None if as_of is None else (T + as_of * DAY) / 1000
        context = memory.context(f"heron {filters}", as_of=moment, record=False)
        return sorted(piece.text.partition("\n")[0] for piece in context.pieces)

    days = [to_text(T + number * DAY)[:10] for number in range(5)]
    assert found("") == ["# Heron", "heron 0", "heron 1", "heron 2", "heron 3"]
    assert found(f"before:{days[2]}") == ["heron 0", "heron 1"]
    assert found(f"after:{days[2]}") == ["# Heron", "heron 2", "heron 3"]
    assert found(f"after:{days[1]} before:{days[2]}") == ["heron 1"]
    assert found(f"after:{days[1]}", as_of=2) == ["heron 1", "heron 2"]
    assert found(f"after:{days[4]}") == []
    assert found(f"kind:context before:{days[1]}") == ["heron 0"]
