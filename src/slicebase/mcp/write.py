"""Tools that write slice files: create, remember, connect, forget. Contracts apply, and the client signs writes."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, field

from slicebase.files.links import RELATIONSHIPS
from slicebase.mcp.calls import Arguments, ToolCall, ToolOutput, ToolResult
from slicebase.mcp.quotes import plain, quoted

if TYPE_CHECKING:
    from slicebase.library.change import Change


class LinkGiven(Arguments, frozen=True):
    rel: str
    to: str


class CreateArguments(Arguments, frozen=True):
    title: Annotated[str, Meta(examples=["Deployment decisions"])]
    summary: Annotated[
        str, Meta(description="One or two sentences about the content", examples=["How and why we deploy."])
    ]
    body: str = ""
    type: Annotated[
        str, Meta(description="jsonl: a log of rows, for facts that change", examples=["markdown", "jsonl"])
    ] = "markdown"
    contract: Annotated[
        tuple[str, ...],
        Meta(description="key=value: purpose, exclude, write, overflow …", examples=[["write=supersede"]]),
    ] = ()
    links: Annotated[tuple[LinkGiven, ...], Meta(description="See connect")] = ()


class RememberArguments(Arguments, frozen=True):
    id: Annotated[str, Meta(description="The file's id", examples=["01JABC…"])]
    text: Annotated[
        str, Meta(description="In a log, a JSON object is the row", examples=["Retries stop after 5 attempts."])
    ]
    supersedes: Annotated[tuple[str, ...], Meta(description="Rows it replaces")] = ()
    new: Annotated[bool, Meta(description="Replaces nothing")] = False
    section: Annotated[
        str | None, Meta(description="Heading to write under; in write mode replace, whose section is replaced")
    ] = None
    replace: Annotated[str | None, Meta(description="Passage that text replaces, in write mode replace")] = None
    as_text: Annotated[bool, Meta(description="A row as it is, no JSON")] = False
    if_version: Annotated[str | None, Meta(description="Only if the file has this version")] = None
    source: Annotated[
        Literal["user-statement", "inference", "observation"] | None, Meta(description="How it is known")
    ] = None
    confidence: Annotated[float, Meta(ge=0, le=1)] | None = None


class ConnectArguments(Arguments, frozen=True):
    id: Annotated[str, Meta(examples=["01JABC…"])]
    rel: Annotated[str, Meta(extra_json_schema={"enum": sorted(RELATIONSHIPS)}, examples=["depends_on"])]
    to: Annotated[str, Meta(description="A file's id, a path or a reference", examples=["01JDEF…"])]
    label: str | None = None
    remove: Annotated[bool, Meta(description="Remove the link")] = False


class ForgetArguments(Arguments, frozen=True):
    id: Annotated[str, Meta(examples=["01JABC…"])]
    reason: str | None = None
    restore: Annotated[bool, Meta(description="Bring it back")] = False


class ChangeResult(ToolResult, frozen=True):
    id: str
    version: str
    changed: bool
    refs: list[str]
    overflow: str | None = None
    redacted: dict[str, Any] = field(default_factory=dict)


def create(call: ToolCall, given: CreateArguments) -> ToolOutput:
    """Creates a slice file."""
    return _change_output(
        call.base.library.create(
            given.title,
            given.summary,
            body=given.body,
            type=given.type,
            contract=given.contract,
            links=[(link.rel, link.to) for link in given.links],
            provenance=call.signed(),
        )
    )


def remember(call: ToolCall, given: RememberArguments) -> ToolOutput:
    """Writes text to a slice file, as its contract says."""
    return _change_output(
        call.base.library.remember(
            given.id,
            given.text,
            supersedes=given.supersedes,
            new=given.new,
            section=given.section,
            as_text=given.as_text,
            replace=given.replace,
            if_version=given.if_version,
            provenance=call.signed(source=given.source, confidence=given.confidence),
        )
    )


def connect(call: ToolCall, given: ConnectArguments) -> ToolOutput:
    """Links a file to something, or removes the link."""
    library, signed = call.base.library, call.signed()
    if given.remove:
        return _change_output(library.disconnect(given.id, given.rel, given.to, provenance=signed))
    return _change_output(library.connect(given.id, given.rel, given.to, label=given.label, provenance=signed))


def forget(call: ToolCall, given: ForgetArguments) -> ToolOutput:
    """Archives a file, so that searches and lists leave it out, or brings it back."""
    library, signed = call.base.library, call.signed()
    if given.restore:
        return _change_output(library.restore(given.id, provenance=signed))
    return _change_output(library.forget(given.id, reason=given.reason, provenance=signed))


def _change_output(change: "Change") -> ToolOutput:
    written = list(change.refs or (f"file:{change.id}",))
    refs = [ref for ref in map(plain, written) if ref]
    result = ChangeResult(plain(change.id), change.version, change.changed, refs, change.overflow)
    done = "Wrote" if change.changed else "Unchanged:"
    text = f"{done} {', '.join(refs)}" if len(refs) == len(written) else f"{done}\n{quoted(written)}"
    return ToolOutput(result, "\n".join([text, *(f"Warning: {warning}" for warning in change.warnings)]))
