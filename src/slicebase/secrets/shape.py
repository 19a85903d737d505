"""Shapes of values: whether a text looks like a key, like a password, or like an ordinary word of code.

Nothing is estimated from frequencies of characters. A key changes between capitals, small letters and digits every few
characters; a word, a path or a name in code does not.
"""

import re
from typing import Final

SHORTEST_PASSWORD: Final = 6
PIECE: Final = 8  # shorter pieces say nothing
_PIECES: Final = re.compile(rf"[A-Za-z0-9]{{{PIECE},}}+")
_STRETCHES: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_LONGEST_STRETCH: Final = 3.3  # characters of one kind, on average
_DENSE_STRETCH: Final = 2.8
_FEWEST_STRETCHES: Final = 4
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_PLACEHOLDER: Final = re.compile(
    r"example|placeholder|change.?me|your[_-]|xxxx|\*\*\*|\.\.\.|redacted|dummy|todo|insert|replace|"
    r"^(?:my|the|some|new|old|test)?[_-]?(?:passw(?:or)?d|pass|pwd|secret|token|key)s?\d*$",
    re.IGNORECASE,
)
_COMPUTED: Final = re.compile(r"^[$%{<\[(&]|\$\{|\{\{|#\{|%\(|\(|\)$|^process\.|^os\.|^env\.|<.*>")
_SYMBOL_INSIDE: Final = re.compile(r"[!@#$^&*].|[@#$^&*]$")
_FEW: Final = 4  # different characters of a placeholder such as xxxxxxxx


def looks_random(value: str) -> bool:
    """Returns whether a piece of the value changes its kind of character as often as a key does."""
    for piece in _PIECES.findall(value):
        stretches = len(_STRETCHES.findall(piece))
        if stretches >= _FEWEST_STRETCHES and len(piece) <= _LONGEST_STRETCH * stretches and _has_digit_or_mix(piece):
            return True
    return False


def _has_digit_or_mix(piece: str) -> bool:
    return any(map(str.isdigit, piece)) or (piece != piece.lower() and piece != piece.upper())


def is_dense(value: str) -> bool:
    """Returns whether the complete value looks random, and has digits and letters throughout: more than a hint."""
    plain = "".join(filter(str.isalnum, value))
    stretches = len(_STRETCHES.findall(plain))
    digits = sum(map(str.isdigit, plain))
    return 2 <= digits < len(plain) - 2 and len(plain) <= _DENSE_STRETCH * stretches and not is_placeholder(value)


def is_uuid(value: str) -> bool:
    """Returns whether the value is a UUID."""
    return _UUID.fullmatch(value) is not None


def is_placeholder(value: str) -> bool:
    """Returns whether the value stands for a secret that is not there: `xxxx`, `your-key`, `changeme`."""
    return len(set(value)) <= _FEW or _PLACEHOLDER.search(value) is not None


def is_computed(value: str) -> bool:
    """Returns whether the value is code or a variable that names a secret: `${VAR}`, `f(x)`, `<token>`."""
    return _COMPUTED.search(value) is not None


def is_key(value: str) -> bool:
    """Returns whether the value of a name that promises a secret is one."""
    if value.startswith("/") or "//" in value or is_placeholder(value):
        return False
    return looks_random(value) or is_uuid(value)


def is_password(value: str, *, quoted: bool) -> bool:
    """Returns whether the value of a name that promises a password is one. Without quotes, it needs a digit."""
    if (
        not SHORTEST_PASSWORD <= len(value) <= 128
        or is_placeholder(value)
        or is_computed(value)
        or any(map(str.isspace, value))
    ):
        return False
    letter, digit = any(map(str.isalpha, value)), any(map(str.isdigit, value))
    if "/" in value and not looks_random(value):
        return False
    return (letter and digit) or (quoted and letter and _SYMBOL_INSIDE.search(value) is not None)
