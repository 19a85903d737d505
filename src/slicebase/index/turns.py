"""The full-text index of turns: disposable, filled from the truth in any order (docs/ranking.md).

A file at its path that is not an index of this version is replaced by an empty index. `mark` records how much of the
truth is in the index, and is stored in the same transaction as the turns.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, cast

import apsw

from slicebase.context.forms import for_index, other_forms, ungrouped
from slicebase.context.identifiers import named_in
from slicebase.context.match import ALL_WORDS, Attempt
from slicebase.context.query import Query, Term
from slicebase.context.words import Word, for_question, in_characters_and_pairs, label, simplified
from slicebase.core.hashing import tokens
from slicebase.errors import SlicebaseError
from slicebase.graph.contents import CallMade
from slicebase.index.disposable import Disposable, Patience
from slicebase.index.narrow import EVERY_TURN, TurnFilters, conditions
from slicebase.index.schema import UNICODE61, Tokenizer
from slicebase.index.session_figures import FIRST_PROMPTS, SessionFigures, session_figures
from slicebase.index.turn_schema import TURNS_LAYOUT
from slicebase.index.turn_search import Bounds, FoundHits, TextOf, TurnSearch
from slicebase.truth.database import Database
from slicebase.truth.failures import database_errors

if TYPE_CHECKING:
    from slicebase.context.question import Question
    from slicebase.context.ranking import Figures

_BATCH = 10_000
_MOST_CHARACTERS = 20_000  # of a question: a pasted page is not one

_CHOSEN = "(SELECT value FROM json_each(?))"
_REMOVE = (
    f"""
    UPDATE state SET (turns, size) =
      (SELECT state.turns - count(*), state.size - coalesce(sum(turn.size), 0) FROM turn WHERE number IN {_CHOSEN})
    """,
    *(f"DELETE FROM {table} WHERE rowid IN {_CHOSEN}" for table in ("words", "names")),
    *(f"DELETE FROM {table} WHERE turn IN {_CHOSEN}" for table in ("called", "touched", "answered")),
    f"DELETE FROM link WHERE child IN {_CHOSEN}",
    f"DELETE FROM link WHERE parent IN {_CHOSEN}",
    f"DELETE FROM given WHERE child IN {_CHOSEN}",
    f"DELETE FROM turn WHERE number IN {_CHOSEN}",
)
_STILL_THREADED = f"""
UPDATE session SET threaded = EXISTS (
  SELECT 1 FROM turn JOIN given ON given.child = turn.number WHERE turn.session = session.number
) WHERE number IN {_CHOSEN}
"""
_IN_TIME = f"""
  FROM turn JOIN session ON session.number = turn.session WHERE NOT threaded AND session.number IN {_CHOSEN}
