"""What is not lost, because it was done, settled by number, taken back, or replaced: each class in a few lines."""

import pytest

from slicebase.context.lost.follow import OVER, items
from slicebase.context.lost.items import TranscriptItem
from slicebase.context.lost.judged import judge
from tests.context.transcripts import Transcript


def standing(script: Transcript, *kinds: str) -> list[str]:
    """Returns the texts of the items that still matter."""
    return [each.text for each in _of(script, kinds) if each.state not in OVER]


def over(script: Transcript, *kinds: str) -> dict[str, str]:
    return {each.text: each.state for each in _of(script, kinds) if each.state in OVER}


def _of(script: Transcript, kinds: tuple[str, ...]) -> list[TranscriptItem]:
    return [each for each in items(script.turns) if not kinds or each.kind in kinds]


# Each sentence and each entry by itself


def test_of_two_sentences_only_the_one_that_still_stands_is_left() -> None:
    script = Transcript()
    script.user("add a retry")
    script.say("I added the retry to fetch.py. Next I still need to update the docs.")
    assert len(standing(script, "task")) == 1
    script.user("go on")
    script.say("I updated the docs.")
    assert standing(script, "task") == []


def test_of_a_list_below_a_heading_only_the_entries_that_still_stand_are_left() -> None:
    script = Transcript()
    script.user("what is left?")
    script.say(
        "## Next steps\n\n1. Add a null check to `parse_row()`\n2. Handle empty files in `read_all()`\n"
        "3. Measure the import of large files"
    )
    script.user("do the first two")
    script.say("Done. Added the null check to `parse_row()`, and `read_all()` handles empty files now.")
    assert [each.endswith("Measure the import of large files") for each in standing(script, "task")] == [True]


# By number

REVIEW = """\
I found some issues:

### 1. `parse_price()` truncates cents

It uses int().

### 2. The cache is never released

Memory grows with each request.

### 3. Magic number for the limit

Hardcoded 1000.

### What is fine

The tests pass, and `render()` escapes its input.

**Recommendation:** Issues #1-2 are definitely bugs. Issue #3 is probably one, too.
"""


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("can you fix all 3", "All 3 issues have been fixed."),
        ("fix them", "I've fixed all of them, with a test for each."),
        ("fix all of them please", "Done."),
        ("yes, do 1-3", "That is in place."),
    ],
)
def test_a_report_settles_a_whole_list(prompt: str, answer: str) -> None:
    script = Transcript()
    script.user("review it")
    script.say(REVIEW)
    assert sum("truncates" in each or "Hardcoded" in each for each in standing(script)) >= 2
    script.user(prompt)
    script.say(answer)
    left = " ".join(standing(script, "finding", "task"))
    assert "escapes its input" in left
    for settled in ("truncates", "Memory grows", "Hardcoded", "definitely bugs"):
        assert settled not in left


def test_only_the_entries_that_were_named_are_settled() -> None:
    script = Transcript()
    script.user("review it")
    script.say(REVIEW)
    script.user("fix issue #2 first")
    script.say("Issue #2 is fixed now.")
    left = " ".join(standing(script, "finding"))
    assert "Memory grows" not in left
    assert "truncates" in left
    assert "Hardcoded" in left


@pytest.mark.parametrize(
    "answer", ["All tests are fixed.", "I could not fix all 3 issues.", "Not all of them are fixed.", "PR #2 is done."]
)
def test_what_is_no_report_of_the_list_settles_nothing(answer: str) -> None:
    script = Transcript()
    script.user("review it")
    script.say(REVIEW)
    script.user("what about the tests?")
    script.say(answer)
    left = " ".join(standing(script, "finding"))
    assert all(each in left for each in ("truncates", "Memory grows", "Hardcoded"))


def test_a_suggestion_that_the_user_did_not_choose_is_no_open_task() -> None:
    script = Transcript()
    script.user("what else should we test?")
    long = ", and it is the part that most new users met first in the last year"
    script.say(
        f"## My recommendations\n\n**1. Subagents** - Most valuable\n- They are simulated today{long}\n\n"
        f"**2. Subdirectories** - Medium value\n- Could catch wrong paths{long}\n\n"
        f"**3. Resuming** - Low value\n- Needs more time{long}\n\nWould you like me to implement any of these?"
    )
    script.user("yes, do 1")
    script.run("make test", "ok")
    script.say("Done. I've created a test of the subagents.")
    assert standing(script, "task") == []
    assert "rejected" in over(script, "task").values()


def test_a_problem_is_resolved_when_the_user_ordered_what_it_lacks_and_got_it() -> None:
    script = Transcript()
    script.user("review the docs")
    script.say("**1. CONTRIBUTING.md doesn't document the e2e tests**\n\nNobody knows about the `e2e` tag.")
    script.user("update CONTRIBUTING.md to document the e2e tests")
    script.run("make docs", "ok")
    script.say("Done.")
    assert standing(script, "finding") == []


