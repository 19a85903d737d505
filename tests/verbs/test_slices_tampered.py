"""Whatever somebody changes in the tables that a slice is read from: the slice has the right bytes, or it is an error,
or `verify` finds the change; and a stored slice never looks as if the graph had grown.

The changes are made from the schema: every table, every column, rows near the slices and far from them.
"""

import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest

from slicebase import Slicebase
from slicebase.errors import SlicebaseError
from slicebase.graph.policy import DEFAULT, SlicePolicyV1
from slicebase.graph.selection import KERNEL
from slicebase.graph.turn import Edge, Session
from slicebase.truth import sessions
from tests.conversations import annotate, chain, name, store, turn
from tests.graph.slicers import KERNELS
from tests.verbs.test_verify import without_triggers
from tests.verbs.test_verify_tampered import key_of, other, tables

READ = ("nodes", "families", "shapes", "waiting", "annotations", "turns", "links", "texts", "sessions")
LARGE, WIDE = 30, 60
SMALL = 20  # turns: a larger session is read turn by turn
ANCHORS = ("small-4", "large-9", "wide-0")
ROWS = 2  # of each table, spread evenly
POLICY = SlicePolicyV1(max_nodes=12)


class Kept(NamedTuple):
    """A workspace, the slices that it gives, and their bundles."""

    root: Path
    slices: dict[str, bytes]
    bundles: dict[str, bytes]


@pytest.fixture(scope="module", autouse=True)
def _few_turns_are_many() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sessions, "SMALL", SMALL)
        yield


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    root = tmp_path_factory.mktemp("kept")
    with Slicebase.init(root) as memory:
        truth = memory.truth
        for session, length in (("small", 10), ("large", LARGE)):
            above = [[], *([f"{session}-{max(0, n - 1 - n % 3)}"] for n in range(1, length))]
            turns = [turn(f"{session}-{n}", *above[n], session=session, time=n * 1000) for n in range(length)]
            truth.turns.add(Session(session, "test"), turns, annotate)
        family = [turn(f"wide-{n}", "wide-0", session="wide", time=n * 1000) for n in range(1, WIDE)]
        truth.turns.add(Session("wide", "test"), [turn("wide-0", session="wide"), *family], annotate)
        store(truth, [turn("late", "nobody", session="small"), turn("later", "no-one", session="large")])
        truth.turns.link([Edge(name(f"{each}-5"), name(f"{each}-8"), "reference") for each in ("small", "large")])
        made = {anchor: memory.graph.bundle(name(anchor), POLICY) for anchor in ANCHORS}
    shutil.rmtree(root / ".slicebase" / "cache")  # the index is a witness of its own
    exports = {anchor: each.export.encode() for anchor, each in made.items()}
    return Kept(root, exports, {anchor: each.to_bytes() for anchor, each in made.items()})


Change = tuple[str, Callable[[apsw.Connection], object]]


