"""The way in and out. Start and end of a short command take longer than its work, so both are kept short here."""

import gc
import os
import sys
from contextlib import suppress


def main() -> None:
    """The entry point of `tt`, `slicebase` and `python -m slicebase`."""
    gc.set_threshold(100_000, 50, 50)  # loading modules makes many objects and no garbage
    from slicebase.cli.main import run

    leave(run(sys.argv[1:]))


def leave(status: int) -> None:
    """Ends the process without taking it apart piece by piece: everything is closed, and what is printed is out."""
    with suppress(BrokenPipeError):
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    os._exit(status)
