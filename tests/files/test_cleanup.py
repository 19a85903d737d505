"""The conditions of a cleanup text: ages, periods, counts and sizes (§ Cleanup)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.files.cleanup import cleanup_rules

DAY = 86_400_000


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("Archive entries older than 1 year. Summarize quarterly.", [("age", 365 * DAY), ("period", 91 * DAY)]),
        ("Summarize when over 100 entries.", [("count", 100)]),
        ("Delete superseded entries after 30 days.", [("age", 30 * DAY)]),
        ("Review quarterly. Archive outdated sections.", [("period", 91 * DAY)]),
        ("Review stale decisions quarterly.", [("period", 91 * DAY)]),
        ("Review monthly", [("period", 30 * DAY)]),
        ("REVIEW\n  every   two weeks", [("period", 14 * DAY)]),
        ("Check each day; once a year", [("period", DAY), ("period", 365 * DAY)]),
        ("Once per quarter.", [("period", 91 * DAY)]),
        ("Daily, weekly, fortnightly", [("period", DAY), ("period", 7 * DAY), ("period", 14 * DAY)]),
        ("Move rows that are 90 days old after a month.", [("age", 90 * DAY), ("age", 30 * DAY)]),
        ("Keep the last 50 rows.", [("count", 50)]),
        ("At most 1,000 open messages.", [("count", 1000)]),
        ("Split it above 500 KB", [("size", 500_000)]),
        ("larger than 2MiB", [("size", 2 << 20)]),
        ("over 0 rows, after 0 days", []),
        ("Never. Only by hand.", []),
        ("Written 3 days ago by 2 people; see version 1.5.", []),
        ("", []),
    ],
)  # fmt: skip
def test_the_conditions_of_a_text_are_read(text: str, rules: list[tuple[str, int]]) -> None:
    """The first seven are the specification's own."""
    assert sorted((rule.kind, rule.amount) for rule in cleanup_rules(text)) == sorted(rules)


def test_a_rule_names_its_sentence_and_whether_it_is_about_what_no_longer_holds() -> None:
    former, others = cleanup_rules("Delete superseded  entries\tafter 30 days. Archive entries older than 1 year.")
    assert (former.about_former, former.sentence) == (True, "Delete superseded entries after 30 days")
    assert (others.about_former, others.sentence) == (False, "Archive entries older than 1 year")


_WORDS = ["after", "3", "days", "entries", "over", "every", "keep the last", ",", ".", ";", "a", "1,000", "KB", "0"]


@given(st.text() | st.lists(st.sampled_from(_WORDS)).map(" ".join))
def test_any_text_is_read_and_every_amount_is_positive(text: str) -> None:
    assert all(rule.amount > 0 and rule.sentence in " ".join(text.split()) for rule in cleanup_rules(text))
