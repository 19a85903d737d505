"""`tt slice`: selects one context slice; `slice_batch` has batches, `slice_bundle` what is done with stored ones."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from slicebase.cli import slice_bundle
from slicebase.cli.options import open_base
from slicebase.cli.output import json_option, print_json, print_json_text, print_text
from slicebase.cli.sessions import one_line
from slicebase.cli.slice_batch import print_batch
from slicebase.cli.slice_bundle import key_option
from slicebase.errors import Exit
from slicebase.verbs.names import shortened

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.graph.export import ContextSlice
    from slicebase.graph.policy import SlicePolicyV1
    from slicebase.graph.select import Explanation


@click.command("slice")
@click.argument("references", nargs=-1, metavar="[TURN | REF…]")
@click.option(
    "--policy", metavar="NAME|HASH|FILE", help="A policy: default, focused, broad, a saved one, or a JSON file."
)
@click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Change one parameter of the policy.")
@click.option("--explain", is_flag=True, help="Show why each turn was selected or left out.")
@click.option("--mermaid", is_flag=True, help="Print the slice as a Mermaid graph.")
@click.option(
    "--bundle", metavar="FILE", help="Write the slice to a new file that can be checked elsewhere; - prints it."
)
@click.option("--batch", metavar="REQUESTS", help='Read lines {"anchor_turn_id", "policy"?}, print a line for each.')
@click.option("--verify", metavar="FILE", help="Check a bundle or a SliceExport, also without a workspace.")
@click.option("--admits", metavar="FILE", help="Say which references are in what a bundle or a SliceExport shows.")
@key_option
@json_option
@click.pass_context
def slice_(
    ctx: click.Context,
    /,
    references: tuple[str, ...],
    policy: str | None,
    assignments: tuple[str, ...],
    batch: str | None,
    verify: str | None,
    admits: str | None,
    key: str | None,
    as_json: bool,
    **shown_as: Any,
) -> int:
    """Select the context slice around a turn (SlicePolicy v1).

    With --json, print only the SliceExport: the same graph and policy always give the same bytes. A batch prints one
    SliceExport or error object for each request, in the order of the requests. Only --bundle writes, to its file.

    --verify runs the checklist of the specification and, of a bundle, derives every hash and the selection again. With
    the turns here, it says VERIFIED, DRIFTED (the graph has grown or was annotated again) or BROKEN; without them,
    CONSISTENT. Give --policy or --set for a SliceExport with parameters of your own.

    Exit status 1 if a request of a batch failed, a slice is BROKEN, or a reference was not shown; 6 if a slice is
    UNVERIFIABLE, as with a signature and no key, or the content of a turn was purged.
    """
    _refuse_mixed(ctx)
    if verify is not None:
        return slice_bundle.verify(ctx, verify, policy, assignments, key, as_json)
    if admits is not None:
        return slice_bundle.admits(ctx, admits, references, key, as_json)
    base = open_base(ctx)
    if batch is not None:
        return print_batch(base.graph, batch)
    turn, chosen = references[0], base.graph.policy(policy, assignments)
    if shown_as["bundle"] is not None:
        return slice_bundle.print_bundle(base, turn, chosen, shown_as["bundle"], key, as_json)
    return _one(base, turn, chosen, shown_as["explain"], shown_as["mermaid"], as_json)


# What each way of calling takes beside --json, by the option that asks for it; None is a turn.
_TAKEN: Final[Mapping[str | None, frozenset[str]]] = {
    None: frozenset({"references", "policy", "assignments", "explain", "mermaid", "bundle", "key"}),
    "batch": frozenset({"batch"}),
    "verify": frozenset({"verify", "policy", "assignments", "key"}),
    "admits": frozenset({"admits", "references", "key"}),
}


def _refuse_mixed(ctx: click.Context) -> None:
    """Refuses options and arguments that do not go together."""
    given = {name for name, value in ctx.params.items() if value not in (None, (), False)} - {"as_json"}
    ways = [way for way in _TAKEN if way in given]
    way = ways[0] if ways else None
    if len(ways) > 1 or given - _TAKEN[way]:
        others = sorted(given - _TAKEN[way]) or ways[1:]
        name = {"references": "A turn", "assignments": "--set"}.get(others[0], f"--{others[0]}")
        raise click.UsageError(f"{name} does not go with {f'--{way}' if way else 'a turn'}.")
    references = ctx.params["references"]
    if way is None and len(references) != 1:
        raise click.UsageError("Give one of: a turn, --batch, --verify, --admits.")
    if way == "admits" and not references:
        raise click.UsageError("Give the references after the file: --admits FILE REF…")
    shown_as = given & {"explain", "mermaid", "bundle"}
    if len(shown_as) > 1:
        raise click.UsageError(f"Give one of --{' and --'.join(sorted(shown_as))}.")
    if "key" in given and way is None and "bundle" not in given:
        raise click.UsageError("--key goes with --bundle, --verify or --admits.")


def _one(base: "Slicebase", turn: str, policy: "SlicePolicyV1", explain: bool, mermaid: bool, as_json: bool) -> int:
    graph = base.graph
    if explain:
        _print_explanation(base, graph.explain(turn, policy), as_json)
        return Exit.DONE
    found = graph.select(turn, policy)
    if mermaid:
        from slicebase.graph.export import mermaid as drawn

        print_text(drawn(found), nl=False)
    elif as_json:
        print_json_text(found.export.decode())
    else:
        _print_slice(base, found)
    return Exit.DONE


def _print_slice(base: "Slicebase", found: "ContextSlice") -> None:
    contents = found.contents
    short = shortened(base, [f"turn:{turn.id}" for turn in contents.turns])
    print_text(f"slice    {found.slice_id}  ({len(contents.turns)} turns, {len(contents.edges)} edges)")
    print_text(f"policy   slice_policy_v1:{found.policy_params_hash}")
    print_text(f"export   {found.export_hash}")
    print_text(f"annotated by {', '.join(found.annotators)}")
    for turn in sorted(contents.turns, key=lambda turn: (turn.created_at, turn.id)):
        mark = "▶" if turn.id == found.anchor_turn_id else " "
        words = f"{turn.role:9} {turn.phase:13} {turn.salience:.2f}"
        print_text(f"{mark} {short[f'turn:{turn.id}']}  {words}  {one_line(base.graph.turn(turn.id).text)}")


def _print_explanation(base: "Slicebase", explanation: "Explanation", as_json: bool) -> None:
    selected = [
        {"turn": c.turn_id, "distance": c.distance, "priority": c.priority, "way": c.reached_as, "from": c.reached_from}
        for c in explanation.selected
    ]
    left_out = [
        {"turn": c.turn_id, "distance": c.distance, "priority": c.priority, "way": c.reached_as, "from": c.reached_from,
         "reason": reason}
        for c, reason in explanation.left_out
    ]  # fmt: skip
    if as_json:
        print_json({"selected": selected, "left_out": left_out})
        return
    listed = [*selected, *left_out]
    turns = {str(row[name]) for row in listed for name in ("turn", "from") if row[name]}
    refs = shortened(base, {f"turn:{turn}" for turn in turns})
    short = {turn: refs[f"turn:{turn}"].removeprefix("turn:") for turn in turns}
    for title, rows in (("selected, in this order", selected), ("left out, best first", left_out)):
        print_text(f"{title}: {len(rows)}")
        for row in rows:
            reached = f"{row['way']} of {short[str(row['from'])]}" if row["from"] else "anchor"
            why = f"  [{row['reason']}]" if "reason" in row else ""
            print_text(
                f"  {row['priority']:.6f}  distance {row['distance']}  {short[str(row['turn'])]}  {reached:20}{why}"
                f"  {one_line(base.graph.turn(str(row['turn'])).text)}"
            )
