"""Derived files: a new body and the hash of what it was made from, in one step (§ Derived Files)."""

from slicebase.errors import SlicebaseError, Where
from slicebase.files.body.entries import Stamp
from slicebase.files.body.write import refuse_closed, whole_body, with_body
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import set_key
from slicebase.store.shelf import Shelf


def refreshed(shelf: Shelf, file: SliceFile, text: str, stamp: Stamp, source_hash: str | None) -> SliceFile:
    """The file made anew from its source as that is today.

    `source_hash` says which version of the source the text was made from: where that is not today's, it is a conflict.
    """
    refuse_closed(file)
    if not text.strip():
        raise SlicebaseError("nothing-given", "there is no new body")
    _refuse_kept(file)
    source = _source_of(shelf, file)
    if source_hash is not None and source.hash != source_hash:
        raise SlicebaseError(
            "conflict",
            f"{source.id} has changed since it was read: its hash is {source.hash}",
            hint="read it again and make the text anew",
            where=Where(file.name),
        )
    body = whole_body(file.body_type or "", text, stamp).file_body
    return with_body(set_key(file, "slice.derived_from.hash", source.hash), body, stamp)


def _source_of(shelf: Shelf, file: SliceFile) -> SliceFile:
    source = file.derived_from
    if source is None or not source.id:
        raise SlicebaseError("not-derived", "the file does not say what it is derived from", where=Where(file.name))
    return shelf.find(source.id)


def _refuse_kept(file: SliceFile) -> None:
    """A derived file is there to be made anew, unless its contract says outright that its body is not replaced."""
    if file.source_text("slice.contract.write") not in (None, "replace"):
        raise SlicebaseError(
            "write-mode",
            f"the file's body is not replaced: its write mode is {file.write_mode}",
            hint=f"`tt define {file.id} contract.write=replace` allows it",
            where=Where(file.name),
        )
