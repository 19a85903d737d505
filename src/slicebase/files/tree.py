"""The tree that the scanner makes of a YAML text: every node knows where it stands."""

from typing import Any, Literal, NamedTuple

from slicebase.files.scalars import resolve

Form = Literal[
    "empty", "plain", "single", "double", "literal", "folded", "block-map", "flow-map", "block-list", "flow-list"
]


class Node(NamedTuple):
    """A scalar, a mapping or a list. `start` and `end` are offsets into the text, `end` past the last character."""

    form: Form
    start: int
    end: int
    text: str = ""  # a scalar's content
    entries: "tuple[Entry, ...]" = ()
    column: int = 0  # where the keys or dashes of a block collection stand, from 0

    @property
    def is_map(self) -> bool:
        return self.form in ("block-map", "flow-map")

    @property
    def is_list(self) -> bool:
        return self.form in ("block-list", "flow-list")

    @property
    def is_scalar(self) -> bool:
        return not self.entries and not self.is_map and not self.is_list

    @property
    def value(self) -> Any:
        if self.is_map:
            return {entry.key: entry.value.value for entry in self.entries}
        if self.is_list:
            return [entry.value.value for entry in self.entries]
        return resolve(self.text) if self.form in ("plain", "empty") else self.text

    def child(self, step: str) -> "Entry | None":
        """The entry of this key, or of this position in a list."""
        if self.is_list:
            position = int(step) if step.isascii() and step.isdigit() and len(step) < 9 else len(self.entries)
            return self.entries[position] if position < len(self.entries) else None
        return next((entry for entry in self.entries if entry.key == step), None)


class Entry(NamedTuple):
    """A key with its value, or an item of a list."""

    start: int  # of the key, the dash, or a flow list's item
    after: int  # just past the colon or the dash; the start of a flow list's item
    key: str  # "" in a list
    value: Node

    @property
    def end(self) -> int:
        return max(self.after, self.value.end)
