r"""Secrets that reach over lines: private keys in PEM, and what stands between `<private>` and `</private>`.

A private key ends where its END line begins, whatever is around its lines. In a text that was cut off, it ends with the
last character that can be part of one. Its line breaks may be written as `\n`, as in JSON. What is private may contain
further private parts; if it is not closed, it reaches to the end of the text. A tag between backticks is a mention, not
a mark. Both forms of `<` in JSON are known, `<` and `\u003c`.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

PRIVATE: Final = "private"
PRIVATE_KEY: Final = "private-key"
_SHORTEST_KEY: Final = 16  # characters between the lines BEGIN and END


class SecretSpan(NamedTuple):
    """A part of a text to replace, and the name of the rule that says so."""

    start: int
    end: int
    label: str


_TAG: Final = re.compile(
    r"(?:<|\\u003c)(?P<close>/?)private(?:\s[^<>]{0,100}+)?(?:>|\\u003e)", re.IGNORECASE | re.ASCII
)
_BEGIN: Final = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_LINE_OF_KEY: Final = re.compile(r"[A-Za-z0-9+/]{40,}+")
_BODY: Final = re.compile(r"(?:[A-Za-z0-9+/=\s:,.()<>@_*-]|\\+[nrt/]|\\+u000[adAD])*+")


def private_parts(text: str) -> Iterator[SecretSpan]:
    """Yields what is marked as private, with its tags."""
    depth, start = 0, 0
    for tag in _TAG.finditer(text):
        if _is_mention(text, tag):
            continue
        if not tag["close"]:
            if depth == 0:
                start = tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                yield SecretSpan(start, tag.end(), PRIVATE)
    if depth:
        yield SecretSpan(start, len(text), PRIVATE)


def _is_mention(text: str, tag: "re.Match[str]") -> bool:
    """Returns whether a tag is named as code, as in a sentence about it."""
    return text[tag.start() - 1 : tag.start()] == "`" == text[tag.end() : tag.end() + 1]


def private_keys(text: str) -> Iterator[SecretSpan]:
    """Yields the bodies of private keys, complete or cut off."""
    at = 0
    while (begin := text.find("-----BEGIN ", at)) >= 0:
        found = _BEGIN.match(text, begin)
        if found is None:
            at = begin + 1
            continue
        at = found.end()
        # A body contains no five dashes: the END line, or the next BEGIN, comes first.
        stop = text.find("-----", at)
        body = _BODY.match(text, at, stop if stop >= 0 else len(text))
        end = body.end() if body else at
        if end < stop and text.startswith("-----END ", stop) and _LINE_OF_KEY.search(text, at, stop):
            end = stop  # the lines have numbers, quotes or other marks around them
        if end - at >= _SHORTEST_KEY:
            yield SecretSpan(at, end, PRIVATE_KEY)
        at = max(end, at)
