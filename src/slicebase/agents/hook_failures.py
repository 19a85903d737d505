"""The last failures of hooks, which stop nobody: `tt doctor` tells of them.

They are kept in a small file of the workspace until the same hook succeeds, or for a week. Two hooks that fail at the
same moment keep both failures: each reads and writes the file under a lock.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec

from slicebase.errors import SlicebaseError
from slicebase.workspace.atomic import locked, own_temporary, read_bytes, remove, write_bytes
from slicebase.workspace.workspace import Workspace, create_local_folder

NARRATIVE: Final = "narrative"  # the work in the background, beside the events of clients
WHAT_WAS_LOST: Final = "what was lost"  # likewise
LONG_TRANSCRIPT: Final = "long transcript"  # likewise: its success says nothing about the hook that began it
_FILE: Final = "hook-failures.json"
_LOCK: Final = "hook-failures.lock"
_PATIENCE: Final = 1.0  # seconds that a hook waits for another one
_KEPT: Final = 20
_LONGEST: Final = 300  # characters of a message
_LARGEST: Final = 64 << 10  # bytes of the file
_WEEK: Final = 7 * 24 * 60 * 60 * 1000


class HookFailure(msgspec.Struct, frozen=True):
    """A failure: when, in milliseconds since 1970, the client and its event, and the error."""

    time: int
    client: str
    event: str
    code: str
    message: str


class HookFailures:
    """The failures of a workspace's hooks."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.path = workspace.local(_FILE)

    def recent(self, now: int) -> list[HookFailure]:
        """Returns the failures of the last week, the oldest first. A file that cannot be read has none."""
        try:
            found = msgspec.json.decode(read_bytes(self.path, most=_LARGEST), type=list[HookFailure])
        except (OSError, SlicebaseError, msgspec.MsgspecError):
            return []
        return [each for each in found if now - _WEEK < each.time <= now + _WEEK]

    def add(self, failure: HookFailure) -> None:
        """Keeps a failure whose message has no secrets. Where nothing can be written, it is not kept."""
        short = msgspec.structs.replace(
            failure,
            client=failure.client[:_LONGEST],
            event=failure.event[:_LONGEST],
            message=failure.message[:_LONGEST],
        )
        self._change(failure.time, lambda found: [*found, short][-_KEPT:])

    def succeeded(self, client: str, event: str, now: int) -> None:
        """Forgets the failures of a hook that has succeeded."""
        if not self.path.exists():
            return
        self._change(now, lambda found: [each for each in found if (each.client, each.event) != (client, event)])

    def _change(self, now: int, changed: Callable[[list[HookFailure]], list[HookFailure]]) -> None:
        root = self._workspace.root
        with suppress(OSError, SlicebaseError):
            create_local_folder(root)
            with locked(self._workspace.local(_LOCK), _PATIENCE):
                found = self.recent(now)
                failures = changed(found)
                if not failures:
                    remove(self.path, within=root)
                elif failures != found:
                    data = msgspec.json.encode(failures)
                    write_bytes(self.path, [data], within=root, private=True, temporary=own_temporary())
