"""Parts are made when they are asked for: a verb builds only what it uses. Contexts are recorded in one place."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from slicebase.base import Slicebase
from slicebase.context.assemble import Context
from slicebase.errors import SlicebaseError
from slicebase.history.inputs import LONG_SAMPLE
from tests.codes import code_of
from tests.paths import PROJECT


def test_a_run_and_its_proof_reach_the_folder_without_library_and_indexes(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as base:
        base.runs.start("r", "Objective", "Done")
        base.runs.compact("r")
        base.runs.narrative("r")
        base.why("run:r")
        assert base.verify().status == "VERIFIED"
        assert not {"library", "finder", "library_chunks", "turn_index"} & vars(base).keys()


@pytest.mark.parametrize("command", [["run", "list"], ["run", "start", "--objective", "o", "--done", "d"]])
def test_a_command_of_runs_imports_neither_library_nor_index(tmp_path: Path, command: list[str]) -> None:
    Slicebase.init(tmp_path).close()
    code = (
        "import sys; from slicebase.cli.main import run; status = run(sys.argv[1:]);"
        "print([name for name in sys.modules if name.startswith(('slicebase.index.', 'slicebase.library.library'))]);"
        "sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command],
        cwd=tmp_path, env={"PYTHONPATH": str(PROJECT / "src")}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "[]"


def test_what_was_closed_is_made_again(tmp_path: Path) -> None:
    base = Slicebase.init(tmp_path)
    base.runs.start("r", "Objective", "Done")
    base.close()
    assert [entry.id for entry in base.runs.list_runs()] == ["r"]
    base.close()


# Whether a context is recorded


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a conversation and a file, for copies."""
    folder, seconds = tmp_path_factory.mktemp("made"), count(1_772_000_000)
    with Slicebase.init(folder, clock=lambda: next(seconds)) as base:
        base.import_(LONG_SAMPLE)
        base.library.create("Limits", "Of requests.", body="The limit is 5.")
    return folder


@pytest.fixture
def full(made: Path, tmp_path: Path) -> Iterator[Slicebase]:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    seconds = count(1_772_001_000)
    with Slicebase.open(tmp_path, clock=lambda: next(seconds)) as base:
        yield base


Build = Callable[[Slicebase, bool], Context]
BUILDS: dict[str, Build] = {
    "question": lambda base, record: base.context("which limit?", 400, record=record),
    "nothing found": lambda base, record: base.context("xyzzy", 400, record=record),
    "project": lambda base, record: base.project_context(400, record=record),
    "lost": lambda base, record: base.lost_context(str(base.lost().session), 400, record=record),
}


def manifests(base: Slicebase) -> int:
    return len(base.truth.manifests.names())


@pytest.mark.parametrize("again", [False, True], ids=["first", "again"])
@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS)
def test_every_context_is_recorded_if_that_is_asked_for_and_not_otherwise(
    full: Slicebase, build: Build, again: bool
) -> None:
    asked = build(full, True)
    for record in (True, False):
        before = manifests(full)
        built = full.context_again(asked.id, record=record) if again else build(full, record)
        assert (built.recorded, manifests(full) - before) == (record, record)
        if record:
            assert full.replay(built.id).identical
        else:
            assert code_of(full.replay, built.id) == "no-manifest"


