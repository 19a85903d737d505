"""Tools that write slice files: create, remember, connect. Contracts apply, and writes are signed by the client."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, field

from slicebase.files.links import RELATIONSHIPS
from slicebase.mcp.calls import Arguments, Result, ToolCall, ToolOutput

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
    section: Annotated[str | None, Meta(description="Heading to write under")] = None
    replace: Annotated[str | None, Meta(description="Passage to edit")] = None
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


class ChangeResult(Result, frozen=True):
    id: str
    version: str
    changed: bool
    refs: list[str]
    overflow: str | None = None
    redacted: dict[str, Any] = field(default_factory=dict)


class LinkResult(ChangeResult, frozen=True):
    warnings: list[str] = field(default_factory=list)


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
            replace=given.replace,
            if_version=given.if_version,
            provenance=call.signed(source=given.source, confidence=given.confidence),
        )
    )


def connect(call: ToolCall, given: ConnectArguments) -> ToolOutput:
    """Links a file to something."""
    library = call.base.library
    return _change_output(library.connect(given.id, given.rel, given.to, label=given.label, provenance=call.signed()))


def _change_output(change: "Change") -> ToolOutput:
    refs = list(change.refs or (f"file:{change.id}",))
    fields = (change.id, change.version, change.changed, refs, change.overflow)
    warnings = list(change.warnings)
    result = LinkResult(*fields, warnings=warnings) if warnings else ChangeResult(*fields)
    done = f"{'Wrote' if change.changed else 'Unchanged:'} {', '.join(refs)}"
    return ToolOutput(result, "\n".join([done, *(f"Warning: {warning}" for warning in warnings)]))
