"""Damages bytes at random: bytes, lines, JSON values and words, with what parsers are known to dislike.

Everything is decided by the random numbers that are passed in, so that a seed gives the same inputs again.
"""

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

MOST: Final = 64 << 10  # bytes of an input; sizes are tested separately
# Texts that a parser may stumble over: numbers without end, nesting, halves of characters, signs of each format.
TOKENS: Final = tuple(
    token.encode("utf-8", "surrogatepass")
    for token in (
        "99999999999999999999999", "-9223372036854775809", "9007199254740993", "9" * 5000, "1e999", "-0",
        "0.1e-400", "NaN",
        "Infinity", "[" * 200, "{\"a\":" * 200, "[" * 3000, "- " * 100, "\"\"", "{}", "[]", "null", "true",
        "\"\\ud800\"",
        "\"\\u0000\"", "\ud800", "\x00", "\ufeff", "\u2028", "\x85", "\r", "\r\n", "\n", "\t", "---\n", "...\n",
        "\\", "\"", "'",
        "`", "```", "#", "# ", "<!--", "%", "&a ", "*a", "!!str ", "? ", "| ", "> ", ": ", ":", ", ", "}{", "][",
        "x" * 5000,
        "a." * 500, "AND", "OR", "NOT", "NEAR(", "*", "^", "(", ")", "\"a b", "turn:", "session:", "ev_", "mf_",
        "sn_", "row:", "sec:",
        "doc:", "run:", "claim:", "latest", "..", "../", "/", "~", "<private>", "</private>", "sk-ant-",
        "password=", "eyJ", "=",
        "2026-01-01T00:00:00Z", "0000-00-00T00:00:00Z", "9999-12-31T23:59:60Z",
        "00000000-0000-0000-0000-000000000000", "𝟘", "İ", "ß",
    )
)  # fmt: skip
VALUES: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 2**53, 2**70, -(2**63) - 1, 1.5, 1e308, "", "x", "\ud800", "\x00", "a" * 3000, [], {},
    [[]], {"": ""},
    {"type": None}, [None], "2026-01-01T00:00:00Z", "turn:x", "../..", 1e-7, "user", "text", "🙂", [{}],
    {"a": {"a": {"a": []}}},
)  # fmt: skip

Mutation = Callable[[Random, bytes, Sequence[bytes]], bytes]


def mutated(random: Random, seeds: Sequence[bytes]) -> bytes:
    """Returns one of the seeds after a few accidents."""
    data = random.choice(seeds)
    if len(data) > MOST:
        start = random.randrange(len(data) - MOST)
        data = data[data.find(b"\n", start) + 1 :][:MOST]
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 5, 8))):
        data = random.choice(MUTATIONS)(random, data, seeds)
    return data[: 2 * MOST]


def _place(random: Random, data: bytes) -> int:
    return random.randrange(len(data) + 1)


def _span(random: Random, data: bytes) -> tuple[int, int]:
    start = _place(random, data)
    return start, min(len(data), start + int(random.expovariate(0.05)) + 1)


def _flip(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    at = _place(random, data)
    return data[:at] + bytes([random.randrange(256)]) + data[at + 1 :]


def _insert(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    at = _place(random, data)
    return data[:at] + random.choice(TOKENS) + data[at:]


def _replace(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    start, end = _span(random, data)
    return data[:start] + random.choice(TOKENS) + data[end:]


def _remove(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    start, end = _span(random, data)
    return data[:start] + data[end:]


def _repeat(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    start, end = _span(random, data)
    return data[:start] + data[start:end] * random.choice((2, 3, 50)) + data[end:]


def _cut(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    return data[: _place(random, data)]


def _splice(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    other = random.choice(seeds)[:MOST]
    return data[: _place(random, data)] + other[_place(random, other) :]


def _lines(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    match random.randrange(4):
        case 0:
            lines[one], lines[other] = lines[other], lines[one]
        case 1:
            lines.insert(one, lines[other])
        case 2:
            del lines[one]
        case _:
            lines[one] += lines[other]
    return b"\n".join(lines)


_NUMBER: Final = re.compile(rb"-?\d+")


def _number(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    found = list(_NUMBER.finditer(data[:MOST]))
    if not found:
        return data
    chosen = random.choice(found)
    new = random.choice((b"0", b"-1", b"9007199254740993", b"99999999999999999999999", b"1e400", b"007", b"4294967296"))
    return data[: chosen.start()] + new + data[chosen.end() :]


def _json_value(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Replaces, removes or renames a value anywhere in a JSON text or in one of its lines."""
    lines = data.split(b"\n")
    at = random.randrange(len(lines))
    whole = random.random() < 0.3
    try:
        value = json.loads(data if whole else lines[at])
    except (ValueError, RecursionError):
        return data
    holders = [value]
    for holder in holders:
        inner = holder.values() if isinstance(holder, dict) else holder
        holders += [each for each in inner if isinstance(each, dict | list)] if isinstance(holder, dict | list) else []
        if len(holders) > 500:
            break
    _change(random, random.choice(holders))
    written = json.dumps(value).encode()
    return written if whole else b"\n".join([*lines[:at], written, *lines[at + 1 :]])


def _change(random: Random, holder: Any) -> None:
    new = random.choice(VALUES)
    if isinstance(holder, list):
        holder.insert(random.randrange(len(holder) + 1), new)
    elif isinstance(holder, dict) and holder:
        key = random.choice(list(holder))
        match random.randrange(4):
            case 0:
                del holder[key]
            case 1:
                holder[random.choice(("", "type", "id", "\x00", "slice", key.upper()))] = holder[key]
            case _:
                holder[key] = new


def _reencode(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Writes the text in another encoding, or with other line ends."""
    text = data.decode(errors="replace")
    match random.randrange(4):
        case 0:
            return text.encode("utf-16")
        case 1:
            return text.replace("\n", "\r\n").encode()
        case 2:
            return text.replace("\n", "\r").encode()
        case _:
            return b"\xef\xbb\xbf" + data


MUTATIONS: Final[tuple[Mutation, ...]] = (
    _flip, _flip, _insert, _insert, _replace, _replace, _remove, _repeat, _cut, _splice, _lines, _lines, _number,
    _json_value, _json_value, _json_value, _reencode,
)  # fmt: skip
