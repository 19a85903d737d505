"""What is looked up again after a compaction."""

from slicebase.context.rediscovery import lookups, repeated
from tests.context.transcripts import Transcript


def test_files_searches_commands_and_questions_are_lookups() -> None:
    script = Transcript()
    script.call("Read", {"file_path": "/repo/a.py"}, "x")
    script.call("Grep", {"pattern": "open_repo"}, "x")
    script.run("cd /repo && sed -n 1,9p src/b.py && make test")
    script.run("git status && rg -n 'max tries' src")
    script.say("Should the limit be counted per basket or per address?")
    assert [(each.kind, each.what) for each in lookups(script.turns)] == [
        ("file", "/repo/a.py"),
        ("search", "open_repo"),
        ("file", "src/b.py"),
        ("command", "make test"),
        ("search", "max tries"),
        ("question", "Should the limit be counted per basket or per address?"),
    ]


def test_what_stood_before_and_is_looked_up_again_is_repeated_with_its_tokens() -> None:
    before, after = Transcript(), Transcript()
    for script in (before, after):
        script.call("Read", {"file_path": "/repo/a.py"}, "x" * 300)
        script.call("Read", {"file_path": "/repo/shop/b.py"}, "x" * 30)
        script.run("make test", "ok")
    after.call("Read", {"file_path": "/repo/new.py"}, "x")
    found = repeated(before.turns, "We changed shop/b.py.", after.turns)
    assert [(each.first.what, each.tokens, each.in_summary) for each in found] == [
        ("/repo/a.py", 100, False),
        ("/repo/shop/b.py", 10, True),
        ("make test", 1, False),
    ]


def test_a_file_that_is_read_right_before_an_edit_of_it_does_not_count() -> None:
    before, after = Transcript(), Transcript()
    before.call("Read", {"file_path": "/repo/a.py"}, "x")
    after.call("Read", {"file_path": "/repo/a.py"}, "x")
    after.call("Edit", {"file_path": "/repo/a.py"}, "updated")
    assert not repeated(before.turns, "", after.turns)


def test_a_question_is_the_same_in_other_order() -> None:
    before, after = Transcript(), Transcript()
    before.say("Which database do we use for the discount counts?")
    after.say("For the discount counts, which database do we use?")
    assert len(repeated(before.turns, "", after.turns)) == 1


def test_what_was_not_paid_for_the_loss_does_not_count() -> None:
    before, after = Transcript(), Transcript()
    for path in ("/repo/edited.py", "/repo/failed.py", "/repo/patched.py", "/repo/twice.py"):
        before.call("Read", {"file_path": path}, "x" * 30)
    before.call("Grep", {"pattern": "def total", "path": "/repo/src"}, "x")
    before.run("sed -i s/a/b/ /repo/inline.py")
    after.call("Edit", {"file_path": "/repo/edited.py"}, "updated")
    after.call("Read", {"file_path": "/repo/edited.py"}, "x")  # to see its own change
    after.call("Read", {"file_path": "/repo/failed.py"}, "no such file", error=True)
    after.call("Read", {"file_path": "/repo/patched.py"}, "x")
    after.call("apply_patch", "*** Begin Patch\n*** Update File: patched.py\n@@\n*** End Patch", "ok")
    after.call("Grep", {"pattern": "def total", "path": "/repo/tests"}, "x")  # another folder
    after.run("sed -i s/b/c/ /repo/inline.py")
    for _ in range(3):
        after.call("Read", {"file_path": "/repo/twice.py"}, "x" * 30)
    found = repeated(before.turns, "", after.turns)
    assert [(each.first.what, each.tokens) for each in found] == [("/repo/twice.py", 10)]
