"""What an import cannot go below: the same work without the code that is ours.

The files are decoded once, and what they say is hashed. SQLite alone copies every row of the finished
database into an empty one with the same tables and triggers, and the rows of the index likewise. FTS5 alone indexes the
same texts. All of it is C, in one process, in the same run as the import; the sum is the floor for this layout.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import apsw
import msgspec

from slicebase.graph.graph_file import EdgeFields, TurnFields
from slicebase.index.turn_schema import TURNS_LAYOUT
from slicebase.truth.schema import SCHEMA

BATCH = 10_000
FULL_TEXT = ("words", "names", "known_names", "naming", "vocabulary", "occurrence")
TEXTS = """
SELECT turn.number,
  (SELECT group_concat(json_extract(value, '$.text'), ' ') FROM json_each(CAST(bytes AS TEXT), '$.parts'))
FROM turn JOIN truth.turns ON turns.turn = unhex(replace(turn.id, '-', ''))
JOIN truth.texts ON owner = 'session:' || turns.session AND texts.hash = unhex(substr(record, 25, 64))
ORDER BY number
"""


class GraphFields(msgspec.Struct):
    turns: list[TurnFields]
    edges: list[EdgeFields]


def spent(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start


HASHES = 3  # of the source, the content and the row of a turn


def decode(path: Path) -> None:
    """Decodes a graph file into typed values, any other file line by line, and hashes what a turn or a line says."""
    data = path.read_bytes()
    try:
        for turn in msgspec.json.decode(data, type=GraphFields).turns:
            hash_all(str(turn.content).encode())
    except msgspec.MsgspecError:
        for line in data.splitlines():
            hash_all(line)
            with suppress(msgspec.MsgspecError):  # crafted files have damaged lines
                msgspec.json.decode(line)


def hash_all(data: bytes) -> None:
    for _ in range(HASHES):
        hashlib.sha256(data).digest()


def empty(path: Path, schema: str) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536")
    connection.execute(schema)
    return connection


def copy_rows(source: Path, target: apsw.Connection, passed_over: tuple[str, ...] = ()) -> None:
    target.execute("ATTACH ? AS source", (str(source),))
    tables: list[str] = [
        str(name)
        for (name,) in target.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table' ORDER BY rowid")
        if not str(name).startswith(("sqlite_", *passed_over))
    ]
    target.execute("BEGIN")
    for table in tables:
        target.execute(f"INSERT OR IGNORE INTO main.{table} SELECT * FROM source.{table}")
    target.execute("COMMIT")
    target.execute("DETACH source")


def texts_of(truth: Path, index: Path) -> Iterator[list[tuple[int, str]]]:
    connection = apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READONLY)
    connection.execute("ATTACH ? AS truth", (str(truth),))
    rows = connection.execute(TEXTS)
    while batch := [(int(number), str(text or "")) for number, text in (next(rows, (0, "")) for _ in range(BATCH))]:
        yield [row for row in batch if row[0]]
        if not batch[-1][0]:
            return


def index_words(batches: Iterator[list[tuple[int, str]]], target: apsw.Connection) -> float:
    """Indexes texts, and returns the time for that alone."""
    target.execute("BEGIN")
    total = sum(
        spent(partial(target.executemany, "INSERT INTO words (rowid, text) VALUES (?, ?)", rows)) for rows in batches
    )
    return total + spent(lambda: target.execute("COMMIT"))


def measure(paths: list[Path], workspace: Path) -> dict[str, float]:
    """Returns the processor seconds of each part, for files that were imported into this workspace."""
    truth, index = workspace / ".slicebase/slicebase.db", workspace / ".slicebase/cache/turns.db"
    found = {"decode, hash": sum(spent(partial(decode, path)) for path in paths)}
    with TemporaryDirectory(dir=workspace.parent) as folder:
        copied = empty(Path(folder) / "truth.db", SCHEMA)
        found["rows of the truth"] = spent(lambda: copy_rows(truth, copied))
        copied.close()
        rows = empty(Path(folder) / "index.db", TURNS_LAYOUT.schema)
        found["rows of the index"] = spent(lambda: copy_rows(index, rows, FULL_TEXT))
        found["words, by FTS5"] = index_words(texts_of(truth, index), rows)
        rows.close()
    return found
