"""Requests under way: side by side or in order, cancelled, late, told about, and never answered twice."""

import errno
import json
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from threading import Event, Lock
from typing import Any

import anyio
import pytest
from mcp import Client

from slicebase.cli.failures import as_our_error
from slicebase.mcp import dispatch
from slicebase.mcp.calls import ServerEnvironment
from slicebase.mcp.dispatch import Dispatcher, Peer, Sent
from slicebase.mcp.messages import Message
from slicebase.mcp.server import ERROR_KEY
from tests.mcp.conftest import NOW, connected
from tests.mcp.test_protocol import HELLO

SLOW = ("prompts/get", {"name": "hand_over"})  # asks for the time once, and reads nothing


class Line:
    """A client in this process. The first call that asks for the time waits at the gate until it is opened."""

    def __init__(self, environment: ServerEnvironment, seconds: float = 60) -> None:
        self.entered, self.gate, self._first = Event(), Event(), Lock()
        self.sent: SimpleQueue[Sent] = SimpleQueue()
        self.peer = Peer()
        self.dispatcher = Dispatcher(lambda: environment._replace(clock=self._clock), seconds)
        self.ask(0, "initialize", HELLO)
        assert self.answer()["id"] == 0

    def _clock(self) -> float:
        if self._first.acquire(blocking=False):
            self.entered.set()
            assert self.gate.wait(60)
        return NOW / 1000

    def ask(self, number: int, method: str, params: Any = None) -> None:
        self.dispatcher.take(self.peer, Message(method, params or {}, number), self.sent.put)

    def call(self, number: int, tool: str, **arguments: Any) -> None:
        self.ask(number, "tools/call", {"name": tool, "arguments": arguments})

    def cancel(self, number: int) -> None:
        self.dispatcher.take(self.peer, Message("notifications/cancelled", {"requestId": number}), self.sent.put)

    def answer(self) -> Any:
        line = self.sent.get(timeout=60).line
        return json.loads(line) if line else None

    def rest(self) -> list[Any]:
        """Opens the gate, waits for everything under way, and returns what was sent."""
        self.gate.set()
        self.dispatcher.finish()
        found = []
        while True:
            try:
                found.append(self.sent.get(block=False).line)
            except Empty:
                return [json.loads(line) for line in found if line]


@pytest.fixture
def line(environment: ServerEnvironment) -> Iterator[Line]:
    made = Line(environment)
    yield made
    made.rest()


def titles(environment: ServerEnvironment) -> list[str]:
    with environment.open() as base:
        return sorted(entry.title for entry in base.library.list_files())


def test_a_call_that_reads_does_not_wait_for_another_one(line: Line) -> None:
    line.ask(1, *SLOW)
    assert line.entered.wait(60)
    line.call(2, "search", query="tests")
    assert line.answer()["id"] == 2
    assert [each["id"] for each in line.rest()] == [1]


def test_calls_that_write_run_in_the_order_in_which_they_came(line: Line, environment: ServerEnvironment) -> None:
    line.call(1, "create", title="First", summary="S")
    assert line.entered.wait(60)
    line.call(2, "create", title="Second", summary="S")
    line.call(3, "search", query="tests")
    assert line.answer()["id"] == 3
    assert [each["id"] for each in line.rest()] == [1, 2]
    assert titles(environment) == ["First", "Second"]


def test_a_cancelled_call_gets_no_answer_and_does_not_begin_any_more(
    line: Line, environment: ServerEnvironment
) -> None:
    line.call(1, "create", title="First", summary="S")
    assert line.entered.wait(60)
    line.call(2, "create", title="Second", summary="S")
    line.cancel(2)
    line.cancel(77)  # of a call that there is not
    assert line.answer() is None
    assert [each["id"] for each in line.rest()] == [1]
    assert titles(environment) == ["First"]


def test_a_call_that_nobody_waits_for_writes_no_slice_file(line: Line, environment: ServerEnvironment) -> None:
    line.call(1, "create", title="First", summary="S")
    assert line.entered.wait(60)
    line.cancel(1)
    assert line.rest() == []
    assert titles(environment) == []


def test_a_call_that_has_begun_to_write_is_finished(environment: ServerEnvironment) -> None:
    looks = iter([None, None])
    with environment._replace(go_on=lambda: next(looks)).open() as base:
        base.library.create(title="First", summary="S", body="B")
        assert next(looks, "over") is None, "it looked once"
        base.runs.start("r1", objective="o", done="d")
        base.library.create(title="Second", summary="S", body="B")
    assert titles(environment) == ["First", "Second"]


