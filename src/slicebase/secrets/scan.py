"""Finds the keys of known shapes: one pass over the runs of token characters, each looked at once.

Nearly every secret contains a run of at least `RUN` letters, digits, `_` and `-`. It is cheap to map each byte to
"token character or not" and to search for such runs. Only at a run are rules tried: those that can begin with its
first three characters, or with the three after a `-`; and where the run continues something (`SG.`, `sha256~`), at the
few places to its left where a word begins. A few rules are also tried inside of a word, where their prefix is.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from slicebase.secrets.context import assigned
from slicebase.secrets.glance import LETTERS, NEEDLE, RUN, TOKEN, kinds_of
from slicebase.secrets.pattern import PatternError, Rejections, compiled, heads, outside_endless, parsed
from slicebase.secrets.regions import SecretSpan
from slicebase.secrets.shape import is_dense, looks_random

HEAD_SIZE: Final = 3
_PREFIXES: Final = 64  # at most this many prefixes of a rule are compared before its pattern is tried
_PREFIX_SIZES: Final = (7, 4)
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]{3,}+(?![{?])|[A-Za-z0-9_-]{3,}(?=[A-Za-z0-9_-][{?])")
LABELLED: Final = "labelled-key"
_LABELLED: Final = 26  # the shortest run that can be one, and the shortest random part of it
_LABELLED_VALUE: Final = 20
_LABELLED_GROUP: Final = re.compile(r"[A-Za-z0-9]{8}")  # names of files have only short words: test-8000Hz-le-5ch-24bit
_LONG: Final = 36  # runs from which on anchors are searched
_REACH: Final = 84  # how far an anchor is from the start of a match at most
_ALL_X: Final = 8  # a key that ends like this is a placeholder
_GLUED: Final = 200  # characters of a word before a key
_TRIES: Final = 8  # places inside of a word at which rules are tried
_CONTINUES: Final = re.compile(r"_{0,8}+[A-Za-z0-9]")  # a key ends before it, unless more of the word follows
_DASH: Final = ord("-")
_BACKSLASH: Final = ord("\\")
_LEFT: Final = 72  # how far a run is continued to the left
_GLUE: Final = frozenset(b".:/+|%=!$@")
_WIDE: Final = bytes(97 if byte in TOKEN | _GLUE else 32 for byte in range(256))
_VALUES: Final = bytes(97 if byte in TOKEN | frozenset(b"./+=%") else 32 for byte in range(256))
_WORDS: Final = bytes(byte if byte in LETTERS else 32 for byte in range(256))
_BORDERS: Final = re.compile(rb"[^A-Za-z0-9_](?=[A-Za-z0-9_])")
# Words before the random part that say what it is; a further word may stand before it: sk_acme_…
_LABEL: Final = re.compile(
    rb"(?:[A-Za-z0-9]{2,12}[_-]){0,2}?(?:[A-Za-z]{0,8}(?:[Kk]ey|[Tt]oken|[Ss]ecret)|KEY|TOKEN|SECRET|CI|live|prod|test|sk|pat|api)"
    rb"[_-](?:[A-Za-z]{2,8}[_-])?"
)
_EQUALS: Final = re.compile(rb"=++")
_HAS_DIGIT: Final = re.compile(rb"[A-Za-z_~-]*+[0-9]")  # of a run
_HEX_DIGITS: Final = b"0123456789abcdefABCDEF-"
_OPENERS: Final = frozenset(b"\"'`= \t:>,|\\")
_LOOK_LEFT: Final = _OPENERS | _GLUE
_OPERATORS: Final = frozenset(b"=:>,|?\"'` \t\\*")
_SPACE: Final = ord(" ")


class IssuedRule(NamedTuple):
    """A shape of keys. The group `secret` is replaced if the pattern has one, else the complete match."""

    label: str
    source: str
    anchor: str = ""
    whole: bool = False
    mixed: bool = False
    glued: bool = False
    alone: bool = False


def table(lines: str) -> Iterator[IssuedRule]:
    """Yields the rules of a table of lines (`issuers` describes it)."""
    for line in lines.splitlines():
        if line and not line.startswith("#"):
            label, source, *more = line.split()
            anchors = [word.removeprefix("anchor=") for word in more if word.startswith("anchor=")]
            words = ("whole" in more, "mixed" in more, "glued" in more, "alone" in more)
            yield IssuedRule(label, source, "".join(anchors), *words)


class _Ready(NamedTuple):
    rule: IssuedRule
    prefixes: tuple[bytes, ...]  # a match begins with one of them, or contains this anchor


class _Compiled(NamedTuple):
    pattern: re.Pattern[str]
    outside: int | None  # characters outside of an endless repetition


class Scanner:
    """The rules, ready to be tried at the runs of a text."""

    def __init__(self, rules: Iterable[IssuedRule]) -> None:
        self._by_head: dict[bytes, list[_Ready]] = {}
        self._anchored: list[_Ready] = []
        self._patterns: dict[str, _Compiled] = {}
        for rule in rules:
            if rule.anchor:
                self._anchored.append(_Ready(rule, (rule.anchor.encode(),)))
                continue
            prefixes = _prefixes(rule)
            for head in {prefix[:HEAD_SIZE] for prefix in prefixes}:
                self._by_head.setdefault(head, []).append(_Ready(rule, prefixes))
        anchors = sorted({re.escape(each.rule.anchor.encode()) for each in self._anchored})
        self._anchors = re.compile(b"|".join(anchors) or b"(?!)")
        self._sure = {  # what a key can begin with that has no digit
            head: tuple(prefix for each in ready for prefix in each.prefixes)
            for head, ready in self._by_head.items()
            if not all(each.rule.mixed for each in ready)
        }
        glued = {
            prefix for ready in self._by_head.values() for each in ready if each.rule.glued for prefix in each.prefixes
        }
        self._glued = _inside_of_words(glued)
        self._first_words = frozenset(each.translate(_WORDS).split(b" ")[0] for each in self._by_head)

    def spans(self, text: str, data: bytes) -> list[SecretSpan]:
        """Returns the secrets at the runs of a text. `data` has one byte a character, `?` for those outside ASCII."""
        kinds = kinds_of(data)
        starts = _starts(kinds)
        if not starts:
            return []
        found: list[SecretSpan] = []
        rejected = Rejections()
        done = 0
        sure, has_digit = self._sure, _HAS_DIGIT.match
        for run in reversed(starts):
            start = run if run >= done else done  # a key may reach into this run
            with_digit = has_digit(data, start)
            if not with_digit and data[start : start + HEAD_SIZE] not in sure and data[start - 1] != _BACKSLASH:
                continue  # most runs: few keys have no digit
            end = kinds.find(b" ", run + RUN) - 1
            if end - start < RUN:
                continue
            at_run = self._at_run if with_digit else self._without_digit
            if more := at_run(text, data, start, end, rejected):
                found += more
                done = more[-1].end
        return found

    def _without_digit(self, text: str, data: bytes, start: int, end: int, rejected: Rejections) -> list[SecretSpan]:
        start = _after_escape(data, start)
        prefixes = self._sure.get(data[start : start + HEAD_SIZE])
        if prefixes and (data.startswith(prefixes, start) or _BORDERS.search(data, start, end)):
            return self._issued(text, data, start, start, end, rejected)
        return []

    def _at_run(self, text: str, data: bytes, start: int, end: int, rejected: Rejections) -> list[SecretSpan]:
        before = data[start - 1] if start else _SPACE
        start = _after_escape(data, start)
        left = _left_of(data, start, _WIDE) if before in _GLUE else start
        named = (  # not just a hash or a UUID
            left < start
            or data[start : start + HEAD_SIZE] in self._by_head
            or data[start:end].translate(None, _HEX_DIGITS)
        )
        if named:
            found = self._known(text, data, left, start, end, rejected)
            if found or (found := self._inside(text, data, start, end, rejected)):
                return found
        if before in _LOOK_LEFT and (span := _assigned(text, data, start, before)):
            return [span]
        return _labelled(text, data, start, end) if named and end - start >= _LABELLED else []

    def _known(self, text: str, data: bytes, left: int, start: int, end: int, rejected: Rejections) -> list[SecretSpan]:
        """Returns the keys of the rules in a run, after a look at what the rules can begin with."""
        if left < start:
            words = data[left:end].translate(_WORDS).split()
            known = not self._first_words.isdisjoint([word[:HEAD_SIZE] for word in words])
        elif data.find(b"-", start, end) < 0:
            known = data[start : start + HEAD_SIZE] in self._by_head
        else:
            known = not self._first_words.isdisjoint([word[:HEAD_SIZE] for word in data[start:end].split(b"-")])
        anchored = (left < start or end - start >= _LONG) and self._anchors.search(data, left, end)
        if not known and not anchored:
            return []
        return self._issued(text, data, left, start, end, rejected, self._anchored if anchored else ())

    def _inside(self, text: str, data: bytes, start: int, end: int, rejected: Rejections) -> list[SecretSpan]:
        """Returns the first key that begins inside of a word of a run, after at most `_GLUED` characters."""
        for place in islice(self._glued.finditer(data, start, min(end, start + _GLUED)), _TRIES):
            for ready in self._by_head[data[place.start() : place.start() + HEAD_SIZE]]:
                span = self.match(text, place.start(), ready.rule, rejected) if ready.rule.glued else None
                value = text[span.start : span.end] if span else ""
                if span and (looks_random(value) or value.isupper()):  # capitals and digits alone are no word
                    return [span]
                if span:
                    outside = self._compiled(ready.rule).outside
                    rejected.add(ready.rule.source, outside, place.start(), span.end)
        return []

    def _issued(
        self,
        text: str,
        data: bytes,
        left: int,
        start: int,
        end: int,
        rejected: Rejections,
        anchored: Iterable[_Ready] = (),
    ) -> list[SecretSpan]:
        """Returns the keys that begin at a border of a word from `left` on, and reach into the run."""
        found: list[SecretSpan] = []
        at = left
        while True:
            span = self._key_at(text, data, left, at, rejected, anchored)
            if span is not None and span.end > start:
                found.append(span)
                at = span.end
            border = _BORDERS.search(data, at, end)
            if border is None:
                return found
            at = border.end()

    def _key_at(
        self, text: str, data: bytes, left: int, at: int, rejected: Rejections, anchored: Iterable[_Ready]
    ) -> SecretSpan | None:
        for ready in self._by_head.get(data[at : at + HEAD_SIZE], ()):
            if data.startswith(ready.prefixes, at) and not (ready.rule.whole and at > left and data[at - 1] == _DASH):
                span = self.match(text, at, ready.rule, rejected)
                if span is not None:
                    return span
        for ready in anchored:
            if data.find(ready.prefixes[0], at, at + _REACH) >= 0:
                span = self.match(text, at, ready.rule, rejected)
                if span is not None:
                    return span
        return None

    def match(self, text: str, at: int, rule: IssuedRule, rejected: Rejections | None = None) -> SecretSpan | None:
        """Returns the key of a rule that begins at a place, or None. `rejected` is what is known of this text."""
        if (rejected and rejected.holds(rule.source, at)) or (rule.alone and text.endswith(("/", "+"), 0, at)):
            return None
        pattern, outside = self._compiled(rule)
        found = pattern.match(text, at)
        if found is None:
            return None
        start, stop = found.span("secret") if "secret" in pattern.groupindex else found.span()
        value = text[start:stop]
        last: int | None = None
        if (
            not _CONTINUES.match(text, found.end())
            and value[-_ALL_X:].lower() != "x" * _ALL_X
            and not (rule.mixed and not looks_random(value))
            and not (rule.alone and text.startswith(("/", "+", "="), found.end()))
        ):
            yours = max(value.rfind("your-"), value.rfind("your_"))
            if yours < 0:
                return SecretSpan(start, stop, rule.label)
            last = at + yours
        if rejected:
            rejected.add(rule.source, outside, at, found.end(), last)
        return None

    def _compiled(self, rule: IssuedRule) -> _Compiled:
        found = self._patterns.get(rule.source)
        if found is None:  # compiled when it is first needed: most texts need none
            items = parsed(rule.source)
            found = self._patterns[rule.source] = _Compiled(compiled(items), outside_endless(items))
        return found


def _starts(kinds: bytes) -> list[int]:
    """Returns where the runs of a text begin, the last one first.

    From right to left, a space and a run are found in two thirds of the time that a run takes from left to right.
    """
    found: list[int] = []
    start = kinds.rfind(NEEDLE)
    while start >= 0:
        found.append(start)
        start = kinds.rfind(NEEDLE, 0, start + 1)
    return found


def _prefixes(rule: IssuedRule) -> tuple[bytes, ...]:
    """Returns the texts that a match begins with, of one length: long ones, as long as they are few.

    A pattern that begins with plain characters is not parsed for that, so that the rules are ready quickly.
    """
    plain = _PLAIN.match(rule.source)
    if plain:
        size = next(size for size in (*_PREFIX_SIZES, HEAD_SIZE) if len(plain[0]) >= size)
        return (plain[0][:size].encode(),)
    items = parsed(rule.source)
    found = next(filter(None, (heads(items, size, _PREFIXES) for size in _PREFIX_SIZES)), None) or heads(
        items, HEAD_SIZE
    )
    if not found:
        raise PatternError("the first three characters can be anything, and there is no anchor")
    return tuple(sorted(each.encode() for each in found))


def _inside_of_words(prefixes: set[bytes]) -> re.Pattern[bytes]:
    """Returns a pattern for the first character of a prefix that does not begin a word.

    It begins with a class of characters: so the places where no prefix can begin are passed quickly.
    """
    if not prefixes:
        return re.compile(b"(?!)")
    first, each = re.escape(bytes({prefix[0] for prefix in prefixes})), b"|".join(map(re.escape, sorted(prefixes)))
    return re.compile(b"[" + first + b"](?<=[A-Za-z0-9_].)(?<=(?=" + each + b").)")


def _assigned(text: str, data: bytes, start: int, before: int) -> SecretSpan | None:
    """Returns the value that a run is part of, if it is assigned to a name that promises a secret."""
    if before == _SPACE and data[start - 2] not in _OPERATORS:  # the most frequent case: a word, a space, a hash
        tail = text[max(0, start - 48) : start].lower()
        if "--" not in tail and "bearer" not in tail and "uthorization" not in tail:
            return None
    if before in _OPENERS and (span := assigned(text, start, start)):
        return span
    if before in _GLUE:
        left = _left_of(data, start, _VALUES)
        for place in (left, *(each.end() for each in _EQUALS.finditer(data, left, start - 1))):
            if place and data[place - 1] in _OPENERS and (span := assigned(text, place, start)):
                return span
    return None


def _labelled(text: str, data: bytes, start: int, end: int) -> list[SecretSpan]:
    """Returns a run that says itself that it is a key: `acme_live_…`, `sk-acme-…`, `acmetoken_…`."""
    label = _LABEL.match(data, start, end)
    if label is None:
        return []
    value = text[label.end() : end].rstrip("-~")
    stop = label.end() + len(value)
    if len(value) < _LABELLED_VALUE or not _LABELLED_GROUP.search(value) or not is_dense(value):
        return []
    return [SecretSpan(start, stop, LABELLED)]


def _left_of(data: bytes, start: int, kinds: bytes) -> int:
    """Returns where the characters of a kind that end at `start` begin; `start` if that is more than `_LEFT` before.

    So the inside of a long text in base64 is not looked at again and again.
    """
    first = max(0, start - _LEFT)
    found = data[first:start].translate(kinds).rfind(b" ")
    return start if found < 0 < first else _after_escape(data, first + found + 1)


def _after_escape(data: bytes, start: int) -> int:
    """Returns where a word begins: one later, if its first letter ends an escape such as `\\n`."""
    return start + 1 if start and data[start - 1] == _BACKSLASH and data[start] in b"nrt" else start
