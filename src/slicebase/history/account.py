"""The account of an import: what was stored, what was left out and why.

`store_batches` writes batches of turns to the truth and enters them in the account.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from msgspec.structs import replace

from slicebase.graph.session import SHOWN_FACT, shown_last
from slicebase.graph.turn import TREE_EDGES, Edge, Session
from slicebase.history.shared_ids import with_own_ids
from slicebase.importers.values import Batch, ImportReport, Note
from slicebase.truth.truth import Truth
from slicebase.truth.turn_writer import AddedTurns, Annotate

if TYPE_CHECKING:
    from slicebase.errors import SlicebaseError

_SHOWN: Final = 5


class SourceConflict(NamedTuple):
    """A turn that is already stored from another record, and the input whose record was left out (ruling 15)."""

    turn: str
    where: str


class Account:
    """Counts records as the importers read them, and turns and edges as the database added them."""

    def __init__(self) -> None:
        self.report = ImportReport()
        self.formats: dict[str, int] = {}
        self.unrecognised: list[str] = []
        self.unreadable: list[SlicebaseError] = []  # for each input that could not be read to its end, or recognised
        self.complete: list[str] = []  # the inputs that were stored to their end
        self.unchanged = 0  # the inputs that were stored before and not read again
        self.added = 0
        self.known = 0
        self.conflicts: list[SourceConflict] = []
        self.edges = 0
        self.branches = 0
        self.continues = 0
        self.waiting = 0
        self.orphans: list[tuple[str, str]] = []  # turns whose parent was not stored when they were, with that parent
        self.joined = 0
        # By session that the inputs do not name, and by turn: the hashes of its records.
        self.unnamed: dict[str, dict[str, set[str]]] = {}
        self.new_unnamed: set[str] = set()  # the turns of these sessions that were added

    def __repr__(self) -> str:
        counts = f"added={self.added}, known={self.known}, sessions={len(self.sessions)}"
        return f"Account({counts}, left_out={self.content_left_out})"

    def add(self, batch: Batch, added: AddedTurns, where: str) -> None:
        """Enters a batch and what the database added of it. `where` is the name of the input."""
        self.report.add(batch)
        self.added += len(added.turns)
        self.known += added.known
        self.conflicts += (SourceConflict(turn, where) for turn in added.conflicts)
        self.edges += added.edges
        self.branches += sum(parent.type == "branch" for turn in added.turns for parent in turn.parents)
        self.continues += added.continues
        self.waiting += added.waiting
        self.joined += len(added.joined)
        for child, parent in added.cycles:
            self.report.note(Note("repaired", "cycle", f"turn:{child}", parent))
        if batch.unnamed:
            self.new_unnamed.update(turn.id for turn in added.turns)
            for turn in batch.turns:
                self.unnamed.setdefault(turn.session, {}).setdefault(turn.id, set()).add(turn.source_hash)

    def part(self) -> Self:
        """Returns an empty account, for an input that is stored whole or not at all."""
        return type(self)()

    def include(self, part: Self) -> None:
        """Adds what the account of one input says."""
        self.report.include(part.report)
        self.conflicts += part.conflicts
        self.orphans += part.orphans
        for name in ("added", "known", "edges", "branches", "continues", "waiting", "joined"):
            setattr(self, name, getattr(self, name) + getattr(part, name))

    def unfinished(self, error: "SlicebaseError") -> "SlicebaseError":
        """Returns an error that stopped the import, with what was stored before it."""
        if not self.added:
            return error
        shown = ", ".join(self.complete[:_SHOWN]) + (", …" if len(self.complete) > _SHOWN else "")
        whole = f"{len(self.complete)} inputs are complete ({shown})" if self.complete else "no input is complete"
        message = f"{error.message}; {self.added} turns were stored before that, {whole}"
        hint = f"{error.hint or 'import the rest'}: what is stored already is skipped"
        return type(error)(error.code, message, hint=hint, where=error.where)

    def redact(self, text: Callable[[str], str], error: "Callable[[SlicebaseError], SlicebaseError]") -> None:
        """Replaces the secrets in what the account repeats: names of files, and pieces of records."""
        self.unrecognised = [text(each) for each in self.unrecognised]
        self.unreadable = [error(each) for each in self.unreadable]
        self.conflicts = [each._replace(where=text(each.where)) for each in self.conflicts]
        self.report.notes = [
            replace(each, where=text(each.where), detail=text(each.detail)) for each in self.report.notes
        ]

    @property
    def sessions(self) -> list[str]:
        """The ids of the sessions that the inputs contain."""
        return sorted(self.report.sessions)

    @property
    def content_left_out(self) -> int:
        """How much content is not stored: skipped records, other versions of stored turns, unreadable inputs."""
        return self.report.content_left_out + len(self.conflicts) + len(self.unreadable)


def store_batches(
    truth: Truth,
    account: Account,
    batches: Iterable[Batch],
    waiting: list[Edge],
    *,
    name: str,
    annotate: Annotate | None,
) -> None:
    """Stores batches that were read from an input. `waiting`, the edges whose child has not arrived, is updated."""
    for batch in (with_own_ids(truth, each) for each in batches):
        session = _unless_shorter(truth, batch.session) if batch.session else None
        added = truth.turns.add(session, batch.turns, annotate, known=batch.seen) if session else AddedTurns()
        account.add(batch, added, name)
        account.orphans += _orphans(truth, added) if added.waiting else ()
        waiting[:] = link_edges(truth, account, [*waiting, *batch.links])
        _link_restated(truth, account, [edge for edge in added.restated if edge.child not in batch.assumed])


def link_edges(truth: Truth, account: Account, links: list[Edge]) -> list[Edge]:
    """Adds edges that are outside their child's record. Returns those whose child has not arrived."""
    if not links:
        return links
    linked = truth.turns.link(links)
    account.edges += linked.edges
    account.continues += linked.continues
    for child, parent in linked.cycles:
        account.report.note(Note("repaired", "cycle", f"turn:{child}", parent))
    return list(linked.unknown)


