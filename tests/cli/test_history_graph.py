"""Graph files on the command line: a file is imported completely or not at all."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Done, Tt
from tests.paths import GOLDEN


def uuid(number: int) -> str:
    return f"00000000-0000-0000-0000-{number:012d}"


def turn(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": uuid(number), "session_id": "s", "role": "user", "phase": "planning", "salience": 0.5,
        "trajectory_depth": 0, "trajectory_sibling_order": 0, "trajectory_homogeneity": 0.5,
        "trajectory_temporal": 0.5, "trajectory_complexity": 1.0, "created_at": 1704067200 + number, **fields,
    }  # fmt: skip


def edge(parent: int, child: int, kind: str = "reply") -> dict[str, str]:
    return {"parent": uuid(parent), "child": uuid(child), "edge_type": kind}


def load(tt: Tt, tmp_path: Path, turns: list[dict[str, Any]], edges: list[dict[str, str]]) -> Done:
    path = tmp_path / "graph.json"
    path.write_text(json.dumps({"turns": turns, "edges": edges}))
    return tt("import", path, "--json")


def test_a_graph_file_is_recognised_whatever_comes_first_in_it(tt: Tt, tmp_path: Path) -> None:
    long = turn(1, content="word " * 100_000)
    (tmp_path / "long.json").write_text(json.dumps({"turns": [long, turn(2)], "edges": []}))
    edges_first = {"name": "a graph", "edges": [edge(3, 4)], "turns": [turn(3), turn(4)]}
    (tmp_path / "edges.json").write_text("\ufeff" + json.dumps(edges_first, indent=2))
    (tmp_path / "chat.json").write_text(json.dumps([{"role": "user", "content": 'say "turns" and "edges"'}]))
    done = tt("import", tmp_path, "--json")
    assert (done.exit, done.json["formats"]) == (0, {"graph": 2, "messages": 1})
    assert done.json["turns"]["new"] == 5


def test_a_graph_file_that_is_refused_does_not_stop_the_others(tt: Tt, tmp_path: Path) -> None:
    for name, turns in (("a", [turn(1)]), ("b", [turn(2, salience=7)]), ("c", [turn(3)])):
        (tmp_path / f"{name}.json").write_text(json.dumps({"turns": turns, "edges": []}))
    done = tt("import", "--format", "graph", "a.json", "b.json", "c.json", "--json")
    assert (done.exit, done.json["turns"]["new"], done.json["formats"]) == (1, 2, {"graph": 2})
    assert [(error["where"]["file"], error["code"]) for error in done.json["errors"]] == [("b.json", "out-of-range")]
    assert tt("import", "--format", "graph", "b.json", "--json").error["code"] == "out-of-range"


@pytest.mark.parametrize("name", ["multiedge_20_random", "dag_60_coarse", "forest_150_random"])
def test_golden_graphs_give_their_slices_through_the_store(tt: Tt, name: str) -> None:
    path = GOLDEN / f"{name}.json"
    assert tt("import", "--format", "graph", path).exit == 0
    for case in json.loads(path.read_text())["cases"][:6]:
        Path("policy.json").write_text(json.dumps(case["policy"]))
        export = tt("slice", case["anchor_turn_id"], "--policy", "policy.json", "--json").json
        assert export["slice_id"] == case["slice_id"]
        assert [each["id"] for each in export["turns"]] == case["turn_ids"]
    assert tt("verify").exit == 0


def test_a_default_edge_of_a_graph_file_does_not_count_among_the_siblings_of_an_imported_turn(
    tt: Tt, tmp_path: Path
) -> None:
    """The annotator `rules/1` counts replies and branches; its annotations are hashed, so that this cannot change."""
    assert load(tt, tmp_path, [turn(1), turn(2)], [edge(1, 2, "default")]).exit == 0
    record = {
        "type": "user", "uuid": uuid(3), "parentUuid": uuid(1), "sessionId": "s", "timestamp": "2026-01-01T00:00:00Z",
        "message": {"role": "user", "content": "hello"},
    }  # fmt: skip
    Path("s.jsonl").write_text(json.dumps(record) + "\n")
    assert tt("import", "s.jsonl").exit == 0
    export = tt("slice", uuid(3), "--json").json
    assert {each["id"]: each["trajectory_sibling_order"] for each in export["turns"]}[uuid(3)] == 0


def test_a_graph_file_again_adds_nothing(tt: Tt, tmp_path: Path) -> None:
    turns, edges = [turn(1), turn(2)], [edge(1, 2)]
    assert load(tt, tmp_path, turns, edges).json["turns"]["new"] == 2
    again = load(tt, tmp_path, turns, edges)
    assert (again.exit, again.json["turns"]["new"], again.json["edges"]) == (0, 0, 0)
    assert tt("verify", "--json").json["checked"]["annotations"] == 1


def test_a_grown_graph_file_adds_what_is_new(tt: Tt, tmp_path: Path) -> None:
    load(tt, tmp_path, [turn(1)], [])
    grown = load(tt, tmp_path, [turn(1), turn(2)], [edge(1, 2)]).json
    assert (grown["turns"]["new"], grown["edges"]) == (1, 1)
    alone = load(tt, tmp_path, [turn(3)], [edge(2, 3)]).json
    assert (alone["turns"]["new"], alone["edges"]) == (1, 1)


def test_an_edge_to_a_stored_turn_is_added(tt: Tt, tmp_path: Path) -> None:
    load(tt, tmp_path, [turn(1)], [])
    assert load(tt, tmp_path, [turn(2)], [edge(2, 1, "reference")]).json["edges"] == 1
    assert len(tt("slice", uuid(1), "--json").json["edges"]) == 1


def test_another_annotation_of_a_stored_turn_is_appended(tt: Tt, tmp_path: Path) -> None:
    load(tt, tmp_path, [turn(1)], [])
    assert load(tt, tmp_path, [turn(1, salience=0.75)], []).json["turns"]["known"] == 1
    assert tt("slice", uuid(1), "--json").json["turns"][0]["salience"] == 0.75
    assert tt("verify").exit == 0


def test_another_record_under_a_stored_id_is_left_out_and_the_first_stays(tt: Tt, tmp_path: Path) -> None:
    """Ruling 15."""
    load(tt, tmp_path, [turn(1, content="first")], [])
    done = load(tt, tmp_path, [turn(1, content="second"), turn(2)], [])
    assert (done.exit, done.json["turns"]["new"]) == (1, 1)
    assert [conflict["ref"] for conflict in done.json["turns"]["conflicts"]] == [f"turn:{uuid(1)}"]
    assert tt("show", f"turn:{uuid(1)}", "--json").json["text"] == "first"


def test_edges_between_sessions_become_continues(tt: Tt, tmp_path: Path) -> None:
    """Ruling 13."""
    result = load(tt, tmp_path, [turn(1), turn(2, session_id="t")], [edge(1, 2)]).json
    assert (result["edges"], result["continues"]) == (0, 1)
    assert len(tt("slice", uuid(2), "--json").json["turns"]) == 1


@pytest.mark.parametrize(
    ("turns", "edges", "code"),
    [
        ([turn(1), turn(1)], [], "duplicate-turn"),
        ([turn(1, salience=1.5)], [], "out-of-range"),
        ([turn(1, role="robot")], [], "unknown-value"),
        ([turn(1, id="x")], [], "bad-uuid"),
        ([{"id": uuid(1)}], [], "missing-field"),
        ([turn(1)], [edge(1, 9)], "no-turn"),
        ([turn(1)], [edge(9, 1)], "no-turn"),
        ([turn(1), turn(2)], [edge(1, 2), edge(2, 1)], "cycle"),
        ([turn(1)], [edge(1, 1)], "cycle"),
        ([turn(1), turn(2)], [edge(1, 2, "likes")], "unknown-value"),
    ],
)
def test_a_bad_graph_file_is_refused_completely(
    tt: Tt, tmp_path: Path, turns: list[dict[str, Any]], edges: list[dict[str, str]], code: str
) -> None:
    """Ruling 14."""
    load(tt, tmp_path, [turn(100)], [])
    done = load(tt, tmp_path, [turn(50), *turns], edges)
    assert (done.error["code"], done.error["where"]["file"]) == (code, str(tmp_path / "graph.json"))
    assert done.exit in (3, 4)
    assert tt("verify", "--json").json["checked"]["turns"] == 1


def test_a_cycle_through_stored_turns_is_refused(tt: Tt, tmp_path: Path) -> None:
    load(tt, tmp_path, [turn(1), turn(2)], [edge(1, 2)])
    done = load(tt, tmp_path, [turn(3)], [edge(2, 3), edge(3, 1)])
    assert (done.exit, done.error["code"]) == (3, "cycle")
    assert tt("verify", "--json").json["checked"]["turns"] == 2
