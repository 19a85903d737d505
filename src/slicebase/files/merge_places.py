"""Checks that a merge of Markdown leaves every line where its writer put it: under its heading, in code or outside.

Lines are compared by what stands around them in the texts, not by how the merge came about. A heading that the other
side renamed counts as the same heading if something of what is below it is still there.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from slicebase.files.body.sections import headings, lines_of_blocks
from slicebase.files.merge_lines import EqualPart, Merged, decide, equal_parts

_Lines = Sequence[bytes]
# Every line that can be a part of a heading, of a fence or of an HTML block, and some others.
_OUTLINE: Final = re.compile(rb"#|```|~~~|<|^[ ]{0,3}(?:=+|-+)[ \t\r]*$", re.MULTILINE)
_CODE: Final = re.compile("```|~~~|<")


def in_place(base: _Lines, ours: _Lines, theirs: _Lines, versions: Merged[list[bytes]]) -> bool:
    """Returns whether each version has the lines of its side under the same headings, and code in one piece."""
    if not any(_OUTLINE.search(b"\n".join(lines)) for lines in (base, ours, theirs)):
        return True
    before, mine, yours = _page(base), _page(ours), _page(theirs)
    in_mine, in_yours = _matches(before, mine), _matches(before, yours)
    names = [
        decide(name, mine.name(in_mine.get(at), name), yours.name(in_yours.get(at), name))
        for at, name in enumerate(before.headings)
    ]
    one = _page(versions.ours)
    other = one if versions.ours == versions.theirs else _page(versions.theirs)
    return _Places(before, [name.ours for name in names]).are_kept((mine, yours), (in_mine, in_yours), one) and (
        _Places(before, [name.theirs for name in names]).are_kept((yours, mine), (in_yours, in_mine), other)
    )


# Pages

_Heading = tuple[int, str]  # level and title
_TOP: Final[_Heading] = (0, "")  # what is before the first heading


class _Page(NamedTuple):
    """A text with its sections: the first is what is before the first heading."""

    lines: _Lines
    headings: list[_Heading]
    starts: list[int]  # the index of the first line of each section
    code: set[int]  # the numbers of the lines of code and HTML, from 1

    def end(self, section: int) -> int:
        return self.starts[section + 1] if section + 1 < len(self.starts) else len(self.lines)

    def name(self, section: int | None, otherwise: _Heading) -> _Heading:
        return otherwise if section is None else self.headings[section]

    def text(self, section: int) -> set[bytes]:
        """Returns the lines below a heading, or those of its subsections if it has none of its own."""
        level, last = self.headings[section][0], section + 1
        start = self.starts[section] + 1
        own = {line for line in self.lines[start : self.end(section)] if line.strip()}
        while last < len(self.headings) and self.headings[last][0] > level:
            last += 1
        return own or {line for line in self.lines[start : self.end(last - 1)] if line.strip()}

    def blocks_of_code(self) -> Iterator[tuple[bytes, ...]]:
        block: list[bytes] = []
        for number in sorted(self.code):
            block.append(self.lines[number - 1])
            if number + 1 not in self.code:
                yield tuple(block)
                block = []


def _page(lines: _Lines) -> _Page:
    text = b"\n".join(lines).decode("utf-8", "surrogateescape")
    found = list(headings(text))
    code = lines_of_blocks(text) if _CODE.search(text) else set()
    names = [_TOP, *((heading.level, heading.title) for heading in found)]
    return _Page(lines, names, [0, *(heading.line - 1 for heading in found)], code)


_FEW: Final = 400  # pairs of headings that may be the same


def _matches(base: _Page, side: _Page) -> dict[int, int]:
    """Returns which section of a side is which of the base: with the same heading, or renamed."""
    found: dict[int, int] = {}
    at = place = 0
    for part in (*equal_parts(base.headings, side.headings), EqualPart(len(base.headings), len(side.headings), 0)):
        is_short = (part.one - at) * (part.other - place) <= _FEW  # else these are different pages
        for section in range(at, part.one) if is_short else ():
            text = base.text(section)
            renamed = next((each for each in range(place, part.other) if text & side.text(each)), None)
            if renamed is not None:
                found[section] = renamed
                place = renamed + 1
        found |= {part.one + offset: part.other + offset for offset in range(part.length)}
        at, place = part.one + part.length, part.other + part.length
    return found


# Places

_Key = tuple[bytes, bool, tuple[_Heading, ...]]  # a line, whether it is in code, and the headings above it


class _Places:
    """Where the lines of a base are, if its sections are renamed."""

    def __init__(self, base: _Page, names: list[_Heading]) -> None:
        self._base = base
        self._names = names
        self._known = {*names}

    def are_kept(self, pages: tuple[_Page, _Page], matches: Sequence[dict[int, int]], version: _Page) -> bool:
        """Returns whether a version has all lines of the first page, but for those that the second removed."""
        side, other = (
            page._replace(headings=self._renamed(page, match)) for page, match in zip(pages, matches, strict=True)
        )
        own = {*side.headings} - self._known
        wanted = self._keys(side, own)
        found = self._keys(version, own)
        missing = wanted - found
        if missing:
            removed = self._keys(self._base._replace(headings=self._names), own) - self._keys(other, own)
            missing -= removed
        return not missing and self._new_code(side) <= {*version.blocks_of_code()}

    def _renamed(self, page: _Page, match: dict[int, int]) -> list[_Heading]:
        """Returns the headings of a page as they are after both sides renamed some."""
        headings = [*page.headings]
        for section, place in match.items():
            headings[place] = self._names[section]
        return headings

    def _keys(self, page: _Page, own: set[_Heading]) -> Counter[_Key]:
        found: Counter[_Key] = Counter()
        for section, path in enumerate(self._paths(page, own)):
            numbered = enumerate(page.lines[page.starts[section] : page.end(section)], page.starts[section] + 1)
            found.update((line, number in page.code, path) for number, line in numbered if line.strip())
        return found

    def _paths(self, page: _Page, own: set[_Heading]) -> Iterator[tuple[_Heading, ...]]:
        """Yields the headings above each section, up to the first that the base has.

        A new heading of the other side counts only if it stands between a section and the last known one: otherwise it
        stands above known sections, too, as a new title does.
        """
        above: list[tuple[int, _Heading]] = []
        known = 0
        for section, name in enumerate(page.headings):
            while above and above[-1][1][0] >= name[0]:
                above.pop()
            above.append((section, name))
            known = section if name in self._known else known
            path = [name]
            for at, heading in reversed(above[:-1]):
                if path[-1] in self._known:
                    break
                if heading in self._known or heading in own or at > known:
                    path.append(heading)
            yield tuple(path)

    def _new_code(self, side: _Page) -> set[tuple[bytes, ...]]:
        """Returns the blocks of code of which the base has no line."""
        known = {self._base.lines[number - 1] for number in self._base.code}
        blocks = {*side.blocks_of_code()} - {*self._base.blocks_of_code()}
        return {block for block in blocks if not known & {line for line in block[1:-1] if line.strip()}}
