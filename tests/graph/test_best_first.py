"""The fast expansion agrees with the plain one, for every width at which a family counts as wide."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.graph import best_first
from slicebase.graph.policy import DEFAULT, PRESETS, SlicePolicyV1, policy_from
from slicebase.graph.select import select
from tests.graph.graphs import GOLDEN_GRAPHS, Graph, golden, golden_graph, graph, graphs, policies, tid, turn


@settings(max_examples=60)
@given(graphs(), policies(), st.integers(0, 6), st.data())
def test_twins_agree_on_arbitrary_graphs(given: Graph, policy: SlicePolicyV1, wide: int, data: st.DataObject) -> None:
    anchor = data.draw(st.sampled_from(given.turns)).id
    assert best_first.select(given.compact, anchor, policy, wide) == select(given.plain, anchor, policy)
    assert best_first.context_slice(given.compact, anchor, policy) == given.plain.context_slice(anchor, policy)


@settings(max_examples=30)
@given(graphs(), policies(), st.data())
def test_the_plain_expansion_runs_on_the_compact_form_too(
    given: Graph, policy: SlicePolicyV1, data: st.DataObject
) -> None:
    anchor = data.draw(st.sampled_from(given.turns)).id
    assert select(given.compact, anchor, policy) == select(given.plain, anchor, policy)


@pytest.mark.parametrize("wide", [0, 2])
@pytest.mark.parametrize("name", GOLDEN_GRAPHS)
def test_golden_graphs_come_out_the_same_when_every_family_is_wide(name: str, wide: int) -> None:
    compact = golden_graph(name).compact
    for case in golden(name)["cases"]:
        selected = best_first.select(compact, case["anchor_turn_id"], policy_from(case["policy"]), wide)
        assert [candidate.turn_id for candidate in selected] == case["selection_order"]


@pytest.mark.parametrize("anchor", [1, 2, 150, 300])
@pytest.mark.parametrize("policy", ["default", "focused", "broad"])
def test_both_versions_agree_on_a_star(anchor: int, policy: str) -> None:
    turns = [turn(n, salience=(n * 37 % 101) / 101) for n in range(1, 301)]
    star = graph(turns, *((1, n) for n in range(2, 301)))
    chosen = PRESETS.find(policy)
    assert best_first.select(star.compact, tid(anchor), chosen) == select(star.plain, tid(anchor), chosen)


def test_a_turn_of_two_wide_families_belongs_to_the_one_that_was_opened_first() -> None:
    """Ruling 11: 40 is a child of 1 and of 2. The family of 1 is opened first, and 40 is near its end."""
    turns = [turn(n, "synthesis" if n in (1, 2) else "planning", 0.1 if n == 40 else 0.5) for n in range(1, 60)]
    first, second = [(1, n) for n in range(3, 41)], [(2, n) for n in range(40, 60)]
    both = graph(turns, (1, 2), *first, *second)
    for wide in (0, 10, 50):
        selected = best_first.select(both.compact, tid(1), DEFAULT, wide)
        assert selected == select(both.plain, tid(1), DEFAULT)
        assert next(c.reached_from for c in selected if c.turn_id == tid(40)) == tid(1)


def test_an_expansion_of_a_wide_family_touches_only_what_it_selects() -> None:
    """In a star of ten thousand turns, the frontier grows with the selection, not with the family."""
    turns = [turn(n, salience=n / 10_000) for n in range(1, 10_001)]
    session = graph(turns, *((1, n) for n in range(2, 10_001))).compact
    entries = best_first.expand(session, session.number_of(tid(1)), policy_from({"max_nodes": 3}))
    family = entries[1][-1]
    assert family is not None
    assert len(list(family.members)) == 10_000 - 1 - 2
