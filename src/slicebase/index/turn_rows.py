"""The rows of the turn index: turns are added in any order, and removed again."""

import json
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Any, Final

import apsw

from slicebase.context.forms import for_index
from slicebase.context.identifiers import names_for_index
from slicebase.context.words import label, tenths_asked
from slicebase.core.hashing import tokens
from slicebase.index.turn_schema import CHOSEN, IndexedTurn, ReadyTurn

if TYPE_CHECKING:
    from slicebase.index.word_vectors import WordVectors

_MOST_TURNS: Final = 10_000  # of a batch
_MOST_CHARACTERS: Final = 2 << 20  # of words, after which a batch ends

_REMOVE: Final = (
    f"""
    UPDATE state SET (turns, size) =
      (SELECT state.turns - count(*), state.size - coalesce(sum(turn.size), 0) FROM turn WHERE number IN {CHOSEN})
    """,
    *(f"DELETE FROM {table} WHERE rowid IN {CHOSEN}" for table in ("words", "names")),
    *(f"DELETE FROM {table} WHERE turn IN {CHOSEN}" for table in ("called", "touched", "answered", "meaning")),
    f"DELETE FROM link WHERE child IN {CHOSEN}",
    f"DELETE FROM link WHERE parent IN {CHOSEN}",
    f"DELETE FROM given WHERE child IN {CHOSEN}",
    f"DELETE FROM turn WHERE number IN {CHOSEN}",
)
# Turns that are added without vectors, or with those of another model, leave the index without a model.
_VECTORS_OF: Final = "UPDATE state SET vectors = iif(turns = 0 OR vectors = ?1, ?1, '')"
_STILL_THREADED: Final = f"""
UPDATE session SET threaded = EXISTS (
  SELECT 1 FROM turn JOIN given ON given.child = turn.number WHERE turn.session = session.number
) WHERE number IN {CHOSEN}
"""
_IN_TIME: Final = f"""
  FROM turn JOIN session ON session.number = turn.session WHERE NOT threaded AND session.number IN {CHOSEN}
"""
_FOLLOW_IN_TIME: Final = (
    f"DELETE FROM link WHERE child IN (SELECT turn.number {_IN_TIME})",
    f"""
    INSERT INTO link SELECT number, before FROM (
      SELECT turn.number, lag(turn.number) OVER (PARTITION BY turn.session ORDER BY time, place, turn.id) AS before
      {_IN_TIME}
    ) WHERE before IS NOT NULL
    """,
)


