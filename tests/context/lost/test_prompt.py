"""Which passages a context of what was lost has room for."""

import pytest

from slicebase.context.lost.judged import judge
from slicebase.context.lost.prompt import (
    AskedTurns,
    LostPassage,
    for_prompt,
    in_order,
    is_worth_its_room,
    only_goes_on,
)
from tests.context.transcripts import Transcript


def test_a_context_has_rules_open_tasks_and_tests_but_not_every_remark() -> None:
    script = Transcript()
    script.user("Never push to main.")
    script.say("Done: the reader was rewritten.")
    script.user("Write the release notes.")
    script.run("make test", "ok")
    script.call("TodoWrite", {"todos": [{"content": "Measure the import", "status": "pending"}]})
    script.say("- A blue sky was painted on the wall\n- A green bird was put on the roof of the old house")
    script.summary("They talked.")
    passages = in_order(judge(script.compactions()).items)
    worth = {each.text for each in passages if is_worth_its_room(each)}
    assert {"Never push to main.", "Measure the import", "make test"} <= worth
    assert any("blue sky" in each.text for each in passages)
    assert not any("blue sky" in text for text in worth)


@pytest.mark.parametrize(
    "prompt",
    ["continue", "ok", "Yes, go on.", "weiter", "next", "do it", "proceed", "ok great, please continue", "继续"],
)
def test_a_prompt_that_only_goes_on_asks_for_nothing(prompt: str) -> None:
    assert only_goes_on(prompt)


@pytest.mark.parametrize(
    "prompt", ["continue with the parser", "next, fix the lexer", "why?", "do the tests pass?", ""]
)
def test_a_prompt_with_a_subject_asks_for_it(prompt: str) -> None:
    assert not only_goes_on(prompt)


def passages(output: str, words: set[str]) -> list[LostPassage]:
    """Returns the passages of one output for a prompt of these words."""
    script = Transcript()
    script.run("cat a.go", output)
    script.summary("They talked.")
    turns = script.turns[:-1]
    asked = AskedTurns({turn.id: 10 for turn in turns}, lambda text: len(words & set(text.lower().split())))
    return for_prompt(asked, turns, "They talked.", judge(script.compactions()), 20)


def test_a_common_word_of_code_in_an_output_is_no_match() -> None:
    assert passages("if err != nil {\n  continue\n}\nok pkg/store", {"continue", "ok"}) == []
    assert len(passages("the lexer must continue after a comment", {"continue", "lexer"})) == 1


def test_a_reminder_of_the_client_in_an_output_is_in_no_passage() -> None:
    reminder = "<system-reminder>\nWhenever you read a file of the lexer, think.\n</system-reminder>"
    found = passages(f"the lexer reads\n{reminder}\nthe lexer writes", {"lexer"})
    assert sorted(each.text.strip() for each in found) == ["the lexer reads", "the lexer writes"]
