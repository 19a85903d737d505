"""The server on stdin and stdout: a client starts it, and each line is a message."""

import signal
import sys
from collections.abc import Callable, Iterator
from threading import Lock
from types import FrameType
from typing import TYPE_CHECKING, BinaryIO, Final

from slicebase.mcp.dispatch import CALL_SECONDS, Dispatcher, Peer, Sent, send_error
from slicebase.mcp.messages import LONGEST_MESSAGE, UnreadError, read_message

if TYPE_CHECKING:
    from slicebase.mcp.calls import ServerEnvironment

_CHUNK: Final = 1024 * 1024


class Signalled(BaseException):
    """A signal asks the server to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number


def end_on_signals() -> None:
    """Makes SIGINT and SIGTERM raise Signalled in the main thread."""

    def ended(number: int, frame: FrameType | None) -> None:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)  # one is enough: the end is not interrupted
        raise Signalled(number)

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, ended)


def serve(environment: Callable[[], "ServerEnvironment"], seconds: float = CALL_SECONDS) -> int:
    """Serves one client until it closes stdin, or until a signal. Returns the exit status."""
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # nothing but the protocol goes to the client
    dispatcher, peer, writer = Dispatcher(environment, seconds), Peer(), _Writer(stdout)
    end_on_signals()
    try:
        for line in _lines(stdin):
            try:
                message = read_message(line)
                if message:
                    dispatcher.take(peer, message, writer.send)
            except UnreadError as error:
                send_error(error, error.id, writer.send)
            if writer.is_closed:
                break
            dispatcher.prepare()  # after the first answer, so that the client does not wait for it
        else:
            dispatcher.finish()
            return 0
    except Signalled as signalled:
        dispatcher.stop(peer)
        return signalled.status
    dispatcher.stop(peer)
    return 0


def _lines(stdin: BinaryIO) -> Iterator[bytes]:
    """Yields the lines of stdin. Of one that is too long, only as much that it is seen to be."""
    while line := stdin.readline(LONGEST_MESSAGE + 1):
        rest = line
        while len(line) > LONGEST_MESSAGE and rest and not rest.endswith(b"\n"):
            rest = stdin.readline(_CHUNK)
        yield line


class _Writer:
    """Writes lines to stdout, each whole. When the client has closed it, nothing is written any more."""

    def __init__(self, stdout: BinaryIO) -> None:
        self._stdout = stdout
        self._lock = Lock()
        self.is_closed = False

    def send(self, sent: Sent) -> None:
        if not sent.line:
            return
        with self._lock:
            try:
                self._stdout.write(sent.line + b"\n")
                self._stdout.flush()
            except (OSError, ValueError):
                self.is_closed = True
