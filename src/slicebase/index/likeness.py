"""Reads from the turn index which turns are unusually like a question, by their vectors (`index/word_vectors`)."""

from collections.abc import Collection, Mapping
from heapq import nlargest
from math import sqrt
from typing import TYPE_CHECKING, Any

import apsw

if TYPE_CHECKING:
    from slicebase.index.word_vectors import WordVectors

_MOST_ALIKE = 200  # turns that are found by what they mean


def read_meant(
    connection: apsw.Connection, text: str, vectors: "WordVectors", absent: Collection[int]
) -> dict[int, float]:
    """Returns by how many standard deviations beyond the first one turns are more like the question than usual.

    The turns that are `absent` do not count. The sums are of integers: the order of the turns does not matter.
    """
    rows: Any = connection.execute("SELECT turn, vectors FROM meaning").fetchall()
    if absent:
        rows = [row for row in rows if row[0] not in absent]
    alike = vectors.likeness(text, [stored for _, stored in rows])
    count, total, squares = len(alike), sum(alike), sum(each * each for each in alike)
    deviation = sqrt(count * squares - total * total) / count if count else 0.0
    if not deviation:
        return {}
    usual = total / count + deviation
    return {number: (like - usual) / deviation for (number, _), like in zip(rows, alike, strict=True) if like > usual}


def most_alike(meant: Mapping[int, float]) -> set[int]:
    """Returns the turns that are most like the question; fewer, if several are equally like it at the limit."""
    if len(meant) <= _MOST_ALIKE:
        return set(meant)
    least = nlargest(_MOST_ALIKE + 1, meant.values())[-1]
    return {number for number, worth in meant.items() if worth > least}
