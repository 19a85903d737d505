"""`tt slice`: selects one context slice, or checks a stored one; `slice_batch` has batches."""

from typing import TYPE_CHECKING

import click

from slicebase.cli.history import one_line
from slicebase.cli.options import open_base
from slicebase.cli.output import json_option, print_json, print_json_text, print_text, read_input
from slicebase.cli.slice_batch import print_batch
from slicebase.core.parsers import read_all
from slicebase.errors import Exit, SlicebaseError, Where
from slicebase.verbs.names import shortened

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.graph.export import ContextSlice
    from slicebase.graph.policy import SlicePolicyV1
    from slicebase.graph.select import Explanation
    from slicebase.verbs.graph import Graph


@click.command("slice")
@click.argument("turn", required=False)
@click.option("--policy", metavar="NAME|HASH|FILE", help="A policy: default, focused, broad, a hash, or a JSON file.")
@click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Change one parameter of the policy.")
@click.option("--explain", is_flag=True, help="Show why each turn was selected or left out.")
@click.option("--mermaid", is_flag=True, help="Print the slice as a Mermaid graph.")
@click.option("--batch", metavar="REQUESTS", help='Read lines {"anchor_turn_id", "policy"?}, print a line for each.')
@click.option("--check", metavar="FILE", help="Derive a stored SliceExport again, and compare.")
@json_option
@click.pass_context
def slice_(
    ctx: click.Context,
    turn: str | None,
    policy: str | None,
    assignments: tuple[str, ...],
    explain: bool,
    mermaid: bool,
    batch: str | None,
    check: str | None,
    as_json: bool,
) -> int:
    """Select the context slice around a turn (SlicePolicy v1).

    With --json, print only the SliceExport: the same graph and policy always give the same bytes. A batch prints one
    SliceExport or error object for each request, in the order of the requests. Nothing is written: give --policy or
    --set again to --check a slice with parameters of your own. Exit status 1 if a request of a batch failed, or if a
    checked slice differs.
    """
    if sum(given is not None for given in (turn, batch, check)) != 1:
        raise click.UsageError("Give one of: a turn, --batch, --check.")
    if turn is None and (explain or mermaid):
        raise click.UsageError("--explain and --mermaid go with a turn.")
    if batch is not None and (policy or assignments):
        raise click.UsageError("--policy and --set go with a turn or with --check: a request of a batch has its own.")
    base = open_base(ctx)
    graph = base.graph
    if batch is not None:
        return print_batch(graph, batch)
    if check is not None:
        return _check(graph, check, graph.policy(policy, assignments) if policy or assignments else None, as_json)
    return _one(base, str(turn), graph.policy(policy, assignments), explain, mermaid, as_json)


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


_MOST_CHECKED = 256 << 20  # bytes of an export


def _check(graph: "Graph", path: str, policy: "SlicePolicyV1 | None", as_json: bool) -> int:
    with read_input(path) as stream:
        data = read_all(stream, path, _MOST_CHECKED)
    try:
        differences = graph.check(data, policy)
    except SlicebaseError as error:
        raise error.at(Where(path)) from None
    if as_json:
        rows = [{"place": d.place, "stored": d.stored, "derived": d.derived} for d in differences]
        print_json({"identical": not differences, "differences": rows}, default=str)
    elif differences:
        for difference in differences:
            print_text(f"{difference.place}: stored {difference.stored}, derived {difference.derived}")
    else:
        print_text("identical")
    return Exit.FINDINGS if differences else Exit.DONE
