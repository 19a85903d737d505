"""What a YAML scalar means: YAML 1.2's core schema and stricter (ruling 22).

A plain scalar is null, a boolean, a number or text; what other readers take for a number and the core schema
writes differently (`010`, `1_000`, `12:30:45`), or for a truth value (`no`, `on`), stays text.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

Scalar = str | int | float | bool | None

_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_NUMBERS: Final[tuple[tuple[re.Pattern[str], Callable[[str], Scalar]], ...]] = (
    (re.compile(r"[-+]?(?:0|[1-9][0-9]*)"), int),
    (re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"), float),
    (re.compile(r"0o[0-7]+"), lambda text: int(text[2:], 8)),
    (re.compile(r"0x[0-9a-fA-F]+"), lambda text: int(text[2:], 16)),
)


def resolve(text: str) -> Scalar:
    """The value of a plain scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in "-+.0123456789":
        for pattern, convert in _NUMBERS:
            if pattern.fullmatch(text):
                try:
                    return convert(text)
                except ValueError:  # more digits than Python reads
                    return text
    return text


# ---- quoted scalars

# A run of white space is taken whole, so that long ones cost no more than their length.
_FOLD = r"[ \t]*+(?:\r?\n[ \t]*+)+"
_SINGLE = re.compile(rf"(?P<fold>{_FOLD})|[ \t]++|(?P<quote>'')")
_DOUBLE = re.compile(
    rf"(?P<fold>{_FOLD})|[ \t]++"
    r"|\\(?:(?P<join>(?:\r?\n[ \t]*+)+)"
    r"|(?P<pair>u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?P<code>x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
    r"|(?P<letter>[^\r\n]))"
)
_LETTERS: Final = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip


class BadEscapeError(ValueError):
    """An escape that YAML does not know, with its place inside the quotes."""

    def __init__(self, escape: str, offset: int) -> None:
        super().__init__(escape)
        self.escape = escape
        self.offset = offset


def unquote_single(inside: str) -> str:
    return _SINGLE.sub(_meant, inside)


def unquote_double(inside: str) -> str:
    return _DOUBLE.sub(_meant, inside)


def _meant(found: re.Match[str]) -> str:
    kind, text = found.lastgroup, found[0]
    if kind is None:
        return text
    meaning = _MEANINGS[kind](text)
    if meaning is None:
        raise BadEscapeError(text, found.start())
    return meaning


def _folded(breaks: str) -> str:
    """A line break is a space; each further one is a line break."""
    return "\n" * (breaks.count("\n") - 1) or " "


def _coded(escape: str) -> str | None:
    number = int(escape[2:], 16)
    return chr(number) if number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF else None


_MEANINGS: Final[dict[str, Callable[[str], str | None]]] = {
    "fold": _folded,
    "join": lambda breaks: "\n" * (breaks.count("\n") - 1),
    "quote": lambda _: "'",
    "pair": lambda escape: bytes.fromhex(escape[2:6] + escape[8:12]).decode("utf-16-be"),
    "code": _coded,
    "letter": lambda escape: _LETTERS.get(escape[1]),
}


# ---- scalars over several lines


def join_plain(lines: list[tuple[int, str]]) -> str:
    """The lines of a plain scalar, each with the number of empty lines before it."""
    first, *others = lines
    return first[1] + "".join(("\n" * empty or " ") + line for empty, line in others)


def join_block(lines: list[str], *, folded: bool, chomping: str) -> str:
    """The lines of a block scalar without their indentation, empty ones at the end included."""
    used = len(lines)
    while used and not lines[used - 1]:
        used -= 1
    content = "".join(_fold_block(lines[:used])) if folded else "\n".join(lines[:used])
    if chomping == "+":
        return content + "\n" * (len(lines) - used + bool(used))
    return content + "\n" if used and chomping != "-" else content


def _fold_block(lines: list[str]) -> Iterator[str]:
    """A break between two lines of text is a space; beside a more indented line it stays."""
    empty, before = 0, ""
    for line in lines:
        if not line:
            empty += 1
            continue
        if not before:
            yield "\n" * empty
        elif before[0] in " \t" or line[0] in " \t":
            yield "\n" * (empty + 1)
        else:
            yield "\n" * empty or " "
        yield line
        empty, before = 0, line
