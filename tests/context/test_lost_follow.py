"""What becomes of an item before the compaction: done, resolved, overturned, gone, or still open."""

from slicebase.context.lost_follow import items
from tests.context.transcripts import Transcript


def states(script: Transcript) -> dict[str, str]:
    return {item.text: item.state for item in items(script.turns)}


def test_a_request_is_done_when_the_next_one_comes_and_a_rule_stays_in_force() -> None:
    script = Transcript()
    script.user("Rename the folder tests.")
    script.user("Never push to the main branch.")
    script.user("Add a test for the reader.")
    assert states(script) == {
        "Rename the folder tests.": "done",
        "Never push to the main branch.": "standing",
        "Add a test for the reader.": "open",
    }


def test_an_error_is_resolved_when_the_same_is_done_again_with_success() -> None:
    script = Transcript()
    script.call("Edit", {"file_path": "/a.py"}, "the old text occurs twice", error=True)
    script.call("Edit", {"file_path": "/b.py"}, "the old text occurs never", error=True)
    script.call("Edit", {"file_path": "/a.py"}, "updated")
    script.run("pytest -q", "FAILED t.py::test_a - AssertionError: 1 != 2\n1 failed, 2 passed in 0.1s")
    script.run("pytest -q", "3 passed in 0.1s")
    found = {item.text: item.state for item in items(script.turns) if item.kind == "error"}
    assert found == {
        "the old text occurs twice": "resolved",
        "the old text occurs never": "open",
        "FAILED t.py::test_a - AssertionError: 1 != 2": "resolved",
    }


def test_a_conclusion_that_the_user_contradicts_and_the_assistant_takes_back_is_overturned() -> None:
    script = Transcript()
    script.say("The collector deletes the index of the second worktree.")
    script.user("no, the hook is seen there, it doesn't mean the hook caused it")
    script.say("You're right, the collector was only the first place that reads the index.")
    found = states(script)
    assert found["The collector deletes the index of the second worktree."] == "overturned"
    assert list(found.values()).count("overturned") == 1


def test_a_task_is_done_when_a_later_message_reports_it_and_an_offer_when_it_is_answered() -> None:
    script = Transcript()
    script.say("We still need to expire the old discount codes.")
    script.say("Should I also write the release notes for it?")
    script.user("yes, write them now")
    script.say("Added a job that expires old discount codes.")
    script.say("The notes still need to mention the header.")
    found = {item.text: item.state for item in items(script.turns) if item.kind == "task"}
    assert list(found.values()) == ["done", "done", "open"]


def test_a_file_that_was_removed_later_is_gone() -> None:
    script = Transcript()
    script.call("Write", {"file_path": "/repo/a.md", "content": "x"}, "created")
    script.call("Write", {"file_path": "/repo/b.md", "content": "x"}, "created")
    script.run("rm -f /repo/a.md")
    assert states(script) == {"/repo/a.md": "gone", "/repo/b.md": "standing"}
