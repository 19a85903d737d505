"""A glance at a text: whether redaction has to look at it at all. Most short texts need no more.

It is exact: what it passes holds nothing that a built-in rule replaces. So a command that writes a sentence or two
loads no rules, which take longer than the command itself.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

SHORTEST: Final = 8  # characters of a text that can hold a secret
RUN: Final = 16  # characters of a run in which keys are searched
LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
TOKEN: Final = frozenset(LETTERS + b"-~")
KINDS: Final = bytes(97 if byte in TOKEN else 32 for byte in range(256))
NEEDLE: Final = b" " + b"a" * RUN
HEADER_WORD: Final = "uthorization"
SQL_WORD: Final = "identified by"
PRIVATE_WORD: Final = "private"
# Words around secrets: `passw`, `_pass`, `pwd` and others. They are searched together, by a letter that they share:
# `re` passes everything up to this letter at once. That takes a third of the time of a search for each word.
_WORDS: Final = (
    re.compile(rf"p(?:ass(?:(?=w)|(?<=_pass))|wd|{PRIVATE_WORD[1:]})"),
    re.compile(rf"u(?:{HEADER_WORD[1:]}|rl(?<=curl))"),
)
# Characters that are not shown: without a width, or marks of direction.
INVISIBLE: Final = (
    "\u00ad\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
)
_ESCAPED: Final = re.compile(r"\\(?:u00[0-7]|x1[bB]|033|e\[|/\\)")  # of JSON, and of control sequences in source code
_PERCENT: Final = re.compile(r"%(?:2[0267C]|3[ABDF]|5B|7B)")  # in URLs


def may_hold_secrets(text: str) -> bool:
    """Returns whether a built-in rule can replace something in a text."""
    if len(text) < SHORTEST:
        return False
    plain = in_ascii(text)
    if has_hidden(text, plain):
        return True
    return (
        kinds_of(plain.encode()).rfind(NEEDLE) >= 0
        or bool(known_words(plain.lower()))
        or ("@" in plain and "://" in plain)
    )


def known_words(lower: str) -> list[str]:
    """Returns the words that can stand around a secret, and that a text in small letters contains."""
    words: list[str] = []
    for pattern in _WORDS:
        if pattern.search(lower):
            words += dict.fromkeys(pattern.findall(lower))
    if SQL_WORD in lower:
        words.append(SQL_WORD)
    return words


def kinds_of(data: bytes) -> bytes:
    """Returns `a` for each character of a run, and a space for any other, also before the first and after the last."""
    return (b" %b " % data).translate(KINDS)


def in_ascii(text: str) -> str:
    """Returns a text with `?` for each character outside ASCII, so that the places of the others are the same."""
    return text if text.isascii() else text.encode("ascii", "replace").decode()


def value_may_hold_secrets(value: Any) -> bool:
    """Returns whether a built-in rule can replace something in a JSON-like value, whose names count as context."""
    if isinstance(value, str):
        return may_hold_secrets(value)
    if isinstance(value, Mapping):
        return any(
            value_may_hold_secrets(name) or _may_be_secret(inner) or value_may_hold_secrets(inner)
            for name, inner in value.items()
        )
    return isinstance(value, list | tuple) and any(map(value_may_hold_secrets, value))


def _may_be_secret(value: Any) -> bool:
    """Returns whether a value can be a password or a key if its name says so: it has no space, and is no plain word."""
    if not isinstance(value, str) or any(map(str.isspace, value)):
        return False
    return not (value.isalpha() and (value.islower() or value.isupper()))


def may_hold_private(text: str) -> bool:
    """Returns whether something in a text can be marked as private."""
    return len(text) >= SHORTEST and (has_hidden(text, in_ascii(text)) or "private" in text.lower())


def has_hidden(text: str, plain: str) -> bool:
    """Returns whether a text contains something that is not shown as it is (`view`). `plain` is the text in ASCII."""
    if "\x1b" in plain or ("\\" in plain and _ESCAPED.search(plain)) or ("%" in plain and _PERCENT.search(plain)):
        return True
    return plain is not text and has_invisible(text)


def has_invisible(text: str) -> bool:
    """Returns whether a text contains a character that is not shown. One character is found faster than a class."""
    return not text.isascii() and any(each in text for each in INVISIBLE)
