"""Constraints that an agent forgets: what a sentence forbids, and which actions break it."""

from typing import Any

import pytest

from slicebase.context.constraints import constraints_in, forgotten_constraints
from slicebase.runs.event import EventDraft, LogHead
from tests.runs.made import NOW, RUN, append_all


def named(text: str) -> list[tuple[str, str]]:
    return [(each.forbids, " ".join(each.name)) for each in constraints_in(text)]


@pytest.mark.parametrize(
    ("text", "forbidden"),
    [
        ("Do not touch src/legacy.", [("write", "src legacy")]),
        (
            "We are late. Please don't edit `src/a.py` or config.yaml!",
            [("write", "src a.py"), ("write", "config.yaml")],
        ),
        ("Be quick, and never delete anything under vendor/", [("remove", "vendor")]),
        ("Do not edit, move or delete src/a.py", [("write", "src a.py")]),
        ("Do not delete or edit src/a.py", [("write", "src a.py")]),
        ("dont touch /etc/hosts", [("write", " etc hosts")]),
        ("You must never edit src/a.py", [("write", "src a.py")]),
        ("You are not allowed to edit src/a.py", [("write", "src a.py")]),
        ("The file `src/a.py` must not be changed.", [("write", "src a.py")]),
        ("a.lock must never be deleted", [("remove", "a.lock")]),
        ("Please leave src/a.py alone.", [("write", "src a.py")]),
        ("Fix the bug, no changes to tests/", [("write", "tests")]),
        ("Do not git push!", [("run", "git push")]),
        ("You must not change 'Makefile'.", [("write", "Makefile")]),
        ("Never run git push.", [("run", "git push")]),
        ("NEVER run `git push --force`, whatever happens", [("run", "git push --force")]),
        ("don't run npm install, use pnpm", [("run", "npm install")]),
        ("Don't commit anything.", [("run", "git commit")]),
        ("Never force-push", [("run", "git push --force")]),
    ],
)
def test_a_sentence_forbids_what_it_names(text: str, forbidden: list[tuple[str, str]]) -> None:
    assert named(text) == forbidden


@pytest.mark.parametrize(
    "text",
    [
        "Do not edit a.py unless I say so.",
        "Never push to main.",
        "Do not run make deploy before the tests pass.",
        "Tests do not touch src/legacy.",
        "Do not run the tests.",
        "Do not change the API.",
        "Do not hesitate to edit src/a.py.",
        "Touch src/legacy as often as you like.",
        "Don't use tabs.",
        "If you do not edit src/a.py, the build fails.",
        "So you never run make test, why?",
        "In repo foo, don't touch src/a.py",
        "Do not edit src/a.py in the other repository.",
        "Don't change anything in src/ apart from a.py",
        "He says: do not edit src/a.py",
        "> do not edit src/a.py",
        "See the log:\n```\ndo not edit src/a.py\n```",
        "Do not modify e.g. the headers.",
        "Cannot edit src/a.py: permission denied",
        "",
    ],
)
def test_conditions_descriptions_and_things_without_a_name_are_no_constraints(text: str) -> None:
    assert named(text) == []


def claim(statement: str, claim_id: str = "c1", **more: Any) -> EventDraft:
    return EventDraft(type="CLAIM", payload={"claim_id": claim_id, "statement": statement, **more})


def act(tool: str, arguments: Any) -> EventDraft:
    return EventDraft(type="ACT_DONE", step=1, payload={"tool": tool, "arguments": arguments})


def bash(command: str) -> EventDraft:
    return act("bash", {"command": command})


def broken(*drafts: EventDraft) -> list[tuple[str | None, int, int]]:
    found = forgotten_constraints(append_all(LogHead(RUN), drafts, NOW)[0])
    return [(each.claim_id, each.stated, each.action) for each in found]


LEGACY = claim("Do not touch src/legacy.", kind="instruction")
PUSH = claim("Never run git push.")


@pytest.mark.parametrize(
    "action",
    [
        act("Edit", {"file_path": "/repo/src/legacy/a.py", "old_string": "a", "new_string": "b"}),
        act("str_replace_editor", {"command": "create", "path": "src/legacy/b.py"}),
        act("apply_patch", "*** Begin Patch\n*** Update File: src/legacy/a.py\n*** End Patch"),
        EventDraft(type="ACT_DONE", step=1, payload={"tool": "Write", "text": '{"file_path":"src/legacy/a.py"}'}),
        bash("sed -i s/a/b/ src/legacy/a.py"),
        bash("cd /repo && rm -f ./src/legacy/a.py"),
        bash("echo x > src/legacy/a.py"),
    ],
)
def test_an_action_that_writes_the_named_file_is_counted_with_its_place(action: EventDraft) -> None:
    assert broken(LEGACY, action) == [("c1", 1, 2)]


