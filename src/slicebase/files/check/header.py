"""The types of the frontmatter's fields, and which of them must be there (§ Required Fields, ruling 21).

What breaks the rules in one file's frontmatter: fields that do not fit each other, or the format's values.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from slicebase.core.hashing import is_digest
from slicebase.core.ids import is_ulid
from slicebase.files.body.lines import judge_time
from slicebase.files.body.routine import plain
from slicebase.files.findings import HeaderProblem, shown
from slicebase.files.links import RELATIONSHIPS, SAFE_FORM, is_safe, target_kind
from slicebase.files.model import (
    BODY_TYPES,
    KEYS,
    KINDS,
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


def _is_scalar(value: object) -> bool:
    return not isinstance(value, dict | list)


# Any scalar will do for text: the field takes its source text (ruling 21).
_TEXT: Final = Form(_is_scalar, "text")
_TEXTS: Final = Form(lambda value: isinstance(value, list) and all(map(_is_scalar, value)), "a list of texts")
_LIST: Final = Form(lambda value: isinstance(value, list), "a list")
_MARK: Final = {"at": _TEXT, "reason": _TEXT}
_FORMS: Final[Forms] = {
    **dict.fromkeys(("v", "kind", "id", "title", "summary", "updated_at", "due"), _TEXT),
    "body": {
        "type": _TEXT,
        "code": {"lang": _TEXT, "extension": _TEXT, "args": _TEXTS},
        "conversation": {},  # its keys have rules of their own
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
    "archived": _MARK,
    "purged": _MARK,
}
_REQUIRED: Final = (("v",), ("id",), ("title",), ("summary",), ("body", "type"))
_TIMES: Final = (("updated_at",), ("archived", "at"), ("purged", "at"))
_CONTRACT_KEYS: Final = frozenset(Contract.__struct_fields__)


def field_problems(values: Mapping[str, Any]) -> Iterator[HeaderProblem]:
    """Whatever is wrong with single fields of `slice`, whatever they mean."""
    yield from _unknown_keys((), values, KEYS)
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
    """Whether the field at this path of `slice` is a text, whatever YAML would make of it."""
    return value_at(_FORMS, path) is _TEXT or (len(path) == 3 and path[0] == "links")


def value_at(values: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        values = values.get(step) if isinstance(values, dict) else None
    return values


def _unknown_keys(path: tuple[str, ...], values: Mapping[str, Any], known: Any) -> Iterator[HeaderProblem]:
    for key in values:
        if key not in known:
            name = ".".join((*path, key))
            yield HeaderProblem(
                "unknown-key", ("slice", *path, key), f"the format knows no `{name}`", _meant(key, known)
            )


def _meant(key: str, known: Any) -> str:
    from difflib import get_close_matches  # rarely needed

    near = get_close_matches(key, sorted(known), n=1)
    return f"do you mean `{near[0]}`?" if near else "keep what is your own under `meta`"


# Which bodies a write mode can be carried out on (ruling 25).
_APPENDED: Final = frozenset({"jsonl", "conversation", "routine", "markdown", "text"})
WRITABLE: Final[Mapping[str, frozenset[str]]] = {
    "append": _APPENDED,
    "supersede": frozenset({"jsonl"}),
}


def header_problems(file: SliceFile, links: Sequence[Link]) -> Iterator[HeaderProblem]:
    values = file.frontmatter.get("slice")
    if not isinstance(values, dict):
        message = "there is no `slice`" if values is None else f"`slice` is {shown(values)}, not a mapping"
        yield HeaderProblem("slice-missing", ("slice",), message, "put all metadata under `slice`")
        return
    for key in file.beside:
        yield HeaderProblem("beside-slice", (key,), f"`{key}` stands beside `slice`", "move it to slice.meta")
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
        yield HeaderProblem("id-ulid", ("slice", "id"), f"{shown(file.id)} is no ULID, so it does not sort by time")


def _kind(file: SliceFile, values: Mapping[str, Any]) -> Iterator[HeaderProblem]:
    body_type = file.body_type
    if file.kind not in KINDS:
        yield HeaderProblem("kind", ("slice", "kind"), f"{shown(file.kind)} is no kind", f"kinds are {_listed(KINDS)}")
    if body_type and body_type not in BODY_TYPES:
        hint = f"types are {_listed(BODY_TYPES)}"
        yield HeaderProblem("body-type", ("slice", "body", "type"), f"{shown(body_type)} is no body type", hint)
    elif body_type and file.kind in KINDS and (file.kind == "pointer") != (body_type == "none"):
        message = f"a {file.kind} has no body of the type {body_type}"
        yield HeaderProblem(
            "kind-body", ("slice", "body", "type"), message, "a pointer has the body type none, and only it"
        )
    for header in ("code", "conversation"):
        if body_type in BODY_TYPES and body_type != header and value_at(values, ("body", header)) is not None:
            message = f"`body.{header}` describes no body of the type {body_type}"
            yield HeaderProblem("body-header", ("slice", "body", header), message)
    if body_type == "code" and not file.code.lang:
        yield HeaderProblem("code-lang", ("slice", "body"), "the code's language is not said", "set body.code.lang")
    if file.purged and file.kind == "context":
        yield HeaderProblem("purged-kind", ("slice", "purged"), "a purged file is a pointer, and this is a context")


def _payload(file: SliceFile, values: Mapping[str, Any]) -> Iterator[HeaderProblem]:
    given = values.get("payload")
    if file.kind == "context" and given is not None:
        yield HeaderProblem("payload-kind", ("slice", "payload"), "a context file has its content in its body")
    if file.kind != "pointer":
        return
    payload = file.payload
    if not (payload and payload.uri) and not file.purged:
        message = "the pointer points nowhere" if given is None else "the payload has no uri"
        yield HeaderProblem("payload-missing", ("slice", "payload"), message, "name the payload's place in payload.uri")
    for name in ("hash", "size"):
        if isinstance(given, dict) and given.get(name) is None:
            message = f"the payload has no {name}, so nobody can check it"
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
        message = f"a {file.body_type} body cannot be written by {mode}"
        hint = f"it is for {_listed(sorted(writable))}"
        yield HeaderProblem("contract-write", ("slice", "contract", "write"), message, hint)
    answered = {plain(link.label) for link in links if link.rel == "routes_to" and link.label}
    for at, topic in enumerate(file.contract.exclude if value_at(values, ("contract", "exclude")) else ()):
        if plain(topic) not in answered:
            hint = f"add a link with rel: routes_to and label: {shown(topic)}"
            path = ("slice", "contract", "exclude", str(at))
            yield HeaderProblem("exclude-unrouted", path, f"no link says where {shown(topic)} goes", hint)


def _links(links: Sequence[Link]) -> Iterator[HeaderProblem]:
    for at, link in enumerate(links):
        path = ("slice", "links", str(at))
        missing = [name for name in ("rel", "to") if not getattr(link, name)]
        if missing:
            yield HeaderProblem("link-field", path, f"the link has no {' and no '.join(missing)}")
        elif link.rel and link.to:
            yield from (problem.under(*path) for problem in link_problems(link.rel, link.to))


def link_problems(rel: str, to: str) -> Iterator[HeaderProblem]:
    """What is wrong with a link by itself. Paths begin at the link's keys."""
    if rel not in RELATIONSHIPS:
        from difflib import get_close_matches  # rarely needed

        near = get_close_matches(rel, RELATIONSHIPS, n=1)
        hint = f"do you mean `{near[0]}`?" if near else f"relationships are {_listed(RELATIONSHIPS)}"
        yield HeaderProblem("link-rel", ("rel",), f"{shown(rel)} is no relationship", hint)
    if target_kind(to) == "uri":
        yield HeaderProblem(
            "link-form", ("to",), f"{shown(to)} is neither an id nor a path", "a pointer can name a uri"
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
        yield HeaderProblem("hash-form", ("slice", *path), f"{shown(value)} is no sha256: hash")


def _listed(names: Any) -> str:
    return ", ".join(names)
