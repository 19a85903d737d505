"""A model on 127.0.0.1 that says what a test tells it to, and remembers every request."""

import json
import re
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from types import TracebackType
from typing import Any, Final, NamedTuple

from tests.agents.clients.protocols import Encoded, Reply, last_message, protocol_of

# How the pinned clients ask for a summary of the conversation.
_SUMMARY_REQUEST: Final = re.compile(
    r"create a detailed summary of|CONTEXT CHECKPOINT COMPACTION|<state_snapshot> (based on|you just generated)"
    r"|generate the updated <state_snapshot>"
)
FAR_FROM_LIMITS: Final = 100_000  # tokens that each prompt had, as the client is told
NOTHING_LEFT: Final = "Nothing more is scripted."


class ModelRequest(NamedTuple):
    """A request of the client. Its kind is `main`, `summary`, `count`, `side` (without tools) or `other`."""

    kind: str
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """All that reached the model, as JSON that keeps every character."""
        return json.dumps(self.body, ensure_ascii=False)


class ScriptedModel:
    """A server that gives one reply after the other to the requests that offer tools."""

    def __init__(self, replies: Iterable[Reply], summary: str) -> None:
        self.replies = list(replies)
        self.summary = summary
        self.tokens = FAR_FROM_LIMITS
        self.requests: list[ModelRequest] = []
        self._lock = Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> "ScriptedModel":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def main_requests(self) -> list[ModelRequest]:
        """Returns the requests of the conversation itself."""
        return [request for request in self.requests if request.kind == "main"]

    def count(self, kind: str) -> int:
        return sum(request.kind == kind for request in self.requests)

    def answer(self, path: str, raw: bytes) -> Encoded:
        """Returns the answer to a POST, and remembers the request."""
        body = json.loads(raw or b"{}")
        name = path.split("?", maxsplit=1)[0]
        protocol = protocol_of(name)
        kind = _kind(name, body, last_message(protocol, body))
        with self._lock:
            self.requests.append(ModelRequest(kind, body))
            number = len(self.requests)
            reply = self.replies.pop(0) if kind == "main" and self.replies else Reply(NOTHING_LEFT)
        if kind in ("count", "other"):
            return Encoded("application/json", json.dumps({"input_tokens": 1, "totalTokens": 1}).encode())
        if kind == "summary":
            reply = Reply(self.summary)
        if "streamGenerateContent" in name:
            body = {**body, "stream": True}
        return protocol.encode(number, body, reply, self.tokens)


def _kind(name: str, body: dict[str, Any], last: str) -> str:
    if "count_tokens" in name or name.endswith(":countTokens"):
        return "count"
    if not re.search(r"/messages$|/responses$|/completions$|enerateContent$", name):
        return "other"
    if _SUMMARY_REQUEST.search(last):
        return "summary"
    return "main" if body.get("tools") else "side"


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def send(self, answer: Encoded) -> None:
            self.send_response(200)
            self.send_header("content-type", answer.media)
            self.send_header("content-length", str(len(answer.data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.data)

        def do_POST(self) -> None:
            self.send(model.answer(self.path, self.rfile.read(int(self.headers.get("content-length") or 0))))

        def do_GET(self) -> None:
            self.send(Encoded("application/json", b'{"data": [], "models": []}'))

        do_HEAD = do_GET  # noqa: N815

    return Handler
