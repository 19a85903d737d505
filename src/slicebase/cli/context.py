"""Commands that build a context and print it again: context, replay."""

from typing import TYPE_CHECKING

import click
import msgspec
from click.core import ParameterSource

from slicebase.cli.arguments import as_query
from slicebase.cli.numbers import WholeNumber
from slicebase.cli.options import open_base, redact_option
from slicebase.cli.output import counted, json_option, note, print_json, print_text
from slicebase.errors import Exit
from slicebase.verbs.names import shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slicebase.base import Slicebase
    from slicebase.context.assemble import Context
    from slicebase.context.comparison import PieceChange
    from slicebase.context.manifest import Manifest


@click.command()
@click.argument("words", nargs=-1, metavar="[QUESTION]")
@click.option("--tokens", type=WholeNumber(), default=4000, show_default=True, metavar="N", help="The token budget.")
@click.option("--turns", type=WholeNumber(), metavar="N", help="The maximum number of turns.")
@click.option("--policy", metavar="NAME|HASH|FILE", help="The policy to slice with (default: focused).")
@click.option("--as-of", metavar="TIME", help="Take nothing that is later, or has no date, and count ages from TIME.")
@click.option("--again", metavar="MANIFEST", help="Ask a manifest's question again, and show what differs.")
@click.option("--diff", nargs=2, metavar="A B", help="Show the differences between two manifests.")
@click.option("--no-record", is_flag=True, help="Record no manifest: the context cannot be replayed by its id.")
@click.option(
    "--run", metavar="RUN", help="Begin with the last snapshot of this run, and bind the manifest to one of its steps."
)
@click.option("--step", type=WholeNumber(), metavar="N", help="With --run: the step (default: the next one).")
@click.option("--explain", is_flag=True, help="Show what was selected and left out, and the parts of each score.")
@redact_option
@json_option
@click.pass_context
def context(
    ctx: click.Context,
    words: tuple[str, ...],
    tokens: int,
    turns: int | None,
    policy: str | None,
    as_of: str | None,
    again: str | None,
    diff: tuple[str, str] | None,
    no_record: bool,
    run: str | None,
    step: int | None,
    explain: bool,
    as_json: bool,
) -> int:
    """Build a cited context for a question, and record its manifest.

    The context is Markdown for a model. Pieces are fenced, with their sources, dates and short ids. A question may
    have -word and the filters of `tt search`. Exit status 1 if nothing was found or has room, or if the compared
    contexts differ.
    """
    question = as_query(words) if words else None
    if sum(given is not None for given in (question, again, diff)) != 1:
        raise click.UsageError("Give one of: a question, --again, --diff.")
    _refuse_ignored(ctx)
    base = open_base(ctx)
    from slicebase.context.comparison import differences  # imported here for a fast start

    if diff is not None:
        before, after = map(base.manifest, diff)
        return _print_difference(base, before, after, differences(before, after), {}, as_json)
    if again is not None:
        before, rebuilt = base.manifest(again), base.context_again(again, record=not no_record)
        found = differences(before, rebuilt.manifest, rebuilt.left_out)
        return _print_difference(base, before, rebuilt.manifest, found, {"recorded": rebuilt.recorded}, as_json)
    built = base.context(
        str(question),
        tokens,
        turns=turns,
        policy=policy,
        as_of=as_of,
        record=not no_record,
        run=run,
        step=step,
    )
    print_context(base, built, explain, as_json)
    return Exit.DONE if built.pieces else Exit.FINDINGS


def print_context(base: "Slicebase", built: "Context", explain: bool, as_json: bool) -> None:
    """Prints a context, or with `explain` how its pieces were chosen."""
    text, manifest = built.text, built.manifest
    if as_json:
        fields = msgspec.to_builtins(manifest)
        pieces = [{"ref": each.ref, "tokens": each.tokens, "parts": dict(each.parts)} for each in built.pieces]
        left_out = [{"ref": each.ref, "reason": each.reason, "score": each.score} for each in built.left_out]
        print_json({"manifest_id": built.id, "recorded": built.recorded, "manifest": fields, "text": text,
                    "pieces": pieces, "left_out": left_out})  # fmt: skip
    elif explain:
        _print_choice(base, built)
    else:
        print_text(text, nl=False)
        used = f"{manifest.tokens_used} of {manifest.budget.tokens} tokens"
        unrecorded = "" if built.recorded else " (not recorded)"
        note(f"{counted(len(manifest.pieces), 'piece')}, {used}; {built.id}{unrecorded}")
    if not built.pieces and built.left_out:
        note(f"nothing of what was found ({len(built.left_out)}) has room in {manifest.budget.tokens} tokens")
    if built.narrowed_by:
        note(f"narrowed by {', '.join(built.narrowed_by)}; in quotation marks, that is text")
    if built.undated:
        they = "it is" if built.undated == 1 else "they are"
        note(f"{counted(built.undated, 'text')} without a date left out: nobody knows whether {they} later")


