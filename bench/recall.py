"""Evidence recall: how much of what answers a question is ranked within a number of turns, and delivered in a context.

All sets, all methods, one run (docs/ranking.md). `bench/_recall_sets.py` says what is asked of what,
`bench/_recall_methods.py` how the methods rank. Recall is that of the first 5, 10, 16 and 32 ranked turns; MRR is the
mean of 1 / the rank of the first turn that answers.

Delivered recall is that of the pieces of a real context of 2,000 or 4,000 tokens, counted by `tokens()` over its bytes.
The other methods' turns go through the same assembly. A long turn is delivered as an excerpt, which counts, too; the
share of delivered evidence that is complete is beside it. Below each line are 95 % intervals from a bootstrap over the
questions.

`--half tune` leaves the reported half unseen; `--set` chooses sets; `--fast` leaves contexts out, `--ours` the other
methods.
"""

import random
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from statistics import fmean
from typing import NamedTuple

from bench._recall_methods import OURS, Method, Ranker, absent, methods
from bench._recall_sets import HALVES, SETS, Asked, Half, History
from slicebase.context.assemble import Candidate, Context, assemble
from slicebase.context.manifest import Budget
from slicebase.context.query import read
from slicebase.context.question import analyse
from slicebase.context.ranking import Ranked
from slicebase.core.hashing import digest_of, tokens
from slicebase.verbs.contexts import turn_candidate

TURN_BUDGETS = (5, 10, 16, 32)
TOKEN_BUDGETS = (2_000, 4_000)
SAMPLES = 1_000
SEED = 17
_WIDTH = 13


class Delivered(NamedTuple):
    """What a context brings of an answer: the recall, and how many evidence turns it has, and has completely."""

    recall: float
    turns: int
    whole: int


class Answer(NamedTuple):
    """What a method found for one question."""

    ranked: list[str]
    within: tuple[float, ...]  # the recall for each budget of turns
    reciprocal_rank: float
    delivered: tuple[Delivered, ...]  # for each budget of tokens; empty if no context was built

    @property
    def figures(self) -> tuple[float, ...]:
        return (*self.within, self.reciprocal_rank, *(each.recall for each in self.delivered))


def run(options: Sequence[str] = ()) -> None:
    parser = ArgumentParser("python -m bench recall", description="Evidence recall of the ranker and of other methods.")
    parser.add_argument("--set", action="append", choices=SETS, help="only this set; may be given again")
    parser.add_argument("--half", choices=HALVES, help="only the half to tune on, or to report (default: both)")
    parser.add_argument("--fast", action="store_true", help="only rankings, no contexts")
    parser.add_argument("--ours", action="store_true", help="only our ranker, without and with vectors")
    chosen = parser.parse_args(options)
    compared = {name: make for name, make in methods().items() if not chosen.ours or make in OURS}
    for package in [] if chosen.ours else absent():
        print(f"recall: methods that need {package} are left out; it is of the extra `bench`, and not installed")
    rankings = {}
    for name in chosen.set or SETS:
        for half in [chosen.half] if chosen.half else HALVES:
            answers = measure(SETS[name](half), compared, () if chosen.fast else TOKEN_BUDGETS)
            if not answers:
                print(f"{name}: skipped, its data is not here")
                break
            show(name, half, answers)
            rankings[f"{name} {half}"] = {method: [each.ranked for each in found] for method, found in answers.items()}
    print(f"digest of all rankings: {digest_of(rankings)}")


# Measuring


def measure(
    histories: Iterable[History], compared: Mapping[str, Method], budgets: Sequence[int]
) -> dict[str, list[Answer]]:
    """Returns the answers of each method to all questions, with contexts of these sizes."""
    found: dict[str, list[Answer]] = {}
    for history in histories:
        for name, make in compared.items():
            build = _real if make in OURS else _assembled
            found.setdefault(name, []).extend(_answers(history, make(history), build, budgets))
    return found


Build = Callable[[History, str, int, Sequence[str]], Context]


