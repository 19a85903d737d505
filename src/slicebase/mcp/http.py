"""The server over HTTP on this machine, for several agents: the protocol's streamable HTTP.

It listens on the loopback interface only, and every request carries the token. The names in `Host` and `Origin` must be
those of this machine, so that no page in a browser gets in by a name of its own (DNS rebinding). A client that shakes
hands has a session; a request of 2026-07-28 stands alone. The server never speaks first, so it has no stream for GET.
"""

import hmac
import re
import secrets
import select
import socket
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Lock, Timer
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from slicebase.errors import SlicebaseError
from slicebase.mcp.dispatch import CALL_SECONDS, Dispatcher, Peer, Sent, send_error
from slicebase.mcp.headers import check_headers
from slicebase.mcp.messages import (
    INVALID_REQUEST,
    LONGEST_MESSAGE,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    Message,
    RpcError,
    UnreadError,
    encoded,
    error_response,
    read_message,
)
from slicebase.mcp.protocol import HANDSHAKE_VERSIONS, stateless_request
from slicebase.mcp.stdio import Signalled, end_on_signals

if TYPE_CHECKING:
    from slicebase.mcp.calls import ServerEnvironment

PATH: Final = "/mcp"
_CONNECTIONS: Final = 64
_SESSIONS: Final = 64
_IDLE: Final = 300.0  # seconds that a connection may say nothing
_PLACE: Final = 1.0  # seconds that a new connection waits for another to end
_ADMISSION: Final = 10.0  # seconds in which a new connection shows the token
_STREAMED_AFTER: Final = 10.0  # seconds until an answer becomes a stream, which shows that the server is there
_LOOK: Final = 0.5  # seconds between two looks whether a client is still there
_OURS: Final = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.IGNORECASE)
_SESSION: Final = "Mcp-Session-Id"


