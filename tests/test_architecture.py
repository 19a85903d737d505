"""The architecture is a test: imports point down, and the pure packages do no I/O (docs/architecture.md)."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "slicebase"

# Each package with what it may import from Slicebase besides itself. A layer that is not here does not exist.
MAY_IMPORT = {
    "errors": set[str](),
    "verbs": set[str](),
    "core": {"errors"},
    "files": {"core", "errors"},
    "graph": {"core", "errors"},
    "importers": {"core", "errors", "files", "graph"},
    "runs": {"core", "errors", "files", "graph"},
    "context": {"core", "errors", "files", "graph", "importers", "runs"},
    "store": {"core", "errors", "files", "graph", "importers", "runs", "context"},
    "verify": {"core", "errors", "files", "graph", "importers", "runs", "context", "store"},
    "base": {"core", "errors", "files", "graph", "importers", "runs", "context", "store", "verify"},
    # `tt mcp` starts the other face
    "cli": {
        "core",
        "errors",
        "verbs",
        "files",
        "graph",
        "importers",
        "runs",
        "context",
        "store",
        "verify",
        "base",
        "mcp",
    },
    "mcp": {"core", "errors", "verbs", "files", "graph", "importers", "runs", "context", "store", "verify", "base"},
    "web": {"core", "errors", "verbs", "files", "graph", "importers", "runs", "context", "store", "verify", "base"},
}
PURE = {"core", "errors", "verbs", "files", "graph", "importers", "runs", "context"}
# Modules by which code reaches disk, network, processes, the clock or chance.
IMPURE = {
    "apsw", "asyncio", "fcntl", "glob", "httpx", "io", "os", "pathlib", "random", "requests", "secrets", "select",
    "shutil", "signal", "socket", "sqlite3", "subprocess", "sys", "tempfile", "threading", "time", "urllib",
}  # fmt: skip


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def layer_of(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide their direction"
            yield node.module or ""


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down_only(path: Path) -> None:
    layer = layer_of(path)
    if layer.startswith("__"):  # __init__ and __main__ stand outside the layers
        return
    allowed = MAY_IMPORT[layer] | {layer}
    for name in imports(path):
        top, _, rest = name.partition(".")
        if top == "slicebase" and rest:
            assert rest.split(".")[0] in allowed, f"{layer} must not import {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_pure_packages_import_nothing_that_reaches_outside(path: Path) -> None:
    if layer_of(path) in PURE:
        reached = {name.split(".")[0] for name in imports(path)} & IMPURE
        assert not reached, f"{path.name} imports {reached}"
        assert "open(" not in path.read_text().replace("_open(", ""), f"{path.name} opens a file"
