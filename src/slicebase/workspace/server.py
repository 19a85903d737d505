"""The server that has the memory of a workspace: its address is the user's, never the repository's (ruling 49)."""

import os
import re
from collections.abc import Mapping
from typing import Final

from slicebase.core.parsers import MOST_TOML, read_toml
from slicebase.errors import SlicebaseError

URL_VARIABLE: Final = "SLICEBASE_URL"
URL_SETTING: Final = "url"  # in the settings of the user's own workspace
# As libpq reads it: user and password end at the first @ that no slash precedes. What libpq would not read, or would
# read otherwise than its author meant, is refused here, because its errors repeat parts of a password.
# They are compiled when they are used, for a fast start.
_ADDRESS: Final = (
    r"postgres(?:ql)?://(?:[^@/]*@)?(?P<shown>(?P<hosts>[^@/?]*)(?:/[^@/?]*)?)(?:\?(?:[^=&]+=[^=&]*(?:&|\Z))*)?"
)
_HOSTS: Final = r"HOST(?:,HOST)*".replace("HOST", r"(?:\[[0-9A-Fa-f:.]+\]|[^][:,]*)(?::[0-9]*)?")
_NOT_WRITTEN: Final = r"[\s\x00-\x1f\x7f\ud800-\udfff]|%(?![0-9A-Fa-f]{2})|%00"


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
    if _shown(url) is None:
        hint = "postgresql://user@host/name; in a user or password, write %40 for @, %2F for /, %25 for %"
        raise SlicebaseError("bad-setting", f"{source} is no address of PostgreSQL", hint=hint)
    return url


def shown_url(url: str) -> str:
    """Returns the address of a server without user, password and parameters."""
    shown = _shown(url)
    return "(no address of PostgreSQL)" if shown is None else f"postgresql://{shown}"


def _shown(url: str) -> str | None:
    """Returns hosts, ports and the name of the database; None where a text is no address."""
    address = None if re.search(_NOT_WRITTEN, url) else re.fullmatch(_ADDRESS, url)
    return address["shown"] if address and re.fullmatch(_HOSTS, address["hosts"]) else None


def user_folder(environment: Mapping[str, str] = os.environ) -> str:
    """Returns the folder of the user's own workspace, according to the XDG base directory specification."""
    data = environment.get("XDG_DATA_HOME", "")
    if not os.path.isabs(data):
        data = os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(data, "slicebase")
