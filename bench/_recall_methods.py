"""The ways to rank that `bench recall` compares. Each is made for a history, and ranks its turns for a question.

`bm25s` and `wordllama` are packages of the extra `bench`. The weights of `wordllama` are in its wheel: nothing is
downloaded.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench._recall_sets import History
from slicebase.context.query import read
from slicebase.context.question import analyse
from slicebase.context.ranking import CONSIDERED, RANKER
from slicebase.core.times import from_text
from slicebase.index.turns import TurnIndex
from slicebase.verbs.graph import ranked_turns
from slicebase.workspace.settings import set_setting

Ranker = Callable[[str], list[str]]  # the turns for a question, best first
_READ = 20_000  # characters
_RANK_OFFSET = 60  # of reciprocal rank fusion, as usual


def recency(history: History) -> Ranker:
    return lambda question: history.newest_first[:CONSIDERED]


@lru_cache(maxsize=1)  # three methods use it
def bm25(history: History) -> Ranker:
    """Ranks by BM25 over the words of our index, without those that only ask: better than with the package's words."""
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)
    turns, index = list(history.texts), history.memory.turn_index
    model = bm25s.BM25()
    model.index([_stems(index, history.texts[turn]) for turn in turns], show_progress=False)

    def ranked(question: str) -> list[str]:
        words = analyse(question, index.words(question)).words
        return _best(turns, model.get_scores([word.stem for word in words]))

    return ranked


def _stems(index: TurnIndex, text: str) -> list[str]:
    """Returns the stems of a text, in parts that are as long as the longest question that is read."""
    parts = (text[start : start + _READ] for start in range(0, len(text), _READ))
    return [word.stem for part in parts for word in index.words(part)]


def bm25_with_neighbours(history: History) -> Ranker:
    ranker = bm25(history)

    def ranked(question: str) -> list[str]:
        near = (each for turn in ranker(question) for each in history.neighbours[turn])
        return list(dict.fromkeys(near))[:CONSIDERED]

    return ranked


@lru_cache(maxsize=1)  # two methods use it
def vectors(history: History) -> Ranker:
    """Ranks by the angle between the means of the vectors of the words."""
    model = _wordllama()
    turns = list(history.texts)
    known = model.embed([history.texts[turn] for turn in turns], norm=True, batch_size=1)

    def ranked(question: str) -> list[str]:
        return _best(turns, known @ model.embed([question], norm=True)[0])

    return ranked


@cache
def _wordllama() -> Any:
    import wordllama

    inside = Path(wordllama.__file__).parent  # its own search misses the tokenizer there
    return wordllama.WordLlama.load(cache_dir=inside, disable_download=True)


def fusion(history: History) -> Ranker:
    rankers = bm25(history), vectors(history)

    def ranked(question: str) -> list[str]:
        worth: dict[str, float] = defaultdict(float)
        for ranker in rankers:
            for place, turn in enumerate(ranker(question), 1):
                worth[turn] += 1 / (_RANK_OFFSET + place)
        return _best(list(worth), worth.values())

    return ranked


def ours(history: History) -> Ranker:
    truth, index, now = history.memory.truth, history.memory.turn_index, from_text(history.as_of)
    return lambda question: [each.turn for each in ranked_turns(truth, index, read(question).words, CONSIDERED, now)]


def ours_with_vectors(history: History) -> Ranker:
    """Ranks as ours does with word vectors. It stays switched on in the workspace, so it comes last."""
    set_setting(history.memory.workspace, "context.semantic", True)
    return ours(history)


def _best(turns: list[str], scores: Iterable[float]) -> list[str]:
    """Returns the best turns with a score above 0; equal ones, as far as floating point can tell, by id."""
    scored = [(-round(float(score), 6), turn) for turn, score in zip(turns, scores, strict=True) if score > 0]
    return [turn for _, turn in sorted(scored)[:CONSIDERED]]


Method = Callable[[History], Ranker]

_METHODS: dict[str, tuple[Method, tuple[str, ...]]] = {
    "recency": (recency, ()),
    "BM25": (bm25, ("bm25s",)),
    "BM25 with two neighbours": (bm25_with_neighbours, ("bm25s",)),
    "static vectors": (vectors, ("wordllama",)),
    "BM25 and static vectors": (fusion, ("bm25s", "wordllama")),
    RANKER: (ours, ()),
    f"{RANKER} with vectors": (ours_with_vectors, ("wordllama",)),
}
OURS = frozenset({ours, ours_with_vectors})


def methods() -> dict[str, Method]:
    """Returns the methods whose packages are installed."""
    return {name: make for name, (make, needs) in _METHODS.items() if all(map(find_spec, needs))}


def absent() -> list[str]:
    """Returns the packages that are not installed."""
    return sorted({package for _, needs in _METHODS.values() for package in needs if not find_spec(package)})
