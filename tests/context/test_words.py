import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.context.forms import for_index
from slicebase.context.words import (
    for_question,
    has_foreign_letters,
    label,
    runs,
    simplified,
    states_rule,
    tenths_asked,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Alice: hello", "Alice"),
        ("  **Decision:** we ship on Friday", "Decision"),
        ("[Dr. Ito Ken]: good morning", "Dr. Ito Ken"),
        ("> Error: no such file", "Error"),
        ("田中：おはよう", "田中"),
        ("Alice:\nhello", "Alice"),
        ("Alice:", "Alice"),
        ("no label here", ""),
        ("this is a longer sentence: and its end", ""),
        ("https://example.org/", ""),
        ("12: a number is no label", ""),
        ("x:y", ""),
        ("", ""),
    ],
)
def test_a_label_is_one_to_three_words_before_a_colon(text: str, expected: str) -> None:
    assert label(text) == expected


def test_unspaced_scripts_are_indexed_as_characters_and_pairs_and_searched_as_pairs() -> None:
    assert for_index("a 日本語 b").split() == ["a", "日", "本", "語", "日本", "本語", "b"]
    assert for_question("日本語").split() == ["日本", "本語"]
    assert for_question("猫").split() == ["猫"]
    assert for_index("plain text") == for_question("plain text") == "plain text"


@given(st.text(max_size=40))
def test_whatever_is_looked_up_of_a_text_was_indexed_of_it(text: str) -> None:
    assert set(for_question(text).split()) <= set(for_index(text).split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Always use tabs.", True),
        ("When I ask for code, show the tests, too", True),
        ("I’d really prefer short answers", True),
        ("please don't push", True),
        ("The sideways fox is preferable", False),
        ("I asked the fox, please", False),
        ("x" * 4_000 + " always", False),
    ],
)
def test_a_rule_says_what_is_always_or_never_to_be_done_or_preferred(text: str, expected: bool) -> None:
    assert states_rule(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ada: Where is it?", 10),
        ("Ada: It is here. Where is it?", 5),
        ("Ada: I know. 那是什么？ ", 4),
        ("Ada: What is it?!", 10),
        ("Ada: Well… Yes.", 0),
        ("?", 0),
        ("Ada: ???", 10),
        ("Where is the fox? Ada\nKen", 7),
        ("x. " * 1_400 + "Where?", 0),
    ],
)
def test_the_part_of_a_text_that_asks_is_told_in_tenths(text: str, expected: int) -> None:
    assert tenths_asked(text) == expected


@given(st.text(st.sampled_from("aA:?!. \n？"), max_size=40))
def test_between_nothing_and_all_of_a_text_asks(text: str) -> None:
    assert 0 <= tenths_asked(text) <= 10


def test_what_has_no_foreign_letter_by_its_bytes_is_read_as_it_is_beside_one() -> None:
    """The foreign letter makes the patterns of letters look at the sign."""
    for code in {*range(0x80, 0x3_0000), *range(0xE_0000, 0xE_0200)} - {*range(0xD800, 0xE000)}:
        if not has_foreign_letters(chr(code)):
            text = f"\u0436 {chr(code)} a{chr(code)}"
            assert for_index(text) == simplified(text) == text, hex(code)
            assert list(runs(text)) == [(text, False)], hex(code)
