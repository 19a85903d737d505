"""One object in eight threads: every call succeeds, everything acknowledged is there, and everything verifies."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Barrier, Event, Thread

from hypothesis import given, settings

from slicebase.base import Slicebase
from tests.amounts import MORE
from tests.mixed_verbs import (
    RUN,
    Immediate,
    Kept,
    Verb,
    Work,
    carry_out,
    check,
    eight_sequences,
    finish,
    prepared,
)

PATIENCE = 60.0  # seconds until a thread that does not end counts as a deadlock


def together(*tasks: Callable[[], object]) -> None:
    """Calls functions in threads that start together. Raises the first error."""
    start, raised = Barrier(len(tasks)), list[BaseException]()

    def work(task: Callable[[], object]) -> None:
        try:
            start.wait(PATIENCE)
            task()
        except BaseException as error:
            raised.append(error)

    threads = [Thread(target=work, args=(task,), daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "deadlock"
    if raised:
        raise raised[0]


@settings(max_examples=5 * MORE)
@given(eight_sequences)
def test_eight_threads_with_mixed_verbs_share_one_object(sequences: Sequence[Sequence[Verb]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log, kept = prepared(folder), [Kept() for _ in sequences]
        with Slicebase.open(folder) as memory:
            shared = Immediate(memory)

            def worker(number: int, verbs: Sequence[Verb]) -> Callable[[], None]:
                return lambda: finish(carry_out(Work(shared, log, folder, f"w{number}", kept[number]), verbs))

            together(*(worker(number, verbs) for number, verbs in enumerate(sequences)))
            assert [each.calls for each in kept] == list(map(len, sequences))
            check(memory, log, kept)
        with Slicebase.open(folder) as again:
            check(again, log, kept)


def test_all_threads_get_the_same_parts(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        found: list[object] = []
        together(*[lambda: found.append((memory.runs, memory.library, memory.graph, memory.truth))] * 8)
        assert len(set(map(id, (part for parts in found for part in parts)))) == 4  # type: ignore[attr-defined]


def test_a_step_that_stays_open_keeps_no_other_thread_waiting(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        memory.runs.start(RUN, "Objective", "Done")
        with memory.runs.step(RUN) as step:
            step.plan("wait for the others")
            together(lambda: memory.runs.claim(RUN, "It can be logged."), memory.status, lambda: _stepped(memory))
            step.observe("they are done")
        assert memory.verify().status == "VERIFIED"


def _stepped(memory: Slicebase) -> None:
    with memory.runs.step(RUN) as step:
        assert step.number == 2


def test_close_waits_for_the_verb_of_another_thread(tmp_path: Path) -> None:
    prepared(tmp_path)
    (tmp_path / "said.json").write_text('[{"role": "user", "content": "question"}]')
    reading, closing, order = Event(), Event(), list[str]()
    with Slicebase.open(tmp_path) as memory:

        def progress(name: str, count: int) -> None:
            reading.set()
            assert closing.wait(PATIENCE)

        def read() -> None:
            memory.import_(tmp_path / "said.json", session="s", progress=progress)
            order.append("imported")

        def close() -> None:
            assert reading.wait(PATIENCE)
            closing.set()
            memory.close()
            order.append("closed")

        together(read, close)
        assert sorted(order) == ["closed", "imported"]
        assert len(memory.graph.turns("s")) == 1
        assert memory.verify().status == "VERIFIED"


def test_a_callback_of_a_verb_may_call_verbs(tmp_path: Path) -> None:
    log = prepared(tmp_path)
    (tmp_path / "said.json").write_text('[{"role": "user", "content": "question"}]')
    with Slicebase.open(tmp_path) as memory:
        seen: list[object] = []

        def progress(name: str, count: int) -> None:
            seen.append(memory.status())
            seen.append(memory.library.remember(log, name))

        together(lambda: memory.import_(tmp_path / "said.json", progress=progress))
        together(lambda: memory.verify(progress=lambda what: seen.append(memory.runs.list_runs())))
        assert len(seen) > 3


def test_readers_that_are_handed_out_take_their_turn(tmp_path: Path) -> None:
    """`library.reader` and `chunks` read the database later, when another thread may be in it."""
    log = prepared(tmp_path)
    (tmp_path / "said.json").write_text('[{"role": "user", "content": "question"}]')
    with Slicebase.open(tmp_path) as memory:
        memory.import_(tmp_path / "said.json", session="s")
        turn = f"turn:{memory.graph.turns('s')[0].id}"
        reader, chunks = memory.library.reader(), memory.chunks
        memory.close()

        def read() -> None:
            for _ in range(20):
                assert reader.pieces([turn])[0].text == "question"
                assert chunks.chunk(turn).text == "question"
                assert chunks.holding("session:s", "quest").text == "question"

        def write() -> None:
            for number in range(20):
                memory.runs.claim(RUN, f"claim {number}")

        together(read, write, read, write, lambda: memory.library.remember(log, "row"))
