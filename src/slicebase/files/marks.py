"""Forgetting: a mark that takes a file out of sight, and the tombstone of one whose content is gone (ruling 31)."""

from slicebase.files.create import new_file
from slicebase.files.edit import delete_key, set_key
from slicebase.files.parts import Mark, Payload
from slicebase.files.slice_file import SliceFile


def archived(file: SliceFile, at: str, reason: str | None) -> SliceFile:
    """Where it is archived already, the first mark stays."""
    return file if file.archived else set_key(file, "slice.archived", Mark(at, reason))


def restored(file: SliceFile) -> SliceFile:
    return delete_key(file, "slice.archived") if file.archived else file


def tombstone(file: SliceFile, at: str, reason: str | None) -> SliceFile:
    """A pointer that says what was here, with its hash and size, and nothing of it but the title."""
    if file.kind == "pointer":
        gone = Payload(None, file.payload.hash, file.payload.size) if file.payload else None
    else:
        gone = Payload(None, file.hash, len(file.body))
    return new_file(
        id=file.id or "",
        title=file.title or "Purged",
        summary="The content was purged.",
        kind="pointer",
        body_type="none",
        payload=gone,
        purged=Mark(at, reason),
        name=file.name,
    )
