"""Ids in the arguments of verbs are completed before a verb runs, and made short in lists for people (ruling 53)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from slicebase.core.refs import Ref, prefixed
from slicebase.core.short_ids import short_id, short_ids
from slicebase.workspace.surroundings import is_at_once

if TYPE_CHECKING:  # keeps start-up fast
    from slicebase.library.names import Names
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
        names: Names = getattr(self, "_parts", self).names
        given = [_completed(names, taken.get(name), value) for name, value in zip(order, args, strict=False)]
        named = {name: _completed(names, taken.get(name), value) for name, value in keywords.items()}
        return verb(self, *given, *args[len(given) :], **named)

    return call


def _innermost(verb: Any) -> Any:
    while hasattr(verb, "__wrapped__"):
        verb = verb.__wrapped__
    return verb


def _completed(names: "Names", kinds: str | tuple[str, ...] | None, value: Any) -> Any:
    if kinds is None or not isinstance(value, str):
        return value
    return names.id(kinds, value) if isinstance(kinds, str) else str(names.ref(value, kinds, otherwise=kinds[0]))


# Lists for people


def shortened(parts: "Parts", references: Iterable[str]) -> Mapping[str, str]:
    """Returns the short forms of references. What is not the reference of something stored stays as it is."""
    refs = {each: ref for each in set(references) if (ref := prefixed(each))}
    files = parts.finder.short_ids(
        ref.name if ref.kind == "file" else ref.owner for ref in refs.values() if _in_file(ref)
    )
    return {each: str(_short(parts, refs[each], files)) if each in refs else each for each in references}


def _in_file(ref: Ref) -> bool:
    return ref.kind in ("file", "row", "sec")


def _short(parts: "Parts", ref: Ref, files: Mapping[str, str]) -> Ref:
    if ref.kind == "file":
        return Ref("file", files[ref.name])
    if ref.kind == "sec":
        return Ref("sec", files[ref.owner] + ref.name[len(ref.owner) :])
    if ref.kind == "row":
        from slicebase.files.body.rows import read_rows  # imported here to keep start-up fast

        file = parts.folder.readable(ref.owner)
        rows = short_ids(row.id for row in read_rows(file.body).rows if row.id) if file else {}
        return Ref("row", f"{files[ref.owner]}/{rows.get(ref.local, ref.local)}")
    if ref.kind == "claim":
        return Ref("claim", f"{_short_stored(parts, Ref('run', ref.owner)).name}/{ref.local}")
    return ref if ref.kind == "doc" else _short_stored(parts, ref)


def _short_stored(parts: "Parts", ref: Ref) -> Ref:
    from slicebase.truth.names import StoredNames  # imported here to keep start-up fast

    whole = ref.id
    short = short_id(whole, StoredNames(parts.truth.database).beside(ref.kind, whole))
    return ref._replace(name=short[len(whole) - len(ref.name) :])
