"""Changes one key of a slice file so that only its lines change (ruling 20).

An entry owns the lines from its key or dash to the end of its value. Everything between entries, comments above all,
is never touched; a comment after a value stays after the new value.

The new text is inserted by position. Afterwards the file is read again: the edit is refused unless the file has the
wanted value there and the same values as before everywhere else.
"""

import re
from collections.abc import Callable
from typing import Any

from slicebase.errors import SlicebaseError
from slicebase.files.slice_file import KeyPath, SliceFile, steps
from slicebase.files.yaml.emit import Written, YamlLayout, inline, list_lines, mapping_lines, plain_value, written
from slicebase.files.yaml.scalars import MAX_NESTING
from slicebase.files.yaml.scan import Node, NodeEntry

# The edits

KeySteps = tuple[str, ...]
_GONE = object()  # in place of the value that a deleted key had


def set_key(file: SliceFile, path: KeyPath, value: Any) -> SliceFile:
    """Returns the file with this value under this key. Missing keys on the path to it are created."""
    where, value = steps(path), plain_value(value)
    if not where:
        raise misfit(file, where, "names no key")
    if len(where) > MAX_NESTING:
        raise misfit(file, where[:3], f"has {len(where)} parts, more than {MAX_NESTING}")
    old = file.node(where)
    if old is not None and same(old.value, value):
        return file
    if old is not None and old.is_map and old.entries and isinstance(value, dict) and value:
        return _set_mapping(file, where, old, value)
    return _edited(file, where, value, lambda splicer: splicer.set(where, value))


def delete_key(file: SliceFile, path: KeyPath) -> SliceFile:
    """Returns the file without this key or list item."""
    where = steps(path)
    return _edited(file, where, _GONE, lambda splicer: splicer.delete(where))


def append_item(file: SliceFile, path: KeyPath, item: Any) -> SliceFile:
    """Returns the file with one more item at the end of a list. A missing list is created."""
    where, item = steps(path), plain_value(item)
    node = file.node(where)
    items = None if node is None else node.value
    if items is None or items == []:
        return set_key(file, where, [item])
    if not isinstance(items, list):
        raise misfit(file, where, "is not a list")
    return _edited(file, where, [*items, item], lambda splicer: splicer.append(where, item))


def remove_item(file: SliceFile, path: KeyPath, position: int) -> SliceFile:
    """Returns the file without one item of a list, counted from 0."""
    return delete_key(file, (*steps(path), str(position)))


def same(one: Any, other: Any) -> bool:
    """Returns whether two values are equal and of the same types: 1, 1.0 and true differ, and nan equals nan."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other or (one != one and other != other))  # noqa: PLR0124  (nan)


def _set_mapping(file: SliceFile, path: KeySteps, old: Node, value: dict[str, Any]) -> SliceFile:
    """Sets a mapping key by key, so that equal values stay as they are written."""
    for key, item in value.items():
        file = set_key(file, (*path, key), item)
    for entry in old.entries:
        if entry.key not in value:
            file = delete_key(file, (*path, entry.key))
    return file


# Checking the result


def _edited(file: SliceFile, path: KeySteps, new: Any, edit: Callable[["Splicer"], str]) -> SliceFile:
    layout = layout_of(file)
    try:
        return _checked(file, path, new, edit(Splicer(file, layout)))
    except SlicebaseError as error:
        if error.code != "edit-refused":
            raise
    # A comment or an empty line after a literal block can become part of it. It cannot become part of a quoted text.
    return _checked(file, path, new, edit(Splicer(file, layout._replace(literal=False))))


def _checked(file: SliceFile, path: KeySteps, new: Any, header: str) -> SliceFile:
    wanted = _changed(file.frontmatter, path, new)
    try:
        edited = file.with_header(header)
        kept = same(edited.frontmatter, wanted) and same(edited.tree.value, wanted)
    except SlicebaseError as error:
        raise refused(file, f"the edited file could not be read: {error.message}", error.hint) from None
    if not kept:
        raise refused(file, "the edit would change more than this key", "edit the file by hand")
    if file.id is not None and edited.id != file.id:
        raise refused(file, "the id of a file never changes", "create a new file")
    return edited


def _changed(value: Any, path: KeySteps, new: Any) -> Any:
    """Returns a plain value with one part changed: the value that the edited file must have."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    deleted = new is _GONE and not rest
    if isinstance(value, list):
        at = int(step)
        return value[:at] + ([] if deleted else [_changed(value[at], rest, new)]) + value[at + 1 :]
    values = value or {}
    others = {key: item for key, item in values.items() if key != step} if deleted else values
    return others if deleted else {**others, step: _changed(values.get(step), rest, new)}


