"""Routines: § Routine, ruling 30."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.files.body.routine import compile_routine, read_routine
from tests.paths import GOLDEN

COMPILED = GOLDEN / "routine.md"
TITLES = {"01TABLE": "Tide\n table", "./check.slice": "Check the gauges"}
STEPS: list[dict[str, Any]] = [
    {
        "instruction": "Ask which port is meant.\nWait for the answer.",
        "requirements": ["a tide table", "the port's name"],
    },
    {"read": "01TABLE", "note": "Only the column of high water."},
    {
        "run": "./check.slice",
        "args": ["--port", "Husum", 3, {"b": 1, "a": None}, "two\nlines"],
        "requirements": "a tide table",
    },
    {"run": "summary-agent", "args": {"words": 50, "tone": "`plain`"}},
    {"read": "01GONE"},
    {"run": "echo one\necho ```two```"},
    {"instruction": "Answer in one sentence.", "note": "No times in UTC.\nLocal time only.", "requirements": []},
]


def body(*steps: dict[str, Any]) -> bytes:
    return "".join(json.dumps(step) + "\n" for step in steps).encode()


def places(*steps: dict[str, Any]) -> list[tuple[str, int | None, int | None]]:
    return [(finding.rule, finding.line, finding.column) for finding in read_routine(body(*steps)).findings]


def compiled(*steps: dict[str, Any]) -> str:
    return compile_routine("When is high water?", "Finds the next tide.", read_routine(body(*steps)).steps, TITLES.get)


def test_instructions_reads_and_runs_are_read() -> None:
    steps, findings = read_routine(body(*STEPS))
    assert findings == ()
    assert [step.kind for step in steps] == ["instruction", "read", "run", "run", "read", "run", "instruction"]
    assert steps[2].args == ["--port", "Husum", 3, {"b": 1, "a": None}, "two\nlines"]
    assert (steps[0].requirements, steps[2].requirements) == (("a tide table", "the port's name"), ("a tide table",))


@pytest.mark.parametrize(
    ("step", "column"),
    [
        ({}, 1),
        ({"note": "x"}, 1),
        ({"instruction": "x", "read": "y"}, 1),
        ({"instruction": "x", "read": "y", "run": "z"}, 1),
        ({"instruction": ""}, 17),
        ({"read": 5}, 10),
        ({"run": ["a"]}, 9),
        ({"instruction": "x", "args": []}, 30),
        ({"read": "x", "args": {"a": 1}}, 23),
        ({"run": "x", "note": 5}, 22),
        ({"run": "x", "requirements": 5}, 30),
        ({"run": "x", "requirements": ["a", 5]}, 30),
    ],
)
def test_a_step_has_exactly_one_kind_in_its_form(step: dict[str, Any], column: int) -> None:
    """Ruling 30."""
    assert places(step) == [("routine-step", 1, column)]


def test_a_key_without_a_meaning_is_reported_and_the_step_stays() -> None:
    assert places({"run": "x", "notes": "y"}) == [("routine-key", 1, 23)]
    assert len(read_routine(body({"run": "x", "notes": "y"})).steps) == 1
    assert places({"_meta": {"id": "x"}, "run": "x"}) == []


def test_a_routine_compiles_to_the_golden_file() -> None:
    """§ Routine: first the requirements, then numbered steps with what each reads or would run, and notes."""
    assert compiled(*STEPS) == COMPILED.read_text()


def test_a_routine_without_requirements_has_no_section_for_them() -> None:
    assert "Requirements" not in compiled(*STEPS[1:2])


def test_the_first_line_of_a_step_keeps_its_indentation() -> None:
    steps = read_routine(body({"instruction": "\n  a\n    b\n"}, {"run": "  if x:\n    y\n"})).steps
    compiled = compile_routine("Title", "", steps, lambda name: None)
    assert "\n1.   a\n       b\n" in compiled
    assert "\n   ```\n     if x:\n       y\n   ```\n" in compiled


def test_a_backtick_inside_a_name_does_not_end_its_code_span() -> None:
    assert "Run `` a`b ``" not in compiled({"run": "a`b"})
    assert "Run ``a`b``" in compiled({"run": "a`b"})
    assert "Run `` `a ``" in compiled({"run": "`a"})


_texts = st.text(min_size=1, max_size=8).filter(str.strip)
_steps = st.one_of(
    st.fixed_dictionaries(
        {"instruction": _texts}, optional={"note": _texts, "requirements": st.lists(_texts, max_size=2)}
    ),
    st.fixed_dictionaries({"read": _texts}, optional={"note": _texts}),
    st.fixed_dictionaries(
        {"run": _texts},
        optional={
            "args": st.lists(_texts | st.integers() | st.floats(allow_nan=False, allow_infinity=False), max_size=3)
        },
    ),
)


@settings(max_examples=100)
@given(st.lists(_steps, max_size=5))
def test_compiling_is_deterministic_and_numbers_every_step(steps: list[dict[str, Any]]) -> None:
    text = compiled(*steps)
    assert text == compiled(*steps)
    numbers = [line.split(".")[0] for line in text.split("\n") if line[:1].isdigit() and ". " in line]
    assert numbers == [str(number) for number in range(1, len(steps) + 1)]


@given(st.binary(max_size=150))
def test_arbitrary_bytes_never_raise(data: bytes) -> None:
    read_routine(data)
