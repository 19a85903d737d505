"""How the keys and scalars of a frontmatter are written: `1.10`, `0x1F` and `"quoted"` stay so in a merged header.

An edit knows values only. What it wrote is written again as on the side that has the value; what cannot be is found.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from slicebase.errors import SlicebaseError
from slicebase.files.merge_lines import decide
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import same
from slicebase.files.yaml.scan import Node

_Path = tuple[str, ...]
_ON_ONE_LINE: Final = frozenset({"plain", "single", "double"})  # others are written with the indentation of their place


class _Written(NamedTuple):
    """A key or a scalar, as it is written and where."""

    source: str
    value: object
    start: int
    end: int


class Spelling:
    """How two sides and their base write the parts of a header."""

    def __init__(self, base: SliceFile | None, ours: SliceFile, theirs: SliceFile) -> None:
        self._base = _parts(base) if base else {}
        self._sides = _parts(ours), _parts(theirs)

    def restored(self, file: SliceFile) -> SliceFile:
        """Returns a header with everything written as on a side, if that does not change its values."""
        header = file.header
        for path, part in sorted(_parts(file).items(), key=lambda each: -each[1].start):
            known = self._known(path, part)
            if known and part.source not in known:
                header = header[: part.start] + known[0] + header[part.end :]
        if header == file.header:
            return file
        try:
            found = file.with_header(header)
        except SlicebaseError:
            return file
        return found if same(found.frontmatter, file.frontmatter) else file

    def is_kept(self, file: SliceFile) -> bool:
        """Returns whether everything in a header is written as on a side that has it, and a number as on any."""
        numbers = {part.source for side in self._sides for part in side.values() if not isinstance(part.value, str)}
        for path, part in _parts(file).items():
            known = self._known(path, part)
            if part.source not in (known or (numbers if not isinstance(part.value, str) else {part.source})):
                return False
        return True

    def _known(self, path: _Path, part: _Written) -> list[str]:
        """Returns how a part with its value is written by the side that changed it, or by both."""
        parts = [each if each and same(each.value, part.value) else None for each in self._versions(path)]
        base, one, other = (each.source if each else None for each in parts)
        chosen = decide(base, one, other) if one is not None and other is not None else (one, other)
        return [source for source in chosen if source is not None]

    def _versions(self, path: _Path) -> Iterator[_Written | None]:
        return (side.get(path) for side in (self._base, *self._sides))


def _parts(file: SliceFile) -> dict[_Path, _Written]:
    return dict(_written(file.header, file.tree, ()))


def _written(header: str, node: Node, path: _Path) -> Iterator[tuple[_Path, _Written]]:
    if node.form in _ON_ONE_LINE and "\n" not in header[node.start : node.end]:
        yield path, _Written(header[node.start : node.end], node.value, node.start, node.end)
    counts: dict[str, int] = {}
    for entry in node.entries:
        if node.is_map:
            source = header[entry.start : entry.after].rstrip().removesuffix(":").rstrip()
            yield (*path, "key", entry.key), _Written(source, entry.key, entry.start, entry.start + len(source))
            name = entry.key
        else:
            name = _name(entry.value)
            counts[name] = counts.get(name, -1) + 1
            name = f"{counts[name]} {name}"
        yield from _written(header, entry.value, (*path, "value", name))


def _name(item: Node) -> str:
    """Returns what an item of a list is known by, wherever it stands: a link by its target, others by their values."""
    value = item.value
    if isinstance(value, dict) and "rel" in value and "to" in value:
        value = value["rel"], value["to"]
    return f"{type(value).__name__} {value!r}"
