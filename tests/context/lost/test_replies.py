"""What the next prompt does with an answer, or with a request, without repeating the words of it."""

import pytest

from slicebase.context.lost.words import amounts
from tests.context.lost.test_follow_settled import over, standing
from tests.context.transcripts import Transcript


def answered(answer: str, prompt: str, reply: str = "Done.") -> Transcript:
    script = Transcript()
    script.user("please look at the cache")
    script.say(answer)
    script.user(prompt)
    script.say(reply)
    return script


LIMIT = "The alert `Slow` fires above 2 % over the whole day."


@pytest.mark.parametrize(
    "prompt",
    ["make that 1 %, it is a lot", "2 % is a lot for us. 1 % at most",
     "2 is too lax", "1 % please, 2 is far too much", "revert that", "ok roll it back",
     "undo the last change", "go back to the old one"],
)  # fmt: skip
def test_what_the_user_undoes_or_sets_to_another_number_is_revised_once_that_is_done(prompt: str) -> None:
    assert over(answered(LIMIT, prompt), "finding")[LIMIT] == "revised"
    unanswered = Transcript()
    unanswered.user("set up the alert")
    unanswered.say(LIMIT)
    unanswered.user(prompt)
    assert LIMIT in standing(unanswered, "finding")


def test_what_is_undone_is_the_last_change_also_if_the_user_asked_about_it_first() -> None:
    script = Transcript()
    script.user("how large is the index?")
    script.say("The index has 40 MB on disk.")
    script.user("make falling faster")
    script.call("Edit", {"file_path": "/player.gd"}, "The file /player.gd has been updated.")
    script.say("The falling gravity is 1400 now.")
    script.user("can level 2 be finished with that?")
    script.say("The gap in level 2 takes longer than a jump.")
    script.user("revert it")
    script.call("Edit", {"file_path": "/player.gd"}, "The file /player.gd has been updated.")
    script.say("Reverted.")
    assert standing(script, "finding") == ["The index has 40 MB on disk."]


def test_only_the_sentence_with_the_number_is_revised() -> None:
    script = answered(
        "Without Redis the counts go into a table. We'll use 5 tries a minute.", "5 is too many, make it 3"
    )
    assert standing(script, "decision", "finding")[0] == "Without Redis the counts go into a table."


@pytest.mark.parametrize(
    "prompt",
    ["also add an alert for memory, above 80 %", "why 2 %?", "12 is too lax", "can we revert that later?",
     "revert the header in the mail", "the dashboard shows 3 % since today", "good, don't revert that. Add a test",
     "run the tests, and if they fail, revert it", "2 % is not too much, go on", "no need to undo it"],
)  # fmt: skip
def test_a_prompt_about_something_else_or_a_question_leaves_the_answer_as_it_is(prompt: str) -> None:
    assert LIMIT in standing(answered(LIMIT, prompt), "finding")


def test_a_problem_that_the_user_orders_to_fix_in_a_word_is_resolved_but_not_if_it_is_for_later() -> None:
    problem = "The pool never checks whether a block is returned twice."
    assert over(answered(problem, "good. fix it please"), "finding")[problem] == "resolved"
    assert problem in standing(answered(problem, "fix it later, low prio. Now the allocator"), "finding")
    assert problem in standing(answered(problem, "don't fix that, only write it down"), "finding")


def test_an_amount_is_a_number_with_what_it_counts_or_its_unit() -> None:
    assert amounts("Retries: 5, capped at 30 s, 4 apples, three pears") == {
        "retry": "5", "s": "30", "appl": "4", "pear": "3",
    }  # fmt: skip
    assert amounts("2 % or 3 %") == {}


@pytest.mark.parametrize(
    ("answer", "prompt"),
    [
        ("The payment step uses Stripe Elements.", "change of plans, we signed with another one. replace stripe"),
        ("The payment step uses Stripe Elements.", "ok. Now get rid of stripe, please"),
        ("The total is computed on the client at the moment; the server should confirm it.", "yes do that"),
        ("The keys are random, so a restart gives a new one.", "do so"),
        ("I changed the parser to read it twice.", "read it once and cache it instead"),
        ("The mean is 0.951, which is very good.", "too good. are you sure it is 0.951?"),
    ],
)
def test_what_the_user_replaces_orders_or_doubts_is_over_once_that_is_done(answer: str, prompt: str) -> None:
    script = answered(answer, prompt, "You're right, it is done.")
    assert answer not in standing(script)
    assert answer in standing(answered(answer, "ok. Then the next one"))


