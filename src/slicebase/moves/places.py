"""Where things are in an export and in a backup, by paths that are safe on every system.

A path in such a folder has only letters, digits and a few marks where we choose it, and is the same whether a file
system tells capital letters apart. Paths that come from outside are refused where they could lead anywhere else.
"""

import re
import unicodedata
from typing import Final

from slicebase.core.hashing import raw_digest
from slicebase.errors import SlicebaseError, Where

MANIFEST: Final = "manifest.json"
SLICES: Final = "slices"  # the folder with the slice files
TEXTS: Final = "texts"
SCHEMAS: Final = "schemas"
README_FILE: Final = "README.md"
_PLAIN: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}")  # a name that can be a file name everywhere
_OTHER: Final = re.compile(r"[^a-z0-9_-]+")
_RESERVED: Final = re.compile(r"con|prn|aux|nul|com\d|lpt\d")  # Windows
_SHOWN: Final = 40  # characters of a name that is not plain
_LONGEST: Final = 1024  # bytes of a path
_LONGEST_NAME: Final = 255
# What a folder with the settings of git is called, also as Windows and macOS read the name: git runs what they say.
_GIT: Final = re.compile(r"(\.git|git~\d+)[ .]*(:.*)?")


def name_of_owner(owner: str) -> str:
    """Returns the name of the file for an owner: its own where that is plain, else a part of it and its digest."""
    if _PLAIN.fullmatch(owner) and not _RESERVED.fullmatch(owner):
        return owner
    shown = _OTHER.sub("-", owner.lower())[:_SHOWN].strip("-_") or "other"
    return f"{shown}~{raw_digest(owner.encode('utf-8', 'surrogatepass')).hex()[:16]}"


def refuse_unsafe(path: str, where: str) -> None:
    """Raises `bad-move` for a path that could lead out of a folder, or into the settings of git."""
    names = path.split("/")
    is_safe = (
        0 < len(path.encode("utf-8", "surrogatepass")) <= _LONGEST
        and all(
            name not in ("", ".", "..") and len(name.encode("utf-8", "surrogatepass")) <= _LONGEST_NAME
            for name in names
        )
        and not any(unicodedata.category(letter) in ("Cc", "Cs") or letter == "\\" for letter in path)
        and not any(map(is_git_folder, names))
    )
    if not is_safe:
        hint = "nothing outside its folder can be named, and no settings of git; nothing was stored"
        raise SlicebaseError(
            "bad-move", f"the path {ascii(path)[:120]} is not one of ours", hint=hint, where=Where(where)
        )


def is_git_folder(name: str) -> bool:
    """Returns whether a name is that of a folder of git on some system: letters that macOS ignores do not count."""
    seen = "".join(letter for letter in name if unicodedata.category(letter) != "Cf")
    return _GIT.fullmatch(seen.casefold()) is not None
