"""Narratives in the library, and the snapshots that they were made from: one goes when its snapshot was purged."""

from collections.abc import Iterable, Set

from slicebase.errors import SlicebaseError
from slicebase.files.slice_file import SliceFile
from slicebase.runs.narrative import LEAST_NARRATIVE, NARRATIVE_TOKENS, narrate
from slicebase.runs.snapshot import snapshot_digest
from slicebase.runs.state import Json
from slicebase.truth.erasure import changed_snapshots
from slicebase.truth.truth import Truth


def source_of(file: SliceFile) -> str:
    """Returns what a file was derived from, or an empty text."""
    return (file.derived_from.id if file.derived_from else None) or ""


def is_narrative(file: SliceFile) -> bool:
    """Returns whether a file was derived from a snapshot."""
    return source_of(file).startswith("sn_")


def stale_narratives(truth: Truth, files: Iterable[SliceFile], snapshots: Set[str] = frozenset()) -> list[SliceFile]:
    """Returns the narratives of these snapshots, and those from before their snapshot was purged.

    A narrative that was written again from what is left of its snapshot stays.
    """
    purged = changed_snapshots(truth, set(truth.texts.purged()))
    narratives = [file for file in files if is_narrative(file) and not file.purged]
    return [
        file
        for file in narratives
        if source_of(file) in snapshots or (source_of(file) in purged and not _is_of_stored(truth, file))
    ]


def made_from_stored(truth: Truth, file: SliceFile) -> bool:
    """Returns whether a file is the narrative of a stored snapshot, word by word."""
    snapshot = _snapshot(truth, file)
    return snapshot is not None and not file.purged and file.body == narrate(snapshot).body.encode()


def shorter_narrative(truth: Truth, file: SliceFile, size: int) -> str | None:
    """Returns the narrative of a file in at most so many tokens, made from its snapshot again, with its end.

    None if the file is not as it was made, or if no narrative is so small.
    """
    snapshot = _snapshot(truth, file)
    if snapshot is None or size < LEAST_NARRATIVE or not made_from_stored(truth, file):
        return None
    return narrate(snapshot, size=min(size, NARRATIVE_TOKENS)).body


def _is_of_stored(truth: Truth, file: SliceFile) -> bool:
    """Returns whether a narrative names the digest of the snapshot as it is stored now."""
    snapshot = _snapshot(truth, file)
    return (
        snapshot is not None and file.derived_from is not None and file.derived_from.hash == snapshot_digest(snapshot)
    )


def _snapshot(truth: Truth, file: SliceFile) -> dict[str, Json] | None:
    """Returns the snapshot that a file was derived from; None if there is none, or if it was purged."""
    try:
        return truth.runs.snapshots.find(source_of(file)).snapshot if is_narrative(file) else None
    except SlicebaseError:
        return None
