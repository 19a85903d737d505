"""What the workspace holds, and what is wrong with it."""

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from slicebase import __version__
from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError
from slicebase.index.entries import Filters, page_of_files
from slicebase.truth.sessions import chosen_kernel
from slicebase.verbs.seal import KIND
from slicebase.web.endpoints import Nothing, get

if TYPE_CHECKING:
    from slicebase.base import Slicebase


_BROKEN: Final = 100  # files that cannot be read, of an answer


class LastSeal(Struct, frozen=True):
    """The newest seal: its file, and its time."""

    id: str
    time: str


class WorkspaceStatus(Struct, frozen=True):
    """What a workspace holds, in numbers."""

    name: str  # of its folder
    version: str
    branch: str | None
    files: dict[str, int]  # by body type
    archived: int
    rows: int
    links: int
    stale: int
    freshness: dict[str, int]  # files by the label that their age gives them
    broken: tuple[str, ...]
    sessions: int
    turns: int
    contexts: int
    context_bytes: int
    index_bytes: int
    database_bytes: int
    kernel: str | None  # the version that selects slices; None if the environment asks for one that is not there
    last_seal: LastSeal | None


def status(memory: "Slicebase", asked: Nothing) -> WorkspaceStatus:
    """Returns what the workspace holds, in numbers."""
    found = memory.status()
    return WorkspaceStatus(
        name=memory.root.name,
        version=__version__,
        branch=found.branch,
        files=found.files,
        archived=found.archived,
        rows=found.rows,
        links=found.links,
        stale=found.stale,
        freshness=found.freshness,
        broken=found.broken[:_BROKEN],
        sessions=found.sessions or 0,
        turns=found.turns or 0,
        contexts=found.contexts or 0,
        context_bytes=found.context_bytes or 0,
        index_bytes=found.index_bytes,
        database_bytes=_size(memory),
        kernel=_kernel(),
        last_seal=_last_seal(memory),
    )


def _kernel() -> str | None:
    try:
        return chosen_kernel()
    except SlicebaseError:
        return None


def _size(memory: "Slicebase") -> int:
    """Returns the bytes of the database, with what is not yet merged into its file."""
    path = memory.workspace.database
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _last_seal(memory: "Slicebase") -> LastSeal | None:
    """Returns the newest seal, as the index knows it."""
    filters = Filters(meta={"slicebase": KIND})
    page = memory.finder.index.ask_again(lambda connection: page_of_files(connection, filters, "changed", None, 1))
    return next((LastSeal(each.id, to_text(each.changed)) for each in page.entries), None)


ENDPOINTS: Final = (get("/status", "status", status),)
