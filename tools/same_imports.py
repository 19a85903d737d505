"""Imports inputs with two versions of the source, and compares everything that they store, row by row.

`python -m tools.same_imports OLD INPUT…` compares the folder `src` of another checkout, OLD, with this one: every row
of the truth, every row of the index of turns, each word and identifier in it with its place, and the answers to some
searches. `--random N` adds N random graph files. What differs between any two workspaces (the database's id and the
time at which it was created) is left out. The exit status is 1 if anything differs.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from tools.imports import SOURCE

_IMPORT = """
import sys
from pathlib import Path
from slicebase.base import Slicebase
from slicebase.history import graph_files
assert Path(graph_files.__file__).is_relative_to(sys.argv[1])
if sys.argv[2] == "pieces":
    graph_files.IN_MEMORY = 0
with Slicebase.init(Path(sys.argv[3])) as memory:
    memory.import_([Path(each) for each in sys.argv[4:]])
    for query in ("error", "test", "src", "2026", "why", "parseArgs", "main.py"):
        found = memory.search(query)
        print(query, found.total_turns, found.hints, [(turn.ref, turn.text) for turn in found.turns])
    asked = memory.context("why does the test of main.py fail?", tokens=2000, as_of="2027-01-01T00:00:00Z")
    print(asked.text)
"""
_OF_ITS_OWN = {"acts", "log", "manifests", "state"}  # tables with the database's id and times
_WORDS = (
    *("first", "second", "Third", "fooBar", "src/main.py", "a_b", "1,000", "Müller", "한국어에서", "東京", "→"),
    *("always", "never", "@x", "key=value", "v1.2.3", "and", "the", "Decision:", "x" * 600),
)


def _random_graph(seed: int) -> bytes:
    chance = random.Random(seed)
    ids = [f"{chance.getrandbits(128):032x}" for _ in range(chance.randint(1, 400))]
    names = [f"{each[:8]}-{each[8:12]}-{each[12:16]}-{each[16:20]}-{each[20:]}" for each in ids]
    turns = [
        {
            "id": name, "session_id": f"s{chance.randint(0, 2) if seed % 3 else 0}", "content": _random_text(chance),
            "role": chance.choice(["user", "assistant", "system", "tool"]), "created_at": chance.randint(0, 2 * 10**9),
            "phase": chance.choice(["synthesis", "planning", "debugging"]), "salience": chance.random(),
            "trajectory_depth": place, "trajectory_sibling_order": 0, "trajectory_homogeneity": chance.random(),
            "trajectory_temporal": chance.random(), "trajectory_complexity": chance.random() * 9,
        }
        for place, name in enumerate(names)
    ]  # fmt: skip
    kinds = ["reply", "branch", "reference", "default"]
    edges = [
        {"parent": names[chance.randrange(place)], "child": names[place], "edge_type": chance.choice(kinds)}
        for place in range(1, len(names))
        for _ in range(chance.randint(0, 2))
    ]
    return json.dumps({"turns": turns, "edges": edges}).encode()


def _random_text(chance: random.Random) -> str:
    text = " ".join(chance.choices(_WORDS, k=chance.randint(0, 40)))
    return text if chance.random() < 0.9 else f"{text} password: hunter{chance.getrandbits(40):x}!"


def _lines(workspace: Path) -> Iterator[tuple[str, str]]:
    """Yields the name of each table, and a digest of its rows."""
    for path in (workspace / ".slicebase/slicebase.db", workspace / ".slicebase/cache/turns.db"):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        tables: list[str] = [
            str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        ]
        full_text = ("words", "names")
        for table in tables:
            if table in _OF_ITS_OWN or table.startswith((*full_text, "known_names", "vocabulary")):
                continue
            rows = sorted(map(repr, connection.execute(f"SELECT * FROM {table}")))
            yield f"{path.name}: {table}, {len(rows)} rows", sha256("\n".join(rows).encode()).hexdigest()
        schema = sorted(repr(row) for row in connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))
        yield f"{path.name}: tables", sha256("\n".join(schema).encode()).hexdigest()
        connection.close()


def _stored(source: Path, way: str, folder: Path, inputs: list[Path]) -> dict[str, str]:
    folder.mkdir()
    command = [sys.executable, "-c", _IMPORT, str(source), way, str(folder), *map(str, inputs)]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return {**dict(_lines(folder)), "answers of searches": sha256(done.stdout.encode()).hexdigest()}


def compare(old: Path, way: str, inputs: list[Path]) -> list[str]:
    """Returns what two versions of the source store differently of these inputs."""
    with TemporaryDirectory() as name:
        before, after = (
            _stored(source, way, Path(name) / label, inputs) for label, source in (("old", old), ("new", SOURCE.parent))
        )
    return sorted(line for line in before.keys() | after.keys() if before.get(line) != after.get(line))


def main(arguments: list[str]) -> int:
    count = int(arguments.pop(arguments.index("--random") + 1)) if "--random" in arguments else 0
    old, *given = [Path(each).resolve() for each in arguments if each != "--random"]
    with TemporaryDirectory() as name:
        graphs = []
        for seed in range(count):
            graphs.append(Path(name) / f"{seed}.json")
            graphs[-1].write_bytes(_random_graph(seed))
        cases = [("as it is", [each]) for each in given] + [(way, [each]) for each in graphs for way in ("", "pieces")]
        failed = 0
        for way, inputs in cases:
            different = compare(old, way, inputs)
            failed += bool(different)
            for line in different:
                print(f"{inputs[0].name}: {line}")
    print(f"{len(cases)} imports, {failed} with differences")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
