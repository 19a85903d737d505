"""The name of a slice file: its id (§ Storage). An id that is no safe name is refused before any path is made of it."""

import re
from typing import Final

from slicebase.errors import SlicebaseError
from slicebase.files.findings import shown

SUFFIX: Final = ".slice"
SAFE_FORM: Final = "an id has no spaces, slashes, backslashes, @, : or #, and starts with neither a dot nor a hyphen"
_SAFE: Final = re.compile(r"[^\s/\\@:#.\-][^\s/\\@:#]*")
_LONGEST: Final = 200  # bytes; file systems allow 255 with the suffix


def is_safe(file_id: str) -> bool:
    """Whether an id names a file of one folder, is no option of a command, and can stand in a reference (ruling 7)."""
    return (
        _SAFE.fullmatch(file_id) is not None
        and file_id.isprintable()
        and len(file_id.encode("utf-8", "surrogatepass")) <= _LONGEST
    )


def file_name(file_id: str) -> str:
    if not is_safe(file_id):
        raise SlicebaseError("bad-id", f"{shown(file_id)} cannot be a file's name", hint=SAFE_FORM)
    return file_id + SUFFIX
