"""Finds the keys of known shapes: one pass over the runs of token characters, each looked at once.

Nearly every secret contains a run of at least `RUN` letters, digits, `_` and `-`. It is cheap to map each byte to
"token character or not" and to search for such runs. Only at a run are rules tried: those that can begin with its
first three characters, or with the three after a `-`; and where the run continues something (`SG.`, `sha256~`), at the
few places to its left where a word begins.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from slicebase.secrets.context import assigned
from slicebase.secrets.pattern import compiled, heads, parsed
from slicebase.secrets.regions import Span
from slicebase.secrets.shape import is_placeholder, looks_random

RUN: Final = 14
HEAD_SIZE: Final = 3
_LONG: Final = 36  # runs from which on anchors are searched
_LEFT: Final = 72  # how far a run is continued to the left
_TOKEN: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-~")
_GLUE: Final = frozenset(b".:/+|%=!$@")
_KINDS: Final = bytes(97 if byte in _TOKEN else 32 for byte in range(256))
_WIDE: Final = bytes(97 if byte in _TOKEN | _GLUE else 32 for byte in range(256))
_VALUES: Final = bytes(97 if byte in _TOKEN | frozenset(b"./+=%") else 32 for byte in range(256))
_NEEDLE: Final = b"a" * RUN
_BORDERS: Final = re.compile(rb"[^A-Za-z0-9_](?=[A-Za-z0-9_])")
_EQUALS: Final = re.compile(rb"=++")
_DIGIT: Final = re.compile(rb"[0-9]")
_OPENERS: Final = frozenset(b"\"'`= \t:>,|\\")


class IssuedRule(NamedTuple):
    """A shape of keys. The group `secret` is replaced if the pattern has one, else the complete match."""

    label: str
    source: str
    anchor: str = ""
    whole: bool = False
    mixed: bool = False


def table(lines: str) -> Iterator[IssuedRule]:
    """Yields the rules of a table of lines (`issuers` describes it)."""
    for line in lines.splitlines():
        if line and not line.startswith("#"):
            label, source, *more = line.split()
            anchor = next((word.removeprefix("anchor=") for word in more if word.startswith("anchor=")), "")
            yield IssuedRule(label, source, anchor, "whole" in more, "mixed" in more)


class _Ready(NamedTuple):
    rule: IssuedRule
    anchor: bytes


class Scanner:
    """The rules, ready to be tried at the runs of a text."""

    def __init__(self, rules: Iterable[IssuedRule]) -> None:
        self._by_head: dict[bytes, list[_Ready]] = defaultdict(list)
        self._anchored: list[_Ready] = []
        self._patterns: dict[str, re.Pattern[str]] = {}
        for rule in rules:
            ready = _Ready(rule, rule.anchor.encode())
            firsts = heads(parsed(rule.source), HEAD_SIZE) if not rule.anchor else None
            if firsts is None:
                self._anchored.append(ready)
            for head in firsts or ():
                self._by_head[head.encode()].append(ready)
        self._by_head.default_factory = None

    def spans(self, text: str, data: bytes) -> Iterator[Span]:
        """Yields the secrets at the runs of a text. `data` has one byte a character, `?` for those outside ASCII."""
        kinds = data.translate(_KINDS)
        by_head = self._by_head
        start, size = kinds.find(_NEEDLE), len(data)
        while start >= 0:
            end = kinds.find(b" ", start)
            if end < 0:
                end = size
            before = data[start - 1] if start else 32
            span = None
            if (
                data[start : start + HEAD_SIZE] in by_head
                or before in _GLUE
                or end - start >= _LONG
                or data.find(b"-", start, end) >= 0
            ):
                span = self._issued(text, data, start, end)
            if span is None and (before in _OPENERS or before in _GLUE) and _DIGIT.search(data, start, end):
                span = next(_assigned(text, data, start, before), None)
            if span is None:
                start = kinds.find(_NEEDLE, end)
            else:
                yield span
                start = kinds.find(_NEEDLE, max(span.end, start + 1))

    def _issued(self, text: str, data: bytes, start: int, end: int) -> Span | None:
        left = _left_of(data, start, _WIDE) if start and data[start - 1] in _GLUE else start
        anchored = [each for each in self._anchored if data.find(each.anchor, left, end) >= 0] if (
            left < start or end - start >= _LONG
        ) else ()
        at = left
        while True:
            ready = self._by_head.get(data[at : at + HEAD_SIZE], ())
            for each in (*ready, *anchored) if anchored else ready:
                if each.rule.whole and at > left and data[at - 1] == 45:
                    continue
                span = self._match(text, at, each.rule)
                if span is not None and span.end > start:
                    return span
            border = _BORDERS.search(data, at, end)
            if border is None:
                return None
            at = border.end()

    def _match(self, text: str, at: int, rule: IssuedRule) -> Span | None:
        pattern = self._patterns.get(rule.source)
        if pattern is None:  # compiled when it is first needed: most texts need none
            pattern = self._patterns[rule.source] = compiled(parsed(rule.source))
        found = pattern.match(text, at)
        if found is None:
            return None
        end = found.end()
        if text[end : end + 1].isalnum() or text[end : end + 1] == "_":
            return None
        start, stop = found.span("secret") if "secret" in pattern.groupindex else found.span()
        value = text[start:stop]
        if is_placeholder(value[-16:]) or (rule.mixed and not looks_random(value)):
            return None
        return Span(start, stop, rule.label)


def _assigned(text: str, data: bytes, start: int, before: int) -> Iterator[Span]:
    """Yields the value that a run is part of, from each place where it can begin."""
    places = [start] if before in _OPENERS else []
    if before in _GLUE:
        left = _left_of(data, start, _VALUES)
        places += [left, *(each.end() for each in _EQUALS.finditer(data, left, start - 1))]
    for left in places:
        if left and data[left - 1] in _OPENERS and (span := assigned(text, left, start)):
            yield span


def _left_of(data: bytes, start: int, kinds: bytes) -> int:
    """Returns where the characters of a kind that end at `start` begin, at most `_LEFT` before it."""
    first = max(0, start - _LEFT)
    return first + data[first:start].translate(kinds).rfind(b" ") + 1
