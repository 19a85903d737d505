"""`tt run`: the group, and the commands that write runs.

They are start, log, from, claim, conflict, question, failure, compact, allow-loop, stop and fork.
"""

import os
from typing import Any

import click

from slicebase.cli.numbers import CountingNumber, Decimal, WholeNumber
from slicebase.cli.options import open_base, redact_option
from slicebase.cli.output import Group, json_option, read_input
from slicebase.cli.run_options import (
    done_definition,
    json_object,
    limits_of,
    line_batches,
    run_argument,
    run_name,
    thresholds_of,
    whole_lines,
)
from slicebase.cli.runs_read import list_, narrative, print_id, print_logged, report, snapshot, status
from slicebase.cli.slice_bundle import within_options
from slicebase.errors import Exit, SlicebaseError, Where

LOOP_MODES = ("warn", "stop", "off")


@click.command()
@click.option("--objective", "-o", required=True, metavar="TEXT", help="The purpose of the run. It never changes.")
@click.option("--done", required=True, metavar="TEXT|JSON", help="The done definition: text, or a JSON object.")
@click.option("--budget", "budgets", multiple=True, metavar="KEY=N",
              help="A limit: max_steps, max_seconds or max_cost.")  # fmt: skip
@click.option("--soft", type=Decimal(0, 1, min_open=True), metavar="SHARE",
              help="Warn once this share of a budget is spent (default: 0.8).")  # fmt: skip
@click.option("--loop", type=click.Choice(LOOP_MODES), help="What an agent gets that repeats itself: a warning, an "
              "error, or nothing (default: warn).")  # fmt: skip
@click.option("--require-manifest", is_flag=True,
              help="Refuse a snapshot if a step with an action has no context bound to it.")  # fmt: skip
@click.option("--id", "run_id", metavar="RUN", help="The run's id (default: a new one).")
@click.option("--provenance-mode", default="audit_only", show_default=True, metavar="MODE",
              help="The provenance mode that snapshots record.")  # fmt: skip
@redact_option
@json_option
@click.pass_context
def start(
    ctx: click.Context,
    objective: str,
    done: str,
    budgets: tuple[str, ...],
    soft: float | None,
    loop: str | None,
    require_manifest: bool,
    run_id: str | None,
    provenance_mode: str,
    as_json: bool,
) -> None:
    """Start a run. Prints its id."""
    base = open_base(ctx, create=True)
    guards = {"loop": loop, "require_manifest": require_manifest or None, "soft": soft}
    tally = base.runs.start(
        base.surroundings.new_id() if run_id is None else run_id,
        objective,
        done_definition(done),
        budgets=limits_of("--budget", budgets),
        guards={name: value for name, value in guards.items() if value is not None},
        provenance_mode=provenance_mode,
    )
    print_id(tally.run_id, as_json)


@click.command()
@run_argument
@click.argument("event_type", required=False, metavar="[TYPE]")
@click.option("--step", type=WholeNumber(), metavar="N", help="The step of a single event.")
@click.option("--payload", metavar="JSON", help="The payload of a single event.")
@click.option("--file", "path", metavar="EVENTS.jsonl", help="Read lines {type, step?, time?, payload?}; `-` is stdin.")
@click.option("--auto-compact", is_flag=True, help="Compact the run whenever that is due.")
@click.option("--threshold", "thresholds", multiple=True, metavar="KEY=N",
              help="Compact at this threshold: counted_events=18, steps=8.")  # fmt: skip
@redact_option
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
    """Log one event, or a stream of JSON lines.

    A stream is stored as it is; the gate finds errors in it at the next compaction. Lines that arrive together on stdin
    are stored together. Everything that is printed is on disk. Exit status 3 if the gate or a budget stops the run, or
    if the agent repeats itself and the run was started with `--loop stop`.
    """
    from slicebase.runs.event import EventDraft, read_lines

    if (event_type is None) == (path is None):
        raise click.UsageError("Give one of TYPE and --file.")
    base, name = open_base(ctx), run_name(run_id)
    compact = thresholds_of(base, thresholds) if thresholds else auto_compact
    if event_type is not None:
        drafts = [EventDraft(type=event_type, step=step, payload=json_object(payload, "--payload") if payload else {})]
        print_logged(base.runs.log(name, drafts, compact=compact), as_json)
        return
    with read_input(str(path)) as stream:
        batches = line_batches(stream) if path == "-" else iter([whole_lines(stream, str(path))])
        first = 1
        for lines in batches:
            drafts = list(read_lines(lines, str(path), first))
            numbers = [number for number, line in enumerate(lines, first) if line.strip()]
            first += len(lines)
            try:
                logged = base.runs.log(name, drafts, compact=compact)
            except SlicebaseError as error:
                raise error if error.item is None else error.at(Where(str(path), numbers[error.item])) from None
            print_logged(logged, as_json)


