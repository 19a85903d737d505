"""A place in a YAML text, and the way to the next line or to a refusal."""

import re
from typing import Final, NoReturn

from slicebase.errors import SlicebaseError, Where

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
    """`pos` is an offset into the text; `indent` the column of the current line's content, -1 at the text's end."""

    def __init__(self, text: str, first_line: int) -> None:
        self.text = text if text.endswith("\n") else text + "\n"
        self.first_line = first_line
        self.pos = 0
        self.indent = -1
        self.depth = 0

    def next_content(self) -> None:
        """From a line's start to the first character of the next line that has content."""
        gap = _GAP.match(self.text, self.pos)
        assert gap
        self.pos = gap.end()
        self.indent = len(gap["indent"]) if self.pos < len(self.text) else -1
        if self.char == "\t":
            self.fail("yaml-syntax", "a tab indents this line", hint="indent with spaces")

    def end_line(self) -> None:
        end = LINE_END.match(self.text, self.pos)
        if not end:
            self.fail_trailing()
        self.pos = end.end()
        self.next_content()

    @property
    def char(self) -> str:
        return self.text[self.pos : self.pos + 1]

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.fail("yaml-nesting", f"more than {MAX_NESTING} levels are nested", hint="flatten the structure")

    # ---- refusals

    def fail_start(self) -> NoReturn:
        """Refuses a token that starts no node."""
        code, what, hint = _REFUSED.get(self.char, ("yaml-syntax", "no value", "quote the text if it is meant as text"))
        self.fail(code, f"{what} starts here: {self.rest_of_line}", hint=hint)

    def fail_key(self) -> NoReturn:
        """Refuses a line of a mapping that has no key."""
        if self.char in _REFUSED:
            self.fail_start()
        self.fail("yaml-syntax", f"a key is expected before {self.rest_of_line}", hint="write it as `key: value`")

    def fail_trailing(self) -> NoReturn:
        """Refuses what follows a value in its line."""
        if self.char == ":" and self.text[self.pos - 1] in "]}":
            self.fail("yaml-key", "a collection stands here as a key", hint="a key is one word or quoted text")
        self.fail("yaml-syntax", f"this cannot follow a value: {self.rest_of_line}", hint="quote the whole value")

    @property
    def rest_of_line(self) -> str:
        rest = self.text[self.pos : self.text.index("\n", self.pos)].rstrip("\r")
        return repr(rest if len(rest) <= 40 else rest[:37] + "…")

    def fail(self, code: str, message: str, position: int | None = None, hint: str = "") -> NoReturn:
        line, column = place(self.text, self.pos if position is None else position)
        raise SlicebaseError(code, message, hint=hint, where=Where(None, line + self.first_line - 1, column))


def place(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset, both from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
