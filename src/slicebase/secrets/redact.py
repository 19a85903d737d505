"""Redaction: replaces secrets in a text, or in the texts of a value, by marks, and counts them by rule.

A mark reads `[redacted:github-token]`. The values themselves are never reported. The steps, each in linear time: what
is private is removed first; then keys over lines, keys of known shapes, values of names that promise a secret, and
passwords in URLs and commands are found; then all are replaced at once. Where two overlap, one mark replaces both.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from slicebase.secrets.context import WORDS, curl_passwords, headers, is_value, named_values, url_passwords
from slicebase.secrets.issuers import ISSUED
from slicebase.secrets.names import kind_of_name
from slicebase.secrets.regions import SecretSpan, private_keys, private_parts
from slicebase.secrets.rule_file import UserRule
from slicebase.secrets.scan import Scanner, table
from slicebase.secrets.shape import is_password

SHORTEST: Final = 8
ROUNDS: Final = 4


class Redacted(NamedTuple):
    """A text without secrets, and how many were replaced, by rule."""

    text: str
    counts: Mapping[str, int]


class RedactedValue(NamedTuple):
    """A JSON-like value without secrets, and how many were replaced, by rule."""

    value: Any
    counts: Mapping[str, int]


def mark(label: str) -> str:
    """Returns what a secret is replaced by."""
    return f"[redacted:{label}]"


class Redactor:
    """The built-in rules and those of the user. It keeps nothing of a text."""

    def __init__(self, more: Iterable[UserRule] = ()) -> None:
        self._scanner = Scanner(table(ISSUED))
        self._more = tuple(more)

    def text(self, text: str, counts: Counter[str]) -> str:
        """Returns the text without secrets, and adds to `counts`. Without a secret it is the same object."""
        if len(text) < SHORTEST:
            return text
        for _ in range(ROUNDS):  # a second round finds nothing, unless a secret was hidden by another one
            spans = self._spans(text)
            if not spans:
                return text
            text = _replaced(text, spans, counts)
        return text

    def value(self, value: Any, counts: Counter[str]) -> Any:
        """Returns a value without secrets in its texts, keys included. The names of entries count as context."""
        if isinstance(value, str):
            return self.text(value, counts)
        if isinstance(value, Mapping):
            return {self.text(key, counts): self._entry(key, inner, counts) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(inner, counts) for inner in value]
        return value

    def _entry(self, name: str, value: Any, counts: Counter[str]) -> Any:
        redacted = self.value(value, counts)
        if not isinstance(value, str) or redacted != value or not SHORTEST <= len(value) <= 256:
            return redacted
        kind = kind_of_name(name)
        if kind == "password" and is_password(value, quoted=True):
            counts[kind] += 1
            return mark(kind)
        if kind and " " not in value and len(value) >= 10 and is_value(kind, value):
            counts[kind] += 1
            return mark(kind)
        return value

    def _spans(self, text: str) -> list[SecretSpan]:
        data = text.encode("ascii", "replace")  # one byte a character, so that positions are the same
        lower = data.lower()
        found = self._scanner.spans(text, data)
        for word in WORDS:
            if word in lower:
                found += named_values(text, lower, word)
        if b"uthorization" in lower:
            found += headers(text, lower)
        if b"private" in lower:
            found += private_parts(text)
            found += private_keys(text)
        if b":" in data:  # one character is found much faster than a word
            if b"@" in data and b"://" in data:
                found += url_passwords(text)
            if b"curl " in data:
                found += curl_passwords(text)
        for rule in self._more:
            found += rule.spans(text)
        return found


def _replaced(text: str, spans: list[SecretSpan], counts: Counter[str]) -> str:
    """Returns the text with its spans replaced. Of spans that overlap, the first gives the label."""
    pieces: list[str] = []
    done, last = 0, -1
    label = ""
    for span in sorted(spans, key=lambda each: (each.start, -each.end)):
        if span.start < last:
            last = max(last, span.end)
            continue
        if last >= 0:
            pieces.append(mark(label))
            counts[label] += 1
            done = last
        pieces.append(text[done : span.start])
        last, label = span.end, span.label
    pieces.append(mark(label))
    counts[label] += 1
    return "".join((*pieces, text[last:]))


@lru_cache(1)
def built_in() -> Redactor:
    """Returns the redactor with the built-in rules."""
    return Redactor()


def redact(text: str, redactor: Redactor | None = None) -> Redacted:
    """Returns a text without secrets, with counts by rule."""
    counts: Counter[str] = Counter()
    return Redacted((redactor or built_in()).text(text, counts), counts)


def redact_value(value: Any, redactor: Redactor | None = None) -> RedactedValue:
    """Returns a JSON-like value without secrets, with counts by rule."""
    counts: Counter[str] = Counter()
    return RedactedValue((redactor or built_in()).value(value, counts), counts)