def test_a_call_that_nobody_waits_for_stores_nothing_in_the_database(
    line: Line, environment: ServerEnvironment
) -> None:
    line.call(1, "run", action="start", run="r1", objective="o", done="d")
    assert line.entered.wait(60)
    line.cancel(1)
    assert line.rest() == []
    with environment.open() as base:
        assert base.runs.list_runs() == []
        assert base.verify().status == "VERIFIED"


def test_the_status_of_runs_does_not_wait_for_a_call_that_writes(line: Line) -> None:
    line.call(1, "create", title="First", summary="S")
    assert line.entered.wait(60)
    line.call(2, "run", action="status")
    assert line.answer()["id"] == 2


def test_a_call_that_takes_too_long_gets_an_error_and_nothing_more(environment: ServerEnvironment) -> None:
    line = Line(environment, seconds=0.01)
    line.ask(1, *SLOW)
    assert line.entered.wait(60)
    answer = line.answer()
    assert (answer["id"], answer["error"]["code"]) == (1, -32000)
    assert "0.01 seconds" in answer["error"]["message"]
    assert line.rest() == []


def test_a_second_request_with_the_id_of_one_under_way_is_refused(line: Line) -> None:
    line.ask(1, *SLOW)
    line.ask(1, *SLOW)
    assert line.answer()["error"]["code"] == -32600
    assert ["result" in each for each in line.rest()] == [True]


def test_a_request_too_many_is_refused(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "MOST_CALLS", 1)
    line.ask(1, *SLOW)
    line.ask(2, *SLOW)
    answer = line.answer()
    assert (answer["id"], answer["error"]["code"]) == (2, -32000)


def test_verify_tells_its_progress_to_a_client_that_asked(
    environment: ServerEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "_PAUSE", 0.0)
    told: list[tuple[float, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async def talk() -> Any:
        async with Client(connected(environment), mode="legacy") as client:
            return await client.call_tool("verify", {}, progress_callback=note)

    assert anyio.run(talk).structured_content["status"] == "VERIFIED"
    steps = [step for step, _ in told]
    assert steps == sorted(set(steps))
    assert {"schema", "texts", "runs"} <= {message for _, message in told}


def test_verify_ends_when_it_is_cancelled(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "_PAUSE", 0.0)
    line.gate.set()
    told = []

    def send(sent: Sent) -> None:
        told.append(sent)
        line.cancel(1)

    params = {"name": "verify", "arguments": {}, "_meta": {"progressToken": "t"}}
    line.dispatcher.take(line.peer, Message("tools/call", params, 1), send)
    line.dispatcher.finish()
    assert [bool(sent.line) for sent in told] == [True, False]  # the first step, and the end


@pytest.mark.parametrize(
    ("method", "params"), [("tools/call", {"name": "search", "arguments": {"query": "tests"}}), ("prompts/list", {})]
)
def test_an_answer_that_is_too_long_is_an_error_that_says_what_to_do(
    line: Line, monkeypatch: pytest.MonkeyPatch, method: str, params: Any
) -> None:
    monkeypatch.setattr(dispatch, "LONGEST_ANSWER", 50)
    line.gate.set()
    line.ask(1, method, params)
    answer = line.answer()
    error = answer["result"]["_meta"][ERROR_KEY] if "result" in answer else answer["error"]["data"]
    said = answer["result"]["content"][0]["text"] if "result" in answer else answer["error"]["message"]
    assert error == {"code": "too-large"}
    assert "`limit`" in said


def failing(environment: ServerEnvironment, error: Exception) -> Any:
    def fail(size: int) -> bytes:
        raise error

    line = Line(environment._replace(entropy=fail, as_ours=as_our_error))
    line.gate.set()
    line.call(1, "create", title="T", summary="S")
    return line.answer()


def test_an_error_of_the_machine_is_one_of_ours(environment: ServerEnvironment) -> None:
    answer = failing(environment, OSError(errno.ENOSPC, "No space left on device"))
    assert answer["result"]["isError"]
    assert answer["result"]["_meta"][ERROR_KEY]["code"] == "disk-full"


def test_of_a_bug_the_client_hears_no_details(
    environment: ServerEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = failing(environment, ZeroDivisionError("what was stored"))
    assert answer["error"]["code"] == -32603
    assert "what was stored" not in json.dumps(answer)
    assert "what was stored" in capsys.readouterr().err
