"""Rules of the user: a file that is read, and errors that name the rule and the key."""

import re
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.secrets.rule_file import MOST_RULES, read_rules

GOOD = "[[rule]]\nname = 'acme-key'\npattern = 'acme_[a-z0-9]{8,}'\n"


def test_a_rule_finds_whole_words() -> None:
    (rule,) = read_rules(GOOD)
    text = "acme_a1b2c3d4, xacme_a1b2c3d4, acme_a1b2c3d4é, acme_a1b2"
    assert [text[span.start : span.end] for span in rule.spans(text)] == ["acme_a1b2c3d4"]


def test_a_rule_can_ask_for_a_mix() -> None:
    (rule,) = read_rules(GOOD + "mixed = true\n")
    assert not list(rule.spans("acme_mypersonalkey"))
    assert list(rule.spans("acme_q7rk2lw9xz4tn8"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[rule", "TOML"),
        ("[rules]\n", "rules"),
        ("rule = 3", "rule"),
        ("rule = [3]", "rule 1"),
        ("[[rule]]\npattern = 'abcd'", "name"),
        ("[[rule]]\nname = 'A b'\npattern = 'abcd'", "name"),
        ("[[rule]]\nname = 'ab'\n", "pattern"),
        ("[[rule]]\nname = 'ab'\npattern = 3", "pattern"),
        ("[[rule]]\nname = 'ab'\npattern = 'abc'\nmixed = 1", "mixed"),
        ("[[rule]]\nname = 'ab'\npattern = 'abc'\nwords = []", "words"),
        (GOOD + "[[rule]]\nname = 'second'\npattern = 'a(b+)+c'", "rule 2 (second), pattern"),
        ("[[rule]]\nname = 'ab'\npattern = '[a-z]{9}'", "fixed"),
        ("[[rule]]\nname = 'ab'\npattern = 'abc[a-z]{1,2000}x'", "1000"),
        ("[[rule]]\nname = 'ab'\npattern = 'abc" + "[a-z]{1000}" * 5 + "'", "4000"),
        ("[[rule]]\nname = 'ab'\npattern = 'abc[a-9]{2}'", "the wrong way round"),
        ("[[rule]]\nname = 'ab'\npattern = 'abc[9-9z-a]'", "the wrong way round"),
        ("[[rule]]\nname = 'ab'\npattern = 'abc(?P<secret>x)(?P<secret>y)'", "pattern"),
        ("[[rule]]\nname = 'ab'\npattern = 'abc" + "(?:" * 3000 + "x" + ")" * 3000 + "'", "pattern"),
        ("[[rule]]\nname = 'ab'\npattern = 'abc[a-z]{" + "9" * 5000 + "}'", "pattern"),
        (GOOD * (MOST_RULES + 1), "200"),
    ],
)
def test_an_error_names_the_rule_and_the_key(text: str, words: str) -> None:
    with pytest.raises(SlicebaseError) as error:
        read_rules(text)
    assert error.value.code == "bad-rule"
    assert words in str(error.value)


@given(st.text(max_size=40), st.text(alphabet="ab{}[](),?:|\\d9", max_size=20))
def test_any_text_gives_rules_or_an_error(noise: str, pattern: str) -> None:
    for text in (noise, f"[[rule]]\nname = 'ab'\npattern = '''{pattern}'''"):
        try:
            rules = read_rules(text)
        except SlicebaseError as error:
            assert error.code == "bad-rule"
        else:
            for rule in rules:
                list(rule.spans(noise + pattern))


@pytest.mark.parametrize("unit", ["-acme_", "acme_", ".acme_", "-acme_your"])
@pytest.mark.parametrize("end", ["", "1", "é", "!"])
def test_the_time_of_a_rule_of_the_user_grows_like_the_text(unit: str, end: str) -> None:
    (rule,) = read_rules("[[rule]]\nname = 'acme'\npattern = 'acme_[\\w.-]{20,}'\nmixed = true")
    read = []
    for size in (3_000, 12_000):
        tries: list[int] = []

        class Reading:
            groupindex = rule.pattern.groupindex

            def match(self, text: str, at: int, tries: list[int] = tries) -> re.Match[str] | None:
                found = rule.pattern.match(text, at)
                tries.append(found.end() - at if found else 0)
                return found

        assert not list(rule._replace(pattern=cast("re.Pattern[str]", Reading())).spans(unit * (size // 6) + end))
        read.append(sum(tries))
    assert read[1] < 6 * max(read[0], 1)
