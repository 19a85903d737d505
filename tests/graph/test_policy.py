"""Policies: their limits, their hash, and the priorities that they give (§3, §4, §8, §9)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.graph.policy import BROAD, DEFAULT, FOCUSED, PhaseWeights, SlicePolicyV1, millionths, policy_from
from slicebase.graph.turn import PHASES
from tests.graph.graphs import GOLDEN_GRAPHS, golden, policies


def refusal(**given: Any) -> str:
    with pytest.raises(SlicebaseError) as caught:
        SlicePolicyV1(**given)
    return caught.value.code


def test_the_default_policy_has_the_published_hash() -> None:
    """Ruling 2 and the golden README."""
    assert DEFAULT.params_hash == "02005444cae1117d"


def test_presets_are_those_of_section_9() -> None:
    assert (FOCUSED.max_nodes, FOCUSED.max_radius, FOCUSED.salience_weight, FOCUSED.distance_decay) == (32, 3, 0.5, 0.8)
    assert (FOCUSED.include_siblings, FOCUSED.max_siblings_per_node) == (False, 0)
    assert (BROAD.max_nodes, BROAD.max_radius, BROAD.salience_weight, BROAD.distance_decay) == (512, 20, 0.2, 0.95)
    assert (BROAD.include_siblings, BROAD.max_siblings_per_node) == (True, 10)
    assert DEFAULT.phase_weights == FOCUSED.phase_weights == BROAD.phase_weights == PhaseWeights()


def test_the_default_object_is_that_of_section_12() -> None:
    assert DEFAULT.as_json() == {
        "version": "slice_policy_v1",
        "max_nodes": 256,
        "max_radius": 10,
        "phase_weights": {
            "synthesis": 1.0,
            "planning": 0.9,
            "consolidation": 0.6,
            "debugging": 0.5,
            "exploration": 0.3,
        },
        "salience_weight": 0.3,
        "distance_decay": 0.9,
        "include_siblings": True,
        "max_siblings_per_node": 5,
    }


@pytest.mark.parametrize("name", GOLDEN_GRAPHS)
def test_golden_policies_have_their_hashes(name: str) -> None:
    for case in golden(name)["cases"]:
        assert policy_from(case["policy"]).params_hash == case["policy_params_hash"]


@given(policies(), policies())
def test_other_parameters_give_another_hash(one: SlicePolicyV1, other: SlicePolicyV1) -> None:
    """§8: different configurations, different hashes."""
    assert (one == other) == (one.params_hash == other.params_hash)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"max_nodes": 0}, "out-of-range"),
        ({"max_nodes": -1}, "out-of-range"),
        ({"max_nodes": 2**53}, "out-of-range"),
        ({"max_nodes": 64.0}, "wrong-type"),
        ({"max_nodes": True}, "wrong-type"),
        ({"max_nodes": "64"}, "wrong-type"),
        ({"max_radius": -1}, "out-of-range"),
        ({"max_radius": 2**32}, "out-of-range"),
        ({"max_siblings_per_node": -1}, "out-of-range"),
        ({"salience_weight": 1.000001}, "out-of-range"),
        ({"salience_weight": -0.1}, "out-of-range"),
        ({"salience_weight": False}, "wrong-type"),
        ({"salience_weight": None}, "wrong-type"),
        ({"distance_decay": 1.1}, "out-of-range"),
        ({"distance_decay": float("nan")}, "not-finite"),
        ({"distance_decay": float("inf")}, "not-finite"),
        ({"distance_decay": 10**400}, "out-of-range"),
        ({"distance_decay": 0.1234567}, "policy-millionth"),
        ({"include_siblings": 1}, "wrong-type"),
        ({"phase_weights": {"planning": 1.0}}, "wrong-type"),
    ],
)
def test_a_value_outside_its_range_is_refused_and_never_clamped(given: dict[str, Any], code: str) -> None:
    """Ruling 14."""
    assert refusal(**given) == code


@pytest.mark.parametrize(
    ("weight", "code"),
    [(1_000_001, "out-of-range"), (-1_000_000.5, "out-of-range"), ("1", "wrong-type"), (1e-9, "policy-millionth")],
)
def test_phase_weights_have_limits_too(weight: Any, code: str) -> None:
    with pytest.raises(SlicebaseError) as caught:
        PhaseWeights(planning=weight)
    assert caught.value.code == code
    assert "phase_weights.planning" in caught.value.message


def test_weights_beyond_one_are_allowed() -> None:
    """§3.3: weights should be between 0 and 1, but are not clamped."""
    assert PhaseWeights(planning=1.5, debugging=-2, synthesis=1_000_000).planning == 1.5


def test_a_binary32_number_means_its_millionths() -> None:
    """Ruling 14: accepted when both are the same in binary32."""
    widened = SlicePolicyV1(salience_weight=0.30000001192092896)
    assert widened == DEFAULT
    assert widened.salience_weight == 0.3
    assert SlicePolicyV1(salience_weight=1) == SlicePolicyV1(salience_weight=1.0)
    assert SlicePolicyV1(salience_weight=-0.0).params_hash == SlicePolicyV1(salience_weight=0).params_hash


@given(st.integers(-1_000_000_000_000, 1_000_000_000_000))
def test_millionths_that_binary32_can_tell_apart_stay_themselves(number: int) -> None:
    try:
        weights = PhaseWeights(planning=number / 1_000_000)
    except SlicebaseError as error:
        assert error.code == "policy-millionth"
    else:
        assert PhaseWeights(planning=weights.planning) == weights
        assert millionths(weights.planning) == millionths(number / 1_000_000)


def test_millionths_round_half_away_from_zero() -> None:
    assert [millionths(value) for value in (2.0**-7, -(2.0**-7), 0.3, -0.3)] == [7813, -7813, 300000, -300000]


def test_priorities_have_the_range_of_section_4_2() -> None:
    """§4.2: the two figures."""
    assert DEFAULT.scoring.priority("exploration", 0.0, 10) == pytest.approx(0.10, abs=0.005)
    assert DEFAULT.scoring.priority("synthesis", 1.0, 0) == pytest.approx(1.30)


def test_a_priority_is_weight_and_salience_times_decay() -> None:
    """§4."""
    for phase, weight in zip(PHASES, (1.0, 0.9, 0.6, 0.5, 0.3), strict=True):
        assert DEFAULT.scoring.priority(phase, 0.5, 2) == pytest.approx((weight + 0.15) * 0.81, rel=1e-6)
