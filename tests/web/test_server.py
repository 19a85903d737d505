"""`tt serve` as a process: starting, stopping, and what a client or another process can do to it."""

import asyncio
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import apsw
import pytest
from uvicorn.config import Config
from uvicorn.server import ServerState

from slicebase.base import Slicebase
from slicebase.errors import SlicebaseError
from slicebase.web import server
from slicebase.web.streams import MOST_STREAMS

TURN = "0961d9aa-a012-46c7-b376-16f70598151d"
TOKEN = "0123456789abcdef0123"


def command(*options: str) -> list[str]:
    return [sys.executable, "-m", "slicebase", "serve", *options]


# The superuser may read and write everywhere, unless these capabilities are dropped.
_LOST = "-dac_override,-dac_read_search"
POWERLESS = ("setpriv", "--bounding-set", _LOST, "--inh-caps", _LOST) if os.geteuid() == 0 else ()


@contextmanager
def served(
    root: Path, *options: str, under: Sequence[str] = ()
) -> Iterator[tuple[subprocess.Popen[str], HTTPConnection]]:
    """Starts a server, and gives its process and a connection to it."""
    environment = {**os.environ, "SLICEBASE_SERVE_TOKEN": TOKEN}
    process = subprocess.Popen(
        [*under, *command("--port", "0", *options)], cwd=root, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout
        place = urlsplit(process.stdout.readline().strip())
        assert place.hostname
        with closing(HTTPConnection(place.hostname, place.port or 0, timeout=30)) as client:
            yield process, client
    finally:
        process.kill()
        process.communicate()


def ended(root: Path, *options: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs a server that ends by itself, with more variables of the environment."""
    environment = {**os.environ, **more}
    return subprocess.run(
        command(*options), cwd=root, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture(scope="module")
def shared(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HTTPConnection]:
    """A server for all tests that neither stop it nor write."""
    with served(Path(shutil.copytree(template, tmp_path_factory.mktemp("server") / "workspace"))) as (_, client):
        yield client


def status_of(client: HTTPConnection, path: str) -> int:
    client.request("GET", path)
    answer = client.getresponse()
    answer.read()
    return answer.status


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_within_seconds_also_with_open_streams(root: Path, sign: signal.Signals) -> None:
    with served(root) as (process, client):
        client.request("GET", "/api/v1/changes")
        with client.getresponse() as stream:
            assert stream.readline() == b": hello\n"
            start = time.monotonic()
            process.send_signal(sign)
            _, errors = process.communicate(timeout=20)
        assert time.monotonic() - start < 10
        assert "Traceback" not in errors


def test_who_was_told_that_the_server_watches_hears_of_all_that_grows_then(root: Path, tmp_path: Path) -> None:
    with served(root) as (_, client):
        client.request("GET", "/api/v1/changes")
        with client.getresponse() as stream:
            lines = iter(stream.readline, b"")
            assert next(each for each in lines if each.startswith(b"event:")) == b"event: watching\n"
            said = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Good morning."}]
            (tmp_path / "talk.json").write_text(json.dumps(said))
            with Slicebase.open(root) as memory:
                memory.import_(tmp_path / "talk.json", session="talk")
            assert next(each for each in lines if each.startswith(b"event:")) == b"event: grown\n"
            assert json.loads(next(lines).removeprefix(b"data: ")) == {"sessions": {"talk": 2}, "runs": {}}


def test_one_page_too_many_that_watches_is_told_so(root: Path) -> None:
    with served(root) as (_, client), ExitStack() as stack:
        for _ in range(MOST_STREAMS):
            watching = stack.enter_context(closing(HTTPConnection(client.host, client.port, timeout=30)))
            watching.request("GET", "/api/v1/changes")
            assert stack.enter_context(watching.getresponse()).readline() == b": hello\n"
        client.request("GET", "/api/v1/changes")
        answer = client.getresponse()
        assert (answer.status, answer.headers["content-type"]) == (503, "application/problem+json")
        assert answer.headers["retry-after"]
        answer.read()
        assert status_of(client, "/health") == 200


def test_nothing_is_logged_and_the_token_is_printed_only_where_it_is_needed(root: Path) -> None:
    with served(root) as (process, client):
        assert status_of(client, f"/?token={TOKEN}&secret=x") == 303
        assert status_of(client, "/api/v1/nothing") == 404
        with socket.create_connection((client.host, client.port)) as raw:
            raw.sendall(b"no HTTP at all\r\n\r\n")
            assert raw.recv(100).startswith(b"HTTP/1.1 400")
        process.send_signal(signal.SIGINT)
        printed, errors = process.communicate(timeout=20)
        assert TOKEN not in printed + errors
        assert "nothing" not in errors
    with served(root, "--write") as (process, _):
        assert process.poll() is None


def test_a_port_that_is_taken_is_an_error(root: Path, shared: HTTPConnection) -> None:
    done = subprocess.run(
        command("--port", str(shared.port)), cwd=root, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 5
    assert "port-taken" in done.stderr


def test_two_servers_can_show_one_workspace(root: Path) -> None:
    with served(root) as (_, one), served(root) as (_, other):
        assert status_of(one, f"/api/v1/slices/{TURN}") == status_of(other, f"/api/v1/slices/{TURN}") == 200


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_sample_has_something_for_every_view_and_is_gone_with_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sign: signal.Signals
) -> None:
    """It needs no workspace, and leaves nothing behind."""
    temporary, here = tmp_path / "temporary", tmp_path / "here"
    temporary.mkdir()
    here.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    with served(here, "--sample") as (process, client):
        for path, field in (
            ("sessions", "rows"), ("manifests", "manifests"), ("runs", "runs"), ("files", "files"),
            ("runs/checkout/conflicts", "conflicts"), ("runs/checkout/snapshots", "snapshots"), ("seals", "seals"),
        ):  # fmt: skip
            client.request("GET", f"/api/v1/{path}")
            assert json.load(client.getresponse())[field], path
        assert list(temporary.iterdir())
        process.send_signal(sign)
        process.communicate(timeout=20)
    assert [*temporary.iterdir(), *here.iterdir()] == []


# A request during which the signal comes: uvicorn takes every exception of one for an error of the application.
SIGNALLED_IN_A_REQUEST = """
import os, socket, sys
from slicebase.web.server import listen, serve

async def application(scope, receive, send):
    if scope["type"] == "http":
        os.kill(os.getpid(), int(sys.argv[1]))
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

opened = listen("127.0.0.1", 0)
client = socket.create_connection(opened.getsockname())
client.sendall(b"GET / HTTP/1.1\\r\\nhost: here\\r\\n\\r\\n")
try:
    serve(application, opened)
finally:
    print(client.recv(12).decode())
"""


@pytest.mark.parametrize(
    ("sign", "status"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_during_a_request_ends_the_server_after_its_answer(sign: signal.Signals, status: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SIGNALLED_IN_A_REQUEST, str(int(sign))],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (status, "HTTP/1.1 204\n"), done.stderr


# A request that is not answered in time when the server ends.
ENDED_DURING_A_REQUEST = """
import asyncio, os, signal, socket
from slicebase.web.admission import Admission, Guarded
from slicebase.web.pages import strict_headers
from slicebase.web.server import listen, serve

async def application(scope, receive, send):
    if scope["type"] == "http":
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()

opened = listen("127.0.0.1", 0)
client = socket.create_connection(opened.getsockname())
client.sendall(b"GET / HTTP/1.1\\r\\nhost: localhost\\r\\n\\r\\n")
try:
    serve(Guarded(application, Admission(), strict_headers()), opened)
finally:
    print(b"".join(iter(lambda: client.recv(65536), b"")).decode())
"""


def test_who_waits_for_an_answer_when_the_server_ends_is_told_so_and_not_of_a_bug() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDED_DURING_A_REQUEST], capture_output=True, text=True, timeout=60, check=False
    )
    head, _, body = done.stdout.replace("\r", "").partition("\n\n")
    assert (head.partition("\n")[0], json.loads(body)["code"]) == ("HTTP/1.1 503 Service Unavailable", "server-busy")
    assert "content-security-policy:" in head
    assert (done.returncode, done.stderr) == (143, "")


def test_a_folder_without_a_workspace_is_an_error(tmp_path: Path) -> None:
    done = ended(tmp_path, "--port", "0")
    assert done.returncode == 4
    assert "no-workspace" in done.stderr


def test_without_the_extra_the_error_says_what_to_install(root: Path, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "uvicorn.py").write_text("raise ModuleNotFoundError('No module named uvicorn', name='uvicorn')")
    done = ended(root, "--port", "0", PYTHONPATH=str(hidden))
    assert done.returncode == 4
    assert "no-extra" in done.stderr
    assert "pip install 'slicebase[serve]'" in done.stderr


def test_a_database_that_another_process_has_locked_is_a_problem_until_it_is_free(root: Path) -> None:
    with Slicebase.open(root) as memory:
        path = memory.workspace.database
    holder = apsw.Connection(str(path))
    holder.pragma("locking_mode", "EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    with served(root) as (_, client):
        client.request("GET", f"/api/v1/slices/{TURN}")
        answer = client.getresponse()
        assert (answer.status, answer.headers["retry-after"]) == (503, "2")
        answer.read()
        holder.close()
        assert status_of(client, f"/api/v1/slices/{TURN}") == 200


def test_ipv6_is_listened_on_and_named_in_brackets(root: Path) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("there is no IPv6 here")
    with served(root, "--host", "::1") as (_, client):
        assert status_of(client, "/health") == 200


def test_a_client_that_sends_nothing_loses_its_connection(shared: HTTPConnection) -> None:
    assert server._HEADERS <= 10
    place = shared.host, shared.port
    with socket.create_connection(place, timeout=30) as silent, socket.create_connection(place, timeout=30) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")  # and never the end
        for each in (silent, slow):
            with suppress(ConnectionResetError):
                assert each.recv(1) == b""
    assert status_of(shared, "/health") == 200


def test_a_read_only_workspace_is_shown(root: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    folders = [path for path in root.rglob("*") if path.is_dir()]
    for each in [root, *folders]:
        each.chmod(0o500)
    try:
        with served(root) as (_, client):
            assert status_of(client, f"/api/v1/slices/{TURN}") == 200
    finally:
        for each in [root, *folders]:
            each.chmod(0o700)


@pytest.mark.skipif(bool(POWERLESS) and not shutil.which("setpriv"), reason="the superuser reads everything")
def test_an_index_that_cannot_be_read_fails_no_request(root: Path) -> None:
    with Slicebase.open(root) as memory:
        memory.library.create("A title", "A summary.")
        memory.search("retry")
        cache = memory.workspace.cache
    paths = (
        "status",
        "files",
        "search?q=retry",
        "context?q=retry",
        "sessions?query=retry",
        "stale",
        "due",
        "doctor",
        "seals",
    )
    with served(root, under=POWERLESS) as (_, client):
        cache.chmod(0)
        try:
            assert {path: status_of(client, f"/api/v1/{path}") for path in paths} == dict.fromkeys(paths, 200)
            client.request("GET", "/api/v1/doctor")
            complaints = json.loads(client.getresponse().read())["complaints"]
            assert [(each["check"], each["place"]) for each in complaints] == [("index", str(cache))]
            client.request("GET", "/api/v1/verify/progress")
            assert b"event: verdict" in client.getresponse().read()
        finally:
            cache.chmod(0o700)


def answer_on(raw: socket.socket) -> str:
    """Returns what a server sends until it closes the connection or says nothing for a while."""
    parts = []
    with suppress(TimeoutError, ConnectionResetError):
        while part := raw.recv(65536):
            parts.append(part)
    return b"".join(parts).decode()


@pytest.mark.parametrize(
    "request_", ["no HTTP at all\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", f"GET / HTTP/1.1\r\nX: {'a' * 200_000}\r\n\r\n"]
)
def test_what_is_no_request_gets_a_problem_with_strict_headers(shared: HTTPConnection, request_: str) -> None:
    with socket.create_connection((shared.host, shared.port), timeout=10) as raw:
        with suppress(ConnectionError):
            raw.sendall(request_.encode())
        head, _, body = answer_on(raw).partition("\r\n\r\n")
        assert head.startswith("HTTP/1.1 400 ")
        assert "content-security-policy: default-src 'none'" in head
        assert json.loads(body)["code"] == "bad-arguments"


def test_one_connection_too_many_is_told_so_and_the_others_are_served(root: Path) -> None:
    with served(root) as (process, client), ExitStack() as stack:
        assert status_of(client, "/health") == 200
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (400, 400))
        place = client.host, client.port
        opened = [stack.enter_context(socket.create_connection(place, timeout=5)) for _ in range(600)]
        head, _, body = answer_on(opened[-1]).partition("\r\n\r\n")
        assert head.startswith("HTTP/1.1 503 ")
        assert "retry-after: " in head
        assert "content-security-policy: default-src 'none'" in head
        assert json.loads(body)["code"] == "server-busy"
        assert status_of(client, "/health") == 200
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert errors.split() == ["Ctrl-C", "stops", "it.", "Stopped."]  # nothing is logged


@pytest.mark.parametrize("options", [(), ("--write",)])
@pytest.mark.parametrize("method", ["POST", "GET", "PUT"])
def test_a_connection_whose_body_nobody_reads_is_closed_with_the_answer(
    root: Path, options: tuple[str, ...], method: str
) -> None:
    headers = f"Host: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\nTransfer-Encoding: chunked\r\n\r\n"
    with served(root, *options) as (_, client):
        for path in ("/api/v1/create", "/api/v1/nothing", "/api/v1/status", "/"):
            with socket.create_connection((client.host, client.port), timeout=10) as raw:
                raw.sendall(f"{method} {path} HTTP/1.1\r\n{headers}1\r\nx\r\n".encode())  # and never the end
                start = time.monotonic()
                assert "connection: close" in answer_on(raw)
                assert time.monotonic() - start < 8


def test_a_client_that_does_not_read_its_answer_loses_its_connection(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_READS", 0.3)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * 50_000_000})

    async def asked() -> bool:
        config = Config(app, http=server._ImpatientProtocol, log_config=None, lifespan="off")
        config.load()
        state = ServerState()
        loop = asyncio.get_running_loop()
        opened = await loop.create_server(
            lambda: server._ImpatientProtocol(config=config, server_state=state, app_state={}), "127.0.0.1", 0
        )
        reader, writer = await asyncio.open_connection(*opened.sockets[0].getsockname(), limit=100)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.read(100)
        deadline = loop.time() + 20
        while state.connections and loop.time() < deadline:
            await asyncio.sleep(0.1)
        writer.close()
        opened.close()
        return not state.connections

    assert asyncio.run(asked())


@pytest.mark.parametrize("path", ["/api/v1/changes", "/api/v1/verify/progress"])
def test_the_headers_of_a_stream_have_an_end(shared: HTTPConnection, path: str) -> None:
    shared.request("HEAD", path)
    answer = shared.getresponse()
    assert answer.headers["content-type"].startswith("text/event-stream")
    answer.read()
    assert status_of(shared, "/health") == 200  # on the same connection


@pytest.mark.parametrize("target", ["ftp://127.0.0.1/health", "http:/127.0.0.1/health", "*", "api/v1/status"])
def test_a_target_without_a_slash_names_nothing(shared: HTTPConnection, target: str) -> None:
    shared.putrequest("GET", target)
    shared.endheaders()
    answer = shared.getresponse()
    assert (answer.status, json.loads(answer.read())["code"]) == (404, "no-address")


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        ("http://127.0.0.1/api/v1/status", "127.0.0.1", 200),
        ("HTTP://LOCALHOST:7358/api/v1/files?limit=1", "127.0.0.1", 200),
        ("http://127.0.0.1", "127.0.0.1", 200),
        ("http://127.0.0.1/api/v1/sessions/none%2Fe", "127.0.0.1", 404),
        ("http://evil.invalid/api/v1/status", "127.0.0.1", 403),
        ("http://127.0.0.1/api/v1/status", "evil.invalid", 403),
        ("http://user@127.0.0.1/api/v1/status", "127.0.0.1", 403),
        ("http:///api/v1/status", "127.0.0.1", 403),
    ],
)
def test_a_target_may_be_a_complete_address_of_this_server(
    shared: HTTPConnection, target: str, host: str, status: int
) -> None:
    """RFC 9112, 3.2.2: its authority counts, and `Host` has to be a name of the server as well."""
    shared.putrequest("GET", target, skip_host=True)
    shared.putheader("Host", host)
    shared.endheaders()
    answer = shared.getresponse()
    answer.read()
    assert answer.status == status


def test_the_page_that_asks_is_compared_with_the_authority_of_the_target(shared: HTTPConnection) -> None:
    for origin, status in (("http://127.0.0.1", 200), ("http://localhost", 403)):
        shared.putrequest("GET", "http://127.0.0.1/api/v1/status", skip_host=True)
        shared.putheader("Host", "127.0.0.1")
        shared.putheader("Origin", origin)
        shared.endheaders()
        answer = shared.getresponse()
        answer.read()
        assert answer.status == status


@pytest.mark.parametrize("host", ["", "nothing.invalid", "256.0.0.1", "a\0b", "\udcff"])
def test_an_address_that_is_none_is_an_error_with_a_hint_about_it(host: str) -> None:
    with pytest.raises(SlicebaseError) as caught:
        server.listen(host, 0)
    assert caught.value.code == "port-taken"
    assert "--host" in caught.value.hint
