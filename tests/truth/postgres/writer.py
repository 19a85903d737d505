"""A process that appends to a run and a session until it is told to stop, and prints what was acknowledged.

python -m tests.truth.postgres.writer FOLDER NAME SECONDS
"""

import os
import sys
import time

from slicebase import Slicebase, SlicebaseError
from tests.conversations import name, store, turn


def said(line: str) -> None:
    """Writes a line at once: a process that is killed leaves whole lines, also among those of others."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def main(folder: str, own: str, seconds: float) -> None:
    until = time.monotonic() + seconds
    number = 0
    with Slicebase.open(folder) as memory:
        while time.monotonic() < until:
            number += 1
            try:
                memory.runs.log("shared", [{"type": "TOOL_CALLED", "payload": {"by": own, "number": number}}])
                said(f"event {own} {number}")
                store(memory.truth, [turn(f"{own}-{number}", session="shared")])
                said(f"turn {name(f'{own}-{number}')}")
            except SlicebaseError as error:
                if error.code not in ("no-server", "locked"):  # what a restart of the server causes
                    raise
                time.sleep(0.1)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
