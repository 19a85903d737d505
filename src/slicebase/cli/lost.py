"""`tt lost`: what compactions forgot."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slicebase.cli.context import print_context
from slicebase.cli.history import import_progress, open_temporary
from slicebase.cli.numbers import WholeNumber
from slicebase.cli.options import open_base, redact_option
from slicebase.cli.output import BOLD, YELLOW, Styled, json_option, note, print_json, print_text, printable
from slicebase.core.times import to_text
from slicebase.errors import Exit
from slicebase.history.inputs import LONG_SAMPLE
from slicebase.verbs.names import shortened

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.context.lost import JudgedItem, Loss
    from slicebase.verbs.lost import Losses


@click.command()
@click.argument("what", required=False, metavar="[SESSION|TRANSCRIPT]")
@click.option("--sample", is_flag=True, help="Use a transcript that ships with Slicebase, in a temporary workspace.")
@click.option("--all", "everything", is_flag=True, help="Show every session that was compacted, as a table.")
@click.option("--limit", type=WholeNumber(), default=20, show_default=True, metavar="N",
              help="The maximum number of lost items to list.")  # fmt: skip
@click.option(
    "--tokens", type=WholeNumber(), metavar="N", help="Print a context of at most N tokens instead, and record it."
)
@click.option("--as-of", metavar="TIME", help="With --tokens: the time that the context describes (default: now).")
@redact_option
@json_option
@click.pass_context
def lost(
    ctx: click.Context,
    what: str | None,
    sample: bool,
    everything: bool,
    limit: int,
    tokens: int | None,
    as_of: str | None,
    as_json: bool,
) -> int:
    """Show what the summary of a compaction kept of the turns before it, and list what it lost.

    Without an argument, use the session that was compacted last. A transcript that is not imported yet is imported
    first, with its secrets redacted. `tt recall` opens the references. Exit status 1 if nothing was compacted.
    """
    if sum((what is not None, sample, everything)) > 1 or (everything and tokens is not None):
        raise click.UsageError(
            "Give one of: a session or a transcript, --sample, --all; --tokens goes with one session."
        )
    stores = what is not None and Path(what).exists()  # the sample is never among the user's own history
    base = open_temporary(ctx) if sample else open_base(ctx, create=stores)
    if everything:
        return _print_table(base, base.lost_everywhere(), as_json)
    found = _found(base, str(LONG_SAMPLE) if sample else what)
    if tokens is not None and found.session and found.compactions:
        print_context(base, base.lost_context(found.session, tokens, as_of=as_of), False, as_json)
    elif as_json:
        print_json(_as_json(found))
    else:
        _print_losses(base, found, limit)
    return Exit.DONE if found.compactions else Exit.FINDINGS


def _found(base: "Slicebase", what: str | None) -> "Losses":
    if what is None or not Path(what).exists():
        return base.lost(what)
    with import_progress() as progress:
        return base.lost_in(what, progress=progress)


def _print_losses(base: "Slicebase", found: "Losses", limit: int) -> None:
    from slicebase.context.lost import headline, tally

    turns = {f"turn:{each.item.turn}" for loss in found.compactions for each in loss.items[:limit]}
    short = shortened(base, {*turns, f"session:{found.session}"})
    session = short[f"session:{found.session}"]
    if not found.compactions:
        note(f"{session} was never compacted." if found.session else "No stored session was compacted.")
    for number, loss in enumerate(found.compactions, 1):
        of = f" {number} of {len(found.compactions)}" if len(found.compactions) > 1 else ""
        print_text(f"{session}, compaction{of} at {to_text(loss.summary.time)}, after {loss.turns} turns.")
        print_text(Styled(f"The summary {headline(tally([loss]))}.", BOLD))
        if not loss.readable:
            note("The summary is encrypted, so what it kept cannot be read.")
        _print_lost(loss, short, limit)
    if any(loss.items for loss in found.compactions):
        note(f"`tt recall turn:…` opens one; `tt lost {session} --tokens 2000` puts them into a prompt.")


def _print_lost(loss: "Loss", short: Mapping[str, str], limit: int) -> None:
    shown = loss.items[:limit]
    if shown:
        print_text()
    for each in shown:
        times = f" ×{each.item.times}" if each.item.times > 1 else ""
        print_text(Styled(_kind(each), YELLOW), f"{times}: {_words(each)}\n    {short[f'turn:{each.item.turn}']}")
    if len(loss.items) > len(shown):
        note(f"… and {len(loss.items) - len(shown)} more: --limit {len(loss.items)} lists them all.")


def _kind(each: "JudgedItem") -> str:
    from slicebase.context.lost import TABLE

    return f"{TABLE[each.item.kind].one}, {each.item.mark}"


_WIDTH = 96


def _words(each: "JudgedItem") -> str:
    words = " ".join(each.item.text.split())
    return printable(words if len(words) <= _WIDTH else words[: _WIDTH - 1] + "…")


def _print_table(base: "Slicebase", found: "list[Losses]", as_json: bool) -> int:
    from slicebase.context.lost import TABLE, tally
    from slicebase.context.lost_rules import LOST_KINDS

    if as_json:
        print_json({"sessions": [_as_json(each) for each in found]})
    elif found:
        print_text("  ".join([*(f"{TABLE[kind].many:>12}" for kind in LOST_KINDS), "compactions  session"]))
    short = shortened(base, {f"session:{each.session}" for each in found}) if not as_json else {}
    for each in found if not as_json else ():
        counted = {one.kind: f"{one.kept} of {one.of}" for one in tally(each.compactions)}
        cells = [f"{counted.get(kind, '-'):>12}" for kind in LOST_KINDS]
        print_text("  ".join([*cells, f"{len(each.compactions):>11}  {short[f'session:{each.session}']}"]))
    return Exit.DONE if found else Exit.FINDINGS


def _as_json(found: "Losses") -> dict[str, Any]:
    return {"session": found.session, "compactions": [_loss_as_json(loss) for loss in found.compactions]}


def _loss_as_json(loss: "Loss") -> dict[str, Any]:
    from slicebase.context.lost import LOST_RULES, headline, tally

    counted = tally([loss])
    return {
        "summary": f"turn:{loss.summary.id}",
        "time": to_text(loss.summary.time),
        "turns": loss.turns,
        "readable": loss.readable,
        "rules": LOST_RULES,
        "headline": headline(counted),
        "kinds": {each.kind: {"kept": each.kept, "of": each.of} for each in counted},
        "lost": [_item_as_json(each) for each in loss.items],
        "kept": [_item_as_json(each) for each in loss.judged if each.kept],
    }


def _item_as_json(each: "JudgedItem") -> dict[str, Any]:
    item = each.item
    return {
        "kind": item.kind,
        "mark": item.mark,
        "text": item.text,
        "times": item.times,
        "weight": each.weight,
        "ref": f"turn:{item.turn}",
        "span": {"start": item.start, "end": item.end},
        "related": f"turn:{item.result}" if item.result else None,
    }