class HttpServer(ThreadingHTTPServer):
    """Listens on the loopback interface, and answers each connection in a thread of its own."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(
        self, environment: Callable[[], "ServerEnvironment"], token: str, port: int, seconds: float = CALL_SECONDS
    ) -> None:
        self.dispatcher = Dispatcher(environment, seconds)
        self.token = token.encode()
        self.sessions: OrderedDict[str, Peer] = OrderedDict()  # the one that was used last is the last
        self._lock = Lock()
        self._free = BoundedSemaphore(_CONNECTIONS)
        self.dispatcher.prepare()  # by the main thread
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            hint = "choose another one with `--port`, or 0 for any that is free"
            raise SlicebaseError("port-taken", f"port {port}: {error.strerror}", hint=hint) from None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{PATH}"

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Waits a moment for a place, so that many requests at once follow each other, then refuses a connection."""
        if self._free.acquire(timeout=_PLACE):
            return True
        request.sendall(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        return False

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks is no error of the server."""

    # Sessions

    def open_session(self, peer: Peer) -> str:
        """Keeps a client that has shaken hands; of too many, the one that was silent longest is forgotten."""
        name = secrets.token_urlsafe(24)
        with self._lock:
            self.sessions[name] = peer
            dropped = [self.sessions.popitem(last=False)[1] for _ in range(len(self.sessions) - _SESSIONS)]
        for each in dropped:
            each.cancel()
        return name

    def session(self, name: str) -> Peer | None:
        with self._lock:
            if name in self.sessions:
                self.sessions.move_to_end(name)
            return self.sessions.get(name)

    def close_session(self, name: str) -> None:
        with self._lock:
            peer = self.sessions.pop(name, None)
        if peer:
            peer.cancel()

    def stop(self) -> None:
        """Ends everything that is under way."""
        self.server_close()
        with self._lock:
            peers = list(self.sessions.values())
        self.dispatcher.stop(*peers)


def serve_http(server: HttpServer) -> int:
    """Serves until a signal. Returns the exit status."""
    end_on_signals()
    try:
        server.serve_forever(poll_interval=0.2)
    except Signalled as signalled:
        server.stop()
        return signalled.status
    return 0


class _RefusedError(Exception):
    """An answer of HTTP without one of the protocol."""

    def __init__(self, status: HTTPStatus, message: str, headers: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers


class _Handler(BaseHTTPRequestHandler):
    server: HttpServer
    protocol_version = "HTTP/1.1"
    timeout = _IDLE
    _has_read = False  # the message of the request that is answered

    def setup(self) -> None:
        super().setup()
        self._stranger = Timer(_ADMISSION, self._hang_up)  # else connections that say little take all places
        self._stranger.daemon = True
        self._stranger.start()

    def _hang_up(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def finish(self) -> None:
        self._stranger.cancel()
        super().finish()

    def version_string(self) -> str:
        return "slicebase"

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: addresses and headers are nobody's business."""

    def do_POST(self) -> None:
        with self._refusals():
            self._admit()
            self._post(self._body())

    def do_DELETE(self) -> None:
        with self._refusals():
            self._admit()
            self._session()
            self.server.close_session(self.headers[_SESSION])
            self._respond(HTTPStatus.NO_CONTENT)

    def do_GET(self) -> None:
        with self._refusals():
            self._admit()
            raise _RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, "use POST or DELETE", {"Allow": "POST, DELETE"})

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except _RefusedError as refused:
            self.close_connection = True
            self._skip_body()
            error = error_response(RpcError(INVALID_REQUEST, str(refused)), None)
            self._respond(refused.status, encoded(error), {"Connection": "close", **refused.headers})

    def _skip_body(self) -> None:
        """Reads the message of a request that is refused: a connection that closes before would lose the answer."""
        length = self.headers.get("Content-Length", "")
        if not self._has_read and re.fullmatch(r"\d{1,15}", length) and int(length) <= LONGEST_MESSAGE:
            self._has_read = True
            self.rfile.read(int(length))

    # Who may ask

    def _admit(self) -> None:
        self._has_read = False
        if self.headers.defects:  # what follows such a line would not be seen
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "a header cannot be read")
        hosts, origins = self.headers.get_all("Host", []), self.headers.get_all("Origin", [])
        origin = origins[0].partition("://") if origins else None
        if len(hosts) != 1 or not _OURS.fullmatch(hosts[0]):
            raise _RefusedError(HTTPStatus.FORBIDDEN, "`Host` is not this machine")
        if len(origins) > 1 or (origin and (origin[0] not in ("http", "https") or not _OURS.fullmatch(origin[2]))):
            raise _RefusedError(HTTPStatus.FORBIDDEN, "`Origin` is not this machine")
        given = self.headers.get("Authorization", "").partition(" ")
        token = given[2].strip().encode("latin-1", "replace")
        if given[0].lower() != "bearer" or not hmac.compare_digest(token, self.server.token):
            raise _RefusedError(
                HTTPStatus.UNAUTHORIZED, "the token is missing or wrong", {"WWW-Authenticate": "Bearer"}
            )
        self._stranger.cancel()
        if self.path.partition("?")[0] != PATH:
            raise _RefusedError(HTTPStatus.NOT_FOUND, f"the address is {PATH}")

    def _body(self) -> bytes:
        lengths = self.headers.get_all("Content-Length", [])
        if "Transfer-Encoding" in self.headers or len(lengths) != 1 or not re.fullmatch(r"\d{1,15}", lengths[0]):
            raise _RefusedError(HTTPStatus.LENGTH_REQUIRED, "one `Content-Length` says how long the message is")
        if int(lengths[0]) > LONGEST_MESSAGE:
            limit = f"the message is longer than {LONGEST_MESSAGE:,} bytes"
            raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, limit)
        if self.headers.get_content_type() != "application/json":
            raise _RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the message is application/json")
        if not self._accepts("application/json") and not self._accepts("text/event-stream"):
            raise _RefusedError(HTTPStatus.NOT_ACCEPTABLE, "accept application/json and text/event-stream")
        self._has_read = True
        body = self.rfile.read(int(lengths[0]))
        if len(body) < int(lengths[0]):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "the message is shorter than its `Content-Length`")
        return body

    def _accepts(self, kind: str) -> bool:
        given = ",".join(self.headers.get_all("Accept", [])) or "*/*"
        ranges = {each.partition(";")[0].strip().lower() for each in given.split(",")}
        return bool(ranges & {kind, kind.partition("/")[0] + "/*", "*/*"})

    def _session(self) -> Peer:
        name = self.headers.get(_SESSION)
        if name is None:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, f"`{_SESSION}` is missing: begin with `initialize`")
        peer = self.server.session(name)
        if peer is None:
            raise _RefusedError(HTTPStatus.NOT_FOUND, "the session has ended: begin with `initialize`")
        return peer

    # Messages

    def _post(self, body: bytes) -> None:
        sent = SimpleQueue[Sent]()
        try:
            message = read_message(body)
        except UnreadError as error:
            send_error(error, error.id, sent.put)
            return self._answer(sent.get(), statuses=True)
        if message is None:  # a response, and this side has asked nothing
            return self._respond(HTTPStatus.ACCEPTED)
        version = self.headers.get("Mcp-Protocol-Version")
        if version is not None and version not in HANDSHAKE_VERSIONS:
            return self._post_stateless(message, sent)
        return self._post_in_session(message, sent)

    def _post_in_session(self, message: Message, sent: SimpleQueue[Sent]) -> None:
        if message.method == "initialize" and message.id is not None and _SESSION not in self.headers:
            peer = Peer(session=f"mcp-{secrets.token_hex(8)}")
            self.server.dispatcher.take(peer, message, sent.put)
            answer = sent.get()
            return self._answer(answer, {} if answer.code else {_SESSION: self.server.open_session(peer)})
        peer = self._session()
        self.server.dispatcher.take(peer, message, sent.put)
        if message.id is None:
            return self._respond(HTTPStatus.ACCEPTED)
        return self._wait(peer, message, sent, statuses=False)

    def _post_stateless(self, message: Message, sent: SimpleQueue[Sent]) -> None:
        peer = Peer(accept=stateless_request)
        try:
            check_headers(message, self.headers)
        except RpcError as error:
            send_error(error, message.id, sent.put)
            return self._answer(sent.get(), statuses=True)
        if message.id is None:  # nothing can be told to a request that stands alone
            return self._respond(HTTPStatus.ACCEPTED)
        self.server.dispatcher.take(peer, message, sent.put)
        return self._wait(peer, message, sent, statuses=True)

    def _wait(self, peer: Peer, message: Message, sent: SimpleQueue[Sent], *, statuses: bool) -> None:
        """Passes on what a request causes: its answer alone, or as a stream what comes before it, too."""
        streams, waited = False, 0.0
        while True:
            try:
                event = sent.get(timeout=_LOOK)
            except Empty:
                waited += _LOOK
                if self._is_gone():
                    if statuses:  # without a session, this is how a client cancels
                        peer.cancel()
                    self.close_connection = True
                    return None
                if waited < _STREAMED_AFTER or not self._accepts("text/event-stream"):
                    continue
                event, waited = Sent(b"", is_last=False), 0.0
            if event.is_last and not streams and self._accepts("application/json"):
                return self._answer(event, statuses=statuses)
            if not streams:
                if not self._accepts("text/event-stream"):
                    continue
                self._begin_stream()
                streams = True
            self.wfile.write(b"event: message\ndata: " + event.line + b"\n\n" if event.line else b": still here\n\n")
            if event.is_last:
                return None

    def _begin_stream(self) -> None:
        self.close_connection = True  # the end of the connection is the end of the stream
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()

    def _is_gone(self) -> bool:
        """Returns whether the client has closed the connection while it waits for an answer."""
        waiting = select.poll()  # a socket with a timeout would wait for bytes, whatever flags say
        waiting.register(self.connection, select.POLLIN)
        try:
            return bool(waiting.poll(0)) and not self.connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    def _answer(self, sent: Sent, headers: Mapping[str, str] = MappingProxyType({}), *, statuses: bool = False) -> None:
        """Sends an answer as JSON. Without a session, an error also has a status of HTTP."""
        status = HTTPStatus.OK
        if sent.code is not None and (statuses or sent.code == PARSE_ERROR):
            status = HTTPStatus.NOT_FOUND if sent.code == METHOD_NOT_FOUND else HTTPStatus.BAD_REQUEST
        self._respond(status if sent.line else HTTPStatus.NO_CONTENT, sent.line, headers)

    def _respond(
        self, status: HTTPStatus, body: bytes = b"", headers: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.send_response(status)
        if body:
            self.send_header("Content-Type", "application/json")
        if status is not HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", str(len(body)))
        for name, value in {"Cache-Control": "no-store", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
