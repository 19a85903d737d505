"""Checks the rules for one file's frontmatter.

First come the types of single fields and the required fields (§ Required Fields, ruling 21), then the fields that
depend on each other or have fixed values.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from slicebase.core.hashing import is_digest
from slicebase.core.ids import is_ulid
from slicebase.files.body.lines import judge_time
from slicebase.files.body.routine import plain
from slicebase.files.findings import HeaderProblem, shown
from slicebase.files.links import SAFE_FORM, is_safe, nearest, target_kind, unknown_relationship
from slicebase.files.model import (
    BODY_TYPES,
    FILE_KINDS,
    HEADER_KEYS,
    OVERFLOWS,
    WHOLE,
    WRITE_MODES,
    Contract,
    Form,
    Forms,
    Link,
    misfits,
)
from slicebase.files.slice_file import SliceFile

# Single fields


def _is_scalar(value: object) -> bool:
    return not isinstance(value, dict | list)


# Any scalar is accepted as text: the field takes its source text (ruling 21).
_TEXT: Final = Form(_is_scalar, "text")
_TEXTS: Final = Form(lambda value: isinstance(value, list) and all(map(_is_scalar, value)), "a list of texts")
_LIST: Final = Form(lambda value: isinstance(value, list), "a list")
_MARK: Final = {"at": _TEXT, "reason": _TEXT}
_FORMS: Final[Forms] = {
    **dict.fromkeys(("v", "kind", "id", "title", "summary", "created_at", "updated_at"), _TEXT),
    **dict.fromkeys(("taken_from", "moved", "merged", "due"), _TEXT),
    "body": {
        "type": _TEXT,
        "code": {"lang": _TEXT, "extension": _TEXT, "args": _TEXTS},
        "conversation": {},  # body/conversation.py checks its keys
    },
    "contract": {
        **dict.fromkeys(("purpose", "format", "cleanup", "write", "overflow"), _TEXT),
        "exclude": _TEXTS,
    },
    "links": _LIST,
    "derived_from": {"id": _TEXT, "hash": _TEXT},
    "payload": {"uri": _TEXT, "hash": _TEXT, "size": WHOLE},
    "meta": {},
    "updated_by": {},
    "done": _MARK,
    "archived": _MARK,
    "purged": _MARK,
}
# Of the keys that body/conversation.py checks, those that the specification has as text.
_CONVERSATION_TEXTS: Final = frozenset(
    ("body", "conversation", key) for key in ("agent_id", "session_id", "trace_id", "span_id", "format")
)
_REQUIRED: Final = (("v",), ("id",), ("title",), ("summary",), ("body", "type"))
_TIMES: Final = (("created_at",), ("updated_at",), ("done", "at"), ("archived", "at"), ("purged", "at"))
_CONTRACT_KEYS: Final = frozenset(Contract.__struct_fields__)


def field_problems(values: Mapping[str, Any]) -> Iterator[HeaderProblem]:
    """Yields the problems of single fields of `slice`: unknown keys, wrong types, missing fields, bad times."""
    yield from _unknown_keys((), values, HEADER_KEYS)
    contract = values.get("contract")
    yield from _unknown_keys(("contract",), contract if isinstance(contract, dict) else {}, _CONTRACT_KEYS)
    for misfit in misfits(values, _FORMS):
        message = f"`{misfit.name}` is {shown(misfit.value)}, not {misfit.form}"
        yield HeaderProblem("field-type", ("slice", *misfit.path), message)
    for path in _REQUIRED:
        value = value_at(values, path)
        if value is None or (isinstance(value, str) and not value.strip()):
            message = f"`{'.'.join(path)}` is {'missing' if value is None else 'empty'}"
            yield HeaderProblem("required", ("slice", *path), message)
    for path in _TIMES:
        value = value_at(values, path)
        if value is not None and _is_scalar(value) and (problem := judge_time(value)[1]):
            yield HeaderProblem(problem.rule, ("slice", *path), problem.message, problem.hint)


def takes_text(path: tuple[str, ...]) -> bool:
    """Returns whether the field at this path of `slice` is a text, even if YAML reads it as another type."""
    return value_at(_FORMS, path) is _TEXT or (len(path) == 3 and (path[0] == "links" or path in _CONVERSATION_TEXTS))


def value_at(values: Any, path: tuple[str, ...]) -> Any:
    """Returns the value at a path of nested mappings, None if it does not exist."""
    for step in path:
        values = values.get(step) if isinstance(values, dict) else None
    return values


def _unknown_keys(path: tuple[str, ...], values: Mapping[str, Any], known: Any) -> Iterator[HeaderProblem]:
    for key in values:
        if key not in known:
            name = ".".join((*path, key))
            yield HeaderProblem(
                "unknown-key", ("slice", *path, key), f"the format does not define `{name}`", _suggestion(key, known)
            )


def _suggestion(key: str, known: Any) -> str:
    near = nearest(key, known)
    return f"did you mean `{near[0]}`?" if near else "put your own keys under `meta`"


# The fields together


# The body types that a write mode works for (ruling 25).
_APPENDED: Final = frozenset({"jsonl", "conversation", "routine", "markdown", "text"})
WRITABLE: Final[Mapping[str, frozenset[str]]] = {
    "append": _APPENDED,
    "supersede": frozenset({"jsonl"}),
}


def header_problems(file: SliceFile, links: Sequence[Link]) -> Iterator[HeaderProblem]:
    """Yields everything that is wrong with a file's frontmatter."""
    values = file.frontmatter.get("slice")
    if not isinstance(values, dict):
        message = "there is no `slice`" if values is None else f"`slice` is {shown(values)}, not a mapping"
        yield HeaderProblem("slice-missing", ("slice",), message, "put all metadata under `slice`")
        return
    for key in file.beside:
        yield HeaderProblem("beside-slice", (key,), f"`{key}` is beside `slice`, not under it", "move it to slice.meta")
    yield from field_problems(values)
    yield from _identity(file)
    yield from _kind(file, values)
    yield from _payload(file, values)
    yield from _contract(file, values, links)
    yield from _links(links)
    yield from _source(file, values)


