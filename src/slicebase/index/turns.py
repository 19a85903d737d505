"""The full-text index of turns: disposable, filled from the truth in any order (docs/ranking.md).

A file at its path that is not an index of this version is replaced by an empty index. `mark` records how much of the
truth is in the index, and is stored in the same transaction as the turns.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import apsw

from slicebase.context.forms import is_korean, other_forms, ungrouped
from slicebase.context.inflected import in_lower_case, inflections
from slicebase.context.match import ALL_WORDS, Attempt
from slicebase.context.query import Query, Term
from slicebase.context.words import Word, for_question, in_characters_and_pairs, simplified
from slicebase.core.hashing import canonical
from slicebase.core.times import LAST_UNDATED
from slicebase.errors import SlicebaseError
from slicebase.index.disposable import DatabaseLayout, Disposable, OtherDatabaseError, reading, writing
from slicebase.index.narrow import EVERY_TURN, TurnFilters, conditions, up_to
from slicebase.index.schema import UNICODE61, Tokenizer
from slicebase.index.turn_schema import CHOSEN, TURNS_LAYOUT, IndexedTurn, ReadyTurn, UnreadableRow
from slicebase.index.turn_search import Bounds, FoundHits, TextOf, TurnSearch
from slicebase.truth.failures import database_errors

if TYPE_CHECKING:
    from slicebase.context.question import Question
    from slicebase.context.ranking import Figures
    from slicebase.index.session_figures import SessionFigures
    from slicebase.index.turn_rows import TurnRows
    from slicebase.index.word_vectors import WordVectors

_MOST_CHARACTERS = 20_000  # of a question: a pasted page is not one

_Result = TypeVar("_Result")


class TurnIndex:
    """The full-text index of the turns of a workspace.

    What is read or added goes through `ask` or `fill`, so that no verb fails because of the file.
    """

    def __init__(
        self,
        path: Path | None = None,
        layout: DatabaseLayout = TURNS_LAYOUT,
        vectors: "Callable[[], WordVectors | None]" = lambda: None,
    ) -> None:
        """Opens the index at this path, or creates one in memory. With `vectors`, it also knows what turns mean."""
        self.vectors = vectors
        self.file = Disposable(path, layout, keeps_open=True)
        self._connection: apsw.Connection
        self._tokenizers: tuple[apsw.FTS5Tokenizer, ...] = ()
        self.before_long_update: Callable[[int], None] = lambda turns: None  # may raise: then nothing is added
        self.progress: Callable[[int, int], None] = lambda done, total: None
        self._all_figures: tuple[Any, list[SessionFigures]] | None = None  # of all sessions, in a state of the index
        self.ask(lambda: None)

    def close(self) -> None:
        self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, question: Callable[[], _Result]) -> _Result:
        """Returns the result of a function that brings the index up to date and reads it.

        It is called again with an empty index if the file is damaged, and with an index in memory if the file cannot be
        written. Other databases that it reads raise errors of ours.
        """
        return self.file.ask(lambda connection: self._using(connection, question))

    def fill(self, action: Callable[[], object]) -> None:
        """Calls a function that brings the index up to date; not if the file cannot be written: a question does it."""
        self.file.fill(lambda connection: self._using(connection, action))

    def _using(self, connection: apsw.Connection, action: Callable[[], _Result]) -> _Result:
        if self.__dict__.get("_connection") is not connection:
            self._connection = connection
            self._tokenizers = (
                connection.fts5_tokenizer("unicode61", [*UNICODE61]),
                connection.fts5_tokenizer("porter", ["unicode61", *UNICODE61]),
            )
        return action()

    def copy(self) -> "TurnIndex":
        """Returns a copy in memory, for a question about what is not stored. Call it inside `ask`, and close it."""
        copy = TurnIndex(None, vectors=self.vectors)
        with copy._connection.backup("main", self._connection, "main") as backup:
            backup.step()
        return copy

    def restart(self) -> None:
        """Begins again with an empty index, because this one is of another database. Call it inside `ask`."""
        raise OtherDatabaseError

    def __len__(self) -> int:
        return int(self._connection.execute("SELECT turns FROM state").get)

    def count(self, as_of: int | None) -> int:
        """Returns how many turns the index has; of those up to a time, if one is given."""
        if as_of is None:
            return len(self)
        return int(self._connection.execute(f"SELECT count(*) FROM turn WHERE {up_to(as_of)}").get)

    def undated(self, wanted: TurnFilters) -> int:
        """Returns how many turns would pass the filters if they had a date."""
        where, values = conditions(wanted._replace(as_of=None))
        sql = f"SELECT count(*) FROM turn WHERE time BETWEEN 0 AND {LAST_UNDATED} AND {where}"
        return int(self._connection.execute(sql, values).get)

    def outside(
        self, sessions: Iterable[str], since: int | None, before: int | None, *, undated: bool = False
    ) -> list[str]:
        """Returns the turns of sessions that are dated before `since`, or not before `before`, and the undated ones."""
        dated, values = conditions(TurnFilters(since=since, before=before))
        unknown = f"time BETWEEN 0 AND {LAST_UNDATED}"
        other = f"{unknown} OR NOT ({dated})" if undated else f"NOT ({unknown}) AND NOT ({dated})"
        sql = f"SELECT id FROM turn WHERE session IN (SELECT number FROM session WHERE id IN {CHOSEN}) AND ({other})"
        return [turn for (turn,) in self._connection.execute(sql, (canonical(sorted(sessions)).decode(), *values))]

    @property
    def mark(self) -> str:
        """How much of the truth is in the index; empty for an empty index."""
        return str(self._connection.execute("SELECT mark FROM state").get)

    # Writing

    @property
    def unreadable(self) -> list[UnreadableRow]:
        """What is not in the index, because it cannot be read."""
        rows: list[Any] = self._connection.execute("SELECT session, source, row FROM unreadable").fetchall()
        return [UnreadableRow(*row) for row in rows]

    def note_unreadable(self, row: UnreadableRow) -> None:
        """Notes what cannot be added. While turns are added, this is in their transaction."""
        self._connection.execute("INSERT INTO unreadable VALUES (?, ?, ?)", row)

    def add(self, turns: Iterable[IndexedTurn], mark: str | None = None) -> None:
        """Adds these turns, all or none. Skips turns that are already in the index: a turn never changes."""
        from slicebase.index.turn_rows import (
            batches_of,
        )  # imported here for a fast start: most questions add nothing

        self.add_batches(batches_of(turns), mark)

    def add_batches(self, batches: Iterable[list[ReadyTurn]], mark: str | None = None) -> None:
        """Does the same with turns that are ready to be added."""
        with writing(self._connection):
            self._rows().add(batches)
            if mark is not None:
                self._connection.execute("UPDATE state SET mark = ?", (mark,))

    def remove(self, turns: Iterable[str]) -> None:
        """Removes the turns with these ids."""
        if gone := list(turns):
            with writing(self._connection):
                self._rows().remove(gone)

    def remove_sessions(self, sessions: Iterable[str]) -> None:
        """Removes all turns of these sessions."""
        self.remove(self._of_sessions(sessions))

    def _rows(self) -> "TurnRows":
        from slicebase.index.turn_rows import TurnRows  # imported here for a fast start: most questions add nothing

        return TurnRows(self._connection, self._label_stems, self.vectors())

    def _label_stems(self, text: str) -> str:
        """Returns the stems of the words of a label, and of the other forms in which people write these names."""
        label = simplified(text)
        forms = [form for word in label.split() if not is_korean(word) for form in other_forms(word)]
        words = self._read(in_characters_and_pairs(" ".join((label, *forms))))
        return " ".join(dict.fromkeys(word.stem for word in words))

    def _of_sessions(self, sessions: Iterable[str]) -> list[str]:
        chosen = f"(SELECT number FROM session WHERE id IN {CHOSEN})"
        sql = f"SELECT id FROM turn WHERE session IN {chosen}"
        return [turn for (turn,) in self._connection.execute(sql, (canonical(list(sessions)).decode(),))]

    # Purging

    def has_any(self, turns: Iterable[str]) -> bool:
        """Returns whether one of these turns is in the index."""
        sql = f"SELECT EXISTS (SELECT 1 FROM turn WHERE id IN {CHOSEN})"
        return bool(self._connection.execute(sql, (canonical(list(turns)).decode(),)).get)

    def erase(self, turns: Iterable[str]) -> None:
        """Removes the turns with these ids, and their words from every page of the file and of its log."""
        self._connection.execute("PRAGMA secure_delete = ON")
        with writing(self._connection):
            self._rows().remove(list(turns))
            for table in ("words", "names"):
                self._connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        self._connection.execute("VACUUM")  # free space of earlier changes may hold words, too
        self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def erase_sessions(self, sessions: Iterable[str]) -> None:
        """Erases all turns of these sessions."""
        self.erase(self._of_sessions(sessions))

    def purge(self, turns: Iterable[str]) -> None:
        """Erases turns for a purge: no file keeps their words.

        A file that this index could not use, or that is damaged, is deleted. Raises an error if it cannot be.
        """
        self._purge(lambda: self.erase(turns))

    def purge_sessions(self, sessions: Iterable[str]) -> None:
        """Erases all turns of these sessions for a purge."""
        self._purge(lambda: self.erase_sessions(sessions))

    def _purge(self, erase: Callable[[], None]) -> None:
        if self.file.is_in_memory:
            self.file.purge()
        try:
            with database_errors(self.file.path):
                erase()
        except SlicebaseError as error:
            if error.code != "database-damaged":
                raise
            self.file.purge()
            self.ask(lambda: None)

    # Reading

    def words(self, text: str) -> list[Word]:
        """Returns the words of a text as the index reads them."""
        asked = simplified(ungrouped(text[:_MOST_CHARACTERS]))
        words = self._read(for_question(asked))
        forms, lower = dict(self._other_forms(asked)), in_lower_case(asked)
        for place, word in enumerate(words):
            if word.text in forms:
                words[place] = word._replace(also=forms[word.text])
            elif word.text in lower and word.stem in self._inflections:
                words[place] = word._replace(inflected=self._inflections[word.stem])
        return words

    def _other_forms(self, text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yields the words of a text that have other forms, as the index reads them, with the stems of these."""
        for word in set() if text.isascii() else set(text.split()):
            if (forms := other_forms(word)) and (read := self._read(word)):
                yield read[0].text, tuple(form.stem for form in self._read(" ".join(forms)))

    @cached_property
    def _inflections(self) -> dict[str, tuple[str, ...]]:
        return inflections(lambda text: [word.stem for word in self._read(text)])

    def figures(self, question: "Question", wanted: TurnFilters = EVERY_TURN, *, by_meaning: bool = False) -> "Figures":
        """Returns the figures of the index for a question; `rank` scores them.

        With `by_meaning`, and if the index has vectors, turns are also found by what they mean.
        """
        from slicebase.index.figures import read_figures  # imported here for a fast start: a search ranks otherwise

        vectors = self.vectors() if by_meaning else None
        with reading(self._connection):
            if vectors and vectors.name != self._connection.execute("SELECT vectors FROM state").get and len(self):
                self.restart()
            return read_figures(self._connection, question, wanted, vectors)

    def search(
        self, query: Query, wanted: TurnFilters, text_of: TextOf, bounds: Bounds, attempt: Attempt = ALL_WORDS
    ) -> FoundHits:
        """Returns the turns that match a query, best first."""
        with reading(self._connection):
            return TurnSearch(self._connection, query, wanted, text_of, attempt).found(bounds)

    def similar_words(self, terms: Sequence[Term], text_of: TextOf) -> list[str]:
        """Returns hints about words of turns that are similar to terms that no turn has."""
        from slicebase.index.hints import similar_words  # imported here for a fast start

        def texts_with(stem: str) -> Iterator[str]:
            sql = "SELECT id FROM occurrence JOIN turn ON number = doc WHERE term = ? ORDER BY id LIMIT 1"
            for (turn,) in self._connection.execute(sql, (stem,)):
                yield text_of(turn) or ""

        with reading(self._connection):
            return list(similar_words(self._connection, Tokenizer(self._connection), terms, texts_with))

    def sessions(self, wanted: TurnFilters = EVERY_TURN) -> "list[SessionFigures]":
        """Returns the sessions that have a turn that passes the filters, the newest first.

        Those of all sessions are kept until the index changes: a page asks for them again and again.
        """
        from slicebase.index.session_figures import session_figures

        with reading(self._connection):
            if wanted:
                return session_figures(self._connection, wanted)
            state = self._connection.execute("SELECT turns, size, mark FROM state").fetchone()
            if self._all_figures is None or self._all_figures[0] != state:
                self._all_figures = state, session_figures(self._connection, wanted)
            return self._all_figures[1]

    def prompts(self, session: str, most: int) -> list[str]:
        """Returns the first turns of a session in which a person speaks."""
        from slicebase.index.session_figures import FIRST_PROMPTS

        return [turn for (turn,) in self._connection.execute(FIRST_PROMPTS, (session, most))]

    def passing(self, turns: Iterable[str], wanted: TurnFilters) -> set[str]:
        """Returns those of these turns that pass the filters."""
        where, values = conditions(wanted)
        sql = f"SELECT id FROM turn WHERE id IN {CHOSEN} AND {where}"
        return {turn for (turn,) in self._connection.execute(sql, (canonical(list(turns)).decode(), *values))}

    def _read(self, text: str) -> list[Word]:
        data, reason = text.encode("utf-8", "replace"), apsw.FTS5_TOKENIZE_QUERY
        texts, stems = (
            cast("list[str]", tokenizer(data, reason, None, include_offsets=False, include_colocated=False))
            for tokenizer in self._tokenizers
        )
        return [Word(text, stem) for text, stem in zip(texts, stems, strict=True)]
