"""Messages that cannot be read get an answer: a client that waits for one does not wait forever."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.mcp.messages import LONGEST_MESSAGE, Message, UnreadError, encoded, read_message

CALL = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search","arguments":{"query":"%b"}}}'
CASES = (
    (CALL % b"\\ud800", 7, -32700),
    (CALL % b"\\uDC00 and more", 7, -32700),
    (CALL % b"\xff", 7, -32700),
    (CALL % b"\xed\xa0\x80", 7, -32700),  # a surrogate in what is almost UTF-8
    (b'{"jsonrpc":"2.0","id":"a","method":"x","params":{"a":' + b"[" * 300_000 + b"]" * 300_000 + b"}}", "a", -32700),
    (b'{"jsonrpc":"2.0","id":9,"method":"x","params":{"a":' + b"1" * 5_000 + b"}}", 9, -32700),
    (b'{"jsonrpc":"2.0","id":9,"method":"x","params":{"a":NaN}}', 9, -32700),
    (CALL % (b"x" * LONGEST_MESSAGE), 7, -32600),
    (b"\xff\xfe", None, -32700),
    (b"\x00\x01\x02", None, -32700),
    (b"{", None, -32700),
    (b'{"jsonrpc":"2.0","id":3,"method":"pi', 3, -32700),
    (b"[]", None, -32600),
    (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None, -32600),
    (b"7", None, -32600),
    (b'{"jsonrpc":"2.0","id":4}', 4, -32600),
    (b'{"jsonrpc":"1.0","id":4,"method":"ping"}', 4, -32600),
    (b'{"id":4,"method":"ping"}', 4, -32600),
    (b'{"jsonrpc":"2.0","id":4,"method":5}', 4, -32600),
    (b'{"jsonrpc":"2.0","id":4,"method":"ping","params":[]}', 4, -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, -32600),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None, -32600),
    (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', None, -32600),
)


@pytest.mark.parametrize(("line", "request_id", "code"), CASES, ids=lambda value: str(value)[:40])
def test_what_is_no_message_gets_an_error_with_the_id_of_the_request(line: bytes, request_id: Any, code: int) -> None:
    with pytest.raises(UnreadError) as caught:
        read_message(line)
    assert (caught.value.id, caught.value.code) == (request_id, code)


@pytest.mark.parametrize(
    "line",
    [
        b'{"params": {"id": 5, bad}}',  # of something else
        b'{"id": 5, "id": 6, bad',
        b'{"text": "\\"id\\": 5", bad}',
        b'{"id": "a\tb", bad}',
        b'{"id": 5.5, bad}',
        b'{"id": 99999999999999999999, bad}',
    ],
)
def test_an_id_that_is_not_surely_that_of_the_request_is_not_used(line: bytes) -> None:
    with pytest.raises(UnreadError) as caught:
        read_message(line)
    assert caught.value.id is None


@pytest.mark.parametrize(
    "line", [b"\n", b"  \n", b'{"jsonrpc":"2.0","id":1,"result":{}}', b'{"jsonrpc":"2.0","id":1,"error":{"code":1}}']
)
def test_an_empty_line_and_a_response_get_none(line: bytes) -> None:
    assert read_message(line) is None


@pytest.mark.parametrize("end", [b"", b"\\", b"x"])
def test_a_long_line_that_is_cut_short_is_refused_at_once(end: bytes) -> None:
    """Looking for the id took time by the square of the length, in which the server did nothing else."""
    began = time.process_time()
    with pytest.raises(UnreadError) as caught:
        read_message(b'{"jsonrpc":"2.0","id":7,"method":"' + b'\\"' * 1_000_000 + end)
    assert caught.value.id == 7
    assert time.process_time() - began < 5


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(max_examples=25)
@given(st.text() | st.integers(), st.text(), st.dictionaries(st.text(), VALUES))
def test_what_is_written_is_read_back(request_id: str | int, method: str, params: dict[str, Any]) -> None:
    line = encoded({"id": request_id, "method": method, "params": params})
    assert b"\n" not in line
    if isinstance(request_id, str) and not request_id.isprintable():
        return
    assert read_message(line) == Message(method, params, request_id)


@settings(max_examples=50)
@given(st.binary())
def test_any_bytes_are_a_message_or_an_error(line: bytes) -> None:
    try:
        assert read_message(line) is None
    except UnreadError as error:
        assert error.code in (-32700, -32600)


def test_half_a_surrogate_pair_in_an_answer_stays_an_escape() -> None:
    line = encoded({"id": 1, "result": {"text": "a\ud800b"}})
    assert json.loads(line)["result"]["text"] == "a\ud800b"
