"""Checks of everything that is stored: what is wrong, stale or due, the seals, and why something is believed."""

from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

from slicebase.core.refs import parse
from slicebase.files.grid import tree_places
from slicebase.verbs.cited import cited_place, file_of
from slicebase.verbs.sealed import SealReport, SealState, seal_report
from slicebase.verbs.sealed import seals as all_seals
from slicebase.web.api.files import FileFilters, FileRow, StaleReasonRow
from slicebase.web.endpoints import Name, Nothing, PageCursor, Paged, PageLimit, Parameters, get, window

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.verbs.verify import Verdict
    from slicebase.verbs.why import Reason

_MOST: Final = 500  # findings of an answer


class ProofFinding(Struct, frozen=True):
    """Something that does not follow from the stored bytes."""

    status: str
    check: str
    place: str
    expected: str
    found: str


class VerdictAnswer(Struct, frozen=True):
    """The result of `verify`: what was checked, and what was found; `counts` counts all findings by status."""

    status: str
    checked: dict[str, int]
    findings: tuple[ProofFinding, ...]
    counts: dict[str, int]


def verdict_of(verdict: "Verdict") -> VerdictAnswer:
    """Returns a verdict as the API shows it: the first findings of each status."""
    shown: dict[str, list[ProofFinding]] = {}
    counts: dict[str, int] = {}
    for each in verdict.findings:
        counts[each.status] = counts.get(each.status, 0) + 1
        if counts[each.status] <= _MOST:
            shown.setdefault(each.status, []).append(ProofFinding(*each))
    return VerdictAnswer(
        verdict.status, verdict.checked, tuple(each for group in shown.values() for each in group), counts
    )


def verify(memory: "Slicebase", asked: Nothing) -> VerdictAnswer:
    """Verifies everything, which takes a while; `/verify/progress` says what is done meanwhile."""
    return verdict_of(memory.verify())


class ComplaintRow(Struct, frozen=True):
    """Something that is wrong with the workspace, and what to do."""

    check: str
    place: str
    message: str
    hint: str
    fixable: bool


class DoctorAnswer(Struct, frozen=True):
    """What is wrong with the workspace; `total` counts all complaints."""

    complaints: tuple[ComplaintRow, ...]
    total: int


def doctor(memory: "Slicebase", asked: Nothing) -> DoctorAnswer:
    """Returns what is wrong with the workspace. Nothing is fixed."""
    found, _ = memory.doctor()
    return DoctorAnswer(tuple(msgspec.convert(each.as_json(), ComplaintRow) for each in found[:_MOST]), len(found))


# Stale, due


class StaleQuery(FileFilters, frozen=True, kw_only=True):
    """The files that should be checked again, page by page."""

    limit: PageLimit = 50
    cursor: PageCursor = ""


class StaleRow(FileRow, frozen=True):
    """A file that should be checked again, and why."""

    reasons: tuple[StaleReasonRow, ...]


class StaleList(Struct, frozen=True):
    """Files that should be checked again, the stalest first; `counts` counts their reasons."""

    half_life_days: float
    files: tuple[StaleRow, ...]
    total: int
    counts: dict[str, int]
    next: str | None


def stale(memory: "Slicebase", asked: StaleQuery) -> StaleList:
    """Lists files that should be checked again: their age, or a source that changed."""
    now, half_life = memory.surroundings.now(), memory.settings.freshness_half_life_days
    found = memory.finder.stale(filters=asked.filters(now, half_life))
    counts: dict[str, int] = {}
    for each in found:
        for why in each.reasons:
            counts[why.kind] = counts.get(why.kind, 0) + 1
    page = window(found, asked, lambda each: each.entry.name)
    rows = tuple(msgspec.convert(each.as_json(now, half_life), StaleRow) for each in page.items)
    return StaleList(half_life, rows, len(found), counts, page.next)


class DueReasonRow(Struct, frozen=True):
    """Something that is due, and the sentence of the contract that asks for it."""

    kind: str
    detail: str
    rule: str | None


class DueRow(Struct, frozen=True):
    """A file for which something is due, and the commands that do it."""

    id: str
    title: str | None
    file: str
    cleanup: str | None
    done: str | None
    reasons: tuple[DueReasonRow, ...]
    commands: tuple[str, ...]


class DueQuery(Paged, frozen=True, kw_only=True):
    """The work that contracts ask for; `everything` adds rules that name no age, period or number."""

    everything: bool = False


class DueList(Struct, frozen=True):
    """The work that contracts ask for."""

    files: tuple[DueRow, ...]
    total: int
    next: str | None


def due(memory: "Slicebase", asked: DueQuery) -> DueList:
    """Lists the work that contracts ask for now."""
    found = memory.library.due(everything=asked.everything)
    page = window(found, asked, lambda each: each.id)
    return DueList(tuple(msgspec.convert(each.as_json(), DueRow) for each in page.items), len(found), page.next)


# Validation


class RuleFinding(Struct, frozen=True):
    """A breach of a rule of the format, and its place."""

    rule: str
    severity: Literal["error", "warning", "hint"]
    file: str
    line: int | None
    column: int | None
    message: str
    hint: str


class ValidationAnswer(Struct, frozen=True):
    """What is wrong with slice files by the rules of the format, the first findings; `rules` counts all by rule."""

    findings: tuple[RuleFinding, ...]
    counts: dict[str, int]
    rules: dict[str, int]


