"""Merges the comments of frontmatters: those that a side added are kept, and those that a side deleted are gone.

A comment is known by its text, and counted: it may be there several times.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.scan import Node

_COMMENT: Final = re.compile(r"(?:^|\s)#.*$", re.MULTILINE)


def comments_of(file: SliceFile | None) -> Counter[str]:
    """Returns the comments of a frontmatter."""
    if file is None:
        return Counter()
    pieces, at = [], 0
    for start, end in _scalars(file.header, file.tree):
        pieces += [file.header[at:start], "x"]
        at = end
    return comments_in("".join((*pieces, file.header[at:])))


def comments_in(text: str) -> Counter[str]:
    """Returns everything that looks like a comment in lines of a frontmatter, also in a quoted text."""
    return Counter(match[0].strip() for match in _COMMENT.finditer(text))


def _scalars(header: str, node: Node) -> Iterator[tuple[int, int]]:
    """Yields where keys and scalars are."""
    if node.is_scalar:
        is_block = node.form in ("literal", "folded")  # a comment may follow its mark, on the first line
        first = header[node.start : node.end].find("\n") + 1 if is_block else 0
        yield node.start + first, node.end
    for entry in node.entries:
        if node.is_map:
            yield entry.start, entry.after
        yield from _scalars(header, entry.value)


class Comments(NamedTuple):
    """The comments of a base and of what two sides made of it."""

    base: Counter[str]
    ours: Counter[str]
    theirs: Counter[str]

    def are_in(self, mine: Counter[str], other: Counter[str]) -> bool:
        """Returns whether both versions of a merged header have all comments, and none that one side deleted.

        The versions differ where there is a conflict. Only there, a side may still have what the other deleted.
        """
        both, allowed = mine & other, self._allowed()
        return (
            not self._kept() - both
            and not both - allowed
            and not mine - (allowed | self.ours)
            and not other - (allowed | self.theirs)
        )

    def _kept(self) -> Counter[str]:
        """Returns what a merged header must have: what a side added, and what both still have."""
        base, ours, theirs = self
        return (ours - base) | (theirs - base) | (ours & theirs)

    def _allowed(self) -> Counter[str]:
        """Returns what it may have at most. Both may have deleted the same comment, or each another equal one."""
        most = {}
        for comment in {*self.ours, *self.theirs}:
            before, one, other = (version[comment] for version in self)
            most[comment] = min(one, other) if max(one, other) <= before else one + other - before
        return +Counter(most)
