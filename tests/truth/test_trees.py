"""The trees of sessions are read once for all that read the same database."""

import gc
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from time import sleep
from typing import Any

import pytest

from slicebase import Slicebase
from slicebase.truth import trees
from slicebase.truth.trees import StoredTree, StoredTrees
from tests.browser.memories import GROWING, growing


@pytest.fixture
def root(tmp_path: Path) -> Path:
    with Slicebase.init(tmp_path / "one") as memory:
        memory.import_(growing(tmp_path / "talk.jsonl", range(20)))
        return memory.root


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the trees that were read."""
    sizes, plain = list[int](), StoredTrees._read

    def counted(self: StoredTrees, *given: Any) -> StoredTree:
        sleep(0.05)
        found = plain(self, *given)
        sizes.append(len(found.tree))
        return found

    monkeypatch.setattr(StoredTrees, "_read", counted)
    return sizes


def tree_of(memory: Slicebase) -> StoredTree:
    return memory.truth.trees.of(GROWING)


def test_threads_that_want_a_tree_at_once_read_it_once(root: Path, read: list[int]) -> None:
    together = Barrier(4)

    def one(_: int) -> StoredTree:
        with Slicebase.open(root) as own:
            together.wait(20)
            return tree_of(own)

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(one, range(4)))
    assert read == [20]
    assert all(each is found[0] for each in found)


def test_a_tree_that_has_grown_is_read_again_and_shared(root: Path, tmp_path: Path, read: list[int]) -> None:
    with Slicebase.open(root) as one, Slicebase.open(root) as other:
        before = tree_of(one)
        assert tree_of(other) is before
        one.import_(growing(tmp_path / "talk.jsonl", range(30)))
        assert tree_of(other) is tree_of(one) is not before
        assert [len(each.tree) for each in (before, tree_of(one))] == read == [20, 30]


def test_a_copy_of_a_database_has_trees_of_its_own(root: Path, tmp_path: Path, read: list[int]) -> None:
    copy = Path(shutil.copytree(root, tmp_path / "copy"))
    with Slicebase.open(root) as one, Slicebase.open(copy) as other:
        assert tree_of(one) is not tree_of(other)
    assert read == [20, 20]


def test_a_tree_that_nobody_has_is_gone(root: Path, read: list[int]) -> None:
    for _ in range(2):
        with Slicebase.open(root) as memory:
            tree_of(memory)
        del memory
        gc.collect()
        assert not [key for key in trees._shared if root in key[0].parents]  # type: ignore[index]
    assert read == [20, 20]