def misfit(file: SliceFile, path: KeySteps, what: str) -> SlicebaseError:
    """Returns the error for a path that does not fit the file."""
    return SlicebaseError("edit-path", f"{'.'.join(path) or 'an empty path'} {what}", where=file.where(path))


def refused(file: SliceFile, message: str, hint: str = "") -> SlicebaseError:
    """Returns the error for an edit that would do something else than it should."""
    return SlicebaseError("edit-refused", message, hint=hint, where=file.where())


# The new text of the header

_BLOCK_SCALAR = re.compile(r"[|>][-+\d]*")


class Splicer:
    """Finds the text of a header that an edit replaces, and returns the header with the replacement."""

    def __init__(self, file: SliceFile, layout: YamlLayout) -> None:
        self.file = file
        self.text = file.header
        self.layout = layout

    # The four edits

    def set(self, path: KeySteps, value: Any) -> str:
        trail = self.trail(path)
        if len(trail) == len(path):
            return self.replace(*trail[-1], value)
        for step in reversed(path[len(trail) + 1 :]):
            value = {step: value}
        key = path[len(trail)]
        node = trail[-1][1].value if trail else self.file.tree
        if node.is_map:
            return self.add_key(node, key, value)
        if trail and node.is_scalar and node.value is None:
            return self.replace(*trail[-1], {key: value})
        raise misfit(self.file, path[: len(trail)], f"is not a mapping, so it cannot hold {key!r}")

    def delete(self, path: KeySteps) -> str:
        trail = self.trail(path)
        if len(trail) < len(path) or not path:
            raise misfit(self.file, path, "does not exist")
        parent, entry = trail[-1]
        if parent.form in ("flow-map", "flow-list"):
            return self.delete_in_flow(parent, entry)
        if len(parent.entries) > 1:
            return self.delete_lines(entry)
        if len(trail) == 1:
            raise refused(self.file, "the only key of the frontmatter cannot be deleted")
        return self.replace(*trail[-2], {} if parent.is_map else [])

    def append(self, path: KeySteps, item: Any) -> str:
        node = self.trail(path)[-1][1].value
        if node.form == "flow-list":
            return self.add_in_flow(node, inline(item))
        return self.add_lines(node.end, list_lines([item], node.column, self.layout))

    def add_key(self, node: Node, key: str, value: Any) -> str:
        if node.form == "flow-map":
            return self.add_in_flow(node, f"{inline(key)}: {inline(value)}")
        return self.add_lines(node.end, mapping_lines({key: value}, node.column, self.layout))

    # Positions

    def trail(self, path: KeySteps) -> list[tuple[Node, NodeEntry]]:
        """Returns the entries along a path as far as they exist, each with the collection that contains it."""
        trail: list[tuple[Node, NodeEntry]] = []
        node = self.file.tree
        for step in path:
            entry = node.child(step)
            if entry is None:
                break
            trail.append((node, entry))
            node = entry.value
        return trail

    def line_start(self, offset: int) -> int:
        return self.text.rfind("\n", 0, offset) + 1

    def line_end(self, offset: int) -> int:
        """Returns the offset just before the line break of this offset's line."""
        end = self.text.index("\n", offset)
        return end - 1 if self.text[end - 1 : end] == "\r" else end

    def next_line(self, offset: int) -> int:
        return self.text.index("\n", offset) + 1

    def splice(self, start: int, end: int, new: str) -> str:
        return self.text[:start] + new + self.text[end:]

    def lines(self, lines: list[str]) -> str:
        return "".join(line + self.layout.newline for line in lines)

    def add_lines(self, after: int, lines: list[str]) -> str:
        place = self.next_line(after)
        return self.splice(place, place, self.lines(lines))

    # Block collections

    def replace(self, parent: Node, entry: NodeEntry, value: Any) -> str:
        old = entry.value
        if parent.form in ("flow-map", "flow-list"):
            if old.form != "empty":
                return self.splice(old.start, old.end, inline(value, like=old.form))
            colon = "" if self.text[entry.after - 1] == ":" else ":"
            return self.splice(entry.after, entry.after, f"{colon} {inline(value)}")
        new = written(value, parent.column, self.layout, in_list=parent.is_list, like=old.form)
        if old.start > self.line_end(entry.after):
            return self.replace_below(entry, old, new)
        return self.replace_after(entry, old, new)

    def replace_below(self, entry: NodeEntry, old: Node, new: Written) -> str:
        """Replaces a value that starts on a line below its key."""
        if not new.below and old.form not in ("block-map", "block-list", "literal", "folded"):
            return self.splice(old.start, old.end, new.head)
        first, last = self.line_start(old.start), self.next_line(old.end)
        head = f" {new.head}" if new.head else ""
        between = self.text[entry.after : first]
        return self.splice(entry.after, last, head + between + self.lines(new.below))

    def replace_after(self, entry: NodeEntry, old: Node, new: Written) -> str:
        """Replaces a value, or adds one, on the line of its key. A comment after it stays."""
        indicator = _BLOCK_SCALAR.match(self.text, old.start) if old.form in ("literal", "folded") else None
        in_key_line = indicator.end() if indicator else old.end
        line_end = self.line_end(in_key_line)
        comment = self.text[in_key_line:line_end]
        line_break = self.text[line_end : self.next_line(in_key_line)]
        gap = " " if new.below else self.text[entry.after : old.start] or " "
        head = gap + new.head if new.head else ""
        rest = self.next_line(old.end)
        return self.splice(entry.after, rest, head + comment + line_break + self.lines(new.below))

    def delete_lines(self, entry: NodeEntry) -> str:
        start, end = self.line_start(entry.start), self.next_line(entry.end)
        if self.text[start : entry.start].strip(" "):
            # The first key after a dash: the text that follows moves up to the dash.
            start = entry.start
            while self.text[end : end + 1] == " ":
                end += 1
        return self.splice(start, end, "")

    # Flow collections

    def add_in_flow(self, node: Node, item: str) -> str:
        if not node.entries:
            return self.splice(node.start + 1, node.start + 1, item)
        end = node.entries[-1].end
        # Some readers find one more key in `{a:, b: c}`, so a space separates the comma from the colon.
        return self.splice(end, end, f"{' ' if self.text[end - 1] == ':' else ''}, {item}")

    def delete_in_flow(self, parent: Node, entry: NodeEntry) -> str:
        at = parent.entries.index(entry)
        end = entry.end
        if at + 1 < len(parent.entries):
            return self.splice(entry.start, parent.entries[at + 1].start, "")
        before = parent.entries[at - 1] if at else None
        start = before.end if before else entry.start
        if "#" in self.text[start : entry.start]:
            start = entry.start  # a comment belongs to the item before: the comma stays with it
        elif not before and self.text[end : end + 1] == ",":
            end += 1
        return self.splice(start, end, "")


def layout_of(file: SliceFile) -> YamlLayout:
    """Returns the layout of a file, taken from its first nested mapping and its first nested list."""
    found: dict[str, int] = {}
    waiting = [file.tree]
    while waiting and len(found) < 2:
        node = waiting.pop(0)
        for entry in node.entries:
            below = entry.value
            if node.form == "block-map" and below.form in ("block-map", "block-list"):
                found.setdefault(below.form, below.column - node.column)
            waiting.append(below)
    default = YamlLayout()
    return YamlLayout(found.get("block-map", default.step), found.get("block-list", default.list_step), file.newline)
