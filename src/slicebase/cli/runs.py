"""Commands that write runs: start, log, from, claim, conflict, question, failure, compact, stop, fork.

`tt run`: the runs of agents, from their start to their narratives.
"""

import os
from pathlib import Path
from typing import Any

import click

from slicebase.cli.options import now, open_base
from slicebase.cli.output import Group, json_option, read_input
from slicebase.cli.run_options import (
    arriving,
    done_definition,
    json_object,
    new_run_id,
    run_argument,
    run_name,
    thresholds_of,
)
from slicebase.cli.runs_read import list_, narrative, print_id, print_logged, snapshot, status

STOP_REASONS = ("OBJECTIVE_ACHIEVED", "BUDGET_EXCEEDED", "NO_EVIDENCE", "HUMAN_REQUESTED", "SYSTEM_ERROR")


@click.command()
@click.option("--objective", "-o", required=True, metavar="TEXT", help="What the run is for. It never changes.")
@click.option("--done", required=True, metavar="TEXT|JSON", help="When it is done: words, or a JSON object.")
@click.option("--budget", "budgets", multiple=True, metavar="KEY=N", help="max_steps, max_seconds or max_cost.")
@click.option("--id", "run_id", metavar="RUN", help="The run's id (default: a new one).")
@click.option("--provenance-mode", default="audit_only", show_default=True, metavar="MODE")
@json_option
@click.pass_context
def start(
    ctx: click.Context,
    objective: str,
    done: str,
    budgets: tuple[str, ...],
    run_id: str | None,
    provenance_mode: str,
    as_json: bool,
) -> None:
    """Start a run. Prints its id."""
    base = open_base(ctx, create=True)
    name = run_id or new_run_id()
    tally = base.runs.start(name, objective, done_definition(done, budgets), now=now(), provenance_mode=provenance_mode)
    print_id(tally.run_id, as_json)


@click.command()
@run_argument
@click.argument("event_type", required=False, metavar="[TYPE]")
@click.option("--step", type=int, metavar="N", help="The step of a single event.")
@click.option("--payload", metavar="JSON", help="The payload of a single event.")
@click.option("--file", "path", metavar="EVENTS.jsonl", help="Lines {type, step?, time?, payload?}; `-` is stdin.")
@click.option("--auto-compact", is_flag=True, help="Compact whenever that is due.")
@click.option("--threshold", "thresholds", multiple=True, metavar="KEY=N", help="counted_events=18, steps=8.")
@json_option
@click.pass_context
def log(
    ctx: click.Context,
    run_id: str,
    event_type: str | None,
    step: int | None,
    payload: str | None,
    path: str | None,
    auto_compact: bool,
    thresholds: tuple[str, ...],
    as_json: bool,
) -> None:
    """Log events: one, or a stream of JSON lines.

    A stream is taken as it is, and the gate catches what is wrong with it. Lines that arrive together on stdin are
    stored together; what a call has printed is on disk. Exit 3 where the gate or a budget stops the run.
    """
    from slicebase.runs.event import EventDraft, read_lines

    if (event_type is None) == (path is None):
        raise click.UsageError("Give one of TYPE and --file.")
    base, name = open_base(ctx), run_name(run_id)
    limits = thresholds_of(base, thresholds) if auto_compact or thresholds else None
    if event_type is not None:
        drafts = [EventDraft(type=event_type, step=step, payload=json_object(payload, "--payload") if payload else {})]
        print_logged(base.runs.log(name, drafts, now=now(), thresholds=limits), as_json)
        return
    with read_input(str(path)) as stream:
        batches = arriving(stream) if path == "-" else iter([stream.readlines()])
        first = 1
        for lines in batches:
            drafts = list(read_lines(lines, str(path), first))
            first += len(lines)
            print_logged(base.runs.log(name, drafts, now=now(), thresholds=limits), as_json)


@click.command("from")
@click.argument("source", metavar="SESSION|FILE.traj")
@click.option("--id", "run_id", metavar="RUN", help="The run's id (default: from-<session>).")
@click.option("--leaf", metavar="TURN", help="The end of the branch to follow (default: the newest).")
@click.option("--objective", "-o", metavar="TEXT", help="The objective (default: the first prompt).")
@click.option("--done", metavar="TEXT|JSON", help="When it is done (default: when every prompt is answered).")
@click.option("--auto-compact", is_flag=True, help="Compact whenever that is due.")
@json_option
@click.pass_context
def from_(
    ctx: click.Context,
    source: str,
    run_id: str | None,
    leaf: str | None,
    objective: str | None,
    done: str | None,
    auto_compact: bool,
    as_json: bool,
) -> None:
    """Make a run of an imported conversation, or of a trajectory.

    A prompt is a step, the text before a tool call a plan, the call an act, its result an observation, an error a
    failure; what the agent answers is a claim, and a candidate unless it cites. Called again, it adds what the
    conversation has gained.
    """
    from slicebase.verbs.runs import run_of

    base = open_base(ctx)
    runs = base.runs
    is_file = os.path.isfile(source)
    session = runs.take_trajectory(Path(source)) if is_file else source.removeprefix("session:")
    logged = runs.from_session(
        session,
        run_id or run_of(session),
        now=now(),
        leaf=leaf.removeprefix("turn:") if leaf else None,
        objective=objective,
        done_definition=done_definition(done, ()) if done else None,
        step_at="call" if is_file else "prompt",
        thresholds=thresholds_of(base) if auto_compact else None,
    )
    print_logged(logged, as_json)


