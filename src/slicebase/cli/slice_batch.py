"""`tt slice --batch`: a context slice for each line of requests, in their order, on all cores.

Lines are answered as they come: a program can write a request and wait for its answer. Neither the requests nor the
answers are held in memory together.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

import click

from slicebase.cli.output import print_json_lines, read_input
from slicebase.core.parsers import read_json, too_large, unique_keys
from slicebase.errors import Exit, SlicebaseError, Where

if TYPE_CHECKING:
    from slicebase.graph.policy import SlicePolicyV1
    from slicebase.verbs.graph import Graph

_BLOCK: Final = 1 << 16  # bytes that are read at once
_LONGEST: Final = 16 << 20  # bytes of a line
_TURN: Final = 400  # bytes of a turn in an export, at most on average
_TOGETHER: Final = 64 << 20  # bytes of the exports that are selected together, as their policies allow
_POLICIES: Final = 1000  # that are kept
_Line = tuple[int, bytes]  # with its number


class _Request(NamedTuple):
    turn: str
    policy: "SlicePolicyV1"


_Item = tuple[int, _Request | SlicebaseError]  # with the number of its line


def print_batch(graph: "Graph", path: str) -> int:
    """Prints a SliceExport or an error for each request of a file. Exit status 1 if there is an error."""
    failed = False
    policies = _Policies(graph)
    with read_input(path) as stream, _progress(_blocks(stream, path)) as blocks:
        for block in blocks:
            for together in _portions([(number, policies.request(line, number)) for number, line in block]):
                failed |= _print_answers(graph, together, path)
    return Exit.FINDINGS if failed else Exit.DONE


def _print_answers(graph: "Graph", items: list[_Item], path: str) -> bool:
    """Prints the answers to requests, and keeps none of them. Returns whether one is an error."""
    answers = _answers(graph, items, path)
    print_json_lines(answer for _, answer in answers)
    return any(is_error for is_error, _ in answers)


def _answers(graph: "Graph", items: list[_Item], path: str) -> list[tuple[bool, bytes]]:
    """Returns the answers to requests, each with whether it is an error."""
    found = iter(graph.select_many([item for _, item in items if isinstance(item, _Request)]))
    answers = []
    for number, item in items:
        answer = next(found) if isinstance(item, _Request) else item
        if isinstance(answer, SlicebaseError):
            fields = answer.at(Where(path, number)).as_json()
            answers.append((True, json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogateescape")))
        else:
            answers.append((False, answer))
    return answers


def _portions(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    """Yields requests that are selected together: so many that their exports take little memory."""
    portion: list[_Item] = []
    size = 0
    for item in items:
        added = item[1].policy.max_nodes * _TURN if isinstance(item[1], _Request) else 0
        if portion and size + added > _TOGETHER:
            yield portion
            portion, size = [], 0
        portion.append(item)
        size += added
    if portion:
        yield portion


def _progress(blocks: Iterator[list[_Line]]) -> AbstractContextManager[Iterable[list[_Line]]]:
    """Shows a progress bar on a terminal; prints nothing in a pipe."""
    if not sys.stderr.isatty():
        return nullcontext(blocks)
    return click.progressbar(blocks, label="slices", file=sys.stderr)


def _blocks(stream: IO[bytes], path: str) -> Iterator[list[_Line]]:
    """Yields the lines of a stream with their numbers, as many at once as there are; blank lines are skipped."""
    read = getattr(stream, "read1", stream.read)  # what has arrived, without waiting for more
    number, rest = 0, b""
    for data in chain(iter(lambda: read(_BLOCK), b""), (b"\n",)):
        rest += data
        if b"\n" not in data:
            if len(rest) > _LONGEST:
                raise too_large(path, _LONGEST, "a line has one request")
            continue
        *lines, rest = rest.split(b"\n")
        block = [(number + place, line) for place, line in enumerate(lines, 1) if line.strip()]
        number += len(lines)
        if block:
            yield block


class _Policies:
    """Reads requests. Policies are resolved once."""

    def __init__(self, graph: "Graph") -> None:
        self._graph = graph
        self._known: dict[str, SlicePolicyV1] = {}

    def request(self, line: bytes, number: int) -> _Request | SlicebaseError:
        """Returns the request of a line, or what is wrong with it."""
        try:
            fields = _fields(line, number)
            return _Request(fields["anchor_turn_id"], self._policy(fields.get("policy")))
        except SlicebaseError as error:
            return error

    def _policy(self, value: Any) -> "SlicePolicyV1":
        key = json.dumps(value)
        if key not in self._known:
            if len(self._known) >= _POLICIES:
                self._known.clear()
            self._known[key] = self._graph.requested_policy(value)
        return self._known[key]


_decoder: Final = json.JSONDecoder(object_pairs_hook=unique_keys("bad-json"))


def _read(line: bytes, number: int) -> Any:
    try:
        return _decoder.decode(line.decode())
    except (ValueError, RecursionError, SlicebaseError):  # once more, for the place of what is wrong
        return read_json(line, what="the line", first_line=number, unique=True)


def _fields(line: bytes, number: int) -> dict[str, Any]:
    request = _read(line, number)
    if not isinstance(request, dict) or not isinstance(request.get("anchor_turn_id"), str):
        raise SlicebaseError(
            "bad-request", "the line is not a request", hint='write {"anchor_turn_id": "<uuid>", "policy": "focused"}'
        )
    unknown = request.keys() - {"anchor_turn_id", "policy"}
    if unknown:
        raise SlicebaseError("bad-request", f"a request has no key {sorted(unknown)[0]!r}")
    return request
