"""Libraries for tests: real folders with slice files as people and programs leave them."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

from slicebase.library.finder import Finder
from slicebase.workspace.workspace import Workspace, create_workspace

NOW = 1_772_000_000_000  # some moment in 2026, in milliseconds
DAY = 86_400_000


def library(folder: Path) -> Workspace:
    folder.mkdir(parents=True, exist_ok=True)
    return create_workspace(folder)


def text_of(file_id: str, body: str = "", *, type: str = "markdown", **fields: Any) -> str:
    """Returns a slice file with this body and defaults for the rest. Values are JSON, which is also YAML."""
    given = {"v": "1", "id": file_id, "title": f"Title of {file_id}", "summary": "No more than this.", **fields}
    given["body"] = {"type": type}
    lines = [f"  {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in given.items() if value is not None]
    return "\n".join(["---", "slice:", *lines, "---", body])


def put(workspace: Workspace, file_id: str, body: str = "", *, name: str | None = None, **fields: Any) -> Path:
    path = workspace.library / f"{name or file_id}.slice"
    path.write_text(text_of(file_id, body, **fields))
    return path


def rows(*given: Mapping[str, Any]) -> str:
    """Returns the lines of a log; `id`, `supersedes`, `status` and `links` go into `_meta`."""
    lines = []
    for number, row in enumerate(given):
        meta = {key: row[key] for key in ("id", "supersedes", "status", "links") if key in row}
        meta["created_at"] = row.get("at", f"2026-01-01T00:00:{number:02}Z")
        content = {key: value for key, value in row.items() if key not in (*meta, "at")}
        lines.append(json.dumps({"_meta": meta, **content}) + "\n")
    return "".join(lines)


def ids(finder: Finder, query: str, **options: Any) -> list[str]:
    return [hit.entry.id for hit in finder.search(query, **options).hits]


def everything(finder: Finder, queries: Sequence[str]) -> Any:
    """Returns every result that a library gives, without the numbers that only an index knows."""
    listed = [entry._replace(number=0) for entry in finder.list_files()]
    found = [
        (results.total, results.hints, [hit._replace(entry=hit.entry._replace(number=0)) for hit in results.hits])
        for results in (finder.search(query, former_rows=former) for query in queries for former in (False, True))
    ]
    walks = [finder.explore(entry.id, direction="both", depth=3, infer=True).walk for entry in listed]
    stale = [(each.entry.id, each.reasons) for each in finder.stale(90)]
    return listed, found, walks, stale, [error.as_json() for error in finder.broken()]


def queries(finder: Finder, ask: Callable[[apsw.Connection], object]) -> int:
    """Returns how many queries somebody sends to the index."""

    def traced(connection: apsw.Connection) -> int:
        seen = list[str]()

        def keep(_: apsw.Cursor, sql: str, values: object) -> bool:
            seen.append(sql)
            return True

        connection.exec_trace = keep
        try:
            ask(connection)
        finally:
            connection.exec_trace = None
        return len(seen)

    return finder.index.ask(traced)
