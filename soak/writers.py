"""Writers: processes that do work in a workspace, and acknowledge each verb that has returned through a pipe."""

import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from typing import Any

from slicebase.errors import SlicebaseError

Acknowledgement = list[Any]  # a kind, and what has to be there
Acknowledge = Callable[..., None]
_PATIENCE = 120.0  # seconds until a writer that does not end counts as hanging


class Writer:
    """A process that runs a function, and what it has acknowledged."""

    def __init__(self, work: Callable[[Acknowledge], object], prepare: Callable[[int], object] = lambda pipe: None):
        self._pipe, writing = os.pipe()
        sys.stdout.flush()
        self.process = os.fork()
        if self.process == 0:
            os.close(self._pipe)
            _work(work, prepare, writing)
        os.close(writing)
        os.set_blocking(self._pipe, False)
        self._data = b""
        self._is_open = True
        self.status: int | None = None

    def fileno(self) -> int:
        return self._pipe

    def read(self) -> bool:
        """Reads what there is. Returns whether more can come."""
        try:
            while chunk := os.read(self._pipe, 1 << 16):
                self._data += chunk
            self._is_open = False
        except BlockingIOError:
            pass
        return self._is_open

    def stop(self, number: int) -> None:
        """Sends the process a signal, if it still runs."""
        if self.status is None:
            os.kill(self.process, number)

    def pause(self) -> None:
        """Stops the process where it is, and reads what it has said until then."""
        self.stop(signal.SIGSTOP)
        _, status = os.waitpid(self.process, os.WUNTRACED)
        self.read()
        if not os.WIFSTOPPED(status):
            self.status = os.waitstatus_to_exitcode(status)

    def end(self) -> int:
        """Waits for the end of the process, and returns its status: negative if a signal killed it."""
        if self.status is None:
            wait([self], _PATIENCE)
            if self._is_open:
                self.stop(signal.SIGKILL)
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
            self.read()
            os.close(self._pipe)
        return self.status

    @property
    def said(self) -> list[Acknowledgement]:
        """What the process has said in complete lines. Errors are said, too: `error`, the code, the message."""
        return [json.loads(line) for line in self._data.split(b"\n")[:-1]]

    @property
    def acknowledged(self) -> list[Acknowledgement]:
        return [each for each in self.said if each[0] not in ("error", "moments")]

    @property
    def errors(self) -> list[Acknowledgement]:
        return [each for each in self.said if each[0] == "error"]


def wait(writers: Iterable[Writer], seconds: float) -> None:
    """Reads from writers until all have ended, or for some seconds."""
    running, end = list(writers), time.monotonic() + seconds
    while running and (left := end - time.monotonic()) > 0:
        ready, _, _ = select.select(running, [], [], left)
        running = [writer for writer in running if writer not in ready or writer.read()]


def _work(work: Callable[[Acknowledge], object], prepare: Callable[[int], object], pipe: int) -> None:
    """Does the work in the new process, and ends it."""

    def acknowledge(*what: Any) -> None:
        os.write(pipe, json.dumps(what).encode() + b"\n")

    status = 0
    try:
        prepare(pipe)
        work(acknowledge)
    except SlicebaseError as error:
        acknowledge("error", error.code, error.message[:500])
        status = int(error.exit)
    except BaseException:
        acknowledge("error", "crash", traceback.format_exc()[-1500:])
        status = 70
    os._exit(status)
