"""Reads the floors, the rooms and the imports of the package, for the architecture test and for the drawing."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
SOURCE = PROJECT / "src" / "slicebase"

# From the ground up. A room may import every floor below its own, and the rooms before it on its own floor.
FLOORS = {
    "ground": ("errors", "core"),
    "pure": ("secrets", "files", "graph", "importers", "runs", "context"),
    "state": ("workspace", "truth", "index", "library", "history"),
    "verbs": ("agents", "verbs", "moves"),
    "object": ("base", "aio"),
    "faces": (
        "mcp",
        "adapters",
        "web",
        "cli",
    ),  # adapters offer the tools of the server; `tt mcp`, `tt serve` start one
}
# Rooms of one floor that know nothing of each other.
STRANGERS = ({"files", "graph"}, {"importers", "runs"}, {"library", "history"})
OUTSIDE = {"__init__", "__main__"}  # the package itself


def modules() -> list[Path]:
    """Returns the paths of all modules, `__init__` files included."""
    return sorted(SOURCE.rglob("*.py"))


def name_of(path: Path) -> str:
    """Returns the dotted name of a module, without the package's own name."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def room_of(path: Path) -> str:
    """Returns the room that a module belongs to."""
    return path.relative_to(SOURCE).with_suffix("").parts[0]


@cache
def tree(path: Path) -> ast.Module:
    """Returns the syntax tree of a module."""
    return ast.parse(path.read_text())


_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")  # what has statements inside a statement


def imports(path: Path, *, typing: bool = True, lazy: bool = True) -> Iterator[str]:
    """Yields the modules that a module imports; those for type checkers and in functions only where that is wanted."""
    waiting: list[ast.AST] = [tree(path)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING" and not typing:
            waiting += node.orelse
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not lazy:
            continue
        for block in _BLOCKS:  # no expression imports
            waiting += getattr(node, block, ())
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide their direction"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def importing_modules() -> dict[tuple[str, str], int]:
    """Returns for each pair of rooms (from, to) how many modules of the first import the second when they run."""
    rooms = {room for floor in FLOORS.values() for room in floor}
    counts: dict[tuple[str, str], int] = {}
    for path in modules():
        room = room_of(path)
        if room in rooms:
            names = [name.split(".") for name in imports(path, typing=False)]
            reached = {name[1] for name in names if name[0] == "slicebase" and len(name) > 1}
            for other in sorted(reached & rooms - {room}):
                counts[room, other] = counts.get((room, other), 0) + 1
    return counts
