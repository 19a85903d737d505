"""What an agent needs to continue: claims of a kind with their evidence, open tasks and prompts (ruling 55)."""

import pytest

from slicebase.context.handover import Handover, handover
from slicebase.graph.turn import Part, turn_text
from tests.context.transcripts import Transcript


@pytest.fixture
def transcript() -> Transcript:
    return Transcript()


def of(found: Handover, kind: str) -> list[str]:
    return [claim.statement for claim in found.claims if claim.kind == kind]


def asked(found: Handover) -> list[str]:
    return [question.text.rpartition(" (")[0] for question in found.questions]


def test_each_kind_is_a_claim_whose_evidence_is_its_words(transcript: Transcript) -> None:
    transcript.user("Never push to main yourself. Please fix the parser.")
    transcript.call("Edit", {"file_path": "/w/parser.py", "old_string": "a_b", "new_string": "read_line(a_b)"}, "ok")
    transcript.run("pytest tests/test_parser.py", "3 passed")
    transcript.say("We decided to keep the old tokenizer.\n\nThe parser drops the last line because the file is cut.")
    found = handover(transcript.turns)
    assert of(found, "instruction") == ["Never push to main yourself."]
    assert of(found, "decision") == ["We decided to keep the old tokenizer."]
    assert of(found, "finding") == ["The parser drops the last line because the file is cut."]
    assert of(found, "file") == ["/w/parser.py (changed, last read_line)"]
    assert of(found, "command") == ["pytest tests/test_parser.py"]
    texts = {f"turn:{turn.id}": turn_text(turn.parts) for turn in transcript.turns}
    for claim in found.claims:
        evidence = claim.evidence
        assert texts[evidence.chunk_id][evidence.span.start : evidence.span.end] == evidence.quote
        assert evidence.quote == claim.statement.partition(" (changed")[0]


def test_a_prompt_without_an_answer_is_a_question_with_what_was_said_last(transcript: Transcript) -> None:
    transcript.user("Rename the flag.")
    transcript.say("Now let me look at the options.")
    transcript.run("ls", "a")
    assert asked(handover(transcript.turns)) == [
        "prompt: Rename the flag. · last said: Now let me look at the options."
    ]
    transcript.say("Renamed it: the flag is --all now.")
    assert asked(handover(transcript.turns)) == []


def test_an_interrupted_prompt_is_open(transcript: Transcript) -> None:
    transcript.user("Rename the flag.")
    transcript.run("sed -i s/a/b/ x", "")
    transcript.interrupt()
    (question,) = handover(transcript.turns).questions
    assert question.text.startswith("prompt: Rename the flag. (interrupted, turn:")


def test_tasks_of_the_list_are_open_until_they_are_done(transcript: Transcript) -> None:
    transcript.user("Fix both.")
    todos = [{"content": "Fix the reader", "status": "pending"}, {"content": "Fix the writer", "status": "pending"}]
    transcript.call("TodoWrite", {"todos": todos}, "ok")
    transcript.say("The plan is written down, both of them wait.")
    assert asked(handover(transcript.turns)) == ["task: Fix the reader", "task: Fix the writer"]
    transcript.call("TodoWrite", {"todos": [{**todos[0], "status": "completed"}, todos[1]]}, "ok")
    transcript.say("The first one works, the second one waits.")
    assert asked(handover(transcript.turns)) == ["task: Fix the writer"]


def test_what_the_agent_mentions_is_a_task_only_as_long_as_it_is_what_the_work_is_about(transcript: Transcript) -> None:
    transcript.user("Check the exports.")
    transcript.say("I checked them.\n\nThe CSV export still needs to be tested with large files.")
    assert len(handover(transcript.turns).questions) == 1
    for number in range(2):
        transcript.user(f"Now write page {number}.")
        transcript.say(f"I wrote page {number}, it is in place.")
    assert handover(transcript.turns).questions == []


def test_a_refusal_is_an_instruction_with_the_users_words_until_the_call_is_made(transcript: Transcript) -> None:
    transcript.user("Publish it.")
    transcript.run("git push origin main", "The user doesn't want to proceed with this tool use.", error=True)
    assert of(handover(transcript.turns), "instruction") == ["The user refused Bash: git push origin main"]
    transcript.run("git push origin main", "done")
    assert of(handover(transcript.turns), "instruction") == []
    said = "The user doesn't want to proceed with this tool use. the user said: never push on a Friday"
    transcript.run("git push origin next", said, error=True)
    assert "never push on a Friday" in of(handover(transcript.turns), "instruction")


