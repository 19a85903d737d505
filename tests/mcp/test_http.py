"""The server over HTTP: the clients of the SDK in both generations, and who is not let in."""

import json
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from signal import SIGINT, SIGTERM
from socket import create_connection, socket
from subprocess import PIPE, Popen
from threading import Event, Thread, Timer
from time import sleep
from typing import Any, NamedTuple

import anyio
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from slicebase.cli.main import run
from slicebase.cli.tokens import given_token
from slicebase.mcp import dispatch, http
from slicebase.mcp.calls import ServerEnvironment
from slicebase.mcp.dispatch import Peer
from slicebase.mcp.http import PATH, HttpServer
from slicebase.mcp.messages import LONGEST_MESSAGE
from slicebase.mcp.tools import TOOLS
from tests.codes import code_of
from tests.mcp.conftest import GENERATIONS, NOW, error_of
from tests.mcp.test_protocol import ENVELOPE, HELLO
from tests.mcp.test_stdio import ENVIRONMENT, TT

TOKEN = "0123456789abcdef"
VERSION = "Mcp-Protocol-Version"
SESSION = "Mcp-Session-Id"


class Response(NamedTuple):
    status: int
    headers: dict[str, str]
    body: Any


@pytest.fixture
def server(environment: ServerEnvironment) -> Iterator[HttpServer]:
    made = HttpServer(lambda: environment, TOKEN, 0)
    thread = Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.stop()
    made.dispatcher.finish()


