"""What a write takes from outside: the moment, the randomness of its new ids, and who writes."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from slicebase.core.hashing import raw_digest
from slicebase.core.ids import ULID_RANDOM_BYTES, is_ulid, ulid, ulid_time
from slicebase.core.times import to_text
from slicebase.files.rows import Provenance

_CLOCKS_DIFFER: Final = 1000  # milliseconds by which the clocks of one log's writers may plausibly differ


class Stamp(NamedTuple):
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
        """The id of a new file. It is none of the rows' ids, though one draw of chance makes them all."""
        return ulid(self.now, raw_digest(self.randomness)[:ULID_RANDOM_BYTES])

    def ids(self, after: str | None = None) -> Iterator[str]:
        """Ids of new rows, each greater than the last, and than `after` where that is of this very moment.

        An id never merely follows the one before it: two branches that append behind the same row must not meet.
        """
        before = ulid_time(after) if after and is_ulid(after) else -1
        moment = before + 1 if self.now <= before < self.now + _CLOCKS_DIFFER else self.now
        last = None
        while True:
            last = ulid(moment, self.randomness, last)
            yield last
