"""What becomes of an item before the compaction: done, resolved, revised, rejected, overturned, gone, or still open."""

import pytest

from slicebase.context.lost.follow import items
from slicebase.context.lost.items import ItemState
from tests.context.transcripts import Transcript


def states(script: Transcript, *kinds: str) -> dict[str, ItemState]:
    return {item.text: item.state for item in items(script.turns) if not kinds or item.kind in kinds}


# Requests


def test_a_request_is_done_when_it_is_answered_and_a_rule_stays_in_force() -> None:
    script = Transcript()
    script.user("Rename the folder tests.")
    script.say("Renamed it.")
    script.user("Never push to the main branch.")
    script.say("Understood.")
    script.user("Add a test for the reader.")
    assert states(script, "instruction") == {
        "Rename the folder tests.": "done",
        "Never push to the main branch.": "standing",
        "Add a test for the reader.": "open",
    }


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ("The changelog is written in CHANGES.md.", "done"),
        ("Done.", "done"),
        ("Let me look at the history first.", "open"),
        ("I could not write the release notes, the folder is read-only.", "open"),
        ("Should I write the release notes for version 2 or 3?", "open"),
        (None, "open"),
    ],
)
def test_the_last_request_is_open_only_if_its_answer_does_not_report_it(answer: str | None, state: str) -> None:
    script = Transcript()
    script.user("thanks! now write release notes")
    script.run("git log", "a")
    if answer:
        script.say(answer)
    assert states(script, "instruction")["thanks! now write release notes"] == state


def test_an_interrupted_request_stays_open_unless_the_user_goes_on_with_it() -> None:
    script = Transcript()
    script.user("Add a CSV export to the invoices page.")
    script.call("Read", {"file_path": "/a.py"}, "x")
    script.interrupt()
    script.user("which python do we use here?")
    script.say("Python 3.12 is used.")
    assert states(script, "instruction")["Add a CSV export to the invoices page."] == "interrupted"
    script.say("I added the CSV export to the invoices page.")
    assert states(script, "instruction")["Add a CSV export to the invoices page."] == "done"
    script = Transcript()
    script.user("Add a CSV export to the invoices page.")
    script.interrupt()
    script.user("no, wait. go on")
    script.say("The export is in place.")
    assert states(script, "instruction")["Add a CSV export to the invoices page."] == "done"


def test_a_rule_for_some_time_ends_when_the_user_orders_what_it_forbids() -> None:
    script = Transcript()
    script.user("Don't commit yet.")
    script.say("OK.")
    script.user("Now commit everything.")
    assert states(script)["Don't commit yet."] == "revised"


@pytest.mark.parametrize(
    ("later", "state"),
    [
        ("You can push to main now.", "revised"),
        ("it's ok to push to main from here", "revised"),
        ("You can push to the feature branches.", "standing"),
        ("You can push to main, but do not force it.", "standing"),
        ("can we push to main?", "standing"),
        ("Push the tag.", "standing"),
    ],
)
def test_a_rule_ends_when_the_user_allows_all_that_it_forbids(later: str, state: str) -> None:
    script = Transcript()
    script.user("Never push to main.")
    script.say("Understood.")
    script.user(later)
    assert states(script, "instruction")["Never push to main."] == state


@pytest.mark.parametrize(
    "text", ["Bitte benutze niemals force push auf main.", "不要直接推送到 main 分支，必须先创建 PR。"]
)
def test_what_the_user_says_in_another_language_is_neither_done_nor_a_rule(text: str) -> None:
    script = Transcript()
    script.user(text)
    script.say("OK.")
    script.user("Go on.")
    script.say("Done.")
    assert states(script, "instruction")[text] == "unknown"


def test_in_any_language_what_was_acted_on_is_done_and_what_may_be_a_rule_is_not_known() -> None:
    script = Transcript()
    script.user("Der Import bricht ab. Bitte anschauen. Die Schnittstelle zum Lager darf sich nicht ändern.")
    script.run("pytest -q", "1 passed")
    script.say("Behoben.")
    script.user("Bau einen Knopf für den Export ein")
    script.run("pytest -q", "2 passed")
    script.say("Der Knopf ist da.")
    script.user("Die Mails verschicke ich lieber selbst")
    script.say("In Ordnung.")
    script.user("Mach den Text größer")
    script.say("Fertig.")
    assert states(script, "instruction") == {
        "Der Import bricht ab. Bitte anschauen.": "done",
        "Die Schnittstelle zum Lager darf sich nicht ändern.": "unknown",
        "Bau einen Knopf für den Export ein": "done",
        "Die Mails verschicke ich lieber selbst": "unknown",
        "Mach den Text größer": "unknown",
    }


# Errors


def test_an_error_is_resolved_when_the_same_is_done_again_with_success() -> None:
    script = Transcript()
    script.run("pytest -q tests/a.py", "FAILED t.py::test_a - AssertionError: 1 != 2\n1 failed, 2 passed in 0.1s")
    script.run("custom-tool 7", "fatal: the tool has no input", error=True)
    script.run("make test", "3 passed in 0.1s")
    assert states(script, "error") == {
        "FAILED t.py::test_a - AssertionError: 1 != 2": "resolved",  # all tests pass
        "fatal: the tool has no input": "open",
    }
    script.run("custom-tool 7", "ok")
    assert set(states(script, "error").values()) == {"resolved"}


