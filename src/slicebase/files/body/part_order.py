"""The order of a file and the parts that overflow created for it (ruling 32)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from slicebase.files.body.overflow import ARCHIVED, part_link, parts_of, whole_of
from slicebase.files.slice_file import SliceFile


class WithParts(NamedTuple):
    """A file, the archives of its older content, and the parts that continue it."""

    file: SliceFile
    archives: list[SliceFile]
    continued: list[SliceFile]


def arranged(file: SliceFile, parts: Iterable[SliceFile]) -> list[WithParts]:
    """Returns a file and the parts that overflow created for it, each with its own parts, and each before these."""
    waiting = {part.id: part for part in parts if part.id != file.id}
    return _arranged(file, waiting, _unnamed(waiting))


def _unnamed(parts: Mapping[str | None, SliceFile]) -> Mapping[str | None, list[str]]:
    """Returns the ids of parts by the file that they name, which may not name them yet."""
    found: dict[str | None, list[str]] = {}
    for part_id in sorted(filter(None, parts)):
        found.setdefault(whole_of(parts[part_id]), []).append(part_id)
    return found


def _arranged(
    file: SliceFile, waiting: dict[str | None, SliceFile], unnamed: Mapping[str | None, list[str]]
) -> list[WithParts]:
    """Takes the parts of a file out of those that wait."""
    found: list[WithParts] = []
    stack = [file]
    while stack:
        each = stack.pop()
        names = dict.fromkeys((*parts_of(each), *unnamed.get(each.id, ())))
        own = [waiting.pop(name) for name in names if name in waiting]
        archived = {*parts_of(each, ARCHIVED), *(part.id for part in own if part_link(part) == (each.id, ARCHIVED))}
        archives = [part for part in own if part.id in archived]
        found.append(WithParts(each, archives, [part for part in own if part.id not in archived]))
        stack += reversed((*archives, *found[-1].continued))
    return found


def ordered(file: SliceFile, parts: Iterable[SliceFile]) -> list[SliceFile]:
    """Returns a file with the parts that overflow created for it, in the order of their content.

    What was archived is older than the file, and what continues it is newer. A part may have parts of its own.
    """
    return _ordered(file, arranged(file, parts))


def each_ordered(files: Mapping[str | None, SliceFile], tops: Iterable[SliceFile]) -> Iterator[list[SliceFile]]:
    """Yields files by their ids, each with its parts as `ordered` has them; none that one before it has had as a part.

    People may join thousands of files, so that the parts of each are not looked for among all of them.
    """
    waiting, unnamed = dict(files), _unnamed(files)
    for file in tops:
        if waiting.pop(file.id, None) is not None:
            yield _ordered(file, _arranged(file, waiting, unnamed))


def _ordered(file: SliceFile, with_parts: Iterable[WithParts]) -> list[SliceFile]:
    below = {each.file.id: each for each in with_parts}
    found: list[SliceFile] = []
    stack = [(file, False)]
    while stack:
        each, has_parts_before = stack.pop()
        if has_parts_before:
            found.append(each)
            continue
        stack += [(part, False) for part in reversed(below[each.id].continued)]
        stack.append((each, True))
        stack += [(part, False) for part in reversed(below[each.id].archives)]
    return found
