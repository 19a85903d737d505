"""The pointer of a note: created from a version of the note, and changed when the note has changed.

Thousands of pointers are created at once, so their frontmatter is written from a template. What was meant stands beside
it, and whoever writes the file reads the text again and compares (`checked_bytes`).
"""

import posixpath
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from slicebase.core.hashing import raw_digest
from slicebase.core.ids import ULID_RANDOM_BYTES, ulid
from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError
from slicebase.files.body.entries import Stamp
from slicebase.files.create import FORMAT_VERSION, new_file
from slicebase.files.links import file_name
from slicebase.files.model import Link, Payload
from slicebase.files.note import NOTES_KEY, NoteContent
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import append_item, delete_key, remove_item, set_key
from slicebase.files.yaml.emit import inline
from slicebase.workspace.workspace import LIBRARY

NOTE_LINK: Final = "in the note"  # the label of a link that a pointer has because the note has it
MOST_LINKED: Final = 400  # links of one pointer, whose frontmatter must stay below 64 KiB


class NoteVersion(NamedTuple):
    """A version of a note that was read: what it says, and the hash, size and time of its bytes."""

    path: str
    note: NoteContent
    hash: str
    size: int
    modified: int


def note_id(stamp: Stamp, path: str) -> str:
    """Returns the id of the file for a new note: of the time of the call, and different for each path."""
    return ulid(stamp.now, raw_digest(stamp.randomness + path.encode())[:ULID_RANDOM_BYTES])


def moment_of(version: NoteVersion, stamp: Stamp) -> str:
    """Returns when a note was changed, from which its age is counted; never a time to come."""
    return to_text(max(0, min(version.modified, stamp.now)))


def _uri(path: str) -> str:
    return posixpath.relpath(path, LIBRARY)


# A new pointer

_TEMPLATE: Final = """slice:
  v: "{v}"
  kind: pointer
  id: {id}
  title: {title}
  summary: {summary}
  body:
    type: none
  payload:
    uri: {uri}
    hash: {hash}
    size: {size}
{links}  meta:
    {key}: {folder}
  updated_at: "{updated_at}"
"""
_LINK: Final = f"    - rel: see_also\n      to: {{}}\n      label: {NOTE_LINK}\n"


def new_pointer(file_id: str, folder: str, version: NoteVersion, targets: Sequence[str], stamp: Stamp) -> SliceFile:
    """Returns the pointer of a note that was added with this folder, with links to the files `targets`."""
    if stamp.who is not None:
        return plain_pointer(file_id, folder, version, targets, stamp)
    values = _values(file_id, folder, version, targets, stamp)
    header = _header(values)
    return SliceFile(f"{LIBRARY}/{file_name(file_id)}", _head(header), b"", header, {"slice": values})


def _values(file_id: str, folder: str, version: NoteVersion, targets: Sequence[str], stamp: Stamp) -> dict[str, Any]:
    links = [{"rel": "see_also", "to": target, "label": NOTE_LINK} for target in targets]
    return {
        "v": FORMAT_VERSION,
        "kind": "pointer",
        "id": file_id,
        "title": version.note.title,
        "summary": version.note.summary,
        "body": {"type": "none"},
        "payload": {"uri": _uri(version.path), "hash": version.hash, "size": version.size},
        **({"links": links} if links else {}),
        "meta": {NOTES_KEY: folder},
        "updated_at": moment_of(version, stamp),
    }


def _head(header: str) -> bytes:
    return f"---\n{header}---\n".encode()


def _header(values: dict[str, Any]) -> str:
    links = [_LINK.format(inline(link["to"], flow=False)) for link in values.get("links", ())]
    return _TEMPLATE.format(
        v=values["v"],
        id=inline(values["id"], flow=False),
        title=inline(values["title"], flow=False),
        summary=inline(values["summary"], flow=False),
        uri=inline(values["payload"]["uri"], flow=False),
        hash=values["payload"]["hash"],
        size=values["payload"]["size"],
        links="  links:\n" + "".join(links) if links else "",
        key=NOTES_KEY,
        folder=inline(values["meta"][NOTES_KEY], flow=False),
        updated_at=values["updated_at"],
    )


def plain_pointer(file_id: str, folder: str, version: NoteVersion, targets: Sequence[str], stamp: Stamp) -> SliceFile:
    """Returns the same pointer, written and checked as every other slice file is."""
    return new_file(
        id=file_id,
        title=version.note.title,
        summary=version.note.summary,
        kind="pointer",
        body_type="none",
        payload=Payload(_uri(version.path), version.hash, version.size),
        links=[Link("see_also", target, NOTE_LINK) for target in targets],
        meta={NOTES_KEY: folder},
        updated_at=moment_of(version, stamp),
        updated_by=stamp.who,
        name=f"{LIBRARY}/{file_name(file_id)}",
    )


# A pointer that is there


def followed_pointer(
    file: SliceFile, folder: str, version: NoteVersion, targets: Sequence[str], stamp: Stamp
) -> SliceFile:
    """Returns the pointer of a note that has changed or moved.

    A pointer that nobody else has edited is written again as a whole, because thousands may have moved at once.
    """
    if stamp.who is None and _is_untouched(file):
        return new_pointer(file.id or "", folder, version, targets, stamp)
    edited = set_key(refreshed_pointer(file, version, stamp), ("slice", "meta", NOTES_KEY), folder)
    return with_note_links(edited, targets)


def _is_untouched(file: SliceFile) -> bool:
    """Returns whether a pointer is as the template writes it."""
    try:
        return _head(_header(dict(file.frontmatter["slice"]))) == file.to_bytes()
    except (KeyError, TypeError, ValueError, SlicebaseError):
        return False


def refreshed_pointer(file: SliceFile, version: NoteVersion, stamp: Stamp) -> SliceFile:
    """Returns the pointer of a note with what the note says now: title, summary, path, hash, size and time."""
    values = {
        "title": version.note.title,
        "summary": version.note.summary,
        "payload.uri": _uri(version.path),
        "payload.hash": version.hash,
        "payload.size": version.size,
        "updated_at": moment_of(version, stamp),
    }
    for key, value in values.items():
        file = set_key(file, f"slice.{key}", value)
    return file


def with_note_links(file: SliceFile, targets: Sequence[str]) -> SliceFile:
    """Returns a pointer with these links of its note. Other links, and their comments, stay as they are."""
    ours = [at for at, link in enumerate(file.links) if link.rel == "see_also" and link.label == NOTE_LINK]
    others = [link for at, link in enumerate(file.links) if at not in ours]
    linked = {link.to for link in others if link.rel == "see_also"}
    wanted = [Link("see_also", target, NOTE_LINK) for target in targets if target not in linked]
    if [file.links[at] for at in ours] == wanted:
        return file
    if not others:
        return set_key(file, "slice.links", wanted) if wanted else delete_key(file, "slice.links")
    for at in reversed(ours):
        file = remove_item(file, "slice.links", at)
    for link in wanted:
        file = append_item(file, "slice.links", link)
    return file
