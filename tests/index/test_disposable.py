"""A disposable index is never the reason why a verb fails, or answers otherwise: whatever holds, hides or breaks it."""

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase import Slicebase
from slicebase.index import disposable
from slicebase.index.disposable import DatabaseLayout, Disposable, Patience, writing
from slicebase.index.upkeep import update_turn_index
from slicebase.verbs import imports
from tests.workspace.test_boundary_permissions import LINUX, without_privileges
from tests.workspace.test_disk_full import files_up_to

pytestmark = pytest.mark.skipif(os.geteuid() == 0 and not LINUX, reason="permissions do not count for root")

CACHE: Final = Path(".slicebase", "cache")
FILES: Final = ("turns.db", "chunks.db", "files.db")
AS_OF: Final = "2030-01-01T00:00:00Z"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disposable, "PATIENT", Patience(0.02, 0.02))


def conversation(folder: Path, name: str, *texts: str) -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps([{"role": "user", "content": text} for text in texts]))
    return path


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace whose indexes do not have what was stored last."""
    folder = tmp_path_factory.mktemp("behind")
    with Slicebase.init(folder) as base:
        base.import_([conversation(folder, "old", "the heron nests by the weir", "GIT_INDEX_FILE names a file")])
        base.library.create("Birds", "Notes.", body="# Birds\n\nA heron waits.\n")
        answers(base)
    shutil.copytree(folder / CACHE, folder / "earlier")
    with Slicebase.open(folder) as base:
        base.import_([conversation(folder, "new", "a heron again, and GIT_INDEX_FILE", "a kite")])
        base.library.create("Kites", "Notes.", body="# Kites\n\nA kite and a heron.\n")
        answers(base)
    shutil.rmtree(folder / CACHE)
    (folder / "earlier").rename(folder / CACHE)
    conversation(folder, "late", "a late heron")
    return folder


def answers(base: Slicebase) -> list[Any]:
    """Returns what the verbs that read say about turns, chunks and files."""
    found: list[Any] = []
    for query in ("heron", "GIT_INDEX_FILE"):
        results = base.search(query, limit=20)
        found += [[turn.id for turn in results.turns], sorted(hit.entry.id for hit in results.files)]
    found.append([(entry.id, entry.turns, entry.prompt) for entry in base.graph.sessions()])
    found.append([turn.id for turn in base.graph.turns("old", "heron")])
    found.append([piece.ref for piece in base.context("heron kite", 2000, record=False, as_of=AS_OF).manifest.pieces])
    return [*found, sorted(entry.id for entry in base.library.list_files())]


# ---- what can be in the way of a file


@contextmanager
def held(path: Path, how: str) -> Iterator[None]:
    """Holds a database as another process does that writes, reads, or deletes it."""
    if how == "lock":
        with path.with_suffix(".lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        return
    database = apsw.Connection(str(path))
    try:
        database.execute("BEGIN IMMEDIATE" if how == "write" else "BEGIN")
        database.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        yield
    finally:
        database.close()


@contextmanager
def built(path: Path) -> Iterator[None]:
    """Lets another process begin to build a database."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    with held(path, "write"):
        yield


@contextmanager
def mode(path: Path, bits: int) -> Iterator[None]:
    before = path.stat().st_mode
    path.chmod(bits)
    try:
        yield
    finally:
        path.chmod(before)


@contextmanager
def replaced(path: Path, data: bytes | None) -> Iterator[None]:
    path.unlink()
    path.mkdir() if data is None else path.write_bytes(data)
    yield


@contextmanager
def not_utf8(path: Path) -> Iterator[None]:
    """SQLite finds no damage in a text that is not UTF-8."""
    connection = apsw.Connection(str(path))
    for table, column in (("session", "id"), ("turn", "id"), ("state", "mark"), ("files", "id"), ("state", "listing")):
        if connection.execute("SELECT count(*) FROM pragma_table_info(?) WHERE name = ?", (table, column)).get:
            connection.execute(f"UPDATE {table} SET {column} = cast(x'ff' || {column} AS TEXT)")
    connection.close()
    yield


@contextmanager
def piped(path: Path) -> Iterator[None]:
    """Puts a pipe where SQLite looks for a log."""
    os.mkfifo(f"{path}-journal")
    yield