def _identity(file: SliceFile) -> Iterator[HeaderProblem]:
    if file.v and file.v != "1":
        yield HeaderProblem("version", ("slice", "v"), f"version {shown(file.v)} is not known", 'write v: "1"')
    if not file.id:
        return
    if not is_safe(file.id):
        yield HeaderProblem("id-form", ("slice", "id"), f"{shown(file.id)} cannot be an id", SAFE_FORM)
    elif not is_ulid(file.id):
        yield HeaderProblem("id-ulid", ("slice", "id"), f"{shown(file.id)} is not a ULID, so it does not sort by time")


def _kind(file: SliceFile, values: Mapping[str, Any]) -> Iterator[HeaderProblem]:
    body_type = file.body_type
    if file.kind not in FILE_KINDS:
        yield HeaderProblem(
            "kind", ("slice", "kind"), f"{shown(file.kind)} is not a kind", f"kinds are {_listed(FILE_KINDS)}"
        )
    if body_type and body_type not in BODY_TYPES:
        hint = f"types are {_listed(BODY_TYPES)}"
        yield HeaderProblem("body-type", ("slice", "body", "type"), f"{shown(body_type)} is not a body type", hint)
    elif body_type and file.kind in FILE_KINDS and (file.kind == "pointer") != (body_type == "none"):
        message = f"a {file.kind} cannot have the body type {body_type}"
        yield HeaderProblem(
            "kind-body", ("slice", "body", "type"), message, "a pointer has the body type none, and only a pointer does"
        )
    for header in ("code", "conversation"):
        if body_type in BODY_TYPES and body_type != header and value_at(values, ("body", header)) is not None:
            message = f"`body.{header}` does not belong to the body type {body_type}"
            yield HeaderProblem("body-header", ("slice", "body", header), message)
    if body_type == "code" and not file.code.lang:
        yield HeaderProblem("code-lang", ("slice", "body"), "the code's language is missing", "set body.code.lang")
    if file.purged and file.kind == "context":
        yield HeaderProblem("purged-kind", ("slice", "purged"), "a purged file must be a pointer, not a context")


