"""SWE-agent trajectories as runs."""

import json
from collections import Counter
from typing import Any

import pytest

from slicebase.errors import SlicebaseError
from slicebase.importers.swe_agent import is_trajectory, read_trajectory
from slicebase.runs.event import LogHead, append_all
from slicebase.runs.projection import project
from slicebase.runs.status import measure
from tests.paths import SHARED
from tests.runs.made import NOW, RUN

REAL = SHARED / "data" / "runs" / "swe-agent"

HISTORY = [
    {"role": "system", "content": "You work in a shell."},
    {"role": "user", "content": "A demonstration", "is_demo": True},
    {"role": "user", "content": "Find the bug."},
    {"role": "assistant", "content": "I look.\n```\nls\n```", "thought": "I look.", "action": "ls\n"},
    {"role": "user", "content": "a.py"},
    {"role": "assistant", "content": [{"type": "text", "text": "I run it."}], "thought": "", "action": "python a.py"},
    {"role": "tool", "content": [{"type": "text", "text": "Traceback (most recent call last):\nKeyError"}]},
]
STEPS = [
    {"thought": "I look.", "action": "ls\n", "observation": "a.py", "response": "x", "execution_time": 1.5},
    {"thought": "I run it.", "action": "python a.py", "observation": "Traceback (most recent call last):\nKeyError"},
]


def counts(record: Any) -> Counter[str]:
    turns = read_trajectory(json.dumps(record).encode(), "t1")
    return Counter(draft.type for draft in project(turns, step_at="call"))


def test_a_trajectory_and_its_history_alone_give_the_same_events() -> None:
    whole, history = counts({"trajectory": STEPS, "history": HISTORY}), counts({"history": HISTORY})
    assert whole == history
    assert whole["PLAN_DONE"] == whole["ACT_DONE"] == whole["OBSERVE_DONE"] == 2
    assert whole["FAILURE"] == 1
    assert whole["PROMPT"] == 1


def test_each_thought_action_and_observation_is_a_step() -> None:
    drafts = project(read_trajectory(json.dumps({"history": HISTORY}).encode(), "t1"), step_at="call")
    assert [draft.step for draft in drafts if draft.type.endswith("_DONE")] == [1, 1, 1, 2, 2, 2]


def test_durations_become_times() -> None:
    turns = read_trajectory(json.dumps({"trajectory": STEPS}).encode(), "t1", time=1000)
    assert [turn.time for turn in turns] == [1000, 2500, 2500, 2500]


def test_turns_are_the_same_every_time_and_each_is_the_parent_of_the_next() -> None:
    data = json.dumps({"trajectory": STEPS, "history": HISTORY}).encode()
    turns = read_trajectory(data, "t1")
    assert read_trajectory(data, "t1") == turns
    assert [turn.parents[0].id for turn in turns[1:]] == [turn.id for turn in turns[:-1]]
    assert read_trajectory(data, "t2")[0].id != turns[0].id


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"history": 1}', b"\xff"])
def test_other_bytes_than_a_trajectory_are_refused(data: bytes) -> None:
    with pytest.raises(SlicebaseError) as caught:
        read_trajectory(data, "t1")
    assert caught.value.code == "bad-transcript"


def test_odd_entries_are_ignored() -> None:
    assert is_trajectory({"history": []})
    record = {"history": [1, {"role": "robot"}, {"role": "user", "content": None}], "trajectory": ["x", {}]}
    assert len(read_trajectory(json.dumps(record).encode(), "t1")) == 3


@pytest.mark.skipif(not REAL.exists(), reason="the shared trajectories are not here")
@pytest.mark.parametrize(
    ("name", "cycles", "failures", "repeated"),
    [
        ("function_calling_simple.traj", 5, 0, 0),
        ("marshmallow-code__marshmallow-1867.traj", 11, 1, 0),
        ("pydicom__pydicom-1458.traj", 12, 4, 1),
    ],
)
def test_real_trajectories_are_runs(name: str, cycles: int, failures: int, repeated: int) -> None:
    """Counted by hand: two of pydicom's failed edits are the same edit with the same result."""
    turns = read_trajectory((REAL / name).read_bytes(), name)
    metrics = measure(append_all(LogHead(RUN), project(turns, step_at="call"), NOW)[0])
    assert (metrics.cycles, metrics.steps, metrics.counted_events) == (cycles, cycles, 3 * cycles)
    assert (metrics.failures, metrics.repeated_cycles) == (failures, repeated)
