"""Ids in the arguments of verbs are completed before a verb runs, and made short in lists for people (ruling 53)."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from slicebase.core.ids import ULID
from slicebase.core.refs import Ref, parse, short_ref
from slicebase.core.short_ids import SHORTEST_ID, may_be_short, short_id
from slicebase.errors import SlicebaseError
from slicebase.workspace.surroundings import is_at_once

if TYPE_CHECKING:  # keeps start-up fast
    from slicebase.verbs.parts import Parts

_Class = TypeVar("_Class", bound=type)


# Every kind that an id without its prefix may have. A verb refuses those that it cannot use.
EVERYTHING: Final = ("file", "turn", "session", "run", "mf", "sn", "ev", "row")


def completes(arguments: Mapping[str, str | tuple[str, ...]], new: str = "") -> Callable[[_Class], _Class]:
    """Lets the verbs of a class take ids, short ids and references in arguments of these names (or `verb.argument`).

    A verb gets the complete id of its kind, or the complete reference if there are several kinds. `new` lists the
    arguments that name something new, as `verb.argument`.
    """
    exempt = frozenset(new.split())

    def mark(cls: _Class) -> _Class:
        for verb, method in list(vars(cls).items()):
            if isinstance(method, FunctionType) and not verb.startswith("_") and not is_at_once(method):
                code = _innermost(method).__code__
                names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
                kinds = {name: arguments.get(f"{verb}.{name}", arguments.get(name)) for name in names}
                taken = {name: each for name, each in kinds.items() if each and f"{verb}.{name}" not in exempt}
                if taken:
                    setattr(cls, verb, _completing(method, names[: code.co_argcount - 1], taken))
        return cls

    return mark


def _completing(
    verb: Callable[..., Any], order: Sequence[str], taken: Mapping[str, str | tuple[str, ...]]
) -> Callable[..., Any]:
    @wraps(verb)
    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        parts: Parts = getattr(self, "_parts", self)
        given = [_completed(parts, taken.get(name), value) for name, value in zip(order, args, strict=False)]
        named = {name: _completed(parts, taken.get(name), value) for name, value in keywords.items()}
        return verb(self, *given, *args[len(given) :], **named)

    return call


def _innermost(verb: Any) -> Any:
    while hasattr(verb, "__wrapped__"):
        verb = verb.__wrapped__
    return verb


def _completed(parts: "Parts", kinds: str | tuple[str, ...] | None, value: Any) -> Any:
    if kinds is None or not isinstance(value, str):
        return value
    if isinstance(kinds, str):  # of something in the database: the library is not needed
        return parts.stored_names.id(kinds, value)
    return str(parts.names.ref(value, kinds, otherwise=kinds[0]))


def existing(parts: "Parts", reference: str) -> str:
    """Returns a reference. Raises `no-file` for that of a file that is not there.

    A word that is no id of anything is taken for that of a file. A verb that takes no files calls this, so that it does
    not refuse what does not exist.
    """
    ref = parse(reference)
    if ref.kind == "file" and not parts.folder.has(ref.name):
        raise SlicebaseError("no-file", f"nothing has the id {ref.name}", hint="`tt list` and `tt turns` show ids")
    return reference


def claim_id(parts: "Parts", run_id: str, given: str | None, *, is_new: bool) -> str | None:
    """Returns the id of a claim of a run, which may be given as its reference.

    Raises `bad-reference` for a claim of another run, and for a new id that no reference could name.
    """
    if given is not None and given.startswith("claim:"):
        ref = parse(given)
        if ref.owner != run_id and parts.stored_names.id("run", ref.owner) != run_id:
            hint = f"a claim of run:{run_id} has an id such as c1, or the reference claim:{run_id}/c1"
            raise SlicebaseError("bad-reference", f"{given} belongs to run:{ref.owner}, not to run:{run_id}", hint=hint)
        given = ref.local
    if given is not None and is_new:
        parse(f"claim:{run_id}/{given}")
    return given


# Lists for people


def shortened(parts: "Parts", references: Collection[str]) -> dict[str, str]:
    """Returns the short forms of references. What is no reference, or names nothing that is there, stays as it is."""
    refs = {each: ref for each in references if (ref := short_ref(each))}
    owners = {ref.name if ref.kind == "file" else ref.owner for ref in refs.values() if ref.kind in _IN_FILES}
    files = _short_files(parts, owners)
    stored = _short_stored(parts, refs.values())
    return {each: _short(parts, refs[each], files, stored) if each in refs else each for each in references}


def short_places(parts: "Parts", places: Collection[str]) -> dict[str, str]:
    """Returns the short forms of the ids of files, and of references; what else a link can name stays as it is."""
    refs = {place for place in places if (":" in place or "_" in place) and short_ref(place)}
    short = _short_files(parts, set(places) - refs)
    # A name that a person chose is that of the file, unless it could be the short id of something else.
    taken = _begun(parts, {name for whole, name in short.items() if name != whole or may_be_short(name)})
    typed = {whole: str(Ref("file", name)) for whole, name in short.items() if name in taken}
    return {**short, **typed, **shortened(parts, refs)}


def _begun(parts: "Parts", beginnings: Collection[str]) -> set[str]:
    """Returns those of these texts that the id of something in the database begins with."""
    if not beginnings or not parts.workspace.has_memory:
        return set()
    try:
        return parts.stored_names.begun(beginnings)
    except SlicebaseError:  # nothing of a database that cannot be opened is found by an id
        return set()


def shown_in_context(parts: "Parts") -> Callable[[str], str]:
    """Returns a function that makes a reference short for a context.

    Of a turn, it is the short id alone if nothing else begins so. Of a file, and of a part of one, the file's id is
    short.
    """

    @cache
    def files() -> frozenset[str]:
        from slicebase.index.entries import like_turns  # imported here to keep start-up fast

        index = parts.finder.index
        return index.ask_again(like_turns) if index.has_files() else frozenset()

    @cache
    def short(file: str) -> str:
        return _short_files(parts, {file})[file]

    def shown(reference: str) -> str:
        kind, _, name = reference.partition(":")
        if kind not in _IN_FILES:
            return parts.truth.shown(reference, files())
        file = name.partition("/" if kind == "row" else "@" if kind == "sec" else "\n")[0]
        return f"{kind}:{short(file)}{name[len(file) :]}"

    return shown


_NAMED_IN_TEXT: Final = rf"\b(?:{ULID}|sn_[0-9a-f]{{32}})\b"  # compiled on first use for a fast start


def short_texts(parts: "Parts", texts: Collection[str]) -> dict[str, str]:
    """Returns texts with the short forms of the files and snapshots that they name."""
    short = short_places(parts, {name for text in texts for name in re.findall(_NAMED_IN_TEXT, text)})
    return {text: re.sub(_NAMED_IN_TEXT, lambda name: short[name[0]], text) for text in texts}


_IN_FILES: Final = ("file", "row", "sec")


def _short_files(parts: "Parts", ids: Collection[str]) -> dict[str, str]:
    if not ids:
        return {}
    from slicebase.index.entries import short_file_ids  # imported here to keep start-up fast

    return parts.finder.index.ask_again(lambda connection: short_file_ids(connection, ids))


def _short(parts: "Parts", ref: Ref, files: Mapping[str, str], stored: Mapping[tuple[str, str], str]) -> str:
    if ref.kind == "file":
        return str(Ref("file", files[ref.name]))
    if ref.kind == "row":
        return str(Ref("row", f"{files[ref.owner]}/{_short_row(parts, ref)}"))
    if ref.kind == "sec":
        return str(Ref("sec", files[ref.owner] + ref.name[len(ref.owner) :]))
    if ref.kind == "claim":
        return str(Ref("claim", f"{stored['run', ref.owner]}/{ref.local}"))
    return str(ref) if ref.kind == "doc" else str(ref).removesuffix(ref.id) + stored[ref.kind, ref.id]


def _short_row(parts: "Parts", ref: Ref) -> str:
    """Returns the short id of a row. The log is not parsed: texts in it that begin like the id make that longer."""
    file = parts.folder.readable(ref.owner)
    alike = rf'"({re.escape(ref.local[:SHORTEST_ID])}[^"\\]*)"'.encode()
    others = {found.decode(errors="replace") for found in re.findall(alike, file.body)} if file else set()
    return short_id(ref.local, others) if ref.local in others else ref.local


def _short_stored(parts: "Parts", refs: Iterable[Ref]) -> dict[tuple[str, str], str]:
    """Returns the short ids of what is in the database, by kind and id: of a claim, that of its run."""
    wanted: dict[str, set[str]] = {}
    for ref in refs:
        if ref.kind not in (*_IN_FILES, "doc"):
            kind, name = ("run", ref.owner) if ref.kind == "claim" else (ref.kind, ref.id)
            wanted.setdefault(kind, set()).update((name, name.partition("#")[0] if kind == "session" else name))
    found: dict[tuple[str, str], str] = {}
    for kind, names in wanted.items():
        beside = parts.stored_names.beside(kind, names)
        short = {name: short_id(name, beside[name]) if name in beside else name for name in names}
        for name in names:
            session, mark, agent = name.partition("#")  # of a subagent, the id of its session is made short
            is_of_session = kind == "session" and mark and session in beside
            found[kind, name] = f"{short[session]}#{agent}" if is_of_session else short[name]
    return found
