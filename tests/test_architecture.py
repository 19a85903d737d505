"""The architecture is a test: floors and rooms, allowed imports, and the place of tests (docs/architecture.md)."""

import ast
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.paths import PROJECT
from tools.imports import FLOORS, OUTSIDE, SOURCE, STRANGERS, imports, modules, name_of, room_of, tree

TESTS = PROJECT / "tests"

PURE = {*FLOORS["ground"], *FLOORS["pure"]}
# Modules that give access to disk, network, processes, the clock or random numbers.
IMPURE = {
    "apsw", "asyncio", "fcntl", "glob", "httpx", "io", "os", "pathlib", "random", "requests", "secrets", "select",
    "shutil", "signal", "socket", "sqlite3", "subprocess", "sys", "tempfile", "threading", "time", "urllib",
}  # fmt: skip
LARGEST = 400  # lines of a module
# Tests of a complete room, or of a promise that several of its modules keep.
WHOLE = {
    "test_bad_input", "test_damage", "test_descriptions", "test_format_page", "test_golden", "test_read_only",
    "test_real_data", "test_specification", "test_stdio",
}  # fmt: skip


def allowed(room: str) -> set[str]:
    """Returns the rooms that a room may import."""
    below: set[str] = set()
    for rooms in FLOORS.values():
        if room in rooms:
            strangers = {other for pair in STRANGERS if room in pair for other in pair}
            return below | (set(rooms[: rooms.index(room)]) - strangers) | {room}
        below |= set(rooms)
    raise AssertionError(f"{room} is on no floor")


def each_module(test: object) -> object:
    return pytest.mark.parametrize("path", modules(), ids=name_of)(test)


@each_module
def test_imports_point_down_a_floor_or_stay_in_the_room(path: Path) -> None:
    room = room_of(path)
    if room in OUTSIDE:
        return
    for name in imports(path):
        top, _, rest = name.partition(".")
        if top == "slicebase" and rest and rest != "__version__":
            assert rest.split(".")[0] in allowed(room), f"{room} must not import {name}"


@each_module
def test_pure_rooms_import_nothing_that_reaches_outside(path: Path) -> None:
    if room_of(path) in PURE:
        reached = {name.split(".")[0] for name in imports(path)} & IMPURE
        assert not reached, f"{path.name} imports {reached}"
        assert "open(" not in path.read_text().replace("_open(", ""), f"{path.name} opens a file"


def test_no_module_imports_itself_through_others_not_even_lazily() -> None:
    known = {f"slicebase.{name_of(path)}": path for path in modules() if room_of(path) not in OUTSIDE}
    graph = {name: {each for each in imports(path, typing=False) if each in known} for name, path in known.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


@each_module
def test_a_module_is_not_too_long(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LARGEST


@pytest.mark.parametrize("path", sorted({path.parent for path in modules()} - {SOURCE}), ids=name_of)
def test_a_room_says_in_one_sentence_what_it_is_about(path: Path) -> None:
    printed = ast.get_docstring(tree(path / "__init__.py")) or ""
    assert printed.endswith(".")
    assert "\n" not in printed
    assert len(printed) > 20
    assert len(tree(path / "__init__.py").body) == 1, "the code of a room belongs in its modules"


def test_one_name_means_one_thing() -> None:
    classes = defaultdict(list)
    for path in modules():
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(name_of(path))
    assert not {name: places for name, places in classes.items() if len(places) > 1}


@pytest.mark.parametrize(
    "path", sorted(TESTS.rglob("test_*.py")), ids=lambda path: ".".join(path.relative_to(TESTS).parts)
)
def test_tests_mirror_the_tree(path: Path) -> None:
    """tests/ROOM/test_MODULE.py tests that module, test_MODULE_ASPECT.py one aspect of it."""
    room = SOURCE / path.parent.relative_to(TESTS)
    if room == SOURCE or path.stem in WHOLE:
        return
    subjects = {module.stem for module in room.glob("*.py")}
    assert any(f"{path.stem}_".startswith(f"test_{subject}_") for subject in subjects), f"{path.stem} tests no module"
