"""Records the calls of an agent's tools as steps of a run: the plan, the call, and its result by reference.

    recorder = memory.runs.recorder("my-run")

    @recorder                                         # a decorator, for functions with and without async
    def read(path): ...

    with recorder.call("bash", command="make test") as call:      # a context manager
        call.result = run("make test")

    call_id = recorder.started("bash", {"command": "make test"})  # callbacks, for frameworks that have hooks
    recorder.ended(call_id, output)                               # or recorder.failed(call_id, error)

The result is stored whole, outside the event: the event has its hash, its size and its first characters, and
`memory.runs.blob` returns it. So are large arguments. An error is logged as a failure, and propagates. A call in which
the run stops, by the tool itself or by a budget, still returns its result; the next call raises `run-closed`.
"""

import inspect
import os
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, wraps
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Self, TypeVar, cast

import msgspec

from slicebase.core.hashing import LARGEST_INTEGER, digest
from slicebase.errors import SlicebaseError
from slicebase.runs.event import HEAD
from slicebase.workspace.surroundings import at_once, one_thread_at_a_time

if TYPE_CHECKING:
    from slicebase.verbs.runs import Compact, Runs

_Given = ParamSpec("_Given")
_Returned = TypeVar("_Returned")

_BYTES: Final = (bytes, bytearray, memoryview)
_DEEPEST: Final = 12  # levels of a value that are recorded
_LARGEST: Final = 16 * 1024  # bytes of arguments in an event; larger ones are stored outside
# The run has stopped: the event that exceeds a budget is stored, and a stopped run accepts no more.
_STOPPED: Final = frozenset({"budget-exceeded", "gate-refused", "run-closed"})


class RecordedCall:
    """One call of a tool, for a `with` block. Set `result` inside it."""

    def __init__(self, runs: "Runs", run_id: str, compact: "Compact", tool: str, arguments: Any, plan: str) -> None:
        self._step = runs.step(run_id, compact=compact)
        self._redaction = runs.surroundings.redaction  # before anything is hashed or cut
        self._tool = tool
        self._arguments = plain(arguments)
        self._plan = plain(plan) or f"call {tool}"
        self.result: object = None
        self.blob = ""  # the hash of the result, after the block

    def __repr__(self) -> str:
        return f"RecordedCall(tool={self._tool!r}, step={self._step.number}, blob={self.blob!r})"

    def __enter__(self) -> Self:
        self._step.__enter__()
        with self._ended_after_error():
            self._step.plan(self._plan)
            arguments = self._redaction.value(self._arguments)
            data = msgspec.json.encode(arguments)
            if len(data) <= _LARGEST:
                self._step.act(tool=self._tool, arguments=arguments)
            else:
                self._step.act(tool=self._tool, arguments=_by_hash(data), blobs={digest(data): data})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with _unless_stopped():
            if error is None:
                with self._ended_after_error():
                    data = self._redaction.data(as_bytes(self.result))
                    self.blob = digest(data)
                    self._step.observe(tool=self._tool, result=_by_hash(data), blobs={self.blob: data})
            self._step.__exit__(kind, error, trace)

    @contextmanager
    def _ended_after_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self._step.__exit__(type(error), error, error.__traceback__)
            raise


@contextmanager
def _unless_stopped() -> Iterator[None]:
    try:
        yield
    except SlicebaseError as error:
        if error.code not in _STOPPED:
            raise


def _by_hash(data: bytes) -> dict[str, Any]:
    """Returns how an event names content that is stored outside it."""
    head = data[: 4 * HEAD].decode(errors="replace")[:HEAD]
    return {"blob": digest(data), "bytes": len(data), "head": head}


