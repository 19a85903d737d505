"""Turns a text to remember into new lines: rows of a log, lines of a conversation, steps of a routine (ruling 25).

A JSON object is one line. Several lines of JSON objects are several lines. Any other text is the text of one line.
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
from slicebase.files.body.routine import read_routine
from slicebase.files.body.rows import Provenance, Row, read_rows, row_line
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


Objects = Sequence[dict[str, Any]]


def objects_in(text: str) -> Objects | None:
    """Returns the JSON objects that a text consists of, None if it is anything else."""
    single = _object(text)
    if single is not None:
        return [single]
    objects = [_object(line) for line in text.split("\n") if line.strip()]
    found = [each for each in objects if each is not None]
    return found if found and len(found) == len(objects) else None


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


# Rows

_ENVELOPE: Final = frozenset({"confidence", "provenance", "status", "links"})
_PLACEHOLDER: Final = {"id": "new", "created_at": "1970-01-01T00:00:00.000Z"}


class NewRow(NamedTuple):
    """A new row: its id, and its line with the line end."""

    id: str
    line: bytes


def new_rows(text: str, stamp: Stamp, *, supersedes: Sequence[str] = (), after: str | None = None) -> list[NewRow]:
    """Returns new rows for a text, each with its `_meta`. The fields that an object has in `_meta` stay in it."""
    objects = objects_in(text) or [{"text": text.rstrip("\n")}]
    if supersedes and len(objects) > 1:
        raise SlicebaseError(
            "breaks-rule", "several new rows cannot supersede the same rows", hint="write them one by one"
        )
    return [_row(fields, row_id, stamp, supersedes) for fields, row_id in zip(objects, stamp.ids(after), strict=False)]


def _row(fields: Mapping[str, Any], row_id: str, stamp: Stamp, supersedes: Sequence[str]) -> NewRow:
    given = _given_envelope(fields)
    written = ("_meta", "links") if given.links else ("_meta",)  # links are written in `_meta` (ruling 27)
    content = {key: value for key, value in fields.items() if key not in written}
    line = row_line(
        content,
        row_id,
        stamp.now,
        supersedes=dict.fromkeys(supersedes),
        confidence=given.confidence,
        provenance=_joined(given.provenance, stamp.provenance),
        status=given.status,
        links=given.links,
    )
    return NewRow(row_id, line)


def _given_envelope(fields: Mapping[str, Any]) -> Row:
    """Returns the metadata that a new row states about itself, read in the same way as the finished row."""
    meta = fields.get("_meta", {})
    refused = sorted(meta.keys() - _ENVELOPE) if isinstance(meta, dict) else ["_meta"]
    if refused:
        raise SlicebaseError(
            "breaks-rule",
            f"a new row cannot set {', '.join(refused)}",
            hint=f"`_meta` may have {', '.join(sorted(_ENVELOPE))}; name what it supersedes with --supersedes",
        )
    probe = read_rows(canonical({**fields, "_meta": {**_PLACEHOLDER, **meta}}))
    _refuse(probe.findings)
    return probe.rows[0]


def _joined(given: Provenance | None, captured: Provenance | None) -> Provenance | None:
    """Joins two provenances. What the row itself states wins over what was captured."""
    stated = msgspec.to_builtins(given) if given else {}
    known = msgspec.to_builtins(captured) if captured else {}
    return Provenance(**{**known, **stated}) if stated or known else None


# Conversations and routines


def new_lines(body_type: str, text: str, stamp: Stamp) -> list[bytes]:
    """Returns new lines of a conversation or a routine for a text."""
    objects = objects_in(text) or [_bare(body_type, text)]
    return [_line(body_type, fields, stamp) for fields in objects]


def _bare(body_type: str, text: str) -> dict[str, Any]:
    if body_type == "routine":
        return {"instruction": text.strip()}
    raise SlicebaseError(
        "breaks-rule", "a line of a conversation needs a role", hint='write it like {"role": "user", "content": "…"}'
    )


def _line(body_type: str, fields: Mapping[str, Any], stamp: Stamp) -> bytes:
    line = dict(fields)
    if body_type == "conversation":
        line.setdefault("ts", stamp.time)
    if stamp.provenance and "_meta" not in line:
        line["_meta"] = {"created_at": stamp.time, "provenance": stamp.who}
    canonical(line)  # refuses what JSON cannot carry without loss
    encoded = msgspec.json.encode(line) + b"\n"
    _refuse((read_routine if body_type == "routine" else read_conversation)(encoded).findings)
    return encoded


def _refuse(findings: Iterable[Finding]) -> None:
    for finding in errors(findings):
        raise SlicebaseError("breaks-rule", finding.message, hint=finding.hint)
