"""Removes the other copies of a purged slice file's content: its payload, kept texts and caches (ruling 31)."""

from slicebase.files.slice_file import SliceFile
from slicebase.index.disposable import Disposable
from slicebase.index.turns import TURNS_LAYOUT, TurnIndex
from slicebase.library.folder import SliceFolder
from slicebase.library.payloads import remove_copy
from slicebase.truth.truth import Truth
from slicebase.workspace.workspace import Workspace


def purge_payload(folder: SliceFolder, file: SliceFile) -> bool:
    """Deletes the file's payload if it was copied into the library. Returns whether it did."""
    return remove_copy(folder, file.payload.uri if file.payload else None)


def purge_kept_texts(truth: Truth, file: SliceFile, now: str) -> int:
    """Replaces the texts that manifests and the ledger kept of the file with tombstones. Returns their number."""
    file_id, payload = file.id or "", file.payload
    quoted = [f"file:{file_id}", *([f"doc:{payload.hash}"] if payload and payload.hash else [])]
    with truth.database.erasing():
        return truth.manifests.purge_texts(f"file:{file_id}", now) + sum(
            truth.texts.purge_all(corpus, now) for corpus in quoted
        )


def purge_caches(workspace: Workspace, index: Disposable, file_id: str) -> None:
    """Removes the file's words from what is derived from it. The index is rebuilt when it is next asked."""
    try:
        if Disposable(workspace.chunks, TURNS_LAYOUT).exists():
            with TurnIndex(workspace.chunks) as chunks:
                chunks.purge_sessions([file_id])
    finally:
        index.purge()
