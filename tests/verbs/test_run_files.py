"""A file as a run: it is imported in the one way, and never becomes the run of another file."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.base import Slicebase
from slicebase.errors import Exit, SlicebaseError
from slicebase.history.inputs import SAMPLE
from slicebase.verbs.run_files import FileRun
from tests.codes import code_of
from tests.importers.reading import jsonl
from tests.importers.test_claude_code import record, uuid
from tests.importers.test_swe_agent import HISTORY, STEPS, WHOLE

NOW = 1_767_225_600_000


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path / "workspace") as made:
        yield made


def write(path: Path, document: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())
    return path


def trajectory(prompt: str, steps: int = 2) -> dict[str, Any]:
    messages = [{"role": "system", "content": "You work in a shell."}, {"role": "user", "content": prompt}]
    acts = [{"action": f"echo {n}", "observation": str(n), "thought": f"I echo {n}."} for n in range(steps)]
    return {"trajectory": acts, "history": [*messages, {"role": "assistant", "content": "", "action": "echo 0"}]}


def project(base: Slicebase, path: Path, run_id: str | None = None, **options: Any) -> FileRun:
    return base.runs.from_file(path, run_id, **options)


def sessions(base: Slicebase) -> dict[str, int]:
    return {session.id: count for session, count in base.truth.turns.sessions()}


def steps(base: Slicebase, run_id: str) -> int:
    return base.runs.status(run_id).metrics.steps


def test_a_trajectory_becomes_a_session_that_is_found_and_a_run_whose_steps_are_calls(
    base: Slicebase, tmp_path: Path
) -> None:
    made = project(base, write(tmp_path / "bug-12.traj", WHOLE))
    assert made.session == "bug-12"
    assert repr(made.account) == "Account(added=7, known=0, sessions=1, left_out=0)"
    assert steps(base, "from-bug-12") == 2
    assert base.search("demonstration shell").turns


def test_a_second_call_adds_nothing_and_a_file_that_has_grown_is_the_same_session(
    base: Slicebase, tmp_path: Path
) -> None:
    path = write(tmp_path / "run.traj", trajectory("Count.", 2))
    first, again = project(base, path), project(base, path)
    assert again.logged.last == first.logged.last
    assert again.account.added == 0
    write(path, trajectory("Count.", 3))
    assert project(base, path, "later").account.added == 2
    assert (steps(base, "later"), sessions(base)) == (3, {"run": 8})


def test_another_file_of_the_same_name_is_refused_and_nothing_of_it_is_stored(base: Slicebase, tmp_path: Path) -> None:
    first = write(tmp_path / "a" / "run.traj", trajectory("Find the bug."))
    other = write(tmp_path / "b" / "run.traj", trajectory("Write a test.", steps=9))
    project(base, first, "r1")
    before = sessions(base)
    with pytest.raises(SlicebaseError) as caught:
        project(base, other, "r2")
    assert (caught.value.code, caught.value.exit) == ("session-differs", Exit.CONFLICT)
    assert caught.value.where.file == str(other)
    assert "session:run" in caught.value.message
    assert "--session" in caught.value.hint
    assert sessions(base) == before
    assert not base.truth.runs.log.exists("r2")
    project(base, other, "r2", session="run-b")
    assert [base.runs.status(run).objective for run in ("r1", "r2")] == ["Find the bug.", "Write a test."]
    assert code_of(lambda: project(base, first, "r3", session="run-b")) == "session-differs"
    assert base.verify().status == "VERIFIED"


def test_another_conversation_that_shares_no_turn_with_the_session_of_its_name_is_refused(
    base: Slicebase, tmp_path: Path
) -> None:
    """No record contradicts another one: they have ids of their own, or another format."""
    chats = [[{"role": "user", "content": "Hello.", "id": uuid(number)}] for number in (1, 2)]
    project(base, write(tmp_path / "a" / "run.json", chats[0]), "r1")
    for other in (write(tmp_path / "b" / "run.json", chats[1]), write(tmp_path / "run.traj", WHOLE)):
        assert code_of(lambda path=other: project(base, path, "r2")) == "session-differs"
        assert sessions(base) == {"run": 1}
    project(base, tmp_path / "run.traj", "r2", session="run-b")
    assert (sessions(base), steps(base, "r2")) == ({"run": 1, "run-b": 7}, 2)


TEXTS = st.sampled_from(["one", "two", "three"])


@settings(max_examples=40, deadline=None)
@given(first=st.lists(TEXTS, min_size=1, max_size=4), second=st.lists(TEXTS, min_size=1, max_size=4))
def test_a_file_is_followed_as_it_is_or_refused(
    tmp_path_factory: pytest.TempPathFactory, first: list[str], second: list[str]
) -> None:
    """A run of the second file has its prompts and no others, whatever is stored under the same name."""

    def chat(folder: Path, texts: list[str]) -> Path:
        return write(folder / "chat.json", [{"role": "user", "content": text} for text in texts])

    folder = tmp_path_factory.mktemp("files")
    with Slicebase.init(folder / "workspace") as base:
        project(base, chat(folder / "a", first), "r1")
        shared = min(len(first), len(second))
        if first[:shared] != second[:shared]:
            assert code_of(lambda: project(base, chat(folder / "b", second), "r2")) == "session-differs"
            assert sessions(base) == {"chat": len(first)}
            return
        project(base, chat(folder / "b", second), "r2")
        events = base.truth.runs.events("r2")
        assert [event.payload["text"] for event in events if event.type == "PROMPT"] == second


def test_a_part_of_a_stored_file_is_followed_to_its_own_end(base: Slicebase, tmp_path: Path) -> None:
    project(base, write(tmp_path / "run.traj", trajectory("Count.", 5)), "long")
    project(base, write(tmp_path / "old" / "run.traj", trajectory("Count.", 2)), "short")
    assert (steps(base, "long"), steps(base, "short")) == (5, 2)
    leaf = next(event.payload["ref"] for event in base.truth.runs.events("long") if event.type == "ACT_DONE")
    project(base, tmp_path / "run.traj", "first", leaf=leaf.removeprefix("turn:"))
    assert steps(base, "first") == 1


def test_any_file_that_an_importer_recognises_becomes_a_run(base: Slicebase) -> None:
    made = project(base, SAMPLE, "sample")
    base.runs.from_session(made.session, "session")
    by_file, by_session = (list(base.truth.runs.events(run)) for run in ("sample", "session"))
    assert [event.payload for event in by_file] == [event.payload for event in by_session]


def test_a_file_with_several_sessions_is_refused_by_their_names(base: Slicebase, tmp_path: Path) -> None:
    two = [{"id": name, "messages": [{"role": "user", "content": name}]} for name in ("ann", "bob")]
    with pytest.raises(SlicebaseError) as caught:
        project(base, write(tmp_path / "chats.json", two))
    assert caught.value.code == "bad-transcript"
    assert "ann, bob" in caught.value.message
    assert sessions(base) == {}


def test_the_session_of_a_subagent_is_not_another_session(base: Slicebase, tmp_path: Path) -> None:
    agents = [record(number, None, sessionId="s1", isSidechain=True, agentId=f"a{number}") for number in (2, 3)]
    made = project(base, write(tmp_path / "s1.jsonl", jsonl([record(1, None, sessionId="s1"), *agents])))
    assert (made.session, len(sessions(base))) == ("s1", 3)
    alone = project(base, write(tmp_path / "agent.jsonl", jsonl(agents[:1])))
    assert alone.session == "s1#agent-a2"
    assert code_of(lambda: project(base, write(tmp_path / "agents.jsonl", jsonl(agents)))) == "bad-transcript"


def test_a_copy_under_another_name_follows_the_turns_where_they_are_stored(base: Slicebase, tmp_path: Path) -> None:
    """Records that have ids of their own are the same turns in every file (ruling 15)."""
    chat = [{"role": "user", "content": text, "id": uuid(number)} for number, text in enumerate(("one", "two"))]
    assert project(base, write(tmp_path / "first.json", chat)).session == "first"
    made = project(base, write(tmp_path / "copy.json", chat))
    assert (made.session, made.account.added) == ("first", 0)


def test_a_file_that_contradicts_itself_is_still_the_same_file_the_second_time(base: Slicebase, tmp_path: Path) -> None:
    path = write(tmp_path / "s1.jsonl", jsonl([record(1, None), record(1, None, content="other words"), record(2, 1)]))
    first, again = project(base, path), project(base, path)
    assert (len(first.account.conflicts), again.logged.last) == (1, first.logged.last)


def test_secrets_do_not_reach_the_run(base: Slicebase, tmp_path: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    secret = {"trajectory": [{**STEPS[0], "observation": token}], "history": [*HISTORY[:2], {**HISTORY[2]}]}
    secret["history"][2]["content"] = f"Use {token}."
    project(base, write(tmp_path / "run.traj", secret))
    assert "[redacted:github-token]" in base.runs.status("from-run").objective
    events = list(base.truth.runs.events("from-run"))
    assert token not in repr([event.payload for event in events])


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "unknown-format"),
        (b"[]", "unknown-format"),
        (b"{}", "unknown-format"),
        (b"\xff\xfe", "unknown-format"),
        (b'{"history": []}', "bad-transcript"),
        (b'{"trajectory": [], "history": []}', "bad-transcript"),
        (b'{"trajectory": [{"action": "ls", "observation": ""}]}', "bad-transcript"),  # no prompt
        (json.dumps(WHOLE).encode()[:100], "bad-transcript"),
    ],
)
def test_a_file_that_is_no_conversation_is_refused(base: Slicebase, tmp_path: Path, data: bytes, code: str) -> None:
    assert code_of(lambda: project(base, write(tmp_path / "run.traj", data))) == code
    assert not base.truth.runs.log.exists("from-run")


def test_a_file_that_is_missing_is_refused(base: Slicebase, tmp_path: Path) -> None:
    assert code_of(lambda: project(base, tmp_path / "none.traj")) == "no-input"
