"""A run at a glance says what its status says, without reading its log."""

from pathlib import Path

from slicebase import Slicebase
from slicebase.runs.summary import RunSummary
from tests.runs.made import claim, conflict, cycle, failure, question

RUN = "r"


def test_a_summary_has_the_values_of_the_status_under_the_same_names(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        memory.runs.start(RUN, "Objective", "Done", budgets={"max_steps": 4})
        for step in (1, 2, 3, 4):
            memory.runs.log(RUN, [*cycle(step), failure(f"f{step}"), question(f"{step}?")])
        memory.runs.log(RUN, [claim("c1", "candidate"), conflict(), failure("f1", "resolved")])
        status, found = memory.runs.status(RUN), memory.runs.summary(RUN)
    shared = set(RunSummary.__struct_fields__) & set(type(status).__struct_fields__)
    assert {"events", "spent", "near_limits", "next_compaction", "claims", "coverage", "guards"} <= shared
    for name in shared:
        assert getattr(found, name) == getattr(status, name), name
    assert found.failures == {"open": 3, "resolved": 1}
    assert found.questions == len(status.open_questions) == 4
    assert found.conflicts == {"open": 1, "resolved": 0}
    assert found.near_limits


def test_a_summary_and_a_status_without_settling_write_nothing(tmp_path: Path) -> None:
    """A step whose process has ended is reported; only a status that settles closes it."""
    with Slicebase.init(tmp_path) as memory:
        memory.runs.start(RUN, "Objective", "Done")
        begun = memory.truth.steps.begin(RUN, 0)
        assert begun.held is not None
        begun.held.release()
        before = memory.truth.runs.log.tally(RUN).seq
        assert memory.runs.summary(RUN).interrupted_steps == (1,)
        assert memory.runs.status(RUN, settle=False).interrupted_steps == (1,)
        assert memory.truth.runs.log.tally(RUN).seq == before
        assert memory.runs.status(RUN).interrupted_steps == (1,)
        assert memory.truth.runs.log.tally(RUN).seq > before