def test_a_summary_that_says_that_something_was_done_settles_it() -> None:
    script = Transcript()
    script.user("look at the fields of the transcript")
    script.say("The `LinesAtStart` field is stored but not used. `render_page()` leaks file handles.")
    script.run("make test", "ok")
    script.summary("Fixed `render_page()`, which leaks no file handles now. `LinesAtStart` was stored but not used.")
    (found,) = judge(script.compactions()).losses
    assert [each.text for each in found.judged if each.kind == "finding"] == []


def test_what_comes_next_is_done_once_the_exchange_has_ended() -> None:
    script = Transcript()
    script.user("fix the index")
    script.say("We need to rebuild the index of this worktree since that is what the collector chokes on.")
    script.run("git read-tree HEAD", "")
    script.say("Try again: the bad reference is cleared.")
    script.user("works")
    script.say("Good.")
    assert standing(script, "task") == []


def test_what_a_message_sets_right_at_its_end_is_resolved_once_the_work_is_done() -> None:
    script = Transcript()
    script.user("check the times")
    script.say("**Does not use UTC:**\n\n- `created_at` of the report\n- `sent_at` of the mail\n\nLet me fix them:")
    script.run("make test", "ok")
    assert standing(script, "finding")
    script.say("Both are written in UTC.")
    assert not any("created_at" in each for each in standing(script, "finding"))


# Taken back

CAUSE = "The cause is the N+1 query in `load_orders`."


@pytest.mark.parametrize("prompt", ["are you sure?", "really?", "why do you think so?", "how do you know?"])
@pytest.mark.parametrize(
    "answer",
    [
        "No, I was wrong. The profile shows that JSON encoding takes the time.",
        "I'm not sure. I assumed it. The profile shows that JSON encoding takes the time.",
        "That was wrong, sorry. The profile shows that JSON encoding takes the time.",
    ],
)
def test_an_answer_that_gives_in_takes_the_claims_of_the_questioned_one_back(prompt: str, answer: str) -> None:
    script = Transcript()
    script.user("why is it slow?")
    script.say(CAUSE)
    script.user(prompt)
    script.say(answer)
    assert over(script, "finding")[CAUSE] == "overturned"
    assert any("JSON encoding takes the time" in each for each in standing(script, "finding"))


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("are you sure?", "Yes. The cause is the N+1 query in `load_orders`: 340 queries for each page."),
        ("are you sure?", "I checked the profile: 340 queries for each page come from there."),
        ("thanks, now rename the table", "Renamed it. I was wrong about the name of the file, it is models.py."),
    ],
)
def test_an_answer_that_stands_by_its_claim_or_speaks_of_something_else_takes_nothing_back(
    prompt: str, answer: str
) -> None:
    script = Transcript()
    script.user("why is it slow?")
    script.say(CAUSE)
    script.user(prompt)
    script.say(answer)
    assert CAUSE not in over(script, "finding")


def test_only_the_claim_that_is_meant_is_taken_back() -> None:
    script = Transcript()
    script.user("why is it slow?")
    script.say("`Status()` writes the index file of the folder.\n\nThe orders table has 340 rows for each customer.")
    script.user("does Status() write the index file? are you sure?")
    script.say("No, I'm not sure. I assumed that `Status()` writes the index file, but it only reads.")
    assert list(over(script, "finding")) == ["`Status()` writes the index file of the folder."]


def test_a_misdiagnosis_takes_back_every_claim_about_it_also_much_later() -> None:
    script = Transcript()
    script.say("The change to the command line fixes the caching bug of the library, which hid external edits.")
    script.user("what did the other user see?")
    script.run("git log", "x")
    script.say('**Found it.** The "caching bug" was a misdiagnosis. The branch was protected.')
    assert "overturned" in over(script, "finding").values()
    assert any("branch was protected" in each for each in standing(script, "finding"))


def test_what_was_suspected_during_a_search_falls_with_another_cause_at_its_end() -> None:
    script = Transcript()
    script.user("why does the index break?")
    script.say("There's the issue. `open_store()` uses the wrong folder.")
    script.call("Read", {"file_path": "/a.py"}, "x")
    script.say("The root cause is the collector: it removes blobs that the index needs.")
    assert list(over(script, "finding").values()) == ["overturned"]
    assert any("collector" in each for each in standing(script, "finding"))


def test_advice_against_something_is_over_when_the_assistant_takes_it_up() -> None:
    script = Transcript()
    script.user("evaluate the comments")
    script.say("Adding a new constant would be semantic only, it wouldn't change any parsing.")
    script.call("Read", {"file_path": "/a.py"}, "x")
    script.say("Understood - you want to add the new constant as suggested. The parser uses it in two places.")
    assert list(over(script, "finding").values()) == ["overturned"]


@pytest.mark.parametrize("words", ["The proper fix is", "That's a much better approach. The proper way is"])
def test_a_better_fix_replaces_the_one_that_the_user_questioned(words: str) -> None:
    script = Transcript()
    script.user("explain the fix")
    script.say("The default agent is asked first, so the result is the same each time. No order is random any more.")
    script.user("but each hook is of one agent, why aren't we using that?")
    script.say(f"You're right. {words} to pass the name of the hook's agent.")
    assert not any("default agent" in each for each in standing(script, "finding"))
    assert any("name of the hook's agent" in each for each in standing(script, "finding"))


