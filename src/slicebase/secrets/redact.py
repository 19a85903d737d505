"""Redaction: replaces secrets in a text, or in the texts of a value, by marks, and counts them by rule.

A mark reads `[redacted:github-token]`. The values themselves are never reported. The steps, each in linear time: what
is private, keys over lines, keys of known shapes, values of names that promise a secret, and passwords in URLs and
commands are found in what a reader sees of the text; then all are replaced at once. Where two overlap, one mark
replaces both.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from slicebase.secrets.context import curl_passwords, headers, is_value, named_values, sql_passwords, url_passwords
from slicebase.secrets.glance import (
    HEADER_WORD,
    PRIVATE_WORD,
    RUN,
    SHORTEST,
    SQL_WORD,
    has_hidden,
    in_ascii,
    known_words,
    may_hold_private,
    may_hold_secrets,
)
from slicebase.secrets.issuers import ISSUED
from slicebase.secrets.names import kind_of_name
from slicebase.secrets.regions import SecretSpan, private_keys, private_parts
from slicebase.secrets.scan import Scanner, table
from slicebase.secrets.shape import SHORTEST_PASSWORD, is_password
from slicebase.secrets.view import View

if TYPE_CHECKING:  # most workspaces have no rules of their own
    from slicebase.secrets.rule_file import UserRule

ROUNDS: Final = 4
# What a word of a text leads to. Each function gets the text, and the text in small letters.
_BY_WORD: Final[Mapping[str, Callable[[str, str], Iterable[SecretSpan]]]] = {
    "pass": lambda text, lower: chain(named_values(text, lower, "passw"), named_values(text, lower, "_pass")),
    "pwd": lambda text, lower: named_values(text, lower, "pwd"),
    HEADER_WORD: headers,
    SQL_WORD: sql_passwords,
    PRIVATE_WORD: lambda text, lower: chain(private_parts(text, lower), private_keys(text)),
    "url": lambda text, _: curl_passwords(text),
}


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
    """The built-in rules and those of the user. It keeps nothing of a text.

    With `only_private`, it replaces only what is marked as private.
    """

    def __init__(self, more: "Iterable[UserRule]" = (), *, only_private: bool = False) -> None:
        self._more = tuple(more)
        self._only_private = only_private

    @property
    def rules(self) -> str:
        """What tells this redactor from others: the user's rules, and whether only what is private is replaced."""
        return repr(
            [(rule.name, rule.pattern.pattern, rule.pattern.flags) for rule in self._more] + [self._only_private]
        )

    @cached_property
    def _scanner(self) -> Scanner:
        return Scanner(table(ISSUED))

    def text(self, text: str, counts: Counter[str]) -> str:
        """Returns the text without secrets, and adds to `counts`. Without a secret it is the same object."""
        if len(text) < SHORTEST:
            return text
        for _ in range(ROUNDS):  # a second round finds nothing, unless a secret was hidden by another one
            spans = self._found(text)
            if not spans:
                return text
            text = _replaced(text, spans, counts)
        return text

    def passes(self, text: str) -> bool:
        """Returns whether a glance shows that nothing in a text is replaced, nor in any of its lines."""
        if self._more:
            return False
        return not (may_hold_private(text) if self._only_private else may_hold_secrets(text))

    def value(self, value: Any, counts: Counter[str]) -> Any:
        """Returns a value without secrets in its texts, keys included. The names of entries count as context."""
        if isinstance(value, str):
            return self.text(value, counts)
        if isinstance(value, Mapping):
            return {self.value(key, counts): self._entry(key, inner, counts) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(inner, counts) for inner in value]
        return value

    def _entry(self, name: Any, value: Any, counts: Counter[str]) -> Any:
        redacted = self.value(value, counts)
        if not isinstance(value, str) or redacted != value or not SHORTEST_PASSWORD <= len(value) <= 256:
            return redacted
        if self._only_private or not isinstance(name, str):
            return value
        kind = kind_of_name(name)
        if kind == "password" and is_password(value, quoted=True):
            counts[kind] += 1
            return mark(kind)
        if kind and " " not in value and len(value) >= 10 and is_value(kind, value):
            counts[kind] += 1
            return mark(kind)
        return value

    def _found(self, text: str) -> list[SecretSpan]:
        if self._only_private and not may_hold_private(text):
            return []
        find = self._private if self._only_private else self._spans
        plain = in_ascii(text)
        if not has_hidden(text, plain):
            return find(text, plain)
        view = View(text)
        return [view.original(span) for span in find(view.text, in_ascii(view.text))]

    def _private(self, text: str, plain: str) -> list[SecretSpan]:
        return private_parts(text, plain.lower())

    def _spans(self, text: str, plain: str) -> list[SecretSpan]:
        found = self._scanner.spans(text, plain.encode()) if len(text) >= RUN else []
        lower = plain.lower()
        for word in known_words(lower):
            found += _BY_WORD[word](text, lower)
        if "@" in plain and ":" in plain:
            found += url_passwords(text)
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


@lru_cache(1)
def private_only() -> Redactor:
    """Returns the redactor that replaces only what is marked as private."""
    return Redactor(only_private=True)


def redact(text: str, redactor: Redactor | None = None) -> Redacted:
    """Returns a text without secrets, with counts by rule."""
    counts: Counter[str] = Counter()
    return Redacted((redactor or built_in()).text(text, counts), counts)


def redact_value(value: Any, redactor: Redactor | None = None) -> RedactedValue:
    """Returns a JSON-like value without secrets, with counts by rule."""
    counts: Counter[str] = Counter()
    return RedactedValue((redactor or built_in()).value(value, counts), counts)
