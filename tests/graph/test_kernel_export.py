"""SliceExports of the published kernel are read, and what explains their slice_id is said."""

import json
from typing import Any

import pytest

from slicebase.core.hashing import xxh64
from slicebase.graph.export import read_export
from slicebase.graph.kernel_export import KernelExport, read_ours_or_kernel, select_with_higher_ids
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.proof import examine
from slicebase.graph.select import select
from tests.codes import code_of
from tests.graph.graphs import golden, graph, tid, turn

OURS: str = golden("export")["export"]


def as_kernel(text: str = OURS) -> dict[str, Any]:
    """Returns an export as the kernel writes it, with its slice_id."""
    export: dict[str, Any] = json.loads(text)
    for each in export["turns"]:
        each |= {"role": each["role"].capitalize(), "phase": each["phase"].capitalize(), "content_hash": "ab" * 32}
    for each in export["edges"]:
        each["edge_type"] = each["edge_type"].capitalize()
    ids = sorted(each["id"] for each in export["turns"])
    rest = [export[name] for name in ("policy_id", "policy_params_hash", "schema_version")]
    hashed = json.dumps([export["anchor_turn_id"], ids, export["edges"], *rest], separators=(",", ":"))
    return {**export, "slice_id": xxh64(hashed.encode()), "graph_snapshot_hash": "cd" * 32, "admissibility_token": "x"}


def test_an_export_of_the_kernel_is_read_as_one_of_ours() -> None:
    found = read_ours_or_kernel(json.dumps(as_kernel()).encode())
    assert isinstance(found, KernelExport)
    assert found.export.turns == read_export(OURS.encode()).turns
    assert found.further == ("graph_snapshot_hash", "admissibility_token", "turns[].content_hash")


def test_a_slice_id_that_only_the_spelling_explains_is_explained() -> None:
    examined = examine(json.dumps(as_kernel()).encode())
    assert (examined.kind, examined.findings, examined.explained) == ("kernel export", (), ("spelling",))
    ours = {**as_kernel(), "slice_id": json.loads(OURS)["slice_id"]}
    assert examine(json.dumps(ours).encode()).explained == ()
    other = {**as_kernel(), "slice_id": "0" * 16}
    assert [each.check for each in examine(json.dumps(other).encode()).findings] == ["slice-id"]


@pytest.mark.parametrize("spelling", ["USER", "uSER", "Someone", "User "])
def test_no_other_spelling_is_read(spelling: str) -> None:
    export = as_kernel()
    export["turns"][0]["role"] = spelling
    assert code_of(read_ours_or_kernel, json.dumps(export).encode()) == "unknown-value"
    assert code_of(read_ours_or_kernel, json.dumps({**json.loads(OURS), "further": 1}).encode()) == "unknown-field"


@pytest.mark.parametrize("turns", ["5", "null", '"text"', "{}", "[7]", "true"])
def test_turns_that_are_none_are_refused_after_a_field_of_the_kernel(turns: str) -> None:
    data = f'{{"anchor_turn_id": "{tid(1)}", "admissibility_token": "x", "turns": {turns}}}'
    assert code_of(examine, data.encode()) == "wrong-type"


def test_a_key_that_is_there_twice_is_refused_in_an_export_of_either() -> None:
    """One reader takes the first, another the last: they would see different slices."""
    for text in (OURS, json.dumps(as_kernel())):
        doubled = text.replace('"turns"', '"turns":[],"turns"', 1)
        assert code_of(examine, doubled.encode()) == "bad-json"


def test_of_equal_candidates_the_kernel_takes_the_higher_id() -> None:
    equal = graph([turn(1), turn(2), turn(3)], (1, 2), (1, 3))
    policy = SlicePolicyV1(max_nodes=2)
    assert {each.turn_id for each in select(equal.plain, tid(1), policy)} == {tid(1), tid(2)}
    assert select_with_higher_ids(equal.plain, tid(1), policy) == {tid(1), tid(3)}
