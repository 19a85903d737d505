"""Blobs: content too large for an event's payload, kept beside it by its hash (ruling 33)."""

from typing import Any

from slicebase.core.hashing import digest
from slicebase.runs.event import Draft
from slicebase.runs.state import Json

LONG = 2000  # code points that stay in a payload which is too large
HEAD = 500


def spill(draft: Draft) -> tuple[Draft, dict[str, bytes]]:
    """A draft that is too large, with its long texts replaced by their hashes and beginnings."""
    blobs: dict[str, bytes] = {}
    payload: dict[str, Any] = {name: _spilled(value, blobs) for name, value in draft.payload.items()}
    return Draft(type=draft.type, step=draft.step, time=draft.time, payload=payload), blobs


def _spilled(value: Json, blobs: dict[str, bytes]) -> Json:
    if isinstance(value, str) and len(value) > LONG:
        data = value.encode()
        name = digest(data)
        blobs[name] = data
        return {"blob": name, "bytes": len(data), "head": value[:HEAD]}
    if isinstance(value, dict):
        return {name: _spilled(inner, blobs) for name, inner in value.items()}
    if isinstance(value, list):
        return [_spilled(inner, blobs) for inner in value]
    return value
