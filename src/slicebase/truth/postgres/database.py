"""The truth in PostgreSQL: how it is reached, written and erased.

A transaction that writes locks its workspace first, so the chains of a workspace have one writer at a time, as in
SQLite. It ends with the log of the heads that have grown. A connection that is lost is made again where nothing was
under way.
"""

from collections.abc import Iterable, Iterator, Set
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.resources import files
from pathlib import Path
from typing import Final

from slicebase.errors import SlicebaseError
from slicebase.truth.acts import CREATE, act_row
from slicebase.truth.chains import LOG, Chain, ChainHead, append_rows
from slicebase.truth.connection import Dialect
from slicebase.truth.database import LONGEST_WAIT, Database
from slicebase.truth.ownership import Opener
from slicebase.truth.postgres.connection import PostgresConnection
from slicebase.truth.schema import CHAINS

LAYOUT: Final = 1
_TRIES: Final = 3
# What an administrator has set for a role, or a user in the environment, must not change how bytes and numbers arrive.
# A machine that is gone without a word must not keep its lock for hours.
_SETUP: Final = f"""
SET search_path = slicebase; SET lock_timeout = {LONGEST_WAIT}; SET idle_in_transaction_session_timeout = '10min';
SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3;
SET client_encoding = 'UTF8'; SET bytea_output = 'hex'; SET extra_float_digits = 1;
"""
_DIALECT: Final = Dialect(
    item="convert_from({0}, 'UTF8')::json ->> {1}",
    field="json_field({0}, '{1}')",
    each="json_array_elements_text({}::json) AS each (value)",
)
_TABLES: Final = ", ".join(f"'{table}'" for table in (*CHAINS, "texts"))
_PROTECTION: Final = f"""
SELECT relname, relrowsecurity AND relforcerowsecurity,
  (SELECT count(*) FROM pg_trigger WHERE tgrelid = pg_class.oid AND NOT tgisinternal)
    + (SELECT count(*) FROM pg_rewrite WHERE ev_class = pg_class.oid),
  array(SELECT r FROM unnest(ARRAY['UPDATE', 'DELETE', 'TRUNCATE']) AS r
    WHERE has_table_privilege('slicebase_writer', pg_class.oid, r))
FROM pg_class WHERE relnamespace = 'slicebase'::regnamespace AND relname IN ({_TABLES}) ORDER BY relname
"""


class PostgresDatabase(Database):
    """A connection to the truth of one workspace."""

    dialect = _DIALECT
    connection: PostgresConnection
    is_shared = True

    def __init__(self, path: Path, connection: PostgresConnection, workspace: str) -> None:
        super().__init__()
        self.path = path
        self.connection = connection
        self.read_only = False
        self.file_id = workspace
        self._grown: dict[Chain, ChainHead] = {}
        self._own = 0  # transactions of this connection that have counted themselves
        self._is_writing = False

    def close(self) -> None:
        """Closes the connection. Everything is logged."""
        self.connection.close()

    def is_in_place(self) -> bool:
        """Returns whether the database that was opened is still there: where it is not, every statement says so."""
        return True

    @property
    def state(self) -> tuple[int, ...]:
        """A value that changes with every write of this connection or another."""
        writes = int(self.connection.execute("SELECT writes FROM workspaces").get)
        return writes - self._own, self.connection.changes

    def errors(self) -> AbstractContextManager[None]:
        """Does nothing: a connection raises errors of ours."""
        return nullcontext()

    def _has_appended(self, chain: Chain, head: ChainHead) -> None:
        self._grown[chain] = head

    def log(self, chains: Iterable[Chain] = ()) -> None:
        """Does nothing: each transaction has logged what has grown."""

    def unlogged(self) -> Set[Chain]:
        """Returns the chains that have grown since their heads were logged: none."""
        return frozenset()

    # Transactions

    def _begin(self, *, writes: bool) -> None:
        self._grown = {}
        if writes:
            self.connection.begin("BEGIN; UPDATE workspaces SET writes = writes + 1", writes=True)
            self._own += 1
            self._is_writing = True
        else:
            self.connection.begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", writes=False)

    def _roll_back(self) -> None:
        self._own -= self._is_writing
        self._is_writing = False
        self.connection.roll_back()

    def _commit(self) -> None:
        self.connection.commit()

    @contextmanager
    def part(self) -> Iterator[None]:
        """Runs a part of a transaction, if there is one. After an error, nothing of the part is left in it."""
        before = dict(self._grown)
        try:
            with super().part():
                yield
        except BaseException:
            self._grown = before
            raise

    def _finish(self) -> None:
        """Logs the heads of the chains that have grown."""
        grown = [(str(chain), *head) for chain, head in sorted(self._grown.items()) if chain.table != LOG]
        if grown:
            append_rows(self.connection, Chain(LOG), grown)

    def _has_committed(self) -> None:
        self._is_writing = False

    def wait(self, milliseconds: int) -> None:
        """Waits at most so long for a lock of another process, from now on."""
        self.connection.execute(f"SET lock_timeout = {max(1, milliseconds)}")  # 0 is no limit

    def problems(self) -> list[str]:
        """Returns nothing: a server looks after its pages itself."""
        return []

    def differences(self) -> Iterator[tuple[str, str, str]]:
        """Yields what does not protect the tables as `schema.sql` says."""
        for table, protected, rules, rights in self.connection.execute(_PROTECTION):
            if not protected:
                yield f"table {table}", "the rows of one workspace", "those of all"
            if rules:
                yield f"table {table}", "no trigger and no rule", f"{rules}"
            for right in rights:
                yield f"table {table}", "rows that stay", f"the writer may {right}"

    def bulk(self) -> AbstractContextManager[None]:
        """Does nothing: each transaction is durable."""
        return nullcontext()

    @contextmanager
    def purging(self) -> Iterator[None]:
        """Replaces texts as a role that may."""
        self.connection.execute("SET LOCAL ROLE slicebase_purger")
        yield
        self.connection.execute("SET LOCAL ROLE slicebase_writer")

    @contextmanager
    def erasing(self) -> Iterator[None]:
        """Clears away what the texts were. Copies of the server's own log are its administrator's."""
        self.connection.execute("SET ROLE slicebase_purger; SET ROLE slicebase_writer")  # who may not is told at once
        yield
        self.connection.execute("SET ROLE slicebase_purger")
        try:
            self.connection.execute("VACUUM texts")
        finally:
            self.connection.execute("SET ROLE slicebase_writer")


