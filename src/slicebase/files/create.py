"""A new slice file from typed values: the specification's keys in its order, nothing that is not given."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from slicebase.errors import SlicebaseError
from slicebase.files.emit import Layout, mapping_lines, plain_value
from slicebase.files.parts import (
    BODY_TYPES,
    KEYS,
    KINDS,
    OVERFLOWS,
    WRITE_MODES,
    Code,
    Contract,
    Conversation,
    Link,
    Mark,
    Payload,
    Source,
)
from slicebase.files.slice_file import SliceFile

VERSION: Final = "1"


def new_file(
    *,
    id: str,
    title: str,
    summary: str,
    body_type: str,
    body: bytes = b"",
    kind: str | None = None,
    code: Code | None = None,
    conversation: Conversation | None = None,
    contract: Contract | None = None,
    links: Sequence[Link] = (),
    derived_from: Source | None = None,
    payload: Payload | None = None,
    meta: Mapping[str, Any] | None = None,
    updated_at: str | None = None,
    updated_by: Mapping[str, Any] | None = None,
    archived: Mark | None = None,
    purged: Mark | None = None,
    name: str | None = None,
) -> SliceFile:
    """A file that follows the format; what does not is refused."""
    kind = kind or ("pointer" if body_type == "none" and payload else "context")
    _check("kind", kind, KINDS)
    _check("body type", body_type, BODY_TYPES)
    if contract:
        _check("write mode", contract.write or "append", WRITE_MODES)
        _check("overflow", contract.overflow or "split", OVERFLOWS)
    if body and (kind == "pointer" or body_type == "none"):
        # § Pointer, § None
        raise SlicebaseError("bad-new-file", "a pointer has no body", hint="put the content into the payload")
    given: dict[str, Any] = {
        "v": VERSION,
        "id": id,
        "kind": kind,
        "title": title,
        "summary": summary,
        "body": {"type": body_type, "code": code, "conversation": conversation},
        "payload": payload,
        "derived_from": derived_from,
        "contract": contract,
        "links": links,
        "meta": meta,
        "updated_at": updated_at,
        "updated_by": updated_by,
        "archived": archived,
        "purged": purged,
    }
    values = {key: plain_value(given[key]) for key in KEYS if given.get(key) is not None}
    values["body"] = {key: value for key, value in values["body"].items() if value is not None}
    values = {key: value for key, value in values.items() if value not in ({}, [])}
    lines = ["---", *mapping_lines({"slice": values}, 0, Layout()), "---", ""]
    return SliceFile.parse("\n".join(lines).encode() + body, name or f"{id}.slice")


def _check(what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise SlicebaseError("bad-new-file", f"{value!r} is no {what}", hint=f"choose one of {', '.join(known)}")