def send(server: HttpServer, body: Any, *, method: str = "POST", path: str = PATH, **headers: str | None) -> Response:
    """Sends one request; a header that is None is left out."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    usual = {
        "Host": "127.0.0.1:1",
        "Authorization": f"Bearer {TOKEN}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Content-Length": str(len(data)),
    }
    connection = HTTPConnection("127.0.0.1", server.server_address[1], timeout=60)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in {**usual, **{name.replace("_", "-"): value for name, value in headers.items()}}.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders(data if headers.get("Content_Length", "") == "" else None)
    answer = connection.getresponse()
    read = answer.read()
    connection.close()
    is_json = answer.getheader("Content-Type") == "application/json"
    return Response(answer.status, dict(answer.getheaders()), json.loads(read) if is_json else read)


def request(method: str, params: Any = None, number: int = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}


def notification(method: str, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params or {}}


def begun(server: HttpServer) -> str:
    """Shakes hands, and returns the id of the session."""
    return send(server, request("initialize", HELLO)).headers[SESSION]


@pytest.mark.parametrize("generation", GENERATIONS)
def test_the_clients_of_the_sdk_call_tools_and_hear_of_progress_and_errors(
    server: HttpServer, generation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "_PAUSE", 0.0)
    told: list[str | None] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async def talk() -> None:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with (
            create_mcp_http_client(headers=headers) as http_client,
            Client(streamable_http_client(server.address, http_client=http_client), mode=generation) as client,
        ):
            assert [tool.name for tool in (await client.list_tools()).tools] == list(TOOLS)
            made = await client.call_tool("create", {"title": "T", "summary": "S"})
            assert not made.is_error
            refused = await client.call_tool("recall", {"refs": ["file:nowhere"]})
            assert error_of(refused)["code"] == "no-file"
            await client.call_tool("verify", {}, progress_callback=note)

    anyio.run(talk)
    assert "schema" in told
    assert not server.sessions  # the client has ended it


def test_each_client_that_shakes_hands_signs_with_a_session_of_its_own(
    server: HttpServer, environment: ServerEnvironment
) -> None:
    for _ in range(2):
        call = request("tools/call", {"name": "create", "arguments": {"title": "T", "summary": "S"}})
        assert send(server, call, Mcp_Session_Id=begun(server)).status == 200
    with environment.open() as base:
        signed = [base.library.info(entry.id).file.to_bytes() for entry in base.library.list_files()]
    sessions = {line for file in signed for line in file.splitlines() if b"session:" in line}
    assert len(sessions) == 2


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": None}, 401),
        ({"Authorization": TOKEN}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": f"Bearer {TOKEN}x"}, 401),
        ({"Authorization": "Bearer é"}, 401),
        ({"Authorization": f"bearer  {TOKEN}"}, 200),
        ({"Host": None}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example:80"}, 403),
        ({"Host": "localhost:7357"}, 200),
        ({"Host": "[::1]:7357"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "file://localhost"}, 403),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": "application/json; charset=utf-8"}, 200),
        ({"Content_Length": None}, 411),
        ({"Content_Length": "-1"}, 411),
        ({"Content_Length": None, "Transfer_Encoding": "chunked"}, 411),
        ({"Content_Length": str(LONGEST_MESSAGE + 1)}, 413),
        ({"Accept": "text/html"}, 406),
        ({"Accept": "application/json"}, 200),
        ({"Accept": None}, 200),
        ({"path": "/other"}, 404),
        ({"method": "GET"}, 405),
        ({"method": "PUT"}, 501),
        ({"Mcp_Session_Id": "nothing"}, 404),
        ({"Transfer-Encoding ": "chunked"}, 400),
    ],
)
def test_a_request_is_let_in_only_with_the_token_from_this_machine_and_in_the_right_form(
    server: HttpServer, headers: dict[str, Any], status: int
) -> None:
    answer = send(server, request("initialize", HELLO), **headers)
    assert answer.status == status
    assert ("result" in answer.body) if status == 200 else (SESSION not in answer.headers)


def test_a_session_lives_until_it_is_deleted(server: HttpServer) -> None:
    session = begun(server)
    assert send(server, request("ping"), Mcp_Session_Id=session).body["result"] == {}
    assert send(server, notification("notifications/initialized"), Mcp_Session_Id=session).status == 202
    assert send(server, {"jsonrpc": "2.0", "id": 5, "result": {}}, Mcp_Session_Id=session).status == 202
    assert send(server, request("nope"), Mcp_Session_Id=session).body["error"]["code"] == -32601
    assert send(server, request("ping")).status == 400
    assert send(server, b"", method="DELETE").status == 400
    assert send(server, b"", method="DELETE", Mcp_Session_Id=session, Authorization=None).status == 401
    assert send(server, b"", method="DELETE", Mcp_Session_Id=session).status == 204
    assert send(server, request("ping"), Mcp_Session_Id=session).status == 404


def test_of_too_many_sessions_the_one_that_was_silent_longest_is_forgotten(
    server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "_SESSIONS", 2)
    first, second = begun(server), begun(server)
    send(server, request("ping"), Mcp_Session_Id=first)
    begun(server)
    statuses = [send(server, request("ping"), Mcp_Session_Id=session).status for session in (first, second)]
    assert statuses == [200, 404]


@pytest.mark.parametrize(
    ("body", "code"), [(b"{", -32700), (b"[]", -32600), (b"\xff", -32700), (b'{"a":"\\ud800"}', -32700)]
)
def test_what_is_no_message_is_an_error(server: HttpServer, body: bytes, code: int) -> None:
    answer = send(server, body)
    assert (answer.status, answer.body["error"]["code"]) == (400, code)


def test_a_request_that_stands_alone_needs_headers_that_repeat_it(server: HttpServer) -> None:
    call = request("tools/call", {"name": "search", "arguments": {"query": "x"}, "_meta": ENVELOPE})
    right: dict[str, Any] = {
        "Mcp_Protocol_Version": "2026-07-28",
        "Mcp_Method": "tools/call",
        "Mcp_Name": "search",
    }
    assert send(server, call, **right).body["result"]["resultType"] == "complete"
    assert send(server, call, **{**right, "Mcp_Name": "=?base64?c2VhcmNo?="}).status == 200
    assert send(server, call, **{**right, "Mcp_Name": "  search "}).status == 200
    for changed in (
        {"Mcp_Protocol_Version": "2027-01-01"},
        {"Mcp_Method": "tools/list"},
        {"Mcp_Method": None},
        {"Mcp_Name": "recall"},
        {"Mcp_Name": "=?base64?!?="},
        {"Mcp_Name": None},
    ):
        answer = send(server, call, **{**right, **changed})
        assert (answer.status, answer.body["error"]["code"]) == (400, -32020), changed
    assert send(server, notification("notifications/x"), **right).status == 202
    older = notification("notifications/x")
    assert send(server, older, Mcp_Protocol_Version="2027-01-01").body["error"]["code"] == -32022
    unknown = request("nope", {"_meta": ENVELOPE})
    assert send(server, unknown, **{**right, "Mcp_Method": "nope"}).status == 404


def test_a_connection_too_many_waits_for_a_place_and_is_refused(
    server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "_PLACE", 0.01)
    taken = 0
    while server._free.acquire(blocking=False):
        taken += 1
    with create_connection(server.server_address) as connection:  # type: ignore[arg-type]
        assert connection.recv(1000).startswith(b"HTTP/1.1 503 ")
    monkeypatch.setattr(http, "_PLACE", 60)
    Timer(0.1, server._free.release).start()
    assert send(server, request("initialize", HELLO)).status == 200
    for _ in range(taken - 1):
        server._free.release()


@pytest.mark.parametrize("authorization", ["", f"Authorization: Bearer {TOKEN}\r\n"])
def test_a_connection_that_does_not_show_the_token_in_time_is_closed(
    server: HttpServer, monkeypatch: pytest.MonkeyPatch, authorization: str
) -> None:
    """Also if it goes on to say something: 64 such connections would keep out everybody else."""
    monkeypatch.setattr(http, "_ADMISSION", 0.2)
    lines = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{authorization}"
    with create_connection(server.server_address, timeout=60) as connection:  # type: ignore[arg-type]
        connection.sendall(f"{lines}Content-Length: 2\r\n".encode() + (b"\r\n" if authorization else b""))
        for _ in range(4):
            sleep(0.1)
            with suppress(OSError):
                connection.sendall(b"" if authorization else b"X")
        if authorization:
            connection.sendall(b"{}")
            assert connection.recv(1000).startswith(b"HTTP/1.1 400 ")
        else:
            assert is_closed(connection)


def is_closed(connection: socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("stays", [True, False])
def test_a_client_that_goes_away_cancels_its_request_and_one_that_stays_is_waited_for(
    server: HttpServer, environment: ServerEnvironment, monkeypatch: pytest.MonkeyPatch, stays: bool
) -> None:
    monkeypatch.setattr(http, "_LOOK", 0.01)
    monkeypatch.setattr(http, "_STREAMED_AFTER", 0.03)
    entered, gate, cancelled = Event(), Event(), Event()
    monkeypatch.setattr(Peer, "cancel", lambda peer: cancelled.set())

    def clock() -> float:
        entered.set()
        assert gate.wait(60)
        return NOW / 1000

    server.dispatcher._environment = environment._replace(clock=clock)
    call = json.dumps(request("prompts/get", {"name": "hand_over", "_meta": ENVELOPE})).encode()
    lines = [f"POST {PATH} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {TOKEN}", f"{VERSION}: 2026-07-28"]
    lines += ["Mcp-Method: prompts/get", "Mcp-Name: hand_over", "Content-Type: application/json"]
    head = "\r\n".join([*lines, f"Content-Length: {len(call)}", "", ""]).encode()
    with create_connection(server.server_address) as connection:  # type: ignore[arg-type]
        connection.sendall(head + call)
        assert entered.wait(60)
        if stays:
            stream = connection.makefile("rb")
            while stream.readline() != b": still here\n":
                pass
            gate.set()
            assert b'"resultType":"complete"' in stream.read()
    assert stays or cancelled.wait(60)
    gate.set()


def test_a_port_that_is_taken_is_an_error_of_ours(server: HttpServer, environment: ServerEnvironment) -> None:
    assert code_of(HttpServer, lambda: environment, TOKEN, server.server_address[1]) == "port-taken"


# ---- as a process


@pytest.mark.parametrize("number", [SIGINT, SIGTERM])
def test_a_server_takes_its_token_from_a_file_and_a_signal_ends_it_while_it_answers(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, number: int
) -> None:
    """The token is not printed: the file has it."""
    file = tmp_path_factory.mktemp("token") / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o600)
    command = [*TT, "mcp", "--http", "--port", "0", "--token-file", str(file)]
    with Popen(command, cwd=folder, env=ENVIRONMENT, stdout=PIPE, stderr=PIPE, text=True) as process:
        assert process.stdout
        port = int(process.stdout.readline().removesuffix(f"{PATH}\n").rpartition(":")[2])
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        for token, status in (("x" * 16, 401), (TOKEN, 200)):
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            connection.request("POST", PATH, json.dumps(request("initialize", HELLO)), headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == status
        process.send_signal(number)  # the connection is still open
        assert process.communicate(timeout=60) == ("", "")
        assert process.returncode == 128 + number
        connection.close()


@pytest.mark.parametrize(("name", "code"), [("", "bad-token"), (".", "not-a-file")])
def test_what_names_no_file_is_never_taken_for_no_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str
) -> None:
    monkeypatch.setenv("SLICEBASE_SERVE_TOKEN", TOKEN)
    assert code_of(given_token, name and str(tmp_path / name), "SLICEBASE_SERVE_TOKEN") == code


@pytest.mark.parametrize(
    ("content", "mode", "code"),
    [
        (TOKEN.encode(), 0o600, None),
        (TOKEN.encode(), 0o640, "bad-token"),
        (TOKEN.encode(), 0o604, "bad-token"),
        (b"short", 0o600, "bad-token"),
        (b"", 0o600, "bad-token"),
        (b"with a space in it", 0o600, "bad-token"),
        (b"\xff" * 20, 0o600, "bad-token"),
        pytest.param(b"a" * 2_000_000, 0o600, "bad-token", id="long"),
        (None, 0, "cannot-read"),
    ],
)
def test_a_file_with_a_token_is_read_only_if_nobody_else_can(
    tmp_path: Path, content: bytes | None, mode: int, code: str | None
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
        file.chmod(mode)
    if code:
        assert code_of(given_token, str(file), "") == code
    else:
        assert given_token(str(file), "") == TOKEN


@pytest.mark.parametrize("options", [["--port", "0"], ["--port", "7357"], ["--token-file", "token"]])
def test_what_only_http_has_is_refused_without_it(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["mcp", *options]) == 2
    assert "--http" in capsys.readouterr().err
