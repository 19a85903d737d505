"""Creates slice files, sets keys of their frontmatter, and archives or purges them.

A new file has the specification's keys in the specification's order, and only the keys that were given.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from slicebase.core.hashing import LARGEST_INTEGER
from slicebase.errors import SlicebaseError
from slicebase.files.check.header import takes_text
from slicebase.files.model import (
    BODY_TYPES,
    FILE_KINDS,
    HEADER_KEYS,
    OVERFLOWS,
    WRITE_MODES,
    Code,
    Contract,
    Conversation,
    DerivationSource,
    Link,
    Mark,
    Payload,
)
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import delete_key, set_key
from slicebase.files.yaml.emit import YamlLayout, inline, mapping_lines, plain_value
from slicebase.files.yaml.scalars import resolve
from slicebase.files.yaml.scan import Node, scan

FORMAT_VERSION: Final = "1"


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
    derived_from: DerivationSource | None = None,
    payload: Payload | None = None,
    meta: Mapping[str, Any] | None = None,
    updated_at: str | None = None,
    updated_by: Mapping[str, Any] | None = None,
    taken_from: str | None = None,
    archived: Mark | None = None,
    purged: Mark | None = None,
    name: str | None = None,
) -> SliceFile:
    """Creates a slice file from typed values. Raises an error if the values break a rule of the format."""
    kind = kind or ("pointer" if body_type == "none" and payload else "context")
    _check("kind", kind, FILE_KINDS)
    _check("body type", body_type, BODY_TYPES)
    if contract:
        _check("write mode", contract.write or "append", WRITE_MODES)
        _check("overflow", contract.overflow or "split", OVERFLOWS)
    if body and (kind == "pointer" or body_type == "none"):
        # § Pointer, § None
        raise SlicebaseError("breaks-rule", "a pointer has no body", hint="put the content into the payload")
    given: dict[str, Any] = {
        "v": FORMAT_VERSION,
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
        "taken_from": taken_from,
        "archived": archived,
        "purged": purged,
    }
    values = {key: plain_value(given[key]) for key in HEADER_KEYS if given.get(key) is not None}
    values["body"] = {key: value for key, value in values["body"].items() if value is not None}
    values = {key: value for key, value in values.items() if value not in ({}, [])}
    lines = ["---", *mapping_lines({"slice": values}, 0, YamlLayout()), "---", ""]
    return SliceFile.parse("\n".join(lines).encode() + body, name or f"{id}.slice")


def _check(what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise SlicebaseError(
            "breaks-rule", f"{value!r} is not a known {what}", hint=f"choose one of {', '.join(known)}"
        )


# Setting keys (`tt define`)


# Keys that cannot be set by hand, each with the hint that says what changes it.
_MANAGED: Final[Mapping[str, str]] = {
    "id": "the id of a file never changes",
    "updated_at": "body writes set it",
    "updated_by": "writes with provenance set it",
    "taken_from": "overflow sets it",
    "moved": "overflow sets it",
    "merged": "merges set it",
    "due": "writes set it, and `tt due --done` removes it",
    "done": "use `tt due --done`",
    "archived": "use `tt forget` and `tt restore`",
    "purged": "use `tt purge`",
}


class AssignedValue(NamedTuple):
    """The path of a key below `slice`, and its new value, unless the key is removed."""

    path: tuple[str, ...]
    value: Any
    is_removed: bool


def assigned_values(assignments: Iterable[str], cleaned: Callable[[Any], Any]) -> list[AssignedValue]:
    """Returns the value of each `key=value`; `key=` removes the key. `cleaned` returns a mapping without secrets."""
    found = []
    for assignment in assignments:
        path, text = split_assignment(assignment)
        if path[0] in _MANAGED:
            raise SlicebaseError("managed-key", f"`{path[0]}` cannot be set by hand", hint=_MANAGED[path[0]])
        value = cleaned({path[-1]: value_for(path, text)})[path[-1]] if text else None
        found.append(AssignedValue(path, value, not text))
    return found


def define(file: SliceFile, assigned: Iterable[AssignedValue]) -> SliceFile:
    """Returns the file with each value set, and without the keys that are removed."""
    for path, value, is_removed in assigned:
        where = ("slice", *path)
        if not is_removed:
            file = set_key(file, where, value)
        elif file.node(where):
            file = delete_key(file, where)
    return file


def contract_from(assignments: Iterable[str]) -> Contract | None:
    """Returns the contract of a new file, or None if nothing is given. `exclude` may be given several times."""
    given: dict[str, Any] = {}
    for assignment in assignments:
        path, text = split_assignment(assignment)
        name = path[-1]
        if path not in ((name,), ("contract", name)) or name not in Contract.__struct_fields__:
            hint = f"a contract has {', '.join(Contract.__struct_fields__)}"
            raise SlicebaseError("usage", f"a contract has no {'.'.join(path)}", hint=hint)
        if name == "exclude":
            topics = value_for(("contract", name), text)
            given[name] = (*given.get(name, ()), *(topics if isinstance(topics, list) else [text]))
        elif name in given:
            raise _given_twice(path)
        else:
            given[name] = text
    return Contract(**given) if given else None


def meta_from(
    assignments: Iterable[str], cleaned: Callable[[Any], Any], refuse: Callable[[str, Any], None]
) -> dict[str, Any] | None:
    """Returns the `meta` of a new file, or None if nothing is given. Keys may be dotted, with or without `meta.`.

    `cleaned` returns a mapping without secrets, `refuse` raises an error for a key that is one.
    """
    meta: dict[str, Any] = {}
    for assignment in assignments:
        path, text = split_assignment(assignment)
        keys = path[1:] if path[0] == "meta" and len(path) > 1 else path
        refuse("a key", list(keys))
        inner = meta
        for key in keys[:-1]:
            inner = inner.setdefault(key, {})
            if not isinstance(inner, dict):
                raise SlicebaseError("usage", f"{assignment!r} has a value and further keys under the same name")
        if keys[-1] in inner:
            raise _given_twice(keys)
        inner[keys[-1]] = cleaned({keys[-1]: value_for(("meta", *keys), text)})[keys[-1]]
    return meta or None


def _given_twice(path: Sequence[str]) -> SlicebaseError:
    return SlicebaseError("usage", f"{'.'.join(path)!r} is given twice", hint="give each key once")


def split_assignment(assignment: str) -> tuple[tuple[str, ...], str]:
    """Returns the path below `slice` and the text of a `key=value`."""
    key, equals, text = assignment.partition("=")
    path = tuple(key.strip().removeprefix("slice.").split("."))
    if not equals or not all(path):
        raise SlicebaseError("usage", f"{assignment!r} is not a key=value", hint="write it like meta.author=alice")
    return path, text


def value_for(path: tuple[str, ...], text: str) -> Any:
    """Returns the value that a text has under a key.

    It is the text itself where the specification has a text (ruling 21). Elsewhere it may be a number, true, false or
    null, a quoted text, or a list or mapping in brackets; everything else is text.
    """
    if takes_text(path):
        return text
    if text[:1] in "[{":
        return _in_brackets(path, scan(text))
    return _unquoted(text) if text[:1] in "\"'" else _as_spelled(text)


def _in_brackets(path: tuple[str, ...], node: Node) -> Any:
    if node.is_map:
        return {entry.key: _in_brackets((*path, entry.key), entry.value) for entry in node.entries}
    if node.is_list:
        return [_in_brackets((*path, str(at)), entry.value) for at, entry in enumerate(node.entries)]
    if node.form != "plain":
        return node.value
    return node.text if takes_text(path) else _as_spelled(node.text)


def _unquoted(text: str) -> str:
    """Returns the text in quotes. What only begins with a quote is text as it is."""
    try:
        node = scan(text)
    except SlicebaseError:
        return text
    return node.text if node.is_scalar else text


def _as_spelled(text: str) -> Any:
    """Returns a number, true, false or null if it is written exactly so again, else the text.

    `12e5`, `010`, `0x1F` and `1.10` are more often names and versions than numbers, and so are integers that readers
    do not agree on (ruling 1).
    """
    value = resolve(text)
    is_large = type(value) is int and abs(value) > LARGEST_INTEGER
    return text if is_large or isinstance(value, str) or inline(value) != text else value


# Archiving and purging (ruling 31)


def archived(file: SliceFile, at: str, reason: str | None) -> SliceFile:
    """Returns the file marked as archived. A file that is already archived keeps its first mark."""
    return file if file.archived else set_key(file, "slice.archived", Mark(at, reason))


def restored(file: SliceFile) -> SliceFile:
    """Returns the file without its archive mark."""
    return delete_key(file, "slice.archived") if file.archived else file


def tombstone(file: SliceFile, at: str, reason: str | None) -> SliceFile:
    """Returns the pointer that replaces a purged file. It keeps the id, title, hash and size, but no content."""
    if file.kind == "pointer":
        gone = Payload(None, file.payload.hash, file.payload.size) if file.payload else None
    else:
        gone = Payload(None, file.hash, len(file.body))
    return new_file(
        id=file.id or "",
        title=file.title or "Purged",
        summary="The content was purged.",
        kind="pointer",
        body_type="none",
        payload=gone,
        purged=Mark(at, reason),
        name=file.name,
    )
