"""What is said in a transcript, sentence by sentence, and which sentences are about a statement (docs/lost.md)."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from slicebase.context.lost.items import TranscriptItem
from slicebase.context.lost.points import points
from slicebase.context.lost.speech import said_by_user, typed, without_reminders
from slicebase.context.lost.words import StatementIndex, content_weights, names, sentences
from slicebase.graph.turn import Turn

# Shares of the content of a statement that a later one must have to be about the same.
SAME: Final = 0.5
RELATED: Final = 0.3  # if they also have a name in common
NOTHING_ELSE: Final = 0.6  # of the content of the later one


class Told(NamedTuple):
    """A sentence of the user, the assistant or a summary, the heading above it, and who said it."""

    order: int
    text: str
    content: Mapping[str, int]
    above: str = ""
    of_summary: bool = False


class ToldSentences:
    """Sentences in order, in which those about a statement are found."""

    def __init__(self, said: Iterable[Told]) -> None:
        self._said = sorted(said, key=lambda each: each.order)
        self._orders = [each.order for each in self._said]
        self._index = StatementIndex(each.content for each in self._said)

    def about(self, item: TranscriptItem, end: int, least: float = RELATED, *, short: bool = False) -> Iterator[Told]:
        """Yields the sentences after an item, and before a turn, that are about the same.

        They have at least this share of its content and a name in common, or most of the words; with `short` also if
        they are so short that the item says much more.
        """
        content, named = content_weights(item.text), names(item.text)
        near = RELATED / 2 if short else least
        for number in self._index.like(content, near, bisect_right(self._orders, item.order)):
            each = self._said[number]
            if each.order >= end:
                break
            is_named = not named.isdisjoint(each.content) and (near == least or share(content, each.content) >= least)
            if is_named or is_same(content, each.content):
                yield each


def told_by_assistant(turns: Sequence[Turn]) -> Iterator[Told]:
    """Yields the sentences of the assistant, without its questions."""
    for order, turn in enumerate(turns):
        for part in turn.parts if turn.role == "assistant" else ():
            if part.type == "text" and part.text and not part.hidden:
                yield from told_in(without_reminders(part.text), order)


def told_in(text: str, order: int, *, of_summary: bool = False) -> Iterator[Told]:
    """Yields the sentences of a text, without its questions, each with the heading above it."""
    for point in points(text):
        for each in sentences(text[point.start : point.end]):
            if not each.text.endswith("?"):
                yield Told(order, each.text, content_weights(each.text), point.above, of_summary)


def told_by_user(turns: Sequence[Turn]) -> Iterator[Told]:
    """Yields the sentences that the user typed."""
    for order, turn in enumerate(turns):
        for part in turn.parts if turn.role == "user" else ():
            if part.type == "text" and part.text and not part.hidden and not part.error:
                for each in sentences(typed(said_by_user(part.text))):
                    yield Told(order, each.text, content_weights(each.text))


def share(content: Mapping[str, int], other: Mapping[str, int]) -> float:
    """Returns which share of a content, by weight, another one has."""
    return sum(content[word] for word in content.keys() & other.keys()) / max(1, sum(content.values()))


def is_same(content: Mapping[str, int], later: Mapping[str, int]) -> bool:
    """Returns whether a later sentence is about the same: it has half of a statement, or says little else."""
    inside = len(content.keys() & later.keys()) > 1 and share(later, content) >= NOTHING_ELSE
    return inside or share(content, later) >= SAME


def are_related(text: str, other: str) -> bool:
    """Returns whether a text is about what another says: they have enough words in common, fewer if also a name."""
    content, of_other = content_weights(text), content_weights(other)
    least = RELATED if names(text).isdisjoint(of_other) else RELATED / 2
    return share(content, of_other) >= least
