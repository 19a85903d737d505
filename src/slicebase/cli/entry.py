"""The entry point and the exit of the program.

The start and the end of a short command take longer than its work. Both are kept fast here.
"""

import gc
import os
import sys
from contextlib import suppress


def main() -> None:
    """Runs `tt`, `slicebase` or `python -m slicebase`, and ends the process with its exit status."""
    gc.set_threshold(100_000, 50, 50)  # loading modules creates many objects and no garbage
    from slicebase.cli.main import run

    leave(run(sys.argv[1:]))


def leave(status: int) -> None:
    """Ends the process without the interpreter's clean-up: everything is closed already, and output is flushed."""
    with suppress(BrokenPipeError):
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    os._exit(status)
