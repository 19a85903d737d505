"""The speed of the ranker: one index with copies of all LoCoMo turns, the time to fill it, and to rank 64 turns.

What the ranker finds is measured by `bench recall`.
"""

from collections.abc import Iterator, Sequence
from statistics import median
from time import perf_counter, process_time

from bench._recall_sets import locomo_samples
from slicebase.context.question import analyse
from slicebase.context.ranking import rank
from slicebase.graph.turn import Turn, turn_text
from slicebase.index.turn_schema import IndexedTurn
from slicebase.index.turns import TurnIndex

SIZES = (5_882, 100_000)
QUESTIONS = 100
TURNS = 64


def run() -> None:
    samples = list(locomo_samples())
    if not samples:
        print("ranking: skipped, its data is not here")
        return
    turns = [turn for sample in samples for turn in sample.turns]
    questions = [asked.text for sample in samples for asked in sample.asked]
    for size in SIZES:
        _time(turns, questions[:: len(questions) // QUESTIONS], size)


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


if __name__ == "__main__":
    run()
