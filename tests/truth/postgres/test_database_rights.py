"""Who may do what: rows of the truth are added, and one memory never sees another."""

from pathlib import Path

import psycopg
import pytest
from psycopg import errors

from slicebase import Slicebase, SlicebaseError
from slicebase.truth.schema import CHAINS
from slicebase.truth.truth import Truth
from slicebase.verbs.verify import verify
from slicebase.workspace.server import URL_VARIABLE
from tests.conversations import chain, name, store
from tests.truth.postgres.conftest import Open

pytestmark = pytest.mark.postgres

DERIVED = ("waiting", "shapes", "nodes", "families", "runs", "steps", "items")


@pytest.fixture
def memory(on_server: Open) -> Slicebase:
    opened = on_server()
    store(opened.truth, chain(4))
    opened.runs.start("r", "Find it.", "Found.")
    return opened


def as_writer(server: str, memory: Slicebase) -> "psycopg.Connection[tuple[object, ...]]":
    """Connects as a writer of this memory whose program is not ours."""
    opened = psycopg.connect(server, autocommit=True)
    opened.execute("SET search_path = slicebase")
    opened.execute("SET ROLE slicebase_writer")
    opened.execute("SELECT set_config('slicebase.workspace', %s, false)", (memory.truth.identity.database,))
    return opened


@pytest.mark.parametrize("table", [*CHAINS, "texts"])
@pytest.mark.parametrize("change", ["UPDATE {} SET hash = hash", "DELETE FROM {}", "TRUNCATE {}", "DROP TABLE {}"])
def test_a_writer_cannot_change_or_remove_a_row_of_the_truth(
    server: str, memory: Slicebase, table: str, change: str
) -> None:
    with as_writer(server, memory) as other, pytest.raises(errors.InsufficientPrivilege):
        other.execute(change.format(table))


@pytest.mark.parametrize("table", [*CHAINS, "texts", *DERIVED, "workspaces"])
def test_a_memory_does_not_see_the_rows_of_another(on_server: Open, server: str, memory: Slicebase, table: str) -> None:
    with on_server("other") as second, as_writer(server, second) as other:
        mine = int(memory.truth.database.connection.execute(f"SELECT count(*) FROM {table}").get)
        rows = other.execute(f"SELECT DISTINCT workspace FROM {table}").fetchall()
    assert rows in ([], [(second.truth.identity.database,)])
    if table in ("turns", "texts", "nodes", "families", "runs"):
        assert mine
        assert not rows


def test_a_row_cannot_be_added_to_another_memory(on_server: Open, server: str, memory: Slicebase) -> None:
    with (
        on_server("other") as second,
        as_writer(server, second) as other,
        pytest.raises(errors.InsufficientPrivilege, match="row-level security"),
    ):
        other.execute(
            "INSERT INTO acts (seq, kind, record, hash, workspace) VALUES (9, 'seal', '', '', %s)",
            (memory.truth.identity.database,),
        )


def test_a_number_of_a_chain_is_given_once(server: str, memory: Slicebase) -> None:
    with as_writer(server, memory) as other, pytest.raises(errors.UniqueViolation):
        other.execute("INSERT INTO turns SELECT session, seq, turn, ''::bytea, hash FROM turns LIMIT 1")


def test_a_purge_replaces_a_text_and_is_a_record(memory: Slicebase) -> None:
    memory.purge(f"turn:{name(2)}", reason="asked to")
    assert memory.graph.turn(name(2)).text is None
    verdict = memory.verify()
    assert verdict.status == "VERIFIED"
    assert {finding.status for finding in verdict.findings} == {"PURGED"}


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("GRANT DELETE ON turns TO slicebase_writer", ("table turns", "the writer may DELETE")),
        ("ALTER TABLE texts DISABLE ROW LEVEL SECURITY", ("table texts", "those of all")),
        ("CREATE RULE silent AS ON INSERT TO acts DO INSTEAD NOTHING", ("table acts", "1")),
    ],
)
def test_verify_finds_what_protects_the_tables_no_more(
    server: str, tmp_path: Path, statement: str, found: tuple[str, str]
) -> None:
    with psycopg.connect(server, autocommit=True) as administrator:
        administrator.execute("DROP DATABASE IF EXISTS unprotected")
        administrator.execute("CREATE DATABASE unprotected")
    url = server.replace("/postgres?", "/unprotected?")
    truth = Truth(tmp_path / "x.db", url=url, create=True)
    assert verify(truth).status == "VERIFIED"
    with psycopg.connect(url, autocommit=True) as administrator:
        administrator.execute("SET search_path = slicebase")
        administrator.execute(statement)
    assert [(each.place, each.found) for each in verify(truth).findings] == [found]
    truth.close()


def test_verify_finds_a_row_that_an_administrator_changed(server: str, memory: Slicebase) -> None:
    with psycopg.connect(server, autocommit=True) as administrator:
        administrator.execute("SET row_security = off")
        administrator.execute(
            "UPDATE slicebase.texts SET bytes = 'other' WHERE workspace = %s AND owner LIKE 'session:%%'",
            (memory.truth.identity.database,),
        )
    verdict = memory.verify()
    assert verdict.status == "BROKEN"
    assert {finding.check for finding in verdict.findings} >= {"text-hash"}


def test_a_writer_who_may_not_purge_is_told_before_anything_is_purged(
    on_server: Open, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(server, autocommit=True) as administrator:
        administrator.execute("DROP ROLE IF EXISTS clerk")
        administrator.execute("CREATE ROLE clerk LOGIN IN ROLE slicebase_writer")
    with on_server() as memory:
        store(memory.truth, chain(4))
        entry = memory.library.create("Notes", "What was said.", body="The harbour opens at six in the morning.\n")
    monkeypatch.setenv(URL_VARIABLE, server.replace("postgres:@", "clerk@"))
    with Slicebase.open(memory.root) as refusing:
        for call in (lambda: refusing.library.purge(entry.id), lambda: refusing.purge(f"turn:{name(2)}", reason="x")):
            with pytest.raises(SlicebaseError) as caught:
                call()
            assert caught.value.code == "cannot-write"
            assert "slicebase_purger" in (caught.value.hint or "")
        assert b"harbour" in refusing.library.folder.find(entry.id).to_bytes()
        assert refusing.graph.turn(name(2)).text == "text of 2"


def test_a_user_who_may_not_create_the_tables_is_told_who_may(server: str, tmp_path: Path) -> None:
    with psycopg.connect(server, autocommit=True) as administrator:
        administrator.execute("DROP DATABASE IF EXISTS without_tables")
        administrator.execute("DROP ROLE IF EXISTS visitor")
        administrator.execute("CREATE ROLE visitor LOGIN")
        administrator.execute("CREATE DATABASE without_tables")
    url = server.replace("postgres:@", "visitor@").replace("/postgres?", "/without_tables?")
    with pytest.raises(SlicebaseError) as caught:
        Truth(tmp_path / "x.db", url=url, create=True)
    assert caught.value.code == "no-database"
    assert "schema.sql" in (caught.value.hint or "")


def test_a_user_without_the_role_of_a_writer_is_refused(server: str, memory: Slicebase) -> None:
    with psycopg.connect(server, autocommit=True) as administrator:
        administrator.execute("DROP ROLE IF EXISTS stranger")
        administrator.execute("CREATE ROLE stranger LOGIN")
    url = server.replace("postgres:@", "stranger@")
    with pytest.raises(SlicebaseError) as caught:
        Truth(memory.workspace.database, url=url)
    assert caught.value.code == "cannot-write"
    assert "slicebase_writer" in caught.value.hint
