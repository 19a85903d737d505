"""When an item of each kind counts as kept, and the order of the lost items."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.context.lost.judged import TABLE, CompactedTurns, Loss, headline, judge, tally
from slicebase.context.lost.phrases import LOST_KINDS, LostKind
from slicebase.context.lost.weights import WEIGHTS
from slicebase.graph.turn import Part
from tests.context.transcripts import Transcript


def judged(script: Transcript, summary: str) -> Loss:
    before = tuple(script.turns)
    (loss,) = judge([CompactedTurns(before, (script.summary(summary),))]).losses
    return loss


def one_of_each() -> Transcript:
    script = Transcript()
    script.user("Never edit migration 0007 by hand.")
    script.say("We decided to round once per order.")
    script.say("We still need to expire discount codes.")
    script.say("The locks of `guess_limit` are held for 460 ms.")
    script.run("alembic check", "FAILED: Multiple head revisions are present", error=True)
    script.run("git switch x", "Switched to branch 'feature/codes'")
    return script


KEPT: dict[LostKind, str] = {
    "instruction": "- Migration 0007 is never to be edited by hand",
    "decision": "Rounding happens once per order.",
    "finding": "guess_limit holds its locks for 460 ms",
    "artefact": "The branch is `feature/codes`.",
    "task": "Pending: expire the discount codes",
    "error": "FAILED because multiple head revisions are present.",
    "command": "I ran `alembic check`.",
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
        ("command", "I ran alembic checkers"),
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
    script.say("Renamed the folder.")
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
    assert not loss.items
    assert headline(tally([loss])).endswith("nothing was lost")


def test_an_encrypted_summary_is_not_readable_and_keeps_nothing() -> None:
    script = one_of_each()
    before = tuple(script.turns)
    sealed = script.add("system", Part("pointer", uri="sha256:0", summary=True))
    (loss,) = judge([CompactedTurns(before, (sealed,))]).losses
    assert not loss.readable
    assert all(not each.kept for each in tally([loss]))


def test_judging_twice_gives_the_same_result() -> None:
    script = one_of_each()
    assert judged(script, KEPT["error"]).judged == judged(one_of_each(), KEPT["error"]).judged


def test_every_kind_has_a_row_in_the_table() -> None:
    assert set(TABLE) == set(LOST_KINDS)


# Several compactions


def texts(script: Transcript, *, after: int = 0) -> set[str]:
    """Returns what is lost of a transcript; the last turns are those after the newest compaction."""
    since = script.turns[len(script.turns) - after :]
    return {each.text for each in judge(script.compactions(), since).items}


REQUESTS = {
    "Send the newsletter to all customers.": "The newsletter was sent to all customers.",
    "Make sure to delete the table customers_old.": "Done, the table customers_old is deleted.",
    "Undo the migration 0042.": "Undone: migration 0042 is rolled back.",
    "Revert the last commit and push it.": "I reverted the last commit and pushed it.",
    "Please rename the folder tests.": "Renamed.",
    "the total on the invoice is wrong": "Fixed the total of the invoice.",
}


@given(
    st.lists(st.tuples(st.sampled_from(sorted(REQUESTS)), st.integers(0, 3), st.booleans()), min_size=1, max_size=5),
    st.booleans(),
)
def test_a_request_that_was_reported_is_in_no_result_however_often_the_session_was_compacted(
    story: list[tuple[str, int, bool]], goes_on: bool
) -> None:
    """A compaction comes before the work, in the middle of it, after its report, or never."""
    script = Transcript()
    for request, compacted, is_run in story:
        script.user(request)
        if compacted == 0:
            script.summary("They talked.")
        if is_run:
            script.run("make all", "ok")
        if compacted == 1:
            script.summary("They talked.")
        script.say(REQUESTS[request])
        if compacted == 2:
            script.summary("They talked.")
    if not script.compactions() or not goes_on:
        script.summary("They talked.")
    last = max(number for number, turn in enumerate(script.turns) if turn.parts[0].summary)
    assert not texts(script, after=len(script.turns) - last - 1) & set(REQUESTS)


def test_what_was_done_after_a_compaction_is_over_and_what_any_later_summary_mentions_is_kept() -> None:
    script = Transcript()
    script.user("Send the newsletter to all customers.")
    script.say("I look at the list first.")
    script.summary("They talked.")
    assert "Send the newsletter to all customers." in texts(script)
    script.user("Write the changelog for version 2.")
    script.run("python list.py", "12 customers")
    script.summary("The user wants the newsletter sent to all customers.")
    script.user("Tag the release of version 2.")
    script.run("python list.py", "12 customers")
    script.summary("They tagged.")
    assert "Send the newsletter to all customers." not in texts(script)


def test_a_rule_is_lost_if_the_newest_summary_does_not_have_it_and_belongs_to_the_compaction_that_lost_it() -> None:
    script = Transcript()
    script.user("Never edit migration 0007 by hand.")
    script.say("The importer reads `old.csv` in 460 ms.")
    script.summary("Migration 0007 is never edited by hand.")
    script.user("Look at the reader.")
    script.say("The reader is a type alias of `Base`.")
    script.summary("They talked.")
    first, second = judge(script.compactions()).losses
    assert [each.text for each in first.items] == ["The importer reads `old.csv` in 460 ms."]
    assert "Never edit migration 0007 by hand." in {each.text for each in second.items}


def test_a_command_that_is_run_again_after_a_compaction_was_lost_in_both() -> None:
    script = Transcript()
    for _ in range(2):
        script.run("make test", "ok")
        script.summary("They talked.")
    judged = judge(script.compactions())
    assert [[each.text for each in loss.items] for loss in judged.losses] == [["make test"], ["make test"]]
    assert [each.text for each in judged.items] == ["make test"]


# Windows of words


@given(st.lists(st.sampled_from([" ", "\n", "\n\n", "\n- "]), min_size=12, max_size=12))
def test_what_is_kept_does_not_depend_on_how_a_summary_is_divided_into_lines(breaks: list[str]) -> None:
    words = ["Rounding", "happens", "once", "per", "order", "and", "guess_limit", "holds", "locks", "460", "ms", "."]
    said = "".join(word + space for word, space in zip(words, breaks, strict=True))
    kept = {each.kind: each.kept for each in tally([judged(one_of_each(), said)])}
    assert (kept["decision"], kept["finding"]) == (1, 1)


def test_words_that_are_far_apart_in_one_line_keep_nothing() -> None:
    filler = " ".join(f"The word{number} was discussed." for number in range(40))
    said = f"Rounding is done. {filler} Once more: orders. {filler} Locks are held. {filler} There is a guess_limit."
    kept = {each.kind: each.kept for each in tally([judged(one_of_each(), said)])}
    assert (kept["decision"], kept["finding"]) == (0, 0)
