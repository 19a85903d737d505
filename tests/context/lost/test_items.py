"""The items that are recognised in turns, kind by kind."""

from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.context.lost.follow import items
from slicebase.context.lost.items import TranscriptItem
from slicebase.context.lost.phrases import LostKind
from slicebase.context.lost.reader import read_items
from slicebase.graph.contents import readable_text
from slicebase.graph.turn import Part, Role
from tests.context.transcripts import Transcript


def found(script: Transcript, kind: LostKind) -> list[TranscriptItem]:
    return [item for item in items(script.turns) if item.kind == kind]


def texts_and_marks(script: Transcript, kind: LostKind) -> list[tuple[str, str]]:
    return [(item.text, item.mark) for item in found(script, kind)]


def said(text: str, kind: LostKind) -> list[tuple[str, str]]:
    script = Transcript()
    script.say(text)
    return texts_and_marks(script, kind)


# Statements


def test_a_decision_has_its_speaker() -> None:
    script = Transcript()
    script.user("Fine. We decided to keep the old limit.")
    script.say("Reading. I went with a merge revision.")
    assert [mark for _, mark in texts_and_marks(script, "decision")] == ["by the user", "by the assistant"]


@pytest.mark.parametrize(
    "text",
    [
        "Good, there are lots of decisions in these notes.",
        "It crashes with a null pointer rather than returning an error.",
        "The log says 'agreed to terms' for every user in `signup_flow`.",
        "The out of scope variable `tmp_total` is a compiler error.",
        "`git merge` went with the fast-forward strategy in `repo_sync`.",
    ],
)
def test_a_statement_that_reports_is_no_decision(text: str) -> None:
    assert not said(text, "decision")


def test_an_answer_that_the_user_chose_is_a_decision_and_the_steps_of_an_approved_plan_are_tasks() -> None:
    script = Transcript()
    script.call("AskUserQuestion", {"questions": []}, 'User has answered: "Which database?"="SQLite"')
    plan = "# Plan\nWe change how the file is read here.\n\n1. Read the file once\n2. Pass the reader on to `open_all`"
    script.call("ExitPlanMode", {"plan": plan}, "User has approved exiting plan mode. You can now proceed.")
    assert [mark for _, mark in texts_and_marks(script, "decision")] == ["by the user"]
    assert [mark for _, mark in texts_and_marks(script, "task")] == ["planned", "planned"]


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("Never push to the main branch.", ["rule"]),
        ("Always run the linter before you commit.", ["rule"]),
        ("Please use tabs in every file.", ["rule"]),
        ("You must not touch the legacy folder.", ["rule"]),
        ("From now on, sign your commits.", ["rule"]),
        ("Fix the reader, and never push to main.", ["asked", "rule"]),
        ("Make sure to delete the table customers_old.", ["asked"]),
        ("Undo the migration 0042.", ["asked"]),
        ("Revert the last commit and push it.", ["asked"]),
        ("The tests should be green but test_price fails.", ["asked"]),
        ("Don't forget the tests of the reader.", ["told"]),
        ("Use tabs but don't touch the tests.", ["rule"]),
        ("Also, just never push to main.", ["rule"]),
        ("Never push.", ["rule"]),
        ("That call always returns 0 for me", ["told"]),
        ("It also always seems to be the same hash.", ["told"]),
        ("Can you review how we add files but don't change the tree.", ["asked"]),
        ("Why do we never update the cache?", ["asked"]),
        ("Rename the folder tests.", ["asked"]),
        ("Does the importer read zips?", ["asked"]),
        ("Actually, the port is 2222.", ["correction"]),
        ("Use the table instead.", ["correction"]),
        ("Codes end at midnight in Vienna.", ["told"]),
        ("Yes.", []),
        ("<command-name>/compact</command-name> and more words", []),
        ("[Request interrupted by user]", []),
        ("Look here. <system-reminder>Never mention the secret file.</system-reminder>", []),
        ("=== RUN TestA\n    a_test.go:7: never do that\n--- FAIL: TestA", []),
    ],
)
def test_instructions(text: str, marks: list[str]) -> None:
    script = Transcript()
    script.user(text)
    assert [mark for _, mark in texts_and_marks(script, "instruction")] == marks


