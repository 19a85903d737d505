"""Stored sessions in a list: what is known about each, whatever its source says."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from slicebase.base import Slicebase
from slicebase.graph.turn import Session
from tests.conversations import turn

ASKED = [f"What is in drawer {number}?" for number in range(12)]


def prompts(base: Slicebase) -> dict[str, str]:
    return {each.id: each.prompt for each in base.graph.sessions()}


def test_the_first_prompt_of_a_session_without_times_is_what_was_asked_first(tmp_path: Path) -> None:
    messages = [
        each
        for said in ASKED
        for each in ({"role": "user", "content": said}, {"role": "assistant", "content": "Keys."})
    ]
    (tmp_path / "undated.json").write_text(json.dumps({"messages": messages}))
    with Slicebase.init(tmp_path) as base:
        base.import_([tmp_path / "undated.json"])
        assert prompts(base) == {"undated": ASKED[0]}


@given(times=st.lists(st.sampled_from([0, 1_700_000_000_000, 1_700_000_001_000]), min_size=1, max_size=12).map(sorted))
def test_turns_at_the_same_time_keep_their_order(times: list[int]) -> None:
    with TemporaryDirectory() as folder, Slicebase.init(Path(folder)) as base:
        turns = [turn(said, text=said, time=time) for said, time in zip(ASKED, times, strict=False)]
        base.truth.turns.add(Session("s", "test"), turns)
        assert prompts(base) == {"s": ASKED[0]}
        newest = [each.id for each in reversed(turns)]
        assert [each.id for each in base.search("role:user", limit=50).turns] == newest
