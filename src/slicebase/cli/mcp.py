"""`tt mcp`: serves the verbs to an agent over stdin and stdout."""

import os
import time
from pathlib import Path

import click

from slicebase.cli.options import named_root, redact_option, redacts
from slicebase.errors import SlicebaseError


@click.command()
@click.option("--root", metavar="FOLDER", help="Use the workspace in this folder instead of the nearest one above.")
@click.option("--read-only", is_flag=True, help="Offer no tools that write, and record no contexts.")
@redact_option
@click.pass_context
def mcp(ctx: click.Context, root: str | None, read_only: bool) -> None:
    """Serve this workspace to an agent over stdin and stdout, with the Model Context Protocol.

    A client starts the server; docs/mcp.md shows how to register it. Nothing is opened before the first call. Writes
    are signed with the name of the client and a session: SLICEBASE_SESSION, that of the agent where its environment
    tells, or a new one for each server.
    """
    try:
        from slicebase.mcp.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _SDK:
            raise
        raise SlicebaseError(
            "no-sdk", "the MCP SDK is not installed", hint="install it with `pip install 'slicebase[mcp]'`"
        ) from None
    from slicebase.core.ids import ULID_RANDOM_BYTES, ulid
    from slicebase.mcp.calls import ServerEnvironment
    from slicebase.workspace.writer import session_of

    new = ulid(time.time_ns() // 1_000_000, os.urandom(ULID_RANDOM_BYTES))
    session = os.environ.get("SLICEBASE_SESSION") or session_of(os.environ) or f"mcp-{new}"
    folder = Path(root) if root else named_root(ctx)
    serve(ServerEnvironment(Path.cwd(), folder, session, read_only, redact=redacts(ctx)))


_SDK = frozenset({"anyio", "mcp", "mcp_types"})
