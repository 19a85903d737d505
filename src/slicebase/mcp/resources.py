"""Resources: slice files, snapshots and manifests, each labelled and fenced: a client may show them to a model."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote

import msgspec

from slicebase.core.hashing import id_from
from slicebase.errors import SlicebaseError
from slicebase.mcp.calls import ToolCall
from slicebase.mcp.quotes import labelled, quoted, short_title

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.truth.snapshots import SnapshotRecord

SCHEME = "slicebase://"
MARKDOWN = "text/markdown"


class ResourceKind(NamedTuple):
    """A kind of resource, and how to read one."""

    title: str
    description: str
    read: Callable[[ToolCall, str], str]
    mime_type: str = MARKDOWN

    @property
    def name(self) -> str:
        return next(name for name, kind in RESOURCE_KINDS.items() if kind is self)

    @property
    def template(self) -> str:
        return f"{SCHEME}{self.name}/{{id}}"


class Listed(NamedTuple):
    """A resource as clients list it."""

    uri: str
    title: str
    description: str
    mime_type: str = MARKDOWN


def _file(call: ToolCall, name: str) -> str:
    return call.base.library.recall(f"file:{name}").text


def _snapshot(call: ToolCall, name: str) -> str:
    from slicebase.runs.snapshot import to_bytes

    if not name.startswith("sn_"):
        raise SlicebaseError("bad-reference", f"{name!r} is not the id of a snapshot", hint="an id begins with sn_")
    return to_bytes(call.base.runs.snapshot(name)).decode()


def _manifest(call: ToolCall, name: str) -> str:
    return msgspec.json.encode(call.base.manifest(name)).decode()


RESOURCE_KINDS: Mapping[str, ResourceKind] = {
    "file": ResourceKind("Slice file", "A slice file, fenced and labelled with its source.", _file),
    "snapshot": ResourceKind(
        "Snapshot of a run", "The compacted state of a run, as JSON; its id (sn_…) proves it.", _snapshot
    ),
    "manifest": ResourceKind(
        "Manifest of a context", "What was given to a model, and what was left out, as JSON.", _manifest
    ),
}


def uri_of(kind: str, name: str) -> str:
    """Returns the address of a resource."""
    return f"{SCHEME}{kind}/{quote(name, safe='')}"


def read(call: ToolCall, uri: str) -> tuple[str, str]:
    """Returns the text of a resource, and its MIME type."""
    kind, _, name = uri.removeprefix(SCHEME).partition("/")
    if not uri.startswith(SCHEME) or kind not in RESOURCE_KINDS or not name:
        hint = f"use one of {', '.join(each.template for each in RESOURCE_KINDS.values())}"
        raise SlicebaseError("bad-reference", f"{uri!r} is not an address of this server", hint=hint)
    return quoted([RESOURCE_KINDS[kind].read(call, unquote(name))]), RESOURCE_KINDS[kind].mime_type


PAGE = 100  # resources in one response


def listed(base: "Slicebase", cursor: str | None) -> tuple[list[Listed], str | None]:
    """Returns a page of all files and the last snapshot of every run, and the next cursor.

    The cursor is the last address of the previous page.
    """
    known = sorted([*_files(base), *_snapshots(base)])
    rest = [each for each in known if cursor is None or each.uri > cursor]
    return rest[:PAGE], rest[PAGE - 1].uri if len(rest) > PAGE else None


def _files(base: "Slicebase") -> list[Listed]:
    return [
        Listed(uri_of("file", entry.id), f"Stored title: {short_title(entry.title)!r}", labelled(entry.summary))
        for entry in base.finder.list_files()
    ]


def _snapshots(base: "Slicebase") -> list[Listed]:
    if not base.workspace.has_memory:
        return []
    found = []
    for entry in base.runs.list_runs():
        passed = [each for each in base.truth.runs.snapshots.records(entry.id) if each.status == "PASS"]
        found += [_listed(each, entry.subject) for each in passed[-1:]]
    return found


def _listed(record: "SnapshotRecord", objective: str) -> Listed:
    """Lists a snapshot from its record alone, so that a purged run does not stop the listing."""
    uri = uri_of("snapshot", id_from("sn_", record.digest))
    return Listed(uri, short_title(f"Snapshot {record.sequence} of run:{record.run_id}"), labelled(objective))