def _answers(history: History, ranker: Ranker, build: Build, budgets: Sequence[int]) -> Iterator[Answer]:
    for asked in history.questions:
        ranked = ranker(asked.text)
        first = next((place for place, turn in enumerate(ranked, 1) if turn in asked.evidence), None)
        yield Answer(
            ranked,
            tuple(asked.answered_by(ranked[:most]) for most in TURN_BUDGETS),
            1 / first if first else 0,
            tuple(_delivered(asked, build(history, asked.text, size, ranked), size) for size in budgets),
        )


def _delivered(asked: Asked, context: Context, size: int) -> Delivered:
    if tokens(context.text) > size:
        raise ValueError(f"a context of {size} tokens has {tokens(context.text)}")
    found = {each.ref.removeprefix("turn:") for each in context.pieces}
    whole = {each.ref.removeprefix("turn:") for each in context.pieces if each.whole}
    return Delivered(asked.answered_by(found), len(asked.evidence & found), len(asked.evidence & whole))


def _real(history: History, question: str, size: int, _: Sequence[str]) -> Context:
    return history.memory.context(question, size, as_of=history.as_of, record=False)


def _assembled(history: History, question: str, size: int, ranked: Sequence[str]) -> Context:
    """Builds a context of ranked turns, as ours are built."""
    known = _candidates(history)
    candidates = [known[turn]._replace(score=len(ranked) - place) for place, turn in enumerate(ranked)]
    words = read(question).words
    terms = analyse(words, history.memory.turn_index.words(words)).words
    return assemble(question, history.as_of, Budget(size), candidates, terms=terms, ranker="", filters={})


@lru_cache(maxsize=1)  # for all questions and methods
def _candidates(history: History) -> dict[str, Candidate]:
    read_text = history.memory.truth.readable_text_of
    return {
        turn: turn_candidate(each, history.sessions[each.session], read_text(each) or "", Ranked(turn, 0, {}))
        for turn, each in history.records.items()
    }


# Showing


def show(name: str, half: Half, answers: dict[str, list[Answer]]) -> None:
    """Prints a table: for each method its figures, then their intervals."""
    first = next(iter(answers.values()))
    samples = _samples(len(first))
    sizes = TOKEN_BUDGETS[: len(first[0].delivered)]
    columns = [*(f"{most} turns" for most in TURN_BUDGETS), "MRR", *(f"{size:,} tokens" for size in sizes)]
    print(f"\n{name}, {half}: {len(first)} questions")
    print(f"{'':28}" + "".join(f"{each:>{_WIDTH}}" for each in [*columns, *(f"{size:,} whole" for size in sizes)]))
    for method, found in answers.items():
        figures = list(zip(*(each.figures for each in found), strict=True))
        means = [*map(fmean, figures), *(_complete(found, place) for place in range(len(sizes)))]
        print(f"  {method:26}" + "".join(f"{mean:{_WIDTH}.3f}" for mean in means))
        between = ("-".join(f"{end:.3f}" for end in interval(column, samples)) for column in figures)
        print(f"{'':28}" + "".join(f"{each:>{_WIDTH}}" for each in between), flush=True)


def _complete(found: Sequence[Answer], place: int) -> float:
    """Returns the share of the delivered evidence turns that are complete."""
    delivered = [each.delivered[place] for each in found]
    return sum(each.whole for each in delivered) / max(1, sum(each.turns for each in delivered))


def _samples(size: int) -> list[list[int]]:
    """Returns places of questions, drawn with replacement: the same ones for all methods and in every run."""
    chance = random.Random(SEED)
    return [chance.choices(range(size), k=size) for _ in range(SAMPLES)]


def interval(values: Sequence[float], samples: Sequence[Sequence[int]]) -> tuple[float, float]:
    """Returns the 95 % interval of the mean of these values, from samples of them."""
    means = sorted(fmean(map(values.__getitem__, places)) for places in samples)
    out = len(means) // 40
    return means[out], means[-1 - out]


if __name__ == "__main__":
    run()
