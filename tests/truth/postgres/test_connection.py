"""Lost connections, servers that do not answer, and databases that are not ours: errors that say what to do."""

import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from slicebase import Slicebase, SlicebaseError
from slicebase.truth.ownership import Opener
from slicebase.truth.truth import Truth
from slicebase.workspace.server import URL_VARIABLE
from tests.conversations import chain, name, store, turn
from tests.truth.postgres.conftest import Open

pytestmark = pytest.mark.postgres


def end_connection(server: str, memory: Slicebase) -> None:
    """Ends the connection of a memory, as an administrator or a restart does."""
    own = memory.truth.database.connection.execute("SELECT pg_backend_pid()").get
    with psycopg.connect(server, autocommit=True) as administrator:
        administrator.execute("SELECT pg_terminate_backend(%s, 5000)", (own,))


def refused(call: Callable[[], object]) -> SlicebaseError:
    with pytest.raises(SlicebaseError) as caught:
        call()
    return caught.value


def test_a_question_is_asked_again_where_the_connection_was_lost(on_server: Open, server: str) -> None:
    memory = on_server()
    store(memory.truth, chain(4))
    end_connection(server, memory)
    assert memory.graph.turn(name(2)).text == "text of 2"
    end_connection(server, memory)
    assert memory.graph.select(name(2)).export


def test_a_write_begins_again_where_the_connection_was_lost_before_it(on_server: Open, server: str) -> None:
    memory = on_server()
    store(memory.truth, chain(4))
    end_connection(server, memory)
    store(memory.truth, [turn("later", 3)])
    assert memory.verify().status == "VERIFIED"


def test_a_connection_that_is_lost_in_a_transaction_stores_nothing_and_says_so(on_server: Open, server: str) -> None:
    memory = on_server()
    store(memory.truth, chain(4))

    def interrupted() -> None:
        with memory.truth.database.writing():
            store(memory.truth, [turn("lost", 3)])
            end_connection(server, memory)

    assert refused(interrupted).code == "no-server"
    assert memory.truth.turns.find([name("lost")]) == {}
    store(memory.truth, [turn("lost", 3)])
    assert memory.verify().status == "VERIFIED"


def test_a_server_that_does_not_answer_is_named_without_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    monkeypatch.setenv(URL_VARIABLE, f"postgresql://ada:sesame-1234@127.0.0.1:{port}/memory")
    with Slicebase.init(tmp_path / "here") as memory:
        error = refused(lambda: memory.truth)
        shown = memory.workspace.place
    assert error.code == "no-server"
    assert "sesame" not in repr(error) + shown
    assert shown == f"postgresql://127.0.0.1:{port}/memory"


@pytest.mark.parametrize("url", ["mysql://host/db", "/var/lib/db", "postgresql:/one-slash"])
def test_an_address_of_something_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv(URL_VARIABLE, url)
    assert refused(lambda: Slicebase.init(tmp_path / "here")).code == "bad-setting"


def test_a_writer_that_waits_too_long_for_another_one_is_told(on_server: Open) -> None:
    memory = on_server()
    store(memory.truth, chain(4))
    other = Truth(memory.workspace.database, opener=known(memory), url=memory.workspace.url)
    with memory.truth.database.writing(), other.database.without_waiting():
        assert refused(lambda: store(other, [turn("later", 3)])).code == "locked"
    store(other, [turn("later", 3)])
    other.close()
    assert name("later") in memory.truth.turns.find([name("later")])


def known(memory: Slicebase) -> Opener:
    return Opener(known=frozenset({memory.truth.identity.database}))


def test_a_second_machine_joins_a_memory_by_its_id_and_sees_what_the_first_one_adds(on_server: Open) -> None:
    first = on_server("first")
    store(first.truth, chain(4))
    second = on_server("second", join=first.truth.identity.database)
    assert second.truth.identity == first.truth.identity
    assert second.graph.select(name(3)).export == first.graph.select(name(3)).export
    store(first.truth, [turn("later", 3, text="the harbour opens at six")])
    assert [hit.text for hit in second.search("harbour").turns] == ["the harbour opens at six"]


