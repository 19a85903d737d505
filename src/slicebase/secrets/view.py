r"""What a reader sees of a text: without control sequences and invisible characters, and with escapes resolved.

A key that a terminal colours, that has a character without a width in it, or that is written with `\u0041` in JSON
looks like another text to a rule. So rules look at the view, and what they find is replaced in the text itself.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from heapq import merge
from typing import Final, NamedTuple

from slicebase.secrets.glance import INVISIBLE, has_invisible
from slicebase.secrets.regions import SecretSpan

# After the first character of a control sequence: a colour or a movement, or a title or a link with its end.
_CONTROL: Final = (
    r"(?:\[[0-?]{0,40}+[ -/]{0,4}+[@-~]"
    r"|\][^\x07\x1b\\]{0,400}+(?:\x07|\x1b\\|\\{1,4}u0007|\\{1,4}u001[bB]\\{1,4})?+)"
)
# Each begins with one fixed character, which is found much faster than one of several.
_SEQUENCE: Final = re.compile(rf"\x1b(?:{_CONTROL}|[@-Z^_])?+")
_ESCAPED: Final = re.compile(
    rf"\\\\{{0,3}}+(?:(?:u001[bB]|x1[bB]|033|e(?=\[)){_CONTROL}|u00(?P<code>[2-7][0-9a-fA-F])|(?P<slashes>/\\{{1,4}}/))"
)
_PERCENT: Final = re.compile(r"%(?P<code>2[0267C]|3[ABDF]|5B|7B)")  # between a name and its value in a URL
_INVISIBLE: Final = re.compile(rf"[{INVISIBLE}]++")


class ViewPiece(NamedTuple):
    """A piece of a view: where it begins there and in the original text, and how long it is in the original.

    An escape is shown as one text, so its characters have no places of their own.
    """

    start: int
    origin: int
    size: int
    is_escape: bool = False


class View:
    """A text as a reader sees it, which knows where its characters come from."""

    def __init__(self, original: str) -> None:
        shown: list[str] = []
        self._pieces: list[ViewPiece] = []
        length = 0
        for text, piece in _pieces(original):
            shown.append(text)
            self._pieces.append(piece._replace(start=length))
            length += len(text)
        self._starts = [piece.start for piece in self._pieces]
        self.text = "".join(shown)

    def original(self, span: SecretSpan) -> SecretSpan:
        """Returns the place in the original text of what was found in the view."""
        first, last = self._piece(span.start), self._piece(span.end - 1)
        start = first.origin + (0 if first.is_escape else span.start - first.start)
        end = last.origin + (last.size if last.is_escape else span.end - last.start)
        return SecretSpan(start, end, span.label)

    def _piece(self, at: int) -> ViewPiece:
        return self._pieces[bisect_right(self._starts, at) - 1]


def _pieces(original: str) -> Iterator[tuple[str, ViewPiece]]:
    """Yields what is shown, piece by piece, each with its place in the original text."""
    done = 0
    for found in _hidden(original):
        if found.start() < done:
            continue
        if found.start() > done:
            yield original[done : found.start()], ViewPiece(0, done, found.start() - done)
        done = found.end()
        if shown := _shown(found):
            yield shown, ViewPiece(0, found.start(), done - found.start(), True)
    if done < len(original):
        yield original[done:], ViewPiece(0, done, len(original) - done)


def _hidden(text: str) -> Iterator[re.Match[str]]:
    """Yields what is hidden, in the order of the text. None of it is kept: there can be a lot."""
    patterns = (_SEQUENCE, _ESCAPED, _PERCENT, _INVISIBLE) if has_invisible(text) else (_SEQUENCE, _ESCAPED, _PERCENT)
    return merge(*(pattern.finditer(text) for pattern in patterns), key=re.Match.start)


def _shown(hidden: re.Match[str]) -> str:
    """Returns what a reader sees instead: the character of an escape, and nothing for anything else."""
    groups = hidden.groupdict()
    if code := groups.get("code"):
        return chr(int(code, 16))
    return "//" if groups.get("slashes") else ""
