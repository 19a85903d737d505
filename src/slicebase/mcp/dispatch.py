"""Requests under way: which thread carries one out, when it ends, and what the client hears meanwhile.

Requests that only read run side by side. Those that write run one after another, in the order in which they came. Each
request is answered at most once: by its result, by the end of its time, or, if the client cancels it, not at all.
"""

import sys
import time
from collections.abc import Callable
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from slicebase.errors import SlicebaseError
from slicebase.mcp.messages import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    Message,
    RequestId,
    RpcError,
    encoded,
    error_response,
)
from slicebase.mcp.protocol import AT_ONCE, Asked, Connection

if TYPE_CHECKING:
    from concurrent.futures import Future

    from slicebase.mcp.calls import ServerEnvironment
    from slicebase.mcp.server import Server

CALL_SECONDS: Final = 300.0
LONGEST_ANSWER: Final = 2 * 1024 * 1024  # bytes of a response
MOST_CALLS: Final = 100  # under way at once
_READERS: Final = 4  # requests that read at once
_PATIENCE: Final = 2.0  # seconds that calls have to end when the server must
_PAUSE: Final = 0.2  # seconds between two notifications about the progress of a call
_BUSY: Final = -32000


class Sent(NamedTuple):
    """A message to the client: a notification about a request, or what ends it."""

    line: bytes  # empty if a request ends without an answer
    is_last: bool = True
    code: int | None = None  # of an error


Send = Callable[[Sent], None]


def send_error(error: RpcError, request: RequestId | None, send: Send) -> None:
    """Sends an error as the answer to a request."""
    send(Sent(encoded(error_response(error, request)), code=error.code))


class CallEnded(BaseException):
    """Raised inside a call for whose result nobody waits any more. No handler of errors takes it for one."""


class Pending:
    """A request under way."""

    def __init__(self, asked: Asked, send: Send, when_over: Callable[["Pending"], None]) -> None:
        self.asked = asked
        self.future: Future[None] | None = None
        self._send = send
        self._when_over = when_over
        self._lock = Lock()
        self._is_over = False
        self._timer: Timer | None = None
        self._steps = 0
        self._told = 0.0

    def limit(self, seconds: float) -> None:
        """Ends the call with an error if it takes longer."""
        self._timer = Timer(seconds, self._expire, [seconds])
        self._timer.daemon = True
        self._timer.start()

    def _expire(self, seconds: float) -> None:
        late = RpcError(
            _BUSY,
            f"the call took longer than {seconds:g} seconds, and its result is dropped; what it writes may still be "
            "stored, completely or not at all: look before you repeat it, and ask for less at once",
        )
        self.end(Sent(encoded(error_response(late, self.asked.id)), code=late.code))

    def end(self, sent: Sent) -> None:
        """Sends what ends the call, unless something has ended it before."""
        with self._lock:
            if self._is_over:
                return
            self._is_over = True
        if self._timer:
            self._timer.cancel()
        self._when_over(self)
        self._send(sent)

    def cancel(self) -> None:
        """Ends the call without an answer. If it has not begun, it does not begin."""
        if self.future:
            self.future.cancel()
        self.end(Sent(b""))

    def progress(self, what: str) -> None:
        """Tells the client what the call does now, if it asked for that, and not too often."""
        self.go_on()
        self._steps += 1
        token, now = self.asked.progress_token, time.monotonic()
        if token is None or now - self._told < _PAUSE:
            return
        self._told = now
        told = {"progressToken": token, "progress": self._steps, "message": what}
        self._send(Sent(encoded({"method": "notifications/progress", "params": told}), is_last=False))

    def go_on(self) -> None:
        """Raises CallEnded if nobody waits for the result."""
        if self._is_over:
            raise CallEnded


class Peer:
    """A client: what it has told about itself, and its requests that are under way."""

    def __init__(self, accept: Callable[[Message], Asked] | None = None, session: str | None = None) -> None:
        self.accept = accept or Connection().accept
        self.session = session  # that its writes are signed with; None: that of the server
        self.calls: dict[RequestId, Pending] = {}
        self._lock = Lock()

    def begin(self, asked: Asked, send: Send) -> Pending:
        """Notes a new request."""
        call = Pending(asked, send, self._forget)
        with self._lock:
            if asked.id in self.calls:
                raise RpcError(INVALID_REQUEST, "a request with this id is under way")
            self.calls[asked.id] = call
        return call

    def _forget(self, call: Pending) -> None:
        with self._lock:
            self.calls.pop(call.asked.id, None)

    def cancel(self) -> None:
        """Cancels everything that is under way."""
        for call in list(self.calls.values()):
            call.cancel()