@one_thread_at_a_time
class Recorder:
    """Logs every call of a tool as a step of one run."""

    def __init__(self, runs: "Runs", run_id: str, compact: "Compact" = True) -> None:
        self.surroundings = runs.surroundings
        self.run_id = run_id
        self._runs = runs
        self._compact = compact
        self._numbers = count(1)
        self._open: dict[str, RecordedCall] = {}

    def __repr__(self) -> str:
        return f"Recorder(run={self.run_id!r}, open={len(self._open)})"

    def __call__(self, function: Callable[_Given, _Returned]) -> Callable[_Given, _Returned]:
        """Returns the function with every call recorded. Its name is the tool, its arguments are recorded by name."""
        begun = self.calls_of(function)
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def awaited(*args: _Given.args, **keywords: _Given.kwargs) -> Any:
                call = begun(args, keywords).__enter__()
                with _failing(call):  # wrong arguments raise before there is anything to await
                    coming = function(*args, **keywords)
                return await _awaited(call, coming)

            return cast("Callable[_Given, _Returned]", awaited)

        @wraps(function)
        def called(*args: _Given.args, **keywords: _Given.kwargs) -> _Returned:
            call = begun(args, keywords).__enter__()
            with _failing(call):
                result = function(*args, **keywords)
                refuse_generator(result)
            if inspect.isawaitable(result):  # of a function that only looks as if it were not async
                return cast("_Returned", _awaited(call, result))
            call.result = result
            call.__exit__(None, None, None)
            return result

        return called

    @at_once
    def calls_of(self, function: Callable[..., object]) -> Callable[[Any, Any], RecordedCall]:
        """Returns a function that begins a recorded call of this one, given its arguments in order and by name."""
        bound = function if isinstance(function, partial) else partial(function)
        if inspect.isgeneratorfunction(bound.func) or inspect.isasyncgenfunction(bound.func):
            raise TypeError(f"{bound.func.__qualname__} is a generator, whose results come one by one")
        tool = getattr(bound.func, "__name__", type(bound.func).__name__)
        try:
            signature = inspect.signature(bound.func)
        except ValueError:  # a function in C may have none
            signature = inspect.Signature()

        def begun(args: Any, keywords: Any) -> RecordedCall:
            named = _by_name(signature, (*bound.args, *args), {**bound.keywords, **keywords})
            return self._call(tool, named, "")

        return begun

    @at_once
    def call(
        self, tool: str, /, arguments: Mapping[str, Any] | None = None, *, plan: str = "", **more: Any
    ) -> RecordedCall:
        """Returns a call of a tool with these arguments, for a `with` block."""
        return self._call(tool, {**(arguments or {}), **more}, plan)

    def started(
        self,
        tool: str,
        /,
        arguments: Mapping[str, Any] | None = None,
        *,
        plan: str = "",
        call_id: str | None = None,
        **more: Any,
    ) -> str:
        """Logs that a tool is called. Returns the id of the call, for `ended` or `failed`."""
        name = call_id or next(name for number in self._numbers if (name := f"call-{number}") not in self._open)
        if name in self._open:
            raise SlicebaseError("bad-event", f"the call {name} has not ended", hint="give every call its own id")
        call = self._call(tool, {**(arguments or {}), **more}, plan)
        call.__enter__()
        self._open[name] = call
        return name

    def ended(self, call_id: str, result: object = None) -> str:
        """Logs the result of a call. Returns its hash."""
        call = self._ended(call_id)
        call.result = result
        call.__exit__(None, None, None)
        return call.blob

    def failed(self, call_id: str, error: BaseException | str) -> None:
        """Logs that a call has failed, with an error or its text."""
        raised = error if isinstance(error, BaseException) else ToolError(error)
        self._ended(call_id).__exit__(type(raised), raised, None)

    def _call(self, tool: str, arguments: Mapping[str, Any], plan: str) -> RecordedCall:
        return RecordedCall(self._runs, self.run_id, self._compact, tool, arguments, plan)

    def _ended(self, call_id: str) -> RecordedCall:
        if call_id not in self._open:
            raise SlicebaseError(
                "no-item", f"no call {call_id} has started and not ended", hint="`started` returns ids"
            )
        return self._open.pop(call_id)


class ToolError(Exception):
    """An error of a tool of which only the text is known."""


@contextmanager
def _failing(call: RecordedCall) -> Iterator[None]:
    """Ends a call with the error that is raised inside."""
    try:
        yield
    except BaseException as error:
        call.__exit__(type(error), error, error.__traceback__)
        raise


async def _awaited(call: RecordedCall, coming: Awaitable[Any]) -> Any:
    """Returns a result that has to be awaited, and ends its call."""
    with _failing(call):
        result = await coming
        refuse_generator(result)
    call.result = result
    call.__exit__(None, None, None)
    return result


def refuse_generator(result: object) -> None:
    """Raises a TypeError for a result whose items come one by one."""
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        raise TypeError("the result is a generator, whose items come one by one; return a list")


def _by_name(signature: inspect.Signature, args: Any, keywords: Any) -> dict[str, Any]:
    """Returns the arguments of a call by their names, without the object of a method."""
    try:
        named = dict(signature.bind(*args, **keywords).arguments)
    except TypeError:  # the function itself raises it
        return {"args": list(args), **keywords}
    first = next(iter(signature.parameters), None)
    return {name: value for name, value in named.items() if name != first or name not in ("self", "cls")}


def plain(value: Any, depth: int = 0) -> Any:
    """Returns a value as JSON that an event can carry. What has no JSON form is shown by its `repr`."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if value is None or isinstance(value, bool) or _is_exact(value):
        return value
    if depth < _DEEPEST and isinstance(value, Mapping):
        return {str(plain(str(name))): plain(inner, depth + 1) for name, inner in value.items()}
    if depth < _DEEPEST and isinstance(value, list | tuple):
        return [plain(inner, depth + 1) for inner in value]
    if depth < _DEEPEST and isinstance(value, set | frozenset):  # in an order that repeats
        return sorted((plain(inner, depth + 1) for inner in value), key=msgspec.json.encode)
    if isinstance(value, os.PathLike):
        return plain(str(os.fspath(value)))
    try:
        if isinstance(value, _BYTES):
            return _text_of(bytes(value))
        known = msgspec.to_builtins(value, builtin_types=_BYTES)  # dataclasses, dates, …
        return plain(_shown(value) if known is value or depth >= _DEEPEST else known, depth + 1)
    except Exception:
        return plain(_shown(value))


def _text_of(data: bytes) -> str:
    """Returns bytes as text that redaction can read: never in base64, where it would see no secret."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return repr(data)


_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")


def _shown(value: object) -> str:
    """Returns the `repr` of a value, without the address that another process would not repeat."""
    try:
        return _ADDRESS.sub("", repr(value))
    except Exception:  # a value of a tool can raise anything
        return f"<{type(value).__name__}>"


def _is_exact(value: object) -> bool:
    """Returns whether a value is a number that means the same to every reader of JSON (ruling 1)."""
    return type(value) in (int, float) and abs(cast("float", value)) <= LARGEST_INTEGER  # false for nan


def as_bytes(value: object) -> bytes:
    """Returns a result as the bytes that are stored: a text as UTF-8, bytes as they are, anything else as JSON."""
    if isinstance(value, _BYTES):
        return bytes(value)
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    return msgspec.json.encode(plain(value))
