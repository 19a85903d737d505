"""Editing one key does not change any other line (ruling 20)."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.files.model import Link
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import append_item, delete_key, remove_item, same, set_key
from tests.codes import code_of
from tests.files.strategies import Header, Path, headers, scalars, values

BODY = b"body: not: yaml\n---\n"


def file_with(header: str) -> SliceFile:
    return SliceFile.parse(b"---\n" + header.encode() + b"---\n" + BODY, "x.slice")


def after(edit: Callable[..., SliceFile], header: str, *arguments: Any) -> str:
    edited = edit(file_with(header), *arguments)
    assert edited.body == BODY
    return edited.header


# ---- one edit at a time: the header before, the edit's arguments, the header after

SETTING: dict[str, tuple[str, str, Any, str]] = {
    "plain": ("a: old # why\nb: 1\n", "a", "new", "a: new # why\nb: 1\n"),
    "quoted where needed": ("a: old\n", "a", "no", 'a: "no"\n'),
    "single quotes stay": ("a: 'old'\n", "a", "it's", "a: 'it''s'\n"),
    "double quotes stay": ('a: "old"  # why\n', "a", "new", 'a: "new"  # why\n'),
    "number": ("a: old\n", "a", 3, "a: 3\n"),
    "over several lines": ("a: one\n  two # why\nb: 1\n", "a", "new", "a: new # why\nb: 1\n"),
    "quoted over several lines": ("a: 'one\n  two' # why\nb: 1\n", "a", "new", "a: 'new' # why\nb: 1\n"),
    "literal": ("a: | # why\n  one\n\n  two\n\nb: 1\n", "a", "new", "a: new # why\n\nb: 1\n"),
    "kept": ("a: |+\n  one\n\nb: 1\n", "a", "new", "a: new\nb: 1\n"),
    "literal without content": ("a: |\nb: 1\n", "a", "new", "a: new\nb: 1\n"),
    "to several lines": ("a: old # why\nb: 1\n", "a", "x\ny", "a: |- # why\n  x\n  y\nb: 1\n"),
    "empty": ("a:\nb: 1\n", "a", "new", "a: new\nb: 1\n"),
    "empty with a comment": ("a: # why\nb: 1\n", "a", "new", "a: new # why\nb: 1\n"),
    "below its key": ("a:\n  old # why\nb: 1\n", "a", "new", "a:\n  new # why\nb: 1\n"),
    "literal below its key": ("a:\n  |\n   old\nb: 1\n", "a", "new", "a: new\nb: 1\n"),
    "below its key to several lines": ("a:\n\n  # why\n  old\n", "a", "x\ny", 'a:\n\n  # why\n  "x\\ny"\n'),
    "to several lines before a comment": ("a:\n    # b\nc: 1\n", "a", "x\ny", 'a: "x\\ny"\n    # b\nc: 1\n'),
    "nested": ("a:\n    b:\n        c: 1 # why\n", "a.b.c", 2, "a:\n    b:\n        c: 2 # why\n"),
    "mapping by scalar": ("a: # why\n  b: 1\n  # gone\n  c: 2\nd: 3\n", "a", "new", "a: new # why\nd: 3\n"),
    "list by scalar": ("a:\n- b\n- c\nd: 3\n", "a", None, "a: null\nd: 3\n"),
    "scalar by mapping": ("a: old # why\nb: 1\n", "a", {"c": {"d": 1}}, "a: # why\n  c:\n    d: 1\nb: 1\n"),
    "scalar by list": ("a: old\nb: 1\n", "a", ["x", {"c": 1, "d": 2}], "a:\n  - x\n  - c: 1\n    d: 2\nb: 1\n"),
    "below its key by mapping": ("a:\n  # why\n  old\nb: 1\n", "a", {"c": 1}, "a:\n  # why\n  c: 1\nb: 1\n"),
    "list by list": ("a: # why\n- b\n- c\nd: 1\n", "a", ["x"], "a: # why\n- x\nd: 1\n"),
    "mapping key by key": (
        "a:\n  b: 1 # one\n  c: 2 # two\n  d: 3\n",
        "a",
        {"b": 1, "c": 9, "e": 4},
        "a:\n  b: 1 # one\n  c: 9 # two\n  e: 4\n",
    ),
    "to nothing in it": ("a:\n  b: 1\nc: 2\n", "a", {}, "a: {}\nc: 2\n"),
    "in a flow mapping": ("a: {b: old, c: 'd'} # why\n", "a.b", "x, y", "a: {b: \"x, y\", c: 'd'} # why\n"),
    "in a flow list": ("a: [b, 'c']\n", "a.1", "new", "a: [b, 'new']\n"),
    "empty in a flow mapping": ("a: {b, c: , d: }\n", "a.c", 1, "a: {b, c: 1 , d: }\n"),
    "alone in a flow mapping": ("a: {b, c}\n", "a.b", 1, "a: {b: 1, c}\n"),
    "flow over several lines": ("a: {b: 1, # one\n  c: 2 } # why\n", "a.c", 3, "a: {b: 1, # one\n  c: 3 } # why\n"),
    "collection in a flow mapping": ("a: {b: 1}\n", "a.b", {"c": [1, "x: y"]}, 'a: {b: {c: [1, "x: y"]}}\n'),
    "after a dash": ("a:\n  - old # why\n  - c\n", "a.0", "new", "a:\n  - new # why\n  - c\n"),
    "mapping after a dash": ("a:\n  - b: 1\n    c: 2\n  - d\n", "a.0", "new", "a:\n  - new\n  - d\n"),
    "to a mapping after a dash": ("a:\n- b\n- c\n", "a.0", {"d": 1, "e": 2}, "a:\n- d: 1\n  e: 2\n- c\n"),
    "to a mapping far after a dash": ("a:\n-    b\n", "a.0", {"d": 1, "e": 2}, "a:\n- d: 1\n  e: 2\n"),
    "below a dash": ("a:\n-\n\n  old\n", "a.0", "x\ny", 'a:\n-\n\n  "x\\ny"\n'),
    "key in a list's item": ("a:\n  - b: 1\n    c: 2\n", "a.0.c", 3, "a:\n  - b: 1\n    c: 3\n"),
    "first key in a list's item": ("a:\n  - b: 1\n    c: 2\n", "a.0.b", 3, "a:\n  - b: 3\n    c: 2\n"),
    "odd spacing": ("a :   old   # why\n", "a", "new", "a :   new   # why\n"),
    "quoted key": ("'a': old\n\"b\": 1\n", "b", 2, "'a': old\n\"b\": 2\n"),
    "windows": ("a: old # why\r\nb: 1\r\n", "a", "new", "a: new # why\r\nb: 1\r\n"),
    "new key": ("a:\n  b: 1 # why\n\n# end\nc: 2\n", "a.d", "x", "a:\n  b: 1 # why\n  d: x\n\n# end\nc: 2\n"),
    "new key at the end": ("a:\n  b: |\n    text\n\n", "a.c", 1, "a:\n  b: |\n    text\n  c: 1\n\n"),
    "new key after kept lines": ("a:\n  b: |+\n    t\n\nc: 1\n", "a.d", 1, "a:\n  b: |+\n    t\n\n  d: 1\nc: 1\n"),
    "new key in the file's indentation": ("a:\n    b: 1\n", "a.c.d", 1, "a:\n    b: 1\n    c:\n        d: 1\n"),
    "new list in the file's indentation": ("a:\n- b\n", "c", ["d"], "a:\n- b\nc:\n- d\n"),
    "new key in a list's item": ("a:\n  - b: 1\n  - c\n", "a.0.d", 2, "a:\n  - b: 1\n    d: 2\n  - c\n"),
    "new key in an empty mapping": ("a: {}\n", "a.b", 1, "a: {b: 1}\n"),
    "new key in a flow mapping": ("a: {b: 1}\n", "a.c d", "x", "a: {b: 1, c d: x}\n"),
    "new key after a comma": ("a: {b: 1, }\n", "a.c", 2, "a: {b: 1, c: 2, }\n"),
    "new key after an empty one": ("a: {b:}\n", "a.c", 2, "a: {b: , c: 2}\n"),
    "new key where nothing was": ("a: # why\nb: 1\n", "a.c.d", 2, "a: # why\n  c:\n    d: 2\nb: 1\n"),
    "new key where null was": ("a: ~\nb: 1\n", "a.c", 2, "a:\n  c: 2\nb: 1\n"),
    "missing parents": ("a: 1\n", "b.c.d", [1], "a: 1\nb:\n  c:\n    d:\n      - 1\n"),
    "a key that needs quotes": ("a: {}\nb: 1\n", "no", 1, 'a: {}\nb: 1\n"no": 1\n'),
}


@pytest.mark.parametrize("name", SETTING)
def test_setting_a_key_changes_its_lines_only(name: str) -> None:
    before, path, value, expected = SETTING[name]
    assert after(set_key, before, path, value) == expected


DELETING: dict[str, tuple[str, str, str]] = {
    "scalar": ("# top\na: 1 # why\n# between\nb: 2\n", "a", "# top\n# between\nb: 2\n"),
    "last": ("a: 1\nb: 2\n# end\n", "b", "a: 1\n# end\n"),
    "mapping": ("a:\n  b: 1\n  # in\n  c: 2\nd: 3\n", "a", "d: 3\n"),
    "literal": ("a: |\n  x\n\n  y\n\nb: 1\n", "a", "\nb: 1\n"),
    "text over several lines": ("a: x\n  y\nb: 1\n", "a", "b: 1\n"),
    "empty": ("a:\nb: 1\n", "a", "b: 1\n"),
    "only key of its parent": ("a: # why\n  b: 1\nc: 2\n", "a.b", "a: {} # why\nc: 2\n"),
    "only item of its parent": ("a:\n- b\nc: 2\n", "a.0", "a: []\nc: 2\n"),
    "item": ("a:\n  - b # why\n  - c\n", "a.0", "a:\n  - c\n"),
    "item of several lines": ("a:\n- b: 1\n  c: 2\n- d\n", "a.0", "a:\n- d\n"),
    "first key after a dash": ("a:\n  - b: 1 # why\n    c: 2\n", "a.0.b", "a:\n  - c: 2\n"),
    "first key before a comment": ("a:\n  - b: 1\n    # why\n    c: 2\n", "a.0.b", "a:\n  - # why\n    c: 2\n"),
    "second key after a dash": ("a:\n  - b: 1\n    c: 2\n", "a.0.c", "a:\n  - b: 1\n"),
    "first of nested lists": ("a:\n- - b\n  - c\n", "a.0.0", "a:\n- - c\n"),
    "first in flow": ("a: {b: 1, c: 2}\n", "a.b", "a: {c: 2}\n"),
    "last in flow": ("a: [b, c] # why\n", "a.1", "a: [b] # why\n"),
    "middle in flow": ("a: [b, c, d]\n", "a.1", "a: [b, d]\n"),
    "only one in flow": ("a: [b]\n", "a.0", "a: []\n"),
    "only one with a comma": ("a: [b,]\n", "a.0", "a: []\n"),
    "last with a comma": ("a: [b, c, ]\n", "a.1", "a: [b, ]\n"),
    "flow with comments": ("a: [b, # about b\n  c]\n", "a.1", "a: [b, # about b\n  ]\n"),
    "windows": ("a: 1\r\nb: 2\r\n", "a", "b: 2\r\n"),
}


@pytest.mark.parametrize("name", DELETING)
def test_deleting_a_key_removes_its_lines_only(name: str) -> None:
    before, path, expected = DELETING[name]
    assert after(delete_key, before, path) == expected


APPENDING: dict[str, tuple[str, str, Any, str]] = {
    "indented": ("a:\n    - b # why\nc: 1\n", "a", "d", "a:\n    - b # why\n    - d\nc: 1\n"),
    "not indented": ("a:\n- b\n# end\nc: 1\n", "a", "d", "a:\n- b\n- d\n# end\nc: 1\n"),
    "mapping": ("a:\n- b: 1\n  c: 2\n", "a", {"b": 3, "c": [4]}, "a:\n- b: 1\n  c: 2\n- b: 3\n  c:\n  - 4\n"),
    "text that needs quotes": ("a:\n  - b\n", "a", "x: y", 'a:\n  - b\n  - "x: y"\n'),
    "several lines": ("a:\n  - b\n", "a", "x\ny\n", "a:\n  - b\n  - |\n    x\n    y\n"),
    "nested": ("a:\n- - b\n- c\n", "a.0", "d", "a:\n- - b\n  - d\n- c\n"),
    "flow": ("a: [b, 'c'] # why\n", "a", "d, e", "a: [b, 'c', \"d, e\"] # why\n"),
    "flow over several lines": ("a: [\n  b, # b\n  c # c\n]\n", "a", "d", "a: [\n  b, # b\n  c, d # c\n]\n"),
    "empty flow": ("a: [] # why\nb: 1\n", "a", "d", "a: # why\n  - d\nb: 1\n"),
    "empty flow in flow": ("a: {b: []}\n", "a.b", "d", "a: {b: [d]}\n"),
    "nothing": ("a:\nb: 1\n", "a", "d", "a:\n  - d\nb: 1\n"),
    "missing": ("a:\n  b: 1\n", "a.c", "d", "a:\n  b: 1\n  c:\n    - d\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", APPENDING)
def test_appending_to_a_list_adds_lines_only(name: str) -> None:
    before, path, item, expected = APPENDING[name]
    assert after(append_item, before, path, item) == expected


def test_typed_values_can_be_written() -> None:
    file = append_item(file_with("slice:\n  id: x\n"), "slice.links", Link("see_also", "01J", "more"))
    assert file.links == (Link("see_also", "01J", "more"),)
    assert remove_item(file, "slice.links", 0).links == ()


def test_setting_a_value_that_a_key_already_has_changes_nothing() -> None:
    file = file_with("a: 'x' # why\nb: {c: 1}\n")
    assert set_key(file, "a", "x") is file
    assert set_key(file, "b", {"c": 1}) is file


def test_a_key_with_a_dot_is_named_by_a_tuple() -> None:
    assert after(set_key, "a:\n  b.c: 1\n", ("a", "b.c"), 2) == "a:\n  b.c: 2\n"


def test_byte_order_mark_line_ends_and_marker_spaces_stay() -> None:
    """Ruling 20."""
    data = b"\xef\xbb\xbf--- \r\nslice:\r\n  id: x\r\n---\t\r\nbody\r\n"
    edited = set_key(SliceFile.parse(data), "slice.meta.author", "kim")
    assert edited.to_bytes() == data.replace(b"x\r\n---", b"x\r\n  meta:\r\n    author: kim\r\n---")


# ---- refusals


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        (lambda file: set_key(file, "slice.id", "y"), "edit-refused"),  # ruling 25: an id never changes
        (lambda file: delete_key(file, "slice.id"), "edit-refused"),
        (lambda file: set_key(file, "slice", {"title": "z"}), "edit-refused"),
        (lambda file: set_key(file, "slice.title.x", 1), "edit-path"),
        (lambda file: set_key(file, "slice.tags.x", 1), "edit-path"),
        (lambda file: set_key(file, "slice.tags.9", 1), "edit-path"),
        (lambda file: set_key(file, (), {"a": 1}), "edit-path"),
        (lambda file: delete_key(file, "slice.nothing"), "edit-path"),
        (lambda file: delete_key(file, ()), "edit-path"),
        (lambda file: delete_key(file, "slice"), "edit-refused"),
        (lambda file: append_item(file, "slice.title", 1), "edit-path"),
        (lambda file: remove_item(file, "slice.tags", 9), "edit-path"),
        (lambda file: set_key(file, "slice.big", "x" * 70_000), "edit-refused"),
        (lambda file: set_key(file, "slice.deep", nested(70)), "yaml-nesting"),
        (lambda file: set_key(file, "slice.x", b"bytes"), "not-json-value"),
    ],
)
def test_an_edit_that_cannot_be_made_is_refused(edit: Callable[[SliceFile], SliceFile], code: str) -> None:
    file = file_with("slice:\n  id: x\n  title: t\n  tags: [a]\n")
    with pytest.raises(SlicebaseError) as caught:
        edit(file)
    assert caught.value.code == code


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


# ---- properties


def frame(h: Header) -> SliceFile:
    marker = f"---{h.newline}"
    return SliceFile.parse(f"{marker}{h.text}{marker}".encode() + BODY)


def look(value: Any, path: Path) -> Any:
    for step in path:
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def owned(h: Header, path: Path) -> tuple[int, int]:
    """Returns the first and last line that belong to a key and everything in it."""
    lines = [at for at, line in enumerate(h.lines) if line.owner[: len(path)] == path]
    return lines[0], lines[-1] + 1


def only_changed(before: str, after: str, first: int, last: int) -> bool:
    """Returns whether all lines of `before` except those from `first` to `last` are in `after`, in their positions."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    rest = len(old) - last
    return first + rest <= len(new) and new[:first] == old[:first] and new[len(new) - rest :] == old[last:]