class Dispatcher:
    """Takes the messages of clients, and carries out their requests in threads."""

    def __init__(self, environment: Callable[[], "ServerEnvironment"], seconds: float = CALL_SECONDS) -> None:
        self._environment_of = environment  # called when it is needed: its module takes time to load
        self._seconds = seconds
        self._loading = Lock()
        self._loaded: Server | None = None
        self._under_way: set[Future[None]] = set()

    def prepare(self) -> "Server":
        """Loads what requests need. The main thread calls this when it has answered the first one."""
        with self._loading:
            if self._loaded is None:
                from concurrent.futures import ThreadPoolExecutor

                from slicebase.mcp.server import Server

                self._readers = ThreadPoolExecutor(_READERS, "slicebase-read")
                self._writer = ThreadPoolExecutor(1, "slicebase-write")
                self._environment = self._environment_of()
                self._loaded = Server(self._environment)
        return self._loaded

    def take(self, peer: Peer, message: Message, send: Send) -> None:
        """Takes a message. What ends a request is sent once, perhaps later and by another thread."""
        if message.id is None:
            if message.method == "notifications/cancelled":
                found = peer.calls.get(_hashable(message.params.get("requestId")))
                if found:
                    found.cancel()
            return
        try:
            asked = peer.accept(message)
            if asked.method in AT_ONCE:
                send(Sent(encoded(asked.shaped(AT_ONCE[asked.method](asked)))))
            else:
                self._begin(peer, asked, send)
        except RpcError as error:
            send_error(error, message.id, send)

    def _begin(self, peer: Peer, asked: Asked, send: Send) -> None:
        server = self.prepare()
        if len(self._under_way) >= MOST_CALLS:
            raise RpcError(_BUSY, f"{MOST_CALLS} requests are under way: wait for one of them")
        call = peer.begin(asked, send)
        environment = self._environment._replace(
            session=peer.session or self._environment.session, progress=call.progress, go_on=call.go_on
        )
        call.limit(self._seconds)
        pool = self._writer if server.writes(asked) else self._readers
        call.future = pool.submit(self._carry_out, server, environment, call)
        self._under_way.add(call.future)
        call.future.add_done_callback(self._under_way.discard)

    def _carry_out(self, server: "Server", environment: "ServerEnvironment", call: Pending) -> None:
        try:
            call.go_on()
            call.end(_answer(server, environment, call.asked))
        except CallEnded:
            return

    # The end

    def finish(self) -> None:
        """Waits until everything under way is answered."""
        if self._loaded:
            self._writer.shutdown()
            self._readers.shutdown()

    def stop(self, *peers: Peer) -> None:
        """Cancels everything under way. Calls that have begun get a moment to end."""
        for peer in peers:
            peer.cancel()
        if self._under_way:
            from concurrent.futures import wait

            wait(list(self._under_way), _PATIENCE)


def _answer(server: "Server", environment: "ServerEnvironment", asked: Asked) -> Sent:
    """Carries out a request. Returns its answer, whatever happens."""
    try:
        line = encoded(asked.shaped(_result(server, environment, asked)))
        if len(line) > LONGEST_ANSWER:
            long = SlicebaseError(
                "too-large",
                f"the result has {len(line):,} bytes, more than {LONGEST_ANSWER:,}",
                hint="ask for less at once, as with `limit`, `page` or `tokens`",
            )
            line = encoded(asked.shaped(server.refusal(environment, asked, long)))
        return Sent(line)
    except RpcError as error:
        return Sent(encoded(error_response(error, asked.id)), code=error.code)


def _result(server: "Server", environment: "ServerEnvironment", asked: Asked) -> dict[str, Any]:
    try:
        return server.answer(environment, asked)
    except RpcError:
        raise
    except Exception as error:
        ours = environment.as_ours(error)
        if ours is None:  # a bug: the client gets no details, which could repeat what is stored
            sys.excepthook(type(error), error, error.__traceback__)
            shown = f"an unexpected error: {type(error).__name__}; the server's stderr has more"
            raise RpcError(INTERNAL_ERROR, shown) from None
    return server.refusal(environment, asked, ours)


def _hashable(value: Any) -> Any:
    return value if isinstance(value, str | int) else None
