"""What a run knows, now or at a snapshot: claims, conflicts, questions and failures, and evidence in its place."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from slicebase.errors import SlicebaseError
from slicebase.runs.evidence import Evidence, resolve
from slicebase.runs.records import Span
from slicebase.runs.report import Quote, quotes_of
from slicebase.runs.state import Json
from slicebase.verbs.cited import AROUND, cited_chunk, cited_place
from slicebase.verbs.evidence import ChunkTexts
from slicebase.web.endpoints import Name, Paged, Parameters, get, window

if TYPE_CHECKING:
    from slicebase.base import Slicebase


QuoteStatus = Literal["found", "changed", "gone", "purged"]


class CitedQuote(Struct, frozen=True):
    """What an item rests on: a place, the words there, and what has become of them. A purged quote has no words."""

    evidence_id: str
    chunk_id: str
    span: Span | None
    quote: str | None
    status: QuoteStatus | None  # None where the ledger or the text cannot be read


class ClaimRow(Struct, frozen=True):
    """A claim, with what it rests on; the ids of the snapshots that have it first, and in which it changed last."""

    claim_id: str
    status: str
    statement: str
    kind: str
    since: int
    changed: int
    evidence: tuple[CitedQuote, ...]


class ConflictRow(Struct, frozen=True):
    """A conflict between two sides of evidence."""

    conflict_id: str
    status: str
    description: str
    since: int
    changed: int
    side_a: tuple[CitedQuote, ...]
    side_b: tuple[CitedQuote, ...]


class FailureRow(Struct, frozen=True):
    """A failure: where, and why."""

    failure_id: str
    status: str
    category: str
    where: str
    why: str
    since: int
    changed: int


class ItemMaker:
    """Makes rows of items. A log may have any values (ruling 35): what is no text is shown as one."""

    def __init__(self, memory: "Slicebase") -> None:
        self._ledger = memory.truth.ledger
        self._texts = ChunkTexts(memory)
        self._statuses: dict[str, QuoteStatus | None] = {}  # many claims may cite one text

    def _quotes(self, refs: Json) -> tuple[CitedQuote, ...]:
        return tuple(map(self._quote, quotes_of(refs, self._find)))

    def _quote(self, each: Quote) -> CitedQuote:
        if each.evidence_id not in self._statuses:
            self._statuses[each.evidence_id] = self._status(each.evidence_id)
        return CitedQuote(each.evidence_id, each.chunk_id, each.span, each.quote, self._statuses[each.evidence_id])

    def _status(self, evidence_id: str) -> QuoteStatus | None:
        record = self._find(evidence_id)
        if record is None:
            return None
        try:
            return resolve(record, self._texts.look_up(record)).status
        except SlicebaseError:  # one text that cannot be read keeps nobody from seeing the others
            return None

    def _find(self, evidence_id: str) -> Evidence | None:
        try:
            return self._ledger.get(evidence_id)
        except SlicebaseError:  # it cannot be read: a list of what is left is more than none
            return None

    def claim(self, item: Json) -> ClaimRow:
        """Returns a claim as the API shows it."""
        return ClaimRow(
            claim_id=_text(item, "claim_id"),
            status=_text(item, "status"),
            statement=_text(item, "statement"),
            kind=_text(item, "kind"),
            since=_number(item, "since"),
            changed=_number(item, "changed"),
            evidence=self._quotes(item.get("evidence_refs")),
        )

    def conflict(self, item: Json) -> ConflictRow:
        """Returns a conflict as the API shows it."""
        return ConflictRow(
            conflict_id=_text(item, "conflict_id"),
            status=_text(item, "status"),
            description=_text(item, "description"),
            since=_number(item, "since"),
            changed=_number(item, "changed"),
            side_a=self._quotes(item.get("side_a_refs")),
            side_b=self._quotes(item.get("side_b_refs")),
        )

    def failure(self, item: Json) -> FailureRow:
        """Returns a failure as the API shows it."""
        return FailureRow(
            failure_id=_text(item, "failure_id"),
            status=_text(item, "status"),
            category=_text(item, "category"),
            where=_text(item, "where"),
            why=_text(item, "why"),
            since=_number(item, "since"),
            changed=_number(item, "changed"),
        )


def _text(item: Json, name: str) -> str:
    value = item.get(name)
    return "" if value is None else str(value)


def _number(item: Json, name: str) -> int:
    value = item.get(name)
    return value if isinstance(value, int) else 0


# Lists of items. Each reads the state of a run now, or that of a snapshot.


class ItemsQuery(Paged, frozen=True, kw_only=True):
    """The items of a run, or of a snapshot, that have a status, and of claims a kind, if those are given."""

    owner: Name
    status: Annotated[str, Meta(max_length=100)] = ""
    kind: Annotated[str, Meta(max_length=100, description="Of claims: instruction, decision, finding …")] = ""


class ClaimPage(Struct, frozen=True):
    """Claims in order of first appearance, how many there are of each status, and of each kind."""

    claims: tuple[ClaimRow, ...]
    statuses: dict[str, int]
    kinds: dict[str, int]
    next: str | None


class ConflictPage(Struct, frozen=True):
    """Conflicts in order of first appearance, and how many there are of each status."""

    conflicts: tuple[ConflictRow, ...]
    statuses: dict[str, int]
    next: str | None


class FailurePage(Struct, frozen=True):
    """Failures in order of first appearance, and how many there are of each status."""

    failures: tuple[FailureRow, ...]
    statuses: dict[str, int]
    next: str | None


class QuestionPage(Struct, frozen=True):
    """Open questions, the oldest first."""

    questions: tuple[str, ...]
    next: str | None


Collection = Literal["claims", "conflicts", "failures", "open_questions"]


def items_of(memory: "Slicebase", owner: str, collection: Collection) -> list[Any]:
    """Returns the items of a run now, or those of a snapshot."""
    if owner.startswith("sn_"):
        return list(memory.runs.snapshot(owner)["state"][collection])
    state = memory.truth.runs.state(memory.stored_names.id("run", owner))
    return list(getattr(state, collection).values())


def list_claims(memory: "Slicebase", asked: ItemsQuery) -> ClaimPage:
    """Lists the claims of a run or a snapshot, each with what it rests on."""
    items = items_of(memory, asked.owner, "claims")
    page = window(_chosen(items, asked), asked, _named("claim_id"))
    rows = tuple(map(ItemMaker(memory).claim, page.items))
    return ClaimPage(rows, _counts(items, "status"), _counts(items, "kind"), page.next)


def list_conflicts(memory: "Slicebase", asked: ItemsQuery) -> ConflictPage:
    """Lists the conflicts of a run or a snapshot, with the evidence of both sides."""
    items = items_of(memory, asked.owner, "conflicts")
    page = window(_chosen(items, asked), asked, _named("conflict_id"))
    return ConflictPage(tuple(map(ItemMaker(memory).conflict, page.items)), _counts(items, "status"), page.next)


def list_failures(memory: "Slicebase", asked: ItemsQuery) -> FailurePage:
    """Lists the failures of a run or a snapshot."""
    items = items_of(memory, asked.owner, "failures")
    page = window(_chosen(items, asked), asked, _named("failure_id"))
    return FailurePage(tuple(map(ItemMaker(memory).failure, page.items)), _counts(items, "status"), page.next)


class QuestionsQuery(Paged, frozen=True, kw_only=True):
    """The open questions of a run or a snapshot."""

    owner: Name


def list_questions(memory: "Slicebase", asked: QuestionsQuery) -> QuestionPage:
    """Lists the open questions of a run or a snapshot."""
    numbered = list(enumerate(map(str, items_of(memory, asked.owner, "open_questions"))))
    page = window(numbered, asked, lambda each: str(each[0]))
    return QuestionPage(tuple(text for _, text in page.items), page.next)


def _chosen(items: Iterable[Json], asked: ItemsQuery) -> list[Json]:
    wanted = {"status": asked.status, "kind": asked.kind}
    return [item for item in items if all(not value or item.get(name) == value for name, value in wanted.items())]


def _named(field: str) -> Callable[[Json], str]:
    return lambda item: str(item.get(field))


def _counts(items: Iterable[Json], field: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for item in items:
        if isinstance(value := item.get(field), str):
            counts[value] = counts.get(value, 0) + 1
    return counts


# Evidence


class EvidenceQuery(Parameters, frozen=True, kw_only=True):
    """Evidence, by its id, and how many characters around the quote to show."""

    evidence: Name
    around: Annotated[int, Meta(ge=0, le=4000)] = AROUND


class QuoteAnswer(Struct, frozen=True):
    """A quote in its place: what is before and after it now, and whether it is still there."""

    evidence_id: str
    corpus_id: str
    chunk_id: str
    span: Span  # where it was cited
    quote_hash: str
    quote: str | None  # None after a purge
    status: QuoteStatus
    sound: bool  # its id, hash, span and quote agree
    now: Span | None  # where the quote is now; None if it is not there
    before: str
    after: str
    length: int  # of the chunk now
    file: str | None  # the slice file of the chunk
    role: str | None  # of a turn
    time: str | None


def show_evidence(memory: "Slicebase", asked: EvidenceQuery) -> QuoteAnswer:
    """Returns a quote in its place, and whether it is still there."""
    place = cited_place(memory, memory.stored_names.id("ev", asked.evidence), asked.around)
    record = place.evidence
    return QuoteAnswer(
        evidence_id=record.evidence_id,
        corpus_id=record.corpus_id,
        chunk_id=record.chunk_id,
        span=record.span,
        quote_hash=record.quote_hash,
        quote=place.found.quote,
        status=place.found.status,
        sound=place.is_sound,
        now=place.span,
        before=place.before,
        after=place.after,
        length=place.length,
        file=place.file,
        role=place.role,
        time=place.time,
    )


class ChunkQuery(Parameters, frozen=True, kw_only=True):
    """A chunk of a document, and a cited span of it."""

    ref: Annotated[str, Meta(pattern="^doc:", max_length=200)]
    start: Annotated[int, Meta(ge=0, le=1 << 40)] = 0
    end: Annotated[int, Meta(ge=0, le=1 << 40)] = 0


class ChunkAnswer(Struct, frozen=True):
    """The text of a chunk, in three pieces: before what is cited, that, and after it."""

    ref: str
    before: str
    cited: str
    after: str


def show_chunk(memory: "Slicebase", asked: ChunkQuery) -> ChunkAnswer:
    """Returns the text of a chunk of a document, as long as the document has not changed."""
    span = Span(start=asked.start, end=max(asked.start, asked.end))
    return ChunkAnswer(asked.ref, *cited_chunk(memory, asked.ref, span))


_LISTS: Final[Mapping[str, Callable[..., Any]]] = {
    "claims": list_claims,
    "conflicts": list_conflicts,
    "questions": list_questions,
    "failures": list_failures,
}
_OWNERS: Final = {"runs": "runs.status", "snapshots": "runs.snapshot"}

ENDPOINTS: Final = (
    *(get(f"/{kind}/{{owner}}/{name}", verb, call) for kind, verb in _OWNERS.items() for name, call in _LISTS.items()),
    get("/evidence/{evidence}", "why", show_evidence),
    get("/chunk", "why", show_chunk),
)
