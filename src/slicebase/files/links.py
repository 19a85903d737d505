"""Links and what they point at (§ Addressing, ruling 29). Nothing here looks at a disk."""

import posixpath
import re
from typing import Literal

from slicebase.core.refs import parse
from slicebase.errors import SlicebaseError
from slicebase.files.naming import SUFFIX

TargetKind = Literal["id", "path", "reference", "uri"]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def target_kind(to: str) -> TargetKind:
    """What a target is, by its form: one of our references, another URI, a path, or else an id."""
    if ":" in to or "_" in to:
        try:
            parse(to)
            return "reference"
        except SlicebaseError:
            pass
    if _SCHEME.match(to):
        return "uri"
    return "path" if "/" in to or to.endswith(SUFFIX) else "id"


def resolve(folder: str, to: str) -> str | None:
    """A path link as a path from the workspace, given its file's folder there; None where it leads outside.

    The folder `""` is the workspace itself. An absolute path names a place on one machine: it leads outside.
    """
    path = posixpath.normpath(posixpath.join(folder, to))
    outside = path.startswith(("/", "../")) or path == ".."
    return None if outside else path


def meant_id(folder: str, to: str) -> str:
    """A target as an id: a reference to a file is one, and so is a path to a slice file of its folder (ruling 29)."""
    to = to.removeprefix("file:")
    parent, _, name = (resolve(folder, to) or "").rpartition("/")
    return name.removesuffix(SUFFIX) if parent == folder and name.endswith(SUFFIX) else to