@pytest.mark.parametrize("id_", ["01ABCDEF", "it's", "", "../x"])
def test_a_memory_that_the_server_does_not_have_is_not_joined(on_server: Open, id_: str) -> None:
    assert refused(lambda: on_server("new", join=id_)).code in ("database-lost", "database-damaged")
    with on_server("new") as memory:
        store(memory.truth, chain(2))  # it can still have one of its own


def test_a_workspace_that_knows_a_memory_does_not_begin_another_one_without_its_server(
    on_server: Open, in_file: Open
) -> None:
    with on_server("here") as memory:
        store(memory.truth, chain(4))
    without = in_file("here")
    assert refused(lambda: without.search("text")).code == "database-lost"
    assert refused(lambda: store(without.truth, chain(2))).code == "database-lost"
    assert "SLICEBASE_URL" in (refused(lambda: without.truth).hint or "")


@pytest.mark.parametrize("is_cloned", [True, False])
@pytest.mark.parametrize("place", [".slicebase/slicebase.id", ".slicebase/cache/turns.db"])
def test_a_folder_that_came_with_the_id_of_a_memory_does_not_get_it(
    on_server: Open, tmp_path: Path, place: str, is_cloned: bool
) -> None:
    """Else a repository would name which memory of the user its agents read and write (ruling 49)."""
    with on_server("victim") as memory:
        store(memory.truth, chain(4))
        memory.search("text")
        id_ = memory.truth.identity.database
    index = memory.workspace.turns.read_bytes()
    foreign = tmp_path / "foreign"
    if is_cloned:
        subprocess.run(["git", "init", "-q", str(foreign)], check=True)
    (foreign / place).parent.mkdir(parents=True)
    (foreign / place).write_bytes(index if place.endswith("db") else f"{id_}\n".encode())
    with on_server("foreign") as memory:
        assert refused(lambda: memory.search("text")).code == "database-not-ours"
        assert refused(lambda: store(memory.truth, [turn("later", 3)])).code == "database-not-ours"
    on_server("foreign", join=id_).close()
    with on_server("foreign") as memory:
        assert [hit.text for hit in memory.search("text of 2").turns][:1] == ["text of 2"]


def test_a_folder_that_names_the_git_directory_of_another_does_not_get_its_memory(
    on_server: Open, tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path / "victim")], check=True)
    with on_server("victim") as memory:
        store(memory.truth, chain(4))
        id_ = memory.truth.identity.database
    (tmp_path / "foreign" / ".slicebase").mkdir(parents=True)
    (tmp_path / "foreign" / ".slicebase" / "slicebase.id").write_text(f"{id_}\n")
    (tmp_path / "foreign" / ".git").write_text(f"gitdir: {tmp_path}/victim/.git\n")
    assert refused(lambda: on_server("foreign").search("text")).code in ("database-not-ours", "no-repository")


def test_all_worktrees_of_a_repository_have_one_memory(on_server: Open, tmp_path: Path) -> None:
    first = tmp_path / "first"
    subprocess.run(["git", "init", "-q", str(first)], check=True)
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", "-C", str(first), *identity, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    with on_server("first") as memory:
        store(memory.truth, chain(4))
        id_ = memory.truth.identity.database
    subprocess.run(["git", "-C", str(first), "worktree", "add", "-q", str(tmp_path / "second")], check=True)
    with on_server("second") as memory:
        assert memory.truth.identity.database == id_


def test_a_workspace_with_a_database_of_its_own_keeps_it(on_server: Open, in_file: Open) -> None:
    with in_file("here") as memory:
        store(memory.truth, chain(4))
    with on_server("here") as memory:
        assert memory.workspace.url == ""
        assert memory.graph.turn(name(2)).text == "text of 2"


