"""What breaks the rules in one file's frontmatter: fields that do not fit each other, or the format's values."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from slicebase.core.hashing import is_digest
from slicebase.core.ids import is_ulid
from slicebase.files.checks.fields import field_problems, value_at
from slicebase.files.findings import Problem, shown
from slicebase.files.links import target_kind
from slicebase.files.naming import SAFE_FORM, is_safe
from slicebase.files.parts import BODY_TYPES, KINDS, OVERFLOWS, WRITE_MODES, Link
from slicebase.files.relationships import RELATIONSHIPS
from slicebase.files.routes import plain
from slicebase.files.slice_file import SliceFile

# Which bodies a write mode can be carried out on (ruling 25).
_APPENDED: Final = frozenset({"jsonl", "conversation", "routine", "markdown", "text"})
WRITABLE: Final[Mapping[str, frozenset[str]]] = {
    "append": _APPENDED,
    "supersede": frozenset({"jsonl"}),
}


def header_problems(file: SliceFile, links: Sequence[Link]) -> Iterator[Problem]:
    values = file.frontmatter.get("slice")
    if not isinstance(values, dict):
        message = "there is no `slice`" if values is None else f"`slice` is {shown(values)}, not a mapping"
        yield Problem("slice-missing", ("slice",), message, "put all metadata under `slice`")
        return
    for key in file.beside:
        yield Problem("beside-slice", (key,), f"`{key}` stands beside `slice`", "move it to slice.meta")
    yield from field_problems(values)
    yield from _identity(file)
    yield from _kind(file, values)
    yield from _payload(file, values)
    yield from _contract(file, values, links)
    yield from _links(links)
    yield from _source(file, values)


def _identity(file: SliceFile) -> Iterator[Problem]:
    if file.v and file.v != "1":
        yield Problem("version", ("slice", "v"), f"version {shown(file.v)} is not known", 'write v: "1"')
    if not file.id:
        return
    if not is_safe(file.id):
        yield Problem("id-form", ("slice", "id"), f"{shown(file.id)} cannot be an id", SAFE_FORM)
    elif not is_ulid(file.id):
        yield Problem("id-ulid", ("slice", "id"), f"{shown(file.id)} is no ULID, so it does not sort by time")


def _kind(file: SliceFile, values: Mapping[str, Any]) -> Iterator[Problem]:
    body_type = file.body_type
    if file.kind not in KINDS:
        yield Problem("kind", ("slice", "kind"), f"{shown(file.kind)} is no kind", f"kinds are {_listed(KINDS)}")
    if body_type and body_type not in BODY_TYPES:
        hint = f"types are {_listed(BODY_TYPES)}"
        yield Problem("body-type", ("slice", "body", "type"), f"{shown(body_type)} is no body type", hint)
    elif body_type and file.kind in KINDS and (file.kind == "pointer") != (body_type == "none"):
        message = f"a {file.kind} has no body of the type {body_type}"
        yield Problem("kind-body", ("slice", "body", "type"), message, "a pointer has the body type none, and only it")
    for header in ("code", "conversation"):
        if body_type in BODY_TYPES and body_type != header and value_at(values, ("body", header)) is not None:
            message = f"`body.{header}` describes no body of the type {body_type}"
            yield Problem("body-header", ("slice", "body", header), message)
    if body_type == "code" and not file.code.lang:
        yield Problem("code-lang", ("slice", "body"), "the code's language is not said", "set body.code.lang")
    if file.purged and file.kind == "context":
        yield Problem("purged-kind", ("slice", "purged"), "a purged file is a pointer, and this is a context")


def _payload(file: SliceFile, values: Mapping[str, Any]) -> Iterator[Problem]:
    given = values.get("payload")
    if file.kind == "context" and given is not None:
        yield Problem("payload-kind", ("slice", "payload"), "a context file has its content in its body")
    if file.kind != "pointer":
        return
    payload = file.payload
    if not (payload and payload.uri) and not file.purged:
        message = "the pointer points nowhere" if given is None else "the payload has no uri"
        yield Problem("payload-missing", ("slice", "payload"), message, "name the payload's place in payload.uri")
    for name in ("hash", "size"):
        if isinstance(given, dict) and given.get(name) is None:
            message = f"the payload has no {name}, so nobody can check it"
            yield Problem("payload-unproven", ("slice", "payload"), message)
    yield from _hash_form(("payload", "hash"), payload.hash if payload else None)


def _contract(file: SliceFile, values: Mapping[str, Any], links: Sequence[Link]) -> Iterator[Problem]:
    if not isinstance(values.get("contract"), dict):
        return
    for name, allowed in (("write", WRITE_MODES), ("overflow", OVERFLOWS)):
        given = value_at(values, ("contract", name))
        if given is not None and not isinstance(given, dict | list) and given not in allowed:
            message = f"`{name}` is {shown(given)}"
            yield Problem("contract-enum", ("slice", "contract", name), message, f"it may be {_listed(allowed)}")
    mode = value_at(values, ("contract", "write"))
    writable = WRITABLE.get(mode) if isinstance(mode, str) else None
    if writable and file.body_type in BODY_TYPES and file.body_type not in writable:
        message = f"a {file.body_type} body cannot be written by {mode}"
        hint = f"it is for {_listed(sorted(writable))}"
        yield Problem("contract-write", ("slice", "contract", "write"), message, hint)
    answered = {plain(link.label) for link in links if link.rel == "routes_to" and link.label}
    for at, topic in enumerate(file.contract.exclude if value_at(values, ("contract", "exclude")) else ()):
        if plain(topic) not in answered:
            hint = f"add a link with rel: routes_to and label: {shown(topic)}"
            path = ("slice", "contract", "exclude", str(at))
            yield Problem("exclude-unrouted", path, f"no link says where {shown(topic)} goes", hint)


def _links(links: Sequence[Link]) -> Iterator[Problem]:
    for at, link in enumerate(links):
        path = ("slice", "links", str(at))
        missing = [name for name in ("rel", "to") if not getattr(link, name)]
        if missing:
            yield Problem("link-field", path, f"the link has no {' and no '.join(missing)}")
        elif link.rel and link.to:
            yield from (problem.under(*path) for problem in link_problems(link.rel, link.to))


def link_problems(rel: str, to: str) -> Iterator[Problem]:
    """What is wrong with a link by itself. Paths begin at the link's keys."""
    if rel not in RELATIONSHIPS:
        from difflib import get_close_matches  # rarely needed

        near = get_close_matches(rel, RELATIONSHIPS, n=1)
        hint = f"do you mean `{near[0]}`?" if near else f"relationships are {_listed(RELATIONSHIPS)}"
        yield Problem("link-rel", ("rel",), f"{shown(rel)} is no relationship", hint)
    if target_kind(to) == "uri":
        yield Problem("link-form", ("to",), f"{shown(to)} is neither an id nor a path", "a pointer can name a uri")
    elif to.endswith("/") and rel != "routes_to":
        yield Problem("link-form", ("to",), f"{shown(to)} is a folder", "only routes_to may lead to a folder")


def _source(file: SliceFile, values: Mapping[str, Any]) -> Iterator[Problem]:
    source = file.derived_from
    if not isinstance(values.get("derived_from"), dict):
        return
    missing = [name for name in ("id", "hash") if not (source and getattr(source, name))]
    if missing:
        yield Problem("derived-field", ("slice", "derived_from"), f"the source has no {' and no '.join(missing)}")
    yield from _hash_form(("derived_from", "hash"), source.hash if source else None)


def _hash_form(path: tuple[str, ...], value: str | None) -> Iterator[Problem]:
    if value and not is_digest(value):
        yield Problem("hash-form", ("slice", *path), f"{shown(value)} is no sha256: hash")


def _listed(names: Any) -> str:
    return ", ".join(names)
