"""Changing one key of a slice file so that only its lines change (ruling 20).

The new text is spliced in by position. Afterwards the file is read again: unless it says what was wanted, and the same
as before everywhere else, the edit is refused.
"""

from collections.abc import Callable
from typing import Any

from slicebase.errors import SlicebaseError
from slicebase.files.emit import plain_value
from slicebase.files.fields import KeyPath, steps
from slicebase.files.slice_file import SliceFile
from slicebase.files.splice import Splicer, Steps, layout_of, misfit, refused
from slicebase.files.tree import Node


def set_key(file: SliceFile, path: KeyPath, value: Any) -> SliceFile:
    """The file with this value under this key; keys on the way to it are made where they are missing."""
    where, value = steps(path), plain_value(value)
    if not where:
        raise misfit(file, where, "names no key")
    old = file.node(where)
    if old is not None and same(old.value, value):
        return file
    if old is not None and old.is_map and old.entries and isinstance(value, dict) and value:
        return _set_mapping(file, where, old, value)
    return _edited(file, where, value, lambda splicer: splicer.set(where, value))


def delete_key(file: SliceFile, path: KeyPath) -> SliceFile:
    """The file without this key or list item."""
    where = steps(path)
    return _edited(file, where, _GONE, lambda splicer: splicer.delete(where))


def append_item(file: SliceFile, path: KeyPath, item: Any) -> SliceFile:
    """The file with one more item at the end of a list, which is made where it is missing."""
    where, item = steps(path), plain_value(item)
    node = file.node(where)
    items = None if node is None else node.value
    if items is None or items == []:
        return set_key(file, where, [item])
    if not isinstance(items, list):
        raise misfit(file, where, "is no list")
    return _edited(file, where, [*items, item], lambda splicer: splicer.append(where, item))


def remove_item(file: SliceFile, path: KeyPath, position: int) -> SliceFile:
    """The file without one item of a list, counted from 0."""
    return delete_key(file, (*steps(path), str(position)))


def same(one: Any, other: Any) -> bool:
    """Equal and of the same types: 1, 1.0 and true are three values, and nan is itself."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other or (one != one and other != other))  # noqa: PLR0124  (nan)


def _set_mapping(file: SliceFile, path: Steps, old: Node, value: dict[str, Any]) -> SliceFile:
    """Key by key, so that what stays the same stays as it is written."""
    for key, item in value.items():
        file = set_key(file, (*path, key), item)
    for entry in old.entries:
        if entry.key not in value:
            file = delete_key(file, (*path, entry.key))
    return file


# ---- the check


def _edited(file: SliceFile, path: Steps, new: Any, edit: Callable[[Splicer], str]) -> SliceFile:
    layout = layout_of(file)
    try:
        return _checked(file, path, new, edit(Splicer(file, layout)))
    except SlicebaseError as error:
        if error.code != "edit-refused":
            raise
    # A comment or an empty line can become part of a literal block; texts in quotes cannot take in what follows.
    return _checked(file, path, new, edit(Splicer(file, layout._replace(literal=False))))


def _checked(file: SliceFile, path: Steps, new: Any, header: str) -> SliceFile:
    wanted = _changed(file.frontmatter, path, new)
    try:
        edited = file.with_header(header)
        kept = same(edited.frontmatter, wanted) and same(edited.tree.value, wanted)
    except SlicebaseError as error:
        raise refused(file, f"the file could not be read any more: {error.message}", error.hint) from None
    if not kept:
        raise refused(file, "the edit would change more than this key", "edit the file by hand")
    if file.id is not None and edited.id != file.id:
        raise refused(file, "the id of a file never changes", "create a new file")
    return edited


_GONE = object()


def _changed(value: Any, path: Steps, new: Any) -> Any:
    """A plain value with one place of it changed: what the edited file has to say."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    goes = new is _GONE and not rest
    if isinstance(value, list):
        at = int(step)
        return value[:at] + ([] if goes else [_changed(value[at], rest, new)]) + value[at + 1 :]
    values = value or {}
    others = {key: item for key, item in values.items() if key != step} if goes else values
    return others if goes else {**others, step: _changed(values.get(step), rest, new)}