def test_what_names_something_else_or_is_for_later_is_not_over() -> None:
    stripe = "The payment step uses Stripe Elements."
    assert stripe in standing(answered(stripe, "drop support for python 3.8"))
    assert stripe in standing(answered(stripe, "remove the stripes from the background"))
    user = "Each user pays through Stripe Elements."
    assert user in standing(answered(user, "replace user with account"))
    assert stripe in standing(answered(stripe, "replace stripe by a link in the mail of the newsletter"))
    assert stripe in standing(answered(stripe, "there is no need to remove stripe"))
    lazy = "Loading it lazily would bring the page to about 120 kB."
    assert lazy in standing(answered(lazy, "ok do it lazily after the translations"))


# A suspicion


@pytest.mark.parametrize(
    "found", ["Confirmed: the illegal annotation stops it.", "It's not the permissions: the annotation is illegal.",
              "The root cause is an illegal annotation."]
)  # fmt: skip
def test_a_suspicion_is_over_when_the_cause_is_found(found: str) -> None:
    script = Transcript()
    script.user("why does the controller crash?")
    suspicion = "I think it's because the nodes may not create groups."
    script.say(suspicion)
    assert suspicion in standing(script, "finding")
    script.say(found)
    assert over(script, "finding")[suspicion] == "overturned"


def test_a_suspicion_stands_while_the_search_goes_on_and_if_it_is_what_was_found() -> None:
    suspicion = "Probably a race: `dispatch` reads `sessions` while `reconnect` swaps it."
    script = Transcript()
    script.user("why does it crash?")
    script.say(suspicion)
    script.say("No crash in 30 minutes with the sanitizer.")
    assert suspicion in standing(script, "finding")
    script.say("Confirmed: it is a race, `dispatch` reads `sessions` while `reconnect` swaps it.")
    assert suspicion in standing(script, "finding")


def test_a_suspicion_stands_if_the_cause_that_is_found_is_that_of_something_else() -> None:
    suspicion = "It is probably the cache in `/tmp/cc`, which has 40 GB."
    script = answered(suspicion, "leave it. Why is the menu button hidden?", "The root cause is the z-index.")
    assert suspicion in standing(script, "finding")


# A request that is called off


@pytest.mark.parametrize(
    "prompt", ["forget it, a friend does that. Rather look at the boss", "never mind", "ok, drop that", "No, skip it."]
)
@pytest.mark.parametrize("interrupted", [True, False])
def test_a_request_that_the_next_prompt_calls_off_is_rejected(prompt: str, interrupted: bool) -> None:
    script = Transcript()
    script.user("please translate the title screen into French")
    if interrupted:
        script.user("[Request interrupted by user]")
    script.user(prompt)
    assert not any("French" in each for each in standing(script))


@pytest.mark.parametrize("prompt", ["that takes too long, ten trials are enough", "you are in the wrong file"])
def test_a_prompt_about_what_was_interrupted_goes_on_with_it(prompt: str) -> None:
    script = Transcript()
    script.user("start the search with 200 trials")
    script.user("[Request interrupted by user]")
    script.user(prompt)
    script.say("Done: ten trials.")
    assert not any("200 trials" in each for each in standing(script))


@pytest.mark.parametrize(
    "prompt",
    ["leave it in the file as it is. what size has the page?", "never mind the lint warnings, continue",
     "drop that column first, it is empty", "don't bother with the tests, go on",
     "this button is ugly, make it blue"],
)  # fmt: skip
def test_a_prompt_about_something_else_leaves_what_was_interrupted_open(prompt: str) -> None:
    script = Transcript()
    script.user("please translate the title screen into French")
    script.user("[Request interrupted by user]")
    script.user(prompt)
    script.call("Bash", {"command": "ls -l"}, "212 kB")
    assert any("French" in each for each in standing(script, "instruction"))


# By number

OPTIONS = """\
There are a few ways to connect the shop:

1. **Peering**: simple, but the networks overlap.
2. **Private link**: works, and costs 22 USD a month.
3. **Public endpoint**: quick, but I advise against it.
4. **Move the database**: cleanest, with a downtime of 15 minutes.
"""


def test_an_option_that_the_user_did_not_choose_is_rejected_and_one_for_later_stands() -> None:
    found = standing(answered(f"{OPTIONS}\nWhich one do you prefer?", "2, and 4 later in january"), "finding")
    assert any("Move the database" in each for each in found)
    assert not any(name in each for name in ("Peering", "Public endpoint") for each in found)


