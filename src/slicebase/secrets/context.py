r"""Secrets that only their context shows: assignments, headers, flags, URLs and commands.

Two ways lead to a context. A long run of token characters is looked at from its left side: is it assigned to a name
that promises a secret? And a few words (`glance.known_words`) are looked at from their right side, for passwords,
which may be short and have symbols. Every look is bounded to a few hundred characters.
"""

import re
from collections.abc import Iterator
from typing import Final

from slicebase.secrets.glance import HEADER_WORD, SQL_WORD
from slicebase.secrets.names import kind_of_name
from slicebase.secrets.regions import SecretSpan
from slicebase.secrets.shape import is_computed, is_dense, is_key, is_password, is_placeholder, looks_random

AUTHORIZATION: Final = "authorization-header"
URL_PASSWORD: Final = "password-in-url"
USER_PASSWORD: Final = "password-of-curl"
REACH: Final = 110  # how far a name and an operator may reach to the left of a value
_LONGEST_VALUE: Final = 256
COOKIE: Final = "cookie"
_QUOTES: Final = " \t\"'`\\=*"
_NAME: Final = re.compile(r"[\w. \t-]{1,80}")
_VALUE: Final = re.compile(rf"[A-Za-z0-9_+/=.~%-]{{1,{_LONGEST_VALUE}}}+", re.ASCII)  # a longer one is judged by it
_MORE_VALUE: Final = re.compile(r"[A-Za-z0-9_+/=.~%-]++", re.ASCII)
_SCHEMES: Final = frozenset({"basic", "token", "apikey", "api-key", "key", "digest", "bot", "ssws", "oauth"})
_MIXED: Final = re.compile(r"[a-z_][A-Z]|\d")  # a word of prose has neither
_HEX: Final = re.compile(r"[0-9a-fA-F-]+")
_SHORTEST_OF_SOME_KEY: Final = 20
_COOKIES_REACH: Final = 4000  # how far the header of a list of cookies may be to the left of a value
_NO_COOKIES: Final = "\r\n\"'`<>{}\\"  # what ends a list of cookies
_COOKIE_NAME: Final = re.compile(r";[ \t]?[\w!#$%&*+.^|~-]{1,80}=\Z")
_COOKIE_HEADER: Final = re.compile(r"[Cc]ookie\\{0,8}+[\"']?+[:,=][ \t]{0,4}+(?:\\{0,8}+[\"'])?+")
_LONGEST_HEADER: Final = 32
_COOKIES: Final = re.compile(r"(?:[Ss]et-)?[Cc]ookie\\{0,8}+[\"']?+[:,=][^\r\n]*+\Z")
_BREAK: Final = re.compile(r"[\r\n]")
# Between a name and its value on the next line, which has quotes or is a block of YAML: `password: |`
_QUOTED_END: Final = re.compile("[\"'][ \\t]*[:=>,]*\\Z")
_QUOTE: Final = re.compile("[\"'`]")
_LINE_END: Final = re.compile(r"[:=](?P<block>[ \t]{1,4}[|>][+-]?)?[ \t]*\r?\n\Z")


# Seen from a long run


def assigned(text: str, left: int, start: int) -> SecretSpan | None:
    """Returns the value around `start`, which begins at `left`, if what is before it promises a secret."""
    kind = _kind_before(text, left)
    if kind is None:
        return None
    found = _VALUE.match(text, left)
    if found is None or found.end() <= start:
        return None
    value = found[0].rstrip(".")
    if not is_value(kind, value):
        return None
    if len(found[0]) == _LONGEST_VALUE and (more := _MORE_VALUE.match(text, found.end())):
        return SecretSpan(left, more.end(), kind)
    end = left + len(value)
    return SecretSpan(left, end, kind) if text[end : end + 1] not in ("(", "[") else None


def _kind_before(text: str, left: int) -> str | None:
    window = text[max(0, left - REACH) : left]
    head = window.rstrip(_QUOTES)
    between = window[len(head) :]
    if head.endswith("\n"):
        end = _LINE_END.search(head)
        return _kind(head[: end.start() + 1], between) if end and (end["block"] or _QUOTE.search(between)) else None
    if not head or len(between) > 12:
        return None
    kind = _kind(head, between) if "=" in between or head[-1] in ":>|,?" else _kind_of_word(head, between)
    if kind is None and between == "=" and _is_cookie(text, left, head):
        return COOKIE
    return kind


