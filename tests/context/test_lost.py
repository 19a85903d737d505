"""When an item of each kind counts as kept, and the order of the lost items."""

import pytest
from slicebase.context.lost_rules import LOST_KINDS, LostKind

from slicebase.context.lost import TABLE, CompactedTurns, Loss, headline, judge, tally
from slicebase.graph.turn import Part
from tests.context.transcripts import Transcript


def judged(script: Transcript, summary: str) -> Loss:
    before = tuple(script.turns)
    return judge(CompactedTurns(before, (script.summary(summary),)))


def one_of_each() -> Transcript:
    script = Transcript()
    script.user("Never edit migration 0007 by hand.")
    script.say("We decided to round once per order. We still need to expire discount codes.")
    script.run("alembic upgrade head", "FAILED: Multiple head revisions are present", error=True)
    script.run("pytest -q tests/test_prices.py", "32 passed in 1.1s")
    script.call("Read", {"file_path": "/repo/shop/prices.py"}, "x")
    return script


KEPT: dict[LostKind, str] = {
    "instruction": "- Migration 0007 is never to be edited by hand",
    "decision": "Rounding happens once per order.",
    "task": "Pending: expire the discount codes",
    "error": "There were multiple head revisions.",
    "command": "I ran `alembic upgrade head`.",
    "test": "`pytest -q tests/test_prices.py` is green",
    "file": "shop/prices.py has the totals",
}


@pytest.mark.parametrize("kind", LOST_KINDS)
def test_an_item_is_kept_if_the_summary_repeats_it(kind: LostKind) -> None:
    kept = {each.kind: each.kept for each in tally([judged(one_of_each(), KEPT[kind])])}
    assert kept == {other: int(other == kind) for other in LOST_KINDS}


@pytest.mark.parametrize(
    ("kind", "summary"),
    [
        ("instruction", "Migration 0008 is never to be edited by hand"),  # another figure
        ("decision", "Orders were discussed."),
        ("task", "Discounts were added."),
        ("error", "Some revisions were made."),
        ("command", "I ran alembic upgrade headless"),
        ("test", "pytest -q tests/test_prices.pyc"),
        ("file", "lib/prices.pyx and reprices.py"),
    ],
)
def test_an_item_is_lost_if_the_summary_says_something_else(kind: LostKind, summary: str) -> None:
    assert {each.kind: each.kept for each in tally([judged(one_of_each(), summary)])}[kind] == 0


def test_a_test_run_is_kept_by_its_figures_or_by_the_test_that_failed() -> None:
    script = Transcript()
    script.run("pytest -q", "FAILED tests/t.py::test_two_at_once - x\n1 failed, 31 passed in 1s")
    for summary in ("the run had 1 failed and 31 passed", "`tests/t.py::test_two_at_once` fails"):
        (counted,) = (each for each in tally([judged(script, summary)]) if each.kind == "test")
        assert counted.kept == 1
        script.turns.pop()


def test_the_item_with_the_highest_weight_comes_first_and_among_equal_ones_the_newest() -> None:
    script = one_of_each()
    script.user("Actually, the limit is wrong. We decided on the other way round.")
    script.run("make stage")
    script.run("make other")
    lost = judged(script, "nothing").items
    assert [(each.item.kind, each.item.mark) for each in lost[:3]] == [
        ("instruction", "correction"),
        ("decision", "by the user"),
        ("decision", "by the assistant"),
    ]
    commands = [each.item.text for each in lost if each.item.kind == "command"]
    assert commands == ["alembic upgrade head", "make other", "make stage"]
    assert [each.weight for each in lost] == sorted((each.weight for each in lost), reverse=True)


def test_the_headline_counts_every_kind_that_occurs() -> None:
    loss = judged(one_of_each(), KEPT["file"])
    assert headline(tally([loss])) == (
        "kept 0 of 1 decision, 0 of 1 instruction, 0 of 1 open task, 0 of 1 error, 0 of 1 test run, 1 of 1 file, "
        "0 of 1 command; the other 6 are one recall away"
    )
    assert headline([]) == "had nothing to keep that these rules know"


def test_a_summary_that_contains_everything_lost_nothing() -> None:
    loss = judged(one_of_each(), "\n\n".join(KEPT.values()))
    assert loss.items == []
    assert headline(tally([loss])).endswith("nothing was lost")


def test_an_encrypted_summary_is_not_readable_and_keeps_nothing() -> None:
    script = one_of_each()
    before = tuple(script.turns)
    sealed = script.add("system", Part("pointer", uri="sha256:0", summary=True))
    loss = judge(CompactedTurns(before, (sealed,)))
    assert not loss.readable
    assert all(not each.kept for each in tally([loss]))


def test_judging_twice_gives_the_same_result() -> None:
    script = one_of_each()
    assert judged(script, KEPT["error"]).judged == judged(one_of_each(), KEPT["error"]).judged


def test_every_kind_has_a_row_in_the_table() -> None:
    assert tuple(TABLE) == LOST_KINDS
