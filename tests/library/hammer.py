"""Writers in processes of their own, on one library. It runs as a program, to fork without a test runner's threads.

    python -m tests.library.hammer together ROOT FILE PROCESSES WRITES     all write, none dies
    python -m tests.library.hammer killed ROOT FILE KILLS SEED             each dies at a random moment

Prints as JSON the texts whose writes returned.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from slicebase.library.library import Library
from slicebase.truth.truth import Truth
from slicebase.workspace.workspace import open_workspace


def library(root: str) -> Library:
    workspace = open_workspace(Path(root), Path(root))
    return Library(workspace, lambda: Truth(workspace.database))


def together(root: str, file_id: str, processes: str, writes: str) -> list[str]:
    """Lets every process write its share. Returns the texts."""
    children = []
    for number in range(int(processes)):
        child = os.fork()
        if child == 0:
            base = library(root)
            for write in range(int(writes)):
                base.remember(file_id, f"{number}/{write}")
            os._exit(0)
        children.append(child)
    assert all(os.waitpid(child, 0)[1] == 0 for child in children)
    return [f"{number}/{write}" for number in range(int(processes)) for write in range(int(writes))]


def killed(root: str, file_id: str, kills: str, seed: str) -> list[str]:
    """Kills two writers at a time soon after a write has returned. Returns the texts of all writes that returned."""
    chance = random.Random(int(seed))
    library(root).remember(file_id, "warm")  # so that no writer is killed while it imports modules
    acknowledged = ["warm"]
    for number in range(int(kills)):
        reading, writing = os.pipe()
        began = time.monotonic()
        writers = [_writer(root, file_id, f"{number}{name}", writing) for name in "ab"]
        os.close(writing)
        with os.fdopen(reading) as pipe:
            acknowledged.append(pipe.readline().strip())
            time.sleep(chance.uniform(0, time.monotonic() - began))  # about as long as a write takes
            for writer in writers:
                os.kill(writer, signal.SIGKILL)
                os.waitpid(writer, 0)
            acknowledged += pipe.read().split()
    return acknowledged


def _writer(root: str, file_id: str, name: str, pipe: int) -> int:
    """Starts a process that writes until it is killed, and sends each text down the pipe when its write returned."""
    child = os.fork()
    if child == 0:
        base = library(root)
        for write in range(1000):
            base.remember(file_id, f"{name}-{write}")
            os.write(pipe, f"{name}-{write}\n".encode())
    return child


if __name__ == "__main__":
    print(json.dumps({"together": together, "killed": killed}[sys.argv[1]](*sys.argv[2:])))