def is_value(kind: str, value: str) -> bool:
    """Returns whether a value is what its name promises. A `key` may be of many things: its value must be dense."""
    if kind == "key":
        return len(value) >= _SHORTEST_OF_SOME_KEY and not _HEX.fullmatch(value) and is_key(value) and is_dense(value)
    return is_key(value)


def _kind(head: str, between: str) -> str | None:
    bare = head.rstrip(":>|,?=")
    if head.endswith(",") and not any(quote in between + bare.rstrip()[-1:] for quote in "\"'`"):
        return None
    bare = bare.rstrip(" \t\"'`\\*")
    if bare.endswith("]") and bare[:-1].rstrip("\\").endswith(('"', "'")):
        bare = bare[:-1].rstrip("\\\"'")
    name = _NAME.match(bare[::-1])
    if name is None or (_QUOTED_END.search(head) and bare.endswith("::", 0, len(bare) - name.end())):
        return None  # "AWS::ApiGateway::ApiKey" is a type
    return kind_of_name(name[0][::-1])


def _is_cookie(text: str, left: int, head: str) -> bool:
    """Returns whether the value after a `=` is one of a header with cookies, be it one of the first or a later one."""
    if "ookie" in head and _COOKIES.search(head):
        return True
    if not _COOKIE_NAME.search(head + "="):
        return False
    first = max(0, left - _COOKIES_REACH)
    if text.rfind("ookie", first, left) < 0:
        return False
    begin = 1 + max(first - 1, *(text.rfind(each, first, left) for each in _NO_COOKIES))
    before = _COOKIE_HEADER.finditer(text, max(0, begin - _LONGEST_HEADER), left)
    return any(header.end() >= begin for header in before)


def _kind_of_word(head: str, between: str) -> str | None:
    if not between[:1].isspace():
        return None
    word = re.split(r"[\s\"'`]", head)[-1]
    if word.startswith("--"):
        return kind_of_name(word[2:])
    lower = word.lower()
    if lower == "bearer" or (lower in _SCHEMES and "uthorization" in head.lower()):
        return AUTHORIZATION
    return None


# Seen from a word

_AFTER: Final = re.compile(
    r"(?P<name>[\w.-]{2,48}+)(?:\\{0,8}+[\"'`])?+\]?+(?:[ \t]{0,16}+value)?+"
    r"(?::[ \t]{0,4}+(?:string|String|str|&str|&'static str)(?=[ \t]{0,4}=))?+"
    r"(?:[ \t]{0,8}+(?P<operator>:=|=>|\?=|={1,3}|:|>|is(?=[ \t]+[\"'`]))"
    # The value may stand on the next line, if it has quotes or is a block of YAML.
    r"(?:(?:[ \t]{0,8}+\r?\n(?=[ \t]{0,40}+\\{0,8}+[\"'`])|[ \t]{1,4}+[|>][+-]?+[ \t]{0,8}+\r?\n)[ \t]{0,40}+)?+"
    r"|(?=[ \t]))"
    r"[ \t]{0,8}+(?P<quote>\\{0,8}+[\"'`])?+"
)
_FLAG_VALUE: Final = re.compile(r"[^\s\"'`<>{}()\[\],;\\]{6,200}+(?![^\s\"'`,;\\])")
_CONNECTION: Final = re.compile(r"[^\s\"'`<>{}()\\;]{6,200}+(?=;)")
_BARE: Final = re.compile(r"[^\s\"'`<>{}()\[\],;\\]{6,200}+(?=[ \t]*+(?:$|[\r\n#]|\\[nr]))", re.MULTILINE)
_QUERY_VALUE: Final = re.compile(r"[^\s\"'`<>{}()\[\],;\\&#|]{6,200}+")
# Other names of a connection to PostgreSQL, before and after the password.
_LIBPQ: Final = r"(?:host|hostaddr|port|user|dbname|sslmode|connect_timeout|application_name)[ ]?=[ ]?"
_BEFORE_LIBPQ: Final = re.compile(rf"\b{_LIBPQ}[^\s=]{{1,60}} \Z")
_AFTER_LIBPQ: Final = re.compile(rf" {_LIBPQ}")
_BEFORE_CONNECTION: Final = re.compile(r"[\w ]=[^;=\"'\s]{1,60};[ ]?[\w ]{0,20}\Z")
_VARIABLE: Final = re.compile(r"(?:\A|[\s\"'`])[A-Z0-9_]{0,40}\Z")
_LEFT_WORD: Final = re.compile(r"[A-Za-z0-9]{1,16}\Z")
_SYMBOL: Final = re.compile(r"[!@#$^&*?]")
_LINE: Final = re.compile(r"[ \t-]*+(?:export |set |ENV |env |- )?+[\w.-]*+\Z")


