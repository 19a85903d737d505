"""`tt run`: the runs of agents, from their start to their narratives."""

import click

from slicebase.cli.run_reading import list_, narrative, snapshot, status
from slicebase.cli.run_writing import claim, compact, conflict, failure, fork, from_, log, question, start, stop


@click.group()
def run() -> None:
    """Log, compact and narrate the runs of agents.

    A run is a log of events in a hash chain. Compaction is a gate: a state that it cannot prove stops the run.
    """


for command in (
    start, log, from_, claim, conflict, question, failure, compact, snapshot, narrative, stop, fork, status, list_,
):  # fmt: skip
    run.add_command(command)
