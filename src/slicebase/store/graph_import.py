"""Graph files into the truth: all of a file, or nothing of it."""

from collections.abc import Iterable, Mapping

from slicebase.errors import SlicebaseError, Where
from slicebase.graph.graph_file import GraphFile, read_graph
from slicebase.graph.record import AnnotationRecord, annotation_records
from slicebase.graph.turn import Annotation, Edge, Session, Turn
from slicebase.importers.values import Batch
from slicebase.store.account import Account
from slicebase.store.truth import Truth
from slicebase.store.turns import Added

FORMAT = "graph"


def import_graph(truth: Truth, data: bytes, name: str, account: Account) -> None:
    """Stores a file's turns with the annotations that it gives; edges between sessions become `continues`."""
    try:
        file = read_graph(data)
        with truth.database.writing():
            _refuse_unknown_ends(truth, file)
            given = {annotation.turn: annotation for annotation in file.annotations}
            for session, turns in _by_session(file.turns).items():
                _add(truth, Session(session, FORMAT), turns, given, account, name)
            _link(truth, file, account)
    except SlicebaseError as error:
        raise error.at(Where(name)) from None
    account.formats[FORMAT] = account.formats.get(FORMAT, 0) + 1


def _refuse_unknown_ends(truth: Truth, file: GraphFile) -> None:
    """An edge joins turns of the file or of the store (ruling 14)."""
    here = {turn.id for turn in file.turns}
    stored = truth.turns.find({end for _, edge in file.outside for end in (edge.parent, edge.child)} - here)
    for place, edge in file.outside:
        for end in (edge.parent, edge.child):
            if end not in here and end not in stored:
                raise SlicebaseError(
                    "no-turn",
                    f"{place}: the turn {end} is neither in the file nor stored",
                    hint="import the file that holds it first",
                )


def _by_session(turns: Iterable[Turn]) -> dict[str, list[Turn]]:
    sessions: dict[str, list[Turn]] = {}
    for turn in turns:
        sessions.setdefault(turn.session, []).append(turn)
    return sessions


def _add(
    truth: Truth, session: Session, turns: list[Turn], given: Mapping[str, Annotation], account: Account, name: str
) -> None:
    def annotate(added: Added) -> Iterable[AnnotationRecord]:
        return annotation_records(session.id, [given[turn.id] for turn in added.turns])

    added = truth.turns.add(session, turns, annotate)
    if added.cycles:
        child, parent = added.cycles[0]
        raise SlicebaseError("cycle", f"the edge from {parent} to {child} makes {child} its own ancestor")
    account.add(Batch(session, tuple(turns), records=len(turns)), added, name)
    new = {turn.id for turn in added.turns}
    conflicts = set(added.conflicts)
    known = [given[turn.id] for turn in turns if turn.id not in new and turn.id not in conflicts]
    for record in annotation_records(session.id, _changed(truth, session.id, known)):
        truth.turns.annotate(record)


def _changed(truth: Truth, session: str, given: list[Annotation]) -> list[Annotation]:
    """Annotations of stored turns that say something else than the newest that is stored."""
    if not given:
        return []
    newest = {each.turn: each for record in truth.turns.annotations_of(session) for each in record.annotations()}
    return [each for each in given if newest.get(each.turn) not in (each, None)]


def _link(truth: Truth, file: GraphFile, account: Account) -> None:
    """Edges to turns that were stored before and stand in no record of this file."""
    here = {turn.id for turn in file.turns}
    links: list[Edge] = [edge for _, edge in file.outside if edge.child not in here]
    linked = truth.turns.link(links)
    if linked.cycles:
        child, parent = linked.cycles[0]
        raise SlicebaseError("cycle", f"the edge from {parent} to {child} makes {child} its own ancestor")
    account.edges += linked.edges
    account.continues += linked.continues
