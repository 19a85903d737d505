"""The git merge driver: git calls it with three files and takes the merged one from the second."""

from pathlib import Path

import click

from slicebase.cli.output import note
from slicebase.errors import Exit


@click.command("merge-driver", hidden=True)
@click.argument("base", type=click.Path(path_type=Path))
@click.argument("ours", type=click.Path(path_type=Path))
@click.argument("theirs", type=click.Path(path_type=Path))
@click.argument("name")
def merge_driver(base: Path, ours: Path, theirs: Path, name: str) -> int:
    """Merge two versions of a slice file over their base, for git. Exit 1 where a conflict is left."""
    from slicebase.library.merge import merge_files

    conflicts = merge_files(base, ours, theirs, name)
    for conflict in conflicts:
        note(f"CONFLICT (slice file): {name}: both sides changed {conflict}")
    return Exit.FINDINGS if conflicts else Exit.DONE