def named_values(text: str, lower: str, word: str) -> Iterator[SecretSpan]:
    """Yields the values of names with a word. `lower` is the text in small letters, with the same places."""
    at = lower.find(word)
    while at >= 0:
        found = _AFTER.match(text, at)
        span = _named(text, at, found) if found else None
        if span:
            yield span
        at = lower.find(word, span.end if span else at + len(word))


def _named(text: str, at: int, found: re.Match[str]) -> SecretSpan | None:
    name = found["name"]
    if name[0] == "_" and (left := _LEFT_WORD.search(text[max(0, at - 16) : at])):
        name = left[0] + name
    kind = kind_of_name(name)
    if kind not in ("password", "secret"):
        return None
    start, quote, operator = found.end(), found["quote"], found["operator"]
    if not operator and not _is_flag(text, at) and (quote or "")[-1:] != "'":  # SQL: PASSWORD 'x'
        return None
    if quote:
        end = _closing(text, quote, start)
    elif operator == ">":
        end = text.find("<", start, start + _LONGEST_VALUE)
    else:
        bare = _bare(text, at, found)
        end = bare.end() if bare and (operator != ":" or text[start - 1] != ":" or _is_mixed(bare[0])) else -1
    if end < 0:
        return None
    value = text[start:end]
    if kind == "password":
        settled = bool(quote) or operator == ">" or text.startswith(";", end)
        sure = is_password(value, quoted=settled) and not _BREAK.search(value)
    else:
        sure = len(value) >= 10 and " " not in value and is_key(value) and not is_computed(value)
    return SecretSpan(start, end, kind) if sure else None


def _bare(text: str, at: int, found: re.Match[str]) -> re.Match[str] | None:
    if not found["operator"]:
        return _FLAG_VALUE.match(text, found.end())
    start = found.end()
    if found["operator"] == "=" and (connection := _CONNECTION.match(text, start)):
        return connection
    if text[start - 1] == "=" == found["operator"] and (glued := _glued(text, at, start)):
        return glued
    bare = _BARE.match(text, start)
    return bare if bare and _begins_line(text, at, found["operator"], found, bare[0]) else None


def _glued(text: str, at: int, start: int) -> re.Match[str] | None:
    """Returns the value directly after a `=`: of a flag, a variable of a command, a query, or a connection."""
    before = text[max(0, at - 84) : at]
    if _is_flag(text, at) or (text[at : start - 1].isupper() and _VARIABLE.search(before)):
        return _FLAG_VALUE.match(text, start)
    if before[-1:] in ("&", "?"):
        return _QUERY_VALUE.match(text, start)
    if _BEFORE_CONNECTION.search(before):
        return _FLAG_VALUE.match(text, start)
    value = _FLAG_VALUE.match(text, start)
    return value if value and (_BEFORE_LIBPQ.search(before) or _AFTER_LIBPQ.match(text, value.end())) else None


def _is_mixed(value: str) -> bool:
    """Returns whether a value is no word of code, where its place does not say so: `password = p4ssW0rd9x`."""
    return looks_random(value) or (
        _SYMBOL.search(value) is not None and any(map(str.isdigit, value)) and not {"=", "."} & {*value}
    )


def _closing(text: str, quote: str, start: int) -> int:
    """Returns where a quoted value ends. A quote after a backslash is part of it, unless the first has one, too."""
    end = text.find(quote, start, start + _LONGEST_VALUE)
    while end > start and len(quote) == 1 and text[end - 1] == "\\":
        end = text.find(quote, end + 1, start + _LONGEST_VALUE)
    return end


