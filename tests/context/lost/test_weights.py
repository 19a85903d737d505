"""The weights of lost items: how they are learned, and what the reviewed data may contain."""

import pytest

from slicebase.context.lost.phrases import LOST_KINDS
from slicebase.context.lost.weights import WEIGHTS
from tools.lost_labels import LABELLED, Label
from tools.lost_weights import WRITTEN, Labelled, learned, weights_from


def labelled(worth: int, in_summary: str = "no", **features: float) -> Labelled:
    return Labelled(features, [Label("s", "finding", "q", in_summary, worth)], could_be_listed=in_summary == "no")


def test_what_labels_prefer_gets_a_higher_weight_and_the_same_labels_give_the_same_weights() -> None:
    rows = [
        *(labelled(3, rare=1.0, absent=0.9) for _ in range(5)),
        *(labelled(0, common=1.0, absent=0.9) for _ in range(5)),
        *(labelled(2, "yes", rare=1.0) for _ in range(5)),
    ]
    weights = weights_from([rows])
    assert weights["rare"] > 0 > weights["common"]
    assert weights_from([rows[:7], rows[7:]]) == weights


def test_every_kind_has_a_weight_and_none_decides_alone() -> None:
    assert set(LOST_KINDS) <= set(WEIGHTS)
    assert all(abs(weight) < 3 for weight in WEIGHTS.values())


@pytest.mark.skipif(not LABELLED.is_dir(), reason="../shared/data is not here")
def test_the_reviewed_weights_are_those_that_the_labels_teach() -> None:
    assert learned() == WRITTEN.read_text()
