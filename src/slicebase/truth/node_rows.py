"""What the rows of `nodes` and `families` can hold: reads their values, and refuses those that no record gives.

Somebody who changes such a row gets an error, or `tt verify` finds that it does not follow from the records.
"""

import struct
from collections.abc import Callable, Iterable
from functools import partial
from math import inf
from typing import Any, Final

from slicebase.core.hashing import LARGEST_INTEGER
from slicebase.core.ids import uuid_of
from slicebase.core.times import EARLIEST, LATEST, whole_seconds
from slicebase.errors import SlicebaseError
from slicebase.graph.compact import TURN_KINDS, CompactRow
from slicebase.graph.on_demand import Near
from slicebase.graph.turn import PHASES
from slicebase.truth.failures import damaged
from slicebase.truth.nodes import FIELDS, TurnNode

# As `_make` of these classes, but for a call of a Python function for each row.
as_node: Final[Callable[[Any], TurnNode]] = partial(tuple.__new__, TurnNode)
_near: Final[Callable[[Any], Near]] = partial(tuple.__new__, Near)

_PHASES: Final = frozenset(range(len(PHASES)))
_UUID_SIZE: Final = 16  # bytes of an id
_BINARY32: Final = struct.Struct("<f")
_pack, _unpack = _BINARY32.pack, _BINARY32.unpack


def checked_nears(rows: Iterable[Any]) -> list[Near]:
    """Returns rows of `families` as turns that are near another one."""
    found = list(map(_near, rows))
    if not _PHASES.issuperset([near.phase for near in found]):
        raise damaged_row("an unknown phase")
    refuse_others([(near.turn, near.salience) for near in found])
    return found


def refuse_others(turns: Iterable[tuple[bytes, float]]) -> None:
    """Raises an error for ids and saliences that no turn has (ruling 14): binary32 numbers between 0 and 1."""
    for turn, salience in turns:
        if len(turn) != _UUID_SIZE or not 0 <= salience <= 1 or _unpack(_pack(salience))[0] != salience:
            raise damaged_row("an id that is no UUID, or a salience that is no binary32 number between 0 and 1")


def compact_row(node: TurnNode) -> CompactRow:
    """Returns a turn in the form that `compact` expects."""
    salience, trajectory, annotator = annotation_in(node)
    role, phase = TURN_KINDS[node.kind]
    return CompactRow(uuid_of(node.turn), role, phase, salience, *trajectory, whole_seconds(node.time), annotator)


def annotation_in(node: TurnNode) -> tuple[float, tuple[int, int, float, float, float], str]:
    """Returns salience, trajectory and annotator. Raises an error for values that no annotation has (ruling 14)."""
    _, turn, time, kind, salience, fields, annotator, _ = node
    if salience is None or fields is None or annotator is None:
        raise not_annotated(node)
    if len(fields) != FIELDS.size or not 0 <= kind < len(TURN_KINDS):
        raise damaged_row("unknown fields")
    refuse_others([(turn, salience)])
    trajectory: tuple[int, int, float, float, float] = FIELDS.unpack(fields)
    depth, order, homogeneity, temporal, complexity = trajectory
    if not (0 <= homogeneity <= 1 and 0 <= temporal <= 1 and -inf < complexity < inf):
        raise damaged_row("a number that no annotation has")
    if not (
        EARLIEST <= time <= LATEST
        and -LARGEST_INTEGER <= depth <= LARGEST_INTEGER
        and -LARGEST_INTEGER <= order <= LARGEST_INTEGER
    ):
        raise damaged_row("a time or a place in the session that no turn has")
    return salience, trajectory, annotator


def not_annotated(node: TurnNode) -> SlicebaseError:
    """Returns the error for a turn without an annotation."""
    return damaged(f"the turn {uuid_of(node.turn)} has no annotation")


# What a row of the derived tables raises that holds what no record gives.
NOT_OURS: Final = (struct.error, IndexError)


def damaged_row(problem: object) -> SlicebaseError:
    """Returns the error for such a row."""
    return damaged(f"a row that slices are read from is damaged: {problem}")