# Noise


@pytest.mark.parametrize(
    "text",
    [
        "**Question:** When should `ended_at` be set? A) At the end of the session B) On each commit",
        "**Step 3: Update build files and their paths.**",
        "Good, the compiler is telling me I need to update the implementation.",
    ],
)
def test_a_question_a_step_and_narration_are_no_findings(text: str) -> None:
    script = Transcript()
    script.user("go on with the plan")
    script.say(text)
    script.user("A")
    script.say("OK.")
    assert standing(script, "finding", "task") == []


def test_a_ticket_is_kept_in_whatever_form_the_summary_names_it() -> None:
    for url, said in (
        ("https://linear.app/acme/issue/ENT-241/run-gc-at-safe-points", "Created ENT-241."),
        ("https://github.com/acme/shop/pull/17", "Opened PR #17."),
        ("https://github.com/acme/shop/pull/17#discussion_r12", "Answered the comments on PR 17."),
    ):
        script = Transcript()
        script.say(f"Logged as {url} today.")
        script.summary(said)
        (found,) = judge(script.compactions()).losses
        assert [each.kept for each in found.judged if each.kind == "artefact"] == [True]
        script.turns.pop()
        script.summary("Worked on PR #170 and ENT-2410.")
        (found,) = judge(script.compactions()).losses
        assert [each.kept for each in found.judged if each.kind == "artefact"] == [False]


def test_passing_branches_and_merges_of_others_are_no_artefacts() -> None:
    script = Transcript()
    script.run("git checkout -b try-it", "Switched to a new branch 'try-it'")
    script.run("git checkout main", "Switched to branch 'main'")
    script.run("git checkout -b fix/cart", "Switched to a new branch 'fix/cart'")
    script.run("git log --oneline -3", "2474647 Merge pull request #135 from acme/other\n1234567 Fix the cart")
    assert standing(script, "artefact") == ["Switched to a new branch 'fix/cart'"]
    script.run("git checkout try-it", "Switched to branch 'try-it'")
    assert standing(script, "artefact") == ["Switched to a new branch 'try-it'"]  # where it was seen first


def test_the_same_finding_in_two_messages_is_listed_once() -> None:
    script = Transcript()
    script.say("The function `load_all()` parses the same transcript file twice.")
    script.call("Read", {"file_path": "/a.py"}, "x")
    script.say("`load_all()` parses the transcript file twice, once for tokens and once for the ids of agents.")
    script.summary("They talked.")
    assert sum("twice" in each.text for each in judge(script.compactions()).items) == 1


# Rules


@pytest.mark.parametrize(
    "rule",
    [
        "the port must be 8081",
        "no new dependencies",
        "please no breaking changes",
        "commit messages in german please",
        "I want every function documented",
        "I want all functions documented",
        "Actually, use spaces instead of tabs.",
        "use pathlib instead of os.path",
        "You may read the staging database but not write to it.",
        "everything that touches money needs a second reviewer",
        "clippy pedantic must be clean, the build enforces it",
        "But the warm-up needs to be at least 2 ms",
    ],
)
def test_rules_in_few_words_stay_in_force(rule: str) -> None:
    script = Transcript()
    script.user(rule)
    script.say("Understood.")
    script.user("go on")
    script.say("Done.")
    (found,) = _of(script, ("instruction",))[:1]
    assert (found.mark, found.state) == ("rule", "standing")


@pytest.mark.parametrize(
    "request_",
    [
        "no new errors",
        "the bug must be fixed",
        "I want all errors fixed",
        "I want every test to pass",
        "use the new reader instead of the old one",
        "no, look at the log in english",
        "write a function in python",
        "something must be wrong with the cache",
        "maybe timing must be a problem here",
        "you can see that it fails, but not always",
    ],
)
def test_what_ends_or_tells_how_it_is_is_no_rule(request_: str) -> None:
    script = Transcript()
    script.user(request_)
    assert all(each.mark != "rule" for each in items(script.turns))


@pytest.mark.parametrize(
    "later", ["No wait: always use spaces.", "Actually, always use spaces.", "Actually, use spaces instead of tabs."]
)
def test_a_rule_that_another_one_replaces_is_over(later: str) -> None:
    script = Transcript()
    script.user("Always write tests.")
    script.say("OK.")
    script.user("Always use tabs.")
    script.say("OK.")
    script.user(later)
    script.say("OK.")
    assert standing(script, "instruction") == ["Always write tests.", later]
    script = Transcript()
    script.user(f"Always use tabs. {later}")
    script.say("OK.")
    assert standing(script, "instruction") == [later]


@pytest.mark.parametrize(
    "rule", ["绝对不要修改 billing.py", "不要动 config/settings.yaml", "README を変更しないでください"]
)
def test_a_short_rule_in_chinese_or_japanese_with_a_file_is_not_taken_for_english(rule: str) -> None:
    script = Transcript()
    script.user(rule)
    script.say("OK.")
    script.user("go on")
    script.say("Done.")
    assert {each.text: each.state for each in items(script.turns)}[rule] == "unknown"
