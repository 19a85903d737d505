"""Ranking: turns by what they, their neighbours and their session say of a question (docs/ranking.md).

The store reads figures from its index, this module weighs them. Everything is counted in whole millionths, so that
sums do not depend on their order, and equal scores go by id: an index that was filled in any order gives the same
ranking (ruling 43).
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import nsmallest
from math import log, sqrt
from typing import Final, NamedTuple

from msgspec import Struct

from slicebase.context.question import Question

RANKER: Final = "neighbourly/1"

# BM25 with its usual parameters, sizes in tokens.
_SATURATION = 1.2
_SIZE_SHARE = 0.75
# Tenths of a word's worth that reach a reply, or the turn that was replied to; and those that go a step further.
_TO_A_REPLY = 7
_TO_AN_EARLIER = 5
_FURTHER = 7
REACH: Final = 4  # steps
# Every turn of a session gets this part of what its best one is worth.
_SESSION = 10
# The rest is measured in the worth of a word that a single turn has.
_LABEL = 1 / 2
_DATE = {"day": 3 / 2, "month": 3 / 4, "year": 1 / 4}
_SUBSTANCE = 1 / 3
_OPENING = 1 / 6
_SUBSTANTIAL = 50  # the size at which a turn gets half of what substance can give

_Steps = dict[int, list[int]]

PARTS: Final = ("words", "neighbours", "session", "label", "date", "substance", "opening")

_MILLION = 1_000_000


class TurnFigures(NamedTuple):
    number: int
    id: str
    session: int  # the same number for turns of the same session
    time: int  # milliseconds since 1970
    size: int  # tokens
    label: str  # the stems of the label with which the text opens, a space between
    opens: int  # 1 where no turn comes before it


class Matches(NamedTuple):
    """A word of the question, or the known one nearest to it, and how often turns have it."""

    stem: str
    known_as: str
    turns: int  # of the whole index
    counts: Mapping[int, int]  # by the turn's number: every one, or those among the turns below


class Figures(Struct, frozen=True):
    """What the index says of a question. Turns go by numbers that mean nothing outside it."""

    indexed: int
    mean_size: float
    years: tuple[int, int]
    matches: tuple[Matches, ...]
    turns: Mapping[int, TurnFigures]  # those that match, and those within reach of them
    links: Iterable[tuple[int, int]]  # (turn, its reply) among them


class Ranked(NamedTuple):
    """A turn, its score in millionths, and the parts whose sum the score is."""

    turn: str
    score: int
    parts: dict[str, int]


def rank(question: Question, figures: Figures, limit: int) -> list[Ranked]:
    """The best turns for a question, best first, equal ones by id."""
    weigh = _scales(question, figures)
    weighed = ((turn.id, weigh(turn)) for turn in figures.turns.values())
    best = nsmallest(limit, ((-sum(parts), turn, parts) for turn, parts in weighed if parts))
    return [Ranked(turn, -score, dict(zip(PARTS, parts, strict=True))) for score, turn, parts in best]


def brought_to_scale(ranked: Iterable[Ranked], indexed: int, other: int) -> list[Ranked]:
    """A ranking of one index in the measure of another: a word that a single turn has is worth the same in both."""
    factor = rarity(1, max(other, 1)) / rarity(1, max(indexed, 1))
    scaled = []
    for found in ranked:
        parts = {name: round(value * factor) for name, value in found.parts.items()}
        scaled.append(Ranked(found.turn, sum(parts.values()), parts))
    return scaled


def _scales(question: Question, figures: Figures) -> Callable[[TurnFigures], tuple[int, ...]]:
    """What weighs a turn: its parts, in the order of their names. One without a word or a date near it has none."""
    own, total = _worth_of_words(figures)
    sessions = _worth_of_sessions(figures.turns, total)
    unit = rarity(1, figures.indexed)
    labels = _worth_of_labels(figures, round(unit * _LABEL))
    dates = _worth_of_dates(question, figures, unit)
    substance, opening = round(unit * _SUBSTANCE), round(unit * _OPENING)

    def weigh(turn: TurnFigures) -> tuple[int, ...]:
        number, _, session, _, size, label, opens = turn
        words, around, date = own.get(number, 0), total.get(number, 0), dates.get(number, 0)
        if not around and not date:
            return ()
        return (
            words,
            around - words,
            sessions.get(session, 0),
            labels.get(label, 0),
            date,
            substance * size // (size + _SUBSTANTIAL),
            opens * opening,
        )

    return weigh


def _worth_of_words(figures: Figures) -> tuple[dict[int, int], dict[int, int]]:
    """By turn: the worth of its own words, and of those that stand in it or, lessened by the distance, near it.

    A word counts once, from where it is worth most: a turn between two that repeat each other gains nothing.
    """
    replies, earlier = _steps(figures.links)
    own: dict[int, int] = {}
    total: dict[int, int] = {}
    for match in figures.matches:
        worths = dict(_worth_in_turns(match, figures))
        for number, worth in worths.items():
            own[number] = own.get(number, 0) + worth
        best = _carried(worths, replies, _TO_A_REPLY)
        for number, worth in _carried(worths, earlier, _TO_AN_EARLIER).items():
            if worth > best.get(number, 0):
                best[number] = worth
        for number, worth in best.items():
            total[number] = total.get(number, 0) + worth
    return own, total


def _steps(links: Iterable[tuple[int, int]]) -> tuple[_Steps, _Steps]:
    replies: _Steps = {}
    earlier: _Steps = {}
    for turn, reply in links:
        replies.setdefault(turn, []).append(reply)
        earlier.setdefault(reply, []).append(turn)
    return replies, earlier


def _carried(worths: dict[int, int], steps: _Steps, first_share: int) -> dict[int, int]:
    """The worths with what is left of them one to four steps further, in one direction: cousins are no neighbours."""
    best, layer, share = dict(worths), worths, first_share
    for _ in range(REACH):
        reached: dict[int, int] = {}
        for number, worth in layer.items():
            for neighbour in steps.get(number, ()):
                lessened = worth * share // 10
                if lessened > best.get(neighbour, 0):  # else something nearer carries as far, and more
                    best[neighbour] = reached[neighbour] = lessened
        layer, share = reached, _FURTHER
    return best


def _worth_in_turns(match: Matches, figures: Figures) -> Iterator[tuple[int, int]]:
    rare = rarity(match.turns, figures.indexed)
    for number, count in match.counts.items():
        size = figures.turns[number].size / figures.mean_size
        saturated = count * (_SATURATION + 1) / (count + _SATURATION * (1 - _SIZE_SHARE + _SIZE_SHARE * size))
        yield number, round(rare * saturated)


def rarity(turns: int, indexed: int) -> int:
    """What a word is worth, in millionths, that so many of the indexed turns have.

    BM25's measure, and common words get still less of it: few languages have a list of the words that only ask.
    """
    plain, most = _log_odds(turns, indexed), _log_odds(1, indexed)
    return round(_MILLION * plain * sqrt(plain / most))


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
    """By label: it is worth something where the question has one of its words."""
    asked = {stem for match in figures.matches for stem in (match.stem, match.known_as)}
    labels = {turn.label for turn in figures.turns.values()}
    return {label: worth for label in labels if not asked.isdisjoint(label.split())}


def _worth_of_dates(question: Question, figures: Figures, unit: int) -> dict[int, int]:
    """By turn: the most precise date of the question that it falls on."""
    worths: dict[int, int] = {}
    in_time = sorted((turn.time, turn.number) for turn in figures.turns.values()) if question.dates else []
    for when in question.dates:
        worth = round(unit * _DATE[when.precision])
        for start, end in when.spans(*figures.years):
            for _, number in in_time[bisect_left(in_time, (start,)) : bisect_left(in_time, (end,))]:
                worths[number] = max(worth, worths.get(number, 0))
    return worths