def open_postgres(url: str, path: Path, opener: Opener, *, create: bool) -> PostgresDatabase | None:
    """Opens the memory of a workspace that knows its id. Without an id, creates one with `create`, or returns None."""
    connection = PostgresConnection(url, _SETUP)
    try:
        _ensure_layout(connection, create=create)
        workspace = _known(connection, opener.known) or (_created(connection, opener) if create else None)
    except BaseException:
        connection.close()
        raise
    if workspace is None:
        connection.close()
        return None
    connection.setup = f"{_SETUP}; SET ROLE slicebase_writer; {_named(workspace)}"
    connection.execute("SET ROLE slicebase_writer")
    return PostgresDatabase(path, connection, workspace)


def _ensure_layout(connection: PostgresConnection, *, create: bool) -> None:
    """Creates the tables where there are none. Refuses those of another version."""
    found = _layout(connection)
    if found is None and create:
        _create_layout(connection)
        found = _layout(connection)
    if found is None:
        hint = "`tt init` creates them, where you may"
        raise SlicebaseError("no-database", "the database has no tables of Slicebase yet", hint=hint)
    if found != LAYOUT:
        message = f"the tables have version {found}, but this program knows version {LAYOUT}"
        raise SlicebaseError("database-newer", message, hint="update Slicebase")


def _create_layout(connection: PostgresConnection) -> None:
    """Creates the tables. Another process may do that, or create the roles for another database, at the same time."""
    if (encoding := connection.execute("SELECT current_setting('server_encoding')").get) != "UTF8":
        hint = "create one with the encoding UTF8"
        raise SlicebaseError("no-database", f"the database has the encoding {encoding}", hint=hint)
    schema = files("slicebase.truth.postgres").joinpath("schema.sql").read_text()
    for attempt in range(_TRIES):
        try:
            connection.execute(f"BEGIN; {schema}; COMMIT")
        except SlicebaseError as error:
            connection.roll_back()
            if _layout(connection) is None and attempt == _TRIES - 1:
                if error.code != "cannot-write":
                    raise
                hint = "an administrator can run schema.sql, which is in the package: see docs/postgresql.md"
                raise SlicebaseError(
                    "no-database", f"the tables cannot be created: {error.message}", hint=hint
                ) from None
        if _layout(connection) is not None:
            return


def _layout(connection: PostgresConnection) -> int | None:
    known = "SELECT 1 FROM pg_tables WHERE schemaname = 'slicebase' AND tablename = 'layout'"
    if connection.execute(known).get is None:
        return None
    return int(connection.execute("SELECT version FROM slicebase.layout").get)


def _known(connection: PostgresConnection, ids: Set[str]) -> str | None:
    """Returns the id that the workspace and the database both know. Raises `database-lost` if the database has none."""
    for name in sorted(ids):
        connection.execute(_named(name))
        if connection.execute("SELECT 1 FROM workspaces WHERE workspace = ?", (name,)).get is not None:
            return name
    if ids:
        message = f"the database does not have the memory {min(ids)} of this workspace"
        raise SlicebaseError("database-lost", message, hint="name the database that has it")
    return None


def _created(connection: PostgresConnection, opener: Opener) -> str:
    """Creates the memory of a workspace."""
    identity = opener.identity()
    connection.execute(f"{_named(identity.database)}; SET ROLE slicebase_writer; BEGIN")
    connection.execute("INSERT INTO workspaces (writes) VALUES (1)")
    head = append_rows(connection, Chain("acts"), [act_row(CREATE, identity)])
    append_rows(connection, Chain(LOG), [(str(Chain("acts")), *head)])
    connection.execute("COMMIT")
    return identity.database


def _named(workspace: str) -> str:
    """Returns the statement that names the workspace of a session. An id has letters and digits alone."""
    if not workspace.isalnum() or not workspace.isascii():
        raise SlicebaseError("database-damaged", f"no memory can have the id {workspace!r}")
    return f"SET slicebase.workspace = '{workspace}'"