@pytest.mark.parametrize(
    "action",
    [
        act("Read", {"file_path": "src/legacy/a.py"}),
        act("str_replace_editor", {"command": "view", "path": "src/legacy/b.py"}),
        act("Edit", {"file_path": "src/legacy_tests/a.py"}),
        act("Edit", {"file_path": "legacy/src/a.py"}),
        bash("cat src/legacy/a.py > /tmp/a.py"),
        bash("grep -r 'rm src/legacy' ."),
        bash("echo '> src/legacy/a.py'"),
    ],
)
def test_an_action_that_only_reads_or_names_it_is_not(action: EventDraft) -> None:
    assert broken(LEGACY, action) == []


@pytest.mark.parametrize(
    ("command", "count"),
    [
        ("rm src/legacy/a.py", 1),
        ("git mv src/legacy/a.py b.py", 1),
        ("sed -i s/a/b/ src/legacy/a.py", 0),
        ("echo x > src/legacy/a.py", 0),
    ],
)
def test_who_forbids_only_to_remove_a_file_does_not_forbid_to_write_it(command: str, count: int) -> None:
    assert len(broken(claim("Do not delete src/legacy."), bash(command))) == count


@pytest.mark.parametrize(
    ("path", "count"),
    [("/etc/hosts", 1), ("/etc/../etc/hosts", 1), ("etc/hosts", 1), ("/repo/etc/hosts", 0), ("image/etc/hosts", 0)],
)
def test_an_absolute_path_begins_at_a_root(path: str, count: int) -> None:
    assert len(broken(claim("Do not touch /etc/hosts."), act("Write", {"file_path": path}))) == count


def test_the_text_of_a_document_in_a_script_is_not_run() -> None:
    assert broken(LEGACY, bash("cat > notes.md <<EOF\necho x > src/legacy/a.py\nEOF")) == []
    assert broken(LEGACY, bash("cat > src/legacy/a.py <<EOF\nx\nEOF")) == [("c1", 1, 2)]


def test_what_stands_before_a_command_can_be_forbidden_itself() -> None:
    assert broken(claim("Never run `sudo`."), bash("sudo make install")) == [("c1", 1, 2)]


def test_a_later_prompt_that_names_it_and_does_not_forbid_it_ends_a_constraint() -> None:
    def prompt(text: str) -> EventDraft:
        return EventDraft(type="PROMPT", step=1, payload={"text": text})

    assert broken(PUSH, prompt("Now push it."), bash("git push")) == []
    assert broken(PUSH, prompt("Go on, but never run git push."), bash("git push")) == [("c1", 1, 3)]
    assert broken(PUSH, prompt("Fix the tests."), bash("git push")) == [("c1", 1, 3)]


@pytest.mark.parametrize(
    "command",
    [
        "git push",
        "make && sudo git -C /repo push origin main",
        "git push -f | tee log",
        "sudo sh -c 'make && git push'",
    ],
)
def test_an_action_that_runs_the_named_command_is_counted(command: str) -> None:
    assert broken(PUSH, bash(command)) == [("c1", 1, 2)]
    assert broken(PUSH, EventDraft(type="ACT_DONE", step=1, payload={"text": command})) == [("c1", 1, 2)]


@pytest.mark.parametrize(
    "command", ["git status", "git stash push", "echo 'git push'", "git commit -m 'git push'", "gitpush"]
)
def test_other_commands_are_not(command: str) -> None:
    assert broken(PUSH, bash(command)) == []


def test_options_of_a_forbidden_command_have_to_be_there() -> None:
    forced = claim("Never force-push.")
    assert broken(forced, bash("git push origin main")) == []
    assert broken(forced, bash("git push origin main -f")) == [("c1", 1, 2)]


def test_only_what_was_recorded_before_and_still_holds_counts() -> None:
    retracted = EventDraft(type="CLAIM", payload={"claim_id": "c1", "status": "retracted"})
    assert broken(bash("git push"), PUSH) == []
    assert broken(PUSH, retracted, bash("git push")) == []
    assert broken(PUSH, claim("Pushing is fine."), bash("git push")) == []
    assert broken(PUSH, claim("Never run git push.", "c2"), bash("git push")) == [("c1", 1, 3), ("c2", 2, 3)]


def test_the_done_definition_holds_constraints_and_a_finding_does_not() -> None:
    done = {"text": "It builds.", "invariants": ["Do not touch src/legacy."]}
    start = EventDraft(type="RUN_STARTED", payload={"objective": "Build.", "done_definition": done})
    assert broken(start, bash("rm src/legacy/a.py")) == [(None, 1, 2)]
    assert broken(claim("Never run git push.", kind="finding"), bash("git push")) == []
    assert broken(claim("The rule says: never run git push."), bash("git push")) == []