def test_a_context_can_be_recorded_later_with_the_policy_that_it_needs(full: Slicebase, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text('{"version": "slice_policy_v1", "max_nodes": 7}')
    built = full.context("which limit?", 400, policy=tmp_path / "mine.json", record=False)
    assert full.record(built).recorded
    assert full.replay(built.id).identical
    assert full.verify().status == "VERIFIED"


def test_a_context_that_is_not_recorded_is_bound_to_no_run(full: Slicebase) -> None:
    full.runs.start("r", "Objective", "Done")
    full.context("which limit?", 400, run="r", record=False)
    assert full.runs.status("r").events == 1
    full.context("which limit?", 400, run="r")
    assert full.runs.status("r").events > 1


# Processes


def test_a_forked_process_that_opens_the_workspace_again_and_its_parent_lose_nothing(tmp_path: Path) -> None:
    """With a connection that the child inherits, the parent that closes deletes the log that the child writes."""
    memory = Slicebase.init(tmp_path)
    for run in ("child", "parent"):
        memory.runs.start(run, "Objective", "Done")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with Slicebase.open(tmp_path) as own:
            own.runs.log("child", [{"type": "NOTE"}])
            os.write(writing, b"x")  # the parent closes now
            for _ in range(50):
                own.runs.log("child", [{"type": "NOTE"}])
        os._exit(0)
    os.read(reading, 1)
    memory.close()
    with Slicebase.open(tmp_path) as again:
        for _ in range(50):
            again.runs.log("parent", [{"type": "NOTE"}])
        assert os.waitpid(child, 0)[1] == 0
        assert [len(again.runs.events(run)) for run in ("child", "parent")] == [52, 51]
        assert again.verify().status == "VERIFIED"


def test_two_objects_that_project_one_session_store_its_events_once(full: Slicebase, tmp_path: Path) -> None:
    session = str(full.lost().session)
    full.runs.from_session(session, "alone")
    ready = threading.Barrier(3)

    def work() -> None:
        with Slicebase.open(tmp_path) as own:
            own.runs.list_runs()
            ready.wait()
            own.runs.from_session(session, "shared")

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(full.runs.events("shared")) == len(full.runs.events("alone"))


def test_objects_that_export_into_one_folder_write_their_own_sessions(full: Slicebase, tmp_path: Path) -> None:
    (tmp_path / "chat.json").write_text('[{"role": "user", "content": "a chat"}]')
    full.import_(tmp_path / "chat.json")
    sessions = [each.id for each in full.graph.sessions()]
    ready = threading.Barrier(len(sessions))

    def work(session: str) -> None:
        with Slicebase.open(tmp_path) as own:
            own.graph.sessions()
            ready.wait()
            for number in range(20):
                written = own.export(session, tmp_path / f"{session}-{number}.slice")
                assert session in written.read_text()

    threads = [threading.Thread(target=work, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(tmp_path.glob("*.slice"))) == 20 * len(sessions)


def test_objects_that_write_to_one_run_give_every_claim_and_failure_its_own_id(full: Slicebase, tmp_path: Path) -> None:
    """Ruling 47: what was acknowledged is in the state, whoever else writes."""
    full.runs.start("shared", "Objective", "Done")
    given: list[str] = []
    ready = threading.Barrier(4)

    def work() -> None:
        with Slicebase.open(tmp_path) as own:
            own.runs.list_runs()
            ready.wait()
            for _ in range(10):
                given.append(own.runs.claim("shared", "It is.").id)
                given.append(own.runs.failure("shared", "It is not.").id)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(given)) == 80
    status = full.runs.status("shared")
    assert (status.claims["candidate"], len(status.open_failures)) == (40, 40)


def test_a_context_of_another_workspace_is_neither_recorded_nor_bound(full: Slicebase, tmp_path: Path) -> None:
    foreign = full.context("which limit?", 400)
    with Slicebase.init(tmp_path / "other") as other:
        other.runs.start("r", "Objective", "Done")
        assert code_of(other.record, foreign) == "no-turn"
        assert manifests(other) == 0
        assert code_of(other.runs.bind, "r", foreign) == "no-manifest"
        assert other.runs.status("r").events == 1
        assert other.verify().status == "VERIFIED"


def test_a_context_of_what_was_lost_elsewhere_is_not_recorded(tmp_path: Path) -> None:
    """It pins no slice, only pieces."""
    with Slicebase.init(tmp_path / "one") as one, Slicebase.init(tmp_path / "two") as two:
        session = one.import_(LONG_SAMPLE).sessions[0]
        foreign = one.lost_context(session, 400)
        assert foreign.pieces
        assert not foreign.manifest.slices
        assert code_of(two.record, foreign) == "no-turn"
        assert manifests(two) == 0


def test_a_context_must_be_recorded_before_it_is_bound(full: Slicebase) -> None:
    full.runs.start("r", "Objective", "Done")
    built = full.context("which limit?", 400, record=False)
    with full.runs.step("r") as step:
        assert code_of(step.bind, built) == "no-manifest"
        step.bind(full.record(built))
    assert full.verify().status == "VERIFIED"


def test_a_context_for_a_step_that_cannot_exist_is_not_recorded(full: Slicebase) -> None:
    full.runs.start("r", "Objective", "Done")
    assert code_of(lambda: full.context("which limit?", 400, run="r", step=-5)) == "bad-event"
    assert manifests(full) == 0


def test_a_context_for_a_stopped_run_is_built_but_not_recorded(full: Slicebase) -> None:
    full.runs.start("r", "Objective", "Done")
    full.runs.stop("r")
    assert code_of(lambda: full.context("which limit?", 400, run="r")) == "run-closed"
    assert manifests(full) == 0
    assert full.context("which limit?", 400, run="r", record=False).pieces


def test_a_context_of_a_run_asked_again_begins_with_the_snapshot_and_is_bound_to_no_step(full: Slicebase) -> None:
    full.runs.start("r", "Objective", "Done")
    full.runs.compact("r")
    asked = full.context("which limit?", 800, run="r")
    events = full.runs.status("r").events
    again = full.context_again(asked.id)
    assert again.pieces[0] == asked.pieces[0]
    assert full.runs.status("r").events == events
    full.purge("run:r")
    assert asked.pieces[0].ref not in {piece.ref for piece in full.context_again(asked.id).pieces}


@pytest.mark.parametrize("words", [1, 300, 3000])
@pytest.mark.parametrize("budget", [64, 300, 4000])
def test_a_context_never_has_more_tokens_than_its_budget(full: Slicebase, words: int, budget: int) -> None:
    question = " ".join(["limit"] * words)
    try:
        assert full.context(question, budget).tokens <= budget
    except SlicebaseError as error:
        assert error.code == "bad-budget"
        least = int(error.hint.split()[4])
        assert budget < least
        assert full.context(question, least).tokens <= least


def test_a_fork_in_a_callback_leaves_the_verb_alone_and_its_child_without_a_workspace(tmp_path: Path) -> None:
    codes: list[int] = []

    def fork(name: str, count: int) -> None:
        child = os.fork()
        if child == 0:
            os._exit(code_of(Slicebase.open, tmp_path) == "other-process")
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    with Slicebase.init(tmp_path) as memory:
        assert memory.import_(LONG_SAMPLE, progress=fork).added == 390
        assert set(codes) == {1}
        assert memory.verify().status == "VERIFIED"
        child = os.fork()  # outside a verb, it is safe again
        if child == 0:
            os._exit(Slicebase.open(tmp_path).verify().status == "VERIFIED")
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_no_workspace_is_opened_again_while_a_fork_waits_for_another(tmp_path: Path) -> None:
    """A child with a connection of its parent would have worthless locks."""
    busy, idle = Slicebase.init(tmp_path / "busy"), Slicebase.init(tmp_path / "idle")
    idle.runs.start("r", "Objective", "Done")
    entered, leave, stop = threading.Event(), threading.Event(), threading.Event()

    def hold() -> None:
        with busy.surroundings.one_thread():
            entered.set()
            leave.wait(1)

    def write() -> None:
        while not stop.is_set():
            idle.runs.log("r", [{"type": "NOTE"}])

    threads = [threading.Thread(target=work) for work in (hold, write)]
    for thread in threads:
        thread.start()
    entered.wait()
    threading.Timer(0.2, leave.set).start()
    child = os.fork()
    if child == 0:
        os._exit(any(str(tmp_path) in os.path.realpath(each) for each in Path("/proc/self/fd").glob("*")))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    stop.set()
    for thread in threads:
        thread.join()
    for memory in (busy, idle):
        assert memory.verify().status == "VERIFIED"
        memory.close()
