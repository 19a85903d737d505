"""Changes of files in the arguments of tool calls."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.graph.edits import difference, edits_in

PATCH = """*** Begin Patch
*** Update File: src/a.py
@@ def f():
-    return 1
+    return 2
*** Add File: b.txt
+new
*** End Patch"""


def test_two_texts_are_shown_as_their_difference() -> None:
    (edit,) = edits_in("Edit", {"file_path": "a.py", "old_string": "x\ny\nz", "new_string": "x\nY\nz"})
    assert edit == ("a.py", [" x", "-y", "+Y", " z"])


def test_several_pairs_are_one_change_of_the_file_at_several_places() -> None:
    pairs = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]
    (edit,) = edits_in("MultiEdit", {"file_path": "a", "edits": pairs})
    assert edit.lines == ["-a", "+b", "@@", "-c", "+d"]


def test_a_file_that_is_written_is_added() -> None:
    (edit,) = edits_in("Write", {"file_path": "a", "content": "one\ntwo\n"})
    assert edit.lines == ["+one", "+two"]
    assert edits_in("Read", {"file_path": "a", "content": "one"}) == []


@pytest.mark.parametrize(
    "arguments",
    [PATCH, {"input": PATCH}, {"patch": PATCH}, {"command": ["apply_patch", PATCH]}, {"cmd": f"x <<E\n{PATCH}\nE"}],
)
def test_a_patch_has_a_change_for_each_file(arguments: Any) -> None:
    first, second = edits_in("apply_patch", arguments)
    assert first == ("src/a.py", ["@@ def f():", "-    return 1", "+    return 2"])
    assert second == ("b.txt", ["+new"])


def test_a_patch_says_which_file_it_deletes_and_moves() -> None:
    patch = """*** Begin Patch
*** Delete File: old.py
*** Update File: a.txt
*** Move to: b.txt
@@
-x
+y
*** End of File
*** End Patch"""
    deleted, moved = edits_in("apply_patch", patch)
    assert deleted == ("old.py", ["@@ deleted"])
    assert moved == ("a.txt", ["@@ moved to b.txt", "@@", "-x", "+y"])


@pytest.mark.parametrize("arguments", [None, 3, [], {}, {"file_path": 3, "old_string": "a"}, {"edits": [1]}, "ls"])
def test_other_arguments_change_nothing(arguments: Any) -> None:
    assert edits_in("Edit", arguments) == []


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_a_difference_has_what_was_removed_and_what_was_added(old: list[str], new: list[str]) -> None:
    lines = difference("\n".join(old), "\n".join(new))
    removed, added = (sum(line.startswith(mark) for line in lines) for mark in "-+")
    assert added - removed == len(new) - len(old)
    assert bool(lines) == (old != new)


def test_long_texts_are_not_compared() -> None:
    lines = difference("a\n" * 1000, "a\n" * 1000)
    assert lines == ["-a"] * 1000 + ["+a"] * 1000
