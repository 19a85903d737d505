"""What the commands of runs print."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from slicebase.cli.output import note, print_json, printable

if TYPE_CHECKING:
    from slicebase.runs.status import RunStatus
    from slicebase.truth.runs import Logged


def told(status: "RunStatus") -> Iterator[str]:
    following, coverage, metrics = status.next_compaction, status.coverage, status.metrics
    yield f"run        {status.run_id}  ({status.stopped or 'running'})"
    yield f"objective  {printable(' '.join(status.objective.split()))}"
    yield f"log        {status.events} events, {status.snapshots} snapshots"
    due = "due now" if following.due else "not due"
    yield (
        f"compaction {following.counted_events} of {following.event_threshold} counted events, "
        f"{following.steps} of {following.step_threshold} steps: {due}"
    )
    yield f"claims     {', '.join(f'{count} {name}' for name, count in status.claims.items())}"
    for item in status.open_conflicts:
        yield f"conflict   {item.get('conflict_id')}: {printable(str(item.get('description')))}"
    for text in status.open_questions:
        yield f"question   {printable(text)}"
    for item in status.open_failures:
        yield f"failure    {item.get('failure_id')}: {printable(str(item.get('where')) + ': ' + str(item.get('why')))}"
    seen = f"{coverage.sources_seen} sources, {coverage.chunks_seen} chunks seen"
    yield f"coverage   {seen}, {coverage.chunks_cited} cited"
    yield (
        f"metrics    loop rate {metrics.loop_rate:g}, {metrics.repeated_failures} repeated failures, "
        f"{metrics.no_evidence_stalls} stalls without evidence, {metrics.refused_changes} refused changes"
    )
    each = metrics.seconds_per_verified_claim
    if each is not None:
        yield f"price      {each:g} s and {metrics.cost_per_verified_claim:g} per verified claim"


def print_id(run_id: str, as_json: bool) -> None:
    if as_json:
        print_json({"run": run_id})
    else:
        click.echo(run_id)


def print_logged(logged: "Logged", as_json: bool) -> None:
    tally = logged.tally
    if as_json:
        print_json(
            {
                "run": tally.run_id,
                "first": logged.first,
                "last": logged.last,
                "snapshots": list(logged.snapshots),
                "counted_events": tally.counted,
                "steps": tally.steps,
                "stopped": tally.stopped,
            }
        )
        return
    for name in logged.snapshots:
        click.echo(name)
    if logged.last >= logged.first:
        note(
            f"run:{tally.run_id} events {logged.first} to {logged.last}"
            + (f", {tally.stopped}" if tally.stopped else "")
        )
