"""The slice files in the index: finding them by id, filtering and listing them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import apsw

from slicebase.core.refs import parse
from slicebase.core.short_ids import SHORTEST_ID, short_id, short_ids, the_only
from slicebase.core.times import EARLIEST, LATEST, Moment, milliseconds, to_text
from slicebase.errors import SlicebaseError, Where
from slicebase.workspace.workspace import LIBRARY

_DAY: Final = 86_400_000


class FileEntry(NamedTuple):
    """What the index knows about a slice file."""

    number: int  # has a meaning in this index only
    id: str
    name: str
    title: str
    summary: str
    kind: str
    body_type: str
    size: int
    rows: int
    hash: str | None
    source: str | None
    source_hash: str | None
    source_now: str | None  # the current hash of the source
    changed: int  # milliseconds since 1970
    due: str | None
    archived: int
    purged: int
    body_hash: str | None = None  # of this file's body alone; `hash` is that of the file with its parts
    note: str | None = None  # the digest of the note that the file points to; empty if it cannot be read
    repeated: int = 0  # whether another part of the same file has some of its content, too
    says_when: int = 1  # whether the file or its id says when it was changed; else `changed` is the time of the disk
    payload_state: Literal["same", "changed", "missing"] | None = None  # None where no document was compared

    @property
    def ref(self) -> str:
        """The reference of the file."""
        return f"file:{self.id}"

    def __repr__(self) -> str:
        return f"FileEntry(id={self.id!r}, title={self.title[:60]!r}, body_type={self.body_type!r}, rows={self.rows})"

    @property
    def dated(self) -> int | None:
        """The last change that is known wherever the file is copied to; None of a note that has changed since."""
        return self.changed if self.says_when and self.note_state != "changed" else None

    @property
    def is_outdated(self) -> bool:
        """Whether its source, its note or its document is not what it was: its age does not count."""
        gone = ("changed", "missing")
        return self.derivation == "stale" or self.note_state in gone or self.payload_state in gone

    @property
    def derivation(self) -> Literal["fresh", "stale", "unknown"] | None:
        """The state of a derived file, compared with its source (§ Hash-Based Staleness); None for other files.

        Also None for a narrative: what it is derived from is no file, and `stale` compares it with its run (ruling 41).
        """
        from slicebase.files.freshness import derivation

        if not self.source or self.source.startswith("sn_"):
            return None
        return derivation(self.source_hash or "", self.source_now)

    @property
    def note_state(self) -> Literal["same", "changed", "missing"] | None:
        """The state of a note, compared with the hash that its pointer states; None for files that are no notes."""
        if self.note is None:
            return None
        return "missing" if not self.note else "same" if self.note == self.hash else "changed"

    def as_json(self, now: int, half_life: float) -> dict[str, Any]:
        """Returns what `--json` shows of a file, as of a time in milliseconds since 1970."""
        from slicebase.files.freshness import label, staleness  # imported here for a fast start

        stale = staleness((now - self.changed) / _DAY, half_life)
        return {
            "id": self.id,
            "title": self.title,
            "summary": self.summary,
            "kind": self.kind,
            "type": self.body_type,
            "file": f"{LIBRARY}/{self.name}",
            "bytes": self.size,
            "rows": self.rows,
            "hash": self.hash,
            "changed": to_text(min(max(self.changed, EARLIEST), LATEST)),
            "freshness": {"label": str(label(stale)), "staleness": round(stale, 6), "derivation": self.derivation},
            "archived": bool(self.archived),
            "purged": bool(self.purged),
            "note": self.note_state,
            "payload_state": self.payload_state,
        }


class Filters(NamedTuple):
    """Conditions that a slice file has to meet to be found."""

    kind: str | None = None  # context or pointer
    type: str | None = None  # of the body
    rel: str | None = None  # the file has a link of this relationship
    meta: Mapping[str, str] | Sequence[tuple[str, str]] = ()  # keys of the frontmatter's `meta` with their values
    changed_since: Moment | None = None
    archived: bool = False  # include archived files
    changed_before: Moment | None = None
    ids: Sequence[str] = ()  # the ids of the files, or their beginnings; any of them


EVERY_FILE: Final = Filters()

# The hash of a file with its parts; NULL if one of them could not be read.
_HASH: Final = "nullif(coalesce({0}.whole, {0}.hash), '')"
_NAMED_BY_ID: Final = "ORDER BY {0}.name = {0}.id || '.slice' DESC, {0}.name LIMIT 1"
COLUMNS: Final = f"""
files.number, files.id, files.name, files.title, files.summary, files.kind, files.type, files.size, files.rows,
{_HASH.format("files")}, files.source, files.source_hash,
(SELECT {_HASH.format("source")} FROM files AS source WHERE source.id = files.source {_NAMED_BY_ID.format("source")}),
coalesce(files.changed, files.disk_time, 0) AS moment, files.due, files.archived, files.purged, files.hash,
(SELECT coalesce(digest, '') FROM notes WHERE notes.file = files.number), files.repeated, files.changed IS NOT NULL
"""

_CONDITIONS: Final = {
    "kind": "files.kind = ?",
    "type": "files.type = ?",
    "rel": "EXISTS (SELECT 1 FROM links WHERE links.file = files.number AND rel = ? AND active)",
    "changed_since": "coalesce(files.changed, files.disk_time) > ?",
    "changed_before": "coalesce(files.changed, files.disk_time) < ?",
}
_LEAST: Final = 8  # characters of a short id (ruling 53)
_META: Final = "EXISTS (SELECT 1 FROM meta WHERE meta.file = files.number AND key = ? AND value = ?)"


def conditions(filters: Filters) -> tuple[str, list[Any]]:
    """Returns the filters as an SQL condition for WHERE, and its values."""
    since, before = (
        None if each is None else milliseconds(each) for each in (filters.changed_since, filters.changed_before)
    )
    exact = filters._replace(changed_since=since, changed_before=before)
    given = [(sql, value) for field, sql in _CONDITIONS.items() if (value := getattr(exact, field)) is not None]
    sql = ["problem IS NULL", *([] if filters.archived else ["NOT files.archived"])]
    meta = list(filters.meta.items() if isinstance(filters.meta, Mapping) else filters.meta)
    sql += [condition for condition, _ in given] + [_META for _ in meta]
    named = [each.removesuffix(".slice") for each in filters.ids]
    sql += [f"({' OR '.join('substr(files.id, 1, ?) = ?' for _ in named)})"] if named else []
    values = [value for _, value in given] + [part for pair in meta for part in pair]
    return " AND ".join(sql), values + [part for each in named for part in (max(_LEAST, len(each)), each)]


def list_files(connection: apsw.Connection, filters: Filters) -> list[FileEntry]:
    """Returns the files that pass the filters, the last changed first."""
    where, values = conditions(filters)
    query = f"SELECT {COLUMNS} FROM files WHERE {where} ORDER BY moment DESC, files.id, files.name"
    return [FileEntry(*row) for row in connection.execute(query, values)]


FileOrder = Literal["changed", "oldest", "title", "type"]
# What files are sorted by, in ascending order, before their ids.
_ORDERS: Final[Mapping[FileOrder, tuple[str, str]]] = {
    "changed": ("-coalesce(files.changed, files.disk_time, 0)", "0 + 0"),
    "oldest": ("coalesce(files.changed, files.disk_time, 0)", "0 + 0"),
    "title": ("lower(files.title)", "0 + 0"),
    "type": ("files.type", "-coalesce(files.changed, files.disk_time, 0)"),
}
FilePlace = tuple[int | str, int, str, str]


class FilePage(NamedTuple):
    """A part of a list of files, the place of the last one if there are more, and the number of all."""

    entries: list[FileEntry]
    last: FilePlace | None
    total: int


def page_of_files(
    connection: apsw.Connection, filters: Filters, order: FileOrder, after: FilePlace | None, limit: int
) -> FilePage:
    """Returns the first files after a place in a list; only these are read."""
    where, values = conditions(filters)
    keys = f"{', '.join(_ORDERS[order])}, coalesce(files.id, ''), files.name"
    total: int = connection.execute(f"SELECT count(*) FROM files WHERE {where}", values).get
    beyond = f" AND ({keys}) > (?, ?, ?, ?)" if after else ""
    query = f"SELECT {keys}, {COLUMNS} FROM files WHERE {where}{beyond} ORDER BY {keys} LIMIT ?"
    rows: list[Any] = connection.execute(query, [*values, *(after or ()), limit + 1]).fetchall()
    shown = rows[:limit]
    last: FilePlace | None = tuple(shown[-1][:4]) if len(rows) > limit else None
    return FilePage([FileEntry(*row[4:]) for row in shown], last, total)


def get_file(connection: apsw.Connection, file_id: str) -> FileEntry | None:
    """Returns the file with this id, or None. Of several, the one whose name is the id counts."""
    query = f"SELECT {COLUMNS} FROM files WHERE id = ? {_NAMED_BY_ID.format('files')}"
    for row in connection.execute(query, (file_id,)):
        return FileEntry(*row)
    return None


def get_files(connection: apsw.Connection, ids: Collection[str]) -> dict[str, FileEntry]:
    """Returns the files with these ids as `get_file` does, by their ids; ids that no file has are left out."""
    import json

    query = f"""
    SELECT {COLUMNS} FROM json_each(?) AS wanted JOIN files ON files.id = wanted.value
    ORDER BY files.name = files.id || '.slice', files.name DESC
    """  # of several files, the last one counts
    rows = connection.execute(query, (json.dumps(list(ids)),))
    return {entry.id: entry for entry in (FileEntry(*row) for row in rows)}


def find_file(connection: apsw.Connection, given: str) -> FileEntry:
    """Returns the file with this id, or with the only id that begins with it (ruling 53)."""
    sought = parse(given, bare="file").owner
    if exact := get_file(connection, sought):
        return exact
    _refuse_broken(connection, sought)
    query = "SELECT id FROM files WHERE substr(id, 1, ?) = ?"
    only = the_only(sought, (str(found) for (found,) in connection.execute(query, (len(sought), sought))), "files")
    found = get_file(connection, only) if only is not None else None
    if found is None:
        raise SlicebaseError("no-file", f"there is no file with the id {sought}", hint="`tt list` shows the files")
    return found


_BESIDE: Final = """
SELECT EXISTS (SELECT 1 FROM files WHERE id = ?1),
(SELECT max(id) FROM files WHERE id < ?1), (SELECT min(id) FROM files WHERE id > ?1),
(SELECT max(name) FROM files WHERE problem IS NOT NULL AND name < ?1),
(SELECT min(name) FROM files WHERE problem IS NOT NULL AND name > ?1)
"""


_FEW: Final = 100  # ids; for more, all ids are read


def short_file_ids(connection: apsw.Connection, ids: Collection[str]) -> dict[str, str]:
    """Returns the short forms of ids: no other file, readable or not, has an id that begins so.

    An id that no file has stays as it is.
    """
    if len(ids) > _FEW:
        return _short_among_all(connection, ids)
    found = {}
    for file_id in ids:
        is_there, *beside = next(connection.execute(_BESIDE, (file_id,)))
        found[file_id] = short_id(file_id, beside) if is_there else file_id
    return found


def like_turns(connection: apsw.Connection) -> frozenset[str]:
    """Returns the first characters of the ids of files that may also be those of a turn, as many as a short id has."""
    begins = f"substr({{}}, 1, {SHORTEST_ID})"
    like = f"SELECT {begins} FROM files WHERE {{}} GLOB '{'[0-9a-f]' * SHORTEST_ID}*'"
    query = " UNION ".join(like.format(column, column) for column in ("id", "name"))
    return frozenset(str(found) for (found,) in connection.execute(query))


def _short_among_all(connection: apsw.Connection, ids: Collection[str]) -> dict[str, str]:
    known = {str(file_id) for (file_id,) in connection.execute("SELECT id FROM files WHERE id IS NOT NULL")}
    broken = {str(name) for (name,) in connection.execute("SELECT name FROM files WHERE problem IS NOT NULL")}
    short = short_ids(known | broken)
    return {file_id: short[file_id] if file_id in known else file_id for file_id in ids}


def broken_files(connection: apsw.Connection) -> list[SlicebaseError]:
    """Returns the errors of the files that cannot be read, in the order of their names."""
    query = "SELECT problem FROM files WHERE problem IS NOT NULL ORDER BY name"
    return [_problem(problem) for (problem,) in connection.execute(query)]


def _refuse_broken(connection: apsw.Connection, file_id: str) -> None:
    """Raises the error of the file with this name, if it cannot be read."""
    query = "SELECT problem FROM files WHERE problem IS NOT NULL AND name = ?"
    for (problem,) in connection.execute(query, (file_id + ".slice",)):
        raise _problem(problem)


def _problem(stored: str) -> SlicebaseError:
    import json

    error = json.loads(stored)
    return SlicebaseError(error["code"], error["message"], hint=error["hint"], where=Where(**(error["where"] or {})))
