"""The web application: slices and searches a second, beside the bare framework with a constant of the same size.

Both run with the same server (uvicorn), one process each, and are asked in turn by the same client: a process of its
own with a few connections that stay open. Anchors and words are drawn at random, and no answer is cached.

`python -m bench.serve 10000` uses another number of turns than 100,000.
"""

import asyncio
import multiprocessing
import random
import resource
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from bench.library import write_library
from bench.select import forest, percentile
from bench.store import load, vocabulary
from slicebase.base import Slicebase
from slicebase.index.upkeep import update_turn_index
from slicebase.web.app import application
from slicebase.web.endpoints import PREFIX
from slicebase.web.server import listen, serve

TURNS, FILES = 100_000, 500
CONNECTIONS = 8
SECONDS = 4.0
ROUNDS = 3
_STARTED = multiprocessing.get_context("spawn")


class Load(NamedTuple):
    """What a client measured: requests a second, the 99th percentile, and bytes of an answer, in the middle."""

    rate: float
    p99: float
    size: int


# Servers


def _constant(size: int) -> ASGIApp:
    body = b"x" * size

    async def answer(request: Request) -> Response:
        return Response(body, media_type="application/json")

    return Starlette(routes=[Route("/{path:path}", answer)])


def _ours(folder: str) -> ASGIApp:
    root = Path(folder)
    return application(lambda: Slicebase.open(root, root, create=False))


def _serve(told: Connection, folder: str, size: int) -> None:
    opened = listen("127.0.0.1", 0)
    app = _ours(folder) if folder else _constant(size)
    serve(app, opened, lambda: told.send(opened.getsockname()[1]))


@contextmanager
def served(folder: str = "", size: int = 0) -> Iterator[int]:
    """Starts a server in a process of its own and gives its port: of a workspace, or of a constant."""
    ours, theirs = _STARTED.Pipe()
    process = _STARTED.Process(target=_serve, args=(theirs, folder, size))
    process.start()
    theirs.close()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join()


# The client


async def _connection(port: int, paths: Sequence[str], until: float, taken: list[float], sizes: list[int]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    place = 0
    while perf_counter() < until:
        asked = f"GET {paths[place % len(paths)]} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n".encode()
        place += 1
        start = perf_counter()
        writer.write(asked)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
        await reader.readexactly(length)
        taken.append(perf_counter() - start)
        sizes.append(length)
    writer.close()


def _ask(told: Connection, port: int, paths: list[str], seconds: float) -> None:
    async def asked() -> Load:
        taken: list[float] = []
        sizes: list[int] = []
        start = perf_counter()
        share = len(paths) // CONNECTIONS
        parts = [paths[number * share : (number + 1) * share] for number in range(CONNECTIONS)]
        await asyncio.gather(*(_connection(port, part, start + seconds, taken, sizes) for part in parts))
        spent = perf_counter() - start
        return Load(len(taken) / spent, percentile(taken, 99), int(statistics.median(sizes)))

    told.send(asyncio.run(asked()))


def asked(port: int, paths: list[str], seconds: float = SECONDS) -> Load:
    """Asks for these addresses for some seconds, from a process of its own."""
    ours, theirs = _STARTED.Pipe()
    process = _STARTED.Process(target=_ask, args=(theirs, port, paths, seconds))
    process.start()
    theirs.close()  # a client that fails is an error here, too
    found: Load = ours.recv()
    process.join()
    return found


def measure(name: str, folder: str, paths: list[str]) -> None:
    """Prints how fast the application answers, and how fast the bare framework does."""
    with served(folder) as port:
        size = asked(port, paths, 3 * SECONDS).size  # warm
        with served(size=size) as bare:
            pairs = [(asked(port, paths), asked(bare, paths)) for _ in range(ROUNDS)]
    ours, theirs = (max((pair[side] for pair in pairs), key=lambda each: each.rate) for side in (0, 1))
    for who, each in ((name, ours), ("bare framework", theirs)):
        print(f"  {who:<16} {each.rate:8,.0f}/s   p99 {each.p99 * 1000:7.1f} ms   {each.size:8,} bytes")
    print(f"  {'':<16} {ours.rate / theirs.rate:8.2f} of it\n")


def run(turns: int = TURNS) -> None:
    chance, words = random.Random(9), vocabulary()
    graph = forest(turns)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "workspace"
        write_library(folder, FILES)
        with Slicebase.open(folder) as base:
            load(base.truth, graph, words)
            update_turn_index(base.turn_index, base.truth)
            base.search("slice", limit=1)  # the index of the files
        print(f"tt serve, a session of {turns:,} turns and {FILES:,} files, {CONNECTIONS} connections")
        anchors = [row.id for row in chance.sample(graph.rows, min(8_000, turns))]
        measure("slices", str(folder), [f"{PREFIX}/slices/{anchor}" for anchor in anchors])
        queries = [" ".join(chance.sample(words[20:2000], 2)) for _ in range(4_000)]
        paths = [f"{PREFIX}/search?{urlencode({'q': each})}" for each in queries]
        measure("searches", str(folder), paths)
    print(f"  {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10:,} MB at most in one process")


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]))