@pytest.mark.parametrize(
    "text",
    [
        "Ask me before you install anything.",
        "Wait for my approval before you run terraform apply.",
        "Production is off limits.",
        "Nothing goes to main without review.",
        "Work on staging only.",
        "Only touch files under packages/checkout.",
        "Leave the legacy folder alone.",
        "Hands off the migrations.",
        "Use pnpm, not npm.",
        "Stop using sed for edits.",
        "Keep the public interface backwards compatible.",
        "Write in first person, past tense throughout.",
        "Commit messages must start with the ticket id.",
        "All prices must be integers in cents.",
        "No table may have a nullable key.",
        "I want tests for everything you change.",
        "Whenever you change the schema, regenerate the client.",
        "When you add an endpoint, also add it to openapi.yaml.",
        "For all tables use UUID keys.",
        "Run the linter before committing.",
        "I prefer composition over inheritance.",
    ],
)
def test_an_order_that_stays_in_force_is_a_rule_also_without_always_or_never(text: str) -> None:
    script = Transcript()
    script.user(text)
    assert texts_and_marks(script, "instruction") == [(text, "rule")]


@pytest.mark.parametrize(
    "text",
    [
        "Run the migration on every server.",
        "Delete the old backups in every region.",
        "Run terraform apply in each workspace.",
        "Restart the nodes and wait after each restart.",
        "All customers must receive the newsletter today.",
        "All backups should be deleted.",
        "When you are done, push it and delete the branch.",
        "Do not just delete it, archive it first and then delete it.",
        "Keep going until it works.",
        "Whenever I click on save it crashes.",
    ],
)
def test_an_order_that_is_over_once_it_was_followed_is_no_rule(text: str) -> None:
    script = Transcript()
    script.user(text)
    assert "rule" not in [mark for _, mark in texts_and_marks(script, "instruction")]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Deploy it and ask me before you delete the old one.", "ask me before you delete the old one."),
        ("Only change the price of item 5 and deploy it.", "Only change the price of item 5"),
        ("I prefer option B, deploy it.", "I prefer option B"),
        ("Use the small account, not the big one, and transfer the money.", "Use the small account, not the big one"),
        ("From now on we use v2, so migrate the database.", "From now on we use v2"),
        ("Production is off limits, work on staging only.", "Production is off limits, work on staging only."),
    ],
)
def test_a_rule_is_cut_off_from_the_orders_around_it(text: str, rule: str) -> None:
    script = Transcript()
    script.user(text)
    assert [text for text, mark in texts_and_marks(script, "instruction") if mark == "rule"] == [rule]


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (
            "Ground rules:\n1. No network in tests\n2. Python 3.11 only\n\nNow delete the old parser.",
            ["No network in tests", "Python 3.11 only"],
        ),
        ("Rules for commit messages:\n- ticket id first\n- no emojis", ["ticket id first", "no emojis"]),
        ("Constraints:\n- EU regions only\n- delete the old volumes", ["EU regions only"]),
        ("Fix the firewall rules:\n- allow port 443\n- close port 80", []),
        ("Our conventions:\n- tabs, width 4\n\nThen this\n- allow port 443", ["tabs, width 4"]),
        ("My review comments:\n- no floats here", []),
    ],
)
def test_the_entries_below_a_line_that_announces_rules_are_rules(text: str, rules: list[str]) -> None:
    script = Transcript()
    script.user(text)
    listed = [item for item in found(script, "instruction") if item.mark == "rule"]
    assert [item.text for item in listed] == rules
    assert [text[item.start : item.end] for item in listed] == rules


def test_a_user_who_says_what_we_do_decides() -> None:
    script = Transcript()
    script.user("ok. we keep the gateway in one zone, that risk is accepted")
    script.user("we use Redis and it crashes")
    script.say("We keep the rest of the gateway as it is.")
    assert texts_and_marks(script, "decision") == [
        ("ok. we keep the gateway in one zone, that risk is accepted", "by the user")
    ]


