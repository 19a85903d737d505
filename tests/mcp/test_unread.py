"""Messages that cannot be read get an answer: a client that waits for one does not wait forever."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from slicebase.mcp.unread import response_to
from tests.mcp.test_stdio import ENVIRONMENT, HELLO, TT

SURROGATE = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search","arguments":{"query":"\\ud800"}}}'
NESTED = b'{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"a":' + b"[" * 3_000 + b"]" * 3_000 + b"}}"
NUMBER = b'{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{"a":' + b"1" * 5_000 + b"}}"
CASES = (
    (SURROGATE, 7, -32700),
    (NESTED, "a", -32700),
    (NUMBER, 9, -32700),
    (b"\xff\xfe", None, -32700),
    (b"{", None, -32700),
    (b"[]", None, -32600),
    (b'{"jsonrpc":"2.0","id":4}', 4, -32600),
)


def test_each_message_that_cannot_be_read_gets_an_error_and_the_next_one_its_result(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*TT, "mcp"], cwd=tmp_path, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout

        def send(line: bytes) -> Any:
            assert process.stdin
            assert process.stdout
            process.stdin.write(line + b"\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        try:
            hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
            assert "result" in send(json.dumps(hello).encode())
            process.stdin.write(
                b'\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
            )  # the first line is empty
            for line, request, code in CASES:
                answer = send(line)
                assert (answer["id"], answer["error"]["code"]) == (request, code), line[:80]
            assert "result" in send(b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}')
        finally:
            process.stdin.close()
            process.kill()


@pytest.mark.parametrize(
    "line",
    [
        '{"params": {"id": 5, bad}}',  # of something else
        '{"id": 5, "id": 6, bad',
        '{"text": "\\"id\\": 5", bad}',
        '{"id": "a\tb", bad}',
        '{"id": 5.5, bad}',
        '{"id": 99999999999999999999, bad}',
    ],
)
def test_an_id_that_is_not_surely_that_of_the_request_is_not_used(line: str) -> None:
    response = response_to(line)
    assert response is not None
    assert response.id is None
