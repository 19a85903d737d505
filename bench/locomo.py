"""Evidence recall on LoCoMo: how many of the turns that answer a question are within a budget of turns or tokens.

For each question, the turns of its own conversation are ranked. Its recall is the share of its evidence turns that are
found. The average is over the 1,531 questions of categories 1 to 4 (5 is adversarial: no turn answers it) with at least
one evidence id that resolves as it is written. The ranker was tuned on one half of the conversations, and the other
half is reported.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from math import log
from pathlib import Path
from statistics import fmean, median
from time import perf_counter, process_time
from typing import Any, NamedTuple

from slicebase.context.question import analyse
from slicebase.context.ranking import ANCHORS, RANKER, merge, rank
from slicebase.core.hashing import digest_of, tokens
from slicebase.core.ids import turn_id
from slicebase.graph.annotate import annotate
from slicebase.graph.best_first import select
from slicebase.graph.compact import CompactSession, compact
from slicebase.graph.policy import FOCUSED
from slicebase.graph.turn import Parent, Part, Turn
from slicebase.index.turn_schema import IndexedTurn
from slicebase.index.turns import TurnIndex

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "locomo" / "locomo10.json"
TUNED = frozenset({"conv-26", "conv-30", "conv-41", "conv-42", "conv-43"})
TURN_BUDGETS = (16, 32, 64)
TOKEN_BUDGETS = (2_000, 4_000)
MOST = 256  # ranked turns: more than fit into 4,000 tokens
ADVERSARIAL = 5
TIMED_SIZES = (5_882, 100_000)
TIMED_QUESTIONS = 100

Ranker = Callable[[str], list[str]]


class Asked(NamedTuple):
    text: str
    evidence: frozenset[str]


class Conversation:
    """One conversation of the data: its turns in order, each a reply to the previous one, and its questions.

    Questions without evidence among the turns are left out.
    """

    def __init__(self, name: str, turns: Iterable[IndexedTurn], asked: Iterable[Asked]) -> None:
        self.name = name
        self.turns = list(turns)
        self.sizes = {turn.id: tokens(turn.text) for turn in self.turns}
        known = self.sizes.keys()
        self.questions = [each._replace(evidence=found) for each in asked if (found := each.evidence & known)]

    @cached_property
    def index(self) -> TurnIndex:
        index = TurnIndex()
        index.add(self.turns)
        return index

    def neighbours(self, place: int) -> Iterator[int]:
        """Returns the position of a turn, then those of up to two turns on each side in its session, nearest first."""
        for distance in (0, -1, 1, -2, 2):
            near = place + distance
            if 0 <= near < len(self.turns) and self.turns[near].session == self.turns[place].session:
                yield near


def _conversation(sample: dict[str, Any]) -> Conversation:
    name: str = sample["sample_id"]
    asked = (
        Asked(each["question"], frozenset(turn_id("locomo", name, own) for own in each["evidence"]))
        for each in sample["qa"]
        if each["category"] != ADVERSARIAL
    )
    return Conversation(name, _turns(name, sample["conversation"]), asked)


def _turns(name: str, conversation: dict[str, Any]) -> Iterator[IndexedTurn]:
    sessions = [key for key in conversation if re.fullmatch(r"session_\d+", key)]
    for session in sorted(sessions, key=lambda key: int(key.partition("_")[2])):
        moment = datetime.strptime(conversation[f"{session}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        before: tuple[str, ...] = ()
        for place, turn in enumerate(conversation[session]):
            caption = f" {turn['blip_caption']}" if turn.get("blip_caption") else ""
            yield IndexedTurn(
                id=turn_id("locomo", name, turn["dia_id"]),
                session=f"{name}/{session}",
                time=int(moment.timestamp() * 1000) + place,
                parents=before,
                text=f"{turn['speaker']}: {turn['text']}{caption}",
            )
            before = (turn_id("locomo", name, turn["dia_id"]),)


# Rankers: each is created for a conversation, and returns turn ids for a question, best first.


def recency(conversation: Conversation) -> Ranker:
    newest = [turn.id for turn in reversed(conversation.turns)]
    return lambda question: newest


def bm25(conversation: Conversation) -> Ranker:
    order = _bm25_order(conversation)
    return lambda question: [conversation.turns[place].id for place in order(question)]


def bm25_with_neighbours(conversation: Conversation) -> Ranker:
    order = _bm25_order(conversation)

    def ranked(question: str) -> list[str]:
        places = dict.fromkeys(near for place in order(question) for near in conversation.neighbours(place))
        return [conversation.turns[place].id for place in places]

    return ranked


def _bm25_order(conversation: Conversation) -> Callable[[str], list[int]]:
    """Returns a function that ranks the positions of turns by textbook BM25, with the same words as the index."""
    stems = [Counter(word.stem for word in conversation.index.words(turn.text)) for turn in conversation.turns]
    lengths = [counts.total() for counts in stems]
    mean = fmean(lengths)
    having = Counter(stem for counts in stems for stem in counts)

    def order(question: str) -> list[int]:
        words = analyse(question, conversation.index.words(question)).words
        rarity = {w.stem: log(1 + (len(stems) - having[w.stem] + 0.5) / (having[w.stem] + 0.5)) for w in words}
        scores = [
            sum(
                worth * n * 2.2 / (n + 1.2 * (0.25 + 0.75 * length / mean))
                for w, worth in rarity.items()
                if (n := c[w])
            )
            for c, length in zip(stems, lengths, strict=True)
        ]
        return sorted(range(len(stems)), key=lambda place: (-round(scores[place], 6), conversation.turns[place].id))

    return order


def ours(conversation: Conversation) -> Ranker:
    return lambda question: _ranked(conversation.index, question, MOST)


def _ranked(index: TurnIndex, text: str, limit: int) -> list[str]:
    question = analyse(text, index.words(text))
    return [ranked.turn for ranked in rank(question, index.figures(question), limit)]


def flat_slices(conversation: Conversation) -> Ranker:
    return _slices(conversation, annotated=False)


def annotated_slices(conversation: Conversation) -> Ranker:
    return _slices(conversation, annotated=True)


def _slices(conversation: Conversation, *, annotated: bool) -> Ranker:
    """Ranks by the focused slice around the best turn by BM25, then around the next, and so on."""
    order = _bm25_order(conversation)
    graphs = _graphs(conversation, annotated=annotated)

    def ranked(question: str) -> list[str]:
        anchors = [conversation.turns[place] for place in order(question)[:MOST]]
        selections = (select(graphs[anchor.session], anchor.id, FOCUSED) for anchor in anchors)
        return list(dict.fromkeys(candidate.turn_id for selection in selections for candidate in selection))

    return ranked


def ours_with_slices(conversation: Conversation) -> Ranker:
    """Ranks as `tt context` does: the turns that were found, merged with the slices around the best of them."""
    graphs = _graphs(conversation, annotated=True)
    sessions = {turn.id: turn.session for turn in conversation.turns}

    def ranked(question: str) -> list[str]:
        asked = analyse(question, conversation.index.words(question))
        found = rank(asked, conversation.index.figures(asked), MOST)
        around = [(each, select(graphs[sessions[each.turn]], each.turn, FOCUSED)) for each in found[:ANCHORS]]
        return [each.turn for each in merge(found, around)]

    return ranked


def _graphs(conversation: Conversation, *, annotated: bool) -> dict[str, CompactSession]:
    """Returns each session as a graph, with turns annotated by the default rules or all the same."""
    sessions: dict[str, list[IndexedTurn]] = {}
    for turn in conversation.turns:
        sessions.setdefault(turn.session, []).append(turn)
    return {name: _graph(name, turns, annotated=annotated) for name, turns in sessions.items()}


def _graph(session: str, turns: Sequence[IndexedTurn], *, annotated: bool) -> CompactSession:
    rows, above = [], None
    for turn in turns:
        parents = tuple(Parent(parent) for parent in turn.parents)
        record = Turn(turn.id, session, "user", (Part("text", text=turn.text),), turn.time, parents, "")
        note, above = annotate(record, above, 0)
        phase, salience = (note.phase, note.salience) if annotated else ("planning", 0.5)
        rows.append((turn.id, "user", phase, salience, note.depth, 0, 0.0, 0.0, 0.0, turn.time // 1000, note.annotator))
    return compact(session, rows, [(parent, turn.id, "reply") for turn in turns for parent in turn.parents])


RANKERS: dict[str, Callable[[Conversation], Ranker]] = {
    "recency": recency,
    "BM25": bm25,
    "BM25 with two neighbours": bm25_with_neighbours,
    "context slices, flat phases": flat_slices,
    "context slices, annotated": annotated_slices,
    RANKER: ours,
    f"{RANKER} with context slices": ours_with_slices,
}


def recalls(conversation: Conversation, asked: Asked, ranked: Sequence[str]) -> Iterator[float]:
    """Yields the recall for each budget of turns, then of tokens.

    A turn that does not fit is skipped, and smaller ones after it can fit.
    """
    for most in TURN_BUDGETS:
        yield len(asked.evidence.intersection(ranked[:most])) / len(asked.evidence)
    for room in TOKEN_BUDGETS:
        yield len(asked.evidence.intersection(_within(room, ranked, conversation.sizes))) / len(asked.evidence)


def _within(room: int, ranked: Iterable[str], sizes: dict[str, int]) -> Iterator[str]:
    for turn in ranked:
        if sizes[turn] <= room:
            room -= sizes[turn]
            yield turn


def run() -> None:
    if not DATA.exists():
        print("LoCoMo: skipped, its data is not here")
        return
    conversations = [_conversation(sample) for sample in json.loads(DATA.read_text())]
    halves = {
        "tuned on": [each for each in conversations if each.name in TUNED],
        "reported": [each for each in conversations if each.name not in TUNED],
    }
    compare("LoCoMo", halves)
    for size in TIMED_SIZES:
        _time(conversations, size)


def compare(data: str, halves: dict[str, list[Conversation]]) -> None:
    """Prints the recall of each ranker, for each part of the data."""
    budgets = "".join(f"{budget:>8,}" for budget in (*TURN_BUDGETS, *TOKEN_BUDGETS))
    print(f"{data}: evidence recall\n{'':38}{'turns':^24}{'tokens':^16}\n{'':38}{budgets}")
    everything: dict[str, list[list[str]]] = {}
    for half, members in halves.items():
        print(f"{half}: {sum(len(each.questions) for each in members)} questions of {len(members)} conversations")
        for name, make in RANKERS.items():
            rows = []
            for conversation in members:
                ranker = make(conversation)
                for asked in conversation.questions:
                    ranked = ranker(asked.text)[:MOST]
                    everything.setdefault(name, []).append(ranked)
                    rows.append(list(recalls(conversation, asked, ranked)))
            print(f"  {name:36}" + "".join(f"{fmean(column):8.3f}" for column in zip(*rows, strict=True)))
    print(f"digest of all rankings: {digest_of(everything)}")


def _time(conversations: Sequence[Conversation], size: int) -> None:
    """Measures one index with copies of all conversations: the time to fill it, and to rank 64 turns."""
    questions = [asked.text for conversation in conversations for asked in conversation.questions]
    with TurnIndex() as index:
        began = perf_counter()
        index.add(_copies([turn for conversation in conversations for turn in conversation.turns], size))
        filled = perf_counter() - began
        times, work = [], []
        for text in questions[:: len(questions) // TIMED_QUESTIONS]:
            began, worked = perf_counter(), process_time()
            _ranked(index, text, 64)
            times.append((perf_counter() - began) * 1000)
            work.append((process_time() - worked) * 1000)
    times.sort()
    print(
        f"{size:,} turns in one index: filled in {filled:.1f} s; ranking p50 {median(times):.1f} ms, "
        f"p99 {times[len(times) * 99 // 100]:.1f} ms, p50 of processor time {median(work):.1f} ms"
    )


def _copies(turns: Sequence[IndexedTurn], size: int) -> Iterator[IndexedTurn]:
    for number in range(size):
        copy, place = divmod(number, len(turns))
        turn = turns[place]
        yield turn._replace(
            id=f"{copy}/{turn.id}", session=f"{copy}/{turn.session}", parents=tuple(f"{copy}/{p}" for p in turn.parents)
        )


if __name__ == "__main__":
    run()