def test_a_refused_call_is_an_instruction_in_the_users_words() -> None:
    script = Transcript()
    refused = "The user doesn't want to proceed. The user said:\nNever delete the data folder."
    script.run("make clean", refused, error=True)
    assert texts_and_marks(script, "instruction") == [("Never delete the data folder.", "rule")]
    assert not found(script, "command")
    assert not found(script, "error")


def test_conclusions_of_the_assistant_and_of_subagents_are_findings() -> None:
    script = Transcript()
    script.say("Good. `SessionState` is a type alias for `session.State`. Let me change both.")
    script.call("Task", {"prompt": "x"}, "The limit is defined in `shop/limits.py:12`.\n\nagentId: 7 (internal)")
    assert [(item.text, item.origin) for item in found(script, "finding")] == [
        ("`SessionState` is a type alias for `session.State`.", "speech"),
        ("The limit is defined in `shop/limits.py:12`.", "report"),
    ]


def test_a_line_of_output_is_a_finding_if_the_assistant_uses_a_name_in_it() -> None:
    script = Transcript()
    script.run("grep -rn limit", "a.py:1: max_tries = 3\nb.py:9: other_name = 4")
    script.call("WebSearch", {"query": "x"}, 'Links: [{"title": "max_wait"}]')
    script.say("So max_tries is what limits it, and max_wait.")
    assert [mark for _, mark in texts_and_marks(script, "finding")].count("relied on") == 1
    assert ("a.py:1: max_tries = 3", "relied on") in texts_and_marks(script, "finding")


def test_hidden_text_and_text_of_the_client_is_ignored() -> None:
    script = Transcript()
    script.add("user", Part("text", text="Never push to the main branch.", hidden=True))
    script.add("system", Part("text", text="Never push to the main branch."))
    assert not items(script.turns)


def test_a_repeated_statement_counts_once_and_the_first_is_kept() -> None:
    script = Transcript()
    first = script.user("Never push to the main branch.")
    script.user("never push to the main  branch.")
    assert [(item.turn, item.times) for item in found(script, "instruction")] == [(first.id, 2)]


# Tasks


@pytest.mark.parametrize(
    ("tool", "field", "words"), [("TodoWrite", "todos", "content"), ("update_plan", "plan", "step")]
)
def test_the_newest_list_of_tasks_counts_without_the_tasks_that_are_done(tool: str, field: str, words: str) -> None:
    script = Transcript()
    script.call(tool, {field: [{words: "Old entry", "status": "pending"}]})
    entries = [{words: "Write the notes", "status": "pending"}, {words: "Done thing", "status": "completed"}]
    script.call(tool, {field: entries})
    assert texts_and_marks(script, "task") == [("Write the notes", "pending")]


def test_tasks_that_are_changed_one_by_one() -> None:
    script = Transcript()
    script.call("TaskCreate", {"subject": "Write the notes"}, "Task #1 created successfully: Write the notes")
    script.call("TaskCreate", {"subject": "Rename things"}, "Task #2 created successfully: Rename things")
    script.call("TaskUpdate", {"taskId": "1", "status": "completed"}, "Updated task #1 status")
    script.call("TaskUpdate", {"taskId": "2", "status": "in_progress"}, "Updated task #2 status")
    assert texts_and_marks(script, "task") == [("Rename things", "in_progress")]


def test_a_sentence_about_remaining_work_is_a_task() -> None:
    assert said("We still need to expire old codes.", "task") == [("We still need to expire old codes.", "said")]


@pytest.mark.parametrize(
    "text",
    [
        "I haven't looked at the gift cards yet.",
        "The webhook is missing, so no alert is sent yet.",
        "Her age is 34 there and 36 in chapter 2; I left it open.",
    ],
)
def test_what_the_assistant_has_not_done_yet_is_a_task(text: str) -> None:
    assert said(text, "task") == [(text, "said")]


@pytest.mark.parametrize("arguments", [None, "x", {"todos": "x"}, {"todos": [3, {"content": ""}]}])
def test_a_malformed_list_of_tasks_has_no_tasks(arguments: Any) -> None:
    script = Transcript()
    script.call("TodoWrite", arguments)
    assert not found(script, "task")


