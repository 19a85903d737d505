"""Batches of turns: a `BatchBuilder` collects what a reader finds, counts its records, and yields batches."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from slicebase.graph.turn import Edge, Session, Turn
from slicebase.importers.values import BATCH_BYTES, BATCH_TURNS, REASONS, Batch, Note


class BuilderState(Struct):
    """What a builder knows about sessions after a flush."""

    titles: dict[str, str]
    facts: dict[str, dict[str, Any]]
    sent: dict[str, Session]


class BatchBuilder:
    """Collects turns, counts and notes, and yields them as batches of limited size, one session each.

    Turns of several sessions that alternate in a source, as those of subagents do, are collected side by side.
    """

    def __init__(self, format_name: str) -> None:
        self.format = format_name
        self.unnamed: set[str] = set()  # sessions that the source does not name
        self._titles: dict[str, str] = {}
        self._facts: dict[str, dict[str, Any]] = {}
        self._sent: dict[str, Session] = {}  # each session as its last batch described it
        self._unsettled = 0  # records that are counted and are not yet a turn, an `other` or a `skip`
        self._clear()

    def _clear(self) -> None:
        self._turns: dict[str, list[Turn]] = {}  # by session
        self._count = 0
        self._seen: Counter[str] = Counter()  # turns that are stored already, by session
        self._assumed: set[str] = set()
        self._links: list[Edge] = []
        self._others: Counter[str] = Counter()
        self._notes: list[Note] = []
        self._records = 0
        self._bytes = 0

    @property
    def state(self) -> BuilderState:
        """The state from which another builder can continue. Call `flush` first."""
        return BuilderState(self._titles, self._facts, self._sent)

    def restore(self, state: BuilderState) -> None:
        """Continues from the state of another builder."""
        self._titles, self._facts, self._sent = state.titles, state.facts, state.sent

    def record(self, size: int = 0) -> None:
        """Counts a record. The caller must then add exactly one turn, one `other`, or one `skip`."""
        self._records += 1
        self._unsettled += 1
        self._bytes += size

    def postpone(self) -> None:
        """Takes back the count of a record of which only later ones say what it is. It is counted again then."""
        self._records -= 1
        self._unsettled -= 1

    def late_other(self, kind: str) -> None:
        """Counts a record that was postponed and is known not to be a turn."""
        self.record()
        self.other(kind)

    def other(self, kind: str) -> None:
        """Counts a record that is known not to be a turn."""
        self._others[kind] += 1
        self._unsettled -= 1

    def note(self, reason: str, where: str, detail: str = "", *, lost: bool = False) -> None:
        """Adds a note with a code of `REASONS`."""
        self._notes.append(Note(REASONS[reason].action, reason, where, detail, lost))

    def skip(self, reason: str, where: str, detail: str = "", *, lost: bool = True) -> None:
        """Adds a note about a record that is skipped. By default its content counts as lost."""
        self.note(reason, where, detail, lost=lost)
        self._unsettled -= 1

    def give_up(self, where: str, error: Exception) -> None:
        """Reports a record at which the importer failed: it costs itself, and not the records after it."""
        detail = f"{type(error).__name__}: {error}"
        if not self._unsettled:
            self.note("partly-read", where, detail)
        while self._unsettled > 0:
            self.skip("importer-failed", where, detail)

    def link(self, edge: Edge) -> None:
        """Adds an edge that is not in the child's own record."""
        self._links.append(edge)

    def title(self, session: str, title: str) -> None:
        """Sets the title of a session."""
        self._titles[session] = title

    def facts(self, session: str) -> dict[str, Any]:
        """Returns the facts of a session, for the caller to change."""
        return self._facts.setdefault(session, {})

    def answered_by(self, session: str, model: Any) -> None:
        """Keeps the model that answered last as a fact of a session. `<synthetic>` are messages of a client."""
        if isinstance(model, str) and model and not model.startswith("<"):
            self.facts(session)["model"] = model

    def turn(self, turn: Turn, *, is_assumed: bool = False) -> Iterator[Batch]:
        """Adds a turn. Yields the batches that it fills. `is_assumed` says that its record names no parent."""
        self._turns.setdefault(turn.session, []).append(turn)
        self._count += 1
        if is_assumed:
            self._assumed.add(turn.id)
        self._unsettled -= 1
        if self._count >= BATCH_TURNS or self._bytes >= BATCH_BYTES:
            yield from self._batches()

    @property
    def noted(self) -> int:
        """How many notes wait for the next batch."""
        return len(self._notes)

    def seen(self, session: str) -> None:
        """Counts a turn that is known to be stored already."""
        self._turns.setdefault(session, [])
        self._seen[session] += 1
        self._unsettled -= 1

    def flush_if_full(self) -> Iterator[Batch]:
        """Yields a batch if there are many notes or bytes, as in a source with many records and few turns."""
        if len(self._notes) >= BATCH_TURNS or self._bytes >= BATCH_BYTES:
            yield from self._batches()

    def flush(self) -> Iterator[Batch]:
        """Yields everything that was collected."""
        if self._turns or self._records or self._notes or self._links:
            yield from self._batches()

    def close(self, *sessions: str) -> Iterator[Batch]:
        """Yields everything that was collected, and sessions whose facts changed after their last batch.

        Closes the named sessions, or all sessions if none is named.
        """
        yield from self.flush()
        for session in sessions or tuple(self._sent):
            sent, known = self._sent.pop(session, None), self._described(session)
            if sent is not None and sent != known:
                yield Batch(known, unnamed=session in self.unnamed)
            self._titles.pop(session, None)
            self._facts.pop(session, None)

    def _batches(self) -> Iterator[Batch]:
        """Yields one batch for each session, the last with the counts, notes and links of all."""
        *earlier, last = self._turns.items() if self._turns else ((None, []),)
        for session, turns in earlier:
            yield self._batch(session, turns)
        whole = replace(
            self._batch(*last),
            links=tuple(self._links),
            records=self._records,
            others=dict(self._others),
            notes=tuple(self._notes),
        )
        self._clear()
        yield whole

    def _batch(self, session: str | None, turns: list[Turn]) -> Batch:
        if session is not None:
            self._sent[session] = self._described(session)
        return Batch(
            session=None if session is None else self._sent[session],
            turns=tuple(turns),
            unnamed=session in self.unnamed,
            seen=self._seen[session] if session is not None else 0,
            assumed=frozenset(self._assumed),
        )

    def _described(self, session: str) -> Session:
        return Session(session, self.format, self._titles.get(session), dict(self._facts.get(session, {})))
