"""The types of the frontmatter's fields, and which of them must be there (§ Required Fields, ruling 21)."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from slicebase.files.findings import Problem, shown
from slicebase.files.parts import KEYS, Contract
from slicebase.files.timestamps import time_problem


class _Type(NamedTuple):
    fits: Callable[[Any], bool]
    form: str


def _is_scalar(value: object) -> bool:
    return not isinstance(value, dict | list)


# Any scalar will do for text: the field takes its source text (ruling 21).
_TEXT: Final = _Type(_is_scalar, "text")
_TEXTS: Final = _Type(lambda value: isinstance(value, list) and all(map(_is_scalar, value)), "a list of texts")
_MAPPING: Final = _Type(lambda value: isinstance(value, dict), "a mapping")
_LIST: Final = _Type(lambda value: isinstance(value, list), "a list")
_SIZE: Final = _Type(lambda value: type(value) is int and value >= 0, "a whole number of bytes")

_TYPES: Final[Mapping[tuple[str, ...], _Type]] = {
    **{(name,): _TEXT for name in ("v", "kind", "id", "title", "summary", "updated_at", "due")},
    **{
        (name,): _MAPPING
        for name in ("body", "contract", "derived_from", "payload", "meta", "updated_by", "archived", "purged")
    },
    ("links",): _LIST,
    ("body", "type"): _TEXT,
    ("body", "code"): _MAPPING,
    ("body", "code", "lang"): _TEXT,
    ("body", "code", "extension"): _TEXT,
    ("body", "code", "args"): _TEXTS,
    ("body", "conversation"): _MAPPING,
    **{("contract", name): _TEXT for name in ("purpose", "format", "cleanup", "write", "overflow")},
    ("contract", "exclude"): _TEXTS,
    ("derived_from", "id"): _TEXT,
    ("derived_from", "hash"): _TEXT,
    ("payload", "uri"): _TEXT,
    ("payload", "hash"): _TEXT,
    ("payload", "size"): _SIZE,
    **{(mark, name): _TEXT for mark in ("archived", "purged") for name in ("at", "reason")},
}
_REQUIRED: Final = (("v",), ("id",), ("title",), ("summary",), ("body", "type"))
_TIMES: Final = (("updated_at",), ("archived", "at"), ("purged", "at"))
_CONTRACT_KEYS: Final = frozenset(Contract.__struct_fields__)


def field_problems(values: Mapping[str, Any]) -> Iterator[Problem]:
    """Whatever is wrong with single fields of `slice`, whatever they mean."""
    yield from _unknown_keys((), values, KEYS)
    contract = values.get("contract")
    yield from _unknown_keys(("contract",), contract if isinstance(contract, dict) else {}, _CONTRACT_KEYS)
    for path, type_ in _TYPES.items():
        value = value_at(values, path)
        if value is not None and not type_.fits(value):
            message = f"`{'.'.join(path)}` is {shown(value)}, not {type_.form}"
            yield Problem("field-type", ("slice", *path), message)
    for path in _REQUIRED:
        value = value_at(values, path)
        if value is None or (isinstance(value, str) and not value.strip()):
            message = f"`{'.'.join(path)}` is {'missing' if value is None else 'empty'}"
            yield Problem("required", ("slice", *path), message)
    for path in _TIMES:
        value = value_at(values, path)
        if value is not None and _is_scalar(value) and (problem := time_problem(value)):
            yield Problem(problem.rule, ("slice", *path), problem.message, problem.hint)


def takes_text(path: tuple[str, ...]) -> bool:
    """Whether the field at this path of `slice` is a text, whatever YAML would make of it."""
    return _TYPES.get(path) is _TEXT or (len(path) == 3 and path[0] == "links")


def value_at(values: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        values = values.get(step) if isinstance(values, dict) else None
    return values


def _unknown_keys(path: tuple[str, ...], values: Mapping[str, Any], known: Any) -> Iterator[Problem]:
    for key in values:
        if key not in known:
            name = ".".join((*path, key))
            yield Problem("unknown-key", ("slice", *path, key), f"the format knows no `{name}`", _meant(key, known))


def _meant(key: str, known: Any) -> str:
    from difflib import get_close_matches  # rarely needed

    near = get_close_matches(key, sorted(known), n=1)
    return f"do you mean `{near[0]}`?" if near else "keep what is your own under `meta`"
