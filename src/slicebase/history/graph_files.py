"""Imports graph files, each completely or not at all: in one transaction.

A small file is read into memory. A large one is read twice, in pieces, and its turns are stored in batches; the result
is the same. If the process is killed, nothing of the file is stored.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Final

from slicebase.core.ids import uuid_bytes
from slicebase.core.parsers import too_large
from slicebase.errors import SlicebaseError, Where
from slicebase.graph.graph_file import GraphFile, OutsideEdge, read_graph
from slicebase.graph.graph_stream import GivenTurn, Outline, outline, turns_of
from slicebase.graph.json_pieces import UnusualFileError
from slicebase.graph.record import ANNOTATED_TURNS, AnnotationRecord, annotation_records
from slicebase.graph.turn import Annotation, Edge, Session, Turn
from slicebase.history.account import Account
from slicebase.history.inputs import Input
from slicebase.importers.formats import GRAPH_FORMAT
from slicebase.importers.redaction import redact, redactor_of
from slicebase.importers.values import Batch, Options
from slicebase.truth.arrivals import Arrivals
from slicebase.truth.truth import Truth
from slicebase.truth.turn_writer import AddedTurns

_FAULTS: Final = ("cycle", "no-turn", "holds-secret")  # that show only when a file is stored
IN_MEMORY: Final = 4 << 20  # bytes: up to this size, a file is read into memory
_MOST_IN_MEMORY: Final = 512 << 20
_MOST: Final = 8 << 30


def import_graph(truth: Truth, each: Input, account: Account, options: Options) -> None:
    """Stores a graph file, and enters it in the account: also the error of a file that is refused."""
    try:
        _import(truth, each, account, options)
    except _RefusedError as refused:
        account.unreadable.append(refused.error.at(Where(each.name)))
    else:
        account.formats[GRAPH_FORMAT] = account.formats.get(GRAPH_FORMAT, 0) + 1
        account.complete.append(each.name)


class _RefusedError(Exception):
    """An error that costs only the file in which it is."""

    def __init__(self, error: SlicebaseError) -> None:
        super().__init__(str(error))
        self.error = error


def _import(truth: Truth, each: Input, account: Account, options: Options) -> None:
    try:
        if IN_MEMORY < each.size <= _MOST:
            return _store_in_batches(truth, each, account, options)
    except UnusualFileError:
        pass  # nothing is stored: it is read in another way, which also finds the place of an error
    try:
        if each.size > _MOST_IN_MEMORY:
            raise too_large(each.name, _MOST_IN_MEMORY, "split it: a file may have edges to turns of another one")
        file = read_graph(b"".join(each.chunks()))
    except SlicebaseError as error:
        raise _RefusedError(error) from None
    store_graph(truth, file, each.name, account, options)
    return None


@contextmanager
def _storing(truth: Truth) -> Iterator[None]:
    try:
        with truth.database.writing_undivided():
            yield
    except SlicebaseError as error:
        raise _RefusedError(error) if error.code in _FAULTS else error from None


def store_graph(truth: Truth, file: GraphFile, name: str, account: Account, options: Options) -> None:
    """Stores a graph file's turns with its annotations. Edges between sessions become `continues`."""
    part, here = account.part(), {turn.id for turn in file.turns}
    given = {annotation.turn: annotation for annotation in file.annotations}
    with _storing(truth):
        _refuse_unknown_ends(truth, file.outside, here.__contains__)
        for batch in _by_session(file.turns, options):
            part.add(batch, _add(truth, batch, given), name)
        _link(truth, part, [edge for _, edge in file.outside if edge.child not in here])
    account.include(part)


def _store_in_batches(truth: Truth, each: Input, account: Account, options: Options) -> None:
    """Does the same with a few thousand turns in memory at a time. Raises `UnusualFileError` where it cannot."""
    source, part = outline(_chunks(each)), account.part()
    if source.leads_ahead():
        raise UnusualFileError
    with _storing(truth):
        arriving = Arrivals(truth.database, source)
        if arriving.are_awaited():
            raise UnusualFileError
        _refuse_unknown_ends(truth, source.outside, lambda turn: uuid_bytes(turn) in source.positions)
        for batch_of in _batches(turns_of(_chunks(each), source), source, arriving):
            given = {annotation.turn: annotation for _, _, annotation in batch_of}
            for batch in _by_session((turn for _, turn, _ in batch_of), options):
                part.add(batch, _add(truth, batch, given, arriving), each.name)
        _link(truth, part, [edge for _, edge in source.outside if uuid_bytes(edge.child) not in source.positions])
    account.include(part)


