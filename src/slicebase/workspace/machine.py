"""Whose workspace it is: a digest of the user and the machine, which a database keeps (ruling 49).

A database that comes with a cloned or unpacked folder has another digest, and is not opened. In containers, a machine
often has no lasting id: SLICEBASE_MACHINE names it there.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from slicebase.core.hashing import digest_of_short
from slicebase.errors import SlicebaseError
from slicebase.workspace.boundary import narrow_opened, not_a_log

MACHINE: Final = "SLICEBASE_MACHINE"
_MACHINE_IDS: Final = ("/etc/machine-id", "/var/lib/dbus/machine-id")


def home_digest() -> str:
    """Returns the digest of this user and this machine."""
    return digest_of_short([_machine(), os.getuid()])


def _machine() -> str:
    named = os.environ.get(MACHINE)
    if named:
        return named
    for path in _MACHINE_IDS:
        try:
            if found := Path(path).read_text().strip():
                return found
        except (OSError, UnicodeDecodeError):
            continue
    return os.uname().nodename


# The files in which a workspace keeps the id of its database

_LONGEST: Final = 160  # bytes of an id and a digest


def known_ids(files: tuple[Path, ...], home: str = "") -> frozenset[str]:
    """Returns the ids of the database that these files name; with a `home`, those that this user and machine wrote."""
    named = {_named(path) for path in files}
    return frozenset(name for name, wrote in named if name and home in ("", wrote))


def _named(path: Path) -> tuple[str, str]:
    """Returns the id in a file, and the digest of the user and machine that wrote it, if it says that."""
    try:
        name, _, home = _first_bytes(path).decode().strip().partition(" ")
    except (OSError, UnicodeDecodeError):
        return "", ""
    return (name if name.isalnum() else "", home)


def id_in_index(index: Path) -> frozenset[str]:
    """Returns the id of the database that an index of turns was filled from: the cache keeps it, too."""
    import apsw  # imported here: only a workspace without a database asks

    if not_a_log(index):
        return frozenset()
    try:
        connection = apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW)
        mark = str(connection.execute("SELECT mark FROM state").get)
        connection.close()
    except apsw.Error:
        return frozenset()
    return frozenset(filter(str.isalnum, mark.split()[:1]))


def _first_bytes(path: Path) -> bytes:
    """Returns the beginning of a file of ours. Waits for no pipe, and follows no link."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        narrow_opened(descriptor)
        return os.read(descriptor, _LONGEST)
    finally:
        os.close(descriptor)


def keep_id(files: tuple[Path, ...], database: str, home: str = "") -> None:
    """Writes the id of the database into these files. Where that cannot be done, the other files know it.

    A file beside a database needs no `home`: the database itself says whose it is. That of a memory on a server does.
    """
    for path in files:
        if known_ids((path,), home) != {database} and path.parent.is_dir():
            from slicebase.workspace.atomic import own_temporary, write_bytes  # imported here to keep start-up fast

            with suppress(SlicebaseError):
                data = [f"{database} {home}".strip().encode() + b"\n"]
                write_bytes(path, data, within=path.parent, private=True, temporary=own_temporary())
