"""`tt demo`: the product in a minute, on a sample that ships with it."""

import os
import subprocess
import sys
from pathlib import Path

import click

import slicebase

_SCRIPT = Path(slicebase.__file__).parent / "samples" / "demo.sh"


@click.command()
def demo() -> int:
    """Show what a compaction forgot, and how it is possible to know: real commands in a temporary folder."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    variables = {name: value for name, value in os.environ.items() if not name.startswith("SLICEBASE_")}
    return subprocess.run(["sh", str(_SCRIPT)], env={**variables, "PATH": path}, check=False).returncode
