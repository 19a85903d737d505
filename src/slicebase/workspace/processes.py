"""Other processes of Python that work for this one: how many can run, and how one is started.

Such a process runs a function `serve`, which is told what to do on its standard input. Nothing depends on it: what it
does not do, for whatever reason, the process that started it does.

There are other ways to have one, which do not suit a library. After a fork, locks that other threads hold are never
released. And `multiprocessing` runs the program of the user again, which may do anything.
"""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer


def processors() -> int:
    """Returns how many processes can run at the same time.

    A container or a user may have fewer processors than the machine.
    """
    with suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def serving(module: str) -> "subprocess.Popen[bytes]":
    """Starts a process that imports from where this one does, and calls `serve` of a module.

    Its standard input and output are pipes; nobody reads its errors, since this process has them, too. Raises OSError
    if there can be no process.
    """
    if not sys.executable or hasattr(sys, "frozen"):  # the program of the user would be started again
        raise OSError(errno.ENOENT, "no interpreter of Python can be started")
    places = [place for place in sys.path if isinstance(place, str)]  # Python itself ignores others, such as a Path
    code = f"import sys; sys.path[:] = {places!r}; from {module} import serve; serve()"
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    return subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, stderr=nowhere)


def start_alone(*arguments: str, folder: Path) -> int:
    """Starts `tt` in a folder with some arguments, and returns the number of its process.

    It goes on when this process has ended; nobody reads its output.
    """
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "slicebase", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        start_new_session=True,
    )
    process.returncode = 0  # nobody waits for it
    return process.pid


def is_running(process: int) -> bool:
    """Returns whether a process runs. One that was killed and stays in the list, since nobody asks for it, does not."""
    try:
        os.kill(process, 0)
    except (OSError, OverflowError):
        return False
    with suppress(OSError, IndexError):  # other systems have no such file
        return Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] not in "ZX"
    return True


@contextmanager
def ended_after(process: "subprocess.Popen[bytes]", seconds: float) -> Iterator[None]:
    """Kills a process if the block, which waits for it, takes longer."""
    timer = Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def end(process: "subprocess.Popen[bytes]") -> None:
    """Ends a process, whatever it does, and closes its streams.

    What it was not told yet is lost with it.
    """
    process.kill()
    with suppress(OSError), process:
        pass
