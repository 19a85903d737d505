"""The server that has the memory of a workspace: its address is the user's, never the repository's (ruling 49)."""

import os
from collections.abc import Mapping
from typing import Final

from slicebase.core.parsers import MOST_TOML, read_toml
from slicebase.errors import SlicebaseError

URL_VARIABLE: Final = "SLICEBASE_URL"
URL_SETTING: Final = "url"  # in the settings of the user's own workspace
_SCHEMES: Final = ("postgresql://", "postgres://")


def server_url(environment: Mapping[str, str] = os.environ) -> str:
    """Returns the address of the server that the user names, or an empty text. It can hold a password."""
    url = environment.get(URL_VARIABLE, "").strip()
    if url:
        return checked_url(url, URL_VARIABLE)
    try:
        with open(os.path.join(user_folder(environment), "slicebase.toml"), "rb") as stream:
            data = stream.read(MOST_TOML)
    except OSError:  # most users have none
        return ""
    url = read_toml(data.decode("utf-8", "replace"), "bad-setting", "your own slicebase.toml").get(URL_SETTING, "")
    return checked_url(str(url), URL_SETTING) if url else ""


def checked_url(url: str, source: str) -> str:
    """Returns an address of PostgreSQL. Raises `bad-setting` for anything else, without repeating it."""
    if not url.startswith(_SCHEMES):
        raise SlicebaseError("bad-setting", f"{source} is no address of PostgreSQL", hint="postgresql://user@host/name")
    return url


def shown_url(url: str) -> str:
    """Returns the address of a server without user, password and parameters."""
    from urllib.parse import urlsplit  # imported here for a fast start: most memories are files

    parts = urlsplit(url)
    return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"


def user_folder(environment: Mapping[str, str] = os.environ) -> str:
    """Returns the folder of the user's own workspace, according to the XDG base directory specification."""
    data = environment.get("XDG_DATA_HOME", "")
    if not os.path.isabs(data):
        data = os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(data, "slicebase")
