"""The way in. Commands that ask about slice files look at them while the rest of the program is loading."""

import os
import sys

# Verbs that ask the index; where the workspace is named by an option, finding it is left to the command.
_ASKING = frozenset({"search", "list", "explore", "stale", "info", "status"})


def main() -> None:
    """The entry point of `tt`, `slicebase` and `python -m slicebase`."""
    if sys.argv[1:2] and sys.argv[1] in _ASKING and "SLICEBASE_ROOT" not in os.environ and hasattr(os, "fork"):
        from slicebase.store.looking import look_ahead

        look_ahead(".")
    from slicebase.cli.main import main as run

    run()
