"""Snapshots that are stored as additions, and read again."""

from pathlib import Path
from typing import Any

import pytest

from slicebase import Slicebase
from slicebase.errors import SlicebaseError
from slicebase.runs import parts
from slicebase.runs.snapshot import to_bytes
from slicebase.runs.state import Json
from tests.runs.made import claim
from tests.verbs.test_verify import without_triggers

RUN = "r"


def test_a_snapshot_with_many_additions_is_the_one_that_was_stored(tmp_path: Path) -> None:
    kept: list[bytes] = []
    with Slicebase.init(tmp_path) as memory:
        memory.runs.start(RUN, "Objective", "Done")
        for number in range(20):
            memory.runs.claim(RUN, f"It is so, says the witness with the number {number}. " * 20)
            memory.runs.claim(RUN, id=f"c{number // 2 + 1}", status="retracted")
            memory.runs.compact(RUN)
            kept.append(to_bytes(memory.runs.snapshot(RUN)))
    with Slicebase.open(tmp_path) as memory:
        assert [to_bytes(memory.runs.snapshot(RUN, number)) for number in range(1, 21)] == kept
        weights = [record.weight for record in memory.truth.runs.snapshots.records(RUN)]
        assert 0 in weights
        assert any(weights)


def test_a_snapshot_whose_text_was_changed_is_not_continued(tmp_path: Path) -> None:
    """The gate checks only what is new: it relies on the text that passed."""
    with Slicebase.init(tmp_path) as memory:
        memory.runs.start(RUN, "Objective", "Done")
        memory.runs.claim(RUN, "It is so.")
        memory.runs.compact(RUN)
        (record,) = memory.truth.runs.snapshots.records(RUN)
    with without_triggers(tmp_path / ".slicebase" / "slicebase.db") as connection:
        forged = "UPDATE texts SET bytes = CAST(replace(CAST(bytes AS TEXT), 'candidate', 'verified') AS BLOB) "
        connection.execute(f"{forged} WHERE hash = ?", (bytes.fromhex(record.body[7:]),))
    with Slicebase.open(tmp_path) as memory:
        memory.runs.claim(RUN, "Something else.")
        with pytest.raises(SlicebaseError) as raised:
            memory.runs.compact(RUN)
    assert raised.value.code == "broken-record"


def test_what_a_caller_does_with_a_snapshot_changes_nothing(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        memory.runs.start(RUN, "Objective", "Done")
        memory.runs.claim(RUN, "It is so.")
        memory.runs.compact(RUN)
        memory.runs.snapshot(RUN)["state"]["claims"][0]["status"] = "verified"
        memory.runs.claim(RUN, "Something else.")
        memory.runs.compact(RUN)
        assert memory.runs.snapshot(RUN)["state"]["claims"][0]["status"] == "candidate"
        assert memory.verify().status == "VERIFIED"


def test_compactions_encode_each_item_once_and_verify_a_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work depends on what is new, not on snapshots times items, of which there would be thousands here."""
    encoded: list[Json] = []

    def counted(value: Json, type_: Any, plain: Any = parts._encoded) -> bytes:
        encoded.append(value)
        return bytes(plain(value, type_))

    monkeypatch.setattr(parts, "_encoded", counted)
    items = 60
    with Slicebase.init(tmp_path) as memory:
        memory.runs.start(RUN, "Objective", "Done")
        for number in range(items):
            memory.runs.log(RUN, [claim(f"c{number}", "candidate", [], "It is so. " * 150)])
            memory.runs.compact(RUN)
        assert len(encoded) == items
        encoded.clear()
        assert memory.verify().status == "VERIFIED"
        assert items <= len(encoded) <= 6 * items  # stored and folded, and again for the few that are stored complete