def changes(table: str, connection: apsw.Connection) -> Iterator[Change]:
    """Yields every kind of change of a table, with what it is."""
    columns, keys = [column for column, _ in tables()[table]], key_of(table)
    rows: list[Any] = list(connection.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {', '.join(keys)}"))
    yield "all removed", lambda changed: changed.execute(f"DELETE FROM {table}")
    where = " AND ".join(f"{key} = ?" for key in keys)
    for row in rows[:: max(1, len(rows) // ROWS)]:
        given = dict(zip(columns, row, strict=True))
        named = [given[key] for key in keys]
        yield f"{named} removed", _statement(f"DELETE FROM {table} WHERE {where}", *named)
        for column in columns:
            for value in _others(given[column], [each[columns.index(column)] for each in rows]):
                update = _statement(f"UPDATE {table} SET {column} = ? WHERE {where}", value, *named)
                yield f"{column} of {named} is {value!r:.80}", update


def _statement(query: str, *values: Any) -> Callable[[apsw.Connection], object]:
    return lambda changed: changed.execute(query, values)


def _others(value: Any, column: list[Any]) -> Iterator[Any]:
    """Yields a value that is almost the same, that of another row, and values at the limits of the type."""
    if value is None:
        return
    yield from sorted({each for each in column if each not in (value, None)})[:1]
    yield other(value)
    if isinstance(value, float):
        yield from (value * (1 + 1e-9), 0.25, 1e-310, float("inf"))
    elif isinstance(value, int):
        yield from (value - 1, -(2**63))
    elif isinstance(value, bytes):
        yield from (b"", struct.pack("<qq", 2**62, -(2**63)) + value[16:])


def changed(kept: Kept, folder: Path, make: Callable[[apsw.Connection], object]) -> Path | None:
    """Returns a copy of the workspace with a change, like by someone who switches the triggers off.

    It is None where SQLite refuses the change, or where there is nothing to change.
    """
    root = folder / "copy"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(kept.root, root)
    with without_triggers(root / ".slicebase" / "slicebase.db") as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        before = connection.total_changes()
        try:
            make(connection)
        except apsw.ConstraintError:
            return None
        return root if connection.total_changes() > before else None


Answers = dict[str, bytes | str]  # by the anchor: the slice, or the code of its error


def answers(root: Path) -> tuple[Answers, Answers]:
    """Returns what every version answers: to requests for one slice, and to a batch of them."""
    given: list[tuple[Answers, Answers]] = []
    for kernel in KERNELS:
        with pytest.MonkeyPatch.context() as patch, Slicebase.open(root) as memory:
            patch.setenv(KERNEL, kernel)
            alone = {anchor: _alone(memory, anchor) for anchor in ANCHORS}
            batch = memory.graph.select_many([(name(anchor), POLICY) for anchor in ANCHORS])
            codes = [each.code if isinstance(each, SlicebaseError) else each for each in batch]
            given.append((alone, dict(zip(ANCHORS, codes, strict=True))))
    assert all(each == given[0] for each in given)
    return given[0]


def _alone(memory: Slicebase, anchor: str) -> bytes | str:
    try:
        return memory.graph.select(name(anchor), POLICY).export
    except SlicebaseError as error:
        return error.code


@pytest.mark.parametrize("table", READ)
def test_a_changed_table_gives_the_right_slice_or_an_error_or_is_found(kept: Kept, table: str, tmp_path: Path) -> None:
    tried = 0
    for what, make in changes(table, apsw.Connection(str(kept.root / ".slicebase" / "slicebase.db"))):
        root = changed(kept, tmp_path, make)
        if root is None:
            continue
        tried += 1
        alone, batch = answers(root)
        codes = {each for each in (*alone.values(), *batch.values()) if isinstance(each, str)}
        assert codes <= {"database-damaged"}, what
        with Slicebase.open(root) as memory:
            proofs = {anchor: memory.graph.verify(kept.bundles[anchor]).status for anchor in ANCHORS}
            assert set(proofs.values()) <= {"VERIFIED", "BROKEN", "UNVERIFIABLE"}, what
            assert all(proofs[anchor] != "VERIFIED" for anchor in ANCHORS if alone[anchor] != kept.slices[anchor]), what
            if alone != kept.slices or batch != kept.slices:
                assert memory.verify().status == "BROKEN", what
    assert tried > ROWS


@pytest.mark.parametrize("turns", [10, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("named", [name(3), name(3)[:8]], ids=["complete id", "short id"])
def test_a_turn_that_was_removed_is_damage_and_is_not_said_to_be_missing(
    tmp_path: Path, turns: int, named: str
) -> None:
    with Slicebase.init(tmp_path) as memory:
        memory.truth.turns.add(Session("s", "test"), chain(turns), annotate)
    with without_triggers(tmp_path / ".slicebase" / "slicebase.db") as connection:
        connection.execute("DELETE FROM turns WHERE seq = 4")
    with Slicebase.open(tmp_path) as memory, pytest.raises(SlicebaseError) as raised:
        memory.graph.select(named, DEFAULT)
    assert raised.value.code == "database-damaged"


@pytest.mark.parametrize("turns", [10, LARGE], ids=["small", "large"])
def test_a_turn_whose_node_has_the_id_of_no_turn_is_damage_alone_and_in_a_batch(tmp_path: Path, turns: int) -> None:
    with Slicebase.init(tmp_path) as memory:
        memory.truth.turns.add(Session("s", "test"), chain(turns), annotate)
    with without_triggers(tmp_path / ".slicebase" / "slicebase.db") as connection:
        connection.execute("UPDATE nodes SET turn = zeroblob(16) WHERE seq = 4")
    with Slicebase.open(tmp_path) as memory:
        (answer,) = memory.graph.select_many([(name(3), DEFAULT)])
        assert isinstance(answer, SlicebaseError)
        with pytest.raises(SlicebaseError) as raised:
            memory.graph.select(name(3), DEFAULT)
        with pytest.raises(SlicebaseError) as explained:
            memory.graph.explain(name(3), DEFAULT)
    assert [answer.code, raised.value.code, explained.value.code] == ["database-damaged"] * 3