@pytest.mark.parametrize("reason", ["use pnpm", "Rather pnpm, please. It is what we have."])
def test_the_words_of_a_refusal_are_its_reason_or_what_the_user_says_next(transcript: Transcript, reason: str) -> None:
    refused = "The user doesn't want to proceed with this tool use."
    transcript.user("Install it.")
    if len(reason) > 20:
        transcript.run("npm install", refused, error=True)
        transcript.user(reason)
    else:
        transcript.run("npm install", f"{refused} The user provided the following reason: {reason}", error=True)
    (claim,) = [each for each in handover(transcript.turns).claims if "Refused" in each.statement]
    assert claim.statement == f"The user said: {reason.rstrip('.')}. Refused: Bash: npm install"
    assert claim.evidence.quote == reason
    assert len(claim.turns) == 2


def test_a_question_about_a_call_is_over_when_the_work_has_moved_on(transcript: Transcript) -> None:
    refused = "The user doesn't want to proceed with this tool use. the user said:"
    transcript.user("Clean up.")
    transcript.run("git gc", f"{refused} do we need that?", error=True)
    transcript.run("make clean", f"{refused} keep the build. Is it large?", error=True)
    for _ in range(2):
        assert len(of(handover(transcript.turns), "instruction")) == 2
        transcript.say("No, it is small.")
        transcript.user("Go on with the parser.")
    transcript.say("The parser is done.")
    (instruction,) = of(handover(transcript.turns), "instruction")
    assert instruction.startswith("The user said: keep the build.")


def test_a_refused_plan_is_over_with_the_next_one_that_is_approved(transcript: Transcript) -> None:
    refused = "The user doesn't want to proceed with this tool use."
    transcript.user("Plan it.")
    transcript.call(
        "ExitPlanMode", {"plan": "# Plan A"}, f"{refused} the user said: only unit tests, please", error=True
    )
    transcript.call("ExitPlanMode", {"plan": "# Plan B"}, refused, error=True)
    transcript.interrupt()
    found = handover(transcript.turns)
    assert of(found, "instruction") == ["The user said: only unit tests, please. Refused: ExitPlanMode: # Plan A"]
    assert [each.partition(":")[0] for each in asked(found)] == ["prompt"]
    transcript.call("ExitPlanMode", {"plan": "# Plan C"}, "User has approved your plan.")
    assert of(handover(transcript.turns), "instruction") == []


def test_the_last_prompt_is_a_claim_once_it_is_answered(transcript: Transcript) -> None:
    transcript.user("Do both tests pass?")
    assert of(handover(transcript.turns), "prompt") == []
    transcript.say("Yes, both pass.")
    (claim,) = handover(transcript.turns).claims
    assert (claim.kind, claim.statement, claim.evidence.quote) == ("prompt", *["Do both tests pass?"] * 2)
    transcript.user("And on Windows?")
    assert of(handover(transcript.turns), "prompt") == []


def test_an_error_of_the_client_is_no_answer(transcript: Transcript) -> None:
    transcript.user("Rename the flag.")
    transcript.add("assistant", Part("text", text="API Error: 529 overloaded", error=True))
    assert asked(handover(transcript.turns)) == ["prompt: Rename the flag."]


def test_a_prompt_that_was_interrupted_is_over_when_the_work_has_moved_on(transcript: Transcript) -> None:
    transcript.user("Fix the flaky login test.")
    transcript.run("which node", "node")
    transcript.interrupt()
    transcript.user("What is the largest file here?")
    transcript.say("It is the lock file.")
    assert asked(handover(transcript.turns)) == ["task: Fix the flaky login test."]
    transcript.user("Write the readme.")
    transcript.say("I wrote the readme.")
    assert asked(handover(transcript.turns)) == []


