r"""Rules of the user, in TOML:

    [[rule]]
    name = "acme-key"                          # small letters, digits and -; the mark is [redacted:acme-key]
    pattern = 'acme_(?P<secret>[a-z0-9]{20,})' # the group `secret` is replaced, or else the complete match
    mixed = true                               # optional: a match must also look random

A pattern has the syntax of `pattern`, begins with three or more fixed characters (a class of a few counts as such), and
reads at most `MOST_READ` characters before it fails. So each rule reads a text in linear time, whatever the text is;
nothing else is accepted, and nothing is timed. A match neither begins nor ends inside a word.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from slicebase.core.parsers import read_toml
from slicebase.errors import SlicebaseError
from slicebase.secrets.pattern import PatternError, Rejections, compiled, heads, longest, outside_endless, parsed
from slicebase.secrets.regions import SecretSpan
from slicebase.secrets.shape import looks_random

MOST_RULES: Final = 200
MOST_READ: Final = 4000
_MOST_REPEATED_BY_USER: Final = 1000
_FIXED: Final = 3
_MOST_BEGINNINGS: Final = 32
_NAME: Final = re.compile(r"[a-z][a-z0-9-]{1,39}")
_KEYS: Final = frozenset({"name", "pattern", "mixed"})


class UserRule(NamedTuple):
    """A rule of the user. A match begins with one of `beginnings`."""

    name: str
    pattern: re.Pattern[str]
    beginnings: tuple[str, ...]
    mixed: bool = False
    outside: int | None = None  # characters outside of an endless repetition

    def spans(self, text: str) -> Iterator[SecretSpan]:
        """Yields what the rule finds in a text."""
        rejected = Rejections()
        for beginning in self.beginnings:
            at = text.find(beginning)
            while at >= 0:
                span = self._at(text, at, rejected)
                if span is not None:
                    yield span
                at = text.find(beginning, max(at + 1, span.end if span else 0))

    def _at(self, text: str, at: int, rejected: Rejections) -> SecretSpan | None:
        if _is_word(text[at - 1 : at]) or rejected.holds("", at):
            return None
        found = self.pattern.match(text, at)
        if found is None:
            return None
        start, end = found.span("secret") if "secret" in self.pattern.groupindex else found.span()
        if (
            start == end
            or _is_word(text[found.end() : found.end() + 1])
            or (self.mixed and not looks_random(text[start:end]))
        ):
            rejected.add("", self.outside, at, found.end())
            return None
        return SecretSpan(start, end, self.name)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def read_rules(text: str) -> tuple[UserRule, ...]:
    """Returns the rules of a file. Raises `bad-rule`, with the rule and the key, for one that cannot be used."""
    document = read_toml(text, "bad-rule", "the file of rules")
    if unknown := set(document) - {"rule"}:
        raise SlicebaseError("bad-rule", f"unknown key {min(unknown)!r}", hint="rules begin with [[rule]]")
    entries = document.get("rule", [])
    if not isinstance(entries, list) or len(entries) > MOST_RULES:
        raise SlicebaseError("bad-rule", f"rule: not a list of at most {MOST_RULES} tables")
    return tuple(_rules(entries))


def _rules(entries: Iterable[Any]) -> Iterator[UserRule]:
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            raise SlicebaseError("bad-rule", f"rule {number}: not a table")
        if unknown := set(entry) - _KEYS:
            raise _error(number, entry, min(unknown), f"unknown key; there are {', '.join(sorted(_KEYS))}")
        name, pattern, mixed = entry.get("name"), entry.get("pattern"), entry.get("mixed", False)
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise _error(number, entry, "name", "2 to 40 small letters, digits and -, the first a letter")
        if not isinstance(mixed, bool):
            raise _error(number, entry, "mixed", "true or false")
        if not isinstance(pattern, str):
            raise _error(number, entry, "pattern", "a text is missing")
        try:
            yield _rule(name, pattern, mixed=mixed)
        except (PatternError, re.error, ValueError) as error:  # a group twice, a bound of thousands of digits
            raise _error(number, entry, "pattern", str(error)) from None
        except RecursionError:
            raise _error(number, entry, "pattern", "groups are nested too deeply") from None


def _rule(name: str, pattern: str, *, mixed: bool) -> UserRule:
    items = parsed(pattern, _MOST_REPEATED_BY_USER)
    beginnings = heads(items, _FIXED, _MOST_BEGINNINGS)
    if not beginnings:
        raise PatternError(f"it does not begin with {_FIXED} fixed characters")
    if longest(items) > MOST_READ:
        raise PatternError(f"it can read more than {MOST_READ} characters before it fails")
    return UserRule(name, compiled(items), tuple(sorted(beginnings)), mixed, outside_endless(items))


def _error(number: int, entry: dict[str, Any], key: str, message: str) -> SlicebaseError:
    name = entry.get("name")
    which = f"rule {number} ({name})" if isinstance(name, str) else f"rule {number}"
    return SlicebaseError("bad-rule", f"{which}, {key}: {message}", hint="docs/redaction.md describes rules")