def _is_flag(text: str, at: int) -> bool:
    """Returns whether the name is a flag of a command, or stands in a line of .netrc."""
    if "login " in text[max(0, at - 80) : at]:
        return True
    start = max(text.rfind(" ", max(0, at - 40), at), text.rfind("\n", max(0, at - 40), at)) + 1
    return text.startswith("--", start)


def _begins_line(text: str, at: int, operator: str, found: re.Match[str], value: str) -> bool:
    """Returns whether the name stands first in its line, as in a file of settings, and not in code."""
    first = max(0, at - 60)
    line, escaped = text.rfind("\n", first, at), text.rfind("\\n", first, at)
    if line < 0 and escaped < 0 < first:
        return False
    if not _LINE.match(text, max(line + 1, escaped + 2 if escaped >= 0 else 0), at):
        return False
    glued = found.end("operator") == found.end()
    return (operator == "=" and glued) or (operator == ":" and not glued) or (operator in "=:" and _is_mixed(value))


# Headers, URLs and commands

_HEADER: Final = re.compile(
    r"uthorization\\{0,8}+[\"'`]?+[ \t]{0,4}+[:=,][ \t]{0,4}+\\{0,8}+[\"'`]?+"
    r"(?:bearer|basic|token|apikey|digest|negotiate|ssws|bot)[ \t]{1,4}+(?P<secret>[A-Za-z0-9_+/=.~-]{8,4000}+)",
    re.IGNORECASE | re.ASCII,
)


def headers(text: str, lower: str) -> Iterator[SecretSpan]:
    """Yields the credentials of authorization headers, also short ones. `lower` is as in `named_values`."""
    at = lower.find(HEADER_WORD)
    while at >= 0:
        found = _HEADER.match(text, at)
        if found and _MIXED.search(found["secret"]) and not is_placeholder(found["secret"]):
            yield SecretSpan(*found.span("secret"), AUTHORIZATION)
        at = lower.find(HEADER_WORD, found.end() if found else at + 1)


_IDENTIFIED: Final = re.compile(r"identified by (?:password )?+'(?P<secret>[^'\r\n]{6,128}+)'", re.IGNORECASE)


def sql_passwords(text: str, lower: str) -> Iterator[SecretSpan]:
    """Yields the passwords of SQL: IDENTIFIED BY 'x'. `lower` is as in `named_values`."""
    at = lower.find(SQL_WORD)
    while at >= 0:
        found = _IDENTIFIED.match(text, at)
        if found and is_password(found["secret"], quoted=True):
            yield SecretSpan(*found.span("secret"), "password")
        at = lower.find(SQL_WORD, at + len(SQL_WORD))


_USER: Final = re.compile(r"[^\s/:@\"'<>`\\]{0,100}+:(?P<secret>[^\s/@\"'<>`\\]{3,200}+)@")
_PORT: Final = re.compile(r"\d{1,5},")  # of the first of several hosts
_CURL: Final = re.compile(
    r"(?:(?<=[ \t])-[a-zA-Z]{0,6}?u[ \t]{0,4}+=?+|--user(?:=|[ \t]{1,4}))[\"']?+[^\s:\"'-][^\s:\"']{0,64}+:"
    r"(?P<secret>[^\s\"'\\]{3,128}+)"
)


def _is_given(value: str) -> bool:
    """Returns whether a value is neither a placeholder nor code."""
    return not is_placeholder(value) and not is_computed(value)


def url_passwords(text: str) -> Iterator[SecretSpan]:
    """Yields the passwords of URLs: scheme://user:password@host."""
    at = text.find("://")
    while at >= 0:
        found = _USER.match(text, at + 3)
        if found and not _PORT.match(found["secret"]) and _is_given(found["secret"]):
            yield SecretSpan(*found.span("secret"), URL_PASSWORD)
        at = text.find("://", at + 3)


def curl_passwords(text: str) -> Iterator[SecretSpan]:
    """Yields the passwords that a command line gives to curl."""
    at = text.find("curl")
    while at >= 0:
        if not text.startswith((" ", ".exe"), at + 4):
            at = text.find("curl", at + 4)
            continue
        found = _CURL.search(text, at, at + 400)
        if found and _is_given(found["secret"]):
            yield SecretSpan(*found.span("secret"), USER_PASSWORD)
        at = text.find("curl", found.end() if found else at + 5)
