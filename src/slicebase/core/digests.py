"""Digests and the ids that are made from them (rulings 3 and 5)."""

import hashlib
import re
from typing import Any

from slicebase.core.canonical import canonical

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
ID_DIGITS = 32


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def raw_digest(data: bytes) -> bytes:
    """The digest's 32 bytes, as databases keep it."""
    return hashlib.sha256(data).digest()


def digest_of(value: Any) -> str:
    """The digest of a JSON value's canonical bytes."""
    return digest(canonical(value))


def is_digest(text: str) -> bool:
    return DIGEST.fullmatch(text) is not None


def id_from(prefix: str, full_digest: str) -> str:
    """`ev_`, `mf_` or `sn_` and the first 32 hex digits of a digest."""
    return prefix + full_digest.removeprefix("sha256:")[:ID_DIGITS]


def xxh64(data: bytes) -> str:
    """XXH64 with seed 0, as 16 lower-case hex digits: SlicePolicy's fingerprint."""
    import xxhash  # of no use to commands that only read files

    return xxhash.xxh64_hexdigest(data)
