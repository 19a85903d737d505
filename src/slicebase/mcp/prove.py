"""Tools that show what an agent sees and what that rests on: context, why, verify."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from slicebase.mcp.calls import (
    Arguments,
    Limit,
    PageNumber,
    Result,
    ToolCall,
    ToolOutput,
    excerpt,
    more_pages,
    page_of,
    quoted,
)

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
    label: str
    tokens: int


class ContextResult(Result, frozen=True):
    text: Annotated[str, Meta(description="The pieces, fenced and cited")]
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
    text, manifest = built.text, built.manifest
    pieces = [PieceTaken(piece.ref, piece.label, piece.tokens) for piece in built.pieces]
    result = ContextResult(
        text, manifest.manifest_id, built.recorded, manifest.tokens_used, pieces, manifest.left_out.count
    )
    kept = "recorded" if built.recorded else "not recorded"
    lines = [text, f"{len(pieces)} pieces, {manifest.left_out.count} left out; {kept}: {result.manifest_id}"]
    if built.narrowed_by:
        lines.append(f"Narrowed by {', '.join(built.narrowed_by)}; in quotation marks, that is text.")
    if built.undated:
        lines.append(f"Left out without a date: {built.undated}.")
    return ToolOutput(result, "\n".join(lines))


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
    text: str = ""
    note: str = ""


class WhyResult(Result, frozen=True):
    reasons: Annotated[list[ReasonFound], Meta(description="A tree in order, by depth")]
    total: int
    next: int | None = None


def why(call: ToolCall, given: WhyArguments) -> ToolOutput:
    """Lists what a reference rests on, or what rests on it."""
    reasons = list(_flat(call.base.why(given.ref, forward=given.forward)))
    shown, following = page_of(reasons, given.page, given.limit)
    return ToolOutput(
        WhyResult(list(shown), len(reasons), following), quoted(list(map(_line, shown)), more_pages(following))
    )


def _flat(reason: "Reason", depth: int = 0) -> Iterator[ReasonFound]:
    yield ReasonFound(depth, reason.ref, reason.kind, reason.text, reason.note)
    for child in reason.children:
        yield from _flat(child, depth + 1)


def _line(reason: ReasonFound) -> str:
    note = f" ({reason.note})" if reason.note else ""
    return f"{'  ' * reason.depth}{reason.ref}{note}: {excerpt(reason.text)}"


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
    place: str
    expected: str = ""
    found: str = ""


class VerifyResult(Result, frozen=True):
    status: Annotated[str, Meta(description="VERIFIED, BROKEN or UNVERIFIABLE")]
    checked: dict[str, int]
    findings: list[FindingFound]
    total: int
    next: int | None = None


def verify(call: ToolCall, given: VerifyArguments) -> ToolOutput:
    """Verifies everything stored, and lists the findings."""
    verdict = call.base.verify(seal=given.seal, progress=call.progress)
    findings, following = page_of([FindingFound(*each) for each in verdict.findings], given.page, given.limit)
    result = VerifyResult(verdict.status, verdict.checked, list(findings), len(verdict.findings), following)
    counted = ", ".join(f"{count} {what}" for what, count in verdict.checked.items())
    lines = [f"{each.status} {each.check}: {each.place}" for each in findings]
    return ToolOutput(
        result, "\n".join([f"{verdict.status}: {counted or 'nothing stored'}", *lines, more_pages(following)]).strip()
    )