def test_an_error_is_open_as_long_as_only_something_else_succeeds() -> None:
    script = Transcript()
    script.run("go build ./...", "a.go:3: undefined: max_tries", error=True)
    script.run("go build ./pkg", "ok")
    script.run("ruff check .", "ok")
    assert states(script, "error", "command") == {
        "go build ./...": "failed",
        "a.go:3: undefined: max_tries": "open",
        "go build ./pkg": "standing",
        "ruff check .": "standing",
    }
    script.run("go build ./... && go test ./...", "ok")
    assert "open" not in states(script, "error").values()


# Statements


CAUSE = "The root cause is the N+1 query in `CartView.items()`: 340 queries for each page."


@pytest.mark.parametrize(
    ("prompt", "reply", "state"),
    [
        ("That is not the cause, we removed CartView.", "I see, then it is `MobileCart`.", "overturned"),
        ("why?", "The query of `CartView.items()` was not the cause, I was wrong.", "overturned"),
        ("but can you also check the mobile page?", "Good question! It uses `MobileCart`.", "standing"),
        ("no, look at the invoices first", "You're right. They use `Invoice`.", "standing"),
        ("ok", "Fine.", "standing"),
    ],
)
def test_a_statement_is_overturned_only_by_what_is_about_it(prompt: str, reply: str, state: str) -> None:
    script = Transcript()
    script.say(CAUSE)
    script.user(prompt)
    script.say(reply)
    assert states(script, "finding")[CAUSE] == state


def test_a_problem_is_resolved_when_a_later_message_reports_it_as_fixed() -> None:
    script = Transcript()
    script.say("Bug: `parse_price()` truncates cents because it uses int().")
    script.say("Bug: `parse_date()` ignores the time zone of the shop.")
    script.user("fix the first one")
    script.say("Fixed `parse_price()`: it uses Decimal and no cents are truncated.")
    found = states(script, "finding")
    assert found["Bug: `parse_price()` truncates cents because it uses int()."] == "resolved"
    assert found["Bug: `parse_date()` ignores the time zone of the shop."] == "open"


def test_a_decision_is_revised_by_another_number_of_the_same_or_by_what_replaces_it() -> None:
    script = Transcript()
    script.say("We decided to use three partitions for `orders_queue`.")
    script.say("Let's use Redis for the session store.")
    script.say("We decided to keep two workers for `mail_queue`.")
    script.user("five partitions please, three are too few")
    script.say("The `orders_queue` has five partitions now.")
    script.say("Let's use Postgres for the session store instead of Redis.")
    assert list(states(script, "decision").values()) == ["revised", "revised", "standing", "standing"]


def test_a_task_that_the_user_refuses_is_rejected() -> None:
    script = Transcript()
    script.say("Next step: write the docs of the queue.")
    script.say("Next step: add a test for the cart.")
    script.user("we won't do the docs of the queue")
    assert list(states(script, "task").values()) == ["rejected", "open"]


def test_what_was_not_done_yet_is_open_only_if_the_assistant_ends_with_it() -> None:
    script = Transcript()
    script.user("where are the tests?")
    script.say("You're right, I haven't written the unit tests yet.")
    assert list(states(script, "task").values()) == ["open"]
    script.run("make test", "ok")
    script.say("All of it is in place.")
    assert list(states(script, "task").values()) == ["done"]


def test_what_was_not_done_yet_is_done_when_it_is_so_now() -> None:
    script = Transcript()
    script.say("The workers were restarted. I haven't updated the status page yet.")
    script.user("update it")
    script.say("The status page is updated now.")
    assert list(states(script, "task").values()) == ["done"]


def test_a_task_is_done_when_a_later_message_reports_it_and_an_offer_when_it_is_answered() -> None:
    script = Transcript()
    script.say("We still need to expire the old discount codes.")
    script.say("Should I also write the release notes for it?")
    script.user("yes, write them now")
    script.say("Added a job that expires old discount codes.")
    script.say("The notes still need to mention the header.")
    assert list(states(script, "task").values()) == ["done", "done", "open"]


def test_a_task_of_a_list_is_done_when_a_list_after_the_compaction_says_so() -> None:
    script, after = Transcript(), Transcript()
    script.call(
        "TodoWrite", {"todos": [{"content": "Tag it", "status": "pending"}, {"content": "Ship", "status": "pending"}]}
    )
    script.call("TaskCreate", {"subject": "Write the notes"}, "Task #1 created successfully: Write the notes")
    assert {item.state for item in items(script.turns)} == {"open"}
    after.call(
        "TodoWrite", {"todos": [{"content": "Tag it", "status": "completed"}, {"content": "Ship", "status": "pending"}]}
    )
    found = {item.text: item.state for item in items(script.turns, after.turns)}
    assert (found["Tag it"], found["Ship"]) == ("done", "open")