_OF_A_QUESTION = frozenset({"tokens", "turns", "policy", "as_of", "run", "step", "explain"})
# What each form of the command would ignore.
_IGNORED = {"diff": _OF_A_QUESTION | {"no_record"}, "again": _OF_A_QUESTION, "words": frozenset({"step"})}


def _refuse_ignored(ctx: click.Context) -> None:
    given = {name for name in ctx.params if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT}
    form = next(name for name in _IGNORED if name in given)
    ignored = sorted(given & _IGNORED[form])
    if form == "words" and ignored and "run" not in given:
        raise click.UsageError("--step needs --run.")
    if form != "words" and ignored:
        raise click.UsageError(f"--{ignored[0].replace('_', '-')} is not for --{form}.")


def _print_difference(
    base: "Slicebase",
    before: "Manifest",
    after: "Manifest",
    found: "Sequence[PieceChange]",
    recorded: dict[str, bool],
    as_json: bool,
) -> int:
    if as_json:
        changes = [change._asdict() for change in found]
        print_json({"before": before.manifest_id, "after": after.manifest_id, **recorded, "changes": changes})
    else:
        unrecorded = "" if recorded.get("recorded", True) else " (not recorded)"
        note(f"{before.manifest_id} → {after.manifest_id}{unrecorded}")
        short = shortened(base, {change.ref for change in found})
        for change in found:
            print_text(f"{change.change:8} {short[change.ref]}" + (f"  ({change.what})" if change.what else ""))
        if not found:
            print_text("no piece differs")
    return Exit.FINDINGS if found else Exit.DONE


_SHOWN = 20  # pieces that were left out


def _print_choice(base: "Slicebase", built: "Context") -> None:
    manifest, left_out = built.manifest, built.left_out[:_SHOWN]
    short = shortened(base, {*(piece.ref for piece in manifest.pieces), *(left.ref for left in left_out)})
    print_text(f"considered {manifest.considered}, took {len(manifest.pieces)}, {manifest.tokens_used} tokens")
    for piece in sorted(built.pieces, key=lambda piece: (-piece.score, piece.ref)):
        parts = ", ".join(f"{name} {value / 1e6:.2f}" for name, value in piece.parts.items())
        print_text(f"  {piece.score / 1e6:8.2f}  {short[piece.ref]}  {piece.tokens} tokens  ({parts})")
    print_text(f"left out {len(built.left_out)}")
    for left in left_out:
        print_text(f"  {left.score / 1e6:8.2f}  {short[left.ref]}  {left.why}")
    if len(built.left_out) > _SHOWN:
        print_text(f"  … and {len(built.left_out) - _SHOWN} more: --json lists them")


@click.command()
@click.argument("manifest", required=False)
@json_option
@click.pass_context
def replay(ctx: click.Context, manifest: str | None, as_json: bool) -> int:
    """Print a recorded context again, byte for byte. Without MANIFEST, print the newest one.

    The text comes from the pieces that the manifest pins; nothing is searched. Exit status 6 if pieces were purged, 1
    if a piece is broken. The other pieces are still printed, with a mark in place of each missing one.
    """
    base = open_base(ctx)
    name = base.stored_names.id("mf", manifest) if manifest else base.truth.manifests.newest()
    replayed = base.replay(name)
    if as_json:
        problems = [problem._asdict() for problem in replayed.problems]
        print_json({"manifest_id": name, "identical": replayed.identical, "text": replayed.text,
                    "problems": problems})  # fmt: skip
    else:
        print_text(replayed.text, nl=False)
        for problem in replayed.problems:
            note(f"{problem.status} {problem.ref}: {problem.found}")
    return replayed.exit
