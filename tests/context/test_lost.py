"""When an item of each kind counts as kept, and the order of the lost items."""

import pytest

from slicebase.context.lost import TABLE, CompactedTurns, Loss, headline, judge, tally
from slicebase.context.lost_phrases import LOST_KINDS, LostKind
from slicebase.context.lost_prompt import for_prompt
from slicebase.context.lost_weights import WEIGHTS
from slicebase.graph.turn import Part
from tests.context.transcripts import Transcript


def judged(script: Transcript, summary: str) -> Loss:
    before = tuple(script.turns)
    return judge(CompactedTurns(before, (script.summary(summary),)))


def one_of_each() -> Transcript:
    script = Transcript()
    script.user("Never edit migration 0007 by hand.")
    script.say("We decided to round once per order.")
    script.say("We still need to expire discount codes.")
    script.say("The locks of `guess_limit` are held for 460 ms.")
    script.run("alembic upgrade head", "FAILED: Multiple head revisions are present", error=True)
    script.run("git switch x", "Switched to branch 'feature/codes'")
    return script


KEPT: dict[LostKind, str] = {
    "instruction": "- Migration 0007 is never to be edited by hand",
    "decision": "Rounding happens once per order.",
    "finding": "guess_limit holds its locks for 460 ms",
    "artefact": "The branch is `feature/codes`.",
    "task": "Pending: expire the discount codes",
    "error": "FAILED because multiple head revisions are present.",
    "command": "I ran `alembic upgrade head`.",
}


@pytest.mark.parametrize("kind", LOST_KINDS)
def test_an_item_is_kept_if_the_summary_repeats_it(kind: LostKind) -> None:
    kept = {each.kind: each.kept for each in tally([judged(one_of_each(), KEPT[kind])])}
    assert kept == {other: int(other == kind) for other in LOST_KINDS}


@pytest.mark.parametrize(
    ("kind", "summary"),
    [
        ("instruction", "Migrations are not for this project."),
        ("decision", "Orders were discussed."),
        ("finding", "guess_limit was read"),
        ("artefact", "The branch is `feature/codes-2`."),
        ("task", "Discounts were added."),
        ("error", "Some revisions were made."),
        ("command", "I ran alembic upgrade headless"),
    ],
)
def test_an_item_is_lost_if_the_summary_says_something_else(kind: LostKind, summary: str) -> None:
    assert {each.kind: each.kept for each in tally([judged(one_of_each(), summary)])}[kind] == 0


def test_items_are_ordered_by_score_and_a_score_is_the_sum_of_its_parts() -> None:
    lost = judged(one_of_each(), "nothing").items
    assert {each.kind for each in lost} == set(LOST_KINDS)
    assert [each.score for each in lost] == sorted((each.score for each in lost), reverse=True)
    assert all(sum(each.parts.values()) == each.score for each in lost)
    assert all(name in WEIGHTS for each in lost for name in each.parts)


def test_each_further_command_of_one_sort_counts_less() -> None:
    script = Transcript()
    for number in range(8):
        script.run(f"pytest tests/test_{number}.py", "1 passed")
    script.user("Never edit migration 0007 by hand.")
    kinds = [each.kind for each in judged(script, "nothing").items]
    assert kinds.index("instruction") < 5


def test_what_is_done_is_neither_lost_nor_counted() -> None:
    script = Transcript()
    script.user("Rename the folder tests.")
    script.user("Add a test for the reader.")
    loss = judged(script, "nothing")
    assert [each.text for each in loss.items] == ["Add a test for the reader."]
    assert [(each.kept, each.of) for each in tally([loss])] == [(0, 1)]


def test_an_item_that_says_no_more_than_a_better_one_is_listed_once() -> None:
    script = Transcript()
    script.run("make lint", "ok")
    script.run("make lint && make test", "ok")
    script.run("make lint && make test", "ok")
    assert [each.text for each in judged(script, "nothing").items] == ["make lint && make test"]


def test_the_headline_counts_every_kind_that_occurs() -> None:
    loss = judged(one_of_each(), KEPT["artefact"])
    assert headline(tally([loss])) == (
        "kept 0 of 1 instruction, 0 of 1 decision, 0 of 1 finding, 1 of 1 artefact, 0 of 1 open task, "
        "0 of 1 open error, 0 of 1 command; the other 6 are one recall away"
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
    assert set(TABLE) == set(LOST_KINDS)


# For a prompt


def test_what_a_prompt_asks_for_comes_first_less_what_the_summary_says() -> None:
    script = one_of_each()
    script.run("grep -n flag shop/flags.py", "12: the discount flag is off by default")
    before = list(script.turns)
    loss = judged(script, "We round once per order.")
    found = for_prompt("who holds the guess_limit locks?", before, "We round once per order.", loss.judged, 20)
    assert found[0].text == "The locks of `guess_limit` are held for 460 ms."
    found = for_prompt("turn the discount flag on by default", before, "We round once per order.", loss.judged, 20)
    assert "12: the discount flag is off by default" in [each.text for each in found[:3]]
    found = for_prompt("round once per order", before, "We round once per order.", loss.judged, 20)
    assert all("round once" not in each.text for each in found)


def test_a_prompt_without_content_words_leaves_the_order_to_the_scores() -> None:
    script = one_of_each()
    before = list(script.turns)
    loss = judged(script, "nothing")
    found = for_prompt("yes, do it", before, "nothing", loss.judged, 20)
    assert [each.item for each in found] == sorted(loss.items, key=lambda each: -each.score)


def test_a_request_that_was_fulfilled_is_not_brought_back_by_a_prompt() -> None:
    script = Transcript()
    script.user("Check that checkout is not slower than before.")
    script.user("Rename the folder tests.")
    before = list(script.turns)
    found = for_prompt("is checkout slower than before?", before, "nothing", judged(script, "nothing").judged, 20)
    assert [each.text for each in found] == ["Rename the folder tests."]
