"""Lost statements that stand side by side are shown as one, and never with one that is over or kept."""

from hypothesis import given
from hypothesis import strategies as st

from slicebase.context.lost.judged import judge
from slicebase.context.lost.points import MOST
from slicebase.graph.contents import readable_text
from tests.context.transcripts import Transcript

FACTS = [
    "The parser reads `config.toml` only once.",
    "The lock is held by `Writer.flush` until the rename.",
    "`Index.fill` cannot see rows of another session.",
    "The retry in `Client.send` never waits longer than 4 seconds.",
    "Dates without a zone are taken as local by `parse_when`.",
]


def shown(script: Transcript) -> list[str]:
    return [each.text for each in judge(script.compactions()).items]


def test_statements_of_one_message_that_are_lost_are_shown_together() -> None:
    script = Transcript()
    script.user("Why is it slow?")
    script.say("\n\n".join(FACTS[:2]))
    script.summary("They talked.")
    (text,) = [each for each in shown(script) if "Writer.flush" in each]
    assert text == " ".join(FACTS[:2])


def test_what_the_summary_has_is_not_shown_with_its_neighbours() -> None:
    script = Transcript()
    script.user("Why is it slow?")
    script.say("\n\n".join(FACTS[:3]))
    script.summary(FACTS[1])
    assert FACTS[0] in shown(script)
    assert not any("Writer.flush" in each for each in shown(script))


def test_what_is_over_is_not_shown_with_its_neighbours() -> None:
    script = Transcript()
    script.user("Why is it slow?")
    script.say(f"{FACTS[0]}\n\nThe test of `Cache.drop` fails with a timeout.\n\n{FACTS[2]}")
    script.user("Fix that.")
    script.say("Fixed: the test of `Cache.drop` passes.")
    script.summary("They talked.")
    assert not any("fails with a timeout" in each for each in shown(script))
    assert FACTS[0] in shown(script)


@given(st.lists(st.sampled_from(FACTS), unique=True), st.sampled_from(["\n\n", "\n- ", " "]), st.text(max_size=20))
def test_a_shown_item_is_short_and_its_span_has_its_words(facts: list[str], between: str, said: str) -> None:
    script = Transcript()
    script.user("Tell me.")
    script.say(between.join(facts) or "Nothing to tell.")
    script.summary(f"They talked. {said}")
    (compaction,) = script.compactions()
    texts = {turn.id: readable_text(turn.parts) for turn in compaction.before}
    for each in judge([compaction]).items:
        span = texts[each.item.turn][each.item.start : each.item.end]
        assert len(span) <= MOST
        assert [word for word in span.split() if word != "-"] == [word for word in each.text.split() if word != "-"]


def test_two_rules_that_differ_in_one_word_are_both_listed() -> None:
    script = Transcript()
    script.user("Never touch the table of orders.")
    script.user("Never touch the table of customers.")
    script.summary("They talked.")
    assert {"Never touch the table of orders.", "Never touch the table of customers."} <= set(shown(script))


def test_of_a_list_of_which_an_entry_is_over_only_the_others_are_shown() -> None:
    script = Transcript()
    script.user("What is left?")
    tasks = ["Add retries to `client.py`", "Document the `--timeout` flag in README.md", "Remove the old `fetch_old`"]
    problems = ["`Cache.drop` fails with a timeout.", "`Index.fill` leaks a handle for each row."]
    numbered = "\n".join(f"{number}. {task}" for number, task in enumerate(tasks, 1))
    script.say(f"Remaining work:\n{numbered}\n\nProblems:\n- {problems[0]}\n- {problems[1]}")
    script.user("Go on.")
    script.say("I documented the `--timeout` flag in README.md. Fixed: `Cache.drop` no longer fails with a timeout.")
    script.summary("They talked.")
    listed = shown(script)
    assert not any(tasks[1] in each or problems[0] in each for each in listed)
    for left in (tasks[0], tasks[2], problems[1]):
        assert any(left in each for each in listed)


def test_a_list_of_which_nothing_is_over_is_one_item() -> None:
    script = Transcript()
    script.user("What is left?")
    script.say("Remaining work:\n1. Add retries to `client.py`\n2. Remove the old `fetch_old`")
    script.summary("They talked.")
    assert "Remaining work: 1. Add retries to `client.py` 2. Remove the old `fetch_old`" in shown(script)
