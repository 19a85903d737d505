"""The figures of an atlas are those that one counts by hand in the slices of the plain expansion."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from slicebase.graph.atlas import NOTHING_ABOVE, AnchorChoice, SessionAtlas, chosen_anchors, survey, totals
from slicebase.graph.policy import DEFAULT, SlicePolicyV1
from slicebase.graph.select import FrontierTurn, select
from slicebase.graph.selection import KernelName
from tests.graph.graphs import GOLDEN_GRAPHS, Graph, golden_graph, graph, graphs, policies, tid, turn
from tests.graph.slicers import KERNELS, compact

ALL_TURNS = AnchorChoice()


def made(
    given: Graph,
    policy: SlicePolicyV1 = DEFAULT,
    choice: AnchorChoice = ALL_TURNS,
    kernel: KernelName = KERNELS[-1],
    parts: int = 1,
) -> SessionAtlas:
    session = compact(given, kernel)
    return SessionAtlas(session, survey(session, chosen_anchors(session, choice), policy, parts=parts))


def chain(length: int) -> Graph:
    return graph([turn(n) for n in range(length)], *((n, n + 1) for n in range(length - 1)))


class Counted:
    """The figures, from the selections of the plain expansion."""

    def __init__(self, given: Graph, anchors: Sequence[str], policy: SlicePolicyV1) -> None:
        self.selections = {anchor: select(given.plain, anchor, policy) for anchor in anchors}
        self.slices: Counter[str] = Counter()
        self.influence: Counter[str] = Counter()
        self.carried: Counter[str] = Counter()
        for anchor, selected in self.selections.items():
            self._count(anchor, {each.turn_id: each for each in selected})

    def _count(self, anchor: str, selected: dict[str, FrontierTurn]) -> None:
        for name, each in selected.items():
            if name == anchor:
                continue
            self.slices[name] += 1
            self.influence[name] += round(each.priority * 1_000_000)
            source = each.reached_from
            while source is not None and source != anchor:
                self.carried[source] += 1
                source = selected[source].reached_from

    def overlap(self, anchor: str, above: str) -> int:
        ours, theirs = ({each.turn_id for each in self.selections[name]} for name in (anchor, above))
        return len(ours & theirs) * 1_000_000 // len(ours | theirs)


@given(graphs(), policies(), st.data())
def test_the_figures_are_those_of_the_plain_expansion(given: Graph, policy: SlicePolicyV1, data: st.DataObject) -> None:
    choice = AnchorChoice(sample=data.draw(st.integers(1, len(given.turns))))
    found = made(given, policy, choice, data.draw(st.sampled_from(KERNELS)), data.draw(st.integers(1, 3)))
    session, figures = found.session, found.survey
    anchors = [session.id_of(anchor) for anchor in figures.anchors]
    counted = Counted(given, anchors, policy)
    for number in range(len(session)):
        name = session.id_of(number)
        assert figures.slices[number] == counted.slices[name]
        assert figures.influence[number] == counted.influence[name]
        assert figures.carried[number] == counted.carried[name]
    assert list(figures.sizes) == [len(counted.selections[anchor]) for anchor in anchors]
    for place, overlap in found.overlaps():
        above = session.id_of(figures.above[place])
        assert above in anchors
        assert overlap == counted.overlap(anchors[place], above)
    assert set(found.unreached()) == {each.id for each in given.turns} - counted.slices.keys()
    assert found.reached + len(found.unreached()) == len(given.turns)


@given(graphs(), policies(), st.randoms(use_true_random=False))
def test_the_order_in_which_turns_were_stored_changes_nothing(
    given: Graph, policy: SlicePolicyV1, order: object
) -> None:
    turns = list(given.turns)
    order.shuffle(turns)  # type: ignore[attr-defined]
    assert made(given, policy).digest == made(Graph(tuple(turns), given.edges), policy).digest


@pytest.mark.parametrize("name", GOLDEN_GRAPHS)
def test_the_digest_changes_with_the_policy_and_with_the_anchors(name: str) -> None:
    given = golden_graph(name)
    digests = {
        made(given, policy, choice).digest
        for policy in (DEFAULT, replace(DEFAULT, max_nodes=3))
        for choice in (AnchorChoice(), AnchorChoice(sample=3))
    }
    assert len(digests) == 4


def test_in_a_chain_the_middle_carries_most_and_every_turn_is_reached() -> None:
    found = made(chain(9))
    assert found.unreached() == []
    assert found.figures(1, by_bridge=True)[0].turn == tid(4)
    assert [figure.slices for figure in found.figures(9)] == [8] * 9


def test_a_turn_alone_is_in_no_slice_and_has_nothing_above() -> None:
    found = made(graph([turn(1)]))
    assert found.unreached() == [tid(1)]
    assert found.figures(10) == found.figures(10, by_bridge=True) == []
    assert found.seams(10) == []
    assert list(found.survey.above) == [NOTHING_ABOVE]
    assert totals([found]).overlap is None
    assert totals([found]).coverage == 0


def test_anchors_are_chosen_by_role_and_a_sample_is_spread_over_the_time() -> None:
    turns = [turn(9 - n, role="user" if n % 2 else "tool", created_at=1_704_067_200 + n) for n in range(10)]
    session = graph(turns).compact
    anchors = chosen_anchors(session, AnchorChoice(("user",)))
    assert [session.id_of(anchor) for anchor in anchors] == [tid(9 - n) for n in (1, 3, 5, 7, 9)]
    sample = chosen_anchors(session, AnchorChoice(sample=2))
    assert [session.id_of(anchor) for anchor in sample] == [tid(9), tid(4)]
    assert len(chosen_anchors(session, AnchorChoice(sample=99))) == 10


def test_the_slice_above_is_that_of_the_nearest_anchor_by_first_parents() -> None:
    """Only 0 and 3 are anchors; 1 and 2 lie between them. 3 also has the parent 9, which has a higher id than 2."""
    turns = [turn(n, role="user" if n in (0, 3) else "tool") for n in (0, 1, 2, 3, 9)]
    found = made(graph(turns, (0, 1), (1, 2), (2, 3), (9, 3)), choice=AnchorChoice(("user",)))
    session = found.session
    above = dict(zip(found.survey.anchors, found.survey.above, strict=True))
    assert above[session.number_of(tid(3))] == session.number_of(tid(0))


def test_seams_are_where_slices_differ_most_and_equal_slices_have_none() -> None:
    policy = replace(DEFAULT, max_radius=2)
    assert made(chain(3), policy).seams(10) == []
    seams = made(chain(40), policy).seams(3)
    assert [seam.overlap for seam in seams] == sorted(seam.overlap for seam in seams)
    assert all(seam.overlap < 1_000_000 for seam in seams)
