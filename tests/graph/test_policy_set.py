"""Policies as JSON, as assignments, and by name and hash."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.graph.policy import (
    BROAD,
    DEFAULT,
    FOCUSED,
    PRESETS,
    SlicePolicyV1,
    policy_from,
    policy_from_bytes,
    policy_with,
)
from tests.graph.graphs import policies


def code_of(caught: pytest.ExceptionInfo[SlicebaseError]) -> str:
    return caught.value.code


@given(policies())
def test_a_policy_comes_back_from_its_json(policy: SlicePolicyV1) -> None:
    assert policy_from_bytes(json.dumps(policy.as_json()).encode(), BROAD) == policy


def test_a_partial_object_changes_only_what_it_names() -> None:
    changed = policy_from({"max_nodes": 64, "phase_weights": {"planning": 0.8}}, FOCUSED)
    assert (changed.max_nodes, changed.phase_weights.planning) == (64, 0.8)
    assert (changed.max_radius, changed.phase_weights.synthesis) == (FOCUSED.max_radius, 1.0)
    assert policy_from({}) == DEFAULT


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"max_node": 64}, "bad-policy"),
        ({"phase_weights": {"dreaming": 1}}, "bad-policy"),
        ({"phase_weights": [1]}, "wrong-type"),
        ({"version": "slice_policy_v2"}, "policy-version"),
        ({"version": None}, "policy-version"),
        ([], "wrong-type"),
        (5, "wrong-type"),
        ({"max_nodes": None}, "wrong-type"),
    ],
)
def test_other_objects_are_refused(value: Any, code: str) -> None:
    with pytest.raises(SlicebaseError) as caught:
        policy_from(value)
    assert code_of(caught) == code


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "bad-policy"),
        (b"{", "bad-policy"),
        (b'{"max_nodes": 1, "max_nodes": 2}', "bad-policy"),
        (b'{"distance_decay": NaN}', "not-finite"),
        (b'{"distance_decay": 1e999}', "not-finite"),
        (b"\xff", "bad-policy"),
        (b"[" * 100_000, "bad-policy"),
        (b'{"max_nodes": ' + b"1" * 5000 + b"}", "bad-policy"),
    ],
)
def test_other_bytes_are_refused(data: bytes, code: str) -> None:
    with pytest.raises(SlicebaseError) as caught:
        policy_from_bytes(data)
    assert code_of(caught) == code


def test_broken_json_is_refused_with_its_place() -> None:
    with pytest.raises(SlicebaseError) as caught:
        policy_from_bytes(b'{\n  "max_nodes": ,\n}')
    assert (caught.value.where.line, caught.value.where.column) == (2, 16)


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_any_bytes_give_a_policy_or_our_error(data: bytes) -> None:
    try:
        policy_from_bytes(data)
    except SlicebaseError as error:
        assert error.code


def test_assignments_can_set_single_weights() -> None:
    changed = policy_with(
        DEFAULT,
        ["max_nodes=64", "phase_weights.planning=0.8", "phase_weights.synthesis = 0.5", "include_siblings=false"],
    )
    assert changed == policy_from(
        {"max_nodes": 64, "phase_weights": {"planning": 0.8, "synthesis": 0.5}, "include_siblings": False}
    )
    assert policy_with(DEFAULT, ["max_nodes=1", "max_nodes=2"]).max_nodes == 2


@pytest.mark.parametrize(
    ("assignment", "code"),
    [
        ("max_nodes", "bad-policy"),
        ("max_nodes=", "wrong-type"),
        ("max_nodes=many", "wrong-type"),
        ("max_nodes=1.0", "wrong-type"),
        ("max_nodes=0", "out-of-range"),
        ("max_nodes.x=1", "wrong-type"),
        ("nodes=1", "bad-policy"),
        ("phase_weights.x=1", "bad-policy"),
        ("distance_decay=Infinity", "not-finite"),
        ("version=1", "policy-version"),
    ],
)
def test_other_assignments_are_refused(assignment: str, code: str) -> None:
    with pytest.raises(SlicebaseError) as caught:
        policy_with(DEFAULT, [assignment])
    assert code_of(caught) == code


def test_presets_are_found_by_name_and_by_hash() -> None:
    for name, policy in (("default", DEFAULT), ("focused", FOCUSED), ("broad", BROAD)):
        assert PRESETS.find(name) == PRESETS.find(policy.params_hash) == policy


def test_a_name_in_a_policy_set_never_changes_its_meaning() -> None:
    wide = policy_from({"max_nodes": 1000})
    extended = PRESETS.with_policy(wide, "wide")
    assert extended.find("wide") == extended.find(wide.params_hash) == wide
    assert extended.with_policy(wide, "wide") == extended
    with pytest.raises(SlicebaseError) as caught:
        extended.with_policy(FOCUSED, "wide")
    assert code_of(caught) == "policy-name"
    with pytest.raises(SlicebaseError) as caught:
        PRESETS.find("wide")
    assert code_of(caught) == "unknown-policy"


@pytest.mark.parametrize("name", ["", "0123456789abcdef", "abcdefabcdefabcd", "deadbeef", "a b", "-x"])
def test_a_name_cannot_look_like_a_hash_or_an_option(name: str) -> None:
    with pytest.raises(SlicebaseError) as caught:
        PRESETS.with_policy(DEFAULT, name)
    assert code_of(caught) == "bad-policy"


def test_a_policy_without_a_name_is_found_by_its_hash() -> None:
    policy = policy_from({"max_nodes": 7})
    assert PRESETS.with_policy(policy).find(policy.params_hash) == policy


def test_a_request_is_a_name_a_hash_an_object_or_nothing() -> None:
    assert PRESETS.resolve(None) == PRESETS.resolve("default") == PRESETS.resolve({}) == DEFAULT
    assert PRESETS.resolve(FOCUSED.params_hash) == FOCUSED
    assert PRESETS.resolve({"max_nodes": 9}).max_nodes == 9
    with pytest.raises(SlicebaseError) as caught:
        PRESETS.resolve(5)
    assert code_of(caught) == "wrong-type"