def test_to_delete_the_data_of_a_memory_on_a_server_is_refused_and_removes_nothing(on_server: Open) -> None:
    with on_server("here") as memory:
        store(memory.truth, chain(4))
        assert refused(lambda: memory.uninit(delete_data=True)).code == "bad-arguments"
        assert refused(lambda: memory.uninit(delete_data=True, dry_run=True)).code == "bad-arguments"
        memory.uninit()
    with on_server("here") as memory:
        assert memory.graph.turn(name(2)).text == "text of 2"


def test_a_database_without_our_tables_and_one_of_a_later_version_are_refused(server: str, tmp_path: Path) -> None:
    with psycopg.connect(server, autocommit=True) as administrator:
        for database in ("empty_one", "newer_one"):
            administrator.execute(f"DROP DATABASE IF EXISTS {database}")
            administrator.execute(f"CREATE DATABASE {database}")
    empty, newer = (server.replace("/postgres?", f"/{database}?") for database in ("empty_one", "newer_one"))
    assert refused(lambda: Truth(tmp_path / "x.db", url=empty)).code == "no-database"
    Truth(tmp_path / "x.db", url=newer, create=True).close()
    with psycopg.connect(newer, autocommit=True) as administrator:
        administrator.execute("UPDATE slicebase.layout SET version = 99")
    assert refused(lambda: Truth(tmp_path / "x.db", url=newer, create=True)).code == "database-newer"


def test_a_database_that_has_not_room_for_all_characters_is_refused(server: str, tmp_path: Path) -> None:
    with psycopg.connect(server, autocommit=True) as administrator:
        administrator.execute("DROP DATABASE IF EXISTS of_latin")
        administrator.execute("CREATE DATABASE of_latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    latin = server.replace("/postgres?", "/of_latin?")
    assert refused(lambda: Truth(tmp_path / "x.db", url=latin, create=True)).code == "no-database"


def test_a_statement_that_took_too_long_for_the_server_is_not_another_process_that_writes(on_server: Open) -> None:
    memory = on_server()
    store(memory.truth, chain(4))
    connection = memory.truth.database.connection
    connection.execute("SET statement_timeout = 20")
    error = refused(lambda: connection.execute("SELECT pg_sleep(5)"))
    assert error.code == "no-server"
    assert "statement_timeout" in (error.hint or "")


def test_a_part_of_a_transaction_that_fails_leaves_nothing_and_the_rest_is_stored(on_server: Open) -> None:
    memory = on_server()
    store(memory.truth, chain(4))
    database = memory.truth.database

    def refused_by_the_server() -> None:
        with database.writing() as connection:
            store(memory.truth, [turn("within", 3)])
            connection.execute("INSERT INTO turns SELECT session, seq, turn, record, hash FROM turns LIMIT 1")
            next(connection.execute("SELECT 1 FROM turns LIMIT 1"))  # here the server's answer is waited for

    def given_up() -> None:
        with database.writing():
            store(memory.truth, [turn("other", 3, session="other")])
            raise SlicebaseError("locked", "given up")

    with database.writing():
        store(memory.truth, [turn("before", 3)])
        assert refused(refused_by_the_server).code == "cannot-write"
        assert refused(given_up).code == "locked"
        store(memory.truth, [turn("after", 3)])
    names = [name(each) for each in ("before", "within", "other", "after")]
    assert set(memory.truth.turns.find(names)) == {names[0], names[3]}
    assert memory.verify().status == "VERIFIED"
    assert not memory.verify().findings


def test_an_error_that_arrives_at_the_end_stores_nothing(on_server: Open) -> None:
    memory = on_server()
    store(memory.truth, chain(4))

    def broken() -> None:
        with memory.truth.database.writing() as connection:
            store(memory.truth, [turn("before", 3)])
            connection.execute("INSERT INTO turns SELECT session, seq, turn, record, hash FROM turns LIMIT 1")

    assert refused(broken).code == "cannot-write"
    assert memory.truth.turns.find([name("before")]) == {}
    store(memory.truth, [turn("before", 3)])
    assert memory.verify().status == "VERIFIED"
