r"""Secrets that reach over lines: private keys in PEM, and what stands between `<private>` and `</private>`.

A private key ends where its END line begins, whatever is around its lines. In a text that was cut off, it ends with the
last character that can be part of one. Its line breaks may be written as `\n`, as in JSON. What is private may contain
further private parts. What is not closed reaches to the end of the text, unless its tag may be code: `List<Private>`,
`template <private T>`. A tag between backticks is a mention, not a mark. Both forms of `<` in JSON are known, `<` and
`\u003c`; `< private>`, `&lt;private&gt;` and `%3Cprivate%3E` count if they are closed.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from slicebase.secrets.glance import PRIVATE_WORD

PRIVATE: Final = "private"
PRIVATE_KEY: Final = "private-key"
_SAMPLE: Final = 200  # characters of a body, of which a placeholder such as XXXX has few different ones
_FEW: Final = 4
_SHORTEST_KEY: Final = 16  # characters between the lines BEGIN and END


class SecretSpan(NamedTuple):
    """A part of a text to replace, and the name of the rule that says so."""

    start: int
    end: int
    label: str


class _Opened(NamedTuple):
    start: int
    sure: bool
    doubtful: int  # opening tags before it that may be code


_TAG: Final = re.compile(
    r"(?:<|\\u003c|(?P<escaped>&lt;|%3c|<[ \t]))(?P<close>/?)[ \t]{0,4}+(?P<name>private)"
    r"(?:[ \t]{0,4}+(?:\\u003e|&gt;|%3e)|(?P<more>(?:\s|\\{1,8}+[nrt])[^<>]{0,100}+)?(?:>|\\u003e))",
    re.IGNORECASE | re.ASCII,
)
_BEFORE_NAME: Final = re.compile(r"(?:<|\\u003c|&lt;|%3c)[ \t]?/?[ \t]{0,4}\Z", re.IGNORECASE)
_LONGEST_BEGINNING: Final = 12
_ATTRIBUTES: Final = re.compile(
    r"""(?:(?:\s|\\++[nrt])++[\w:.-]++\s*+=\s*+(?:\\*+"[^"]*+"|'[^']*+'|[^\s"'\\]++))*+(?:\s|\\++[nrt])*+"""
)
_GLUED: Final = re.compile(r"[\w.:$]")
_MARGIN: Final = 40  # characters before the first word of a line
_LINE_BEFORE: Final = re.compile(r"(?:\A|[\r\n]|\\n)[ \t>*+-]*+\Z")
_SETTING: Final = re.compile(r"<Private>(?:True|False)</Private>")
_BEGIN: Final = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
# The keys of PuTTY, and those of ssh.com.
_OTHER_KEYS: Final = {
    "Private-Lines: ": re.compile(r"Private-Lines: \d{1,4}(?P<secret>(?:(?:\s|\\++[nr])++[A-Za-z0-9+/=]{16,}+)++)"),
    "---- BEGIN SSH2 ": re.compile(
        r"---- BEGIN SSH2 (?:[A-Z]{1,12}+ )??PRIVATE KEY ----"
        r"(?:(?:\s|\\++[nr])++[\w-]{1,40}+: [^\r\n\\]{0,200}+){0,4}+"
        r"(?P<secret>(?:(?:\s|\\++[nr])++[A-Za-z0-9+/=]{16,}+)++)"
    ),
}
_LINE_OF_KEY: Final = re.compile(r"[A-Za-z0-9+/]{40,}+")
_BODY: Final = re.compile(r"(?:[A-Za-z0-9+/=\s:,.()<>@_*-]|\\+[nrt/]|\\+u000[adAD])*+")


