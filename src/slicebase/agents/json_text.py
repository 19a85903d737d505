"""A JSON text that is changed in one place: an item is added or removed, and every other byte stays.

Only positions are found here; the caller parses the result and compares its values.
"""

import json
import re
from typing import Any, Final, NamedTuple

MemberStep = str | int
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_INDENT: Final = re.compile(r"\n([ \t]+)\S")
# A comment that does not end goes on to the end of the text.
_STRING_OR_COMMENT: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_NOT_SPACE: Final = re.compile(r"[^\r\n]")
_decoder = json.JSONDecoder(strict=False)


class JsonMember(NamedTuple):
    """A member of an object or an element of an array. It starts at `start`, its value at `value`."""

    step: MemberStep
    start: int
    value: int
    end: int


class JsonText:
    """A JSON text. With `comments` it may have them; `shape` is the text with spaces in their place."""

    def __init__(self, text: str, comments: bool = False) -> None:
        self._text = text
        self.shape = _STRING_OR_COMMENT.sub(_blank, text) if comments else text

    def items(self, start: int) -> list[JsonMember]:
        """Returns the members of the object or array that begins at `start`, in their order."""
        shape = self.shape
        is_object = shape[start] == "{"
        found: list[JsonMember] = []
        at = self._skip(start + 1)
        while shape[at] not in "}]":
            step: MemberStep = len(found)
            value = at
            if is_object:
                step, after_key = _decoder.raw_decode(shape, at)
                value = self._skip(self._skip(after_key) + 1)
            _, end = _decoder.raw_decode(shape, value)
            found.append(JsonMember(step, at, value, end))
            at = self._skip(end)
            if shape[at] == ",":
                at = self._skip(at + 1)
        return found

    def find(self, *path: MemberStep) -> int | None:
        """Returns where the value at a path begins. Of keys that occur twice the last counts, as for JSON parsers."""
        at: int | None = self._skip(0)
        for step in path:
            if at is None or self.shape[at] not in "{[":
                return None
            at = next((item.value for item in reversed(self.items(at)) if item.step == step), None)
        return at

    def with_item(self, path: tuple[MemberStep, ...], value: Any, key: str | None = None) -> str:
        """Returns the text with one more element in the array at a path, or one more member in the object there."""
        start = self.find(*path)
        assert start is not None
        text, unit, depth = self._text, self._unit(), len(path) + 1
        line_end = "\r\n" if "\r\n" in text else "\n"
        line = line_end + unit * depth
        shown = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", line)
        entry = shown if key is None else f"{json.dumps(key, ensure_ascii=False)}: {shown}"
        existing = self.items(start)
        if existing:
            return text[: existing[-1].end] + "," + line + entry + text[existing[-1].end :]
        end = self._skip(start + 1)
        rest = self._kept(start + 1, end) or line_end + unit * (depth - 1)
        return text[: start + 1] + line + entry + rest + text[end:]

    def without_item(self, path: tuple[MemberStep, ...], step: MemberStep) -> str:
        """Returns the text without an item, its comma and the space before it. An empty container loses its space.

        Comments stay: of those before and after the comma nobody knows what they are about.
        """
        start = self.find(*path)
        assert start is not None
        text, existing = self._text, self.items(start)
        at = next(index for index in reversed(range(len(existing))) if existing[index].step == step)
        if len(existing) == 1:
            end = self._skip(existing[0].end)
            around = self._kept(start + 1, existing[0].start) + self._kept(existing[0].end, end)
            return text[: start + 1] + around + text[end:]
        if at:
            before, after = existing[at - 1].end, text[existing[at].end :]
            comments = self._comments(before, existing[at].start)
            is_line_over = after.lstrip(" \t")[:1] in ("\r", "\n")
            return text[:before] + (comments.rstrip() if is_line_over else comments) + after
        comments = self._comments(existing[0].end, existing[1].start)
        return text[: existing[0].start] + comments.lstrip(" \t") + text[existing[1].start :]

    def _comments(self, start: int, end: int) -> str:
        """Returns what is between two items without the comma, if there is a comment."""
        comma = self.shape.index(",", start, end)
        before, after = self._text[start:comma], self._text[comma + 1 : end]
        return before + after if self._kept(start, comma) or self._kept(comma + 1, end) else ""

    def _kept(self, start: int, end: int) -> str:
        """Returns what is between two values, if it is a comment."""
        between = self._text[start:end]
        return between if between.strip() else ""

    def _skip(self, at: int) -> int:
        match = _SPACE.match(self.shape, at)
        assert match is not None
        return match.end()

    def _unit(self) -> str:
        """Returns the indentation of one level."""
        match = _INDENT.search(self.shape)
        return match[1] if match else "  "


def _blank(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else _NOT_SPACE.sub(" ", match[0])