# Artefacts


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("rm -f /repo/gen/a.md", ""),
        ("cd /repo && rm gen/a.md", ""),
        ("rm -rf gen", ""),
        ("mv gen/a.md gen/c.md", ""),
        ("git clean -fd", "Removing gen/a.md"),
        ("rm gen/*.md", ""),
    ],
)
def test_a_file_that_was_removed_later_is_gone(command: str, output: str) -> None:
    script = Transcript()
    script.call("Write", {"file_path": "/repo/gen/a.md", "content": "x"}, "created")
    script.call("Write", {"file_path": "/repo/b.md", "content": "x"}, "created")
    script.run("rm /repo/b.md.bak old/b.md", "")
    script.run(command, output)
    assert states(script, "artefact") == {"/repo/gen/a.md": "gone", "/repo/b.md": "standing"}


def test_a_branch_that_was_deleted_and_a_pull_request_that_was_closed_are_gone() -> None:
    script = Transcript()
    script.run("git checkout -b fix/cart", "Switched to a new branch 'fix/cart'")
    script.run("gh pr create --title x", "https://github.com/acme/shop/pull/17")
    script.run("gh pr close 17 && git branch -D fix/cart", "Deleted branch fix/cart")
    assert set(states(script, "artefact").values()) == {"gone"}


def test_a_run_of_a_few_tests_is_over_when_a_later_command_differs_only_in_which() -> None:
    script = Transcript()
    script.run("go test -run TestA ./a", "ok")
    script.run("go test -run TestB ./b", "ok")
    script.run("go test ./...", "ok")
    script.run("go vet -run TestC ./a", "FAIL", error=True)
    assert states(script, "command") == {
        "go test -run TestA ./a": "revised",
        "go test -run TestB ./b": "standing",
        "go test ./...": "standing",
        "go vet -run TestC ./a": "failed",
    }


@pytest.mark.parametrize(
    ("rule", "later", "state"),
    [
        ("Never use pandas in this project.", "Forget what I said about pandas, you can use pandas now.", "revised"),
        ("Never touch the schema.", "never mind, the schema migration is done", "standing"),
        ("Never touch the schema.", "Forget about the schema, look at the tests.", "standing"),
        ("Always run the linter before committing.", "Actually you don't need to run the linter any more.", "revised"),
        ("Always run the linter before committing.", "You needn't run the linter before committing.", "revised"),
        ("Always run the linter before committing.", "No need to run the linter on generated files.", "standing"),
        ("Always run the linter before committing.", "You do not need to look at the tests any more.", "standing"),
        ("Never deploy on Friday.", "You don't need to deploy on Friday.", "standing"),
        (
            "Use 4 spaces for indentation everywhere.",
            "On second thought, use tabs for indentation everywhere.",
            "revised",
        ),
        (
            "Use 4 spaces for indentation everywhere.",
            "I changed my mind. Use tabs for indentation everywhere.",
            "revised",
        ),
        ("Never push to main.", "Pushing to main is fine now.", "revised"),
        ("Never push to main.", "Is pushing to main fine now?", "standing"),
        ("Never push to main.", "You can push to main this time.", "standing"),
        ("Do not use emojis in commit messages.", "Drop the rule about emojis.", "revised"),
        ("Always answer in German.", "Please stop answering in German.", "revised"),
        ("Don't add dependencies.", "I changed my mind about the colour, make it red.", "standing"),
    ],
)
def test_a_rule_that_the_user_takes_back_is_over_and_one_with_an_exception_is_not(
    rule: str, later: str, state: str
) -> None:
    script = Transcript()
    script.user(rule)
    script.say("Understood.")
    script.user(later)
    script.say("Good.")
    assert states(script, "instruction")[rule] == state


def test_a_rule_that_replaces_another_is_one() -> None:
    script = Transcript()
    script.user("I changed my mind, use tabs for indentation everywhere.")
    assert [(item.mark, item.state) for item in items(script.turns)] == [("rule", "standing")]


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ("No, no caching.", "rejected"),
        ("no", "rejected"),
        ("Please don't add Redis.", "rejected"),
        ("No problem, go ahead.", "standing"),
        ("No, the deployment of yesterday evening must be rolled back first.", "standing"),
        ("Yes, do it.", "standing"),
    ],
)
def test_a_proposal_that_the_user_declines_is_rejected(answer: str, state: str) -> None:
    script = Transcript()
    script.user("how do we make it faster?")
    proposal = "I suggest we add a caching layer with Redis in front of the API."
    script.say(proposal)
    script.user(answer)
    script.say("Understood.")
    assert states(script, "finding", "task", "decision")[proposal] == state


def test_a_branch_that_a_merge_deletes_is_gone() -> None:
    script = Transcript()
    script.run("git checkout -b fix-cart", "Switched to a new branch 'fix-cart'")
    script.run("git checkout -b other", "Switched to a new branch 'other'")
    script.run("gh pr merge 77 --squash --delete-branch", "✓ Merged pull request #77\n✓ Deleted branch fix-cart")
    assert list(states(script, "artefact").values()) == ["gone", "standing"]
