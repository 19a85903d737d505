"""Commands that show slice files to a model: recall, routine."""

from typing import TYPE_CHECKING, Any

import click

from slicebase.cli.file_options import complete_ids, id_argument
from slicebase.cli.output import json_option, print_json
from slicebase.cli.workspace import now, open_base

if TYPE_CHECKING:
    from slicebase.context.recall import Page


@click.command()
@click.argument("refs", nargs=-1, required=True, metavar="REF…", shell_complete=complete_ids)
@click.option("--rows", type=click.Choice(["active", "all"]), default="active", show_default=True, help="Of a log.")
@click.option("--tokens", type=click.IntRange(1), metavar="N", help="The most that a page may cost.")
@click.option(
    "--page", type=click.IntRange(1), default=1, show_default=True, metavar="N", help="With --tokens: which page."
)
@json_option
@click.pass_context
def recall(ctx: click.Context, refs: tuple[str, ...], rows: Any, tokens: int | None, page: int, as_json: bool) -> None:
    """Print files, rows, sections and turns as a model should see them: fenced, and labelled with their sources.

    A REF is an id, or file:ID, row:ID/ROW, sec:ID@HASH#HEADING, turn:UUID. Nothing is cut silently: with --tokens,
    what does not fit stands on a further page.
    """
    found = open_base(ctx).library.recall(refs, now=now(), rows=rows, tokens=tokens, page=page)
    if as_json:
        print_json(_as_json(found))
    else:
        click.echo(found.text, nl=False)


def _as_json(page: "Page") -> dict[str, Any]:
    from slicebase.core.hashing import tokens

    return {
        "page": page.number,
        "pages": page.of,
        "next": page.number + 1 if page.number < page.of else None,
        "tokens": tokens(page.text),
        "pieces": [
            {
                "ref": excerpt.piece.ref,
                "label": excerpt.piece.label,
                "text": excerpt.text,
                "span": {"start": excerpt.start, "end": excerpt.end},
                "whole": excerpt.is_whole,
            }
            for excerpt in page.excerpts
        ],
        "text": page.text,
    }


@click.command()
@id_argument
@json_option
@click.pass_context
def routine(ctx: click.Context, file_id: str, as_json: bool) -> None:
    """Compile a routine into Markdown to follow. Nothing is executed."""
    text = open_base(ctx).library.routine(file_id)
    if as_json:
        print_json({"text": text})
    else:
        click.echo(text, nl=False)
