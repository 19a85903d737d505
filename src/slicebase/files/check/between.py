"""Checks the rules between files: duplicate ids, missing targets, changed sources and payloads.

A `WorkspaceView` provides everything around a file. The caller implements it with the disk.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple, Protocol

from slicebase.core.hashing import is_digest
from slicebase.core.ids import is_ulid
from slicebase.core.refs import parse
from slicebase.files.body.lines import JsonLine
from slicebase.files.body.whole import whole_hash
from slicebase.files.findings import Finding, HeaderProblem, shown
from slicebase.files.freshness import derivation
from slicebase.files.links import resolve, target_id, target_kind
from slicebase.files.model import DerivationSource, Link, Payload
from slicebase.files.slice_file import SliceFile

# The positions of findings


def placed(file: SliceFile, problem: HeaderProblem) -> Finding:
    """Returns the finding of a problem in the frontmatter, with its line and column."""
    _, line, column = file.where(problem.path)
    return Finding(problem.rule, line, column, problem.message, problem.hint, file.name)


class Outgoing(NamedTuple):
    """A target that a file names. It is recorded when the file is read, and checked when all files are known.

    `path` is the position of its name, in the frontmatter or in a line of the body.
    """

    role: Literal["link", "read", "run"]
    to: str
    path: tuple[str | int, ...]
    line: JsonLine | None = None
    rel: str = ""

    def finding(self, file: SliceFile, rule: str, message: str, hint: str = "") -> Finding:
        if self.line:
            return self.line.finding(rule, message, *self.path, hint=hint)
        return placed(file, HeaderProblem(rule, tuple(map(str, self.path)), message, hint))


def outgoing_links(links: Sequence[Link]) -> Iterator[Outgoing]:
    """Yields the targets of the links in the frontmatter."""
    for at, link in enumerate(links):
        if link.rel and link.to:
            yield Outgoing("link", link.to, ("slice", "links", str(at), "to"), rel=link.rel)


# Files and the world around them


LIBRARY: Final = ".slices"
PART_LINKS: Final = ("part_of", "has_part")

Target = Literal["file", "folder", "missing", "outside"]


class FileLocation(NamedTuple):
    """Where a file is: its name in findings, and its path from the workspace, with `/` between the parts."""

    name: str
    path: str

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def in_library(self) -> bool:
        return self.path.startswith(f"{LIBRARY}/")


class Checked(NamedTuple):
    """What is known about a checked file. Its body is not kept, and its head only to find positions in it."""

    location: FileLocation
    file: SliceFile
    id: str | None
    source: DerivationSource | None
    payload: Payload | None
    findings: tuple[Finding, ...]
    outgoing: tuple[Outgoing, ...]
    log_findings: tuple[Finding, ...]

    def finding(self, rule: str, path: tuple[str, ...], message: str, hint: str = "") -> Finding:
        return placed(self.file, HeaderProblem(rule, ("slice", *path), message, hint))


class WorkspaceView(Protocol):
    """The workspace around the checked files. Paths start at its root and never leave it."""

    def knows(self, file_id: str) -> bool:
        """Returns whether the workspace has a file with this id."""

    def load(self, file_id: str) -> SliceFile | None:
        """Returns the file with this id, None if it is too large or cannot be read."""

    def target_at(self, path: str) -> Target:
        """Returns what is at a path."""

    def size(self, path: str) -> int | None:
        """Returns the size of a file in bytes, None if it cannot be read."""

    def digest(self, path: str) -> str | None:
        """Returns the hash of a file, None if it cannot be read."""

    def part_links(self) -> Iterable[tuple[str, str]]:
        """Returns the pairs of files that are joined into one log (ruling 32)."""


def between_findings(files: Sequence[Checked], world: WorkspaceView) -> Iterator[Finding]:
    """Yields the findings between the files of one workspace."""
    yield from _duplicate_ids(files)
    for checked in files:
        for out in checked.outgoing:
            yield from _FOLLOW[out.role](checked, out, world)
        yield from _source(checked, world)
        yield from _payload(checked, world)


def part_links(file: SliceFile) -> Iterator[tuple[str, str]]:
    """Yields the pairs of ids that the file's `part_of` and `has_part` links join."""
    for link in file.links:
        if link.rel in PART_LINKS and file.id and link.to:
            yield file.id, target_id(LIBRARY, link.to)


def _duplicate_ids(files: Iterable[Checked]) -> Iterator[Finding]:
    first: dict[str, Checked] = {}
    for checked in sorted(files, key=lambda checked: checked.location):
        file_id = checked.id
        if file_id and first.setdefault(file_id, checked) is not checked:
            message = f"{first[file_id].location.name} also has the id {file_id}"
            yield checked.finding("id-duplicate", ("id",), message, "give one of them a new id")


