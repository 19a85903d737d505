"""`tt explore`: the links around a file, as a tree, a Mermaid graph or JSON."""

from typing import TYPE_CHECKING, Any

import click

from slicebase.cli.file_options import id_argument
from slicebase.cli.numbers import CountingNumber
from slicebase.cli.options import open_base
from slicebase.cli.output import json_option, note, print_json, print_text, printable
from slicebase.core.refs import as_words
from slicebase.files.explore import mermaid as drawn
from slicebase.files.explore import tree
from slicebase.files.links import doubts
from slicebase.verbs.names import short_places

if TYPE_CHECKING:
    from slicebase.index.links import Exploration


@click.command()
@id_argument
@click.option("--direction", type=click.Choice(["out", "in", "both"]), default="both", show_default=True,
              help="Follow links from the file, links to it, or both.")  # fmt: skip
@click.option("--rel", metavar="REL", help="Follow only links of this relationship.")
@click.option("--depth", "--hops", "depth", type=CountingNumber(1, 100), default=1, show_default=True, metavar="N",
              help="The number of links to follow from the file.")  # fmt: skip
@click.option("--infer", is_flag=True, help="Add inferred links, each with the links that it follows from.")
@click.option("--mermaid", is_flag=True, help="Print a Mermaid graph.")
@json_option
@click.pass_context
def explore(
    ctx: click.Context,
    file_id: str,
    direction: Any,
    rel: str | None,
    depth: int,
    infer: bool,
    mermaid: bool,
    as_json: bool,
) -> None:
    """Show the links around a file as a tree."""
    base = open_base(ctx)
    found = base.finder.explore(file_id, direction=direction, rel=rel, depth=depth, infer=infer)
    if as_json:
        print_json(found.as_json())
    elif mermaid:
        print_text(drawn(found.walk, lambda place: _title(found, place)), nl=False)
    else:
        short = short_places(base, list(found.places))
        print_text("\n".join(tree(found.walk, lambda place: _name(found, place, short[place]))))
    for warning in doubts([rel]) if not found.links else ():
        note(f"warning: {warning}")


def _title(found: "Exploration", place: str) -> str:
    entry = found.places[place].entry
    return printable(as_words(entry.title) if entry else place)


def _name(found: "Exploration", place: str, short: str) -> str:
    kind, entry = found.places[place]
    if entry:
        return f"{printable(short)} ({printable(as_words(entry.title))})" + ("  forgotten" if entry.archived else "")
    return printable(short) + ("  missing" if kind == "missing" else "")