# Commands, errors, artefacts


def test_a_command_counts_once_with_its_last_outcome_and_result() -> None:
    script = Transcript()
    script.run("make build", "Exit code 2\nno rule", error=True)
    last = script.run("make build 2>&1 | tail -5")
    (item,) = found(script, "command")
    assert (item.text, item.mark, item.state) == ("make build 2>&1 | tail -5", "build", "standing")
    assert (item.times, item.turn, item.result) == (2, last.id, script.turns[-1].id)


def test_a_command_that_failed_or_has_no_result_says_so() -> None:
    script = Transcript()
    script.run("make build", "Process exited with code 2\nno rule")
    script.add("assistant", Part("tool_call", name="Bash", arguments={"command": "make test"}, call_id="c"))
    assert {item.text: item.state for item in found(script, "command")} == {
        "make build": "failed",
        "make test": "unfinished",
    }


def test_commands_that_only_look_around_are_not_needed_again() -> None:
    script = Transcript()
    for command in ("git status", "ls -la", "cat a.py", "git diff main", "mkdir x"):
        script.run(command, "x")
    assert not found(script, "command")


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("Traceback (most recent call last):\n  File x\nKeyError: 'a'\nValueError: bad b", "ValueError: bad b"),
        ("a.go:3:1: undefined: x\nb.go:9:2: undefined: y", "a.go:3:1: undefined: x"),
        ("working\nfatal: not a git repository\nbye", "fatal: not a git repository"),
        ("Exit code 1\nsomething odd", "something odd"),
    ],
)
def test_the_line_that_says_what_went_wrong(output: str, line: str) -> None:
    script = Transcript()
    script.run("make build", output, error=True)
    assert [(item.text, item.state) for item in found(script, "error")] == [(line, "open")]


@pytest.mark.parametrize(
    "output",
    [
        "",
        "<tool_use_error>File has not been read yet.</tool_use_error>",
        "Sibling tool call errored",
        "Error: String to replace not found in file.",
        "Some message that no list has, of a tool of the client",
    ],
)
def test_messages_of_the_client_and_empty_texts_are_no_errors(output: str) -> None:
    script = Transcript()
    script.call("Edit", {"file_path": "/a.py"}, output, error=True)
    assert not found(script, "error")


def test_that_a_cluster_or_a_cloud_does_not_have_something_is_no_error() -> None:
    script = Transcript()
    script.run("aws iam get-role --role-name shop", "An error occurred: the role cannot be found", error=True)
    script.run("kubectl -n shop get pods | grep web", "Error from server: web not found", error=True)
    assert not found(script, "error")
    assert not found(script, "command")
    script.run("helm lint ./chart && make check", "Error: the chart is invalid", error=True)
    assert found(script, "error")


def test_artefacts_are_branches_commits_urls_and_created_files() -> None:
    script = Transcript()
    script.run("git checkout -b fix/reader", "Switched to a new branch 'fix/reader'")
    script.run("git commit -m x", "[fix/reader 0a1b2c3] Read once\n 1 file changed")
    script.call("Write", {"file_path": "/repo/docs/plan.md", "content": "x"}, "File created successfully at: x")
    script.call("Edit", {"file_path": "/repo/a.py"}, "updated")
    script.say("Opened https://example.net/team/repo/pull/17.")
    script.run("gh api repos/a/b/pulls/1/comments", '[{"avatar": "https://images.example.net/people/946600"}]')
    assert {item.mark: item.quotes[0] for item in found(script, "artefact")} == {
        "branch": "fix/reader",
        "commit": "0a1b2c3",
        "file": "plan.md",
        "pull request or issue": "https://example.net/team/repo/pull/17",
    }


