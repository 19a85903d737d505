"""The token of a server, from a file that only its owner can read, or from the environment."""

import os
import secrets
from pathlib import Path
from typing import Final

from slicebase.errors import SlicebaseError, Where

_SHORTEST: Final = 16  # characters of a token
_LONGEST: Final = 1000  # a browser keeps a cookie of 4,096 bytes, in which a character may have three


def given_token(file: str | None, variable: str) -> str | None:
    """Returns the token that a file or a variable of the environment has; None if neither has one."""
    if file is not None:
        from slicebase.workspace.boundary import cannot_read

        if not file:  # as a variable of the shell that is not set
            hint = "name it, or leave out the option"
            raise SlicebaseError("bad-token", "the file with the token has no name", hint=hint)
        path = Path(file)
        try:
            if path.is_dir():
                hint = "name a file that only you may read"
                raise SlicebaseError("not-a-file", f"{file} is a folder", hint=hint, where=Where(file))
            if path.stat().st_mode & 0o077:
                raise SlicebaseError(
                    "bad-token", "others may read the file", hint=f"chmod 600 {file}", where=Where(file)
                )
            with path.open("rb") as opened:  # as much as shows that it is no token: the file may have no end
                token = opened.read(2 * _LONGEST).decode().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise cannot_read(error, path) if isinstance(error, OSError) else _bad_token() from None
    else:
        token = os.environ.get(variable, "").strip()
        if not token:
            return None
    if not _SHORTEST <= len(token) <= _LONGEST or not (token.isascii() and token.isprintable()) or " " in token:
        raise _bad_token()
    return token


def new_token() -> str:
    """Returns a token that nobody can guess."""
    return secrets.token_urlsafe(32)


def _bad_token() -> SlicebaseError:
    hint = f"use {_SHORTEST} to {_LONGEST:,} letters and digits: `openssl rand -hex 32` prints some"
    message = "the token is too short or too long, or has other characters than a header may have"
    return SlicebaseError("bad-token", message, hint=hint)