def private_parts(text: str, lower: str) -> list[SecretSpan]:
    """Returns what is marked as private, with its tags: the outermost parts. `lower` is the text in small letters."""
    opened: list[_Opened] = []  # and not closed
    parts: list[SecretSpan] = []
    doubtful = 0  # how many opening tags may be code
    last = last_doubtful = 0  # where the last closing tag ends, and the last one of a tag that may be code
    for tag in _tags(text, lower):
        if _is_mention(text, tag) or _is_setting(text, tag):
            continue
        if not tag["close"]:
            sure = _is_typed(text, tag)
            opened.append(_Opened(tag.start(), sure, doubtful))
            doubtful += not sure
        elif opened:
            last = tag.end()
            mark = opened.pop()
            _add(parts, SecretSpan(mark.start, last, PRIVATE))
            last_doubtful = last_doubtful if mark.sure else last
    if opened and opened[0].start < last_doubtful:  # any of the tags before it may be the one that was closed
        _add(parts, SecretSpan(opened[0].start, last_doubtful, PRIVATE))
    for number, mark in enumerate(opened):
        if mark.sure:
            # Where only tags that may be code are too many, the last closing tag ends the part.
            closed = last > mark.start and len(opened) - number <= doubtful - mark.doubtful
            _add(parts, SecretSpan(mark.start, last if closed else len(text), PRIVATE))
            break
    return parts


def _tags(text: str, lower: str) -> Iterator["re.Match[str]"]:
    """Yields the tags of a text. A word is found faster than a pattern."""
    at = lower.find(PRIVATE_WORD)
    while at >= 0:
        beginning = _BEFORE_NAME.search(text, max(0, at - _LONGEST_BEGINNING), at)
        tag = _TAG.match(text, beginning.start()) if beginning else None
        if tag:
            yield tag
        at = lower.find(PRIVATE_WORD, tag.end() if tag else at + 1)


def _add(parts: list[SecretSpan], part: SecretSpan) -> None:
    """Adds a part, instead of those that are inside of it."""
    while parts and parts[-1].start >= part.start:
        parts.pop()
    parts.append(part)


def _is_typed(text: str, tag: "re.Match[str]") -> bool:
    """Returns whether an opening tag is surely a mark, even if it is not closed, and no code such as `List<Private>`.

    `private` is a reserved word of the languages that have such types, so a tag in small letters is no code.
    """
    if tag["escaped"] or not _ATTRIBUTES.fullmatch(tag["more"] or ""):
        return False
    if tag["name"].islower():
        return True
    if tag["name"].isupper():
        return not _GLUED.match(text[tag.start() - 1 : tag.start()])
    return _LINE_BEFORE.search(text, max(0, tag.start() - _MARGIN), tag.start()) is not None


def _is_setting(text: str, tag: "re.Match[str]") -> bool:
    """Returns whether a tag is empty, or the setting of a .NET project, which has the same name."""
    if tag["close"]:
        sizes = (len("<Private>True"), len("<Private>False"))
        return any(_SETTING.fullmatch(text, max(0, tag.start() - size), tag.end()) for size in sizes)
    return (tag["more"] or "").endswith("/") or _SETTING.match(text, tag.start()) is not None


def _is_mention(text: str, tag: "re.Match[str]") -> bool:
    """Returns whether a tag is named as code, as in a sentence about it."""
    if text[tag.start() - 1 : tag.start()] == "`" == text[tag.end() : tag.end() + 1]:
        return True
    return text.endswith("<code>", 0, tag.start()) and text.startswith("</code>", tag.end())


def private_keys(text: str) -> Iterator[SecretSpan]:
    """Yields the bodies of private keys, complete or cut off."""
    for beginning, pattern in _OTHER_KEYS.items():
        at = text.find(beginning)
        while at >= 0:
            key = pattern.match(text, at)
            if key:
                yield SecretSpan(*key.span("secret"), PRIVATE_KEY)
            at = text.find(beginning, key.end() if key else at + 1)
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
        if end - at >= _SHORTEST_KEY and len({*text[at : min(end, at + _SAMPLE)].strip()}) > _FEW:
            yield SecretSpan(at, end, PRIVATE_KEY)
        at = max(end, at)