def validate(memory: "Slicebase", asked: Nothing) -> ValidationAnswer:
    """Checks all slice files against the format."""
    report = memory.validate()
    rules: dict[str, int] = {}
    for each in report.findings:
        rules[each.rule] = rules.get(each.rule, 0) + 1
    root = f"{memory.root}/"
    shown = tuple(each._replace(file=each.file.removeprefix(root)) for each in report.findings[:_MOST])
    fields = {**report._replace(findings=shown).as_json(), "counts": report.as_json()["counts"], "rules": rules}
    return msgspec.convert(fields, ValidationAnswer)


# Seals


class SealRow(Struct, frozen=True):
    """A seal: when it was made, what it covers, and whether it is of this database and still holds."""

    id: str
    title: str
    time: str | None
    database: str | None
    entries: int | None  # of the log, when it was sealed
    chains: int
    files: int
    state: SealState
    findings: tuple[ProofFinding, ...]


class SealsQuery(Paged, frozen=True, kw_only=True):
    """The seals, the newest first."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 20


class SealList(Struct, frozen=True):
    """The chain of seals: each is compared with the chains of the database, not with the library."""

    database: str
    seals: tuple[SealRow, ...]
    total: int
    next: str | None


def seals(memory: "Slicebase", asked: SealsQuery) -> SealList:
    """Lists the seals, and says of each whether the chains that it sealed are still there."""
    found = all_seals(memory)
    page = window(found, asked, lambda each: each.name)
    rows = tuple(_seal_row(seal_report(memory, each, with_files=False)) for each in page.items)
    return SealList(memory.truth.identity.database, rows, len(found), page.next)


class SealName(Parameters, frozen=True, kw_only=True):
    """A seal by the id of its file."""

    id: Name


def seal(memory: "Slicebase", asked: SealName) -> SealRow:
    """Compares one seal with everything that it sealed: the chains of the database, and the library."""
    return _seal_row(seal_report(memory, asked.id, with_files=True))


def _seal_row(report: SealReport) -> SealRow:
    log, findings = report.log, tuple(ProofFinding(*finding) for finding in report.findings[:_MOST])
    return SealRow(
        report.file.id or "", report.file.title or "", report.file.updated_at, log.database if log else None,
        log.entries if log else None, report.chains, report.files, report.state, findings,
    )  # fmt: skip


# Why


class WhyQuery(Parameters, frozen=True, kw_only=True):
    """A reference, and the direction: what it rests on, or with `forward` what rests on it."""

    ref: Name
    forward: bool = False


class QuotedPlace(Struct, frozen=True):
    """Where a quote is, half-open, in code points, and its hash."""

    chunk: str
    start: int
    end: int
    hash: str
    file: str | None  # the slice file of the chunk


class ReasonNode(Struct, frozen=True):
    """A reason in a drawing: its text, its place in columns and rows, and the number of what it is a reason for."""

    ref: str
    kind: str
    text: str
    note: str
    depth: int
    row: float
    parent: int
    left_out: int  # reasons of it that are not drawn
    quote: QuotedPlace | None  # of evidence


class WhyAnswer(Struct, frozen=True):
    """The tree of reasons, each before those that it rests on."""

    nodes: tuple[ReasonNode, ...]
    rows: float
    columns: int


def why(memory: "Slicebase", asked: WhyQuery) -> WhyAnswer:
    """Returns what a reference rests on, down to the quoted text; with `forward`, what rests on it."""
    root = memory.why(asked.ref, forward=asked.forward)
    drawn = tree_places(root, lambda reason: reason.children)
    nodes = tuple(
        ReasonNode(
            reason.ref, reason.kind, reason.text or _around(memory, reason, drawn[place.parent][0]), reason.note,
            place.depth, place.row, place.parent, place.left_out, _quoted(memory, reason),
        )
        for reason, place in drawn
    )  # fmt: skip
    return WhyAnswer(nodes, max(node.row for node in nodes) + 1, max(node.depth for node in nodes) + 1)


def _quoted(memory: "Slicebase", reason: "Reason") -> QuotedPlace | None:
    record = memory.truth.ledger.get(reason.ref) if reason.kind == "evidence" else None
    if record is None:
        return None
    file = file_of(memory, parse(record.chunk_id))
    return QuotedPlace(record.chunk_id, record.span.start, record.span.end, record.quote_hash, file)


_AROUND: Final = 60  # characters of a chunk on each side of its quote


def _around(memory: "Slicebase", reason: "Reason", parent: "Reason") -> str:
    """Returns the text of a chunk around the quote that evidence has of it; nothing if the quote is not there."""
    if reason.kind != "chunk" or parent.kind != "evidence":
        return ""
    place = cited_place(memory, parent.ref, _AROUND)
    if place.span is None:
        return ""
    start = "…" if place.span.start > _AROUND else ""
    end = "…" if place.span.end + _AROUND < place.length else ""
    return f"{start}{place.before}{place.found.quote or ''}{place.after}{end}"


ENDPOINTS: Final = (
    get("/doctor", "doctor", doctor),
    get("/stale", "finder.stale", stale),
    get("/due", "library.due", due),
    get("/validate", "validate", validate),
    get("/seals", "seal", seals),
    get("/seals/{id}", "verify", seal),
    get("/why", "why", why),
    get("/verify", "verify", verify, is_long=True),
)
