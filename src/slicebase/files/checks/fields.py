"""The types of the frontmatter's fields, and which of them must be there (§ Required Fields, ruling 21)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from slicebase.files.findings import Problem, shown
from slicebase.files.forms import WHOLE, Form, Forms, misfits
from slicebase.files.parts import KEYS, Contract
from slicebase.files.timestamps import judge_time


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


def field_problems(values: Mapping[str, Any]) -> Iterator[Problem]:
    """Whatever is wrong with single fields of `slice`, whatever they mean."""
    yield from _unknown_keys((), values, KEYS)
    contract = values.get("contract")
    yield from _unknown_keys(("contract",), contract if isinstance(contract, dict) else {}, _CONTRACT_KEYS)
    for misfit in misfits(values, _FORMS):
        message = f"`{misfit.name}` is {shown(misfit.value)}, not {misfit.form}"
        yield Problem("field-type", ("slice", *misfit.path), message)
    for path in _REQUIRED:
        value = value_at(values, path)
        if value is None or (isinstance(value, str) and not value.strip()):
            message = f"`{'.'.join(path)}` is {'missing' if value is None else 'empty'}"
            yield Problem("required", ("slice", *path), message)
    for path in _TIMES:
        value = value_at(values, path)
        if value is not None and _is_scalar(value) and (problem := judge_time(value)[1]):
            yield Problem(problem.rule, ("slice", *path), problem.message, problem.hint)


def takes_text(path: tuple[str, ...]) -> bool:
    """Whether the field at this path of `slice` is a text, whatever YAML would make of it."""
    return value_at(_FORMS, path) is _TEXT or (len(path) == 3 and path[0] == "links")


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
