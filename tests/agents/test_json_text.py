"""An item is added to a JSON text or removed from it, and every other byte stays."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.agents.json_text import JsonText

values = st.recursive(
    st.none() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=4), values, max_size=4), st.sampled_from([None, 2, "\t"]), values)
def test_an_added_item_is_there_and_its_removal_leaves_the_text(told: Any, indent: Any, value: Any) -> None:
    text = json.dumps(told, indent=indent)
    longer = JsonText(text).with_item((), value, "the new one")
    assert json.loads(longer) == {**told, "the new one": value}
    assert json.loads(JsonText(longer).without_item((), "the new one")) == told
    if told:
        assert JsonText(longer).without_item((), "the new one") == text


@given(st.dictionaries(st.text(max_size=4), values, max_size=4), st.sampled_from([None, 2, "\t"]))
def test_every_value_is_found_where_it_stands(told: Any, indent: Any) -> None:
    text = json.dumps(told, indent=indent)
    for item in JsonText(text).items(0):
        assert json.loads(text[item.value : item.end]) == told[item.step]
        assert JsonText(text).find(item.step) == item.value


COMMENTED = """// the settings of /* everybody */
{
  "url": "http://a//b", /* two
  lines */ "a": [1, // one
  2]
}
"""


def test_comments_stay_when_an_item_comes_and_goes() -> None:
    text = JsonText(COMMENTED, comments=True)
    assert json.loads(text.shape) == {"url": "http://a//b", "a": [1, 2]}
    longer = JsonText(text.with_item((), {"b": 1}, "new"), comments=True)
    assert json.loads(longer.shape) == {"url": "http://a//b", "a": [1, 2], "new": {"b": 1}}
    assert longer.without_item((), "new") == COMMENTED


@pytest.mark.parametrize("text", ["{ // empty\n}", "{/* empty */}", '{"a": 1 /* one */}', '{/* one */ "a": 1}'])
def test_comments_stay_in_a_container_that_is_or_becomes_empty(text: str) -> None:
    longer = JsonText(text, comments=True).with_item((), 2, "new")
    assert json.loads(JsonText(longer, comments=True).shape)["new"] == 2
    for key in ("new", "a"):
        if key in json.loads(JsonText(longer, comments=True).shape):
            longer = JsonText(longer, comments=True).without_item((), key)
    assert json.loads(JsonText(longer, comments=True).shape) == {}
    assert "//" in longer or "/*" in longer


GAPS = st.sampled_from(["", " ", "\n  ", " // %\n", "/* % */", " /* % */\n"])


@given(st.lists(st.tuples(GAPS, GAPS), min_size=1, max_size=4), st.data())
def test_comments_around_an_item_stay_when_it_goes(gaps: list[tuple[str, str]], more: st.DataObject) -> None:
    told = {f"k{number}": number for number in range(len(gaps))}
    pairs = (f"{before}{json.dumps(key)}: {told[key]}{after}" for key, (before, after) in zip(told, gaps, strict=True))
    text = "{" + ",".join(pairs) + "}"
    for number in range(text.count("%")):
        text = text.replace("%", f"about {number};", 1)
    gone = more.draw(st.sampled_from(sorted(told)))
    shorter = JsonText(text, comments=True).without_item((), gone)
    assert json.loads(JsonText(shorter, comments=True).shape) == {key: told[key] for key in told if key != gone}
    assert [word for word in shorter.split() if word.endswith(";")] == [w for w in text.split() if w.endswith(";")]


def test_added_lines_end_as_the_others_do() -> None:
    longer = JsonText('{\r\n  "a": 1\r\n}\r\n').with_item((), {"b": [1]}, "new")
    assert longer.count("\n") == longer.count("\r\n") > 4
