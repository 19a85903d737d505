"""Facts in the output of tools that the assistant then relied on (docs/lost.md).

A line of a short output is such a fact if it has a name that occurs nowhere before, and the assistant uses the name in
what it says in the next turns. Neighbouring lines are one finding, as far as they fit.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from slicebase.context.lost.items import TranscriptItem, placed_parts
from slicebase.context.lost.points import MOST
from slicebase.context.lost.speech import is_client_result, without_reminders
from slicebase.context.lost.tools import READERS, REPORTERS, WRITERS, tool_name
from slicebase.context.lost.words import names
from slicebase.graph.turn import Part, Turn

_SHORT: Final = 4_000  # characters of an output; of a longer one, too much is incidental
_SOON: Final = 12  # turns in which the assistant uses the name
_NOT_OUTPUT: Final = READERS | WRITERS | REPORTERS
_DATA: Final = re.compile(r"\s*(?:\w+:\s*)?[\[{]+\s*\"")  # a line of JSON, as the links of a search


def relied_on(turns: Sequence[Turn]) -> list[TranscriptItem]:
    """Returns the facts of outputs that the assistant used soon after."""
    calls = {part.call_id: part for turn in turns for part in turn.parts if part.type == "tool_call"}
    said = [_said(turn) for turn in turns]
    known: set[str] = set()
    found: list[TranscriptItem] = []
    for order, turn in enumerate(turns):
        for part, text, place in placed_parts(turn):
            if _is_output(part, calls) and len(text) <= _SHORT and not is_client_result(text):
                used = frozenset().union(*said[order + 1 : order + 1 + _SOON])
                if sought := used - known:
                    found += _facts(turn.id, order, without_reminders(text), place, sought)
            known |= names(text[:20_000])
    return found


def _said(turn: Turn) -> frozenset[str]:
    texts = [part.text or "" for part in turn.parts if part.type == "text"] if turn.role == "assistant" else []
    return frozenset().union(*map(names, texts))


def _is_output(part: Part, calls: Mapping[str | None, Part]) -> bool:
    call = calls.get(part.call_id) if part.type == "tool_result" else None
    return call is not None and tool_name(call) not in _NOT_OUTPUT


def _facts(turn: str, order: int, text: str, place: int, sought: frozenset[str]) -> Iterator[TranscriptItem]:
    spans: list[tuple[int, int]] = []
    start = 0
    for line in text.splitlines(keepends=True):
        end = start + len(line.rstrip())
        if not names(line).isdisjoint(sought) and not _DATA.match(line):
            if spans and end - spans[-1][0] <= MOST and start - spans[-1][1] <= 2:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
        start += len(line)
    for first, last in spans:
        words = " ".join(text[first:last].split())
        yield TranscriptItem(
            "finding", words[:MOST], "relied on", turn, place + first, place + last, order, origin="output"
        )
