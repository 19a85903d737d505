"""Ranks what compactions removed by what a prompt asks, less what the newest summary says (docs/lost.md).

The ranker of contexts finds the turns (`context/ranking`), with the words, forms and identifiers of the index. In each
of them, the passages that have the words of the prompt are taken: items, other points, and chunks of output. A lost
item also counts by its place in the list. A prompt of which the index knows no word ("go on") leaves the order to it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from slicebase.context.lost.items import placed_parts
from slicebase.context.lost.judged import KEPT_SHARE, JudgedCompactions, JudgedItem
from slicebase.context.lost.points import points, without_narration
from slicebase.context.lost.speech import is_client_result, without_reminders
from slicebase.context.lost.tools import READERS, SEARCHERS, tool_name
from slicebase.context.lost.words import Passages
from slicebase.graph.turn import Part, Turn

_CHUNK: Final = 600  # characters of a passage of output
_MOST_OUTPUT: Final = 20_000  # characters of one result
_LIST: Final = 0.75  # how much a place in the list counts beside the same place for the prompt
# Below these scores, in millionths, a context is better without a passage: of the labelled compactions, half of the
# tokens name everything that was looked up again.
_LEAST: Final = 500_000
_LEAST_FOR_PROMPT: Final = 500_000
_HALF: Final = 10  # the place that counts half as much as the first


class LostPassage(NamedTuple):
    """A passage of a turn, with its rank for the prompt in millionths, and the lost item in it, if there is one."""

    turn: str
    start: int
    end: int
    text: str
    score: int
    item: JudgedItem | None
    parts: Mapping[str, int] = {}

    @property
    def ref(self) -> str:
        """The reference of the turn that contains it."""
        return f"turn:{self.turn}"


class AskedTurns(NamedTuple):
    """What the ranker of contexts knows of a prompt: the scores of turns, and the worth of the words of a text."""

    scores: Mapping[str, int]
    worth: Callable[[str], int]


class _Chunk(NamedTuple):
    turn: str
    start: int
    end: int
    text: str
    is_output: bool = False


# A prompt of these words alone says that the work goes on, in a few languages; it asks for nothing.
_GOES_ON: Final = re.compile(
    r"(?:\W*\b(?:continue|go|on|ahead|proceed|ok|okay|k|yes|yeah|yep|yup|sure|next|do|it|that|this|so|please|pls|keep|going|"
    r"resume|carry|good|great|perfect|nice|fine|thanks|thank|you|done|now|then|and|the|with|right|alright|lgtm|"
    r"step|task|one|work|on|where|left|off|we|"
    r"weiter|weitermachen|mach|bitte|ja|gut|oui|continuez|continuer|vas|y|si|sigue|continua|adelante|avanti|prosegui|"
    r"da|dalej|tak|ga|door)\b|\W*(?:继续|好的?|是的?|続けて|はい|계속|네))+\W*",
    re.IGNORECASE,
)
_GOES_ON_LENGTH: Final = 60  # characters
# Words of programming languages and of the output of tools: in an output, they are no sign that it is about a prompt.
_OF_CODE: Final = re.compile(
    r"\b(?:continue|break|return|if|else|elif|for|while|do|done|ok|pass|passed|fail|failed|error|errors|true|false|null|"
    r"none|nil|import|from|func|function|def|class|type|var|let|const|new|next|test|tests|run|go|in|is|not|and|or|try|"
    r"except|catch|throw|raise|with|as|async|await|package|public|private|static|void|int|string|str|yes|no|exit|end|"
    r"start|stop|line|file|name|id|key|value|data|self|this)\b",
    re.IGNORECASE,
)


def only_goes_on(prompt: str) -> bool:
    """Returns whether a prompt only says that the work goes on ("ok, continue"): no word of it is sought."""
    return len(prompt) <= _GOES_ON_LENGTH and _GOES_ON.fullmatch(prompt) is not None


def for_prompt(
    asked: AskedTurns, turns: Iterable[Turn], summary: str, judged: JudgedCompactions, limit: int
) -> list[LostPassage]:
    """Returns the passages of turns that a prompt needs and a summary does not contain, the best first.

    Requests that were fulfilled, and other items that nobody needs, are left out: an agent could do them again.
    """
    said = Passages(summary)
    items = {(each.item.turn, each.item.start): (place, each) for place, each in enumerate(judged.items)}
    chunks = [_Chunk(turn, start, each.item.end, each.text) for (turn, start), (_, each) in items.items()]
    chunks += _other_chunks((turn for turn in turns if turn.id in asked.scores), judged)
    places = {chunk: place for place, chunk in enumerate(_by_prompt(asked, chunks))}
    found = []
    for chunk in chunks:
        of_list, item = items.get((chunk.turn, chunk.start), (0, None))
        if item or (chunk in places and said.coverage(chunk.text) < KEPT_SHARE):
            parts = {"prompt": _worth_of_place(places[chunk])} if chunk in places else {}
            if item:
                parts["list"] = round(_LIST * _worth_of_place(of_list))
            found.append(LostPassage(*chunk[:4], sum(parts.values()), item, parts))
    found.sort(key=lambda each: (-each.score, each.turn, each.start))
    return found[:limit]


def _by_prompt(asked: AskedTurns, chunks: Sequence[_Chunk]) -> list[_Chunk]:
    """Returns the passages that have words of the prompt: by the score of the turn and the worth of these words."""
    worths = {
        chunk: asked.worth(_OF_CODE.sub(" ", chunk.text) if chunk.is_output else chunk.text)
        for chunk in chunks
        if chunk.turn in asked.scores
    }
    ranks = {chunk: asked.scores[chunk.turn] * worth for chunk, worth in worths.items() if worth}
    return sorted(ranks, key=lambda chunk: (-ranks[chunk], chunk.turn, chunk.start))


def _worth_of_place(place: int) -> int:
    """Returns what a place in an order counts, in millionths. Places of two orders can be added, scores cannot."""
    return round(1_000_000 / (1 + place / _HALF))


def _other_chunks(turns: Iterable[Turn], judged: JudgedCompactions) -> Iterator[_Chunk]:
    """Yields the passages of turns in which there is no item, listed or not."""
    taken: dict[str, list[tuple[int, int]]] = {}
    for item in (*judged.over, *(each.item for loss in judged.losses for each in loss.judged)):
        taken.setdefault(item.turn, []).append((item.start, item.end))
    for turn in turns:
        for chunk in _chunks(turn):
            if not any(start < chunk.end and chunk.start < end for start, end in taken.get(turn.id, ())):
                yield chunk


def _chunks(turn: Turn) -> Iterator[_Chunk]:
    """Yields passages of what the assistant said and what tools returned. Of the user's words, only items count."""
    for part, text, place in placed_parts(turn) if turn.role in ("assistant", "tool") else ():
        for start, end in _spans(part, text):
            yield _Chunk(turn.id, place + start, place + end, text[start:end], part.type == "tool_result")


