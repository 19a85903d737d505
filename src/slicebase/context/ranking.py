"""Ranking: turns are scored by their own words, their neighbours and their session (docs/ranking.md).

The index reads the figures, and this module computes the scores. Scores are integers in millionths, so that sums do not
depend on their order, and equal scores are ordered by time and id. So the ranking does not depend on the order in which
the index was filled (ruling 43).
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import log, sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct

from slicebase.context.question import Question
from slicebase.core.times import LAST_UNDATED

if TYPE_CHECKING:  # start-up counts
    from slicebase.graph.select import FrontierTurn

RANKER: Final = "neighbourly/5"

# BM25 with its usual parameters, sizes in tokens.
_SATURATION = 1.2
_SIZE_SHARE = 0.75
# Tenths of the worth of a word that reach a reply, or the turn before a match; and those that each further step keeps.
_TO_A_REPLY = 7
_TO_AN_EARLIER = 5
_FURTHER = 7
# Tenths that reach a reply, at each step, where a person and an assistant answer each other: a long answer repeats many
# words, and the next prompt is often about something else.
_TO_THE_OTHER_ONE = 4
SPREAD_STEPS: Final = 4
# Every turn of a session gets a tenth of the worth of its best turn.
_SESSION = 10
# The other parts are multiples of the worth of a word that only one turn has.
_LABEL = 1 / 2
_DATE = {"day": 3 / 2, "week": 1, "month": 3 / 4, "year": 1 / 4}
_SUBSTANCE = 1 / 6
_OPENING = 1 / 6
_RULE = 3 / 4
_MEANING = 1 / 5  # for each standard deviation above one by which a turn is like the question
_SUBSTANTIAL = 50  # the size from which a turn has substance, in tokens
# Tenths of its worth that a turn keeps in which nobody speaks: calls, results, thinking; those of a summary; and those
# of what the other one says, if the question is about its author.
_UNSPOKEN = 5
_SUMMARY = 12
_OTHER_ONE = 6


UNSPOKEN: Final = "unspoken"
SUMMARY: Final = "summary"


class TurnFigures(NamedTuple):
    """The figures of one turn in the index."""

    number: int
    id: str
    session: int  # the same number for turns of the same session
    time: int  # milliseconds since 1970
    size: int  # tokens
    label: str  # the stems of the label at the beginning of the text, separated by spaces
    opens: int  # 1 if no turn comes before it, else 0
    rules: int = 0  # 1 if the user states there what always holds, else 0
    voice: str = ""  # the role of who speaks, UNSPOKEN where nobody does, or SUMMARY; empty for what is not a turn
    asks: int = 0  # how many tenths of a turn with a label are questions


class Matches(NamedTuple):
    """A word of the question, the nearest known word if no turn has it, and how often turns have it."""

    stem: str
    known_as: tuple[str, ...]  # or the forms of the word that turns have
    turns: int  # how many turns of the index have it; of several forms, the sum
    counts: Mapping[int, int]  # by the number of the turn; for a frequent word only among the turns of the figures


class Figures(Struct, frozen=True):
    """The figures of the index for a question. The numbers of turns have a meaning only in this index."""

    indexed: int
    mean_size: float
    years: tuple[int, int]
    matches: tuple[Matches, ...]
    turns: Mapping[int, TurnFigures]  # those that match, and those within reach of them
    links: Collection[tuple[int, int]]  # (turn, its reply) among them
    allowed: frozenset[int] | None = None  # the turns that may be ranked; None for all
    people: frozenset[str] = frozenset()  # labels of those whom the question names by another name
    meant: Mapping[int, float] = {}  # how unusually like the question turns are, where a model of meanings is in use


PARTS: Final = ("words", "neighbours", "session", "label", "date", "substance", "opening", "rule", "meaning")


class Ranked(NamedTuple):
    """A turn, its score in millionths, and the parts of which the score is the sum."""

    turn: str
    score: int
    parts: dict[str, int]


def rank(question: Question, figures: Figures, limit: int) -> list[Ranked]:
    """Returns the best turns for a question, the best first; of equal ones the newest, then by id."""
    scoring = _Scoring(question, figures)
    scores = scoring.scores(figures.allowed)
    if len(scores) > limit > 0:  # most of thousands of turns are not among the best: these are put in order
        least = sorted(scores.values())[-limit]
        scores = {number: score for number, score in scores.items() if score >= least}
    turns = (figures.turns[number] for number in scores)
    best = sorted((-scores[turn.number], -turn.time, turn.id, turn) for turn in turns)[:limit]
    return [Ranked(name, -score, dict(zip(PARTS, scoring.parts(turn), strict=True))) for score, _, name, turn in best]


def rescaled(ranked: Iterable[Ranked], indexed: int, other: int) -> list[Ranked]:
    """Returns a ranking of one index in the scale of another index.

    A word that only one turn has is then worth the same in both.
    """
    factor = rarity(1, max(other, 1)) / rarity(1, max(indexed, 1))
    scaled = []
    for found in ranked:
        parts = {name: round(value * factor) for name, value in found.parts.items()}
        scaled.append(Ranked(found.turn, sum(parts.values()), parts))
    return scaled


class _Scoring:
    """The worth of everything that the scores of turns are sums of."""

    def __init__(self, question: Question, figures: Figures) -> None:
        unit = rarity(1, figures.indexed)
        self._turns = figures.turns
        self._words, self._total = _worth_of_words(figures)
        self._sessions = _worth_of_sessions(figures.turns, self._total)
        self._labels = _worth_of_labels(figures, round(unit * _LABEL))
        self._dates = _worth_of_dates(question, figures, unit)
        self._opening, substance = round(unit * _OPENING), round(unit * _SUBSTANCE)
        self._rule = round(unit * _RULE) if question.wants_help else 0
        self._substances = [substance * size // _SUBSTANTIAL for size in range(_SUBSTANTIAL + 1)]
        self._meant = {number: round(unit * _MEANING * unusual) for number, unusual in figures.meant.items()}
        self._kept = {UNSPOKEN: _UNSPOKEN, SUMMARY: _SUMMARY, "assistant": _OTHER_ONE if question.of_author else 10}

    def scores(self, allowed: Collection[int] | None) -> dict[int, int]:
        """Returns the scores by turn. A turn without a word or a date near it has none.

        They are sums of the parts, of which the names are put to those of the best turns only.
        """
        near = self._total
        if self._dates or self._meant:
            near = {number: near.get(number, 0) for number in {*near, *self._dates, *self._meant}}
            for worths in (self._dates, self._meant):
                for number, worth in worths.items():
                    near[number] += worth
        turns, sessions, labels, substances = self._turns, self._sessions, self._labels, self._substances
        others = {voice for voice, share in self._kept.items() if share != 10}
        scores: dict[int, int] = {}
        for number, worth in near.items():
            if not worth or (allowed is not None and number not in allowed):
                continue
            turn = turns[number]
            _, _, session, _, size, label, opens, rules, voice, asks = turn
            if voice in others:
                scores[number] = sum(self.parts(turn))  # each part is rounded by itself
                continue
            score = worth + sessions.get(session, 0) + substances[size if size < _SUBSTANTIAL else _SUBSTANTIAL]
            if label:
                score += labels.get(label, 0) * (10 - asks) // 10
            if rules:
                score += self._rule
            scores[number] = score + self._opening if opens else score
        return scores

    def parts(self, turn: TurnFigures) -> tuple[int, ...]:
        """Returns the parts of a turn's score in the order of PARTS."""
        number = turn.number
        words = sum([worths[number] for worths in self._words if number in worths])
        parts = (
            words,
            self._total.get(number, 0) - words,
            self._sessions.get(turn.session, 0),
            self._labels.get(turn.label, 0) * (10 - turn.asks) // 10,
            self._dates.get(number, 0),
            self._substances[min(turn.size, _SUBSTANTIAL)],
            turn.opens * self._opening,
            turn.rules * self._rule,
            self._meant.get(number, 0),
        )
        share = self._kept.get(turn.voice, 10)
        return parts if share == 10 else tuple([part * share // 10 for part in parts])


def _worth_of_words(figures: Figures) -> tuple[list[dict[int, int]], dict[int, int]]:
    """Returns the worth of each word in the turns that have it, and that of all words in a turn or near it.

    Near it, a word is worth less by distance. It counts once, from the place where it is worth most. So a turn between
    two turns that repeat each other gains nothing.
    """
    replies = _steps(figures.links, _answers(figures))
    earlier = _steps([(reply, turn) for turn, reply in figures.links])
    own: list[dict[int, int]] = []
    total: dict[int, int] = {}
    for match in figures.matches:
        worths = _worth_in_turns(match, figures)
        best = dict(worths)
        _spread(worths, replies, _TO_A_REPLY, best)
        _spread(worths, earlier, _TO_AN_EARLIER, best)
        own.append(worths)
        for number, worth in best.items() if total else ():
            total[number] = total.get(number, 0) + worth
        total = total or best
    return own, total


def _answers(figures: Figures) -> frozenset[tuple[int, int]]:
    """Returns the links between what a person and what an assistant says."""
    turns = figures.turns
    if not {"user", "assistant"} <= {turn.voice for turn in turns.values()}:
        return frozenset()
    spoken = (("user", "assistant"), ("assistant", "user"))
    return frozenset([link for link in figures.links if (turns[link[0]].voice, turns[link[1]].voice) in spoken])


class _Steps(NamedTuple):
    """Where a step leads from a turn. Mostly that is one turn, and one lookup tells it."""

    first: dict[int, int]
    others: dict[int, list[int]]
    answers: frozenset[tuple[int, int]]  # steps between what a person and what an assistant says


def _steps(links: Collection[tuple[int, int]], answers: frozenset[tuple[int, int]] = frozenset()) -> _Steps:
    first = dict(links)
    others: dict[int, list[int]] = {}
    if len(first) < len(links):
        for here, there in links:
            if first[here] != there:
                others.setdefault(here, []).append(there)
    return _Steps(first, others, answers)


def _spread(worths: dict[int, int], steps: _Steps, first_share: int, best: dict[int, int]) -> None:
    """Raises the best worths by what is left of the worths of a word one to four steps further.

    The steps go in one direction only, so that a turn in another branch gets nothing.
    """
    first, others, answers = steps
    carried: dict[int, int] = {}
    layer, share = worths, first_share
    for _ in range(SPREAD_STEPS):
        reached: dict[int, int] = {}
        ways = _ways(layer, first, others) if others else zip(map(first.get, layer), layer.items(), strict=True)
        for neighbour, (number, worth) in ways:
            if neighbour is None:
                continue
            is_answer = answers and (number, neighbour) in answers
            reduced = worth * (_TO_THE_OTHER_ONE if is_answer else share) // 10
            if reduced <= carried.get(neighbour, 0):
                continue  # what came earlier and is worth as much goes further
            if worths.get(neighbour, 0) * first_share >= reduced * _FURTHER:
                continue  # what the neighbour has itself is worth more, there and at every further step
            carried[neighbour] = reached[neighbour] = reduced
        layer, share = reached, _FURTHER
    for neighbour, worth in carried.items():
        if worth > best.get(neighbour, 0):
            best[neighbour] = worth


def _ways(
    layer: Mapping[int, int], first: Mapping[int, int], others: Mapping[int, list[int]]
) -> Iterator[tuple[int | None, tuple[int, int]]]:
    """Yields where steps lead from each turn of a layer, with the turn and its worth."""
    for turn in layer.items():
        yield first.get(turn[0]), turn
        for neighbour in others.get(turn[0], ()):
            yield neighbour, turn


def _worth_in_turns(match: Matches, figures: Figures) -> dict[int, int]:
    rare, turns, mean = rarity(match.turns, figures.indexed), figures.turns, figures.mean_size
    return {
        number: round(
            rare
            * (
                count
                * (_SATURATION + 1)
                / (count + _SATURATION * (1 - _SIZE_SHARE + _SIZE_SHARE * (turns[number].size / mean)))
            )
        )
        for number, count in match.counts.items()
    }


_MILLION = 1_000_000


def rarity(turns: int, indexed: int) -> int:
    """Returns the worth, in millionths, of a word that so many of the indexed turns have.

    It is the measure of BM25, somewhat further reduced for common words, since only English has a list of words that
    only ask.
    """
    plain, most = _log_odds(turns, indexed), _log_odds(1, indexed)
    return round(_MILLION * plain * sqrt(sqrt(sqrt(plain / most))))


def _log_odds(turns: int, indexed: int) -> float:
    return log(1 + (indexed - turns + 0.5) / (turns + 0.5))


def _worth_of_sessions(turns: Mapping[int, TurnFigures], worth: Mapping[int, int]) -> dict[int, int]:
    best: dict[int, int] = {}
    for number, value in worth.items():
        session = turns[number].session
        if value > best.get(session, 0):
            best[session] = value
    return {session: value // _SESSION for session, value in best.items()}


def _worth_of_labels(figures: Figures, worth: int) -> dict[str, int]:
    """Returns the worth by label, for labels that have a word of the question, or whose people it names otherwise."""
    asked = {stem for match in figures.matches for stem in (match.stem, *match.known_as)}
    labels = {turn.label for turn in figures.turns.values()}
    return {label: worth for label in labels if label in figures.people or not asked.isdisjoint(label.split())}


def _worth_of_dates(question: Question, figures: Figures, unit: int) -> dict[int, int]:
    """Returns the worth by turn: that of the most precise date of the question that the turn falls on."""
    worths: dict[int, int] = {}
    if not question.dates:
        return worths
    dated = (turn for turn in figures.turns.values() if not 0 <= turn.time <= LAST_UNDATED)
    in_time = sorted((turn.time, turn.number) for turn in dated)
    for when in question.dates:
        worth = round(unit * _DATE[when.precision])
        for start, end in when.spans(*figures.years):
            for _, number in in_time[bisect_left(in_time, (start,)) : bisect_left(in_time, (end,))]:
                worths[number] = max(worth, worths.get(number, 0))
    return worths


# Merging found turns with context slices

ANCHORS = 8  # found turns around which context slices are selected
CONSIDERED = 256  # found turns that can become candidates
CHUNKS = 64  # parts of slice files that can become candidates; each is read from its file
# The worth of a turn in the slice of an anchor, as a share of the anchor's worth, before its priority is applied.
_SLICE_SHARE = 0.25


def merge(ranked: Sequence[Ranked], slices: "Iterable[tuple[Ranked, Sequence[FrontierTurn]]]") -> list[Ranked]:
    """Returns all turns by worth, the best first; equal ones in the order in which they were found, then selected.

    A turn in a slice has a share of the worth of the slice's anchor, in proportion to its priority in the slice. If the
    turn was also found itself, or is in several slices, the highest worth counts.
    """
    best = {found.turn: found for found in ranked}
    for anchor, selected in slices:
        highest = max(candidate.priority for candidate in selected)
        for candidate in selected:
            share = candidate.priority / highest if highest > 0 else 0
            worth = round(anchor.score * _SLICE_SHARE * share)
            known = best.get(candidate.turn_id)
            if worth > 0 and (known is None or worth > known.score):
                best[candidate.turn_id] = Ranked(candidate.turn_id, worth, {"slice": worth})
    return sorted(best.values(), key=lambda found: -found.score)
