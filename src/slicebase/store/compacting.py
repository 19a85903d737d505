"""What a coding agent's compaction leaves to do: a snapshot and narrative before it, a word to the next prompt after.

Between the two, a note in the disposable cache says that a session has been compacted and not been told.
"""

from pathlib import Path
from typing import Final

import msgspec

from slicebase.core.digests import raw_digest
from slicebase.errors import SlicebaseError
from slicebase.runs.narrative import Narrative
from slicebase.store.running import Running

_FOLDER: Final = "compacted"
# The conversation was rewound, or its run stopped: it goes on as another run.
_OTHERWISE: Final = frozenset({"run-differs", "run-closed", "gate-refused"})


def run_of(session: str) -> str:
    """The run that a session is projected to, unless another is named."""
    return "from-" + "-".join(session.replace("/", "-").split())


def narrate_session(runs: Running, session: str, leaf: str | None, now: int) -> Narrative:
    """A session as a run, compacted and told. Where its run cannot go on, another begins, named by the leaf too."""
    name = run_of(session)
    try:
        return _narrated(runs, session, name, now)
    except SlicebaseError as error:
        if error.code not in _OTHERWISE or leaf is None:
            raise
        return _narrated(runs, session, f"{name}-{leaf[:8]}", now)


def _narrated(runs: Running, session: str, run_id: str, now: int) -> Narrative:
    logged = runs.from_session(session, run_id, now=now, open_end=True)
    if logged.last >= logged.first or not runs.remembered(run_id):
        runs.compact(run_id, now=now)
    return runs.narrative(run_id)[0]


class Compacted(msgspec.Struct):
    """A session that was compacted: its narrative's file once it is written, and whether it was told."""

    narrative: str | None = None
    told: bool = False


class CompactedNotes:
    def __init__(self, cache: Path) -> None:
        self._folder = cache / _FOLDER

    def get(self, session: str) -> Compacted | None:
        try:
            return msgspec.json.decode(self._path(session).read_bytes(), type=Compacted)
        except (OSError, msgspec.MsgspecError):
            return None

    def put(self, session: str, note: Compacted) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._path(session).write_bytes(msgspec.json.encode(note))

    def drop(self, session: str) -> None:
        self._path(session).unlink(missing_ok=True)

    def _path(self, session: str) -> Path:
        return self._folder / raw_digest(session.encode()).hex()[:32]