@click.command()
@run_argument
@click.argument("statement", required=False)
@click.option("--id", "claim_id", metavar="ID", help="The claim's id (default: a new one).")
@click.option("--status", type=click.Choice(["verified", "candidate", "retracted"]), help="Default: candidate.")
@click.option("--evidence", "-e", multiple=True, metavar="EV", help="Evidence that `tt cite` made.")
@json_option
@click.pass_context
def claim(
    ctx: click.Context,
    run_id: str,
    statement: str | None,
    claim_id: str | None,
    status: Any,
    evidence: tuple[str, ...],
    as_json: bool,
) -> None:
    """Make a claim, or with --id and no STATEMENT change the status of one.

    A verified claim without evidence is refused.
    """
    if statement is None and claim_id is None:
        raise click.UsageError("Give a statement, or --id and --status.")
    runs = open_base(ctx).runs
    logged = runs.claim(run_name(run_id), statement, now=now(), claim_id=claim_id, status=status, evidence=evidence)
    print_logged(logged, as_json)


@click.command()
@run_argument
@click.argument("description", required=False)
@click.option("-a", "side_a", multiple=True, metavar="EV", help="Evidence of one side.")
@click.option("-b", "side_b", multiple=True, metavar="EV", help="Evidence of the other side.")
@click.option("--id", "conflict_id", metavar="ID", help="The conflict's id (default: a new one).")
@click.option("--resolve", metavar="ID", help="Resolve this conflict.")
@json_option
@click.pass_context
def conflict(
    ctx: click.Context,
    run_id: str,
    description: str | None,
    side_a: tuple[str, ...],
    side_b: tuple[str, ...],
    conflict_id: str | None,
    resolve: str | None,
    as_json: bool,
) -> None:
    """Record a conflict with evidence on both sides, or resolve one."""
    if (description is None) == (resolve is None):
        raise click.UsageError("Give one of DESCRIPTION and --resolve.")
    runs = open_base(ctx).runs
    logged = runs.conflict(
        run_name(run_id), description, now=now(), conflict_id=resolve or conflict_id, side_a=side_a, side_b=side_b
    )
    print_logged(logged, as_json)


@click.command()
@run_argument
@click.argument("text")
@click.option("--close", is_flag=True, help="The question is answered, or no question any more.")
@json_option
@click.pass_context
def question(ctx: click.Context, run_id: str, text: str, close: bool, as_json: bool) -> None:
    """Ask a question, or close it."""
    print_logged(open_base(ctx).runs.question(run_name(run_id), text, now=now(), close=close), as_json)


@click.command()
@run_argument
@click.option("--category", metavar="TEXT", help="What kind of failure.")
@click.option("--where", metavar="TEXT", help="Where it happened.")
@click.option("--why", metavar="TEXT", help="Why it happened.")
@click.option("--id", "failure_id", metavar="ID", help="The failure's id (default: a new one).")
@click.option("--resolve", metavar="ID", help="Resolve this failure.")
@json_option
@click.pass_context
def failure(
    ctx: click.Context,
    run_id: str,
    category: str | None,
    where: str | None,
    why: str | None,
    failure_id: str | None,
    resolve: str | None,
    as_json: bool,
) -> None:
    """Record a failure, or resolve one."""
    if resolve is None and not (category and where and why):
        raise click.UsageError("Give --category, --where and --why, or --resolve.")
    logged = open_base(ctx).runs.failure(
        run_name(run_id),
        now=now(),
        category=category or "",
        where=where or "",
        why=why or "",
        failure_id=resolve or failure_id,
        resolve=resolve is not None,
    )
    print_logged(logged, as_json)


@click.command()
@run_argument
@json_option
@click.pass_context
def compact(ctx: click.Context, run_id: str, as_json: bool) -> None:
    """Take a snapshot. One that does not pass its checks stops the run (exit 3)."""
    print_logged(open_base(ctx).runs.compact(run_name(run_id), now=now()), as_json)


@click.command()
@run_argument
@click.option("--reason", type=click.Choice(STOP_REASONS), required=True, help="Why it stops.")
@click.option("--message", default="", metavar="TEXT", help="More about that.")
@json_option
@click.pass_context
def stop(ctx: click.Context, run_id: str, reason: Any, message: str, as_json: bool) -> None:
    """Close a run behind a last snapshot. It takes no more events."""
    print_logged(open_base(ctx).runs.stop(run_name(run_id), reason, now=now(), message=message), as_json)


@click.command()
@run_argument
@click.option("--id", "fork_id", metavar="RUN", help="The fork's id (default: a new one).")
@json_option
@click.pass_context
def fork(ctx: click.Context, run_id: str, fork_id: str | None, as_json: bool) -> None:
    """Start a run that goes on from another's last snapshot that passed. Prints its id."""
    tally = open_base(ctx).runs.fork(run_name(run_id), fork_id or new_run_id(), now=now())
    print_id(tally.run_id, as_json)


@click.group(cls=Group)
def run() -> None:
    """Log, compact and narrate the runs of agents.

    A run is a log of events in a hash chain. Compaction is a gate: a state that it cannot prove stops the run.
    """


for command in (
    start, log, from_, claim, conflict, question, failure, compact, snapshot, narrative, stop, fork, status, list_,
):  # fmt: skip
    run.add_command(command)
