"""The narrative of a snapshot: Markdown from the snapshot alone, eight sections in a fixed order (ruling 41).

A narrative is a slice file that is derived from the snapshot. Text from the log is data in it: it is put on one line or
quoted, so that it cannot become a heading, a list item or a link. The same snapshot always gives the same bytes.
"""

from collections.abc import Iterable
from typing import NamedTuple

from slicebase.core.hashing import LARGEST_INTEGER
from slicebase.core.ids import ULID_RANDOM_BYTES, ulid
from slicebase.core.times import from_text
from slicebase.errors import SlicebaseError
from slicebase.runs.narrative_page import NarrativePage, short_text
from slicebase.runs.narrative_sections import SECTIONS
from slicebase.runs.records import Claim, Conflict, Failure, Snapshot
from slicebase.runs.snapshot import snapshot_digest, typed
from slicebase.runs.state import Json

NARRATIVE_TOKENS = 4000  # the size of a stored narrative, which is part of the name of its renderer (ruling 56)
NARRATIVE_RENDERER = f"narrative/2, {NARRATIVE_TOKENS} tokens"
LEAST_NARRATIVE = 350
_LINES = (400, 120, 80, 60, 40, 20)  # bytes of a line: where they do not fit, lines are shorter
_TITLE_LENGTH = 60


class Narrative(NamedTuple):
    """What a run knew at a snapshot, as Markdown: the fields and the body of its slice file."""

    file_id: str
    title: str
    summary: str
    derived_from: str
    derived_hash: str
    updated_at: str
    supersedes: str | None
    body: str
    is_new: bool = False  # whether its slice file was written by this call

    @property
    def id(self) -> str:
        """The id of the slice file."""
        return self.file_id

    @property
    def text(self) -> str:
        """The Markdown of the narrative."""
        return self.body

    def __str__(self) -> str:
        return self.body

    def __repr__(self) -> str:
        return f"Narrative(id={self.id!r}, title={self.title!r}, is_new={self.is_new})"


def narrate(
    snapshot: dict[str, Json], previous: dict[str, Json] | None = None, size: int = NARRATIVE_TOKENS
) -> Narrative:
    """Returns the narrative of a snapshot that passed, in a number of tokens.

    It supersedes the narrative of `previous`, the last snapshot that has one.
    """
    read = typed(snapshot)
    state = read.state
    return Narrative(
        file_id=file_id(snapshot),
        title=f"Run {read.run_id}, snapshot {read.sequence}: {short_text(read.objective, _TITLE_LENGTH)}",
        summary=(
            f"{_count(state.claims, 'verified')} verified claims, {_count(state.conflicts, 'open')} open conflicts, "
            f"{len(state.open_questions)} open questions, {_count(state.failures, 'open')} open failures."
        ),
        derived_from=read.snapshot_id,
        derived_hash=snapshot_digest(snapshot),
        updated_at=read.created_at,
        supersedes=file_id(previous) if previous is not None else None,
        body=render(read, size),
    )


def _count(items: Iterable[Claim | Conflict | Failure], status: str) -> int:
    return sum(item.status == status for item in items)


def file_id(snapshot: dict[str, Json]) -> str:
    """Returns a ULID of the snapshot's time and digest, so that the same snapshot always gives the same file."""
    digits = snapshot_digest(snapshot).removeprefix("sha256:")
    return ulid(from_text(snapshot["created_at"]), bytes.fromhex(digits)[:ULID_RANDOM_BYTES])


def render(snapshot: Snapshot, size: int = NARRATIVE_TOKENS) -> str:
    """Returns the Markdown of a narrative of at most so many tokens.

    Objective, constraints, next actions and open questions have their place in every size; of everything else, what is
    needed first. Each section says how many items it leaves out, and where they are.
    """
    check_size(size)
    texts = (NarrativePage(snapshot, size, line, SECTIONS).filled() for line in _LINES)
    return next(filter(None, texts))


def check_size(size: int) -> None:
    """Raises `bad-budget` if no narrative can have this size."""
    if not LEAST_NARRATIVE <= size <= LARGEST_INTEGER:
        hint = f"give a number from {LEAST_NARRATIVE} to {LARGEST_INTEGER}"
        raise SlicebaseError("bad-budget", f"a narrative of {size} tokens cannot be made", hint=hint)