def _link_restated(truth: Truth, account: Account, edges: list[Edge]) -> None:
    """Adds parents that a copy of a stored record names: of a subagent's progress, only the copy in its file does."""
    if edges:
        linked = truth.turns.link(edges)
        account.edges += linked.edges
        account.continues += linked.continues


def _unless_shorter(truth: Truth, session: Session) -> Session:
    """Returns a session without the turn that its source shows last, if a later turn of that branch is shown already.

    The progress of a subagent, and a shorter copy of a file, end before the branch does.
    """
    shown = shown_last(session)
    if shown is None or truth.turns.newest_record(session.id) is None:
        return session
    before = shown_last(truth.turns.session(session.id))
    if before is None or before == shown:
        return session
    found = truth.turns.find({shown, before})
    if len(found) < 2 or found[shown].seq > found[before].seq or not truth.turns.descends(before, shown, {}):
        return session
    return replace(session, facts={name: fact for name, fact in session.facts.items() if name != SHOWN_FACT})


def _orphans(truth: Truth, added: AddedTurns) -> list[tuple[str, str]]:
    named = [(turn.id, turn.tree_parent) for turn in added.turns if turn.tree_parent]
    stored = truth.turns.find({parent for _, parent in named if parent})
    return [(child, parent) for child, parent in named if parent and parent not in stored]


def report_orphans(truth: Truth, account: Account) -> None:
    """Reports turns whose parent is still not stored: they go on from the turn before them in their session."""
    for child, parent in account.orphans:
        above = {each for each, kind in truth.turns.parents_of(child) if kind in TREE_EDGES}
        if truth.turns.get(child).seq > 1 and not truth.turns.find(above):
            account.report.note(Note("repaired", "missing-parent", f"turn:{child}", parent))
