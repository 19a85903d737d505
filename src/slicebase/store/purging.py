"""What else holds a purged file's content: texts that manifests kept, and a payload that was copied (ruling 19)."""

from slicebase.context.manifest import read_manifest
from slicebase.files.slice_file import SliceFile
from slicebase.store.pointers import remove_copy
from slicebase.store.shelf import Shelf
from slicebase.store.truth import Truth


def purge_payload(shelf: Shelf, file: SliceFile) -> bool:
    return remove_copy(shelf, file.payload.uri if file.payload else None)


def purge_kept_texts(truth: Truth, file_id: str, now: str) -> int:
    """Replaces what manifests kept of the file by tombstones; answers how many texts that were."""
    count = 0
    for name, _, record, _ in list(truth.manifests.all()):
        hashes = {piece.text_hash for piece in read_manifest(record).pieces if piece.corpus == f"file:{file_id}"}
        count += truth.texts.purge(f"manifest:{name}", hashes, now) if hashes else 0
    return count
