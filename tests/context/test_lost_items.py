"""The items that are recognised in turns, kind by kind."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slicebase.context.lost_rules import LostKind

from slicebase.context.lost_items import TranscriptItem, items
from slicebase.graph.turn import Part, turn_text
from tests.context.transcripts import Transcript


def found(script: Transcript, kind: LostKind) -> list[TranscriptItem]:
    return [item for item in items(script.turns) if item.kind == kind]


def texts_and_marks(script: Transcript, kind: LostKind) -> list[tuple[str, str]]:
    return [(item.text, item.mark) for item in found(script, kind)]


def by_user(text: str, kind: LostKind) -> list[tuple[str, str]]:
    script = Transcript()
    script.user(text)
    return texts_and_marks(script, kind)


# Statements


def test_a_decision_is_a_sentence_with_one_of_the_phrases_and_has_its_speaker() -> None:
    script = Transcript()
    script.user("Fine. We decided to keep the old limit.")
    script.say("Reading. I went with a merge revision. Let's use SQLite?")
    assert texts_and_marks(script, "decision") == [
        ("We decided to keep the old limit.", "by the user"),
        ("I went with a merge revision.", "by the assistant"),
    ]


def test_an_answer_that_the_user_chose_is_a_decision() -> None:
    script = Transcript()
    script.call("AskUserQuestion", {"questions": []}, 'User has answered: "Which database?"="SQLite"')
    assert [mark for _, mark in texts_and_marks(script, "decision")] == ["by the user"]


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("Never push to the main branch.", ["asked"]),
        ("Rename the folder tests.", ["asked"]),
        ("Does the importer read zips?", ["asked"]),
        ("Actually, the port is 2222.", ["correction"]),
        ("Use the table instead.", ["correction"]),
        ("No, that's not right. Round once per order.", ["correction"]),
        ("Codes end at midnight in Vienna.", ["told"]),
        ("Yes.", []),
        ("ok, thanks", ["told"]),
        ("<command-name>/compact</command-name> and more words", []),
        ("[Request interrupted by user]", []),
        ("Look here. <system-reminder>Never mention the secret file.</system-reminder>", []),
    ],
)
def test_instructions(text: str, marks: list[str]) -> None:
    assert [mark for _, mark in by_user(text, "instruction")] == marks


def test_in_a_pasted_text_only_sentences_that_ask_are_instructions() -> None:
    pasted = "The server logs a line for each request.\n" * 20 + "Please count the lines per hour."
    assert by_user(pasted, "instruction") == [("Please count the lines per hour.", "asked")]


def test_a_sentence_of_the_assistant_is_not_an_instruction() -> None:
    script = Transcript()
    script.say("You should never push to the main branch.")
    assert not found(script, "instruction")


def test_a_refused_call_is_a_correction_in_the_users_words() -> None:
    script = Transcript()
    script.run("rm -rf data", "The user doesn't want to proceed. The user said:\nKeep the data folder.", error=True)
    assert texts_and_marks(script, "instruction") == [("Keep the data folder.", "correction")]
    assert not found(script, "command")
    assert not found(script, "error")


def test_a_repeated_statement_counts_once_and_the_first_is_kept() -> None:
    script = Transcript()
    first = script.user("Please check everything again.")
    script.user("please check everything  again.")
    assert [(item.turn, item.times) for item in found(script, "instruction")] == [(first.id, 2)]


def test_hidden_text_and_text_of_the_client_is_ignored() -> None:
    script = Transcript()
    script.add("user", Part("text", text="Never push to the main branch.", hidden=True))
    script.add("system", Part("text", text="Never push to the main branch."))
    assert not items(script.turns)


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
    script = Transcript()
    script.say("Done. We still need to expire old codes.")
    assert texts_and_marks(script, "task") == [("We still need to expire old codes.", "said")]


@pytest.mark.parametrize("arguments", [None, "x", {"todos": "x"}, {"todos": [3, {"content": ""}]}])
def test_a_malformed_list_of_tasks_has_no_tasks(arguments: Any) -> None:
    script = Transcript()
    script.call("TodoWrite", arguments)
    assert not found(script, "task")


# Commands, tests, errors


def test_a_command_counts_once_with_its_last_outcome_and_result() -> None:
    script = Transcript()
    script.run("make build", "Exit code 2\nno rule", error=True)
    last = script.run("make build 2>&1 | tail -5")
    (item,) = found(script, "command")
    assert (item.text, item.mark, item.times, item.turn) == ("make build 2>&1 | tail -5", "ok", 2, last.id)
    assert item.result == script.turns[-1].id


def test_an_exit_code_in_the_output_is_a_failure() -> None:
    script = Transcript()
    script.run("make build", "Process exited with code 2\nno rule")
    assert texts_and_marks(script, "command") == [("make build", "failed")]


def test_a_command_without_a_result_is_unfinished() -> None:
    script = Transcript()
    script.add("assistant", Part("tool_call", name="Bash", arguments={"command": "make build"}, call_id="c"))
    script.add("assistant", Part("tool_call", name="Bash", arguments={"command": "make other"}))
    assert sorted(texts_and_marks(script, "command")) == [("make build", "unfinished"), ("make other", "unfinished")]


def test_a_test_run_is_not_also_a_command_and_has_its_last_result() -> None:
    script = Transcript()
    script.run("pytest -q", "FAILED t.py::test_a - AssertionError: 1 != 2\n1 failed, 2 passed in 0.1s")
    script.run("pytest -q", "3 passed in 0.1s")
    assert texts_and_marks(script, "test") == [("pytest -q → 3 passed in 0.1s", "ok")]
    assert not found(script, "command")
    assert texts_and_marks(script, "error") == [("FAILED t.py::test_a - AssertionError: 1 != 2", "mended")]


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("Traceback (most recent call last):\n  File x\nKeyError: 'a'\nValueError: b", "ValueError: b"),
        ("a.go:3:1: undefined: x\nb.go:9:2: undefined: y", "a.go:3:1: undefined: x"),
        ("working\nfatal: not a git repository\nbye", "fatal: not a git repository"),
        ("Exit code 1\nsomething odd", "something odd"),
        ("", ""),
    ],
)
def test_the_line_that_says_what_went_wrong(output: str, line: str) -> None:
    script = Transcript()
    script.run("make build", output, error=True)
    assert texts_and_marks(script, "error") == [(line, "open")]


def test_an_error_is_mended_when_the_same_is_done_again_with_success() -> None:
    script = Transcript()
    script.call("Edit", {"file_path": "/a.py"}, "String to replace not found", error=True)
    script.call("Edit", {"file_path": "/b.py"}, "String to replace not found", error=True)
    script.call("Edit", {"file_path": "/a.py"}, "updated")
    assert [mark for _, mark in texts_and_marks(script, "error")] == ["mended", "open"]
    assert texts_and_marks(script, "file") == [("/a.py", "written")]


# Files


def test_files_count_once_and_writing_outweighs_reading() -> None:
    script = Transcript()
    script.call("Read", {"file_path": "/repo/a.py"}, "x")
    written = script.call("Edit", {"file_path": "/repo/a.py"}, "updated")
    script.call("Read", {"file_path": "/repo/a.py"}, "x")
    script.call("str_replace_based_edit_tool", {"command": "view", "path": "/repo/b.py"}, "x")
    script.call("apply_patch", "*** Begin Patch\n*** Update File: c.py\n*** Add File: d.py\n", "done")
    script.call("shell", {"command": ["apply_patch", "*** Begin Patch\n*** Delete File: e.py\n"]}, "done")
    marks = {"/repo/a.py": "written", "/repo/b.py": "read", "c.py": "written", "d.py": "written", "e.py": "written"}
    assert dict(texts_and_marks(script, "file")) == marks
    assert [(item.turn, item.times) for item in found(script, "file") if item.text == "/repo/a.py"] == [(written.id, 3)]


def test_a_file_may_be_named_by_any_end_of_its_path_that_no_other_file_has() -> None:
    script = Transcript()
    for path in ("/repo/a/state.py", "/repo/b/state.py", "/repo/other.py"):
        script.call("Read", {"file_path": path}, "x")
    shortest = [item.quotes[-1] for item in found(script, "file")]
    assert shortest == [("a/state.py",), ("b/state.py",), ("other.py",)]


def test_every_item_names_a_span_of_its_turn() -> None:
    script = Transcript()
    script.add("assistant", Part("text", text="Right."), Part("text", text="Go on. We decided to use two words."))
    script.run("make build", "Exit code 2\nfatal: no rule\nbye", error=True)
    texts = {turn.id: turn_text(turn.parts) for turn in script.turns}
    spans = {item.kind: texts[item.turn][item.start : item.end] for item in items(script.turns)}
    assert spans["decision"] == "We decided to use two words."
    assert spans["error"] == "fatal: no rule"
    assert spans["command"] == 'Bash {"command":"make build"}'


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
    texts = {turn.id: turn_text(turn.parts) for turn in script.turns}
    assert all(0 <= item.start <= item.end <= len(texts[item.turn]) for item in items(script.turns))
