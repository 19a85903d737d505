"""`tt due`: the work that contracts ask for, as a list, as JSON or as a prompt, and its record."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from slicebase.cli.file_options import complete_ids
from slicebase.cli.find import note_unreadable
from slicebase.cli.options import open_base, provenance_of, provenance_options
from slicebase.cli.output import json_option, note, print_json, print_text, printable
from slicebase.core.refs import as_words
from slicebase.errors import Exit
from slicebase.verbs.names import short_places, short_texts

if TYPE_CHECKING:
    from slicebase.library.due import DueFile


@click.command()
@click.option("--all", "everything", is_flag=True, help="Also list cleanup rules that name no age, period or number.")
@click.option("--prompt", "as_prompt", is_flag=True, help="Print it as a prompt for an agent.")
@click.option("--done", "done", multiple=True, metavar="ID", shell_complete=complete_ids,
              help="Record that the work for this file is done.")  # fmt: skip
@provenance_options
@json_option
@click.pass_context
def due(ctx: click.Context, everything: bool, as_prompt: bool, done: tuple[str, ...], as_json: bool) -> int:
    """List the work that contracts ask for: files over their size or to be summarized, cleanup rules whose age, period
    or number is reached, and derived files whose sources have changed.

    Exit status 1 if anything is due. With --done, only the files that it names are listed.
    """
    if as_prompt and as_json:
        raise click.UsageError("Give one of --prompt and --json.")
    base = open_base(ctx)
    recorded = [base.library.done(file_id, provenance=provenance_of(ctx)).id for file_id in done]
    found = base.library.due(everything=everything)
    if done:
        found = [each for each in found if each.id in recorded]
    if as_json:
        print_json({"done": recorded, "files": [each.as_json() for each in found]})
    elif as_prompt:
        from slicebase.library.due import due_prompt

        print_text(due_prompt(found), nl=False)
    else:
        details = short_texts(base, {why.detail for each in found for why in each.reasons})
        _print_due(found, recorded, {**short_places(base, [*recorded, *(each.id for each in found)]), **details})
    note_unreadable(base)
    return Exit.FINDINGS if found else Exit.DONE


def _print_due(found: "list[DueFile]", recorded: list[str], short: Mapping[str, str]) -> None:
    for file_id in recorded:
        note(f"{printable(short[file_id])} done")
    for each in found:
        print_text(f"{printable(short[each.id])} ({printable(as_words(each.file.title or ''))})")
        for why in each.reasons:
            rule = f"  ({printable(why.rule)})" if why.rule else ""
            print_text(f"    {printable(short[why.detail])}{rule}")
