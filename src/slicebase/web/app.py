"""The ASGI application: the API, the pages, and what is streamed."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from slicebase import __version__
from slicebase.errors import SlicebaseError
from slicebase.web.admission import BODY_SECONDS, LONGEST_BODY, Admission, Guarded, send_answer, send_problem
from slicebase.web.api import table
from slicebase.web.changes import Watchers
from slicebase.web.endpoints import PREFIX, Endpoint, Parameters, Raw
from slicebase.web.memories import Memories
from slicebase.web.openapi import OTHERS, document
from slicebase.web.pages import front_page, is_view, static_file, strict_headers
from slicebase.web.problems import WrongMethodError, answer_to
from slicebase.web.progress import VERIFY_PATH, VERIFY_SECONDS, verified
from slicebase.web.routes import ApiRoutes
from slicebase.web.streams import Streams

if TYPE_CHECKING:
    from slicebase.base import Slicebase

_ENCODE: Final = msgspec.json.Encoder().encode
_API_HEADERS: Final = {"cache-control": "no-store"}
_HEALTH_SECONDS: Final = 5.0
_LONG_BODY: Final = 64 * 1024  # bytes


def application(
    open_memory: "Callable[[], Slicebase]",
    admission: Admission = Admission(),  # noqa: B008 - it is immutable
    *,
    write: bool = False,
    as_ours: Callable[[Exception], SlicebaseError | None] = lambda error: None,
    seconds: float | None = None,
) -> ASGIApp:
    """Returns the application over a workspace, which is opened when the first request needs it.

    `as_ours` turns errors that are not ours (of the system, of SQLite) into ours. A request takes `seconds` at most.
    """
    memories = Memories(open_memory, as_ours) if seconds is None else Memories(open_memory, as_ours, seconds)
    changes, streams = Watchers(memories), Streams()
    endpoints = [each for each in table.ENDPOINTS if write or not each.writes]
    described = _ENCODE(document(endpoints, needs_token=not admission.reads_freely))

    async def openapi(request: Request) -> Response:
        return Response(described, media_type="application/json", headers=_API_HEADERS)

    async def health(request: Request) -> Response:
        await memories.call_freshly(lambda memory: memory.truth.turns.counts(), _HEALTH_SECONDS)
        shown = {"status": "ok", "version": __version__}
        return Response(_ENCODE(shown), media_type="application/json", headers=_API_HEADERS)

    async def watch(request: Request) -> Response:
        return streams.response(request, changes.listen)

    async def verify(request: Request) -> Response:
        return streams.response(request, lambda: verified(memories))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await changes.close()
        memories.close()

    routes = [
        Route(f"{PREFIX}/openapi.json", _alone(openapi)),
        Route(f"{PREFIX}/changes", _alone(watch)),
        Route(PREFIX + VERIFY_PATH, _alone(verify)),
        Route("/health", _alone(health)),
        Route("/static/{path:path}", _static),
        Route("/api", _no_endpoint),
        Route("/api/{path:path}", _no_endpoint),
        Route("/{path:path}", _page),
    ]
    handlers: Mapping[Any, Any] = {SlicebaseError: _failed, HTTPException: _refused}
    rest = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
    api = _Api(ApiRoutes(endpoints), memories, rest)
    return Guarded(api, admission._replace(writes=write), strict_headers())


_OTHERS: Final = frozenset({f"{PREFIX}/openapi.json", *OTHERS})  # read, no endpoints
_READING: Final = "GET, HEAD"


class _Api:
    """The endpoints. What is none of them goes on to the rest of the application.

    They are called without the layers of the framework: a slice takes less time than these.
    """

    def __init__(self, routes: ApiRoutes, memories: Memories, rest: ASGIApp) -> None:
        self._routes = routes
        self._memories = memories
        self._rest = rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            found = self._routes.find(scope["method"], scope["path"]) if scope["type"] == "http" else None
            if found is None:
                await self._rest(scope, receive, send)
                return
            endpoint, in_path = found
            body = await _body(scope, receive) if endpoint.method == "POST" else None
            query = _query(scope["query_string"])
            if body is not None and len(body) > _LONG_BODY:
                answer = await self._answer_to_long(endpoint, lambda: endpoint.read(in_path, query, body))
            else:
                answer = await self._answer(endpoint, endpoint.read(in_path, query, body))
        except SlicebaseError as error:
            await send_problem(send, error)
            return
        if isinstance(answer, Raw):
            known = [value.decode("latin-1") for name, value in scope["headers"] if name == b"if-none-match"]
            if known and has_tag(known, answer.headers.get("etag", "")):
                await send_answer(send, HTTPStatus.NOT_MODIFIED, b"", {**_API_HEADERS, **answer.headers})
                return
            fields = {"content-type": answer.media_type, **_API_HEADERS, **answer.headers}
            await send_answer(send, HTTPStatus.OK, answer.data, fields)
        else:
            await send_answer(send, HTTPStatus.OK, _ENCODE(answer), _JSON_HEADERS)

    async def _answer(self, endpoint: Endpoint, asked: Parameters) -> Any:
        now, call = endpoint.now, endpoint.call
        if now is not None:
            return await self._memories.call_warm(lambda memory: now(memory, asked), lambda memory: call(memory, asked))
        seconds = VERIFY_SECONDS if endpoint.is_long else None
        return await self._memories.call(lambda memory: call(memory, asked), seconds, writes=endpoint.writes)

    async def _answer_to_long(self, endpoint: Endpoint, read: Callable[[], Parameters]) -> Any:
        """Reads the body in the thread of the verb: a long one would stop the event loop."""
        return await self._memories.call(lambda memory: endpoint.call(memory, read()), writes=endpoint.writes)


_JSON_HEADERS: Final = {"content-type": "application/json", **_API_HEADERS}


def _query(text: bytes) -> list[tuple[str, str]]:
    if not text:
        return []
    try:
        return parse_qsl(text.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=200)
    except (UnicodeDecodeError, ValueError):
        raise SlicebaseError("bad-arguments", "the query is not UTF-8, or has too many parameters") from None


async def _body(scope: Scope, receive: Receive) -> bytes:
    types = [value for name, value in scope["headers"] if name == b"content-type"]
    if len(types) != 1 or types[0].partition(b";")[0].strip().lower() != b"application/json":
        raise SlicebaseError("wrong-media-type", "the body is application/json")
    if any(name == b"content-encoding" and value.lower() != b"identity" for name, value in scope["headers"]):
        raise SlicebaseError("wrong-media-type", "the body is not compressed")
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise SlicebaseError("bad-json", "the body is not complete")
                chunks.append(message.get("body", b""))
                size += len(chunks[-1])
                if size > LONGEST_BODY:
                    raise SlicebaseError("request-size", f"a body has at most {LONGEST_BODY:,} bytes")
                if not message.get("more_body"):
                    return b"".join(chunks)
    except TimeoutError:
        raise SlicebaseError("request-slow", f"a body arrives within {BODY_SECONDS:.0f} seconds") from None


def _alone(answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """Returns the function for an address without parameters, which refuses them as an endpoint does."""

    async def call(request: Request) -> Response:
        if request.url.query:
            raise SlicebaseError("bad-arguments", "this address has no parameters")
        return await answer(request)

    return call


async def _static(request: Request) -> Response:
    found = static_file(request.path_params["path"])
    if found is None:
        raise SlicebaseError("no-address", "there is no such file")
    file, keep = found
    headers = {"etag": file.etag, "cache-control": keep}
    if has_tag(request.headers.getlist("if-none-match"), file.etag):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(file.data, media_type=file.media_type, headers=headers)


async def _page(request: Request) -> Response:
    """Returns the one page, which reads its address itself: every view has an address that can be shared."""
    status = HTTPStatus.OK if _is_view(request) else HTTPStatus.NOT_FOUND
    return Response(front_page(), status, media_type="text/html", headers={"cache-control": "no-cache"})


def _is_view(request: Request) -> bool:
    return is_view(request.scope.get("raw_path", b"").decode("latin-1") or request.url.path)


async def _no_endpoint(request: Request) -> Response:
    raise SlicebaseError("no-address", "the API has no such address", hint="`/api/v1/openapi.json` lists them")


_TAG: Final = re.compile(r'(?:W/)?("[^"]*")')


def has_tag(given: Sequence[str], etag: str) -> bool:
    """Returns whether a client has what has this tag: `If-None-Match` (RFC 9110, 13.1.2) names it, or anything."""
    return bool(etag) and any(each.strip() == "*" or etag in _TAG.findall(each) for each in given)


# Errors


def _error_response(error: SlicebaseError) -> Response:
    status, body, headers = answer_to(error)
    return Response(body, status_code=status, headers=headers)


async def _failed(request: Request, error: SlicebaseError) -> Response:
    return _error_response(error)


async def _refused(request: Request, error: HTTPException) -> Response:
    if error.status_code != HTTPStatus.METHOD_NOT_ALLOWED:
        return _error_response(SlicebaseError("no-address", "an address begins with a slash"))
    if _is_there(request):
        return _error_response(WrongMethodError(_READING))
    return _error_response(SlicebaseError("no-address", "there is no such address"))


def _is_there(request: Request) -> bool:
    """Returns whether an address that is no endpoint can be read."""
    path = request.url.path
    if path.startswith(_STATIC):
        return static_file(path.removeprefix(_STATIC)) is not None
    return path in _OTHERS or _is_view(request)


_STATIC: Final = "/static/"