@pytest.mark.parametrize(
    ("prompt", "left"),
    [
        ("do 1 and 2. 3 is intended, they are all in one place. 4 we look at next quarter", ["Move the database"]),
        ("1) yes 2) no 3) yes 4) later", ["Move the database"]),
        ("do all of them", []),
    ],
)
def test_each_number_is_chosen_refused_or_left_for_later_by_its_own_clause(prompt: str, left: list[str]) -> None:
    tasks = OPTIONS.replace("There are a few ways to connect the shop:", "## Next steps")
    found = standing(answered(tasks, prompt), "task", "finding")
    names = ("Peering", "Private link", "Public endpoint", "Move the database")
    assert [name for name in names if any(name in each for each in found)] == left


# The steps of a plan

PLAN = """\
# Split the crate

1. Create `crates/core` with engine and config
2. Replace the 23 prints in engine.rs
3. Move the integration tests
4. Publish the library as version 0.1
"""


def planned() -> Transcript:
    script = Transcript()
    script.user("plan first, no code yet")
    script.call("ExitPlanMode", {"plan": PLAN}, "User has approved your plan. You can now start coding.")
    return script


def test_each_step_of_a_plan_is_a_task_and_done_or_dropped_by_its_number() -> None:
    script = planned()
    assert [each[:2] for each in standing(script, "task")] == ["1.", "2.", "3.", "4."]
    script.say("`crates/core` exists.")
    script.user("drop point 4 of the plan, we don't publish for now")
    assert [each[:2] for each in standing(script, "task")] == ["1.", "2.", "3."]
    script.say("OK. Step 2 is done.")
    assert [each[:2] for each in standing(script, "task")] == ["3."]
    script.say("All 4 steps are done now.")
    assert standing(script, "task") == []


@pytest.mark.parametrize(
    "prompt",
    ["don't forget step 3", "you can't skip step 3", "why did you skip step 3?", "skip step 3 if it takes too long",
     "without step 3 nothing works", "skip step 3 for now", "drop step 9, and do step 3 first"],
)  # fmt: skip
def test_a_step_stays_open_unless_the_user_drops_it_for_good(prompt: str) -> None:
    script = planned()
    script.user(prompt)
    script.call("Bash", {"command": "ls"}, "crates")
    assert [each[:2] for each in standing(script, "task")] == ["1.", "2.", "3.", "4."]


@pytest.mark.parametrize(
    "prompt", ["remove 2 spaces in front of the title", "delete 4 files", "1 of the links is dead"]
)
def test_a_number_of_things_chooses_no_entry(prompt: str) -> None:
    tasks = OPTIONS.replace("There are a few ways to connect the shop:", "## Next steps")
    assert len(standing(answered(tasks, prompt), "task")) == 4


@pytest.mark.parametrize(
    "fact",
    ["We could not reproduce the crash on Linux with 3 workers.",
     "You could lose data in `flush_all` if the process is killed during a write."],
)  # fmt: skip
def test_what_could_happen_or_could_not_be_done_is_no_proposal(fact: str) -> None:
    assert fact in standing(answered(fact, "now write the login page"), "finding")


def test_a_decision_stays_one_when_the_user_orders_to_act_on_it() -> None:
    decision = "Decision: the ids are random because two machines write."
    assert decision in standing(answered(decision, "ok, do it in the importer, too"), "decision")


def test_a_proposal_is_over_once_the_next_prompt_was_answered_but_not_if_it_is_for_later() -> None:
    proposal = "We could compare the keys once a week."
    assert proposal not in standing(answered(proposal, "weekly is fine, on sundays"))
    assert proposal in standing(answered(proposal, "yes, but not now. Next the events"))


@pytest.mark.parametrize(
    ("reason", "left"),
    [
        ("no cargo update please, the lock file is audited", True),
        ("No new migrations, they are written by the other team.", True),
        ("no, show me the diff first", False),
        ("no need for that", False),
    ],
)
def test_the_reason_of_a_refused_call_that_forbids_is_a_rule(reason: str, left: bool) -> None:
    script = Transcript()
    script.user("build it again")
    script.call(
        "Bash",
        {"command": "cargo update"},
        f"The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n{reason}",
        error=True,
    )
    script.say("OK.")
    script.user("go on with the next one")
    script.say("Done.")
    assert bool(standing(script, "instruction")) == left


def test_what_was_not_done_yet_is_done_when_an_order_in_a_few_words_names_it() -> None:
    script = answered("The abstract still says 0.42; I have not changed it yet.", "exclude the two outliers first")
    assert len(standing(script, "task")) == 1
    script.user("update table and abstract")
    script.say("Updated both.")
    assert standing(script, "task") == []