def _spans(part: Part, text: str) -> Iterator[tuple[int, int]]:
    if part.type == "text" and not part.hidden:
        spoken = without_reminders(text)
        told = [without_narration(each, spoken) for each in points(spoken)]
        yield from ((each.start, each.end) for each in told if each)
    elif part.type == "tool_call" and tool_name(part) in READERS | SEARCHERS:
        yield 0, min(len(text), _CHUNK)
    elif part.type == "tool_result" and not is_client_result(text):
        for first, last in _without_reminders(text):
            yield from ((first + start, first + end) for start, end in _output_spans(text[first:last]))


def _without_reminders(text: str) -> Iterator[tuple[int, int]]:
    """Yields the spans of an output between the reminders of the client, which a passage must not contain."""
    cleared = without_reminders(text)
    if cleared == text:
        yield 0, len(text)
        return
    start = 0
    for place in (*(at for at in range(len(text)) if text[at] != cleared[at]), len(text)):
        if place > start and cleared[start:place].strip():
            yield start, start + len(cleared[start:place].rstrip())
        start = place + 1


def _output_spans(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in re.finditer(r"\n", text[:_MOST_OUTPUT]):
        if match.start() - start >= _CHUNK // 2:
            yield start, min(match.start(), start + _CHUNK)
            start = match.end()
    if start < min(len(text), _MOST_OUTPUT):
        yield start, min(len(text), start + _CHUNK)


def in_order(items: Sequence[JudgedItem]) -> list[LostPassage]:
    """Returns lost items as passages, in their order."""
    return [
        LostPassage(each.item.turn, each.item.start, each.item.end, each.text, each.score, each, each.parts)
        for each in items
    ]


def is_worth_its_room(passage: LostPassage) -> bool:
    """Returns whether a context that has room for a passage is better with it. Rules and what is open always are."""
    if (judged := passage.item) and (judged.kind == "instruction" or judged.item.can_be_done):
        return True
    if "prompt" in passage.parts:
        return passage.score >= _LEAST_FOR_PROMPT
    return judged is not None and judged.score >= _LEAST
