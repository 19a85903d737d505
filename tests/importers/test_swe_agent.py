"""SWE-agent trajectories as conversations and as runs."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.core.hashing import digest_of
from slicebase.core.ids import turn_id
from slicebase.graph.turn import Parent, Turn
from slicebase.importers.elements import HEAD_BYTES
from slicebase.importers.swe_agent import FORMAT, NAME
from slicebase.importers.values import Options
from slicebase.runs.event import LogHead
from slicebase.runs.status import measure
from tests.context.test_projection import project
from tests.importers.reading import Taken, recognised, take, texts
from tests.paths import SHARED
from tests.runs.made import NOW, RUN, append_all

REAL = SHARED / "data" / "runs" / "swe-agent"

HISTORY: list[dict[str, Any]] = [
    {"role": "system", "content": "You work in a shell."},
    {"role": "user", "content": "A demonstration", "is_demo": True},
    {"role": "user", "content": "Find the bug."},
    {"role": "assistant", "content": "I look.\n```\nls\n```", "thought": "I look.", "action": "ls\n"},
    {"role": "user", "content": "a.py"},
    {"role": "assistant", "content": [{"type": "text", "text": "I run it."}], "thought": "", "action": "python a.py"},
    {"role": "tool", "content": [{"type": "text", "text": "Traceback (most recent call last):\nKeyError"}]},
]
STEPS: list[dict[str, Any]] = [
    {"action": "ls\n", "observation": "a.py", "response": "x", "thought": "I look.", "execution_time": 1.5},
    {"action": "python a.py", "observation": "Traceback (most recent call last):\nKeyError", "thought": "I run it."},
]
WHOLE = {"environment": "main", "trajectory": STEPS, "history": HISTORY, "info": {"exit_status": "submitted"}}


def read(document: Any, name: str = "t1.traj", **options: Any) -> Taken:
    return take((name, json.dumps(document).encode()), options=Options(**options), known=FORMAT)


def counts(document: Any) -> Counter[str]:
    return Counter(draft.type for draft in project(read(document).turns, step_at="call"))


def test_a_trajectory_and_its_history_alone_give_the_same_events() -> None:
    whole, history = counts(WHOLE), counts({"history": HISTORY})
    assert whole == history
    assert whole["PLAN_DONE"] == whole["ACT_DONE"] == whole["OBSERVE_DONE"] == 2
    assert whole["FAILURE"] == 1
    assert whole["PROMPT"] == 1


def test_each_thought_action_and_observation_is_a_step() -> None:
    drafts = project(read({"history": HISTORY}).turns, step_at="call")
    assert [draft.step for draft in drafts if draft.type.endswith("_DONE")] == [1, 1, 1, 2, 2, 2]


def test_durations_become_times() -> None:
    assert [turn.time for turn in read({"trajectory": STEPS}).turns] == [0, 1500, 1500, 1500]


@pytest.mark.parametrize("seconds", [-1, 0, True, "2", None, [], 1e300, 10**400, float("inf"), float("nan")])
def test_a_duration_that_is_no_duration_adds_nothing(seconds: Any) -> None:
    turns = read({"trajectory": [{**STEPS[0], "execution_time": seconds}]}).turns
    assert [turn.time for turn in turns] == [0, 0]


def test_ids_are_positions_and_each_turn_is_the_parent_of_the_next() -> None:
    """Ruling 16: demonstrations, and messages that repeat the steps, do not count; the model saw the former."""
    turns = read(WHOLE).turns
    shown = [turn for turn in turns if turn.parts[0].hidden]
    assert [(turn.role, turn.parts[0].text) for turn in shown] == [("system", "A demonstration")]
    assert [turn.id for turn in turns if turn not in shown] == [turn_id(NAME, "t1", number) for number in range(6)]
    assert [turn.parents[0].id for turn in turns[1:]] == [turn.id for turn in turns[:-1]]
    assert {turn.session for turn in turns} == {"t1"}
    assert read(WHOLE, session="mine").turns[0].id == turn_id(NAME, "mine", 0)


def test_the_source_hash_is_of_the_record_before_redaction() -> None:
    """Ruling 15; both turns of a step have its hash."""
    token = "ghp_" + "a1B2" * 9
    step = {"thought": f"I use {token}.", "action": f"curl -H {token}", "observation": f"ok {token}"}
    taken, plain = read({"trajectory": [step]}), read({"trajectory": [step]}, redact=False)
    assert taken.report.redacted == {"github-token": 3}
    assert token not in repr(taken.batches)
    assert token in repr(plain.batches)
    assert {turn.source_hash for turn in (*taken.turns, *plain.turns)} == {digest_of(step)}


def test_every_record_is_accounted_for() -> None:
    taken = read(WHOLE)
    assert (taken.report.records, len(taken.turns)) == (11, 7)
    assert taken.report.others == {"history of a step": 4}
    assert taken.reasons() == {"no-time": 7}
    assert taken.sessions["t1"].facts == {
        "environment": "main",
        "exit_status": "submitted",
        "shown_last": taken.turns[-1].id,
    }


def test_what_a_message_says_beyond_its_step_is_a_hidden_turn_that_refers_to_the_step() -> None:
    shown = [*HISTORY[:4], {"role": "user", "content": "a.py\n(Open file: a.py)\nbash-$"}, *HISTORY[5:]]
    more = {"role": "user", "content": "Time is up."}
    plain, taken = read(WHOLE), read({**WHOLE, "history": [*shown, HISTORY[3], more]})
    assert taken.turns[: len(plain.turns)] == plain.turns
    added = taken.turns[len(plain.turns) :]
    observed = next(turn for turn in taken.turns if texts(turn) == ["a.py"])
    assert [(turn.role, *texts(turn), turn.parts[0].hidden) for turn in added] == [
        ("system", "(Open file: a.py)\nbash-$", True),
        ("assistant", "I look.\nls", True),  # there is no third step
        ("system", "Time is up.", True),
    ]
    assert added[0].parents == (Parent(observed.id, "reference"),)
    assert not added[2].parents
    assert taken.sessions["t1"].facts["shown_last"] == plain.turns[-1].id
    assert taken.report.others == {"history of a step": 3}


def test_odd_entries_are_reported_with_their_places() -> None:
    history = [1, {"role": "robot", "content": "beep"}, {"role": "user", "content": None}, {"role": []}]
    taken = read({"history": history, "trajectory": ["x", {}, STEPS[0]]})
    skipped = {note.where: note.reason for note in taken.report.notes if note.action == "skipped"}
    assert skipped == {
        "t1.traj:1.history[0]": "not-object",
        "t1.traj:1.history[1]": "unknown-record",
        "t1.traj:1.history[3]": "unknown-record",
        "t1.traj:1.trajectory[0]": "not-object",
        "t1.traj:1.trajectory[1]": "no-message",
    }
    assert [turn.role for turn in taken.turns] == ["user", "assistant", "tool"]


def test_content_that_is_not_text_is_kept_as_a_pointer_or_as_its_json() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    taken = read({"history": [{"role": "user", "content": [{"type": "text", "text": "See"}, image, {"odd": 1}]}]})
    assert texts(taken.turns[0]) == ['See\n\n{"odd":1}', None]
    assert taken.reasons() == {"media": 1, "unknown-content": 1, "no-time": 1}


def test_several_trajectories_in_one_source_are_sessions_with_numbers() -> None:
    for document in (json.dumps([WHOLE, WHOLE]), f"{json.dumps(WHOLE)}\n{json.dumps(WHOLE)}\n"):
        taken = take(("t1.traj", document.encode()))
        assert list(taken.sessions) == ["t1", "t1#1"]
        assert len(taken.turns) == 14


# Recognition


@pytest.mark.parametrize("document", [WHOLE, {"trajectory": STEPS}, {"history": HISTORY}, {**WHOLE, "trajectory": []}])
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", ["run.traj", "run.json", "run"])
def test_a_trajectory_is_recognised_by_its_content(document: Any, indent: int | None, name: str) -> None:
    assert recognised(name, json.dumps(document, indent=indent).encode()) is FORMAT


@pytest.mark.parametrize("key", ["trajectory", "history"])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_trajectory_that_is_larger_than_its_head_is_recognised(key: str, indent: int | None) -> None:
    long: dict[str, Any] = {**WHOLE, "info": {"submission": "x" * HEAD_BYTES}}
    document = {key: long[key] * 500, **long}
    data = json.dumps(document, indent=indent).encode()
    assert recognised("run.json", data[:HEAD_BYTES]) is FORMAT
    assert recognised("run.json", b"\xef\xbb\xbf" + data[: HEAD_BYTES // 2]) is FORMAT


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"history": 1}',
        b"\xff",
        b'{"history": [["q", "a"]]}',
        b'{"history": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]}',
        b'{"trajectory": [{"role": "user", "text": "of another tool"}]}',
    ],
)
def test_other_bytes_are_not_recognised(data: bytes) -> None:
    assert recognised("run.json", data) is None


def test_a_history_that_any_program_could_have_written_is_recognised_only_by_its_ending() -> None:
    chat = json.dumps({"history": [{"role": "user", "content": "Hello"}]}).encode()
    assert recognised("run.TRAJ", chat) is FORMAT
    assert recognised("run.traj", chat[:-10]) is FORMAT
    assert recognised("run.json", chat[:-10]) is None


# Documents that were cut off


@pytest.mark.parametrize("document", [WHOLE, {"history": HISTORY}], ids=["whole", "history"])
@pytest.mark.parametrize("indent", [None, 2])
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_cut_document_gives_the_first_turns_of_the_whole_or_none(
    document: Any, indent: int | None, data: st.DataObject
) -> None:
    """An id is a position. So no turn may be read from a part whose position is not known."""
    whole = json.dumps(document, indent=indent).encode()
    cut = take(("t1.traj", whole[: data.draw(st.integers(0, len(whole) - 1))]), known=FORMAT)
    expected = take(("t1.traj", whole), known=FORMAT).turns
    assert cut.turns == expected[: len(cut.turns)]


def test_steps_are_not_read_where_the_messages_before_them_were_cut_off() -> None:
    data = json.dumps(WHOLE).encode()
    taken = take(("t1.traj", data[: data.index(b'"history"')]), known=FORMAT)
    assert not taken.turns
    assert taken.reasons()["no-beginning"] == 1
    assert taken.report.content_left_out


def test_a_document_whose_end_was_cut_off_gives_all_its_turns() -> None:
    data = json.dumps(WHOLE).encode()
    assert take(("t1.traj", data[:-5]), known=FORMAT).turns == read(WHOLE).turns


# Real trajectories

real = pytest.mark.skipif(not REAL.exists(), reason="the shared trajectories are not here")


@real
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
    taken = take((name, (REAL / name).read_bytes()))
    assert not taken.report.content_left_out
    metrics = measure(append_all(LogHead(RUN), project(taken.turns, step_at="call"), NOW)[0])
    assert (metrics.cycles, metrics.steps, metrics.counted_events) == (cycles, cycles, 3 * cycles)
    assert (metrics.failures, metrics.repeated_cycles) == (failures, repeated)


# Digests of the turns (ids, parents, times, contents, source hashes) that `tt run from` stored before trajectories had
# an importer: a run that is stored continues.
STORED_BEFORE = {
    "function_calling_simple.traj": "8e7a451f0cdd97e3efce75ddde0e3870",
    "marshmallow-code__marshmallow-1867.traj": "7d85eac8ac7563b9c3b7078e38947497",
    "pydicom__pydicom-1458.traj": "e3aadea4836e4145f80563e4f116bfcd",
}


@real
@pytest.mark.parametrize("name", STORED_BEFORE)
def test_the_turns_of_real_trajectories_are_those_that_were_stored_before(name: str) -> None:
    turns = take((name, (REAL / name).read_bytes())).turns
    turns = [turn for turn in turns if not any(parent.type == "reference" for parent in turn.parents)]
    assert digest_of([describe(turn) for turn in turns]).startswith(f"sha256:{STORED_BEFORE[name]}")


def describe(turn: Turn) -> list[Any]:
    return [turn.id, turn.content_hash, turn.source_hash, turn.time, [parent.id for parent in turn.parents]]


@real
def test_a_real_trajectory_that_was_cut_anywhere_gives_its_first_turns_or_none() -> None:
    for path in sorted(Path(REAL).glob("*.traj")):
        data = path.read_bytes()
        whole = take((path.name, data), known=FORMAT).turns
        for length in range(0, len(data), len(data) // 40):
            cut = take((path.name, data[:length]), known=FORMAT).turns
            assert cut == whole[: len(cut)]
