"""Canonical JSON (RFC 8785), the hashes over its bytes, and the size of a text in tokens.

A JSON value has exactly one canonical sequence of bytes, and every hash is over those bytes. The writer is
stricter than the RFC where the RFC would lose something silently: it refuses a lone surrogate and an integer
beyond ±(2^53−1) (ruling 1).
"""

import math
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from slicebase.errors import SlicebaseError

try:
    from _json import encode_basestring as _quoted  # the version in C, which json.encoder uses too
except ImportError:  # an interpreter without the accelerator
    from json.encoder import encode_basestring as _quoted

if TYPE_CHECKING:
    from hashlib import _Hash

# Canonical JSON

LARGEST_INTEGER = 2**53 - 1


def canonical(value: Any) -> bytes:
    """Returns the RFC 8785 bytes of a JSON value."""
    pieces: list[str] = []
    try:
        _write(value, pieces)
        return "".join(pieces).encode()
    except UnicodeEncodeError as error:
        raise lone_surrogate(error) from None
    except RecursionError:
        raise SlicebaseError("not-json-value", "the value is nested too deeply") from None


MAX_LEVELS = 100  # levels; far below what any reader or writer of Python can take


def check_depth(value: Any, what: str) -> None:
    """Raises an error for a value that is nested too deeply to be stored.

    The limit is fixed: without it, what is accepted would depend on the stack of the caller, and what one caller has
    stored another could not read.
    """
    if nests_deeper(value, MAX_LEVELS):
        hint = f"at most {MAX_LEVELS} levels of lists and objects are allowed; store the value as a text"
        raise SlicebaseError("not-json-value", f"{what} is nested too deeply", hint=hint)


def nests_deeper(value: Any, levels: int) -> bool:
    """Returns whether a value has more than so many levels of lists and objects."""
    level = [value]
    for _ in range(levels + 1):
        held = {id(each): each for each in level if isinstance(each, Mapping | list | tuple)}  # one object counts once
        if not held:
            return False
        level = [inner for each in held.values() for inner in (each.values() if isinstance(each, Mapping) else each)]
    return True


def lone_surrogate(error: UnicodeEncodeError) -> SlicebaseError:
    """Returns the error for a text that cannot be encoded as UTF-8."""
    return SlicebaseError(
        "lone-surrogate",
        f"the text has a lone surrogate U+{ord(error.object[error.start]):04X} at character {error.start}",
        hint="replace it, for example with U+FFFD",
    )


def _write(value: Any, pieces: list[str]) -> None:
    if isinstance(value, str):
        pieces.append(_quoted(value))
    elif value is None or value is True or value is False:
        pieces.append(_CONSTANTS[value])
    elif isinstance(value, dict):
        _write_object(value, pieces)
    elif isinstance(value, list | tuple):
        _write_array(value, pieces)
    elif isinstance(value, int):
        pieces.append(_integer(value))
    elif isinstance(value, float):
        pieces.append(number(value))
    elif isinstance(value, Mapping):
        _write_object(value, pieces)
    else:
        raise SlicebaseError("not-json-value", f"a {type(value).__name__} has no JSON form")


_CONSTANTS = {None: "null", True: "true", False: "false"}


def _write_array(values: list[Any] | tuple[Any, ...], pieces: list[str]) -> None:
    separator = "["
    for value in values:
        if type(value) is str:  # without a call: most values are texts
            pieces.append(separator + _quoted(value))
        else:
            pieces.append(separator)
            _write(value, pieces)
        separator = ","
    pieces.append("]" if values else "[]")


def _write_object(values: Mapping[Any, Any], pieces: list[str]) -> None:
    separator = "{"
    for key in _ordered(values):
        value = values[key]
        if type(value) is str:
            pieces.append(f"{separator}{_quoted(key)}:{_quoted(value)}")
        else:
            pieces.append(f"{separator}{_quoted(key)}:")
            _write(value, pieces)
        separator = ","
    pieces.append("}" if values else "{}")


def _ordered(values: Mapping[Any, Any]) -> list[Any]:
    """Returns the keys of an object in the order of their UTF-16 code units; of ASCII keys, that is their own order."""
    try:
        if "".join(values).isascii():
            return sorted(values)
    except TypeError:  # a key that is not a text
        pass
    return sorted(values, key=_utf16_order)