@click.command("from")
@click.argument("source", metavar="SESSION|FILE")
@click.option("--id", "run_id", metavar="RUN", help="The run's id (default: from-<session>).")
@click.option("--session", metavar="ID", help="The session of a file that names none (default: the file name).")
@click.option("--leaf", metavar="TURN", help="The last turn of the branch to follow (default: the newest turn, or the "
              "last one in the file).")  # fmt: skip
@click.option("--objective", "-o", metavar="TEXT", help="The objective (default: the first prompt).")
@click.option("--done", metavar="TEXT|JSON", help="The done definition (default: every prompt is answered).")
@click.option("--auto-compact", is_flag=True, help="Compact the run whenever that is due.")
@redact_option
@json_option
@click.pass_context
def from_(
    ctx: click.Context,
    source: str,
    run_id: str | None,
    session: str | None,
    leaf: str | None,
    objective: str | None,
    done: str | None,
    auto_compact: bool,
    as_json: bool,
) -> int:
    """Create a run from an imported conversation, or from a file.

    A file is imported first. A prompt becomes a step, the text before a tool call a plan, the call an act, its result
    an observation, and what failed a failure until it succeeds. In a trajectory, each call is a step. An answer of the
    agent becomes a claim, a candidate unless it cites. So do standing instructions, decisions, findings, files and
    commands; open tasks and a prompt without an answer become questions. A second call adds what is new in the
    conversation, and ends what is over. It is refused if the conversation was rewound: give the run another --id. What
    was imported of the file stays. Exit status 1 if message content of the file was left out, and 5 if the call is
    refused, or the file is not what is stored under its session.
    """
    from slicebase.cli.history import import_progress, print_left_out

    is_file = os.path.isfile(source)
    if session is not None and not is_file:
        raise click.UsageError("--session is for a file.")
    runs = open_base(ctx, create=is_file).runs
    options: dict[str, Any] = {
        "leaf": leaf,
        "objective": objective,
        "done": done_definition(done) if done else None,
        "compact": auto_compact,
    }
    if not is_file:
        print_logged(runs.from_session(source, run_id, **options), as_json)
        return Exit.DONE
    with import_progress() as progress:
        made = runs.from_file(source, run_id, session=session, progress=progress, **options)
    print_left_out(made.account)
    print_logged(made.logged, as_json)
    return Exit.FINDINGS if made.account.content_left_out else Exit.DONE


@click.command()
@run_argument
@click.argument("statement", required=False)
@click.option("--id", "claim_id", metavar="ID", help="The claim's id or reference (default: a new one).")
@click.option(
    "--status",
    type=click.Choice(["verified", "candidate", "retracted"]),
    help="The status of the claim (default: candidate).",
)
@click.option("--evidence", "-e", multiple=True, metavar="EV", help="The id of evidence, as `tt cite` prints it.")
@within_options
@redact_option
@json_option
@click.pass_context
def claim(
    ctx: click.Context,
    run_id: str,
    statement: str | None,
    claim_id: str | None,
    status: Any,
    evidence: tuple[str, ...],
    within: Any,
    as_json: bool,
) -> None:
    """Log a claim, or change the status of one (--id without STATEMENT).

    Prints the reference of the claim, such as claim:RUN/c1. A verified claim without evidence is refused.
    """
    if statement is None and claim_id is None:
        raise click.UsageError("Give a statement, or --id and --status.")
    options: dict[str, Any] = {"status": status, "cite": list(evidence), "within": within}
    logged = open_base(ctx).runs.claim(run_name(run_id), statement, id=claim_id, **options)
    print_logged(logged, as_json)


@click.command()
@run_argument
@click.argument("description", required=False)
@click.option("-a", "side_a", multiple=True, metavar="EV", help="Evidence for one side.")
@click.option("-b", "side_b", multiple=True, metavar="EV", help="Evidence for the other side.")
@click.option("--id", "conflict_id", metavar="ID", help="The conflict's id (default: a new one).")
@click.option("--resolve", metavar="ID", help="Resolve this conflict.")
@redact_option
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
    """Log a conflict with evidence for both sides, or resolve one. Prints its id."""
    if (description is None) == (resolve is None):
        raise click.UsageError("Give one of DESCRIPTION and --resolve.")
    runs = open_base(ctx).runs
    name = conflict_id if resolve is None else resolve
    logged = runs.conflict(run_name(run_id), description, id=name, a=list(side_a), b=list(side_b))
    print_logged(logged, as_json)