def _payload(file: SliceFile, values: Mapping[str, Any]) -> Iterator[HeaderProblem]:
    given = values.get("payload")
    if file.kind == "context" and given is not None:
        yield HeaderProblem("payload-kind", ("slice", "payload"), "a context file cannot have a payload")
    if file.kind != "pointer":
        return
    payload = file.payload
    if not (payload and payload.uri) and not file.purged:
        message = "the pointer has no payload" if given is None else "the payload has no uri"
        yield HeaderProblem("payload-missing", ("slice", "payload"), message, "set payload.uri")
    for name in ("hash", "size"):
        if isinstance(given, dict) and given.get(name) is None:
            message = f"the payload has no {name}, so it cannot be checked"
            yield HeaderProblem("payload-unproven", ("slice", "payload"), message)
    yield from _hash_form(("payload", "hash"), payload.hash if payload else None)


def _contract(file: SliceFile, values: Mapping[str, Any], links: Sequence[Link]) -> Iterator[HeaderProblem]:
    if not isinstance(values.get("contract"), dict):
        return
    for name, allowed in (("write", WRITE_MODES), ("overflow", OVERFLOWS)):
        given = value_at(values, ("contract", name))
        if given is not None and not isinstance(given, dict | list) and given not in allowed:
            message = f"`{name}` is {shown(given)}"
            yield HeaderProblem("contract-enum", ("slice", "contract", name), message, f"it may be {_listed(allowed)}")
    mode = value_at(values, ("contract", "write"))
    writable = WRITABLE.get(mode) if isinstance(mode, str) else None
    if writable and file.body_type in BODY_TYPES and file.body_type not in writable:
        message = f"the write mode {mode} does not work for a {file.body_type} body"
        hint = f"it works for {_listed(sorted(writable))}"
        yield HeaderProblem("contract-write", ("slice", "contract", "write"), message, hint)
    routed = {plain(link.label) for link in links if link.rel == "routes_to" and link.label}
    for at, topic in enumerate(file.contract.exclude if value_at(values, ("contract", "exclude")) else ()):
        if plain(topic) not in routed:
            hint = f"add a link with rel: routes_to and label: {shown(topic)}"
            path = ("slice", "contract", "exclude", str(at))
            yield HeaderProblem("exclude-unrouted", path, f"no link says where {shown(topic)} belongs", hint)


def _links(links: Sequence[Link]) -> Iterator[HeaderProblem]:
    for at, link in enumerate(links):
        path = ("slice", "links", str(at))
        missing = [name for name in ("rel", "to") if not getattr(link, name)]
        if missing:
            yield HeaderProblem("link-field", path, f"the link has no {' and no '.join(missing)}")
        elif link.rel and link.to:
            yield from (problem.under(*path) for problem in link_problems(link.rel, link.to))


def link_problems(rel: str, to: str) -> Iterator[HeaderProblem]:
    """Yields the problems of a link by itself. Paths start at the link's keys."""
    if unknown := unknown_relationship(rel):
        yield HeaderProblem("link-rel", ("rel",), *unknown)
    if target_kind(to) == "uri":
        yield HeaderProblem(
            "link-form", ("to",), f"{shown(to)} is neither an id nor a path", "use a pointer to name a uri"
        )
    elif to.endswith("/") and rel != "routes_to":
        yield HeaderProblem("link-form", ("to",), f"{shown(to)} is a folder", "only routes_to may lead to a folder")


def _source(file: SliceFile, values: Mapping[str, Any]) -> Iterator[HeaderProblem]:
    source = file.derived_from
    if not isinstance(values.get("derived_from"), dict):
        return
    missing = [name for name in ("id", "hash") if not (source and getattr(source, name))]
    if missing:
        yield HeaderProblem("derived-field", ("slice", "derived_from"), f"the source has no {' and no '.join(missing)}")
    yield from _hash_form(("derived_from", "hash"), source.hash if source else None)


def _hash_form(path: tuple[str, ...], value: str | None) -> Iterator[HeaderProblem]:
    if value and not is_digest(value):
        yield HeaderProblem("hash-form", ("slice", *path), f"{shown(value)} is not a sha256: hash")


def _listed(names: Any) -> str:
    return ", ".join(names)
