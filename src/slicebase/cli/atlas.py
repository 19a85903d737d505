"""`tt atlas`: shows which turns of a session matter, or makes a printed atlas again and compares."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, get_args

import click

from slicebase.cli.numbers import CountingNumber
from slicebase.cli.options import open_base
from slicebase.cli.output import counted, json_option, print_json, print_text, printable, read_input
from slicebase.cli.sessions import one_line
from slicebase.core.parsers import read_all
from slicebase.errors import Exit, SlicebaseError, Where
from slicebase.graph.turn import Role

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.verbs.atlas import Atlas
    from slicebase.verbs.graph import Graph

_MOST_READ = 256 << 20  # bytes of a manifest
_MILLION = 1_000_000


@click.command()
@click.option("--session", metavar="SESSION", help="The session; without it, the newest.")
@click.option("--all", "every", is_flag=True, help="All sessions, each by itself.")
@click.option("--policy", metavar="NAME|HASH|FILE", help="A policy: default, focused, broad, a hash, or a JSON file.")
@click.option(
    "--role", "roles", multiple=True, type=click.Choice(get_args(Role)), help="Slices around these turns only."
)
@click.option("--sample", type=CountingNumber(1), metavar="N", help="Slices around N turns, spread evenly.")
@click.option("--limit", type=CountingNumber(1), default=10, show_default=True, metavar="N", help="Rows of each list.")
@click.option("--svg", is_flag=True, help="Print a picture of the session's tree.")
@click.option("--replay", metavar="FILE", help="Make an atlas that --json printed again, and compare.")
@json_option
@click.pass_context
def atlas(
    ctx: click.Context,
    session: str | None,
    every: bool,
    policy: str | None,
    roles: tuple[Role, ...],
    sample: int | None,
    limit: int,
    svg: bool,
    replay: str | None,
    as_json: bool,
) -> int:
    """Show which turns matter, by the context slices around all turns of a session.

    A turn has influence if it stands in the slices of other turns, more where its priority is high. A bridge is a turn
    through which slices reach others. A seam is where a slice has little in common with the slice above it. Nothing is
    written. With --replay: exit status 1 if the result differs, 6 if a session is not stored here.
    """
    if session is not None and every:
        raise click.UsageError("Give --session or --all.")
    if svg and (every or as_json):
        raise click.UsageError("--svg prints the picture of one session.")
    if replay is not None:
        if session is not None or every or policy or roles or sample or svg:
            raise click.UsageError("--replay takes everything from its file.")
        return _replay(open_base(ctx).graph, replay, as_json)
    base = open_base(ctx)
    found = base.graph.atlas(session, policy, every=every, roles=roles, sample=sample)
    if svg:
        from slicebase.graph.atlas_svg import svg as drawn

        print_text(drawn(found.sessions[0]), nl=False)
    elif as_json:
        print_json(found.as_json(limit))
    else:
        _print(base, found, limit)
    return Exit.DONE


def _print(base: "Slicebase", found: "Atlas", limit: int) -> None:
    total = found.totals
    sessions = found.sessions
    of = f"session {printable(sessions[0].session_id)}" if len(sessions) == 1 else counted(len(sessions), "session")
    print_text(f"atlas    {of}: {counted(total.turns, 'turn')}, {counted(total.anchors, 'slice')}")
    print_text(f"policy   slice_policy_v1:{found.policy.params_hash}")
    if total.anchors:
        overlap = "" if total.overlap is None else f"; {_fraction(total.overlap)} of it in the slice above"
        print_text(f"slices   {total.slice_turns / total.anchors:.1f} turns on average{overlap}")
    print_text(f"reached  {total.reached} of {counted(total.turns, 'turn')} ({total.coverage / 10_000:.1f} %)")
    figures = [f"{'influence':>10} {'slices':>7} {'carried':>8}"]
    for title, rows in (("most influence", found.influential(limit)), ("bridges", found.bridges(limit))):
        _print_turns(base, f"\n{title}\n{figures[0]}", [
            (f"{_fraction(each.influence):>10} {each.slices:>7} {each.carried:>8}", each.turn) for each in rows
        ])  # fmt: skip
    seams = [(f"{_fraction(each.overlap):>10}", each.turn) for each in found.seams(limit)]
    _print_turns(base, f"\nseams\n{'overlap':>10}", seams)
    unreached = [("", turn) for turn in found.unreached(limit)]
    _print_turns(base, f"\nin no slice of another turn: {total.turns - total.reached}", unreached)


def _fraction(millionths: int) -> str:
    return f"{millionths / _MILLION:.3f}"


def _print_turns(base: "Slicebase", title: str, rows: Iterable[tuple[str, str]]) -> None:
    from slicebase.verbs.names import shortened

    listed = list(rows)
    if not listed:
        return
    print_text(title)
    short = shortened(base, [f"turn:{turn}" for _, turn in listed])
    for figures, turn in listed:
        shown = base.graph.turn(turn)
        print_text(f"{figures}  {short[f'turn:{turn}']}  {shown.role:9}  {one_line(shown.text)}")


def _replay(graph: "Graph", path: str, as_json: bool) -> int:
    with read_input(path) as stream:
        data = read_all(stream, path, _MOST_READ)
    try:
        answers = graph.check_atlas(data)
    except SlicebaseError as error:
        raise error.at(Where(path)) from None
    found: set[Any] = {each.answer for each in answers}
    if as_json:
        print_json({"sessions": [each._asdict() for each in answers]})
    else:
        for each in answers:
            of = "" if each.session is None else f"session:{printable(each.session)}  "
            print_text(f"{each.answer:12}  {of}{each.message}")
    return Exit.FINDINGS if "BROKEN" in found else Exit.UNVERIFIABLE if "UNVERIFIABLE" in found else Exit.DONE
