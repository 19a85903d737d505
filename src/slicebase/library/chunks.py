"""The library as chunks that a question can find: active rows, sections, and files that have neither.

The chunks are in an index of the same kind as the turns' index (docs/ranking.md), with a file in place of a session, so
that one ranker scores both. The index is disposable: it is compared with the files at each question.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from slicebase.context.assemble import Candidate
from slicebase.context.query import Term
from slicebase.context.question import analyse
from slicebase.context.ranking import Ranked, rank
from slicebase.context.recall import RecalledPiece
from slicebase.core.hashing import digest, xxh64
from slicebase.core.refs import parse, recorded
from slicebase.core.times import milliseconds, to_text
from slicebase.errors import SlicebaseError
from slicebase.files.body.sections import section_ref
from slicebase.files.freshness import Label, label_at
from slicebase.index.entries import EVERY_FILE, FileEntry, Filters
from slicebase.index.narrow import TurnFilters
from slicebase.index.schema import MANY_FILES
from slicebase.index.turn_schema import IndexedTurn
from slicebase.index.turns import TurnIndex
from slicebase.library.library import Library
from slicebase.library.recall import Recall, file_group, label_in_group


class LibraryChunks:
    """Ranks the chunks of a library for a question, with an index that it keeps up to date."""

    def __init__(self, library: Library, index: TurnIndex) -> None:
        self._library = library
        self.index = index
        self._entries: dict[str, FileEntry] = {}
        self._count = 0
        self._then: Recall | None = None  # the reader of the last ranking as of a time, which has read its logs
        self.undated = 0  # chunks without a date that would have passed the filters of the last ranking

    def __len__(self) -> int:
        """Returns how many chunks there were at the last ranking."""
        return self._count

    def close(self) -> None:
        self.index.close()

    def fill(self, now: int) -> None:
        """Brings the index up to date, for questions to come."""
        self.index.ask(lambda: self._update_index(now))

    def ranked(
        self,
        question: str,
        limit: int,
        now: int,
        filters: Filters = EVERY_FILE,
        without: tuple[Term, ...] = (),
        last: int | None = None,
    ) -> list[Ranked]:
        """Returns the best chunks for a question; a chunk's reference is where a turn's id would be.

        Chunks of files that do not pass the filters, those with words of `without`, and those that are later than
        `last`, are left out.
        """

        def ranked() -> list[Ranked]:
            self._update_index(now)
            with self._index_as_of(last) as index:
                wanted = self._wanted(index, filters, without)._replace(as_of=last)
                self._count = index.count(last)
                self.undated = 0 if last is None else index.undated(wanted)
                if not self._count:
                    return []
                asked = analyse(question, index.words(question), now)
                return rank(asked, index.figures(asked, wanted, by_meaning=True), limit)

        return self.index.ask(ranked)

    @contextmanager
    def _index_as_of(self, last: int | None) -> Iterator[TurnIndex]:
        """Yields the index. If rows that were active at a time were superseded since, a copy with the logs of then."""
        if last is None:
            yield self.index
            return
        self._then = reader = self._library.reader(as_of=to_text(last))._replace(last=last)
        logs: set[str] = set()
        for entry in self._entries.values():
            if entry.body_type == "jsonl" and entry.changed > last and entry.id not in logs:
                with suppress(SlicebaseError):  # it cannot be read now: `tt validate` says why
                    logs.update(reader.returned(entry.id))
        if not logs:
            yield self.index
            return
        then = sorted(logs.intersection(self._entries))
        with self.index.copy() as copy:
            copy.remove_sessions(then)
            chunks = (chunk for name in then for chunk in self._chunks(reader, self._entries[name]))
            copy.add(chunk for chunk in chunks if chunk.time <= last)
            yield copy

    def _wanted(self, index: TurnIndex, filters: Filters, without: tuple[Term, ...]) -> TurnFilters:
        """Returns the filters for chunks. A row counts with its own date, other chunks with that of their file."""
        if filters == EVERY_FILE:
            return TurnFilters(without=without)
        passing = {entry.id for entry in self._library.list_files(filters)}
        given = filters.changed_since, filters.changed_before
        since, before = (None if each is None else milliseconds(each) for each in given)
        if since is None and before is None:
            return TurnFilters(sessions=passing, without=without)
        anytime = filters._replace(changed_since=None, changed_before=None)
        logs = {entry.id for entry in self._library.list_files(anytime) if entry.body_type == "jsonl"}
        spans = since if since is None else since + 1, before
        other = {*index.outside(logs - passing, *spans, undated=True), *index.outside(logs & passing, *spans)}
        return TurnFilters(sessions=passing | logs, without=without, but=other)

    def candidates(self, found: Iterable[Ranked], as_of: int, last: int | None = None) -> list[Candidate]:
        """Returns chunks as candidate pieces, labelled as of a time, without those of files that have just changed.

        A row that is in two parts is one row. With `last`, rows are active that were active then.
        """
        reader = self._reader(as_of, last)
        rows, read = set[tuple[str, str]](), list[Candidate]()
        for each in found:
            if (candidate := self._candidate(reader, each, as_of)) is None:
                continue
            if each.turn.startswith("row:"):
                row = parse(each.turn).local, digest(candidate.text.encode())
                if row in rows:
                    continue
                rows.add(row)
            read.append(candidate)
        return read

    def _reader(self, as_of: int, last: int | None) -> Recall:
        """Returns a reader; if the last ranking was as of this time, the one that has read its logs."""
        then, self._then = self._then, None
        if then and (then.now, then.last) == (as_of, last):
            return then
        return self._library.reader(as_of=to_text(as_of))._replace(last=last)

    def _candidate(self, reader: Recall, found: Ranked, as_of: int) -> Candidate | None:
        """Returns a chunk as a candidate piece; None if the file has just changed.

        Another process may have added a file to the index that was not there when the files were listed.
        """
        entry = self._entries.get(parse(found.turn).owner)
        if entry is None:
            return None
        try:
            recalled = reader.own(found.turn)
            if entry.repeated and reader.is_elsewhere(found.turn):
                return None
        except SlicebaseError:
            return None
        return Candidate(
            ref=recorded(found.turn),
            corpus=f"file:{entry.id}",
            text=recalled.text,
            label=self._label(recalled, entry, as_of),
            group=file_group(entry),
            order=(entry.changed, found.turn),
            score=found.score,
            parts={name: value for name, value in found.parts.items() if value},
        )

    def _label(self, recalled: RecalledPiece, entry: FileEntry, as_of: int) -> str:
        """Returns a piece's label. It says if the text is no longer fresh, in every part of a file."""
        age = label_at(as_of, entry.changed, self._library.surroundings.settings.freshness_half_life_days)
        label = label_in_group(recalled, entry)
        return label if age == Label.FRESH or age in label else f"{label} · {age}"

    def _update_index(self, now: int) -> None:
        files = self._library.list_files() if self._library.index.has_files() else []  # many have turns only
        self._entries = {entry.id: entry for entry in files if not entry.purged}
        current = {entry.id: _signature(entry) for entry in self._entries.values()}
        before: dict[str, str] = json.loads(self.index.mark or "{}")
        if current == before:
            return
        changed = [entry for entry in self._entries.values() if before.get(entry.id) != current[entry.id]]
        if len(changed) > MANY_FILES:
            self.index.before_long_update(len(changed))
        if purged := [entry.id for entry in files if entry.purged and entry.id in before]:
            self.index.erase_sessions(purged)
        self.index.remove_sessions([file_id for file_id in before if current.get(file_id) != before[file_id]])
        reader = self._library.reader(as_of=to_text(now))
        self.index.add(self._all_chunks(reader, changed), mark=json.dumps(current))

    def _all_chunks(self, reader: Recall, changed: list[FileEntry]) -> Iterator[IndexedTurn]:
        for done, entry in enumerate(changed):
            self.index.progress(done, len(changed))
            yield from self._chunks(reader, entry)

    def _chunks(self, reader: Recall, entry: FileEntry) -> Iterator[IndexedTurn]:
        before: tuple[str, ...] = ()
        for ref, text, time in _texts(reader, entry):
            # Every part has the file's title, and follows the part before it. Without a date of its own, it is not
            # later than the last change of the file. The time of the disk is none: a clone has another one.
            yield IndexedTurn(ref, entry.id, time or entry.dated or 0, before, f"{entry.title}\n\n{text}")
            before = (ref,)


def _texts(reader: Recall, entry: FileEntry) -> Iterator[tuple[str, str, int | None]]:
    """Yields the reference and the text of each chunk, and the date of a row that states one."""
    try:
        if entry.body_type == "markdown" or entry.note:
            text, body_digest, found = reader.sections(entry.id)
            for section in found:
                yield str(section_ref(entry.id, body_digest, section)), text[section.start : section.end], None
            return
        ref = f"file:{entry.id}"
        if entry.body_type != "jsonl":
            yield ref, reader.own(ref).text, None
            return
        for piece in reader.pieces([ref]):
            if piece.ref.startswith("row:"):
                yield piece.ref, piece.text, piece.time
    except SlicebaseError:
        return  # the file cannot be read now: `tt validate` says why


def _signature(entry: FileEntry) -> str:
    facts = (entry.body_hash, entry.size, entry.changed, entry.dated, entry.title, entry.body_type, entry.note)
    return xxh64("\0".join(map(str, facts)).encode())