"""
_FOLLOW_IN_TIME = (
    f"DELETE FROM link WHERE child IN (SELECT turn.number {_IN_TIME})",
    f"""
    INSERT INTO link SELECT number, before FROM (
      SELECT turn.number, lag(turn.number) OVER (PARTITION BY turn.session ORDER BY time, turn.id) AS before {_IN_TIME}
    ) WHERE before IS NOT NULL
    """,
)


_Result = TypeVar("_Result")

# An index may be open for as long as a program runs: waiting long for its lock would be in vain.
_PATIENCE = Patience(transactions=10, locks=0.25)


class IndexedTurn(NamedTuple):
    """A turn as it is added to the index."""

    id: str
    session: str
    time: int
    parents: tuple[str, ...]
    text: str
    role: str = ""
    kinds: int = 0  # as bits
    calls: Sequence[CallMade] = ()
    answered: Sequence[str] = ()  # the ids of the calls whose results it has


class TurnIndex:
    """The full-text index of the turns of a workspace."""

    def __init__(self, path: Path | None = None) -> None:
        """Opens the index at this path, or creates one in memory."""
        self.path = path or Path(":memory:")
        self.file = Disposable(self.path, TURNS_LAYOUT, _PATIENCE)
        self._connect(in_memory=path is None)

    def _connect(self, *, in_memory: bool) -> None:
        with self._errors():
            self._open = self.file.open_in_memory() if in_memory else self.file.open()
        self._connection = self._open.connection
        self._database = Database(self.path, self._connection)
        self._texts = self._connection.fts5_tokenizer("unicode61", [*UNICODE61])
        self._stems = self._connection.fts5_tokenizer("porter", ["unicode61", *UNICODE61])
        self._label_stems: dict[str, str] = {}

    def close(self) -> None:
        self._open.close()

    def retried(self, action: Callable[[], _Result]) -> _Result:
        """Returns the result of an action, which is called again with an empty index if the file is damaged."""
        try:
            return action()
        except SlicebaseError as error:
            if error.code != "index-damaged":
                raise
        except (ValueError, TypeError, LookupError):  # as values that nobody has written cause
            if self.file.is_sound():
                raise
        self.close()
        self._connect(in_memory=not self.file.discard())
        return action()

    def restart(self) -> None:
        """Begins again with an empty index: this one is of another database."""
        in_memory = not self._connection.filename
        self.close()
        self._connect(in_memory=in_memory or not self.file.discard())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        with self._errors():
            return int(self._connection.execute("SELECT turns FROM state").get)

    @property
    def mark(self) -> str:
        """How much of the truth is in the index; empty for an empty index."""
        with self._errors():
            return str(self._connection.execute("SELECT mark FROM state").get)

    # Writing

    def add(self, turns: Iterable[IndexedTurn], mark: str | None = None) -> None:
        """Adds these turns, all or none. Skips turns that are already in the index: a turn never changes."""
        remaining = iter(turns)
        touched: set[int] = set()
        with self._errors(), self._database.writing():
            while batch := list(islice(remaining, _BATCH)):
                touched |= self._add_batch(batch)
            self._follow_in_time(touched)
            if mark is not None:
                self._connection.execute("UPDATE state SET mark = ?", (mark,))

    def _add_batch(self, batch: list[IndexedTurn]) -> set[int]:
        """Adds the new turns of a batch, linked to the parents that they name. Returns their sessions' numbers."""
        known = self._column(f"SELECT id FROM turn WHERE id IN {_CHOSEN}", [turn.id for turn in batch])
        # Of two turns of the batch with the same id, the first stays.
        fresh = list({turn.id: turn for turn in reversed(batch) if turn.id not in known}.values())
        sessions = self._sessions(fresh)
        first = 1 + int(self._connection.execute("SELECT coalesce(max(number), 0) FROM turn").get)
        sizes = [tokens(turn.text) for turn in fresh]
        many = self._connection.executemany
        many(
            "INSERT INTO turn VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (number, turn.id, sessions[turn.session], turn.time, size, self._label(turn.text), *turn[5:7])
                for number, (turn, size) in enumerate(zip(fresh, sizes, strict=True), first)
            ),
        )
        for number, turn in enumerate(fresh, first):
            self._add_words(number, turn.text)
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
        self._connection.execute("UPDATE state SET turns = turns + ?, size = size + ?", (len(fresh), sum(sizes)))
        return set(sessions.values())

    def _add_words(self, number: int, text: str) -> None:
        """Adds the words and the identifiers of a text."""
        named = named_in(text)
        execute = self._connection.execute
        execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (number, for_index(text, named.humps)))
        execute("INSERT INTO names (rowid, text) VALUES (?, ?)", (number, " ".join(named.whole)))

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

    def has_any(self, turns: Iterable[str]) -> bool:
        """Returns whether one of these turns is in the index."""
        with self._errors():
            return any(True for _ in self._column(f"SELECT number FROM turn WHERE id IN {_CHOSEN}", list(turns)))

    def purge(self, turns: Iterable[str]) -> None:
        """Removes turns for a purge: no file keeps their words.

        A file that this index could not use, or that is damaged, is deleted. Raises an error if it cannot be.
        """
        self._purge(lambda: self.remove(turns))

    def purge_sessions(self, sessions: Iterable[str]) -> None:
        """Removes all turns of these sessions for a purge."""
        self._purge(lambda: self.remove_sessions(sessions))

    def _purge(self, remove: Callable[[], None]) -> None:
        if not self._connection.filename:  # in memory
            self.file.purge()
        try:
            remove()
        except SlicebaseError as error:
            if error.code != "index-damaged":
                raise
            self.close()
            self.file.purge()
            self._connect(in_memory=False)

    def remove(self, turns: Iterable[str]) -> None:
        """Removes the turns with these ids, and erases their words from the file."""
        with self._errors():
            self._connection.execute("PRAGMA secure_delete = ON")
            with self._database.writing():
                self._remove(list(turns))
            self._connection.execute("VACUUM")  # free space of earlier changes may hold words, too
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def _remove(self, turns: list[str]) -> None:
        numbers = list(self._column(f"SELECT number FROM turn WHERE id IN {_CHOSEN}", turns))
        sessions = list(self._column(f"SELECT session FROM turn WHERE number IN {_CHOSEN}", numbers))
        for statement in _REMOVE:
            self._connection.execute(statement, (json.dumps(numbers),))
        self._connection.execute(_STILL_THREADED, (json.dumps(sessions),))
        self._follow_in_time(sessions)
        for table in ("words", "names"):
            self._connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")

    def remove_sessions(self, sessions: Iterable[str]) -> None:
        """Removes all turns of these sessions."""
        chosen = "(SELECT number FROM session WHERE id IN (SELECT value FROM json_each(?)))"
        with self._errors():
            turns = self._column(f"SELECT id FROM turn WHERE session IN {chosen}", list(sessions))
        self.remove(turns)

    def _follow_in_time(self, sessions: Iterable[int]) -> None:
        """Links the turns of these sessions in the order of time, if no turn of the session names a parent."""
        chosen = json.dumps(list(sessions))
        for statement in _FOLLOW_IN_TIME:
            self._connection.execute(statement, (chosen,))

    def _label(self, text: str) -> str:
        """Returns the stems of the label that a text begins with, or an empty text."""
        found = label(text)
        if found and found not in self._label_stems:
            self._label_stems[found] = " ".join(word.stem for word in self._read(in_characters_and_pairs(found)))
        return self._label_stems[found] if found else ""

    # Reading

    def words(self, text: str) -> list[Word]:
        """Returns the words of a text as the index reads them."""
        asked = simplified(ungrouped(text[:_MOST_CHARACTERS]))
        words = self._read(for_question(asked))
        if not (forms := dict(self._other_forms(asked))):
            return words
        return [word._replace(also=forms[word.text]) if word.text in forms else word for word in words]

    def _other_forms(self, text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yields the words of a text that have other forms, as the index reads them, with the stems of these."""
        for word in set() if text.isascii() else set(text.split()):
            if (forms := other_forms(word)) and (read := self._read(word)):
                yield read[0].text, tuple(form.stem for form in self._read(" ".join(forms)))

    def figures(self, question: "Question", wanted: TurnFilters = EVERY_TURN) -> "Figures":
        """Returns the figures of the index for a question; `rank` scores them."""
        from slicebase.index.figures import read_figures  # imported here for a fast start: a search ranks otherwise

        with self._errors(), self._one_view():
            return read_figures(self._connection, question, wanted)

    def search(
        self, query: Query, wanted: TurnFilters, text_of: TextOf, bounds: Bounds, attempt: Attempt = ALL_WORDS
    ) -> FoundHits:
        """Returns the turns that match a query, best first."""
        with self._errors(), self._one_view():
            return TurnSearch(self._connection, query, wanted, text_of, attempt).found(bounds)

    def similar_words(self, terms: Sequence[Term], text_of: TextOf) -> list[str]:
        """Returns hints about words of turns that are similar to terms that no turn has."""
        from slicebase.index.hints import similar_words  # imported here for a fast start

        def texts_with(stem: str) -> Iterator[str]:
            sql = "SELECT id FROM occurrence JOIN turn ON number = doc WHERE term = ? ORDER BY id LIMIT 1"
            for (turn,) in self._connection.execute(sql, (stem,)):
                yield text_of(turn) or ""

        with self._errors(), self._one_view():
            return list(similar_words(self._connection, Tokenizer(self._connection), terms, texts_with))

    def sessions(self, wanted: TurnFilters = EVERY_TURN) -> list[SessionFigures]:
        """Returns the sessions that have a turn that passes the filters, the newest first."""
        with self._errors(), self._one_view():
            return session_figures(self._connection, wanted)

    def prompts(self, session: str, most: int) -> list[str]:
        """Returns the first turns of a session in which a person speaks."""
        with self._errors():
            return [turn for (turn,) in self._connection.execute(FIRST_PROMPTS, (session, most))]

    def passing(self, turns: Iterable[str], wanted: TurnFilters) -> set[str]:
        """Returns those of these turns that pass the filters."""
        where, values = conditions(wanted)
        sql = f"SELECT id FROM turn WHERE id IN {_CHOSEN} AND {where}"
        with self._errors():
            return {turn for (turn,) in self._connection.execute(sql, (json.dumps(list(turns)), *values))}

    def _read(self, text: str) -> list[Word]:
        data, reason = text.encode("utf-8", "replace"), apsw.FTS5_TOKENIZE_QUERY
        texts, stems = (
            cast("list[str]", tokenizer(data, reason, None, include_offsets=False, include_colocated=False))
            for tokenizer in (self._texts, self._stems)
        )
        return [Word(text, stem) for text, stem in zip(texts, stems, strict=True)]

    def _column(self, sql: str, values: list[str] | list[int]) -> set[Any]:
        return {value for (value,) in self._connection.execute(sql, (json.dumps(values),))}

    @contextmanager
    def _one_view(self) -> Iterator[None]:
        """Keeps one view of the database inside the block, even if another process writes meanwhile."""
        with self._connection:
            yield

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turns errors of SQLite into errors of ours. Damage is reported as damage of the index."""
        try:
            with database_errors(self.path):
                yield
        except SlicebaseError as error:
            if error.code != "database-damaged":
                raise
            hint = "delete the file: it is built again from the database"
            raise SlicebaseError("index-damaged", error.message, hint=hint, where=error.where) from None
