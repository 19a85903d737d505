"""Which tests reach which statements: a copy of the source notes every statement that runs, also in other processes.

As a plugin of pytest (`-p tools.reach`) it writes one line for each test that passes: its name, its seconds, and the
statements that it reached. A statement is named by its module, its function and its first line, so that it keeps its
name when something else changes.
"""

import ast
import json
import os
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

LOG = "SLICEBASE_REACH_LOG"  # the folder of what the tests reached
CHILDREN = "SLICEBASE_REACH_CHILDREN"  # the folder of what the processes of one test reached
NOTES = '''"""The statements that this process reached."""
import atexit
import os

reached = set()
reach = reached.add


@atexit.register
def write():
    folder = os.environ.get("SLICEBASE_REACH_CHILDREN", "")
    if os.path.isdir(folder):
        with open(os.path.join(folder, str(os.getpid())), "w") as stream:
            stream.write("\\n".join(reached))
'''


def statement_names(tree: ast.Module) -> dict[ast.stmt, str]:
    """Returns a name for each statement. Equal statements of a function have the same one."""
    names: dict[ast.stmt, str] = {}
    ahead: list[tuple[ast.AST, str]] = [(tree, "")]
    while ahead:
        node, home = ahead.pop()
        if isinstance(node, ast.stmt):
            names[node] = f"{home}:{ast.unparse(node).splitlines()[0]}"
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            home = f"{home}.{node.name}"
        ahead += [(child, home) for child in ast.iter_child_nodes(node)]
    return names


def noting(source: str, module: str) -> str:
    """Returns a source whose statements note themselves, as the module and their names, before they run."""
    tree = ast.parse(source)
    names = statement_names(tree)
    for parent in list(ast.walk(tree)):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(parent, field, None)
            if isinstance(block, list):
                noted = [each for statement in block for each in _noted(statement, f"{module}{names.get(statement)}")]
                setattr(parent, field, noted)
    after = 1 if ast.get_docstring(tree) is not None else 0
    tree.body[after:after] = ast.parse("from slicebase.reached import reach as _reach").body
    return ast.unparse(ast.fix_missing_locations(tree))


def _noted(statement: ast.stmt, name: str) -> list[ast.stmt]:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return [statement]  # a docstring stays the first
    return [*ast.parse(f"_reach({name!r})").body, statement]


class _Reached:
    """What the tests of this process reached."""

    def __init__(self, folder: Path) -> None:
        from slicebase.reached import reached  # type: ignore[import-not-found]

        self._reached: set[str] = reached
        self._log = (folder / f"{os.getpid()}.jsonl").open("a")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._reached.clear()
        item.stash[_PASSED] = []
        with tempfile.TemporaryDirectory() as children:
            os.environ[CHILDREN] = children
            try:
                return (yield)
            finally:
                del os.environ[CHILDREN]
                for path in Path(children).iterdir():
                    self._reached.update(path.read_text().splitlines())
                reports = item.stash[_PASSED]
                if reports and all(report.passed for report in reports):
                    seconds = sum(report.duration for report in reports)
                    print(json.dumps([item.nodeid, seconds, sorted(self._reached)]), file=self._log, flush=True)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, Any]:
        report: Any = yield
        item.stash[_PASSED].append(report)
        return report


_PASSED = pytest.StashKey[list[pytest.TestReport]]()


def pytest_configure(config: pytest.Config) -> None:
    if LOG in os.environ and (hasattr(config, "workerinput") or config.getoption("numprocesses") in (None, 0)):
        config.pluginmanager.register(_Reached(Path(os.environ[LOG])))


def read(folder: Path) -> Iterator[tuple[str, float, list[str]]]:
    """Yields the tests that passed: name, seconds, statements."""
    for path in folder.glob("*.jsonl"):
        with path.open() as lines:
            yield from (tuple(json.loads(line)) for line in lines)


if __name__ == "__main__":
    sys.exit(__doc__)
