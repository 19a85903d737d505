"""Turns a text to remember into new lines: rows of a log, lines of a conversation, steps of a routine (ruling 25).

A JSON object is one line. Several lines of JSON objects are several lines. Any other text is the text of one line,
but a text that looks like JSON and is not is refused.
The time, the randomness for new ids and the writer come from outside, in a `Stamp`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from slicebase.core.hashing import canonical, raw_digest
from slicebase.core.ids import ULID_RANDOM_BYTES, is_ulid, ulid, ulid_time
from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError
from slicebase.files.body.conversation import read_conversation
from slicebase.files.body.objects import Objects, distinct, joined, json_line, objects_in
from slicebase.files.body.routine import read_routine
from slicebase.files.body.rows import Provenance, is_links, row_line
from slicebase.files.body.text import given_text
from slicebase.files.findings import Finding, errors

_CLOCKS_DIFFER: Final = 1000  # milliseconds by which the clocks of a log's writers may differ


class Stamp(NamedTuple):
    """What a write takes from outside: the time, the randomness for its new ids, and who writes."""

    now: int  # milliseconds since 1970
    randomness: bytes
    provenance: Provenance | None = None

    @property
    def time(self) -> str:
        return to_text(self.now)

    @property
    def who(self) -> dict[str, Any] | None:
        return msgspec.to_builtins(self.provenance) if self.provenance else None

    @property
    def file_id(self) -> str:
        """The id of a new file. It differs from the ids of the rows, although all use the same randomness."""
        return ulid(self.now, raw_digest(self.randomness)[:ULID_RANDOM_BYTES])

    def ids(self, after: str | None = None) -> Iterator[str]:
        """Yields ids for new rows, each greater than the one before, and than `after` if that has the same time.

        An id is never simply the successor of `after`: two branches that append after the same row need different ids.
        """
        before = ulid_time(after) if after and is_ulid(after) else -1
        moment = before + 1 if self.now <= before < self.now + _CLOCKS_DIFFER else self.now
        last = None
        while True:
            last = ulid(moment, self.randomness, last)
            yield last


# Rows

_GIVEN_BY_US: Final = ("id", "created_at", "supersedes")
_ENVELOPE: Final = ("confidence", "provenance", "status", "links")  # in this order, and then all other keys


class NewRow(NamedTuple):
    """A new row: its id, and its line with the line end."""

    id: str
    line: bytes


def new_rows(
    text: str,
    stamp: Stamp,
    *,
    supersedes: Sequence[str] = (),
    after: str | None = None,
    as_text: bool = False,
) -> list[NewRow]:
    """Returns new rows for a text, each with its `_meta`. Every key that an object has is kept."""
    objects = _objects(text, as_text=as_text) or [{"text": given_text(text)}]
    if supersedes and len(objects) > 1:
        raise SlicebaseError(
            "breaks-rule", "several new rows cannot supersede the same rows", hint="write them one by one"
        )
    return [_row(fields, row_id, stamp, supersedes) for fields, row_id in zip(objects, stamp.ids(after), strict=False)]


def _objects(text: str, *, as_text: bool) -> Objects | None:
    return None if as_text else objects_in(text)


def _row(fields: Mapping[str, Any], row_id: str, stamp: Stamp, supersedes: Sequence[str]) -> NewRow:
    """Returns a row. Links and confidence are written in `_meta` (ruling 27), everything else where it was."""
    stated = _stated_meta(fields)
    content = {key: value for key, value in fields.items() if key != "_meta"}
    if is_links(content.get("links")) and content["links"]:
        beside = content.pop("links")
        known = stated.get("links")
        if not isinstance(known, list | None):
            raise SlicebaseError("breaks-rule", "`links` in `_meta` of a new row is not a list", hint="leave it out")
        stated["links"] = distinct([*(known or ()), *beside])
    _sign(stated, _writer(stamp))
    meta: dict[str, Any] = {"id": row_id, "created_at": stamp.time}
    if supersedes:
        meta["supersedes"] = list(dict.fromkeys(supersedes))
    order = (*(key for key in _ENVELOPE if key in stated), *(key for key in stated if key not in _ENVELOPE))
    return NewRow(row_id, row_line({**meta, **{key: stated[key] for key in order}}, content))


def _stated_meta(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what a new row states about itself."""
    meta = fields.get("_meta", {})
    if not isinstance(meta, dict):
        raise SlicebaseError("breaks-rule", "`_meta` of a new row is not an object", hint="leave it out")
    refused = [key for key in _GIVEN_BY_US if key in meta]
    if refused:
        raise SlicebaseError(
            "breaks-rule",
            f"a new row cannot set {', '.join(refused)} in `_meta`",
            hint="a row gets its id and time when it is written; name what it supersedes with --supersedes",
        )
    return dict(meta)


def _writer(stamp: Stamp) -> dict[str, Any] | None:
    """Returns who writes. A program may give a confidence that JSON does not have."""
    who = stamp.who
    canonical(who)
    return who


def _sign(meta: dict[str, Any], who: Mapping[str, Any] | None) -> None:
    """Adds who writes to the provenance of a row. What the row states itself wins, key by key (docs/library.md)."""
    signed = joined(meta.get("provenance"), who)
    if signed:
        meta["provenance"] = signed
    confidence = signed.get("confidence") if isinstance(signed, dict) else None
    if confidence is not None and meta.get("confidence") is None:
        meta["confidence"] = confidence  # ruling 27: it is read in both places, and written in `_meta`


# Conversations and routines


def new_lines(body_type: str, text: str, stamp: Stamp, *, as_text: bool = False) -> list[bytes]:
    """Returns new lines of a conversation or a routine for a text. Every key that an object has is kept."""
    objects = _objects(text, as_text=as_text) or [_bare(body_type, text)]
    return [_line(body_type, fields, stamp) for fields in objects]


def _bare(body_type: str, text: str) -> dict[str, Any]:
    if body_type == "routine":
        return {"instruction": given_text(text)}
    raise SlicebaseError(
        "breaks-rule", "a line of a conversation needs a role", hint='write it like {"role": "user", "content": "…"}'
    )


def _line(body_type: str, fields: Mapping[str, Any], stamp: Stamp) -> bytes:
    line = dict(fields)
    if body_type == "conversation":
        line.setdefault("ts", stamp.time)
    if who := _writer(stamp):
        meta = line.get("_meta") or {}
        if not isinstance(meta, dict):
            raise SlicebaseError("breaks-rule", "`_meta` of a new line is not an object", hint="leave it out")
        line["_meta"] = {"created_at": stamp.time, **meta, "provenance": joined(meta.get("provenance"), who)}
    encoded = json_line(line)
    _refuse((read_routine if body_type == "routine" else read_conversation)(encoded).findings)
    return encoded


def _refuse(findings: Iterable[Finding]) -> None:
    for finding in errors(findings):
        raise SlicebaseError("breaks-rule", finding.message, hint=finding.hint)