def _chunks(each: Input) -> Iterator[bytes]:
    try:
        yield from each.chunks()
    except SlicebaseError:
        raise UnusualFileError from None


def _batches(pieces: Iterable[list[GivenTurn]], source: Outline, arriving: Arrivals) -> Iterator[list[GivenTurn]]:
    """Yields the turns in batches, each of one session.

    All but the last batch of a session have a number of new turns that fills records of annotations.
    """
    left = Counter(source.session_of)
    pending: dict[str, list[GivenTurn]] = {}
    for piece in pieces:
        left.subtract(source.session_of[piece[0].place : piece[-1].place + 1])
        for given in piece:
            pending.setdefault(given.turn.session, []).append(given)
        for session in list(pending):
            waiting = pending[session]
            end = len(waiting) if not left[source.session_of[waiting[0].place]] else _full(waiting, arriving)
            if end:
                yield waiting[:end]
                pending[session] = waiting[end:]
            if not pending[session]:
                del pending[session]


def _full(waiting: list[GivenTurn], arriving: Arrivals) -> int:
    """Returns how many of these turns contain new ones for full records of annotations."""
    new = list(accumulate(arriving.is_new(given.place) for given in waiting))
    return bisect_right(new, new[-1] // ANNOTATED_TURNS * ANNOTATED_TURNS)


def _refuse_unknown_ends(truth: Truth, outside: Sequence[OutsideEdge], is_here: Callable[[str], bool]) -> None:
    """Refuses an edge to or from a turn that is neither in the file nor stored (ruling 14)."""
    ends = {end for _, edge in outside for end in (edge.parent, edge.child) if not is_here(end)}
    unknown = ends - truth.turns.find(ends).keys()
    for location, edge in outside:
        for end in (edge.parent, edge.child):
            if end in unknown:
                raise SlicebaseError(
                    "no-turn",
                    f"{location}: the turn {end} is neither in the file nor stored",
                    hint="first import the file that contains it",
                )


def _by_session(turns: Iterable[Turn], options: Options) -> Iterator[Batch]:
    """Yields the turns of each session, redacted."""
    sessions: dict[str, list[Turn]] = {}
    for turn in turns:
        sessions.setdefault(turn.session, []).append(turn)
    for name, each in sessions.items():
        yield redact(Batch(Session(name, GRAPH_FORMAT), tuple(each), records=len(each)), redactor_of(options))


def _add(truth: Truth, batch: Batch, given: Mapping[str, Annotation], arriving: Arrivals | None = None) -> AddedTurns:
    session, turns = batch.session, batch.turns
    assert session is not None

    def annotate(added: AddedTurns) -> Iterable[AnnotationRecord]:
        return annotation_records(session.id, [given[turn.id] for turn in added.turns])

    added = truth.turns.add(session, turns, annotate, arriving)
    _refuse_cycles(added.cycles)
    if len(added.turns) < len(turns):
        new = {turn.id for turn in added.turns}.union(added.conflicts)
        known = [given[turn.id] for turn in turns if turn.id not in new]
        for record in annotation_records(session.id, _changed(truth, session.id, known)):
            truth.turns.annotate(record)
    return added


def _changed(truth: Truth, session: str, given: list[Annotation]) -> list[Annotation]:
    """Returns the annotations of stored turns that differ from the newest stored ones."""
    found = truth.turns.find(each.turn for each in given)
    numbers = {turn: stored.seq for turn, stored in found.items() if stored.record.session == session}
    if not numbers:
        return []
    records = truth.turns.annotations_of(session, min(numbers.values()), max(numbers.values()))
    newest = {row[0]: Annotation(*row) for record in records for row in record.rows(numbers)}
    return [each for each in given if newest.get(each.turn) not in (each, None)]


def _link(truth: Truth, part: Account, links: list[Edge]) -> None:
    """Adds edges to turns that were stored before and are in no record of this file."""
    linked = truth.turns.link(links)
    _refuse_cycles(linked.cycles)
    part.edges += linked.edges
    part.continues += linked.continues


def _refuse_cycles(cycles: Sequence[tuple[str, str]]) -> None:
    for child, parent in cycles:
        raise SlicebaseError("cycle", f"the edge from {parent} to {child} makes {child} its own ancestor")
