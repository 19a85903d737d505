"""Errors as a command and a hook print them: errors of ours, and without secrets."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slicebase.cli.output import OPENED
from slicebase.errors import SlicebaseError


def without_secrets(error: SlicebaseError, options: Mapping[str, Any], *, enabled: bool = True) -> SlicebaseError:
    """Returns an error without the secrets of the arguments that it repeats; `options` are those of `tt`."""
    from slicebase.workspace.doors import Redaction, is_on

    here = os.environ.get("PWD", "")  # a folder that is gone is no reason not to print an error
    redaction = options.get(OPENED) or Redaction(Path(here), lambda: None, enabled=enabled and is_on(os.environ))
    shown: SlicebaseError = redaction.error(error)
    return shown


def as_our_error(error: Exception) -> SlicebaseError | None:
    """Returns our own error for bad input, a damaged database or a limit of the machine; None for a bug."""
    if isinstance(error, MemoryError):
        hint = "what was confirmed before is stored; give it more memory, or less at once"
        return SlicebaseError("no-memory", "there is not enough memory for this", hint=hint)
    if isinstance(error, UnicodeEncodeError):  # an argument whose bytes are not UTF-8 contains surrogates
        from slicebase.core.hashing import lone_surrogate
        from slicebase.workspace.surroundings import is_of_surrogates

        if not is_of_surrogates(error):
            return None

        return lone_surrogate(error)
    if isinstance(error, OSError):  # of what a command prints, for example
        from slicebase.workspace.boundary import cannot_read
        from slicebase.workspace.disk import disk_full, is_full

        if is_full(error):
            return disk_full()
        if error.filename is None and isinstance(error, FileNotFoundError | PermissionError):
            return None if _here() else _no_current_folder()
        return cannot_read(error, _here() or Path("/")) if isinstance(error, PermissionError) else None
    if type(error).__module__ != "apsw":
        return None
    from slicebase.truth import failures  # apsw is loaded already

    return failures.as_our_error(error)


def _here() -> Path | None:
    """Returns the current folder; None if it was deleted or cannot be seen."""
    try:
        return Path.cwd()
    except OSError:
        return None


def _no_current_folder() -> SlicebaseError:
    hint = "change to a folder that is there; the shell may still show the name of one that was deleted"
    return SlicebaseError("cannot-read", "the current folder is not there any more, or cannot be seen", hint=hint)
