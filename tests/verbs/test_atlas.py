"""An atlas is made again from its manifest, also when its sessions have grown; what was changed is found."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slicebase import Slicebase
from slicebase.graph.turn import Edge, Session
from slicebase.verbs.atlas import Atlas
from tests.codes import code_of
from tests.conversations import SESSION, annotate, chain, name, on_file, store, turn


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path) as made:
        store(made.truth, chain(12))
        yield made


def written(made: Atlas, **changed: Any) -> bytes:
    manifest = msgspec.to_builtins(made.manifest)
    return json.dumps({**manifest, **changed}).encode()


def with_session(made: Atlas, **changed: Any) -> bytes:
    (state,) = msgspec.to_builtins(made.manifest)["sessions"]
    return written(made, sessions=[{**state, **changed}])


def answers(memory: Slicebase, manifest: bytes) -> list[str]:
    return [each.answer for each in memory.graph.check_atlas(manifest)]


def test_an_atlas_writes_nothing_and_is_the_same_again(memory: Slicebase) -> None:
    before = on_file(memory.truth).connection.total_changes()
    made = memory.graph.atlas()
    assert memory.graph.atlas("s").manifest == made.manifest
    assert answers(memory, written(made)) == ["VERIFIED"]
    assert answers(memory, json.dumps(made.as_json(3)).encode()) == ["VERIFIED"]
    assert on_file(memory.truth).connection.total_changes() == before


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_every_figure_that_is_printed_beside_the_manifest_is_compared(memory: Slicebase, limit: int) -> None:
    store(memory.truth, [turn(f"t{number}", session="t") for number in range(2)])
    printed = memory.graph.atlas(every=True).as_json(limit)
    assert answers(memory, json.dumps({"schema_version": "1", **printed}).encode()) == ["VERIFIED"] * 2
    changes: list[dict[str, Any]] = [{"more": 1}]
    changes += [{"totals": {**printed["totals"], each: 7_654_321}} for each in printed["totals"]]
    for kind in ("influential", "bridges", "seams", "unreached"):
        first, *others = printed[kind]
        values = [{**first, each: 7_654_321} for each in first] if isinstance(first, dict) else [name(3)]
        changes += [{kind: [value, *others]} for value in values] + [{kind: others}]
    for each in changes:
        data = json.dumps({**printed, **each}).encode()
        assert answers(memory, data) == ["VERIFIED", "VERIFIED", "BROKEN"], each
    assert answers(memory, json.dumps({"manifest": printed["manifest"]}).encode()) == ["VERIFIED"] * 2


def test_what_was_added_since_then_is_said_also_without_a_new_turn(memory: Slicebase) -> None:
    made = written(memory.graph.atlas())
    (unchanged,) = memory.graph.check_atlas(made)
    memory.truth.turns.link([Edge(name(0), name(9), "reference")])
    (linked,) = memory.graph.check_atlas(made)
    assert (linked.answer, linked.message != unchanged.message) == ("VERIFIED", True)


def test_after_new_turns_edges_and_annotations_an_older_atlas_is_made_again_as_it_was(memory: Slicebase) -> None:
    """A reference edge and a newer annotation change the slices of old turns, too."""
    made = memory.graph.atlas()
    memory.truth.turns.add(SESSION, [turn("new", 3), turn("newer", "new")], annotate)
    memory.truth.turns.link([Edge(name(0), name(9), "reference")])
    later = memory.graph.atlas()
    assert later.manifest.sessions[0].result != made.manifest.sessions[0].result
    assert answers(memory, written(made)) == answers(memory, written(later)) == ["VERIFIED"]


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_every_value_of_a_manifest_counts(memory: Slicebase, data: st.DataObject) -> None:
    made = memory.graph.atlas(sample=5)
    changes: dict[str, Any] = {
        "turns": st.integers(0, 40).filter(lambda number: number != 12),
        "links": st.integers(1, 40),
        "annotations": st.integers(0, 40).filter(lambda number: number != 12),
        "heads": st.just(["sha256:" + 64 * "0", "", ""]),
        "result": st.just("sha256:" + 64 * "0"),
    }
    key = data.draw(st.sampled_from(sorted(changes)))
    assert answers(memory, with_session(made, **{key: data.draw(changes[key])})) == ["BROKEN"]
    policy = {**made.manifest.policy, "max_nodes": data.draw(st.integers(1, 5))}
    assert answers(memory, written(made, policy=policy)) == ["BROKEN"]
    assert answers(memory, written(made, anchors={"roles": [], "sample": data.draw(st.integers(1, 4))})) == ["BROKEN"]


def test_a_state_that_the_session_never_had_is_broken_although_its_heads_exist(memory: Slicebase) -> None:
    """The heads of the turns and of the annotations are real, but those turns were never annotated so far."""
    made = memory.graph.atlas()
    early = memory.truth.sessions.heads("s", memory.truth.sessions.lengths("s")._replace(annotations=4))
    heads = [f"sha256:{head.hash.hex()}" if head.hash else "" for head in early]
    assert answers(memory, with_session(made, annotations=4, heads=heads)) == ["BROKEN"]


def test_a_session_that_is_not_stored_here_cannot_be_verified(memory: Slicebase) -> None:
    assert answers(memory, with_session(memory.graph.atlas(), session="elsewhere")) == ["UNVERIFIABLE"]


def test_a_row_that_slices_are_read_from_and_that_was_changed_is_found(memory: Slicebase) -> None:
    made = memory.graph.atlas()
    memory.truth.database.connection.execute("UPDATE nodes SET salience = 0.99 WHERE seq = 5")
    with Slicebase.open(memory.root) as again:
        assert answers(again, written(made)) == ["BROKEN"]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "bad-json"),
        (b"\xff", "not-utf8"),
        (b"[]", "bad-atlas"),
        (b"{}", "bad-atlas"),
        (b'{"manifest": 1}', "bad-atlas"),
        (b'{"atlas": "a", "atlas": "b"}', "bad-json"),
        (b"[" * 100_000, "bad-json"),
    ],
)
def test_what_is_no_manifest_is_refused(memory: Slicebase, data: bytes, code: str) -> None:
    assert code_of(memory.graph.check_atlas, data) == code


@pytest.mark.parametrize(
    "changed",
    [
        {"atlas": "atlas/99"},
        {"sessions": [{}]},
        {"sessions": []},
        {"more": 1},
        {"anchors": {"roles": ["nobody"], "sample": None}},
        {"anchors": {"roles": [], "sample": 0}},
        {"anchors": {"roles": [], "sample": 2**53}},
    ],
)
def test_a_manifest_with_a_value_that_cannot_be_is_refused(memory: Slicebase, changed: dict[str, Any]) -> None:
    assert code_of(memory.graph.check_atlas, written(memory.graph.atlas(), **changed)) == "bad-atlas"


@pytest.mark.parametrize("changed", [{"turns": -1}, {"links": 2**53}, {"session": "\ud800"}, {"heads": ["", ""]}])
def test_a_session_of_a_manifest_that_cannot_be_is_refused(memory: Slicebase, changed: dict[str, Any]) -> None:
    assert code_of(memory.graph.check_atlas, with_session(memory.graph.atlas(), **changed)) == "bad-atlas"


def test_an_atlas_of_all_sessions_lists_the_best_of_all(memory: Slicebase) -> None:
    store(memory.truth, [turn(f"t{n}", *([f"t{n - 1}"] if n else []), session="other") for n in range(5)])
    memory.truth.turns.add(Session("empty", "test"), [], annotate)
    made = memory.graph.atlas(every=True)
    assert [each.session_id for each in made.sessions] == ["other", "s"]
    assert (made.totals.turns, made.totals.anchors) == (17, 17)
    best = [figure.influence for figure in made.influential(17)]
    assert best == sorted(best, reverse=True)
    assert len(best) == 17
    assert answers(memory, written(made)) == ["VERIFIED", "VERIFIED"]


def test_bad_arguments_are_refused(memory: Slicebase) -> None:
    assert code_of(memory.graph.atlas, "nowhere") == "no-session"
    assert code_of(memory.graph.atlas, roles=["nobody"]) == "unknown-value"
    assert code_of(memory.graph.atlas, sample=0) == "out-of-range"
    assert code_of(memory.graph.atlas, "s", every=True) == "bad-arguments"


def test_without_any_session_there_is_no_atlas(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as empty:
        assert code_of(empty.graph.atlas) == "no-session"
        assert empty.graph.atlas(every=True).totals.turns == 0
