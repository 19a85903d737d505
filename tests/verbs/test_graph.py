"""Context slices of a workspace: selecting one writes nothing, and a stored one is checked with its policy."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from slicebase import Slicebase
from slicebase.graph.policy import SlicePolicyV1
from tests.conversations import SESSION, annotate, name, on_file, turn

OWN = SlicePolicyV1(max_nodes=2)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path) as made:
        made.truth.turns.add(SESSION, [turn("a"), turn("b", "a"), turn("c", "b")], annotate)
        yield made


def test_a_slice_with_any_policy_writes_nothing_and_waits_for_no_writer(memory: Slicebase) -> None:
    writer = apsw.Connection(str(memory.truth.database.path))
    writer.execute("BEGIN IMMEDIATE")
    before = on_file(memory.truth).connection.total_changes()
    assert len(memory.graph.select(name("a"), OWN).contents.turns) == 2
    assert on_file(memory.truth).connection.total_changes() == before
    writer.execute("ROLLBACK")
    writer.close()
    assert "policies" not in memory.verify().checked


def test_a_policy_that_a_context_was_built_with_is_stored(memory: Slicebase, tmp_path: Path) -> None:
    """A context is recorded, so that it can be replayed."""
    file = tmp_path / "own.json"
    file.write_text('{"max_nodes": 2}')
    memory.context("text of a", policy=file)
    export = memory.graph.select(name("a"), OWN).export
    assert memory.graph.verify(export).status == "VERIFIED"
