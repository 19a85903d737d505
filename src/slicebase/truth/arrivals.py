"""Turns of one source that are added in several batches of one transaction."""

from array import array

from slicebase.core.ids import uuid_bytes
from slicebase.graph.graph_stream import Outline
from slicebase.truth.chains import Chain, head_of
from slicebase.truth.database import Database

_LOOKUP = 500  # ids per query


class Arrivals:
    """Says where the new turns of a graph file are or will be, so that a turn can name a parent of a later batch.

    Create it inside the transaction: it counts on what is stored.
    """

    def __init__(self, database: Database, source: Outline) -> None:
        self._source = source
        self._connection = database.connection
        self._numbers = self._numbered()

    def _numbered(self) -> "array[int]":
        """Returns the number that each turn gets in its session; 0 for a turn that is stored already."""
        stored = self._stored()
        next_numbers = [head_of(self._connection, Chain("turns", name)).length for name in self._source.sessions]
        numbers = array("Q")
        for place, session in enumerate(self._source.session_of):
            if place in stored:
                numbers.append(0)
            else:
                next_numbers[session] += 1
                numbers.append(next_numbers[session])
        return numbers

    def _stored(self) -> set[int]:
        """Returns the positions of the turns that are stored already."""
        if self._connection.execute("SELECT 1 FROM turns LIMIT 1").fetchone() is None:
            return set()
        positions, ids = self._source.positions, list(self._source.positions)
        found: set[int] = set()
        for first in range(0, len(ids), _LOOKUP):
            chunk = ids[first : first + _LOOKUP]
            query = f"SELECT turn FROM turns WHERE turn IN ({','.join('?' * len(chunk))})"
            found.update(positions[turn] for (turn,) in self._connection.execute(query, chunk))
        return found

    def is_new(self, place: int) -> bool:
        """Returns whether the turn at a position of the source is not stored."""
        return self._numbers[place] > 0

    def place(self, turn_id: str) -> tuple[str, int] | None:
        """Returns the session of a new turn and its number there; None for a turn that is stored, or unknown."""
        place = self._source.positions.get(uuid_bytes(turn_id))
        if place is None or not self._numbers[place]:
            return None
        return self._source.sessions[self._source.session_of[place]], self._numbers[place]

    def are_awaited(self) -> bool:
        """Returns whether a stored turn waits for one of the turns."""
        rows = self._connection.execute("SELECT DISTINCT parent FROM waiting")
        return any(parent in self._source.positions for (parent,) in rows)
