"""The way in and out. Start and end of a short command take longer than its work, so both are kept short here."""

import gc
import os
import sys
from contextlib import suppress

# Verbs that ask the index: they look at the library while the rest of the program is loading. Where an option or a
# variable names the workspace, finding it is left to the command.
_ASKING = frozenset({"search", "list", "explore", "stale", "info", "status"})


def main() -> None:
    """The entry point of `tt`, `slicebase` and `python -m slicebase`."""
    gc.set_threshold(100_000, 50, 50)  # loading modules makes many objects and no garbage
    if sys.argv[1:2] and sys.argv[1] in _ASKING and "SLICEBASE_ROOT" not in os.environ and hasattr(os, "fork"):
        from slicebase.index.listing import look_ahead

        look_ahead(".")
    from slicebase.cli.main import run

    leave(run(sys.argv[1:]))


def leave(status: int) -> None:
    """Ends the process without taking it apart piece by piece: everything is closed, and what is printed is out."""
    with suppress(BrokenPipeError):
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    os._exit(status)
