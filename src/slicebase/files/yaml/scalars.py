"""The scanner's position in a YAML text with its refusals, and the meaning of scalars.

Scalars follow YAML 1.2's core schema, and are stricter (ruling 22). A plain scalar is null, a boolean, a number or
text. A scalar that other readers read as a number (`010`, `1_000`, `12:30:45`) or as a boolean (`no`, `on`), but that
the core schema writes differently, is text.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final, NoReturn

from slicebase.errors import SlicebaseError, Where

# The position in a text

MAX_NESTING: Final = 64

_GAP = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?\r?\n)*(?P<indent> *)")
LINE_END = re.compile(r"(?:[ \t]+(?:#[^\r\n]*)?)?\r?\n")

_REFUSED: Final = {
    "&": ("yaml-anchor", "an anchor", "repeat the value where it is needed"),
    "*": ("yaml-anchor", "an alias", "repeat the value, or quote the text"),
    "!": ("yaml-tag", "a tag", "leave it out, or quote the text"),
    "?": ("yaml-key", "an explicit key", "write it as `key: value`"),
    ":": ("yaml-key", "an empty key", "name the key, or quote the text"),
    "%": ("yaml-syntax", "a reserved character", "quote the text"),
    "@": ("yaml-syntax", "a reserved character", "quote the text"),
    "`": ("yaml-syntax", "a reserved character", "quote the text"),
}


class Cursor:
    """A position in a YAML text.

    `pos` is an offset into the text, `indent` the column of the current line's content, or -1 at the end of the text.
    """

    def __init__(self, text: str, first_line: int) -> None:
        self.text = text if text.endswith("\n") else text + "\n"
        self.first_line = first_line
        self.pos = 0
        self.indent = -1
        self.depth = 0

    def next_content(self) -> None:
        """Moves from the start of a line to the first character of the next line that has content."""
        gap = _GAP.match(self.text, self.pos)
        assert gap
        self.pos = gap.end()
        self.indent = len(gap["indent"]) if self.pos < len(self.text) else -1
        if self.char == "\t":
            self.fail("yaml-syntax", "a tab indents this line", hint="indent with spaces")

    def end_line(self) -> None:
        """Moves past the end of the line to the next content. Refuses a text that follows the value on its line."""
        end = LINE_END.match(self.text, self.pos)
        if not end:
            self.fail_trailing()
        self.pos = end.end()
        self.next_content()

    @property
    def char(self) -> str:
        return self.text[self.pos : self.pos + 1]

    def deeper(self) -> None:
        """Enters a level of nesting. Refuses too many levels."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.fail("yaml-nesting", f"more than {MAX_NESTING} levels are nested", hint="flatten the structure")

    # Refusals

    def fail_start(self) -> NoReturn:
        """Refuses a token that cannot start a node."""
        code, what, hint = _REFUSED.get(self.char, ("yaml-syntax", "no value", "quote the text if it is meant as text"))
        self.fail(code, f"{what} starts here: {self.rest_of_line}", hint=hint)

    def fail_key(self) -> NoReturn:
        """Refuses a line of a mapping that has no key."""
        if self.char in _REFUSED:
            self.fail_start()
        self.fail("yaml-syntax", f"a key is expected before {self.rest_of_line}", hint="write it as `key: value`")

    def fail_trailing(self) -> NoReturn:
        """Refuses a text that follows a value on its line."""
        if self.char == ":" and self.text[self.pos - 1] in "]}":
            self.fail("yaml-key", "a collection is used as a key here", hint="a key is one word or quoted text")
        self.fail("yaml-syntax", f"this cannot follow a value: {self.rest_of_line}", hint="quote the complete value")

    @property
    def rest_of_line(self) -> str:
        rest = self.text[self.pos : self.text.index("\n", self.pos)].rstrip("\r")
        return repr(rest if len(rest) <= 40 else rest[:37] + "…")

    def fail(self, code: str, message: str, position: int | None = None, hint: str = "") -> NoReturn:
        line, column = place(self.text, self.pos if position is None else position)
        raise SlicebaseError(code, message, hint=hint, where=Where(None, line + self.first_line - 1, column))


def place(text: str, offset: int) -> tuple[int, int]:
    """Returns the line and column of an offset, both counted from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


# Plain scalars

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
    (re.compile(r"0o[0-7]{1,3500}"), lambda text: int(text[2:], 8)),  # longer ones are text: Python does not print them
    (re.compile(r"0x[0-9a-fA-F]{1,3500}"), lambda text: int(text[2:], 16)),
)


def resolve(text: str) -> Scalar:
    """Returns the value of a plain scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in "-+.0123456789":
        for pattern, convert in _NUMBERS:
            if pattern.fullmatch(text):
                try:
                    return convert(text)
                except ValueError:  # more digits than Python accepts
                    return text
    return text


# Quoted scalars

# White space is matched possessively, so that the time for a long run is linear in its length.
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
    """An escape that YAML does not define, with its offset inside the quotes."""

    def __init__(self, escape: str, offset: int) -> None:
        super().__init__(escape)
        self.escape = escape
        self.offset = offset


def unquote_single(inside: str) -> str:
    """Returns the text of a scalar in single quotes."""
    return _SINGLE.sub(_meant, inside)


def unquote_double(inside: str) -> str:
    """Returns the text of a scalar in double quotes."""
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
    """Returns a space for one line break, and a line break for each further one."""
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


# Scalars on several lines


def join_plain(lines: list[tuple[int, str]]) -> str:
    """Joins the lines of a plain scalar. Each line comes with the number of empty lines before it."""
    first, *others = lines
    return first[1] + "".join(("\n" * empty or " ") + line for empty, line in others)


def join_block(lines: list[str], *, folded: bool, chomping: str) -> str:
    """Joins the lines of a block scalar, given without their indentation and with the empty lines at the end."""
    used = len(lines)
    while used and not lines[used - 1]:
        used -= 1
    content = "".join(_fold_block(lines[:used])) if folded else "\n".join(lines[:used])
    if chomping == "+":
        return content + "\n" * (len(lines) - used + bool(used))
    return content + "\n" if used and chomping != "-" else content


def _fold_block(lines: list[str]) -> Iterator[str]:
    """Yields folded lines: a break between two lines of text is a space; beside a more indented line it stays."""
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
