"""Writes YAML that is clean and stable, and that every common reader reads back the same.

A text is quoted only if a YAML 1.1 or 1.2 reader would read it as something else, or could not read it.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct, structs

from slicebase.core.hashing import lone_surrogate
from slicebase.errors import SlicebaseError
from slicebase.files.yaml.scalars import MAX_NESTING
from slicebase.files.yaml.scan import NodeForm


class YamlLayout(NamedTuple):
    """The layout of a file: the indentation of a mapping and of a list below their key, the line end, and whether
    texts of several lines are literal blocks."""

    step: int = 2
    list_step: int = 2
    newline: str = "\n"
    literal: bool = True


class Written(NamedTuple):
    """A value as it is written after its key: the part on the key's line, and the lines below."""

    head: str
    below: list[str]


def plain_value(value: Any, depth: int = 0) -> Any:
    """Returns the value as dicts, lists and scalars. Absent parts of a typed value are left out."""
    if depth > MAX_NESTING:
        raise SlicebaseError("yaml-nesting", f"more than {MAX_NESTING} levels are nested", hint="flatten the structure")
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise lone_surrogate(error) from None
        return value
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Struct):
        given = structs.asdict(value).items()
        return {key: plain_value(item, depth + 1) for key, item in given if item is not None and item != ()}
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise SlicebaseError("not-json-value", "a key of the frontmatter is not text")
        return {plain_value(key): plain_value(item, depth + 1) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [plain_value(item, depth + 1) for item in value]
    raise SlicebaseError("not-json-value", f"the frontmatter cannot hold a {type(value).__name__}")


# On one line

# Words that some reader reads as true, false, null or a special number, in upper or lower case.
_WORDS: Final = frozenset(
    ("~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", ".inf", "+.inf", "-.inf", ".nan")
)
# Matches everything that some reader could read as a number, a date or a time, and some other texts.
_NUMERIC = re.compile(r"[-+.]?[\d_.][\d_.,:+\-TtZz ]*(?:[eE][-+]?[\d_]*)?|[-+]?0[xXoObB][\da-fA-F_]*")
_PLAIN = {
    False: re.compile(r"[\w./($](?:[^:#\n]|:(?=[^ ])|(?<=[^ ])#)*(?<=[^ ])"),
    True: re.compile(r"[\w./($](?:[^:#\n,\[\]{}]|(?<=[^ ])#)*(?<=[^ ])"),
}
_SPECIAL = re.compile("[\\x00-\\x1f\\x7f-\\xa0\\xad\u2028\u2029\ufeff\ufffe\uffff]")
_TO_ESCAPE = re.compile(rf'["\\]|{_SPECIAL.pattern}')
_ESCAPES: Final = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def inline(value: Any, *, flow: bool = True, like: NodeForm = "plain") -> str:
    """Returns a value on one line. `flow` says that it is inside brackets, `like` which quotes it had."""
    if isinstance(value, str):
        return _text(value, flow=flow, like=like)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{inline(key)}: {inline(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(inline(item) for item in value) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _float(value) if isinstance(value, float) else str(value)


def _text(text: str, *, flow: bool, like: NodeForm) -> str:
    if like == "single" and not _SPECIAL.search(text):
        return "'" + text.replace("'", "''") + "'"
    if like != "double" and _is_plain(text, flow=flow):
        return text
    return '"' + _TO_ESCAPE.sub(_escaped, text) + '"'


def _is_plain(text: str, *, flow: bool) -> bool:
    return (
        _PLAIN[flow].fullmatch(text) is not None
        and not _SPECIAL.search(text)
        and not _NUMERIC.fullmatch(text)
        and text.lower() not in _WORDS
    )


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return _ESCAPES.get(found[0]) or (f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}")


def _float(value: float) -> str:
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    if math.isnan(value):
        return ".nan"
    mantissa, exponent, power = repr(value).partition("e")
    # YAML 1.1 requires a decimal point.
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{exponent}{power}"


# On several lines


def written(value: Any, column: int, layout: YamlLayout, *, in_list: bool = False, like: NodeForm = "plain") -> Written:
    """Returns a value as it is written after a key or a dash in this column."""
    if layout.literal and isinstance(value, str) and "\n" in value and (mark := _literal_mark(value)):
        indent = " " * (column + layout.step)
        lines = value.removesuffix("\n").split("\n")
        return Written(mark, [indent + line if line else "" for line in lines])
    if isinstance(value, dict | list) and value:
        if in_list:
            first, *others = _collection(value, column + 2, layout)
            return Written(first.lstrip(" "), others)
        inner = column + (layout.step if isinstance(value, dict) else layout.list_step)
        return Written("", _collection(value, inner, layout))
    return Written(inline(value, flow=False, like=like), [])


def _collection(value: dict[str, Any] | list[Any], column: int, layout: YamlLayout) -> list[str]:
    return mapping_lines(value, column, layout) if isinstance(value, dict) else list_lines(value, column, layout)


def mapping_lines(values: Mapping[str, Any], column: int, layout: YamlLayout) -> list[str]:
    lines: list[str] = []
    for key, value in values.items():
        head, below = written(value, column, layout)
        lines += [f"{' ' * column}{inline(key)}:{' ' + head if head else ''}", *below]
    return lines


def list_lines(values: Sequence[Any], column: int, layout: YamlLayout) -> list[str]:
    lines: list[str] = []
    for value in values:
        head, below = written(value, column, layout, in_list=True)
        lines += [f"{' ' * column}- {head}", *below]
    return lines


def _literal_mark(text: str) -> str | None:
    """Returns the indicator of a literal block for this text, None if a block would be fragile."""
    lines = text.removesuffix("\n").split("\n")
    fragile = lines[0][:1] in ("", " ") or not lines[-1] or any(line != line.rstrip(" ") for line in lines)
    if fragile or _SPECIAL.search(text.replace("\n", "")):
        return None
    return "|" if text.endswith("\n") else "|-"
