"""What the import of a large graph file takes besides time: memory, and writes to the disk."""

import json
import tracemalloc
from pathlib import Path

import pytest

from slicebase.base import Slicebase
from slicebase.history.graph_files import IN_MEMORY
from tests.cli.test_history_graph import edge, turn
from tests.conversations import on_file

IO = Path("/proc/self/io")
OF_A_TURN = 1_000  # bytes that may be in memory for each turn of a file: ids and edges, and no texts


def graph_file(path: Path, count: int, size: int) -> Path:
    """Writes a graph in which parents are in no order, as hashes of texts are not either."""
    turns = [turn(n, content=f"turn {n} " + "." * size) for n in range(count)]
    edges = [edge(n * 7919 % n, n) for n in range(1, count)]
    path.write_text(json.dumps({"turns": turns, "edges": edges}))
    assert path.stat().st_size > IN_MEMORY
    return path


def peak(folder: Path, file: Path) -> int:
    """Returns the most bytes that were in use at once while a file was imported, without the caches of SQLite."""
    folder.mkdir()
    with Slicebase.init(folder) as memory:
        tracemalloc.start()
        try:
            assert memory.import_([file]).added > 0
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


def test_memory_does_not_grow_with_the_texts_of_a_file(tmp_path: Path) -> None:
    counts = 2_000, 6_000
    files = [graph_file(tmp_path / f"{count}.json", count, 6_000) for count in counts]
    small, large = (peak(file.with_suffix(""), file) for file in files)
    assert large - small < (counts[1] - counts[0]) * OF_A_TURN


@pytest.mark.skipif(not IO.exists(), reason="this system does not count writes")
def test_an_import_writes_each_page_a_few_times_however_scattered_its_keys_are(tmp_path: Path) -> None:
    file = graph_file(tmp_path / "graph.json", 10_000, 200)
    with Slicebase.init(tmp_path) as memory:
        before = written()
        memory.import_([file])
        pages = int(on_file(memory.truth).connection.pragma("page_count"))
        pages += int(memory.turn_index.ask(lambda: memory.turn_index._connection.pragma("page_count")))
        assert written() - before < 8 * pages


def written() -> int:
    """Returns how often this process has written to files."""
    return int(IO.read_text().partition("syscw: ")[2].split()[0])
