"""`tt lost`: what compactions forgot."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from slicebase.cli.context import print_context
from slicebase.cli.history import import_progress, open_temporary
from slicebase.cli.numbers import CountingNumber, WholeNumber
from slicebase.cli.options import open_base, redact_option
from slicebase.cli.output import BOLD, YELLOW, Styled, json_option, note, print_json, print_text, printable
from slicebase.core.times import known_time
from slicebase.errors import Exit
from slicebase.history.inputs import LONG_SAMPLE
from slicebase.verbs.names import shortened

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.context.lost.judged import Loss
    from slicebase.context.lost.prompt import LostPassage
    from slicebase.verbs.lost import Losses


@click.command()
@click.argument("what", required=False, metavar="[SESSION|TRANSCRIPT]")
@click.option("--sample", is_flag=True, help="Use a transcript that ships with Slicebase, in a temporary workspace.")
@click.option("--all", "everything", is_flag=True, help="Show every session that was compacted, as a table.")
@click.option("--limit", type=CountingNumber(1), default=20, show_default=True, metavar="N",
              help="The maximum number of lost items to list.")  # fmt: skip
@click.option("--for", "prompt", metavar="PROMPT", help="Rank what was lost by what a prompt asks.")
@click.option("--cost", is_flag=True, help="Show what was looked up again after each compaction.")
@click.option("--explain", is_flag=True, help="Show the parts of the score of each item.")
@click.option(
    "--tokens", type=WholeNumber(), metavar="N", help="Print a context of at most N tokens instead, and record it."
)
@click.option("--as-of", metavar="TIME", help="With --tokens: take nothing that is later, or has no date.")
@redact_option
@json_option
@click.pass_context
def lost(
    ctx: click.Context,
    what: str | None,
    sample: bool,
    everything: bool,
    limit: int,
    prompt: str | None,
    cost: bool,
    explain: bool,
    tokens: int | None,
    as_of: str | None,
    as_json: bool,
) -> int:
    """Show what the summary of a compaction kept of the turns before it, and list what it lost.

    What was done, resolved or taken back before the compaction is not listed. Without an argument, use the session that
    was compacted last. A transcript that is not imported yet is imported first, with its secrets redacted. `tt recall`
    opens the references. Exit status 1 if nothing was compacted.
    """
    _check_together(what, sample, everything, cost, prompt, tokens, explain, as_of)
    stores = what is not None and Path(what).exists()  # the sample is never among the user's own history
    base = open_temporary(ctx) if sample else open_base(ctx, create=stores)
    if everything:
        return _print_table(base, base.lost_everywhere(), limit, as_json)
    session = _session(base, str(LONG_SAMPLE) if sample else what)
    if (cost or tokens is not None) and _was_compacted(base, session):
        if tokens is not None:
            print_context(base, base.lost_context(session, tokens, prompt=prompt, as_of=as_of), explain, as_json)
        else:
            from slicebase.cli.lost_cost import print_cost

            print_cost(base, session, limit, as_json)
        return Exit.DONE
    found = base.lost(session, prompt=prompt)
    if prompt is not None and found.compactions:
        _print_for(base, found, limit, explain, as_json)
    elif as_json:
        print_json(_as_json(found, limit))
    else:
        _print_losses(base, found, session, limit, explain)
    return Exit.DONE if found.compactions else Exit.FINDINGS


def _check_together(
    what: str | None,
    sample: bool,
    everything: bool,
    cost: bool,
    prompt: str | None,
    tokens: int | None,
    explain: bool,
    as_of: str | None,
) -> None:
    if sum((what is not None, sample, everything)) > 1:
        raise click.UsageError("Give one of: a session or a transcript, --sample, --all.")
    if everything and (cost or explain or prompt is not None or tokens is not None):
        raise click.UsageError("--cost, --explain, --for and --tokens go with one session, not with --all.")
    if cost and (explain or prompt is not None or tokens is not None):
        raise click.UsageError("--cost goes with neither --explain, --for nor --tokens.")
    if as_of is not None and tokens is None:
        raise click.UsageError("--as-of goes with --tokens.")
    if prompt is not None and not prompt.strip():
        raise click.UsageError("The prompt is empty.")


def _session(base: "Slicebase", what: str | None) -> str | None:
    """Returns the session that is asked for; None for the one that was compacted last."""
    if what is None or not Path(what).exists():
        return what
    from slicebase.verbs.lost import compacted_in

    with import_progress() as progress:
        return compacted_in(base, [Path(what)], progress)


def _was_compacted(base: "Slicebase", session: str | None) -> bool:
    from slicebase.verbs.lost import was_compacted

    return was_compacted(base, session)


def _print_losses(base: "Slicebase", found: "Losses", asked: str | None, limit: int, explain: bool) -> None:
    from slicebase.context.lost.judged import headline, tally

    turns = {each.ref for loss in found.compactions for each in loss.items[:limit]}
    short = shortened(base, {*turns, f"session:{found.session}"})
    session = short[f"session:{found.session}"]
    if asked is not None and not (found.session or "").startswith(asked.removeprefix("session:")):
        note(f"{printable(asked)} is a copy of {session}, which has its turns.")
    if not found.compactions:
        note(f"{session} was never compacted." if found.session else "No stored session was compacted.")
    for number, loss in enumerate(found.compactions, 1):
        of = f" {number} of {len(found.compactions)}" if len(found.compactions) > 1 else ""
        when = known_time(loss.summary.time) or "an unknown time"
        turns_before = "1 turn" if loss.turns == 1 else f"{loss.turns} turns"
        print_text(f"{session}, compaction{of} at {when}, after {turns_before}.")
        print_text(Styled(f"The summary {headline(tally([loss]))}.", BOLD))
        if not loss.readable:
            note("The summary is missing, empty or encrypted, so what it kept cannot be read.")
        _print_lost(loss, short, limit, explain)
    if any(loss.items for loss in found.compactions):
        note(f"`tt recall turn:…` opens one; `tt lost {session} --tokens 2000` puts them into a prompt.")


def _print_lost(loss: "Loss", short: Mapping[str, str], limit: int, explain: bool) -> None:
    lost = loss.items
    if lost[:limit]:
        print_text()
    for each in lost[:limit]:
        times = f" ×{each.item.times}" if each.item.times > 1 else ""
        print_text(Styled(each.name, YELLOW), f"{times}: {_words(each.text)}\n    {short[each.ref]}")
        if explain:
            _explain(each.score, each.parts)
    _print_more(len(lost), limit)


def _explain(score: int, parts: Mapping[str, int]) -> None:
    largest = sorted(parts.items(), key=lambda part: (-abs(part[1]), part[0]))
    print_text(f"    {score / 1e6:+.2f} = " + " ".join(f"{name} {part / 1e6:+.2f}" for name, part in largest))


def _print_more(count: int, limit: int) -> None:
    if count > limit:
        note(f"… and {count - limit} more: --limit {count} lists them all.")


def _print_for(base: "Slicebase", found: "Losses", limit: int, explain: bool, as_json: bool) -> None:
    wanted = found.wanted[:limit]
    if as_json:
        more = max(0, len(found.wanted) - limit)
        print_json({"session": found.session, "lost": [_passage_as_json(each) for each in wanted], "more": more})
        return
    short = shortened(base, {each.ref for each in wanted})
    for each in wanted:
        kind = each.item.name if each.item else "from the turns before"
        print_text(Styled(kind, YELLOW), f": {_words(each.text)}\n    {short[each.ref]}")
        if explain:
            _explain(each.score, each.parts)
    if not wanted:
        note("Nothing that was lost has to do with it.")
    _print_more(len(found.wanted), limit)


def _passage_as_json(each: "LostPassage") -> dict[str, Any]:
    return {
        "kind": each.item.kind if each.item else None,
        "mark": each.item.item.mark if each.item else None,
        "state": each.item.state if each.item else None,
        "text": each.text,
        "score": each.score,
        "parts": dict(each.parts),
        "ref": each.ref,
        "span": {"start": each.start, "end": each.end},
    }


_WIDTH = 300


def _words(text: str) -> str:
    words = " ".join(text.split())
    return printable(words if len(words) <= _WIDTH else words[: _WIDTH - 1] + "…")


def _print_table(base: "Slicebase", found: "list[Losses]", limit: int, as_json: bool) -> int:
    from slicebase.context.lost.judged import TABLE, tally
    from slicebase.context.lost.phrases import LOST_KINDS

    if as_json:
        print_json({"sessions": [_as_json(each, limit) for each in found]})
    elif found:
        print_text("  ".join([*(f"{TABLE[kind].many:>12}" for kind in LOST_KINDS), "compactions  session"]))
    short = shortened(base, {f"session:{each.session}" for each in found}) if not as_json else {}
    for each in found if not as_json else ():
        counted = {one.kind: f"{one.kept} of {one.of}" for one in tally(each.compactions)}
        cells = [f"{counted.get(kind, '-'):>12}" for kind in LOST_KINDS]
        print_text("  ".join([*cells, f"{len(each.compactions):>11}  {short[f'session:{each.session}']}"]))
    return Exit.DONE if found else Exit.FINDINGS


def _as_json(found: "Losses", limit: int) -> dict[str, Any]:
    from slicebase.context.lost.rows import loss_row

    rows = [msgspec.to_builtins(loss_row(loss, limit)) for loss in found.compactions]
    return {"session": found.session, "compactions": rows}