# Links and steps

_OWNED: Final = ("file", "row", "sec")  # references into slice files


def _target(to: str, location: FileLocation, world: WorkspaceView) -> Target:
    kind = target_kind(to)
    if kind == "path":
        path = resolve(location.folder, to)
        return "outside" if path is None else world.target_at(path)
    if kind == "reference":
        reference = parse(to)
        return "file" if reference.kind not in _OWNED or world.knows(reference.owner) else "missing"
    return "file" if kind == "uri" or world.knows(to) else "missing"


def _link(checked: Checked, out: Outgoing, world: WorkspaceView) -> Iterator[Finding]:
    file, location = checked.file, checked.location
    if out.line is None and (out.to == checked.id or resolve(location.folder, out.to) == location.path):
        yield out.finding(file, "link-self", "the file links to itself")
        return
    target = _target(out.to, location, world)
    if target == "folder" and out.rel != "routes_to" and not out.to.endswith("/"):
        yield out.finding(file, "link-form", f"{shown(out.to)} is a folder", "only routes_to may lead to a folder")
    yield from _bad_target(checked, out, target, "link-target")


def _read(checked: Checked, out: Outgoing, world: WorkspaceView) -> Iterator[Finding]:
    target = _target(out.to, checked.location, world)
    yield from _bad_target(checked, out, "missing" if target == "folder" else target, "routine-target")


def _run(checked: Checked, out: Outgoing, world: WorkspaceView) -> Iterator[Finding]:
    """Checks what a step runs. It may be a command or a sub-agent, so only a name that is clearly a file is checked."""
    kind = target_kind(out.to)
    if len(out.to.split()) == 1 and (kind in ("path", "reference") or is_ulid(out.to)):
        yield from _bad_target(checked, out, _target(out.to, checked.location, world), "routine-target")


_FOLLOW: Final = {"link": _link, "read": _read, "run": _run}


def _bad_target(checked: Checked, out: Outgoing, target: Target, missing_rule: str) -> Iterator[Finding]:
    if target == "outside":
        yield out.finding(checked.file, "path-outside", f"{shown(out.to)} leads out of the workspace")
    elif target == "missing":
        yield out.finding(checked.file, missing_rule, f"{shown(out.to)} does not exist")


# Sources and payloads


def _source(checked: Checked, world: WorkspaceView) -> Iterator[Finding]:
    source = checked.source
    if not source or not source.id or target_kind(source.id) == "reference":
        return  # a snapshot's narrative names `sn_…` (ruling 41), which is not a file
    if not world.knows(source.id):
        yield checked.finding("derived-target", ("derived_from", "id"), f"the source {shown(source.id)} does not exist")
        return
    original = world.load(source.id)
    current = whole_hash(original, world.load) if original and source.hash and is_digest(source.hash) else None
    if derivation(source.hash or "", current) == "stale":
        message = f"{source.id} has changed since: its hash is {current}"
        yield checked.finding("derived-stale", ("derived_from", "hash"), message, "derive the file again")


def _payload(checked: Checked, world: WorkspaceView) -> Iterator[Finding]:
    """Checks the size and hash of a local payload. Remote payloads are never fetched (ruling 29).

    A pointer that was archived says what its payload was: nobody measures it again.
    """
    payload = checked.payload
    if not payload or not payload.uri or target_kind(payload.uri) == "uri":
        return
    path = resolve(checked.location.folder, payload.uri)
    target = "outside" if path is None else world.target_at(path)
    if path is None or target == "outside":
        message = f"{shown(payload.uri)} leads out of the workspace"
        yield checked.finding("path-outside", ("payload", "uri"), message)
        return
    if checked.file.archived:
        return
    size = world.size(path) if target == "file" else None
    if size is None:
        yield checked.finding("payload-absent", ("payload", "uri"), f"the file {shown(payload.uri)} cannot be read")
    elif payload.size is not None and size != payload.size:
        yield checked.finding("payload-size", ("payload", "size"), f"the payload has {size} bytes, not {payload.size}")
    elif payload.hash and is_digest(payload.hash):
        real = world.digest(path)
        if real is None:
            yield checked.finding("payload-absent", ("payload", "uri"), f"{shown(payload.uri)} cannot be read")
        elif real != payload.hash:
            yield checked.finding("payload-hash", ("payload", "hash"), f"the payload's real hash is {real}")
