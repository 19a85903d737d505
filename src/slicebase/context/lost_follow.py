"""Follows the items of a transcript through its turns: what was done or taken back is not lost (docs/lost.md).

standing     it holds: a rule, a decision, a finding, an artefact, a command
open         it waits: the last request, a task, an error
done         a request that was answered before the next one; a task that a later message reports as done
resolved     an error whose command, or a call on whose file, succeeded later
overturned   a statement that the user then contradicted and the assistant took back
gone         a file that was removed later
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from slicebase.context.lost_items import TranscriptItem, read_items
from slicebase.context.lost_output import relied_on
from slicebase.context.lost_phrases import REPORTED
from slicebase.context.lost_shell import command_in, simple_commands
from slicebase.context.lost_speech import CLIENT_PROMPT
from slicebase.context.lost_words import content_stems
from slicebase.graph.turn import Turn

_CONTRADICTS: Final = re.compile(
    r"\s*(?:no\b|nope\b|wait\b|hmm\b|that's (?:not|wrong)|this is(?: not|n't)|not (?:quite|correct|true|right)|"
    r"are you sure|actually\b|but\b|i don't think)|\b(?:is not correct|isn't (?:right|correct|true)|doesn't mean|"
    r"you're wrong|that's wrong|incorrect)\b",
    re.IGNORECASE,
)
_TAKES_BACK: Final = re.compile(
    r"\s*(?:you(?:'re| are) (?:absolutely )?right|good (?:point|catch|question)|fair (?:point|enough)|"
    r"my mistake|i was wrong|sorry|apologies|exactly|great (?:point|catch|question))",
    re.IGNORECASE,
)
_REMOVES: Final = re.compile(r"(?:git )?rm\s(.+)", re.DOTALL)
_MOST_WORDS: Final = 0.5


class _Message(NamedTuple):
    order: int
    text: str


def items(turns: Iterable[Turn]) -> list[TranscriptItem]:
    """Returns the items of turns, in order, each with its state at the end of the turns."""
    turns = list(turns)
    found = [*read_items(turns), *relied_on(turns)]
    return follow(sorted(found, key=lambda item: (item.order, item.start)), turns)


def follow(found: Sequence[TranscriptItem], turns: Sequence[Turn]) -> list[TranscriptItem]:
    """Returns the items with the state that each has after the turns."""
    story = _Story(turns)
    reports = [(item.order, content_stems(item.text)) for item in found if _is_report(item)]
    return [replace(item, state=state) if (state := _state(item, story, reports)) else item for item in found]


class _Story:
    """The prompts and the answers of a transcript, and the files that were removed."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.prompts = [each for each in _messages(turns, "user") if not CLIENT_PROMPT.match(each.text)]
        self.answers = _messages(turns, "assistant")
        self.removed = [
            (order, paths[1])
            for order, turn in enumerate(turns)
            for part in turn.parts
            if part.type == "tool_call" and (command := command_in(part.name, part.arguments))
            for simple in simple_commands(command)
            if (paths := _REMOVES.match(simple))
        ]

    def next_prompt(self, order: int) -> _Message | None:
        at = bisect_right([each.order for each in self.prompts], order)
        return self.prompts[at] if at < len(self.prompts) else None

    def answer_before(self, order: int) -> _Message | None:
        at = bisect_left([each.order for each in self.answers], order)
        return self.answers[at - 1] if at else None

    def answer_after(self, order: int) -> _Message | None:
        at = bisect_right([each.order for each in self.answers], order)
        return self.answers[at] if at < len(self.answers) else None


def _messages(turns: Sequence[Turn], role: str) -> list[_Message]:
    return [
        _Message(order, part.text)
        for order, turn in enumerate(turns)
        if turn.role == role
        for part in turn.parts
        if part.type == "text" and part.text and not part.hidden and not part.error
    ]


def _state(item: TranscriptItem, story: _Story, reports: Sequence[tuple[int, frozenset[str]]]) -> str | None:
    """Returns the new state of an item; None if it stays as it is."""
    if item.kind == "instruction":
        return _of_request(item, story)
    if item.kind == "artefact" and item.mark == "file":
        return "gone" if any(order > item.order and item.text in paths for order, paths in story.removed) else None
    if item.kind in ("finding", "decision", "task") and item.origin == "speech" and _is_overturned(item, story):
        return "overturned"
    if item.kind == "task" and item.mark in ("said", "offered"):
        answered = item.mark == "offered" and story.next_prompt(item.order) is not None
        return "done" if answered or _is_reported(item, reports) else "open"
    return None


def _of_request(item: TranscriptItem, story: _Story) -> str | None:
    if item.mark in ("rule", "correction"):
        return None
    return "done" if story.next_prompt(item.order) else "open"


def _is_overturned(item: TranscriptItem, story: _Story) -> bool:
    """Returns whether the user contradicts the message of an item, and the assistant takes it back."""
    prompt = story.next_prompt(item.order)
    if prompt is None or not _CONTRADICTS.search(prompt.text[:300]):
        return False
    before, after = story.answer_before(prompt.order), story.answer_after(prompt.order)
    return bool(before and before.order == item.order and after and _TAKES_BACK.match(after.text))


def _is_report(item: TranscriptItem) -> bool:
    return item.mark == "reported" or bool(REPORTED.search(item.above[:40]))


def _is_reported(item: TranscriptItem, reports: Sequence[tuple[int, frozenset[str]]]) -> bool:
    sought = content_stems(item.text)
    return any(
        order > item.order and len(sought & stems) >= max(3, _MOST_WORDS * len(sought)) for order, stems in reports
    )
