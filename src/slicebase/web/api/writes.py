"""The verbs that write slice files, evidence, seals and policies, for a server that may (`tt serve --write`).

They are the verbs of the command line, through the same doors: contracts apply, and secrets are replaced. No verb is
offered that reads a file of this machine by its path.
"""

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from msgspec import Meta, Struct, to_builtins
from msgspec.structs import replace

from slicebase.files.body.rows import Provenance
from slicebase.web.api.slices import PolicyRow, policy_row
from slicebase.web.endpoints import Name, Nothing, Parameters, Text, post
from slicebase.workspace.writer import client_name

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.library.change import Change

Share = Annotated[float, Meta(ge=0, le=1)]
_NOBODY: Final = "web"


class SignedWrite(Parameters, frozen=True, kw_only=True):
    """Who writes, and how it is known."""

    agent: Annotated[str, Meta(max_length=200, description="Who writes.")] = _NOBODY
    session: Annotated[str, Meta(max_length=400)] | None = None
    source: Literal["user-statement", "inference", "observation"] | None = None
    confidence: Share | None = None


def signed(memory: "Slicebase", asked: SignedWrite) -> Provenance:
    """Returns the provenance of a write. Where the settings ask for it, it also says where it was written."""
    name = client_name(asked.agent, memory.surroundings.redaction.text)
    given = Provenance(name or _NOBODY, asked.session, asked.source, asked.confidence)
    if not memory.settings.provenance_enabled:
        return given
    captured = memory.surroundings.writer(name or _NOBODY)
    return replace(given, source=given.source or captured.source, context=captured.context)


class ChangeAnswer(Struct, frozen=True):
    """What a write did, as the commands print it with `--json`."""

    id: str
    file: str
    version: str
    changed: bool
    refs: tuple[str, ...]
    overflow: str | None
    redacted: dict[str, int]
    warnings: tuple[str, ...]


def _changed(change: "Change") -> ChangeAnswer:
    return ChangeAnswer(
        change.id,
        change.file.name,
        change.version,
        change.changed,
        change.refs or (f"file:{change.id}",),
        change.overflow,
        dict(sorted(change.redacted.items())),
        change.warnings,
    )


# Slice files


class LinkTo(Struct, frozen=True, forbid_unknown_fields=True):
    """A link of a new file."""

    rel: str
    to: str


class CreateBody(SignedWrite, frozen=True, kw_only=True):
    """A new slice file."""

    title: Text
    summary: Text
    id: str | None = None
    type: str | None = None
    body: str = ""
    contract: Annotated[tuple[str, ...], Meta(description="KEY=VALUE: purpose, exclude, write, overflow …")] = ()
    meta: Annotated[tuple[str, ...], Meta(description="KEY=VALUE, with dotted keys.")] = ()
    links: tuple[LinkTo, ...] = ()


def create(memory: "Slicebase", asked: CreateBody) -> ChangeAnswer:
    """Creates a slice file."""
    return _changed(
        memory.library.create(
            asked.title,
            asked.summary,
            id=asked.id,
            type=asked.type,
            body=asked.body,
            contract=asked.contract,
            meta=asked.meta,
            links=[(link.rel, link.to) for link in asked.links],
            provenance=signed(memory, asked),
        )
    )


class DefineBody(SignedWrite, frozen=True, kw_only=True):
    """Keys of a file's metadata."""

    id: Name
    assignments: Annotated[tuple[str, ...], Meta(min_length=1, description="KEY=VALUE; `KEY=` removes a key.")]
    if_version: str | None = None


def define(memory: "Slicebase", asked: DefineBody) -> ChangeAnswer:
    """Sets keys of a file's metadata by dotted names."""
    provenance = signed(memory, asked)
    return _changed(
        memory.library.define(asked.id, asked.assignments, if_version=asked.if_version, provenance=provenance)
    )


class RememberBody(SignedWrite, frozen=True, kw_only=True):
    """Text for the body of a file."""

    id: Name
    text: str
    supersedes: tuple[str, ...] = ()
    new: bool = False
    section: str | None = None
    as_text: bool = False
    replace: str | None = None
    if_version: str | None = None


def remember(memory: "Slicebase", asked: RememberBody) -> ChangeAnswer:
    """Writes text to the body of a file, as its contract allows."""
    return _changed(
        memory.library.remember(
            asked.id,
            asked.text,
            supersedes=asked.supersedes,
            new=asked.new,
            section=asked.section,
            as_text=asked.as_text,
            replace=asked.replace,
            if_version=asked.if_version,
            provenance=signed(memory, asked),
        )
    )


class ConnectBody(SignedWrite, frozen=True, kw_only=True):
    """A link of a file."""

    id: Name
    rel: str
    to: str
    label: str | None = None


def connect(memory: "Slicebase", asked: ConnectBody) -> ChangeAnswer:
    """Links a file to another file, a path or a reference."""
    provenance = signed(memory, asked)
    return _changed(memory.library.connect(asked.id, asked.rel, asked.to, label=asked.label, provenance=provenance))


