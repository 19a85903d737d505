"""`tt serve`: a local web application to look at the memory, with an HTTP API behind it."""

import socket
from typing import TYPE_CHECKING

import click

from slicebase.cli.history import open_temporary
from slicebase.cli.numbers import CountingNumber
from slicebase.cli.options import open_base, redact_option, redacts
from slicebase.cli.output import note, print_text
from slicebase.cli.tokens import given_token, new_token
from slicebase.errors import SlicebaseError

if TYPE_CHECKING:
    from pathlib import Path

    from slicebase.base import Slicebase

_LOCAL = "127.0.0.1"


@click.command()
@click.option("--host", metavar="ADDRESS", default=_LOCAL, show_default=True, help="Listen on this address.")
@click.option(
    "--port", metavar="N", type=CountingNumber(0, 65535), default=7358, show_default=True,
    help="Listen on this port; 0 for any that is free.",
)  # fmt: skip
@click.option("--name", "names", metavar="NAME", multiple=True, help="Answer under this name of a proxy, too.")
@click.option("--write", is_flag=True, help="Offer the verbs that write, too, with a token.")
@click.option(
    "--token-file", metavar="FILE",
    help="Read the token from this file, which only you may read, instead of SLICEBASE_SERVE_TOKEN.",
)  # fmt: skip
@click.option("--sample", is_flag=True, help="Show a sample that ships with Slicebase, in a temporary workspace.")
@click.option("--open", "open_browser", is_flag=True, help="Open the first page in a browser.")
@redact_option
@click.pass_context
def serve(
    ctx: click.Context,
    host: str,
    port: int,
    names: tuple[str, ...],
    write: bool,
    token_file: str | None,
    sample: bool,
    open_browser: bool,
) -> None:
    """Show this workspace in a browser: sessions, contexts, runs, slice files and proofs.

    The server listens on this machine until it is stopped (Ctrl-C), and only reads. The same data is at /api/v1, which
    /api/v1/openapi.json describes. An address other than the loopback interface, --name and --write need a token: that
    of SLICEBASE_SERVE_TOKEN or --token-file, or a new one, which is printed. It needs `pip install 'slicebase[serve]'`.
    """
    try:
        import uvicorn  # noqa: F401

        from slicebase.web.app import application
    except ModuleNotFoundError as error:
        hint = "pip install 'slicebase[serve]'"
        raise SlicebaseError("no-extra", f"`tt serve` needs the package {error.name}", hint=hint) from None
    from slicebase.base import Slicebase
    from slicebase.cli.failures import as_our_error
    from slicebase.web.admission import admission_for
    from slicebase.web.server import listen, serve, url_of

    root, redact = _sample(ctx) if sample else open_base(ctx).root, redacts(ctx)  # what is no workspace is an error now

    def open_memory() -> "Slicebase":
        return Slicebase.open(root, root, create=False, redact=redact)

    token = given_token(token_file, "SLICEBASE_SERVE_TOKEN") or new_token()
    admission = admission_for(host, names, token, this_machine=socket.gethostname())
    app = application(open_memory, admission, write=write, as_ours=as_our_error)
    opened = listen(host, port)  # last: whatever fails before it leaves no socket open
    url = url_of(opened, host, token if write or not admission.reads_freely else "")

    def ready() -> None:
        print_text(url)
        note("Ctrl-C stops it.")
        if open_browser:
            click.launch(url)

    serve(app, opened, ready)


def _sample(ctx: click.Context) -> "Path":
    """Returns the folder of a workspace with the sample, which is deleted when the command ends."""
    from slicebase.cli.sample import fill_with_sample

    base = open_temporary(ctx)
    fill_with_sample(base)
    return base.root
