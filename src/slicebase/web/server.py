"""Starts the application with uvicorn, on a socket that is open before anything is printed."""

import asyncio
import errno
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, Final
from urllib.parse import urlencode

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from slicebase.errors import SlicebaseError
from slicebase.web.pages import strict_headers
from slicebase.web.problems import answer_to

_GRACE: Final = 2  # seconds that open streams have when the server ends
_CONNECTIONS: Final = 128
_IDLE: Final = 30  # seconds that a connection may say nothing between two requests
_HEADERS: Final = 10.0  # seconds in which the headers of a request arrive
_READS: Final = 30.0  # seconds in which a client takes at least a part of what is ready for it
_QUEUE: Final = 128


class _ImpatientProtocol(H11Protocol):
    """Hangs up on a client that keeps a place for nothing, and on one for which there is no place.

    Such a client does not send the headers of a request in time, or does not read the answer.
    """

    _deadline: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > _CONNECTIONS:
            self._end(SlicebaseError("server-busy", "too many connections are open", hint="try again later"))
            return
        transport.set_write_buffer_limits(high=0)  # whatever the system does not take at once is waited for
        self._deadline = self.loop.call_later(_HEADERS, self._hang_up)

    def data_received(self, data: bytes) -> None:
        if self._deadline is None and self.conn.their_state is h11.IDLE:
            self._deadline = self.loop.call_later(_HEADERS, self._hang_up)
        super().data_received(data)
        if self._deadline is not None and self.conn.their_state is not h11.IDLE:
            self._deadline.cancel()
            self._deadline = None

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._deadline, self._reading):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_for_reader()

    def resume_writing(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
        super().resume_writing()

    def _wait_for_reader(self, before: int | None = None) -> None:
        """Hangs up if nothing was read since `before` bytes were left, else looks again later."""
        left = self.transport.get_write_buffer_size()
        if before is not None and left >= before:
            self.transport.abort()
        else:
            self._reading = self.loop.call_later(_READS, self._wait_for_reader, left)

    def send_400_response(self, msg: str) -> None:
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._end(SlicebaseError("bad-arguments", "the request is not HTTP/1.1, or its headers are too long"))
        else:  # an answer has begun
            self.transport.abort()

    def _end(self, error: SlicebaseError) -> None:
        """Answers outside of a request, and closes the connection."""
        self.transport.write(_outside_of_requests(error))
        self.transport.close()

    def _hang_up(self) -> None:
        self._deadline = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.abort()


def _outside_of_requests(error: SlicebaseError) -> bytes:
    """Returns the answer to what never reaches the application, with the headers that all answers have."""
    status, body, headers = answer_to(error)
    fields = [*headers.items(), *strict_headers(), ("content-length", str(len(body))), ("connection", "close")]
    lines = [f"HTTP/1.1 {status.value} {status.phrase}", *(f"{name}: {value}" for name, value in fields)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def listen(address: str, port: int) -> socket.socket:
    """Opens the socket. Raises `port-taken` where that is not possible."""
    if not address:  # the system would take all addresses of the machine
        raise _not_listening("no address", "give one with `--host`")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio sets TCP_NODELAY only for this one
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((address, port))
        opened.listen(_QUEUE)
    except OSError as error:
        opened.close()
        is_of_port = error.errno in (errno.EADDRINUSE, errno.EACCES)
        hint = "choose another one with `--port`, or 0 for any that is free" if is_of_port else _OTHER_ADDRESS
        raise _not_listening(f"{address}, port {port}: {error.strerror or error}", hint) from None
    except (TypeError, ValueError) as error:  # a name that cannot be encoded
        opened.close()
        raise _not_listening(f"{address}: {error}", _OTHER_ADDRESS) from None
    return opened


_OTHER_ADDRESS: Final = "choose an address of this machine with `--host`"


def _not_listening(message: str, hint: str) -> SlicebaseError:
    return SlicebaseError("port-taken", message, hint=hint)


class _Server(uvicorn.Server):
    """Says when it is ready to be asked, and ends in order when its terminal is closed, too."""

    def __init__(self, config: uvicorn.Config, when_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._when_ready = when_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._when_ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Takes SIGHUP as uvicorn takes SIGTERM: an exception of a handler could end one request, and nothing else."""
        with super().capture_signals():  # in the end it raises again what came, for the handler that was there before
            before = signal.getsignal(signal.SIGHUP)
            if callable(before):
                signal.signal(signal.SIGHUP, self.handle_exit)
            try:
                yield
            finally:
                signal.signal(signal.SIGHUP, before)


def serve(app: ASGIApp, opened: socket.socket, when_ready: Callable[[], None] = lambda: None) -> None:
    """Serves until a signal. Nothing is logged: addresses and headers are nobody's business."""
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).disabled = True
    settings: dict[str, Any] = {
        "http": _ImpatientProtocol,
        "ws": "none",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "backlog": _QUEUE,
        "timeout_keep_alive": _IDLE,
        "timeout_graceful_shutdown": _GRACE,
    }
    for each in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(each) is signal.SIG_DFL:  # with `nohup`, the second one is ignored
            signal.signal(each, lambda number, frame: sys.exit(128 + number))  # the command releases what it holds
    with closing(opened):
        _Server(uvicorn.Config(app, **settings), when_ready).run(sockets=[opened])


def url_of(opened: socket.socket, address: str, token: str = "") -> str:
    """Returns the address of the first page, with the token if one is needed."""
    name = f"[{address}]" if ":" in address else address
    query = f"?{urlencode({'token': token})}" if token else ""
    return f"http://{name}:{opened.getsockname()[1]}/{query}"
