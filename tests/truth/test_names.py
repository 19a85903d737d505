"""The ids of what is stored: short ones are completed, and neighbours are those in the order of text."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slicebase.base import Slicebase
from slicebase.core.refs import Ref
from slicebase.core.short_ids import short_id, short_ids
from slicebase.truth.names import StoredNames
from slicebase.truth.truth import Truth
from slicebase.verbs.names import EVERYTHING
from tests.amounts import MORE
from tests.codes import code_of
from tests.conversations import store, turn
from tests.graph.test_graph_file import record

RUNS = ["build", "build-the-house", "build-the-houses", "01JRVN00000000000000000001", "01JRVN00000000000000000011"]
TURNS = [f"{first}-0000-4000-8000-0000000000{last}" for first in ("aaaaaaaa", "aaaaaaab", "12345678") for last in "123"]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> StoredNames:
    folder = tmp_path_factory.mktemp("names")
    memory = Slicebase.init(folder)
    for run in RUNS:
        memory.runs.start(run, "o", "d")
    path = folder / "graph.json"
    turns = [record(1, id=turn.ljust(36, "0"), session_id="s", content="c") for turn in TURNS]
    path.write_text(json.dumps({"turns": turns, "edges": []}))
    memory.import_(path, format="graph")
    return memory.stored_names


def test_neighbours_shorten_as_all_ids_do(names: StoredNames) -> None:
    whole = [turn.ljust(36, "0") for turn in TURNS]
    assert {run: short_id(run, near) for run, near in names.beside("run", RUNS).items()} == short_ids(RUNS)
    assert {turn: short_id(turn, near) for turn, near in names.beside("turn", whole).items()} == short_ids(whole)


@settings(max_examples=40 * MORE)
@given(st.sampled_from(RUNS), st.integers(1, 30))
def test_any_beginning_of_a_run_is_it_or_is_an_error(names: StoredNames, run: str, length: int) -> None:
    given_id = run[:length]
    alike = [each for each in RUNS if each.startswith(given_id)]
    if given_id in RUNS or (len(alike) == 1 and length >= 8):
        assert names.id("run", given_id) == (given_id if given_id in RUNS else alike[0])
    else:
        assert code_of(names.id, "run", given_id) == ("short-id" if len(given_id) < 8 else "ambiguous-id")


def test_a_turn_is_found_in_capitals(names: StoredNames) -> None:
    whole = TURNS[-1].ljust(36, "0")
    assert names.id("turn", whole.upper()) == whole
    assert names.id("turn", f"turn:{whole[:35].upper()}") == whole
    assert code_of(names.id, "turn", "AAAAAAAA") == "ambiguous-id"
    assert code_of(names.id, "turn", "deadbeef") == "no-turn"
    assert code_of(names.id, "turn", "no turn") == "bad-reference"
    assert code_of(names.id, "turn", "run:build") == "bad-reference"


def test_what_has_the_form_of_a_complete_id_is_left_for_the_verb(names: StoredNames) -> None:
    assert names.id("run", "nowhere") == "nowhere"
    assert names.id("mf", "0" * 32) == f"mf_{'0' * 32}"
    assert code_of(names.id, "mf", "mf_00000000") == "no-manifest"
    assert not names.is_named(Ref("turn", "00000000-0000-4000-8000-000000000000"))


SESSIONS = ("aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000001#agent-lone")
AGENTS = tuple(f"{SESSIONS[0]}#agent-{name}" for name in ("one", "two"))


def test_a_short_id_is_that_of_a_session_not_of_its_subagents(tmp_path: Path) -> None:
    """With and without a prefix, in verbs that take sessions and in those that take everything."""
    memory = Slicebase.init(tmp_path)
    turns = [record(at, session_id=session, content="c") for at, session in enumerate((*SESSIONS, *AGENTS), 1)]
    (tmp_path / "graph.json").write_text(json.dumps({"turns": turns, "edges": []}))
    memory.import_(tmp_path / "graph.json", format="graph")
    wanted = {"aaaaaaaa": SESSIONS[0], "aaaaaaaa#agent-two": AGENTS[1], "bbbbbbbb#agent-lone": SESSIONS[1]}
    for short, whole in wanted.items():
        assert memory.stored_names.id("session", short) == whole
        assert {str(memory.names.ref(each, EVERYTHING)) for each in (short, f"session:{short}")} == {f"session:{whole}"}
    for given_id, code in {"aaaaaaaa#agent": "ambiguous-id", "aaaa#agent-two": "short-id"}.items():
        assert code_of(memory.stored_names.id, "session", given_id) == code
        assert code_of(memory.names.ref, given_id, EVERYTHING) == code


def test_to_look_for_an_id_creates_no_database(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        assert code_of(memory.library.recall, "deadbeef") == "no-file"
        assert not memory.workspace.database.exists()


def test_a_turn_is_shown_by_its_short_id_unless_something_else_begins_so(truth: Truth) -> None:
    one, other = (replace(turn("a"), id=f"0a0a0a0a-000{last}-4000-8000-000000000000") for last in "12")
    alone = turn("alone")
    store(truth, [one, alone])
    assert [truth.shown(f"turn:{each.id}") for each in (one, alone)] == ["0a0a0a0a", alone.id[:8]]
    store(truth, [other])
    assert truth.shown(f"turn:{one.id}") == "0a0a0a0a-0001"
    assert truth.shown("row:f/r1") == "row:f/r1"
    store(truth, [turn("b", session=alone.id[:8] + "-a-session")])
    assert truth.shown(f"turn:{alone.id}") == f"turn:{alone.id[:8]}"
