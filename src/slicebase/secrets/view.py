r"""What a reader sees of a text: without control sequences and invisible characters, and with escapes resolved.

A key that a terminal colours, that has a character without a width in it, or that is written with `\u0041` in JSON
looks like another text to a rule. So rules look at the view, and what they find is replaced in the text itself.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from slicebase.secrets.glance import INVISIBLE
from slicebase.secrets.regions import SecretSpan

_ESCAPE: Final = r"(?:\x1b|\\{1,4}(?:u001[bB]|x1[bB]|033|e(?=\[)))"
_HIDDEN: Final = re.compile(
    rf"{_ESCAPE}\[[0-?]{{0,40}}+[ -/]{{0,4}}+[@-~]"  # colours and movements
    rf"|{_ESCAPE}\][^\x07\x1b\\]{{0,400}}+(?:\x07|\\{{1,4}}u0007|{_ESCAPE}\\{{1,4}})?+"  # titles and links
    r"|\x1b[@-Z^_]?+"
    rf"|[{INVISIBLE}]++"
    r"|\\{1,4}u00(?P<code>[2-7][0-9a-fA-F])"
    r"|(?<=:)(?P<slashes>\\{1,4}/\\{1,4}/)"
)


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
    for found in _HIDDEN.finditer(original):
        if found.start() > done:
            yield original[done : found.start()], ViewPiece(0, done, found.start() - done)
        done = found.end()
        shown = chr(int(found["code"], 16)) if found["code"] else "//" if found["slashes"] else ""
        if shown:
            yield shown, ViewPiece(0, found.start(), done - found.start(), True)
    if done < len(original):
        yield original[done:], ViewPiece(0, done, len(original) - done)