def _utf16_order(key: Any) -> bytes:
    """Returns the sort key of an object's key: its UTF-16 code units (RFC 8785, section 3.2.3)."""
    if not isinstance(key, str):
        raise SlicebaseError("not-json-value", f"the object key {key!r} is not a string")
    return key.encode("utf-16-be", "surrogatepass")


def _integer(value: int) -> str:
    if not -LARGEST_INTEGER <= value <= LARGEST_INTEGER:
        raise SlicebaseError("integer-range", f"the integer {value} is outside ±(2^53−1)", hint="write it as a string")
    return int.__repr__(value)


def number(value: float) -> str:
    """Returns a double as ECMAScript prints it (RFC 8785, section 3.2.2.3)."""
    if not math.isfinite(value):
        raise SlicebaseError("not-finite", f"{value!r} has no JSON form")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    digits, point = _shortest_digits(abs(value))
    if len(digits) <= point <= 21:
        return f"{sign}{digits}{'0' * (point - len(digits))}"
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{point - 1:+d}"


def _shortest_digits(value: float) -> tuple[str, int]:
    """Returns the shortest digits that read back to the value, and the position of the decimal point in them."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    padded = whole + fraction
    digits = padded.lstrip("0")
    return digits.rstrip("0"), point - (len(padded) - len(digits))


# Digests, and the ids that are made from them (rulings 3 and 5)

_DIGEST = r"sha256:[0-9a-f]{64}"
ID_DIGITS = 32


def _sha256(data: bytes = b"") -> "_Hash":
    import hashlib  # imported here for a fast start: it loads OpenSSL, and a command that only reads hashes nothing

    return hashlib.sha256(data)


def digest(data: bytes) -> str:
    """Returns the SHA-256 of some bytes as `sha256:` and 64 hex digits."""
    return "sha256:" + _sha256(data).hexdigest()


def digest_of_pieces(pieces: Iterable[bytes]) -> str:
    """Returns the digest of bytes that are given in pieces, so that large ones need not be joined."""
    hasher = _sha256()
    for piece in pieces:
        hasher.update(piece)
    return "sha256:" + hasher.hexdigest()


def raw_digest(data: bytes) -> bytes:
    """Returns the SHA-256 of some bytes as 32 bytes, the form that databases keep."""
    return _sha256(data).digest()


def digest_of(value: Any) -> str:
    """Returns the digest of a JSON value's canonical bytes."""
    return digest(canonical(value))


def digest_of_short(value: Any) -> str:
    """Returns the digest of a short JSON value, by the interpreter's own SHA-256.

    OpenSSL, which `hashlib` loads, is faster with long texts; but to load it takes longer than many a command.
    """
    try:
        from _sha256 import sha256  # type: ignore[import-not-found] # of Python 3.11
    except ImportError:
        try:
            from _sha2 import sha256  # type: ignore[import-not-found] # from Python 3.12
        except ImportError:  # an interpreter without either
            from hashlib import sha256
    return f"sha256:{sha256(canonical(value)).hexdigest()}"


def is_digest(text: str) -> bool:
    """Returns whether a text has the form that `digest` returns."""
    return re.fullmatch(_DIGEST, text) is not None


def id_from(prefix: str, full_digest: str) -> str:
    """Returns an id: the prefix (`ev_`, `mf_` or `sn_`) and the first 32 hex digits of a digest."""
    return prefix + full_digest.removeprefix("sha256:")[:ID_DIGITS]


def xxh64(data: bytes) -> str:
    """Returns the XXH64 with seed 0 as 16 lower-case hex digits: the fingerprint of a SlicePolicy."""
    import xxhash  # imported here, since commands that only read files do not need it

    return xxhash.xxh64_hexdigest(data)


# Tokens: an estimate that needs no model's vocabulary (ruling 6)

TOKENIZER = "bytes/3"
BYTES_PER_TOKEN = 3


def tokens(text: str) -> int:
    """Returns how many tokens a text costs: a third of its UTF-8 bytes, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)
