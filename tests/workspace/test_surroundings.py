"""What an open workspace takes from outside: times in every form, live settings, and one thread at a time."""

import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from threading import Barrier, Event, Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.base import Slicebase
from slicebase.core.times import EARLIEST, LATEST, to_text
from slicebase.history.inputs import SAMPLE
from slicebase.library.library import Library
from slicebase.verbs.runs import Runs
from slicebase.workspace.surroundings import Surroundings, at_once, one_thread_at_a_time, part
from slicebase.workspace.workspace import SETTINGS, Workspace
from tests.codes import code_of
from tests.paths import PROJECT

PATIENCE = 30.0  # seconds until a thread that does not end counts as a deadlock
NOON = 1_767_268_800_000  # 2026-01-01T12:00:00Z


def surroundings_at(workspace: Workspace, clock: Callable[[], Any]) -> Surroundings:
    return Surroundings(workspace, clock)


def in_thread(do: Callable[[], object]) -> None:
    """Calls a function in a thread and waits for its end. Raises what it raises."""
    raised: list[BaseException] = []

    def work() -> None:
        try:
            do()
        except BaseException as error:
            raised.append(error)

    thread = Thread(target=work, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "deadlock"
    for error in raised:
        raise error


def python(code: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code, *map(str, arguments)],
        env={"PYTHONPATH": str(PROJECT / "src")}, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


# The clock


@pytest.mark.parametrize(
    "moment",
    [
        NOON / 1000,
        NOON // 1000,
        "2026-01-01T12:00:00Z",
        "2026-01-01T14:00:00.000+02:00",
        datetime(2026, 1, 1, 12, tzinfo=UTC),
        datetime(2026, 1, 1, 7, tzinfo=timezone(timedelta(hours=-5))),
    ],
    ids=repr,
)
def test_a_clock_returns_a_time_in_any_usual_form(workspace: Workspace, moment: object) -> None:
    assert surroundings_at(workspace, lambda: moment).now() == NOON


@pytest.mark.parametrize(
    "moment",
    [datetime(2026, 1, 1), float("nan"), float("inf"), True, 1e300, 10**30, -(10**30), "noon", None, "2026-01-01"],
    ids=repr,
)
def test_what_is_no_time_is_refused(workspace: Workspace, moment: object) -> None:
    assert code_of(surroundings_at(workspace, lambda: moment).now) == "bad-time"


@given(st.integers(EARLIEST, LATEST))
def test_every_form_of_a_time_keeps_its_milliseconds(milliseconds: int) -> None:
    def now(moment: Any) -> int:
        return surroundings_at(Workspace(Path("unused"), Path("unused.db")), lambda: moment).now()

    exact = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    assert now(exact) == now(to_text(milliseconds)) == now(milliseconds / 1000) == milliseconds


def test_ids_are_made_of_the_clock_and_the_entropy(workspace: Workspace) -> None:
    def made(entropy: bytes) -> str:
        return Surroundings(workspace, lambda: NOON / 1000, lambda count: entropy[:count]).new_id()

    assert made(b"a" * 16) == made(b"a" * 16) != made(b"b" * 16)


# Settings


def test_a_setting_applies_at_once_whoever_changes_its_file(workspace: Workspace) -> None:
    with Slicebase(workspace) as memory, Slicebase(workspace) as other:
        assert memory.settings.hooks_tokens == 1500
        memory.set("hooks.tokens", 11)
        assert memory.settings.hooks_tokens == other.settings.hooks_tokens == 11
        other.set("hooks.tokens", 22)
        assert memory.settings.hooks_tokens == other.settings.hooks_tokens == 22
        (workspace.root / SETTINGS).write_text("[hooks]\ntokens = 33\n")
        assert memory.settings.hooks_tokens == other.settings.hooks_tokens == 33
        (workspace.root / SETTINGS).unlink()
        assert memory.settings.hooks_tokens == other.settings.hooks_tokens == 1500


def test_changes_within_one_tick_of_the_disks_clock_are_noticed(workspace: Workspace) -> None:
    """They leave the same size and the same file, and often the same time."""
    surroundings, file = Surroundings(workspace), workspace.root / SETTINGS
    for number in range(100, 400):
        file.write_text(f"[hooks]\ntokens = {number}\n")
        assert surroundings.settings.hooks_tokens == number


def test_settings_that_no_longer_change_are_read_once(workspace: Workspace) -> None:
    """The time of the last change cannot be set back, so the day is over a minute later."""
    surroundings, file = Surroundings(workspace), workspace.root / SETTINGS
    file.write_text("[hooks]\ntokens = 5\n")
    old = os.stat(file).st_ctime_ns + 60_000_000_000
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("slicebase.workspace.surroundings.time.time_ns", lambda: old)
        assert surroundings.settings is surroundings.settings


def test_a_broken_file_of_settings_is_an_error_until_it_is_fixed(workspace: Workspace) -> None:
    surroundings, file = Surroundings(workspace), workspace.root / SETTINGS
    for broken in ("[hooks", "[hooks]\ntokens = -1\n", "[nothing]\nlike = 1\n"):
        file.write_text(broken)
        for _ in range(2):
            assert code_of(lambda: surroundings.settings) == "bad-setting"
        file.write_text("[hooks]\ntokens = 7\n")
        assert surroundings.settings.hooks_tokens == 7


# One thread at a time


@one_thread_at_a_time
class Counter:
    """Counts, and notices a second thread."""

    def __init__(self, surroundings: Surroundings) -> None:
        self.surroundings = surroundings
        self.count = 0
        self.inside = 0
        self.parts_created = 0

    def add(self, number: int, /, *more: int, times: int = 1) -> int:
        """Adds numbers."""
        self.inside += 1
        before = self.count
        os.sched_yield()
        self.count = before + (number + sum(more)) * times
        assert self.inside == 1
        self.inside -= 1
        return self.count

    def add_twice(self, number: int) -> int:
        self.add(number)
        return self.add(number)

    def fail(self) -> None:
        raise ValueError

    def hold(self, entered: Event, leave: Event) -> None:
        entered.set()
        assert leave.wait(PATIENCE)

    @at_once
    def new(self) -> "Counter":
        return Counter(self.surroundings)

    @part
    def created(self) -> object:
        self.parts_created += 1
        os.sched_yield()
        return object()


@pytest.fixture
def counter(workspace: Workspace) -> Counter:
    return Counter(Surroundings(workspace))


def test_threads_take_turns(counter: Counter) -> None:
    start = Barrier(8)

    def work() -> None:
        start.wait(PATIENCE)
        for _ in range(200):
            counter.add(1)

    threads = [Thread(target=work, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert counter.count == 1600


def test_a_thread_that_is_inside_may_enter_again(counter: Counter) -> None:
    in_thread(lambda: counter.add_twice(3))
    assert counter.count == 6


def test_an_error_lets_the_next_thread_in(counter: Counter) -> None:
    with pytest.raises(ValueError):
        counter.fail()
    in_thread(lambda: counter.add(1))
    with pytest.raises(ValueError):
        in_thread(counter.fail)
    assert counter.add(1) == 2


def test_an_object_is_created_without_waiting_for_a_turn(counter: Counter) -> None:
    entered, leave = Event(), Event()
    holder = Thread(target=counter.hold, args=(entered, leave), daemon=True)
    holder.start()
    assert entered.wait(PATIENCE)
    assert counter.new().surroundings is counter.surroundings
    leave.set()
    holder.join(PATIENCE)


def test_a_part_is_created_once_whichever_thread_is_first(counter: Counter) -> None:
    start, found = Barrier(8), list[object]()

    def work() -> None:
        start.wait(PATIENCE)
        found.append(counter.created)

    threads = [Thread(target=work, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert counter.parts_created == 1
    assert len(found) == 8
    assert len(set(map(id, found))) == 1


def test_methods_keep_their_names_docstrings_and_signatures() -> None:
    assert Counter.add.__name__ == "add"
    assert Counter.add.__doc__ == "Adds numbers."
    assert str(inspect.signature(Counter.add)) == "(self, number: int, /, *more: int, times: int = 1) -> int"
    for method in (Slicebase.context, Library.remember, Runs.claim):
        assert method.__module__.startswith("slicebase.")
        assert "args" not in inspect.signature(method).parameters
        assert method.__doc__


# Processes and the parser's library


def test_a_forked_process_is_told_to_open_the_workspace_again(tmp_path: Path) -> None:
    """While another thread is inside, not even that: the lock of the copy is held forever, and the database is open."""
    code = """if True:
    import os, sys, threading
    from slicebase.verbs import parts
    parts._PATIENCE = 0.1
    from slicebase import Slicebase, SlicebaseError
    memory = Slicebase.init(sys.argv[1])
    memory.runs.start("r", "Objective", "Done")
    entered, leave = threading.Event(), threading.Event()
    def hold():
        with memory.surroundings.one_thread():
            entered.set()
            leave.wait()
    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait()
    child = os.fork()
    if not child:
        codes = []
        for call in (memory.status, memory.close, memory.runs.list_runs, lambda: memory.library):
            try:
                call()
            except SlicebaseError as error:
                codes.append(error.code)
        try:
            Slicebase.open(sys.argv[1]).verify()
        except SlicebaseError as error:
            codes.append(error.code)
        print(codes, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    leave.set()
    holder.join()
    print(memory.verify().status)
    """
    done = python(code, tmp_path)
    assert done.stdout.splitlines() == [str(["other-process"] * 5), "VERIFIED"], done.stderr


FIRST_USE = """if True:
    import sys, threading
    from slicebase import Slicebase
    PREPARE
    def in_thread(do):
        found = []
        thread = threading.Thread(target=lambda: found.append(do()))
        thread.start()
        thread.join()
        return found[0]
    memory = in_thread(lambda: Slicebase.init(sys.argv[1]))
    library = in_thread(lambda: memory.library)
    file = in_thread(lambda: library.create("Log", "Rows.", type="jsonl"))
    for number in range(12):
        in_thread(lambda: memory.library.remember(file.id, f"row {number}"))
        in_thread(lambda: memory.context("row", 500))
        in_thread(lambda: [memory.library.create(f"T{n}", "S", body="x" * 2000 * n) for n in range(5)])
        in_thread(lambda: [memory.library.recall(f"file:{each.id}") for each in memory.library.list_files()])
    in_thread(memory.close)
    print("alive", flush=True)
"""


def test_the_first_use_may_be_in_a_thread_that_ends(tmp_path: Path) -> None:
    done = python(FIRST_USE.replace("PREPARE", "pass"), tmp_path)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


def test_modules_may_be_imported_by_a_thread_that_ends(tmp_path: Path) -> None:
    prepare = "import importlib; t = threading.Thread(target=importlib.import_module, args=('slicebase.aio',)); "
    done = python(FIRST_USE.replace("PREPARE", prepare + "t.start(); t.join()"), tmp_path)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


def test_the_main_thread_needs_no_other_thread_to_load_the_parser(tmp_path: Path) -> None:
    code = """if True:
    import sys, threading
    from slicebase import Slicebase
    with Slicebase.init(sys.argv[1]) as memory:
        memory.library.recall(memory.library.create("Page", "Text.").id)
    print(threading.active_count(), "yaml_rs" in sys.modules)
    """
    assert python(code, tmp_path).stdout == "1 True\n"


def test_only_a_surrogate_is_called_one(tmp_path: Path) -> None:
    """A callback of the program may write to a terminal that cannot show every character."""

    def progress(name: str, count: int) -> None:
        "é".encode("ascii")

    with Slicebase.init(tmp_path) as memory:
        with pytest.raises(UnicodeEncodeError):
            memory.import_(SAMPLE, progress=progress)
        assert code_of(memory.library.search, "\ud800") in ("lone-surrogate", "no-words")
        assert code_of(memory.library.create, "\ud800", "s") == "lone-surrogate"