class TurnRows:
    """Adds turns to a database with the layout of the turn index, and removes them. Call it inside a transaction."""

    def __init__(
        self, connection: apsw.Connection, stems: Callable[[str], str], vectors: "WordVectors | None" = None
    ) -> None:
        self._connection = connection
        self._stems = stems  # of the words of a label
        self._vectors = vectors
        self._label_stems: dict[str, str] = {}

    def add(self, batches: Iterable[list[ReadyTurn]]) -> None:
        """Adds turns. Skips those that are already in the index: a turn never changes."""
        self._connection.execute(_VECTORS_OF, (self._vectors.name if self._vectors else "",))
        touched: set[int] = set()
        for batch in batches:
            touched |= self._add_batch(batch)
        self._follow_in_time(touched)

    def _add_batch(self, batch: list[ReadyTurn]) -> set[int]:
        """Adds the new turns of a batch, linked to the parents that they name. Returns their sessions' numbers."""
        known = self._column(f"SELECT id FROM turn WHERE id IN {CHOSEN}", [ready.turn.id for ready in batch])
        # Of two turns of the batch with the same id, the first stays.
        added = list({ready.turn.id: ready for ready in reversed(batch) if ready.turn.id not in known}.values())
        fresh = [ready.turn for ready in added]
        sessions = self._sessions(fresh)
        first = 1 + int(self._connection.execute("SELECT coalesce(max(number), 0) FROM turn").get)
        labels = [self._label(ready.label) for ready in added]
        many = self._connection.executemany
        many(
            "INSERT INTO turn VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    *(number, turn.id, sessions[turn.session], turn.time, ready.size, named),
                    *(turn.role, turn.kinds, turn.rules, ready.asked if named else 0, turn.place),
                )
                for number, (turn, ready, named) in enumerate(zip(fresh, added, labels, strict=True), first)
            ),
        )
        # One table after the other, which is faster than by turns.
        many("INSERT INTO words (rowid, text) VALUES (?, ?)", enumerate((ready.words for ready in added), first))
        many("INSERT INTO names (rowid, text) VALUES (?, ?)", enumerate((ready.names for ready in added), first))
        if self._vectors:
            vectors = self._vectors.of_passages([turn.text for turn in fresh])
            many("INSERT INTO meaning VALUES (?, ?)", enumerate(vectors, first))
        for number, turn in enumerate(fresh, first):
            for tool, call, files in turn.calls:
                self._connection.execute("INSERT INTO called VALUES (?, ?, ?)", (number, tool, call))
                many("INSERT INTO touched VALUES (?, ?, ?)", ((number, path, call) for path in files))
        many(
            "INSERT INTO answered VALUES (?, ?)",
            ((number, call) for number, turn in enumerate(fresh, first) for call in turn.answered),
        )
        many(
            "INSERT OR IGNORE INTO given VALUES (?, ?)",
            ((number, parent) for number, turn in enumerate(fresh, first) for parent in turn.parents),
        )
        for new in ("given.child", "turn.number"):  # links of new turns to their parents, and of children to new turns
            self._connection.execute(
                "INSERT OR IGNORE INTO link SELECT given.child, turn.number"
                " FROM given JOIN turn ON turn.id = given.parent"
                f" WHERE {new} >= ? AND given.child <> turn.number",
                (first,),
            )
        self._connection.execute(
            "UPDATE state SET turns = turns + ?, size = size + ?", (len(added), sum([ready.size for ready in added]))
        )
        return set(sessions.values())

    def _sessions(self, turns: Iterable[IndexedTurn]) -> dict[str, int]:
        """Returns the numbers of the sessions of these turns.

        A session in which a turn names a parent for the first time is no longer linked in the order of time.
        """
        threaded: dict[str, bool] = {}
        for turn in turns:
            threaded[turn.session] = threaded.get(turn.session, False) or bool(turn.parents)
        self._connection.executemany(
            "INSERT OR IGNORE INTO session (id, threaded) VALUES (?, 0)", ((session,) for session in threaded)
        )
        numbers: dict[str, int] = {}
        for session, replies in threaded.items():
            number, before = self._connection.execute(
                "SELECT number, threaded FROM session WHERE id = ?", (session,)
            ).get
            numbers[session] = number
            if replies and not before:
                self._connection.execute("UPDATE session SET threaded = 1 WHERE number = ?", (number,))
                self._connection.execute(
                    "DELETE FROM link WHERE child IN (SELECT number FROM turn WHERE session = ?)", (number,)
                )
        return numbers

    def remove(self, turns: list[str]) -> None:
        """Removes the turns with these ids."""
        numbers = list(self._column(f"SELECT number FROM turn WHERE id IN {CHOSEN}", turns))
        sessions = list(self._column(f"SELECT session FROM turn WHERE number IN {CHOSEN}", numbers))
        for statement in _REMOVE:
            self._connection.execute(statement, (json.dumps(numbers),))
        self._connection.execute(_STILL_THREADED, (json.dumps(sessions),))
        self._follow_in_time(sessions)

    def _follow_in_time(self, sessions: Iterable[int]) -> None:
        """Links the turns of these sessions in the order of time, if no turn of the session names a parent."""
        chosen = json.dumps(list(sessions))
        for statement in _FOLLOW_IN_TIME:
            self._connection.execute(statement, (chosen,))

    def _label(self, found: str) -> str:
        """Returns the stems of the label of a text; of an empty one, an empty text."""
        if found and found not in self._label_stems:
            self._label_stems[found] = self._stems(found)
        return self._label_stems[found] if found else ""

    def _column(self, sql: str, values: list[str] | list[int]) -> set[Any]:
        return {value for (value,) in self._connection.execute(sql, (json.dumps(values),))}


def batches_of(turns: Iterable[IndexedTurn]) -> Generator[list[ReadyTurn], None, None]:
    """Yields turns with what the index keeps of their texts, in batches that fit into memory."""
    batch: list[ReadyTurn] = []
    characters = 0
    for turn in turns:
        ready = _ready(turn)
        batch.append(ready)
        characters += len(ready.words)
        if len(batch) >= _MOST_TURNS or characters > _MOST_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _ready(turn: IndexedTurn) -> ReadyTurn:
    names, humps = names_for_index(turn.text)
    named = label(turn.text)
    asked = tenths_asked(turn.text) if named else 0
    return ReadyTurn(turn, tokens(turn.text), named, asked, for_index(turn.text, humps), names)