def test_a_created_file_is_its_name_and_a_command_is_its_text() -> None:
    script = Transcript()
    script.call("Write", {"file_path": "/repo/a.py", "content": 'x = "1"\n' * 50}, "File created successfully")
    script.run('go test -run "TestA|TestB" ./... 2>&1', "ok")
    texts = {turn.id: readable_text(turn.parts) for turn in script.turns}
    spans = {item.kind: texts[item.turn][item.start : item.end] for item in items(script.turns)}
    assert spans == {"artefact": "/repo/a.py", "command": 'go test -run "TestA|TestB" ./... 2>&1'}


def test_every_item_names_a_span_of_its_turn() -> None:
    script = Transcript()
    script.add("assistant", Part("text", text="Right."), Part("text", text="We decided to use two words."))
    script.run("make build", "Exit code 2\nfatal: no rule\nbye", error=True)
    texts = {turn.id: readable_text(turn.parts) for turn in script.turns}
    spans = {item.kind: texts[item.turn][item.start : item.end] for item in items(script.turns)}
    assert spans["decision"] == "We decided to use two words."
    assert spans["error"] == "fatal: no rule"
    assert spans["command"] == "make build"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x", "pending", "*** Add File: a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["command", "cmd", "path", "file_path", "todos", "plan", "content", "step", "status", "taskId"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)
TOOLS = ["Bash", "shell", "Read", "apply_patch", "TodoWrite", "update_plan", "TaskCreate", "TaskUpdate", "Other"]


@given(st.lists(st.tuples(st.sampled_from(TOOLS), JSON, st.booleans()), max_size=4))
def test_calls_with_any_arguments_are_read_and_every_item_has_its_turn(calls: list[tuple[str, Any, bool]]) -> None:
    script = Transcript()
    for name, arguments, error in calls:
        script.call(name, arguments, "Error: no", error=error)
    texts = {turn.id: readable_text(turn.parts) for turn in script.turns}
    assert all(0 <= item.start <= item.end <= len(texts[item.turn]) for item in items(script.turns))


# The time that it takes


def seconds(role: Role, text: str) -> float:
    script = Transcript()
    script.add(role, Part("text", text=text))
    best = float("inf")
    for _ in range(3):
        start = process_time()
        read_items(script.turns)
        best = min(best, process_time() - start)
    return best


@pytest.mark.growth
@pytest.mark.parametrize("role", ["user", "assistant"])
@pytest.mark.parametrize(
    ("before", "unit", "after"),
    [
        ("", "issue ", ""),
        ("", "error ", ":"),
        ("# ", "a/b", "x"),
        ("# ", "a-", "x"),
        ("please ", "a-", "x"),
        ("", "-", " error:"),
        ("rules for ", "!", ":error:"),
        ("", "<system-reminder>", ""),
        ("", "`a ", ""),
        ("", "**a", "x"),
        ("", "- a\n", ""),
    ],
)
def test_the_time_of_a_text_grows_like_the_text(role: Role, before: str, unit: str, after: str) -> None:
    """Four times the text takes about four times as long: a quadratic pattern would take sixteen times as long."""
    short, long = (seconds(role, before + unit * (length // len(unit)) + after) for length in (8_000, 32_000))
    assert long < 10 * max(short, 0.001)


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("All money is integer cents.", "rule"),
        ("Every endpoint returns JSON.", "rule"),
        ("All new timestamps are in UTC.", "rule"),
        ("Note that all prices have two digits.", "rule"),
        ("All tests are failing.", "told"),
        ("All requests are slow.", "told"),
        ("All the buttons are blue.", "told"),
        ("Every request is logged out.", "told"),
        ("All migrations are done.", "told"),
        ("All rows have errors.", "told"),
        ("Are all prices in cents?", "asked"),
    ],
)
def test_a_user_who_says_how_all_of_a_sort_are_sets_a_rule(text: str, mark: str) -> None:
    script = Transcript()
    script.user(text)
    assert texts_and_marks(script, "instruction") == [(text, mark)]


def test_a_finding_does_not_begin_with_words_of_agreement() -> None:
    script = Transcript()
    script.user("It is the cache.")
    script.say("You're absolutely right. The cache of `Reader` is never emptied.")
    assert texts_and_marks(script, "finding") == [("The cache of `Reader` is never emptied.", "stated")]
