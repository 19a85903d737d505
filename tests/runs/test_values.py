"""Values of any shape, as JSON sees them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.core.hashing import canonical
from slicebase.runs.event import EventDraft, LogHead
from slicebase.runs.state import RunState, fold
from slicebase.runs.values import each_of, is_blank, same
from tests.runs.made import NOW, RUN, append_all

SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "0"])
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.just("a"), inner))


@given(VALUES, VALUES)
def test_values_are_the_same_if_they_have_the_same_canonical_bytes(one: Any, other: Any) -> None:
    assert same(one, other) == (canonical(one) == canonical(other))


def test_the_order_of_keys_makes_no_difference() -> None:
    assert same({"a": {"c": 1, "b": 2}, "d": 0}, {"d": 0, "a": {"b": 2, "c": 1}})


def test_what_is_no_list_is_a_list_of_one() -> None:
    assert [each_of(value) for value in ([], ["a"], "a", None)] == [[], ["a"], ["a"], [None]]


@pytest.mark.parametrize(
    "text", ["", " \n\t", "\u200b", "\ufeff", "\u00ad", "\u2800", "\x00", "\u3164 \u200d", "\u0301"]
)
def test_a_text_in_which_nothing_can_be_seen_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("value", ["a", "0", "\u200ba", "e\u0301", "👩\u200d👧", "⠁", None, 0, [], False])
def test_other_values_are_not_blank(value: object) -> None:
    assert not is_blank(value)


@pytest.mark.parametrize(("first", "second"), [(0, False), (1, True), ([0], [False]), ({"a": 1}, {"a": True})])
def test_a_statement_that_python_finds_equal_and_json_does_not_replaces_the_one_before(
    first: object, second: object
) -> None:
    """The table of items points to the last statement of an item, and the fold must keep the same one."""
    drafts = [EventDraft(type="CLAIM", payload={"claim_id": "c1", "statement": value}) for value in (first, second)]
    events, _ = append_all(LogHead(RUN), drafts, NOW)
    kept = fold(RunState(RUN), events).claims["c1"]["statement"]
    assert same(kept, second)
