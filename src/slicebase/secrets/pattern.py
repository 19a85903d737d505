r"""Patterns that match in linear time by construction: a small part of the syntax of regular expressions.

    pattern    = sequence
    sequence   = item, item, …
    item       = atom [ "?" | "{n}" | "{m,n}" | "{m,}" ]
    atom       = character | "\" character | "\d" | "\w" | "[" characters "]" | group
    group      = "(?:" sequence "|" sequence … ")" | "(?P<secret>" sequence ")"

A repetition takes all it can and gives nothing back (it is compiled as a possessive one), and the first branch of a
group that fits is taken. So a match never goes back over a character. After a repetition without an upper bound, only
items may follow that may be absent: what it has read is then a match, and is not read again. Groups are optional at
most, never repeated. `*`, `+`, `.`, `^`, `$`, `|` outside of a group, negated classes, references back and lookarounds
are refused.
"""

import re
import string
from collections.abc import Iterator
from typing import Final, NamedTuple

DIGITS: Final = frozenset(string.digits)
WORD: Final = frozenset(string.ascii_letters + string.digits + "_")
MOST_REPEATED: Final = 60_000  # in the middle of a built-in pattern
_SPECIAL: Final = frozenset("*+.^$|)]}")
_REPEAT: Final = re.compile(r"\{(\d{1,5})(,?)(\d{0,5})\}|\?")
_CATEGORIES: Final = {"d": DIGITS, "w": WORD}


class PatternError(ValueError):
    """A pattern is outside of the syntax that is matched in linear time."""


class Some(NamedTuple):
    """One of some characters, repeated. `most` is None if there is no upper bound."""

    characters: frozenset[str]
    least: int = 1
    most: int | None = 1


class OneOf(NamedTuple):
    """One of several sequences, or nothing if it is optional. The secret may be a part of a match."""

    branches: tuple["Sequence", ...]
    optional: bool = False
    secret: bool = False


Sequence = tuple[Some | OneOf, ...]


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, text: str, most: int) -> None:
        self.text, self.at, self.most = text, 0, most

    def sequence(self, *, grouped: bool) -> Sequence:
        items: list[Some | OneOf] = []
        while self.at < len(self.text) and not (grouped and self.text[self.at] in "|)"):
            items.append(self._item())
        return tuple(items)

    def _item(self) -> Some | OneOf:
        atom = self._atom()
        found = _REPEAT.match(self.text, self.at)
        if found is None:
            if self.text[self.at : self.at + 1] in ("{", "?"):
                raise PatternError(f"a repetition at {self.at} cannot be read")
            return atom
        self.at = found.end()
        if isinstance(atom, OneOf):
            if found[0] != "?":
                raise PatternError(f"the group that ends at {found.start()} is repeated")
            return atom._replace(optional=True)
        if found[0] == "?":
            return Some(atom.characters, 0, 1)
        least = int(found[1])
        most = least if not found[2] else int(found[3]) if found[3] else None
        if most is not None and (most < least or not most):
            raise PatternError(f"the bounds of the repetition at {found.start()} are the wrong way round")
        if max(least, most or 0) > self.most:
            raise PatternError(f"the repetition at {found.start()} is longer than {self.most}")
        return Some(atom.characters, least, most)

    def _atom(self) -> Some | OneOf:
        start, character = self.at, self.text[self.at]
        self.at += 1
        if character == "(":
            return self._group(start)
        if character == "[":
            return Some(self._characters(start))
        if character == "\\":
            return Some(self._escape())
        if character in _SPECIAL or not character.isascii():
            raise PatternError(f"{character!r} at {start} is not allowed here")
        return Some(frozenset(character))

    def _escape(self) -> frozenset[str]:
        if self.at >= len(self.text):
            raise PatternError("the pattern ends with a backslash")
        character = self.text[self.at]
        self.at += 1
        if character.isalnum() and character not in _CATEGORIES:
            raise PatternError(f"\\{character} is not allowed; \\d and \\w are")
        return _CATEGORIES.get(character, frozenset(character))

    def _group(self, start: int) -> OneOf:
        secret = self.text.startswith("?P<secret>", self.at)
        if not secret and not self.text.startswith("?:", self.at):
            raise PatternError(f"the group at {start} begins neither with (?: nor with (?P<secret>")
        self.at += len("?P<secret>") if secret else len("?:")
        branches = [self.sequence(grouped=True)]
        while self.text.startswith("|", self.at):
            self.at += 1
            branches.append(self.sequence(grouped=True))
        if not self.text.startswith(")", self.at):
            raise PatternError(f"the group at {start} is not closed")
        self.at += 1
        return OneOf(tuple(branches), secret=secret)

    def _characters(self, start: int) -> frozenset[str]:
        end = self.text.find("]", self.at + 1)
        inside = self.text[self.at : end]
        if end < 0 or inside.startswith("^") or not inside.isascii():
            raise PatternError(f"the class at {start} is open, negated, or not ASCII")
        self.at = end + 1
        found: set[str] = set()
        at = 0
        while at < len(inside):
            if inside[at] == "\\":
                found |= _CATEGORIES.get(inside[at + 1 : at + 2], frozenset(inside[at + 1 : at + 2]))
                at += 2
            elif inside[at + 1 : at + 2] == "-" and at + 2 < len(inside):
                if inside[at] > inside[at + 2]:
                    raise PatternError(f"a range of the class at {start} is the wrong way round")
                found |= {chr(code) for code in range(ord(inside[at]), ord(inside[at + 2]) + 1)}
                at += 3
            else:
                found.add(inside[at])
                at += 1
        if not found:
            raise PatternError(f"the class at {start} is empty")
        return frozenset(found)


