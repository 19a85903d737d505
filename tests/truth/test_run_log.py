"""What is read of the log of a run without its payloads."""

from collections import Counter
from pathlib import Path

import pytest

from slicebase import Slicebase
from slicebase.errors import SlicebaseError
from tests.runs.made import claim, cycle

RUN = "r"


@pytest.mark.parametrize("size", [1, 3, 100])
def test_types_are_counted_in_parts_as_the_events_say(tmp_path: Path, size: int) -> None:
    with Slicebase.init(tmp_path) as memory:
        memory.runs.start(RUN, "Objective", "Done")
        memory.runs.log(RUN, [*cycle(1), claim(status="candidate"), {"type": 'A "quoted" type'}, *cycle(2)])
        counted = Counter(((event.seq - 1) // size, event.type) for event in memory.runs.events(RUN))
        found = memory.truth.runs.log.types(RUN, size)
    assert {(part, type_): count for part, type_, count in found} == counted
    assert found == sorted(found)


def test_a_link_is_what_the_chain_covers_of_an_event(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        memory.runs.start(RUN, "Objective", "Done")
        memory.runs.log(RUN, cycle(1))
        log = memory.truth.runs.log
        assert [log.link(RUN, event.seq) for event in memory.runs.events(RUN)] == [
            event.link for event in memory.runs.events(RUN)
        ]
        with pytest.raises(SlicebaseError) as raised:
            log.link(RUN, 9)
    assert raised.value.code == "broken-record"


def test_the_newest_snapshots_come_first(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        memory.runs.start(RUN, "Objective", "Done")
        taken: list[str] = []
        for number in range(4):
            memory.runs.claim(RUN, f"Claim {number}.")
            taken += memory.runs.compact(RUN).snapshots
        snapshots = memory.truth.runs.snapshots
        assert [name for name, _ in snapshots.newest_first(RUN, 9)] == taken[::-1]
        assert [record.sequence for _, record in snapshots.newest_first(RUN, 2, before=4)] == [3, 2]
        assert snapshots.newest_first("nothing", 9) == []
