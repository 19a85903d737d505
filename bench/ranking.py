"""The speed of the ranker: one index with copies of all LoCoMo turns, the time to fill it, and to rank 64 turns.

Then the processor time of complete contexts in a workspace with all turns; `python -m bench.ranking 100000` measures
them in one with so many copies. A program collects garbage more rarely than Python does by itself, as `tt` does.

What the ranker finds is measured by `bench recall`.
"""

import gc
import sys
from collections.abc import Iterator, Sequence
from statistics import median
from time import perf_counter, process_time

from msgspec.structs import replace

from bench._recall_sets import locomo_samples, workspace
from slicebase.context.question import analyse
from slicebase.context.ranking import rank
from slicebase.core.ids import turn_id
from slicebase.graph.turn import Parent, Turn, turn_text
from slicebase.index.turn_schema import IndexedTurn
from slicebase.index.turns import TurnIndex
from slicebase.verbs.imports import index_new_turns

SIZES = (5_882, 100_000)
QUESTIONS = 100
TURNS = 64
TOKENS = 4_000


def run(copies: int = 0) -> None:
    samples = list(locomo_samples())
    if not samples:
        print("ranking: skipped, its data is not here")
        return
    turns = [turn for sample in samples for turn in sample.turns]
    questions = [asked.text for sample in samples for asked in sample.asked]
    chosen = questions[:: len(questions) // QUESTIONS]
    for size in () if copies else SIZES:
        _time(turns, chosen, size)
    _time_contexts(turns, chosen, copies or SIZES[0])


def _time(turns: Sequence[Turn], questions: Sequence[str], size: int) -> None:
    with TurnIndex() as index:
        began = perf_counter()
        index.add(_copies(turns, size))
        filled = perf_counter() - began
        times, work = [], []
        for text in questions:
            began, worked = perf_counter(), process_time()
            question = analyse(text, index.words(text))
            rank(question, index.figures(question), TURNS)
            times.append((perf_counter() - began) * 1000)
            work.append((process_time() - worked) * 1000)
    times.sort()
    print(
        f"{size:,} turns in one index: filled in {filled:.1f} s; ranking p50 {median(times):.1f} ms, "
        f"p99 {times[len(times) * 99 // 100]:.1f} ms, p50 of processor time {median(work):.1f} ms"
    )


def _copies(turns: Sequence[Turn], size: int) -> Iterator[IndexedTurn]:
    for number in range(size):
        copy, place = divmod(number, len(turns))
        turn = turns[place]
        parents = tuple(f"{copy}/{parent.id}" for parent in turn.parents)
        yield IndexedTurn(f"{copy}/{turn.id}", f"{copy}/{turn.session}", turn.time, parents, turn_text(turn.parts))


def _time_contexts(turns: Sequence[Turn], questions: Sequence[str], size: int) -> None:
    with workspace(_other_turns(turns, size)) as memory:
        index_new_turns(memory)
        usual = gc.get_threshold()
        gc.set_threshold(100_000, 50, 50)
        work = []
        for text in [*questions[:5], *questions]:  # the first ones load modules
            worked = process_time()
            memory.context(text, TOKENS, record=False)
            work.append((process_time() - worked) * 1000)
        gc.set_threshold(*usual)
    print(f"{size:,} turns in a workspace: p50 of processor time of a context {median(work[5:]):.1f} ms")


def _other_turns(turns: Sequence[Turn], size: int) -> Iterator[Turn]:
    """Yields turns, and copies of them with other ids in other sessions, as many as there should be."""
    for number in range(size):
        copy, place = divmod(number, len(turns))
        turn = turns[place]
        parents = tuple(Parent(turn_id("copy", str(copy), parent.id)) for parent in turn.parents)
        own = turn_id("copy", str(copy), turn.id)
        yield replace(turn, id=own, session=f"{copy}/{turn.session}", parents=parents)


if __name__ == "__main__":
    run(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
