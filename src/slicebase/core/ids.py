"""Ids: ULIDs for slice files and rows, UUIDs for turns. The time and the random bytes are arguments."""

import re
import uuid

from slicebase.errors import SlicebaseError

# ULIDs

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
ULID = rf"[0-7][{_CROCKFORD}]{{25}}"  # compiled on first use for a fast start
_RANDOM_BITS = 80
_TIME_BITS = 48
ULID_RANDOM_BYTES = _RANDOM_BITS // 8


def ulid(milliseconds: int, randomness: bytes, after: str | None = None) -> str:
    """Returns a ULID of this time and randomness that is greater than `after`.

    If the clock has not moved forward since `after`, the id is `after` plus one, as in the monotonic mode of the
    ULID specification.
    """
    if not 0 <= milliseconds < 1 << _TIME_BITS:
        message = "a new id contains the time, which is before 1970 or too late"
        raise SlicebaseError("bad-time", message, hint="set the clock, or pass another one")
    if len(randomness) != ULID_RANDOM_BYTES:
        raise SlicebaseError("bad-ulid", f"a ULID needs {ULID_RANDOM_BYTES} random bytes, not {len(randomness)}")
    fresh = _encode(milliseconds << _RANDOM_BITS | int.from_bytes(randomness, "big"))
    if after is None or fresh[:10] > after[:10]:
        return fresh
    following = _decode(after) + 1
    if following >> (_TIME_BITS + _RANDOM_BITS):
        raise SlicebaseError("bad-ulid", f"there is no ULID after {after}")
    return _encode(following)


def is_ulid(text: str) -> bool:
    """Returns whether a text is a ULID in upper case."""
    return re.fullmatch(ULID, text) is not None


def ulid_time(text: str) -> int:
    """Returns the time in a ULID, in milliseconds since 1970."""
    if not is_ulid(text):
        raise SlicebaseError("bad-ulid", f"{text!r} is not a ULID")
    return _decode(text[:10])


def _encode(value: int) -> str:
    return "".join(_CROCKFORD[value >> shift & 31] for shift in range(125, -1, -5))


def _decode(text: str) -> int:
    value = 0
    for character in text:
        value = value << 5 | _CROCKFORD.index(character)
    return value


# UUIDs

TURN_NAMESPACE = uuid.UUID("be2c39c7-0ee0-50f3-912e-bef4a21324a0")
_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")


def turn_id(format_name: str, session: str, source_id: str | int) -> str:
    """Returns the id of a turn whose source gives no UUID (ruling 16).

    `source_id` is the source's own id, or the record's position in its session, from 0, as a number.
    """
    from slicebase.core.hashing import canonical  # imported here for a fast start: only an import of turns needs it

    name = canonical([format_name, session, source_id]).decode()
    return str(uuid.uuid5(TURN_NAMESPACE, name))


def is_uuid(text: str) -> bool:
    """Returns whether a text is a hyphenated UUID in any case."""
    return _UUID.fullmatch(text) is not None


def uuid_text(text: str) -> str:
    """Returns a UUID in the form that is stored: hyphenated, in lower case."""
    if not is_uuid(text):
        raise SlicebaseError(
            "bad-uuid",
            f"{text!r} is not a UUID",
            hint="a turn id looks like 05ce3f25-3b45-539e-8730-509ea3dc8613",
        )
    return text.lower()


def uuid_bytes(text: str) -> bytes:
    """Returns the sixteen bytes of a UUID, which sort in the same order as its text."""
    return bytes.fromhex(text.replace("-", ""))


def uuid_of(data: bytes) -> str:
    """Returns the text of a UUID that is given as sixteen bytes."""
    digits = data.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
