"""Values that a program keeps by a namespace and a key: each is a slice file that names both in its metadata.

The body is the value as JSON, so that it is searched, linked and merged like any other file. A deleted value is
forgotten in place and can be restored; one that has expired is not shown any more, until a sweep forgets it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from slicebase.core.ids import ulid, ulid_time
from slicebase.core.parsers import decode
from slicebase.core.times import from_text, to_text
from slicebase.errors import SlicebaseError
from slicebase.files.body.entries import Stamp
from slicebase.files.body.write import with_body, with_writer
from slicebase.files.create import archived, new_file
from slicebase.files.links import file_name
from slicebase.files.model import Contract
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import set_key
from slicebase.library.finder import ids_with_words
from slicebase.library.folder import FileWrite
from slicebase.library.library import Library
from slicebase.library.mentions import Mentions
from slicebase.workspace.surroundings import one_thread_at_a_time
from slicebase.workspace.workspace import LIBRARY

_NAMESPACE: Final = "store_namespace"
_KEY: Final = "store_key"
_TTL: Final = "store_ttl"  # milliseconds
_EXPIRES: Final = "expires_at"

KeyPlace = tuple[tuple[str, ...], str]  # a namespace and a key


class KeptValue(NamedTuple):
    """A value, which nobody may change, with its place and its times, in milliseconds since 1970."""

    id: str  # of the file
    file: SliceFile
    place: KeyPlace
    value: dict[str, Any]
    created: int
    updated: int
    expires: int | None
    ttl: int | None


class ValueChange(NamedTuple):
    """A new value for a place, or None to delete it; `ttl` is in milliseconds."""

    place: KeyPlace
    value: Mapping[str, Any] | None
    ttl: int | None = None


@one_thread_at_a_time
class KeyValues:
    """The values of a library."""

    def __init__(self, library: Library) -> None:
        self.surroundings = library.surroundings
        self._library, self._folder = library, library.folder
        self._mentions = Mentions(library.folder, _KEY, _kept)

    def all(self, *, expired: bool = False) -> dict[KeyPlace, KeptValue]:
        """Returns every value by its place, those of one namespace together, in the order of their creation."""
        now = self.surroundings.now()
        kept = sorted(self._mentions.all(), key=lambda value: value.id)
        first: dict[tuple[str, ...], str] = {}
        for value in kept:
            first.setdefault(value.place[0], value.id)
        kept.sort(key=lambda value: (first[value.place[0]], value.id))
        return {each.place: each for each in kept if expired or each.expires is None or each.expires > now}

    def ranked(self, text: str) -> list[str]:
        """Returns the ids of the files that have one of the words of a text, best first: also of other files."""
        return ids_with_words(self._library, text)

    def put(self, changes: Iterable[ValueChange]) -> None:
        """Writes and deletes values, all or none."""
        with self._folder.writing() as writer:
            known = self.all(expired=True)
            ids = self._ids(max((each.id for each in known.values()), default=None))
            writes = [write for change in changes if (write := self._write(change, known.get(change.place), ids))]
            writer.write(*writes)

    def renew(self, places: Iterable[KeyPlace]) -> None:
        """Starts the time of values that expire again."""
        with self._folder.writing() as writer:
            known, now = self.all(), self.surroundings.now()
            found = [known[place] for place in places if place in known]
            writer.write(*(FileWrite(each.file, _timed(each.file, now, each.ttl)) for each in found if each.ttl))

    def sweep(self) -> int:
        """Forgets the values that have expired. Returns how many."""
        known, left = self.all(expired=True), self.all()
        gone = [ValueChange(place, None) for place in known if place not in left]
        if gone:
            self.put(gone)
        return len(gone)

    def _ids(self, last: str | None) -> Iterator[str]:
        """Yields ids of new files, each greater than the one before: they are the order of the values."""
        while True:
            last = ulid(self.surroundings.now(), self.surroundings.random_bytes(), after=last)
            yield last

    def _write(self, change: ValueChange, old: KeptValue | None, ids: Iterator[str]) -> FileWrite | None:
        stamp = self._library.stamp(None)
        if change.value is None:
            gone = old and with_writer(archived(old.file, stamp.time, "deleted by its program"), stamp)
            return FileWrite(old.file, gone) if old and gone else None
        body = _body(self.surroundings.redaction.value(dict(change.value)))
        if old is None:
            return FileWrite(None, _timed(self._new(change.place, body, next(ids), stamp), stamp.now, change.ttl))
        new = with_writer(with_body(old.file, body, stamp), stamp)
        return FileWrite(old.file, _timed(new, stamp.now, change.ttl))

    def _new(self, place: KeyPlace, body: bytes, file_id: str, stamp: Stamp) -> SliceFile:
        self.surroundings.redaction.refuse("the key", [*place[0], place[1]])
        return new_file(
            id=file_id,
            title=" ".join("/".join([*place[0], place[1]]).split())[:200] or "-",
            summary="A value that a program keeps by a key.",
            body_type="text",
            body=body,
            contract=Contract(purpose="A value of a program.", write="replace"),
            meta={_NAMESPACE: json.dumps(place[0]), _KEY: json.dumps(place[1])},
            updated_at=stamp.time,
            updated_by=stamp.who,
            name=f"{LIBRARY}/{file_name(file_id)}",
        )


def _timed(file: SliceFile, now: int, ttl: int | None) -> SliceFile:
    """Returns the file with the time when it expires, or without one."""
    if ttl is None and _EXPIRES not in file.meta:
        return file
    file = set_key(file, f"slice.meta.{_TTL}", ttl)
    return set_key(file, f"slice.meta.{_EXPIRES}", None if ttl is None else to_text(now + ttl))


def _kept(file: SliceFile) -> KeptValue | None:
    """Returns the value of a file; None if it is none or forgotten, or somebody has damaged it."""
    if file.archived:
        return None
    try:
        place = tuple(json.loads(str(file.meta[_NAMESPACE]))), str(json.loads(str(file.meta[_KEY])))
        value = json.loads(decode(file.body))
        expires = file.meta.get(_EXPIRES)
        own = str(file.id)
        updated = from_text(file.updated_at) if file.updated_at else ulid_time(own)
        until = from_text(str(expires)) if expires else None
    except (KeyError, TypeError, ValueError, SlicebaseError):
        return None
    if not isinstance(value, dict):
        return None
    return KeptValue(own, file, place, value, ulid_time(own), updated, until, file.meta.get(_TTL))


def _body(value: dict[str, Any]) -> bytes:
    try:
        try:
            return f"{json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)}\n".encode()
        except UnicodeEncodeError:  # half of a surrogate pair
            return f"{json.dumps(value, indent=1)}\n".encode()
    except (TypeError, ValueError) as error:
        raise SlicebaseError("not-json-value", f"the value has no JSON: {error}") from None
