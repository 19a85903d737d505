"""Reading YAML, quickly where it is harmless.

The scanner says what a YAML text means. yaml-rs reads the same text some twenty times faster, without positions, and
takes some things that we do not, or reads them differently (ruling 22). So yaml-rs reads what holds no trace of them,
and the scanner the rest. `tests/files/test_yaml.py` holds the two to the same answers.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml_rs

from slicebase.files.cursor import MAX_NESTING
from slicebase.files.scanner import scan

# Control characters, tabs, a byte order mark, a carriage return that ends no line.
_BEYOND_ASCII = "\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
_FOREIGN = re.compile(rf"[^\n -~{_BEYOND_ASCII}]")
# An anchor, alias, tag, explicit key or directive where a token may start: behind a line break or an indicator.
_INDICATOR = re.compile(r"[&*!?%](?:(?<=[\n\[{,:].)|(?<=[\n\[{,:?\-] .)|(?<=  .))")
# Most texts hold no character of the two.
_UNUSUAL = re.compile(rf"[^\n \"-$'-)+->@-~{_BEYOND_ASCII}]")
# Deep nesting, on which yaml-rs overflows the stack: a column of a line opens two levels at most.
_DEEP = re.compile(rf"\n[ -]{{{MAX_NESTING}}}")
# A number of any shape but a decimal of moderate length without leading zeros.
_ODD_NUMBER = re.compile(
    r"(?:[\n\[{,]|[:?\-] |[\"']:) *(?!-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?(?![\w.]))"
    r"[-+]?(?:\.[iInN]|(?:0[xXoObB]|[\d_.])[\d_.a-fA-F]*(?:[eE][-+]?[\d_]+)?(?= *[\n,\]}#:]))"
)
_NUMBERS = {int, float}
_UNSURE = object
# yaml-rs takes the indicators of block scalars for text inside a flow collection, …
_BARS = ("|", ">")
# … and gives a block scalar without content at the end of the text a line break.
_HOLLOW = re.compile(r"\n.*[|>][-+\d]* *(?:#.*)?\n")


def load(text: str, first_line: int = 1) -> Any:
    """The value of a YAML text; `first_line` is the number of its first line where it is part of a file."""
    lines = "\n" + text.replace("\r\n", "\n")
    if not lines.endswith("\n"):
        lines += "\n"
    if not _is_odd(lines):
        try:
            value = yaml_rs.loads(lines, parse_datetime=False)
        except (ValueError, TypeError):
            pass  # the scanner says what is wrong, and where
        else:
            if _is_ours(value, lines):
                return value
    return load_plainly(text, first_line)


def load_plainly(text: str, first_line: int = 1) -> Any:
    """The same by the scanner alone."""
    return scan(text, first_line).value


def _is_odd(lines: str) -> bool:
    """Whether yaml-rs might read what the scanner refuses, or read it differently."""
    if _UNUSUAL.search(lines) and (_FOREIGN.search(lines) or _INDICATOR.search(lines)):
        return True
    if "\n---" in lines or "\n..." in lines or _DEEP.search(lines):
        return True
    return _HOLLOW.match(lines, lines.rstrip().rfind("\n")) is not None


def _is_ours(value: Any, lines: str) -> bool:
    """Whether the scanner is sure to give this value too."""
    if type(value) is not dict and type(value) is not list:
        return False
    kinds = _kinds(value)
    if _UNSURE in kinds or (_NUMBERS & kinds and _ODD_NUMBER.search(lines)):
        return False
    return not (any(bar in lines for bar in _BARS) and any(text.startswith(_BARS) for text in _texts(value)))


def _kinds(value: Any) -> set[type]:
    """The types of everything in a value; `_UNSURE` for a key that is no text, or for deep nesting."""
    kinds: set[type] = set()
    level = [value]
    for _ in range(MAX_NESTING):
        below: list[Any] = []
        for item in level:
            if type(item) is dict:
                for key in item:
                    if type(key) is not str:
                        return {_UNSURE}
                below += item.values()
            elif type(item) is list:
                below += item
        if not below:
            return kinds
        kinds.update(map(type, below))
        level = below
    return {_UNSURE}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
