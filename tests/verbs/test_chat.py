"""A branch as a chat: windows that follow each other are the whole path."""

from pathlib import Path
from typing import Any

import pytest

from slicebase.base import Slicebase
from slicebase.graph.turn import Parent, Part, Session, Turn
from slicebase.history.annotate import Annotator
from slicebase.verbs.chat import reading


def name(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def add(memory: Slicebase, roles: str, above: list[int]) -> None:
    """Stores the turns of a session, each with its role and the number of the turn that it follows."""
    kinds: dict[str, Any] = {"u": "user", "a": "assistant", "t": "tool"}
    call = Part("tool_call", name="Bash", arguments={"command": "ls"}, call_id="c")
    turns = [
        Turn(
            name(number),
            "calls",
            kinds[role],
            (call if role == "a" else Part("text", text=f"turn {number}"),),
            1_700_000_000_000 + number * 1000,
            () if above[number] < 0 else (Parent(name(above[number])),),
            f"sha256:{number:064d}",
        )
        for number, role in enumerate(roles)
    ]
    memory.truth.turns.add(Session("calls", "messages"), turns, Annotator(memory.truth))


def test_windows_that_follow_each_other_are_the_whole_path(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        add(memory, "uaaattta", [-1, 0, 1, 2, 1, 2, 3, 6])  # two results come after later calls
        whole = reading(memory.truth, name(0), 0, 50).turns
        assert [(each.number, each.beside) for each in whole] == [
            (0, False), (1, False), (2, False), (3, False), (4, True), (5, True), (6, False), (7, False),
        ]  # fmt: skip
        for size in (1, 2, 3):
            window = reading(memory.truth, name(0), 0, size)
            found = list(window.turns)
            while window.later:
                last = [each.turn for each in found if not each.beside][-1]
                window = reading(memory.truth, last, 0, size, alone=False)
                found += window.turns
            assert found == list(whole)


@pytest.mark.parametrize("number", [0, 1, 49, 50, 51, 120, 200, 248, 249])
def test_of_very_many_branches_those_around_the_shown_one_are_listed_and_the_others_counted(
    tmp_path: Path, number: int
) -> None:
    with Slicebase.init(tmp_path) as memory:
        add(memory, "u" * 251, [-1, *[0] * 250])
        shown = reading(memory.truth, name(number + 1), 1, 0).turns[-1]
    numbers = [each.number for each in shown.branches]
    assert [each.here for each in shown.branches] == [each == number + 1 for each in numbers]
    assert numbers == list(range(1 + shown.branches_before, 251 - shown.branches_after))
    assert len(numbers) == 100
    assert {number, number + 2} & {*range(1, 251)} <= {*numbers}  # its neighbours
