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
    open_closed_streams()
    from slicebase.cli.main import run

    leave(run(sys.argv[1:]))


def open_closed_streams() -> None:
    """Opens the streams that the caller has closed (`tt … <&-`), so that no command meets one that does not exist.

    They have no bytes, and keep none.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - it stays open until the process ends


def leave(status: int) -> None:
    """Ends the process without the interpreter's clean-up: everything is closed already, and output is flushed."""
    with suppress(OSError):  # of a full disk or a closed pipe, which is reported already
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    os._exit(status)
