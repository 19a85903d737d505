"""Who may ask: the name of the server, the page that asks, the token, and the size of a request.

A browser on this machine can be made to send requests by any page, also under a name that leads here (DNS rebinding).
So `Host` must be a name of this server and `Origin` the server itself. Where a token is needed, it comes in
`Authorization`, or in a cookie that the first page sets, which a page of another site cannot send with what writes.
"""

import asyncio
import hashlib
import hmac
import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode

from slicebase.errors import SlicebaseError
from slicebase.web.endpoints import LONGEST_URL
from slicebase.web.problems import MAY_BE_STORED, answer_to, bug

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LONGEST_BODY: Final = 4 * 1024 * 1024
BODY_SECONDS: Final = 30.0  # in which a body arrives
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
_HOST: Final = re.compile(rf"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<name>{_NAME.pattern}))(?::\d{{1,5}})?")
_PORTS: Final = {"http": ":80", "https": ":443"}
_LOOKED_AT: Final = frozenset(
    {
        b"host", b"origin", b"sec-fetch-site", b"sec-fetch-mode", b"authorization", b"cookie", b"content-length",
        b"transfer-encoding",
    }
)  # fmt: skip

_ABSOLUTE: Final = re.compile(rb"https?://(?P<host>[^/]*)(?P<place>/.*)?", re.IGNORECASE | re.DOTALL)
_CLOSING: Final = ((b"connection", b"close"),)

_Headers = Mapping[bytes, list[str]]


