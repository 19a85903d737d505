"""Server-sent events: streams that stay open, and how many of them there are."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from slicebase.errors import SlicebaseError

MOST_STREAMS: Final = 32  # of the connections of a server: others are left for what has an end
_MEDIA_TYPE: Final = "text/event-stream"
_HEADERS: Final = {"cache-control": "no-store"}


class Streams:
    """The streams of a server, so many at once."""

    def __init__(self) -> None:
        self._open = 0

    def response(self, request: Request, events: Callable[[], AsyncIterator[bytes]]) -> Response:
        """Returns a stream of server-sent events; to HEAD, its headers only, since it may have no end."""
        if request.method == "HEAD":
            with self.one_more():
                return Response(media_type=_MEDIA_TYPE, headers=_HEADERS)
        return _Stream(self, events)

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """Counts a stream, from before its headers are sent to its end. Raises `server-busy` if there are too many."""
        if self._open >= MOST_STREAMS:
            raise SlicebaseError("server-busy", "too many pages watch", hint="close some of them")
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1


class _Stream(StreamingResponse):
    """A stream that is counted while it is sent, also where the client goes away before it begins."""

    def __init__(self, streams: Streams, events: Callable[[], AsyncIterator[bytes]]) -> None:
        super().__init__(events(), media_type=_MEDIA_TYPE, headers=_HEADERS)
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._streams.one_more():
            await super().__call__(scope, receive, send)
