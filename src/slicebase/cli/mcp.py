"""`tt mcp`: serves the verbs to an agent over stdin and stdout, or to several over HTTP."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slicebase.cli.options import named_root, redact_option, redacts

if TYPE_CHECKING:
    from slicebase.mcp.calls import ServerEnvironment


@click.command()
@click.option("--root", metavar="FOLDER", help="Use the workspace in this folder instead of the nearest one above.")
@click.option("--read-only", is_flag=True, help="Offer no tools that write, and record no contexts.")
@click.option(
    "--timeout", metavar="SECONDS", type=click.FloatRange(0, min_open=True), default=300, show_default=True,
    help="End a call that takes longer.",
)  # fmt: skip
@redact_option
@click.pass_context
def mcp(ctx: click.Context, root: str | None, read_only: bool, timeout: float) -> int:
    """Serve this workspace to an agent over stdin and stdout, with the Model Context Protocol.

    A client starts the server; docs/mcp.md shows how to register it. Nothing is opened before the first call. Writes
    are signed with the name of the client and a session: SLICEBASE_SESSION, that of the agent where its environment
    tells, or a new one for each server.
    """
    from slicebase.mcp.stdio import serve

    start, folder, redact = Path.cwd(), Path(root) if root else named_root(ctx), redacts(ctx)
    return serve(lambda: _environment(start, folder, read_only=read_only, redact=redact), timeout)


def _environment(start: Path, root: Path | None, *, read_only: bool, redact: bool) -> "ServerEnvironment":
    """Returns what the server works with. The first answer does not wait for what this loads."""
    from slicebase.cli.failures import as_our_error
    from slicebase.mcp.calls import ServerEnvironment

    return ServerEnvironment(start, root, _session(), read_only, redact=redact, as_ours=as_our_error)


def _session() -> str:
    """Returns the session that writes are signed with."""
    from slicebase.core.ids import ULID_RANDOM_BYTES, ulid
    from slicebase.workspace.writer import session_of

    new = ulid(time.time_ns() // 1_000_000, os.urandom(ULID_RANDOM_BYTES))
    return os.environ.get("SLICEBASE_SESSION") or session_of(os.environ) or f"mcp-{new}"