class Admission(NamedTuple):
    """Who is admitted: the names of the server, and the token, if one is needed to read or to write."""

    names: frozenset[str] = _LOOPBACK
    token: bytes = b""
    reads_freely: bool = True  # the token is needed only to write
    writes: bool = True  # else there is nothing that a token would allow: other methods are refused as such
    any_address: bool = False  # it listens on addresses that it does not know, so any may be its name

    @property
    def cookie(self) -> str:
        """The name of the cookie with the token. Servers on other ports of this machine have other names."""
        return f"slicebase_{hashlib.sha256(self.token).hexdigest()[:12]}"

    def check(self, method: str, headers: _Headers) -> None:
        """Raises an error for a request that is not admitted."""
        self.check_origin(headers)
        is_free = self.reads_freely and (method in ("GET", "HEAD") or not self.writes)
        if not is_free and not self.has_token(self._given(headers)):
            raise SlicebaseError(
                "no-admission", "the token is missing or wrong", hint="use the address that `tt serve` printed"
            )

    def check_origin(self, headers: _Headers) -> None:
        """Raises `other-origin` for a request under another name, or from a page of another site."""
        hosts, origins = headers.get(b"host", []), headers.get(b"origin", [])
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            raise SlicebaseError("other-origin", "`Host` is no name of this server", hint="`tt serve --name` adds one")
        if len(origins) > 1 or (origins and not _is_same(origins[0], hosts[0])):
            raise _other_site()
        sites = set(headers.get(b"sec-fetch-site", []))  # of a browser; other ports of this machine are `same-site`
        if not sites <= {"same-origin", "none"} and headers.get(b"sec-fetch-mode") != ["navigate"]:
            raise _other_site()

    def has_token(self, token: str) -> bool:
        """Returns whether a token is the right one, in a time that does not depend on how much of it is."""
        return bool(self.token) and hmac.compare_digest(token.encode("utf-8", "replace"), self.token)

    def _given(self, headers: _Headers) -> str:
        """Returns the token of a request: that of its header, else that of its cookie."""
        kind, _, given = headers.get(b"authorization", [""])[0].partition(" ")
        if kind.lower() == "bearer":
            return given.strip()
        fields = "; ".join(headers.get(b"cookie", [])).split(";")  # those of other servers can have any form
        cookies = dict(field.strip().split("=", 1) for field in fields if "=" in field)
        return unquote(cookies.get(self.cookie, ""))

    def _is_ours(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        name = _plain(match["six"] or match["name"])
        return name in self.names or (self.any_address and _is_address(name))


def _plain(name: str) -> str:
    """Returns a name as it is compared: case and the dot of the root do not matter."""
    return name.lower().rstrip(".")


def _is_same(origin: str, host: str) -> bool:
    scheme, mark, name = origin.partition("://")
    port = _PORTS.get(scheme, "") if mark else ""  # the one that nobody has to name
    return bool(port) and name.lower().removesuffix(port) == host.lower().removesuffix(port)


def _other_site() -> SlicebaseError:
    return SlicebaseError("other-origin", "the request comes from a page of another site")


def _is_address(name: str) -> bool:
    """Returns whether a name is a number: no name of somebody else leads to it."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guarded:
    """The application behind the admission. Every answer has headers that keep browsers strict."""

    def __init__(self, app: "ASGIApp", admission: Admission, headers: Iterable[tuple[str, str]]) -> None:
        self._app = app
        self._admission = admission
        self._headers = [(name.encode(), value.encode()) for name, value in headers]

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = _looked_at(scope)
        rest_is_unread, has_begun = _has_body(headers), False

        async def received() -> "Message":
            nonlocal rest_is_unread
            message = await receive()
            rest_is_unread = rest_is_unread and bool(message.get("more_body"))
            return message

        async def strict(message: "Message") -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                closing = _CLOSING if rest_is_unread else ()  # nobody reads it: it may never end
                message["headers"] = [*message["headers"], *self._headers, *closing]
            await send(message)

        try:
            await self._answered(scope, headers, received, strict)
        except asyncio.CancelledError:  # the server ends, and waits no longer
            if not has_begun:
                await send_problem(strict, _ending(writes=scope["method"] == "POST"))
            raise
        except Exception as error:
            if has_begun:
                raise
            await send_problem(strict, bug(error))

    async def _answered(self, scope: "Scope", headers: _Headers, receive: "Receive", strict: "Send") -> None:
        try:
            _refuse_large(scope, headers)
            scope, authority = _in_origin_form(scope)
            if authority is not None:  # it counts, not `Host`: both must be names of this server
                self._admission.check_origin({**headers, b"host": [authority]})
            moved = self._moved(scope, headers)
            if moved:
                await send_answer(strict, 303, b"", moved)
                return
            self._admission.check(scope["method"], headers)
        except SlicebaseError as error:
            await send_problem(strict, error)
            return
        await self._app(scope, receive, strict)

    def _moved(self, scope: "Scope", headers: _Headers) -> dict[str, str]:
        """Returns the headers that move the token of the first address into a cookie; {} where it has none."""
        query = scope["query_string"].decode("latin-1")
        if scope["method"] != "GET" or "token=" not in query:
            return {}
        fields = parse_qsl(query, keep_blank_values=True)
        token = next((value for name, value in fields if name == "token"), "")
        if not self._admission.has_token(token):
            return {}
        self._admission.check_origin(headers)
        rest = urlencode([field for field in fields if field[0] != "token"])
        # One slash at the beginning, and nothing that a browser reads as one: it leads to no other host. What is
        # encoded stays so: a name may have a slash.
        raw = scope.get("raw_path") or quote(scope["path"]).encode()
        place = "/" + quote(raw.decode("latin-1").lstrip("/\\"), safe="/:@~._-%!$&'()*+,;=")
        cookie = f"{self._admission.cookie}={quote(token, safe='')}; Path=/; HttpOnly; SameSite=Lax"
        return {"location": f"{place}?{rest}" if rest else place, "set-cookie": cookie, "cache-control": "no-store"}


def _looked_at(scope: "Scope") -> _Headers:
    headers: dict[bytes, list[str]] = {}
    for name, value in scope["headers"]:
        if name in _LOOKED_AT:
            headers.setdefault(name, []).append(value.decode("latin-1"))
    return headers


def _ending(*, writes: bool) -> SlicebaseError:
    return SlicebaseError(
        "server-busy",
        "the server ends before it has the answer",
        hint=MAY_BE_STORED if writes else "ask again when it is back",
    )


def _in_origin_form(scope: "Scope") -> "tuple[Scope, str | None]":
    """Returns a request whose target is a path, and the authority of a target that was absolute (RFC 9112, 3.2.2)."""
    target = _ABSOLUTE.fullmatch(scope.get("raw_path") or b"")
    if target is None:
        return scope, None
    place = target["place"] or b"/"
    return {**scope, "raw_path": place, "path": unquote(place.decode("latin-1"))}, target["host"].decode("latin-1")


def _has_body(headers: _Headers) -> bool:
    return b"transfer-encoding" in headers or headers.get(b"content-length", ["0"]) != ["0"]


def _refuse_large(scope: "Scope", headers: _Headers) -> None:
    if len(scope["query_string"]) + len(scope["path"]) > LONGEST_URL:
        raise SlicebaseError("request-size", f"an address has at most {LONGEST_URL:,} bytes")
    lengths = headers.get(b"content-length", ["0"])
    if len(lengths) != 1 or not lengths[0].isdigit() or len(lengths[0]) > 15 or int(lengths[0]) > LONGEST_BODY:
        raise SlicebaseError("request-size", f"a body has at most {LONGEST_BODY:,} bytes")


async def send_problem(send: "Send", error: SlicebaseError) -> None:
    """Sends the answer to a request that failed."""
    await send_answer(send, *answer_to(error))


async def send_answer(send: "Send", status: int, body: bytes, headers: Mapping[str, str]) -> None:
    """Sends a complete answer."""
    fields = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    if status != HTTPStatus.NOT_MODIFIED:  # which has none, and no body
        fields.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": int(status), "headers": fields})
    await send({"type": "http.response.body", "body": body})


def admission_for(address: str, names: Sequence[str], token: str, *, this_machine: str) -> Admission:
    """Returns who is admitted to a server that listens on an address, also under other names.

    Where that is not the loopback interface, everything needs the token; also under other names, since these are for a
    proxy through which other machines ask.
    """
    for name in names:
        if not _NAME.fullmatch(name):
            raise SlicebaseError("usage", f"{name!r} is no name of a server", hint="give it without scheme and port")
    is_local = address in _LOOPBACK or (_is_address(address) and ipaddress.ip_address(address).is_loopback)
    others = {_plain(name) for name in names}
    known = _LOOPBACK | {_plain(address)} | others
    if is_local:
        return Admission(known, token.encode(), reads_freely=others <= _LOOPBACK)
    return Admission(known | {_plain(this_machine)}, token.encode(), reads_freely=False, any_address=True)
