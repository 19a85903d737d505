"""Commands that read runs (snapshot, narrative, status, report, list), and what the commands of runs print."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from slicebase.cli.numbers import WholeNumber
from slicebase.cli.options import open_base
from slicebase.cli.output import json_option, note, print_json, print_json_text, print_text, printable
from slicebase.cli.run_options import run_argument, run_name, thresholds_of
from slicebase.core.times import known_time
from slicebase.runs.values import field_text, shown_number
from slicebase.verbs.names import shortened

if TYPE_CHECKING:
    from slicebase.runs.status import RunStatus
    from slicebase.truth.run_writer import Logged


# Printing


def status_lines(status: "RunStatus") -> Iterator[str]:
    """Yields the status of a run, line by line."""
    following, coverage, metrics = status.next_compaction, status.coverage, status.metrics
    yield f"run        {status.run_id}  ({status.stopped or 'running'})"
    yield f"objective  {printable(' '.join(status.objective.split()))}"
    yield f"log        {status.events} events, {status.snapshots} snapshots"
    if spent := _spent(status):
        yield f"budget     {spent}"
    for near in status.near_limits:
        yield f"warning    {near}"
    for number in status.interrupted_steps:
        yield f"interrupted step {number}: its process has ended, or its object was dropped, which is a failure"
    due = "due now" if following.due else "not due"
    yield (
        f"compaction {following.counted_events} of {following.event_threshold} counted events, "
        f"{following.steps} of {following.step_threshold} steps: {due}"
    )
    yield f"claims     {', '.join(f'{count} {name}' for name, count in status.claims.items())}"
    for item in status.open_conflicts:
        yield f"conflict   {field_text(item, 'conflict_id', 'no id')}: {printable(field_text(item, 'description'))}"
    for text in status.open_questions:
        yield f"question   {printable(text)}"
    for item in status.open_failures:
        said = ": ".join(filter(None, (field_text(item, "where"), field_text(item, "why"))))
        yield f"failure    {field_text(item, 'failure_id', 'no id')}: {printable(said)}"
    seen = f"{coverage.sources_seen} sources, {coverage.chunks_seen} chunks seen"
    yield f"coverage   {seen}, {coverage.chunks_cited} cited"
    yield (
        f"metrics    loop rate {metrics.loop_rate:g}, {metrics.loops} loops, "
        f"{metrics.repeated_failures} repeated failures, "
        f"{metrics.no_evidence_stalls} stalls without evidence, {metrics.forgotten_constraints} forgotten constraints, "
        f"{metrics.refused_changes} refused changes"
    )
    yield from _incident_lines(status)
    each = metrics.seconds_per_verified_claim
    if each is not None:
        cost = shown_number(metrics.cost_per_verified_claim or 0)
        yield f"price      {shown_number(each)} s and {cost} per verified claim"


_MOST_INCIDENTS = 5  # of each kind, the last ones


def _incident_lines(status: "RunStatus") -> Iterator[str]:
    """Yields where the last loops, stalls and forgotten constraints were."""
    found = status.incidents
    for loop in found.loops[-_MOST_INCIDENTS:]:
        what = "the same call" if loop.kind == "repeat" else "the same two calls"
        yield f"loop       {what} {loop.times} times, events {loop.cycles[0][0]} to {loop.cycles[-1][-1]}"
    if found.stalls:
        yield f"stall      no new evidence up to event {', '.join(map(str, found.stalls[-_MOST_INCIDENTS:]))}"
    for broken in found.forgotten_constraints[-_MOST_INCIDENTS:]:
        yield f"forgotten  event {broken.action} does what event {broken.stated} forbids: {printable(broken.statement)}"


def _spent(status: "RunStatus") -> str:
    """Returns what was spent of each budget, and how much of that a fork has inherited."""
    parts = []
    for name in ("steps", "seconds", "cost"):
        limit = getattr(status.budgets, f"max_{name}")
        before = f" ({shown_number(getattr(status.inherited, name))} of it inherited)" if status.inherited else ""
        if limit is not None:
            parts.append(f"{name} {shown_number(getattr(status.spent, name))} of {shown_number(limit)}{before}")
    return ", ".join(parts)


def print_id(run_id: str, as_json: bool) -> None:
    """Prints the id of a run."""
    if as_json:
        print_json({"run": run_id})
    else:
        print_text(run_id)


def print_logged(logged: "Logged", as_json: bool) -> None:
    """Prints the claim, conflict or failure that was logged, the snapshots, and the numbers of the events.

    A claim is named by its reference, which `tt why` takes; a conflict or a failure by its id.
    """
    tally = logged.tally
    if as_json:
        print_json(
            {
                "run": tally.run_id,
                "id": logged.id or None,
                "ref": logged.ref or None,
                "first": logged.first,
                "last": logged.last,
                "snapshots": list(logged.snapshots),
                "counted_events": tally.counted,
                "steps": tally.steps,
                "stopped": tally.stopped,
                "interrupted_steps": list(logged.interrupted_steps),
                "warnings": list(logged.warnings),
            }
        )
        return
    for warning in logged.warnings:
        note(f"warning: {printable(warning)}")
    for number in logged.interrupted_steps:
        note(f"step {number} of run:{tally.run_id} was closed as a failure: nobody held it any more")
    for name in ([logged.ref or logged.id] if logged.id else []) + list(logged.snapshots):
        print_text(name)
    if logged.last >= logged.first:
        note(
            f"run:{tally.run_id} events {logged.first} to {logged.last}"
            + (f", {tally.stopped}" if tally.stopped else "")
        )


# Commands


@click.command()
@click.argument("run_id", metavar="RUN|sn_…")
@click.option(
    "--sequence", "-n", type=WholeNumber(), metavar="N", help="Its number in the run (default: the last that passed)."
)
@json_option
@click.pass_context
def snapshot(ctx: click.Context, run_id: str, sequence: int | None, as_json: bool) -> None:
    """Print a snapshot as JSON, in the shape that the specification defines."""
    found = open_base(ctx).runs.snapshot(run_id if run_id.startswith("sn_") else run_name(run_id), sequence)
    if as_json:
        from slicebase.runs.snapshot import to_bytes

        print_json_text(to_bytes(found).decode())
    else:
        print_json_text(json.dumps(found, ensure_ascii=False, indent=2))


@click.command()
@run_argument
@click.option("--print", "only_print", is_flag=True, help="Print the narrative, and write no slice file.")
@click.option(
    "--tokens", type=WholeNumber(), metavar="N", help="Print the narrative in this size, and write no slice file."
)
@json_option
@click.pass_context
def narrative(ctx: click.Context, run_id: str, only_print: bool, tokens: int | None, as_json: bool) -> None:
    """Write what a run knew at its last snapshot as a slice file. Prints the id of the file.

    A narrative has at most 4,000 tokens. Each of its sections says how many items it leaves out.
    """
    only_print = only_print or tokens is not None
    made = open_base(ctx).runs.narrative(run_name(run_id), write=not only_print, tokens=tokens)
    if as_json:
        fields = made._asdict()
        print_json({**fields, "written": fields.pop("is_new")})
    elif only_print:
        print_text(made.body, nl=False)
    else:
        print_text(made.file_id)


@click.command()
@run_argument
@json_option
@click.pass_context
def status(ctx: click.Context, run_id: str, as_json: bool) -> None:
    """Show the state of a run, and the figures that would justify other thresholds."""
    import msgspec

    base = open_base(ctx)
    found = base.runs.status(run_name(run_id), thresholds_of(base))
    if as_json:
        print_json(msgspec.to_builtins(found))
    else:
        for line in status_lines(found):
            print_text(line)


@click.command()
@run_argument
@click.option("--format", "form", type=click.Choice(["md", "json"]), default="md", show_default=True,
              help="The form of the report: Markdown or JSON.")  # fmt: skip
@json_option
@click.pass_context
def report(ctx: click.Context, run_id: str, form: str, as_json: bool) -> None:
    """Print the final report of a run.

    It has the objective, the outcome, the verified claims with their quotes, conflicts, failures, sources and costs.
    """
    made = open_base(ctx).runs.report(run_name(run_id))
    if as_json or form == "json":
        print_json(made.as_json())
    else:
        print_text(made.markdown, nl=False)


@click.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """List the runs, the last changed first."""
    base = open_base(ctx)
    rows = [
        {
            "run": entry.id,
            "events": entry.tally.seq,
            "snapshots": entry.tally.sequence,
            "updated": known_time(entry.tally.updated),
            "stopped": entry.stopped,
            "objective": entry.terms.objective if entry.terms else None,
            "problem": entry.problem,
        }
        for entry in base.runs.list_runs()
    ]
    if as_json:
        print_json({"runs": rows})
        return
    short = shortened(base, [f"run:{row['run']}" for row in rows])
    for row in rows:
        name = short[f"run:{row['run']}"].removeprefix("run:")
        state = row["stopped"] or "running"
        words = printable(" ".join(str(row["objective"] or f"({row['problem']})").split())[:60])
        counts = f"{row['events']} events, {row['snapshots']} snapshots"
        print_text(f"{name}  {row['updated'] or 'undated'}  {counts}  {state}  {words}")