OBSTACLES: Final[dict[str, Callable[[Path], Any]]] = {
    "written by another process": lambda path: held(path, "write"),
    "read by another process": lambda path: held(path, "read"),
    "deleted by another process": lambda path: held(path, "lock"),
    "built by another process": built,
    "mode 400": lambda path: mode(path, 0o400),
    "mode 000": lambda path: mode(path, 0o000),
    "empty": lambda path: replaced(path, b""),
    "no database": lambda path: replaced(path, b"no database " * 1000),
    "truncated": lambda path: replaced(path, path.read_bytes()[:9000]),
    "exchanged": lambda path: replaced(path, path.with_name(FILES[FILES.index(path.name) - 1]).read_bytes()),
    "a folder": lambda path: replaced(path, None),
    "not UTF-8": not_utf8,
    "a pipe as its log": piped,
}
FOR_ALL: Final[dict[str, Callable[[Path], Any]]] = {
    "folder of mode 000": lambda path: mode(path.parent, 0o000),
    "folder of mode 500": lambda path: mode(path.parent, 0o500),
    "disk full": lambda path: files_up_to(0),
    "disk nearly full": lambda path: files_up_to(path.stat().st_size + 3 * 4096),
}
CASES: Final = [*((each, file) for each in OBSTACLES for file in FILES), *((each, FILES[0]) for each in FOR_ALL)]