class DisconnectBody(SignedWrite, frozen=True, kw_only=True):
    """A link of a file that is to be removed."""

    id: Name
    rel: str
    to: str
    dry_run: bool = False


def disconnect(memory: "Slicebase", asked: DisconnectBody) -> ChangeAnswer:
    """Removes a link from a file."""
    provenance = signed(memory, asked)
    return _changed(
        memory.library.disconnect(asked.id, asked.rel, asked.to, dry_run=asked.dry_run, provenance=provenance)
    )


class RefreshBody(SignedWrite, frozen=True, kw_only=True):
    """The new text of a derived file."""

    id: Name
    text: str
    source_hash: str | None = None
    if_version: str | None = None
    dry_run: bool = False


def refresh(memory: "Slicebase", asked: RefreshBody) -> ChangeAnswer:
    """Replaces the body of a derived file, and updates the recorded hash of its source."""
    return _changed(
        memory.library.refresh(
            asked.id,
            asked.text,
            source_hash=asked.source_hash,
            if_version=asked.if_version,
            dry_run=asked.dry_run,
            provenance=signed(memory, asked),
        )
    )


class ForgetBody(SignedWrite, frozen=True, kw_only=True):
    """A file that is to be archived."""

    id: Name
    reason: str | None = None
    dry_run: bool = False


def forget(memory: "Slicebase", asked: ForgetBody) -> ChangeAnswer:
    """Archives a file: search and lists leave it out."""
    provenance = signed(memory, asked)
    return _changed(memory.library.forget(asked.id, reason=asked.reason, dry_run=asked.dry_run, provenance=provenance))


class RestoreBody(SignedWrite, frozen=True, kw_only=True):
    """A file that is to be brought back."""

    id: Name
    dry_run: bool = False


def restore(memory: "Slicebase", asked: RestoreBody) -> ChangeAnswer:
    """Brings an archived file back."""
    return _changed(memory.library.restore(asked.id, dry_run=asked.dry_run, provenance=signed(memory, asked)))


class DoneBody(SignedWrite, frozen=True, kw_only=True):
    """A file for which what was due is done."""

    id: Name


def done(memory: "Slicebase", asked: DoneBody) -> ChangeAnswer:
    """Records that what was due for a file is done: its periods and ages count from here."""
    return _changed(memory.library.done(asked.id, provenance=signed(memory, asked)))


# Evidence, seals, policies


class CiteBody(Parameters, frozen=True, kw_only=True):
    """A piece of text that becomes evidence: a quote, or a span."""

    reference: Name
    quote: str | None = None
    span: tuple[int, int] | None = None


class CitedAnswer(Struct, frozen=True):
    """A quote that claims can cite, as the command prints it with `--json`."""

    evidence_id: str
    corpus_id: str
    chunk_id: str
    span: dict[str, int]
    quote_hash: str
    quote: str | None
    pointer: dict[str, Any]


def cite(memory: "Slicebase", asked: CiteBody) -> CitedAnswer:
    """Adds a quote or a span of a text to the evidence ledger."""
    found = memory.cite(asked.reference, asked.quote, span=asked.span)
    return CitedAnswer(
        found.evidence_id,
        found.corpus_id,
        found.chunk_id,
        to_builtins(found.span),
        found.quote_hash,
        found.quote,
        to_builtins(found.pointer),
    )


class SealAnswer(Struct, frozen=True):
    """A seal, and what it seals."""

    id: str
    file: str
    runs: int
    sessions: int
    files: int


def seal(memory: "Slicebase", asked: Nothing) -> SealAnswer:
    """Writes the heads of all runs and sessions, and the versions of all files, to a slice file for git."""
    found = memory.seal()
    return SealAnswer(found.id, found.file.name, found.runs, found.sessions, found.files)


class PolicyBody(Parameters, frozen=True, kw_only=True):
    """A name for a policy: that of another one, changed by assignments."""

    name: Name
    base: Annotated[str, Meta(max_length=200, description="A name or a hash.")] = "default"
    assignments: Annotated[tuple[str, ...], Meta(description="KEY=VALUE, such as max_nodes=64.")] = ()


def save_policy(memory: "Slicebase", asked: PolicyBody) -> PolicyRow:
    """Gives a policy a name, forever."""
    base = memory.graph.requested_policy(asked.base)
    return policy_row(memory.policies.save(asked.name, base, asked.assignments))


ENDPOINTS: Final = (
    post("/create", "library.create", create),
    post("/define", "library.define", define),
    post("/remember", "library.remember", remember),
    post("/connect", "library.connect", connect),
    post("/disconnect", "library.disconnect", disconnect),
    post("/refresh", "library.refresh", refresh),
    post("/forget", "library.forget", forget),
    post("/restore", "library.restore", restore),
    post("/due/done", "library.done", done),
    post("/cite", "cite", cite),
    post("/seal", "seal", seal),
    post("/policies/save", "policies.save", save_policy),
)