def parsed(text: str, most: int = MOST_REPEATED) -> Sequence:
    """Returns the parts of a pattern. Raises PatternError for one that is outside of the syntax."""
    reader = _Reader(text, most)
    items = reader.sequence(grouped=False)
    if not items:
        raise PatternError("the pattern is empty")
    endless = [item for item in _flat(items) if item.most is None]
    if endless and (len(endless) > 1 or _last_that_must_match(items) is not endless[0]):
        raise PatternError("after a repetition without an upper bound, an item must match")
    return items


def _last_that_must_match(items: Sequence) -> Some | None:
    for item in reversed(items):
        if isinstance(item, Some) and (item.least or item.most is None):
            return item
        if isinstance(item, OneOf) and not item.optional:
            return _last_that_must_match(item.branches[0]) if item.secret else None
    return None


def _flat(items: Sequence) -> Iterator[Some]:
    for item in items:
        if isinstance(item, Some):
            yield item
        else:
            for branch in item.branches:
                yield from _flat(branch)


def longest(items: Sequence) -> int:
    """Returns the most characters that an attempt reads before it fails. An endless repetition counts its minimum."""
    return sum(item.least if item.most is None else item.most for item in _flat(items))


def outside_endless(items: Sequence) -> int | None:
    """Returns how many characters of a match are outside of its endless repetition at most; None if it has none."""
    bounds = [item.most for item in _flat(items)]
    return sum(filter(None, bounds)) if None in bounds else None


class Rejections:
    """Where in one text matches of patterns with an endless repetition would be rejected again.

    A match that begins inside of the endless repetition of another one ends where that one ends, so it is rejected for
    the same reason. Without this, `-acme_-acme_-acme_…` would be read to its end from each of its prefixes.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, int]] = {}

    def holds(self, pattern: str, at: int) -> bool:
        """Returns whether a match of a pattern that begins at a place is rejected, without a try."""
        start, end = self._known.get(pattern, (0, 0))
        return start <= at < end

    def add(self, pattern: str, outside: int | None, at: int, end: int, last: int | None = None) -> None:
        """Remembers that the match from `at` to `end` is rejected, or only those that begin up to `last`."""
        if outside is None:
            return
        start, stop = at + outside, end - outside if last is None else min(end - outside, last + 1)
        known = self._known.get(pattern)
        if known is None or stop > known[1]:  # else it is a match of the same repetition, that begins later
            self._known[pattern] = start, stop


def compiled(items: Sequence) -> re.Pattern[str]:
    """Returns the regular expression of a pattern, which never goes back."""
    return re.compile(_expression(items), re.ASCII)


def _expression(items: Sequence) -> str:
    return "".join(map(_one, items))


def _one(item: Some | OneOf) -> str:
    if isinstance(item, OneOf):
        inner = "|".join(map(_expression, item.branches))
        group = f"(?P<secret>{inner})" if item.secret else f"(?>{inner})"
        return f"{group}?+" if item.optional else group
    one = re.escape(*item.characters) if len(item.characters) == 1 else _class(item.characters)
    if (item.least, item.most) == (1, 1):
        return one
    most = "" if item.most is None else item.most
    return f"{one}{{{item.least},{most}}}+"


def _class(characters: frozenset[str]) -> str:
    return "[" + "".join(re.escape(each) for each in sorted(characters)) + "]"


def heads(items: Sequence, size: int, limit: int = 600) -> frozenset[str] | None:
    """Returns all texts of `size` characters that a match can begin with; None if there are more than `limit`."""
    found = _heads(items, {""}, size, limit)
    return None if found is None else frozenset(each for each in found if len(each) == size)


def _heads(items: Sequence, found: set[str], size: int, limit: int) -> set[str] | None:
    for item in items:
        done = {each for each in found if len(each) >= size}
        open_ = found - done
        if not open_:
            break
        grown = _grown(item, open_, size, limit)
        if grown is None or len(grown) + len(done) > limit:
            return None
        found = done | grown
    return found


def _grown(item: Some | OneOf, open_: set[str], size: int, limit: int) -> set[str] | None:
    if isinstance(item, OneOf):
        grown = set(open_) if item.optional else set()
        for branch in item.branches:
            more = _heads(branch, set(open_), size, limit)
            if more is None:
                return None
            grown |= more
        return grown
    grown, current = (set(open_) if not item.least else set()), open_
    for count in range(1, min(size, item.most or size) + 1):
        full = {each for each in current if len(each) >= size}
        if (len(current) - len(full)) * len(item.characters) > limit:
            return None
        current = full | {each + more for each in current - full for more in item.characters}
        if count >= min(item.least, size):
            grown |= current
    return grown
