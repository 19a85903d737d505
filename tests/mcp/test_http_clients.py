"""Other people's programs with our server: the client of the TypeScript SDK, and the conformance suite of the protocol.

`make test-clients` installs them and runs this.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from slicebase.mcp.calls import ServerEnvironment
from slicebase.mcp.http import HttpServer
from slicebase.mcp.server import ERROR_KEY
from slicebase.mcp.tools import TOOLS
from tests.mcp.npm_packages import modules_folder, node_program

pytestmark = pytest.mark.clients
TOKEN = "0123456789abcdef"
SCRIPT = Path(__file__).parent / "typescript_client.mjs"
# The other scenarios call tools, prompts and resources of a server that is made for the suite.
APPLY = {
    "2025-11-25": {
        "server-initialize", "server-session-lifecycle", "ping", "tools-list", "resources-list", "prompts-list",
        "server-sse-multiple-streams", "dns-rebinding-protection",
    },
    "2026-07-28": {
        "tools-list", "resources-list", "prompts-list", "server-sse-multiple-streams", "dns-rebinding-protection",
        "sep-2164-resource-not-found", "caching", "http-header-validation", "input-required-result-unsupported-methods",
    },
}  # fmt: skip


@pytest.fixture
def server(environment: ServerEnvironment) -> Iterator[HttpServer]:
    made = HttpServer(lambda: environment, TOKEN, 0)
    Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield made
    made.shutdown()
    made.stop()
    made.dispatcher.finish()


def run_node(*arguments: object, folder: Path) -> str:
    assert node_program().exists(), "`make test-clients` installs it"
    done = subprocess.run(
        [node_program(), *map(str, arguments)], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.stdout, done.stderr
    return done.stdout


def test_the_typescript_sdk_shows_results_and_the_messages_of_errors(server: HttpServer, folder: Path) -> None:
    program = Path(sys.executable).parent / "tt"
    printed = run_node(SCRIPT, modules_folder(), program, server.address, TOKEN, folder=folder)
    for found in json.loads(printed):
        assert found["tools"] == len(TOOLS)
        assert found["made"]["structuredContent"]["id"]
        for name, code in (("refused", "no-file"), ("wrong", "bad-arguments")):
            assert found[name]["isError"]
            assert code in found[name]["content"][0]["text"]
            assert found[name]["_meta"][ERROR_KEY]["code"] == code
        assert found["verified"]["structuredContent"]["status"] == "VERIFIED"
        assert found["steps"]


class _WithToken(BaseHTTPRequestHandler):
    """Passes requests on with the token, which the conformance suite cannot send."""

    protocol_version = "HTTP/1.1"
    port = 0

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        connection = HTTPConnection("127.0.0.1", self.port)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in [*self.headers.items(), ("Authorization", f"Bearer {TOKEN}")]:
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "connection", "date", "server"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_DELETE = do_POST  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.mark.parametrize("version", APPLY)
def test_the_conformance_suite_of_the_protocol_passes_where_it_applies(
    server: HttpServer, version: str, tmp_path: Path
) -> None:
    handler = type("Handler", (_WithToken,), {"port": server.server_address[1]})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as proxy:
        Thread(target=proxy.serve_forever, daemon=True).start()
        suite = modules_folder() / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
        address = f"http://127.0.0.1:{proxy.server_address[1]}/mcp"
        wanted = ["--requirements", version] if version == "2026-07-28" else ["--spec-version", version]
        printed = run_node(suite, "server", "--url", address, *wanted, "-o", tmp_path / "results", folder=tmp_path)
        proxy.shutdown()
    passed = set(re.findall(r"^✓ ([\w-]+):", printed, re.MULTILINE))
    assert APPLY[version] - passed == set()
