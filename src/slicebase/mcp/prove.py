"""Tools that show what an agent sees and what that rests on: context, why, verify."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from slicebase.mcp.calls import Arguments, Result, ToolCall, ToolOutput, ToolResult
from slicebase.mcp.quotes import Limit, PagedLine, PageNumber, excerpt, line, more_pages, page_of, plain, quoted

if TYPE_CHECKING:
    from slicebase.verbs.why import Reason


# Context


class ContextArguments(Arguments, frozen=True):
    question: Annotated[str, Meta(examples=["Why did we drop the retry queue? role:user"])]
    tokens: Annotated[int, Meta(ge=64, le=200_000, description="Token budget")] = 4000
    as_of: Annotated[str | None, Meta(description="Leave out what is later")] = None
    run: Annotated[str | None, Meta(description="Begin with this run's last snapshot")] = None


class PieceTaken(Result, frozen=True):
    ref: str
    tokens: int


class ContextResult(ToolResult, frozen=True):
    manifest_id: str
    recorded: bool
    tokens: int
    pieces: list[PieceTaken]
    left_out: int


def context(call: ToolCall, given: ContextArguments) -> ToolOutput:
    """Builds a context for a question, and records it unless the server is read-only."""
    record = not call.environment.read_only
    built = call.base.context(
        given.question,
        given.tokens,
        as_of=given.as_of or None,
        record=record,
        run=given.run or None,
    )
    manifest = built.manifest
    pieces = [PieceTaken(plain(piece.ref), piece.tokens) for piece in built.pieces]
    result = ContextResult(manifest.manifest_id, built.recorded, manifest.tokens_used, pieces, manifest.left_out.count)
    kept = "recorded" if built.recorded else "not recorded"
    lines = [f"{len(pieces)} pieces, {manifest.left_out.count} left out; {kept}: {result.manifest_id}"]
    if not pieces and built.left_out:
        lines.append(f"Nothing of what was found has room in {given.tokens} tokens.")
    if built.narrowed_by:
        lines.append(f"Narrowed by {', '.join(built.narrowed_by)}; in quotation marks, that is text.")
    if built.undated:
        lines.append(f"Left out without a date: {built.undated}.")
    return ToolOutput(result, quoted([built.text], "\n".join(lines)))


# Why


class WhyArguments(Arguments, frozen=True):
    ref: Annotated[
        str,
        Meta(description="claim:<run>/<id>, run:, file:, ev_, sn_, mf_ or a chunk", examples=["claim:build-42/c1"]),
    ]
    forward: Annotated[bool, Meta(description="What rests on it instead")] = False
    limit: Limit = 50
    page: PageNumber = 1


class ReasonFound(Result, frozen=True):
    depth: int
    ref: str
    kind: str


class WhyResult(ToolResult, frozen=True):
    reasons: Annotated[list[ReasonFound], Meta(description="A tree in order, by depth")]
    total: int
    next: int | None = None


def why(call: ToolCall, given: WhyArguments) -> ToolOutput:
    """Lists what a reference rests on, or what rests on it."""
    entries = list(_flat(call.base.why(given.ref, forward=given.forward)))
    shown, following = page_of(entries, given.page, given.limit)
    reasons = [each.value for each in shown if isinstance(each.value, ReasonFound)]
    text = quoted([each.text for each in shown], more_pages(following))
    return ToolOutput(WhyResult(reasons, len(entries), following), text)


def _flat(reason: "Reason", depth: int = 0) -> Iterator[PagedLine]:
    note = f" ({excerpt(reason.note)})" if reason.note else ""
    text = f"{'  ' * depth}{excerpt(reason.ref)}{note}: {excerpt(reason.text)}"
    yield PagedLine(line(text), ReasonFound(depth, plain(reason.ref), plain(reason.kind)))
    for child in reason.children:
        yield from _flat(child, depth + 1)


# Verify


class VerifyArguments(Arguments, frozen=True):
    seal: Annotated[
        str | None, Meta(description="Also compare with this seal: its id, or latest", examples=["latest"])
    ] = None
    limit: Limit = 50
    page: PageNumber = 1


class FindingFound(Result, frozen=True):
    status: str
    check: str


class VerifyResult(ToolResult, frozen=True):
    status: Annotated[str, Meta(description="VERIFIED, BROKEN or UNVERIFIABLE")]
    checked: dict[str, int]
    findings: list[FindingFound]
    total: int
    next: int | None = None


def verify(call: ToolCall, given: VerifyArguments) -> ToolOutput:
    """Verifies everything stored, and lists the findings."""
    verdict = call.base.verify(seal=given.seal, progress=call.progress)
    shown, following = page_of([_finding(*each) for each in verdict.findings], given.page, given.limit)
    findings = [each.value for each in shown if isinstance(each.value, FindingFound)]
    result = VerifyResult(verdict.status, verdict.checked, findings, len(verdict.findings), following)
    counted = ", ".join(f"{count} {what}" for what, count in verdict.checked.items())
    said = f"{verdict.status}: {counted or 'nothing stored'}"
    return ToolOutput(
        result, f"{said}\n{quoted([each.text for each in shown], more_pages(following))}" if shown else said
    )


def _finding(status: str, check: str, place: str, expected: str = "", found: str = "") -> PagedLine:
    compared = "; ".join(f"{name} {excerpt(text)}" for name, text in (("expected", expected), ("found", found)) if text)
    text = f"{status} {check}: {excerpt(place)}" + (f": {compared}" if compared else "")
    return PagedLine(line(text), FindingFound(plain(status), plain(check)))
