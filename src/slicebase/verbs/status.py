"""An overview of a workspace, in numbers."""

from typing import Any, Final, NamedTuple

import apsw

from slicebase.index.entries import broken_files
from slicebase.index.staleness import freshness_counts
from slicebase.verbs.parts import Parts
from slicebase.workspace import git
from slicebase.workspace.workspace import Workspace

_LARGEST: Final = 256 * 1024 * 1024  # bytes of a document that is read to see whether it has changed


class Overview(NamedTuple):
    """What a workspace holds, and what is wrong with it."""

    root: str
    branch: str | None
    repository: bool
    merge_driver: bool
    files: dict[str, int]  # readable and not archived, by body type
    archived: int
    rows: int
    links: int
    broken: tuple[str, ...]  # why files cannot be read
    stale: int
    freshness: dict[str, int]  # files by the label that their age gives them
    sessions: int | None  # None if there is no database yet
    turns: int | None
    contexts: int | None  # recorded ones
    context_bytes: int | None  # of their manifests, and of the texts that these keep
    database: str
    index_bytes: int

    def __repr__(self) -> str:
        counts = f"files={sum(self.files.values())}, sessions={self.sessions}, turns={self.turns}"
        return f"Overview(root={self.root!r}, {counts})"

    def as_json(self) -> dict[str, Any]:
        """Returns the overview as `tt status --json` prints it."""
        return self._asdict()


def overview(parts: Parts) -> Overview:
    """Returns an overview of a workspace."""
    workspace, finder = parts.workspace, parts.finder
    now, half_life = parts.surroundings.now(), parts.settings.freshness_half_life_days
    counts = finder.index.ask(_counts)
    repository = git.is_repository(workspace.root)
    return Overview(
        root=str(workspace.root),
        branch=git.branch_of(workspace.root) if repository else None,
        repository=repository,
        merge_driver=repository and git.has_attributes(workspace.root) and git.driver_of(workspace.root) is not None,
        **counts,
        broken=tuple(str(error) for error in finder.index.ask_again(broken_files)),
        stale=len(finder.stale(largest=_LARGEST)),
        freshness=finder.index.ask_again(lambda connection: freshness_counts(connection, now, half_life)),
        **_history(workspace),
        database=workspace.place,
        index_bytes=finder.index.database.size(),
    )


def _counts(connection: apsw.Connection) -> dict[str, Any]:
    by_type = "SELECT type, count(*) FROM files WHERE problem IS NULL AND NOT archived GROUP BY type ORDER BY 2 DESC, 1"
    return {
        "files": dict(connection.execute(by_type)),
        "archived": connection.execute("SELECT count(*) FROM files WHERE archived").get,
        "rows": connection.execute("SELECT coalesce(sum(rows), 0) FROM files WHERE NOT archived").get,
        "links": connection.execute("SELECT count(*) FROM links").get,
    }


def _history(workspace: Workspace) -> dict[str, Any]:
    if not workspace.has_memory:
        return dict.fromkeys(("sessions", "turns", "contexts", "context_bytes"))
    from slicebase.truth.truth import open_truth

    truth = open_truth(workspace)
    try:
        sessions = list(truth.turns.sessions())
        contexts, size = truth.manifests.size()
        turns = sum(count for _, count in sessions)
        return {"sessions": len(sessions), "turns": turns, "contexts": contexts, "context_bytes": size}
    finally:
        truth.close()
