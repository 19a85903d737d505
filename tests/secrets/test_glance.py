"""A glance is exact: what it passes holds nothing that a built-in rule replaces."""

from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from slicebase.secrets.glance import (
    has_hidden,
    in_ascii,
    known_words,
    may_hold_private,
    may_hold_secrets,
    value_may_hold_secrets,
)
from slicebase.secrets.redact import private_only, redact, redact_value
from tests.secrets.test_redact import TEXTS


@settings(max_examples=500, deadline=None)
@given(TEXTS)
@example("curl -u a:s3cret!x")
@example("x://a:s3cret!x@b")
def test_a_text_that_is_passed_has_no_secret(text: str) -> None:
    assert may_hold_secrets(text) or not redact(text).counts
    assert may_hold_private(text) or not redact(text, private_only()).counts


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(["password", "api_key", "text", "x"]), st.one_of(TEXTS, st.text(max_size=12))))
@example({"password": "abc!def"})
@example({"token": "QwErTyUiOpAsDf"})
def test_a_value_that_is_passed_has_no_secret(value: dict[str, str]) -> None:
    assert value_may_hold_secrets([value]) or not redact_value([value]).counts


@pytest.mark.parametrize(
    "text", ["Retries stop after 5 attempts.", "See src/slicebase/base.py, line 7.", "90 % of it (é) at 10:30", ""]
)
def test_an_ordinary_sentence_needs_no_rules(text: str) -> None:
    assert not may_hold_secrets(text)
    assert not has_hidden(text, in_ascii(text))


@given(
    st.lists(st.sampled_from([*"pasw_duvrcl ", "pass", "uthorization", "rivate", "identified by", "é"])).map("".join)
)
def test_the_words_that_are_searched_together_are_those_that_are_there(text: str) -> None:
    there = {word: word in text for word in ("pwd", "private", "uthorization", "identified by")}
    there |= {"pass": "passw" in text or "_pass" in text, "url": "curl" in text}
    assert sorted(known_words(text)) == sorted(word for word, is_there in there.items() if is_there)


@given(st.text())
def test_a_text_in_ascii_has_the_same_places(text: str) -> None:
    assert in_ascii(text) == "".join(each if each.isascii() else "?" for each in text)


def test_without_secrets_only_what_is_private_is_replaced() -> None:
    key = "gh" + "p_" + "7hQ2mZ9xK4vB8nR1cT6wY3jL5sD0fG2aE9uP"
    found = redact(f"{key} <private>x</private> \\u003cprivate\\u003ey\\u003c/private\\u003e", private_only())
    assert found.text == f"{key} [redacted:private] [redacted:private]"
    assert private_only().value({"password": "s3cret!x"}, Counter()) == {"password": "s3cret!x"}
