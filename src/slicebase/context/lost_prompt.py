"""Ranks what a compaction removed by what a prompt asks, less what the summary says (docs/lost.md).

The turns are divided into passages of a few hundred characters. A passage counts by the words and names that it has in
common with the prompt (BM25: a rare word counts more, a long passage less), and by the score of the lost item in it. A
prompt without content words ("go on") leaves the order to the scores.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import exp, log
from typing import Final, NamedTuple

from slicebase.context.lost import KEPT_SHARE, JudgedItem, by_importance
from slicebase.context.lost_points import points
from slicebase.context.lost_speech import is_client_result
from slicebase.context.lost_words import Passages, content_weights
from slicebase.graph.turn import Part, Turn, part_text

_CHUNK: Final = 600  # characters of a passage of output
_MOST_OUTPUT: Final = 20_000  # characters of one result
_ITEM: Final = 0.5  # how much the score of an item counts beside the words of the prompt
# The usual parameters of BM25.
_SATURATION: Final = 1.2
_LENGTH: Final = 0.75


class LostPassage(NamedTuple):
    """A passage of a turn, with its rank for the prompt in millionths, and the lost item in it, if there is one."""

    turn: str
    start: int
    end: int
    text: str
    score: int
    item: JudgedItem | None

    @property
    def ref(self) -> str:
        """The reference of the turn that contains it."""
        return f"turn:{self.turn}"


class _Chunk(NamedTuple):
    turn: str
    start: int
    end: int
    text: str


def for_prompt(
    prompt: str, turns: Sequence[Turn], summary: str, judged: Iterable[JudgedItem], limit: int
) -> list[LostPassage]:
    """Returns the passages of turns that a prompt needs and a summary does not contain, the best first.

    Requests that were fulfilled, and other items that nobody needs, are left out: an agent could do them again.
    """
    judged = list(judged)
    said = Passages(summary)
    lost = {(each.item.turn, each.item.start): each for each in by_importance(judged)}
    other = {(each.item.turn, each.item.start) for each in judged} - lost.keys()
    chunks = [_Chunk(each.item.turn, each.item.start, each.item.end, each.text) for each in lost.values()]
    chunks += [each for each in _chunks(turns) if (each.turn, each.start) not in lost.keys() | other]
    ranks = _bm25(content_weights(prompt), [each.text for each in chunks])
    best = max(ranks, default=0.0) or 1.0
    found = []
    for chunk, rank in zip(chunks, ranks, strict=True):
        item = lost.get((chunk.turn, chunk.start))
        if item or (rank > 0 and said.coverage(chunk.text) < KEPT_SHARE):
            worth = rank / best + (_ITEM / (1 + exp(-item.score / 1_000_000)) if item else 0.0)
            found.append(LostPassage(*chunk, round(worth * 1_000_000), item))
    found.sort(key=lambda each: (-each.score, each.turn, each.start))
    return found[:limit]


def _bm25(sought: Mapping[str, int], texts: Sequence[str]) -> list[float]:
    counts = [Counter(word for word in content_weights(text) if word in sought) for text in texts]
    having = Counter(word for each in counts for word in each)
    lengths = [len(text) for text in texts]
    mean = sum(lengths) / max(1, len(lengths)) or 1.0
    rarity = {word: log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for word, n in having.items()}
    return [
        sum(
            rarity[word] * sought[word] * (_SATURATION + 1) / (1 + _SATURATION * (1 - _LENGTH + _LENGTH * size / mean))
            for word in sorted(each)
        )
        for each, size in zip(counts, lengths, strict=True)
    ]


def _chunks(turns: Iterable[Turn]) -> Iterator[_Chunk]:
    """Yields passages of what the assistant said and what tools returned. Of the user's words, only items count."""
    for turn in (turn for turn in turns if turn.role in ("assistant", "tool")):
        place = 0
        for part in turn.parts:
            text = part_text(part)
            for start, end in _spans(part, text):
                yield _Chunk(turn.id, place + start, place + end, text[start:end])
            place += len(text) + 2 if text else 0


def _spans(part: Part, text: str) -> Iterator[tuple[int, int]]:
    if part.type == "text" and not part.hidden:
        yield from ((each.start, each.end) for each in points(text))
    elif part.type == "tool_call":
        yield 0, min(len(text), _CHUNK)
    elif part.type == "tool_result" and not is_client_result(text):
        start = 0
        for match in re.finditer(r"\n", text[:_MOST_OUTPUT]):
            if match.start() - start >= _CHUNK // 2:
                yield start, min(match.start(), start + _CHUNK)
                start = match.end()
        if start < min(len(text), _MOST_OUTPUT):
            yield start, min(len(text), start + _CHUNK)