def test_files_have_their_last_state(transcript: Transcript) -> None:
    transcript.user("Work on them.")
    transcript.call("Read", {"file_path": "/w/read.py"}, "1")
    transcript.call("Write", {"file_path": "/w/new.py", "content": "x"}, "ok")
    transcript.call("Edit", {"file_path": "/w/new.py", "old_string": "x", "new_string": "y"}, "ok")
    transcript.call(
        "Edit", {"file_path": "/w/bad.py", "old_string": "x", "new_string": "y"}, "no such file", error=True
    )
    transcript.call("Write", {"file_path": "/w/gone.py", "content": "x"}, "ok")
    transcript.run("rm gone.py", "")
    assert of(handover(transcript.turns), "file") == [
        "/w/gone.py (removed)",
        "/w/new.py (created 2 times)",
        "/w/read.py (read)",
    ]


def test_files_are_also_those_that_commands_and_subagents_write(transcript: Transcript) -> None:
    transcript.user("Work on them.")
    transcript.call("Read", {"file_path": "/w/a.py"}, "1")
    transcript.run("cd /w && sed -i s/1/2/ a.py && make > /tmp/log.txt", "")
    started = transcript.call("Task", {"prompt": "Work on b.py."}, "Done.")
    agent = Transcript()
    agent.call("Read", {"file_path": "/w/c.py"}, "1")
    written = agent.call("Edit", {"file_path": "/w/b.py", "old_string": "x", "new_string": "y"}, "ok")
    agent.call("Edit", {"file_path": "/w/bad.py", "old_string": "x", "new_string": "y"}, "no such file", error=True)
    transcript.run("mv /w/new.txt /w/a.py", "")
    found = handover(transcript.turns, {started.id: agent.turns})
    assert of(found, "file") == ["/w/a.py (changed 2 times)", "/w/b.py (changed, last by a subagent)"]
    assert [claim.turns for claim in found.claims if "subagent" in claim.statement] == [(started.id, written.id)]


def test_a_script_that_is_gone_is_no_command_that_worked(transcript: Transcript) -> None:
    transcript.user("Reproduce it.")
    transcript.call("Write", {"file_path": "/w/repro.py", "content": "x"}, "ok")
    transcript.run("python repro.py", "ok")
    transcript.run("make lint", "ok")
    transcript.run("rm repro.py", "")
    assert of(handover(transcript.turns), "command") == ["make lint"]


def test_what_the_user_was_asked_is_no_task_of_the_agent(transcript: Transcript) -> None:
    transcript.user("Why is it slow?")
    transcript.say("The parser reads each file twice.\n\nShould I read each file once?")
    assert asked(handover(transcript.turns)) == ["asked: Should I read each file once?"]


def test_commands_that_failed_last_are_none_that_worked(transcript: Transcript) -> None:
    transcript.user("Test it.")
    transcript.run("pytest", "2 failed", error=True)
    transcript.run("make lint", "ok")
    assert of(handover(transcript.turns), "command") == ["make lint"]


def test_a_command_whose_failure_is_open_has_not_worked_since_tests_of_something_else_pass(
    transcript: Transcript,
) -> None:
    transcript.user("Build it.")
    transcript.run("make", "error: the brace in line 3 is missing", error=True)
    transcript.run("pytest tests/a.py", "3 passed")
    assert of(handover(transcript.turns), "command") == ["pytest tests/a.py"]


def test_the_actions_of_a_trajectory_are_calls(transcript: Transcript) -> None:
    transcript.user("Fix it.")
    transcript.call("open", "open src/a.py 12", "[File: src/a.py]")
    transcript.call("edit", "edit 1:1\nfixed_value = 1\nend_of_edit", "File updated.")
    transcript.say("The value was cut. Let's use the script to see whether it is fixed.")
    transcript.call("python", "python repro.py", "fine")
    transcript.call("submit", "submit", "diff")
    found = handover(transcript.turns)
    assert of(found, "file") == ["src/a.py (changed, last fixed_value)"]
    assert of(found, "command") == ["python repro.py"]
    assert of(found, "decision") == []
    assert found.questions == []


def test_what_was_said_of_a_failure_is_over_with_it(transcript: Transcript) -> None:
    transcript.user("Build it.")
    transcript.run("make all", "error: the brace in line 3 is missing", error=True)
    transcript.say("The build is broken: a bracket is missing in the generated header.")
    assert len(of(handover(transcript.turns), "finding")) == 1
    transcript.run("make all", "ok")
    assert of(handover(transcript.turns), "finding") == []