def only_added(before: str, after: str) -> bool:
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    same_lines = next((at for at in range(len(old)) if old[at] != new[at]), len(old))
    return only_changed(before, after, same_lines, same_lines)


@given(headers(), st.data(), values)
def test_setting_any_key_of_any_header(h: Header, data: st.DataObject, value: Any) -> None:
    file = frame(h)
    path = data.draw(st.sampled_from(h.paths))
    edited = set_key(file, path, value)
    assert same(look(edited.frontmatter, path), value)
    assert edited.body == file.body
    assert only_changed(h.text, edited.header, *owned(h, path))


@given(headers(), st.data())
def test_deleting_any_key_of_any_header(h: Header, data: st.DataObject) -> None:
    file = frame(h)
    path = data.draw(st.sampled_from(h.paths))
    assume(path != ("slice",) or len(file.frontmatter) > 1)
    edited = delete_key(file, path)
    alone = len(look(file.frontmatter, path[:-1])) == 1
    first, last = owned(h, path[:-1] if alone else path)
    # The line below the first key after a dash moves up to the dash.
    assert any(only_changed(h.text, edited.header, first, end) for end in (last, last + 1))


@given(headers(), st.data(), scalars, st.sampled_from(["new", "new.a", "new.a.b"]))
def test_adding_a_key_anywhere_only_adds_lines(h: Header, data: st.DataObject, value: Any, name: str) -> None:
    file = frame(h)
    maps = [path for path in h.paths if (node := file.node(path)) and node.form == "block-map"]
    path = (*data.draw(st.sampled_from(maps)), *name.split("."))
    edited = set_key(file, path, value)
    assert same(look(edited.frontmatter, path), value)
    assert only_added(h.text, edited.header)


@given(headers(), st.data(), values)
def test_appending_to_any_list_only_adds_lines(h: Header, data: st.DataObject, value: Any) -> None:
    file = frame(h)
    lists = [path for path in h.paths if (node := file.node(path)) and node.form == "block-list"]
    assume(lists)
    path = data.draw(st.sampled_from(lists))
    edited = append_item(file, path, value)
    assert same(look(edited.frontmatter, path)[-1], value)
    assert only_added(h.text, edited.header)
    assert remove_item(edited, path, len(look(file.frontmatter, path))).to_bytes() == file.to_bytes()


def test_a_key_or_a_value_that_is_too_deep_is_refused() -> None:
    file = SliceFile.parse(b"---\na: 1\n---\n")
    deep: Any = "x"
    for _ in range(5_000):
        deep = [deep]
    assert code_of(set_key, file, "b", deep) == "yaml-nesting"
    assert code_of(set_key, file, "a." * 5_000 + "a", 1) == "edit-path"