@pytest.fixture(scope="module")
def right(behind: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    folder = tmp_path_factory.mktemp("right") / "behind"
    shutil.copytree(behind, folder)
    with Slicebase.open(folder) as base:
        return answers(base)


def obstacle_of(case: str, folder: Path, file: str) -> Any:
    return (OBSTACLES | FOR_ALL)[case](folder / CACHE / file)


@pytest.mark.parametrize(("case", "file"), CASES)
def test_verbs_that_read_give_the_right_answer(
    behind: Path, right: list[Any], tmp_path: Path, case: str, file: str
) -> None:
    """The indexes are behind, so that every verb has to write first."""
    folder = tmp_path / "behind"
    shutil.copytree(behind, folder)

    def ask() -> None:
        with Slicebase.open(folder) as base:
            assert base.truth.turns.sessions()
            with obstacle_of(case, folder, file):
                assert answers(base) == right
                assert base.context("heron kite", 2000, record=False, as_of=AS_OF).pieces  # now without a wait
            assert answers(base) == right

    without_privileges(ask)


@pytest.mark.parametrize("case", ["written by another process", "mode 400", "exchanged", "folder of mode 000"])
def test_an_import_keeps_its_account(behind: Path, tmp_path: Path, case: str) -> None:
    folder = tmp_path / "behind"
    shutil.copytree(behind, folder)

    def add() -> int:
        with Slicebase.open(folder) as base:
            return base.import_([folder / "late.json"]).report.turns

    with obstacle_of(case, folder, "turns.db"):
        assert without_privileges(add) == 1
    with Slicebase.open(folder) as base:
        assert len(base.search("late").turns) == 1


def test_an_import_keeps_its_account_where_only_the_index_finds_no_space(
    behind: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "behind"
    shutil.copytree(behind, folder)

    def with_a_full_disk(*arguments: Any) -> None:
        with files_up_to(0):
            update_turn_index(*arguments)

    monkeypatch.setattr(imports, "update_turn_index", with_a_full_disk)
    with Slicebase.open(folder) as base:
        assert base.import_([folder / "late.json"]).report.turns == 1
        assert len(base.search("late").turns) == 1


@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_no_verb_fails_whatever_bytes_a_file_has(
    behind: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """The answer is right after the file was deleted: not every changed byte can be noticed."""
    folder = tmp_path_factory.mktemp("bytes") / "behind"
    shutil.copytree(behind, folder)
    path = folder / CACHE / data.draw(st.sampled_from(FILES))
    content = bytearray(path.read_bytes())
    places = st.integers(100, len(content) - 1)
    for place, byte in data.draw(st.dictionaries(places, st.integers(0, 255), min_size=1, max_size=300)).items():
        content[place] = byte
    path.write_bytes(content)
    with Slicebase.open(folder) as base:
        answers(base)


# ---- what a question leaves behind

LAYOUT: Final = DatabaseLayout(7, 1, "CREATE TABLE word (text TEXT)")


def add(text: str) -> Callable[[apsw.Connection], list[str]]:
    """Returns a question that brings the database up to date first."""

    def question(connection: apsw.Connection) -> list[str]:
        if text not in read(connection):
            with writing(connection):
                connection.execute("INSERT INTO word VALUES (?)", (text,))
        return read(connection)

    return question


def read(connection: apsw.Connection) -> list[str]:
    return [text for (text,) in connection.execute("SELECT text FROM word")]


@pytest.mark.parametrize("keeps_open", [False, True])
def test_a_question_in_memory_begins_with_what_the_file_has_and_the_next_one_goes_back_to_the_file(
    tmp_path: Path, *, keeps_open: bool
) -> None:
    path = tmp_path / "words.db"
    database = Disposable(path, LAYOUT, keeps_open=keeps_open)
    assert database.ask(add("heron")) == ["heron"]
    with held(path, "write"):
        assert database.ask(add("kite")) == ["heron", "kite"]
        assert database.is_in_memory
        assert database.ask(add("weir")) == ["heron", "kite", "weir"]  # what was added in memory is still there
    assert database.ask(read) == ["heron"]
    assert not database.is_in_memory
    database.close()


def test_a_question_waits_once_for_a_process_that_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(disposable, "_set_patience", lambda connection, patience: waited.append(patience.transactions))
    with ExitStack() as stack:
        database = Disposable(tmp_path / "words.db", LAYOUT)
        database.ask(add("heron"))
        stack.enter_context(held(tmp_path / "words.db", "write"))
        waited.clear()
        database.ask(add("kite"))
        database.ask(add("weir"))
    assert waited[0] > 0
    assert not any(waited[1:])
    database.ask(add("weir"))
    database.ask(read)
    assert waited[-1] > 0  # the file was there again


@pytest.mark.parametrize(("little", "longest"), [(2_000, 2_000), (0, 60_000)])
def test_what_adds_little_to_an_index_does_not_wait_long_for_another_process(
    behind: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, little: int, longest: int
) -> None:
    monkeypatch.setattr(disposable, "PATIENT", Patience())
    monkeypatch.setattr("slicebase.index.upkeep._LITTLE", little)
    folder = shutil.copytree(behind, tmp_path / "copy")
    with Slicebase.open(folder) as base:
        index = base.turn_index
        index.ask(lambda: update_turn_index(index, base.truth))
        assert index._connection.pragma("busy_timeout") == longest


def test_an_error_of_ours_in_a_question_leaves_the_file_alone(tmp_path: Path) -> None:
    from slicebase.errors import SlicebaseError

    def question(connection: apsw.Connection) -> None:
        raise SlicebaseError("no-file", "there is none")

    database = Disposable(tmp_path / "words.db", LAYOUT)
    database.ask(add("heron"))
    with pytest.raises(SlicebaseError):
        database.ask(question)
    assert database.ask(read) == ["heron"]


def test_a_bug_shows_itself_and_deletes_nothing(tmp_path: Path) -> None:
    database = Disposable(tmp_path / "words.db", LAYOUT)
    database.ask(add("heron"))
    with pytest.raises(ZeroDivisionError):
        database.ask(lambda connection: 1 // 0)
    with pytest.raises(apsw.SQLError):
        database.ask(lambda connection: connection.execute("SELECT nothing FROM"))
    assert database.ask(read) == ["heron"]


def test_filling_what_cannot_be_written_does_nothing(tmp_path: Path) -> None:
    path = tmp_path / "words.db"
    database = Disposable(path, LAYOUT)
    database.ask(add("heron"))
    with held(path, "write"):
        database.fill(add("kite"))
    database.fill(add("weir"))
    assert database.ask(read) == ["heron", "weir"]


def test_what_is_in_memory_touches_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(":memory:").write_text("of somebody")
    database = Disposable(None, LAYOUT)
    database.fill(add("heron"))
    assert database.ask(read) == ["heron"]
    assert not database.exists()
    database.purge()
    database.close()
    assert [each.name for each in tmp_path.iterdir()] == [":memory:"]
