"""Starts the application with uvicorn, on a socket that is open before anything is printed."""

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import closing
from typing import Any, Final
from urllib.parse import urlencode

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from slicebase.errors import SlicebaseError

_GRACE: Final = 2  # seconds that open streams have when the server ends
_CONNECTIONS: Final = 128
_IDLE: Final = 30  # seconds that a connection may say nothing between two requests
_HEADERS: Final = 10.0  # seconds in which the headers of a request arrive
_QUEUE: Final = 128


class _ImpatientProtocol(H11Protocol):
    """Hangs up on a client that does not send the headers of a request in time: it would keep a place for ever."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._deadline = self.loop.call_later(_HEADERS, self._hang_up)

    def data_received(self, data: bytes) -> None:
        if self._deadline is None and self.conn.their_state is h11.IDLE:
            self._deadline = self.loop.call_later(_HEADERS, self._hang_up)
        super().data_received(data)
        if self._deadline is not None and self.conn.their_state is not h11.IDLE:
            self._deadline.cancel()
            self._deadline = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def _hang_up(self) -> None:
        self._deadline = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.abort()


def listen(address: str, port: int) -> socket.socket:
    """Opens the socket. Raises `port-taken` where that is not possible."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio sets TCP_NODELAY only for this one
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((address, port))
        opened.listen(_QUEUE)
    except OSError as error:
        opened.close()
        hint = "choose another one with `--port`, or 0 for any that is free"
        raise SlicebaseError("port-taken", f"{address}, port {port}: {error.strerror or error}", hint=hint) from None
    return opened


class _Server(uvicorn.Server):
    """Says when it is ready to be asked."""

    def __init__(self, config: uvicorn.Config, when_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._when_ready = when_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._when_ready()


def serve(app: ASGIApp, opened: socket.socket, when_ready: Callable[[], None] = lambda: None) -> None:
    """Serves until a signal. Nothing is logged: addresses and headers are nobody's business."""
    logging.getLogger("uvicorn.error").disabled = True
    settings: dict[str, Any] = {
        "http": _ImpatientProtocol,
        "ws": "none",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "limit_concurrency": _CONNECTIONS,
        "timeout_keep_alive": _IDLE,
        "timeout_graceful_shutdown": _GRACE,
    }
    # uvicorn raises the signal again when everything has ended: the command then releases what it holds.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with closing(opened):
        _Server(uvicorn.Config(app, **settings), when_ready).run(sockets=[opened])


def url_of(opened: socket.socket, address: str, token: str = "") -> str:
    """Returns the address of the first page, with the token if one is needed."""
    name = f"[{address}]" if ":" in address else address
    query = f"?{urlencode({'token': token})}" if token else ""
    return f"http://{name}:{opened.getsockname()[1]}/{query}"
