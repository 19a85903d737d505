"""Servers for a browser: the application in a thread of this process, which stops and starts on the same port."""

from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from time import monotonic, sleep
from typing import Self

import uvicorn

from slicebase.base import Slicebase
from slicebase.cli.failures import as_our_error
from slicebase.web.app import application
from slicebase.web.server import listen


class Server:
    """A server over a workspace, for `with`. Its port stays the same when it starts again."""

    def __init__(self, open_memory: Callable[[], Slicebase]) -> None:
        self._open = open_memory
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        opened = listen("127.0.0.1", self._port)
        self._port = opened.getsockname()[1]
        config = uvicorn.Config(
            application(self._open, as_ours=as_our_error), log_config=None, timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = Thread(target=self._server.run, kwargs={"sockets": [opened]}, daemon=True)
        self._thread.start()
        until = monotonic() + 20
        while not self._server.started and monotonic() < until:
            sleep(0.02)
        assert self._server.started

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(20)
        with suppress(OSError):
            for each in self._server.servers:
                each.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