@click.command()
@run_argument
@click.argument("text")
@click.option("--close", is_flag=True, help="Close the question: it is answered, or no longer open.")
@redact_option
@json_option
@click.pass_context
def question(ctx: click.Context, run_id: str, text: str, close: bool, as_json: bool) -> None:
    """Log an open question, or close it."""
    print_logged(open_base(ctx).runs.question(run_name(run_id), text, close=close), as_json)


@click.command()
@run_argument
@click.option("--category", metavar="TEXT", help="The kind of failure.")
@click.option("--where", metavar="TEXT", help="Where it happened.")
@click.option("--why", metavar="TEXT", help="Why it happened.")
@click.option("--id", "failure_id", metavar="ID", help="The failure's id (default: a new one).")
@click.option("--resolve", metavar="ID", help="Resolve this failure.")
@redact_option
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
    """Log a failure, or resolve one. Prints its id."""
    if resolve is None and not (category and where and why):
        raise click.UsageError("Give --category, --where and --why, or --resolve.")
    logged = open_base(ctx).runs.failure(
        run_name(run_id),
        why or "",
        category=category or "",
        where=where or "",
        id=failure_id if resolve is None else resolve,
        resolve=resolve is not None,
    )
    print_logged(logged, as_json)


@click.command()
@run_argument
@json_option
@click.pass_context
def compact(ctx: click.Context, run_id: str, as_json: bool) -> None:
    """Compact a run into a snapshot. A snapshot that fails its checks stops the run (exit status 3)."""
    print_logged(open_base(ctx).runs.compact(run_name(run_id)), as_json)


@click.command("allow-loop")
@run_argument
@click.option("--reason", required=True, metavar="TEXT", help="Why the agent may repeat itself.")
@click.option("--steps", type=CountingNumber(1), metavar="N", help="For so many further steps.")
@click.option(
    "--minutes", type=Decimal(0, 525_600, min_open=True), metavar="N", help="For so many minutes, a year at most."
)
@redact_option
@json_option
@click.pass_context
def allow_loop(
    ctx: click.Context, run_id: str, reason: str, steps: int | None, minutes: float | None, as_json: bool
) -> None:
    """Allow an agent to repeat itself, for some steps or minutes.

    The guard neither warns nor stops until then, or until the first of both. It is logged, with the reason.
    """
    if steps is None and minutes is None:
        raise click.UsageError("Give --steps, --minutes or both.")
    seconds = None if minutes is None else minutes * 60
    print_logged(open_base(ctx).runs.allow_loop(run_name(run_id), reason, steps=steps, seconds=seconds), as_json)


STOP_REASONS = ("OBJECTIVE_ACHIEVED", "BUDGET_EXCEEDED", "NO_EVIDENCE", "HUMAN_REQUESTED", "SYSTEM_ERROR")


@click.command()
@run_argument
@click.option("--reason", type=click.Choice(STOP_REASONS), required=True, help="Why the run stops.")
@click.option("--message", default="", metavar="TEXT", help="Details of the reason.")
@redact_option
@json_option
@click.pass_context
def stop(ctx: click.Context, run_id: str, reason: Any, message: str, as_json: bool) -> None:
    """Take a last snapshot and close a run. It accepts no more events."""
    print_logged(open_base(ctx).runs.stop(run_name(run_id), reason, message=message), as_json)


@click.command()
@run_argument
@click.option("--id", "fork_id", metavar="RUN", help="The fork's id (default: a new one).")
@json_option
@click.pass_context
def fork(ctx: click.Context, run_id: str, fork_id: str | None, as_json: bool) -> None:
    """Start a run that continues from the last snapshot of another run that passed. Prints its id."""
    base = open_base(ctx)
    tally = base.runs.fork(run_name(run_id), base.surroundings.new_id() if fork_id is None else fork_id)
    print_id(tally.run_id, as_json)


@click.group(cls=Group)
def run() -> None:
    """Log, compact and narrate the runs of agents.

    A run is a log of events in a hash chain. Compaction is a gate: a state that it cannot prove stops the run.
    """


for command in (
    start, log, from_, claim, conflict, question, failure, compact, snapshot, narrative, allow_loop, stop, fork, status,
    report, list_,
):  # fmt: skip
    run.add_command(command)
