"""Commands that read runs: snapshot, narrative, status, list."""

import json
import sys

import click

from slicebase.cli.output import json_option, print_json, printable
from slicebase.cli.run_options import run_argument, run_name, thresholds_of
from slicebase.cli.run_output import told
from slicebase.cli.workspace import open_base


@click.command()
@click.argument("run_id", metavar="RUN|sn_…")
@click.option("--sequence", "-n", type=int, metavar="N", help="Which one (default: the last that passed).")
@json_option
@click.pass_context
def snapshot(ctx: click.Context, run_id: str, sequence: int | None, as_json: bool) -> None:
    """Print a snapshot: its JSON, in the specification's shape."""
    found = open_base(ctx).runs.snapshot(run_id if run_id.startswith("sn_") else run_name(run_id), sequence)
    if as_json:
        from slicebase.runs.snapshot import to_bytes

        sys.stdout.buffer.write(to_bytes(found) + b"\n")
        sys.stdout.buffer.flush()
    else:
        click.echo(json.dumps(found, ensure_ascii=False, indent=2))


@click.command()
@run_argument
@click.option("--print", "only_print", is_flag=True, help="Print it, and write no slice file.")
@json_option
@click.pass_context
def narrative(ctx: click.Context, run_id: str, only_print: bool, as_json: bool) -> None:
    """Tell what a run knew at its last snapshot, as a slice file. Prints the file's id."""
    made, is_new = open_base(ctx).runs.narrative(run_name(run_id), write=not only_print)
    if as_json:
        print_json({**made._asdict(), "written": is_new})
    elif only_print:
        click.echo(made.body, nl=False)
    else:
        click.echo(made.file_id)


@click.command()
@run_argument
@json_option
@click.pass_context
def status(ctx: click.Context, run_id: str, as_json: bool) -> None:
    """Show where a run stands, and the figures that would justify other thresholds."""
    import msgspec

    base = open_base(ctx)
    found = base.runs.status(run_name(run_id), thresholds_of(base))
    if as_json:
        print_json(msgspec.to_builtins(found))
    else:
        for line in told(found):
            click.echo(line)


@click.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """List the runs, the one that moved last first."""
    rows = [
        {
            "run": tally.run_id,
            "events": tally.seq,
            "snapshots": tally.sequence,
            "updated": tally.updated,
            "stopped": tally.stopped,
            "objective": terms.objective if terms else None,
        }
        for tally, terms in open_base(ctx).runs.list_runs()
    ]
    if as_json:
        print_json({"runs": rows})
        return
    for row in rows:
        state = row["stopped"] or "running"
        words = printable(" ".join(str(row["objective"] or "(purged)").split())[:60])
        click.echo(
            f"{row['run']}  {row['updated']}  {row['events']} events, {row['snapshots']} snapshots  {state}  {words}"
        )
