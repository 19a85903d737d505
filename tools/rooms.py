"""Reads the package as a house: floors with rooms, what each room is about, how large it is and what it imports."""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.imports import FLOORS, SOURCE, importing_modules, modules, tree


@dataclass(frozen=True)
class Size:
    """How much code there is: modules, lines, and the module with the most lines."""

    modules: int
    lines: int
    largest: str
    largest_lines: int


@dataclass(frozen=True)
class Room:
    """A package or module on a floor: its subject in a sentence, its size, and the rooms inside it."""

    name: str
    file: str  # what the folder listing shows
    subject: str
    size: Size
    parts: tuple["Room", ...] = ()


@dataclass(frozen=True)
class House:
    """Floors from the top with their rooms, how many modules import from room to room, and the size of the package."""

    floors: Mapping[str, tuple[Room, ...]]
    imports: Mapping[tuple[str, str], int]
    size: Size

    @property
    def rooms(self) -> dict[str, Room]:
        """Returns the rooms by name, from the top floor down."""
        return {room.name: room for rooms in self.floors.values() for room in rooms}


def read_house() -> House:
    """Returns the package as it is on disk."""
    floors = {floor: tuple(read_room(SOURCE, name) for name in FLOORS[floor]) for floor in reversed(FLOORS)}
    return House(floors, importing_modules(), size_of(modules()))


def read_room(folder: Path, name: str) -> Room:
    """Returns the room with this name in a folder; the size of a room includes the rooms inside it."""
    path = folder / name
    if not path.is_dir():
        module = path.with_suffix(".py")
        return Room(name, module.name, subject_of(module), size_of([module]))
    parts = sorted(part.parent.name for part in path.glob("*/__init__.py"))
    inside = tuple(read_room(path, part) for part in parts)
    return Room(name, name, subject_of(path / "__init__.py"), size_of(path.rglob("*.py")), inside)


def subject_of(path: Path) -> str:
    """Returns the first line of a module's docstring."""
    return (ast.get_docstring(tree(path)) or "").partition("\n")[0]


def size_of(paths: Iterable[Path]) -> Size:
    """Returns the size of the modules at these paths."""
    lines = {path: path.read_text().count("\n") for path in sorted(paths)}
    largest = max(lines, key=lambda path: lines[path])
    return Size(len(lines), sum(lines.values()), largest.name, lines[largest])
