"""`tt mcp`: serves the verbs to an agent over stdin and stdout, or to several over HTTP."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from slicebase.cli.numbers import CountingNumber, Decimal
from slicebase.cli.options import named_root, redact_option, redacts
from slicebase.cli.output import print_text
from slicebase.cli.slice_bundle import within_options
from slicebase.cli.tokens import given_token, new_token

if TYPE_CHECKING:
    from slicebase.mcp.calls import ServerEnvironment
    from slicebase.verbs.shown import ShownTurns


@click.command()
@click.option("--root", metavar="FOLDER", help="Use the workspace in this folder instead of the nearest one above.")
@click.option("--read-only", is_flag=True, help="Offer no tools that write, and record no contexts.")
@click.option(
    "--timeout", metavar="SECONDS", type=Decimal(0, 86_400, min_open=True), default=300, show_default=True,
    help="End a call that takes longer.",
)  # fmt: skip
@click.option("--http", is_flag=True, help="Serve several agents over HTTP on this machine instead.")
@click.option(
    "--port", metavar="N", type=CountingNumber(0, 65535), default=7357, show_default=True,
    help="With --http: listen on this port; 0 for any that is free.",
)  # fmt: skip
@click.option(
    "--token-file", metavar="FILE",
    help="With --http: read the token from this file, which only you may read, instead of SLICEBASE_MCP_TOKEN.",
)  # fmt: skip
@within_options
@redact_option
@click.pass_context
def mcp(
    ctx: click.Context,
    root: str | None,
    read_only: bool,
    timeout: float,
    http: bool,
    port: int,
    token_file: str | None,
    within: "ShownTurns | None",
) -> int:
    """Serve this workspace to an agent over stdin and stdout, with the Model Context Protocol.

    A client starts the server; docs/mcp.md shows how to register it. Nothing is opened before the first call. Writes
    are signed with the name of the client and a session: SLICEBASE_SESSION, that of the agent where its environment
    tells, or a new one for each server.

    With --http, the server listens on 127.0.0.1 until it is stopped. Every request carries a token: that of
    SLICEBASE_MCP_TOKEN or --token-file, or a new one, which is printed.

    With --within, what the agent claims and logs can cite only what a slice shows; everything can still be read.
    """
    start, folder, redact = Path.cwd(), Path(root) if root else named_root(ctx), redacts(ctx)

    def environment() -> "ServerEnvironment":
        return _environment(start, folder, read_only=read_only, redact=redact)._replace(within=within)

    if not http:
        if token_file is not None or ctx.get_parameter_source("port") is not ParameterSource.DEFAULT:
            raise click.UsageError("--port and --token-file go with --http.")
        from slicebase.mcp.stdio import serve

        return serve(environment, timeout)
    from slicebase.mcp.http import HttpServer, serve_http

    given = given_token(token_file, "SLICEBASE_MCP_TOKEN")
    token = given or new_token()
    server = HttpServer(environment, token, port, timeout)
    print_text(server.address)
    if not given:
        print_text(f"Authorization: Bearer {token}")
    return serve_http(server)


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
