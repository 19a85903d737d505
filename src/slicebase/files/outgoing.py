"""The paths that a slice file names: what its links, its rows' links, its steps and its payload lead to."""

from slicebase.files.checks.body import check_body
from slicebase.files.checks.places import outgoing_links
from slicebase.files.links import target_kind
from slicebase.files.slice_file import SliceFile


def named_paths(file: SliceFile) -> set[str]:
    """Every path, as it is written. What a step runs is a command, and no path of ours."""
    outgoing = (*outgoing_links(file.links), *check_body(file).outgoing)
    paths = {out.to for out in outgoing if out.role != "run" and target_kind(out.to) == "path"}
    uri = file.payload.uri if file.payload else None
    return paths | ({uri} if uri and target_kind(uri) in ("path", "id") else set())


def new_paths(old: SliceFile | None, new: SliceFile) -> set[str]:
    """The paths that a version names and the one before it did not. Of a body that grew, only what is new is read."""
    if old is None:
        return named_paths(new)
    if new.head == old.head and new.body.startswith(old.body):
        return named_paths(new.with_body(new.body[len(old.body) :])) - named_paths(old.with_body(b""))
    return named_paths(new) - named_paths(old)
