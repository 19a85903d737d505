"""How much a continuing agent needs an item that a summary does not contain: a sum of a few weighted features.

The features are general signs, none of them a word of one project. Their weights are data in `weights.py`, which
`tools/lost_weights.py` learned from labelled transcripts; `tt lost --explain` shows the parts of each score.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import log2
from typing import Final

from slicebase.context.lost.artefacts import short_names
from slicebase.context.lost.commands import is_narrow, shape
from slicebase.context.lost.items import TranscriptItem
from slicebase.context.lost.points import MOST
from slicebase.context.lost.requests import exchanges
from slicebase.context.lost.words import Passages, names
from slicebase.graph.turn import Turn

_NEGATES: Final = re.compile(
    r"\b(?:not|never|no longer|only|without|cannot|nothing|none|missing|but|however|although|instead|silently)\b|n't\b",
    re.IGNORECASE,
)
_POINTS_BACK: Final = re.compile(r"\b(?:it|this|that|them|these|those)\b", re.IGNORECASE)
_PLACE: Final = re.compile(r"\w\.\w{1,5}:\d+|\blines? \d+")
_DONE: Final = re.compile(
    r"✅|✓|☑|\[x\]|\ball (?:\w+ )?pass|(?:^|[.!] )\W*(?:fixed|added|updated|created|removed|done|changed)\b|"
    r"\bnow (?:use|pass|work|return)s?\b",
    re.IGNORECASE,
)
_MEASURE: Final = re.compile(r"\d[\d.,]*\s?(?:ms|s\b|sec|min|%|x\b|kb|mb|gb|tokens|lines|files|times)", re.IGNORECASE)
_BOLD: Final = re.compile(r"\*\*[^*]+\*\*")
_SETTING: Final = re.compile(r"(?:^|\s)(?:\w+=\S|--?[A-Za-z][\w-]*[= ]\S)")  # of a command: what one has to know
_LONG: Final = 1000  # characters of a message: it explains or reports


class ScoreBasis:
    """What the score of an item needs to know of its transcript: how often names occur, and where."""

    def __init__(self, turns: Sequence[Turn], summary: Passages, found: Sequence[TranscriptItem]) -> None:
        self.turns = turns
        self.summary = summary
        commands = [item for item in found if item.kind == "command"]
        self.newest_of = {shape(item.quotes[0]): item.order for item in commands} | {
            item.mark: item.order for item in commands
        }

    @cached_property
    def current(self) -> frozenset[str]:
        """The names of the last two prompts and of the turns after them."""
        since = self.prompts[-2] if len(self.prompts) > 1 else 0
        return frozenset().union(
            *(
                names(part.text or "")
                for turn in self.turns[since:]
                if turn.role in ("user", "assistant")
                for part in turn.parts
                if part.type == "text"
            )
        )

    @cached_property
    def known(self) -> frozenset[str]:
        """The names in the summary."""
        return names(self.summary.text)

    @cached_property
    def prompts(self) -> list[int]:
        """The numbers of the turns in which the user says something."""
        return [each.order for each in exchanges(self.turns)]

    @cached_property
    def answers(self) -> dict[int, int]:
        """The length of each message of the assistant that is followed by a prompt, by the number of its turn."""
        found = {}
        spoken = None
        for order, turn in enumerate(self.turns):
            text = sum(len(part.text or "") for part in turn.parts if part.type == "text")
            if turn.role == "assistant":
                spoken = (order, text) if text else None
            elif turn.role == "user" and spoken:
                found[spoken[0]] = spoken[1]
        return found | ({spoken[0]: spoken[1]} if spoken else {})


def features(item: TranscriptItem, around: ScoreBasis, share: float) -> dict[str, float]:
    """Returns the features of an item that are not zero, each from 0 to 1 (`repeated`: the logarithm of a count).

    `share` is the share of the item that the summary has.
    """
    found = {item.kind: 1.0, "absent": 1.0 - min(1.0, share)}
    if item.kind != "instruction":  # a rule does not grow old
        found["recent command" if item.kind == "command" else "recent"] = item.order / max(1, len(around.turns))
    if item.kind in ("command", "artefact", "instruction"):
        found[f"{item.kind}, {item.mark}"] = 1.0
    if item.mark == "rule":
        found["rule by itself"] = float(not _POINTS_BACK.search(item.text))
    if item.kind == "task" and item.mark not in ("said", "offered"):
        found["task, on the list"] = 1.0
    if item.kind == "command":
        found |= _of_command(item, around)
    elif item.kind in ("finding", "decision", "task"):
        found |= _of_statement(item, around)
    return {name: value for name, value in found.items() if value}


def _of_command(item: TranscriptItem, around: ScoreBasis) -> dict[str, float]:
    return {
        "repeated": log2(item.times),
        "failed": float(item.state == "failed"),
        "narrow": float(is_narrow(item.text)),
        "chain": float(len(item.quotes) > 1),
        "plain build": float(item.mark == "build" and not any(map(_SETTING.search, item.quotes))),
        "newest of its class": float(item.order >= around.newest_of.get(item.mark, 0)),
        "a newer one like it": float(item.order < around.newest_of.get(shape(item.quotes[0]), item.order)),
    }


def _of_statement(item: TranscriptItem, around: ScoreBasis) -> dict[str, float]:
    text = item.text[:MOST]
    named = names(text)
    said = item.origin == "speech"
    return {
        "report": float(item.origin == "report"),
        "output": float(item.origin == "output"),
        "interim": float(said and item.order not in around.answers),
        "long answer": float(said and around.answers.get(item.order, 0) > _LONG),
        "open problem": float(item.kind == "finding" and item.state == "open"),
        "question": float(text.rstrip().endswith("?")),
        "listed": float(item.form in ("row", "entry")),
        "done sign": float(item.mark == "reported" or bool(_DONE.search(text))),
        "negates": float(bool(_NEGATES.search(text))),
        "figures": float(bool(_MEASURE.search(text))),
        "place": float(bool(_PLACE.search(text))),
        "emphasis": float(bool(_BOLD.search(text))),
        "code": min(1.0, text.count("`") / 6),
        "names": min(1.0, len(named) / 4),
        "names absent": len(named - around.known) / max(1, len(named)),
        "names current": len(named & around.current) / max(1, len(named)),
    }


def contained(item: TranscriptItem, summary: Passages) -> float:
    """Returns which share of an item a summary has: all of it if it quotes the names of an artefact or a command."""
    if item.quotes:
        if item.mark == "pull request or issue" and any(summary.quote((name,)) for name in short_names(item.quotes[0])):
            return 1.0
        return 1.0 if summary.quote(item.quotes) else 0.5 * summary.coverage(" ".join(item.quotes))
    return summary.coverage(item.text)


def parts_of(found: Mapping[str, float], weights: Mapping[str, float]) -> dict[str, int]:
    """Returns the parts of a score in millionths (ruling 43): each feature times its weight."""
    parts = {name: round(value * weights.get(name, 0.0) * 1_000_000) for name, value in sorted(found.items())}
    return {name: part for name, part in parts.items() if part}
