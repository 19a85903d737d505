"""How much a continuing agent needs an item that a summary does not contain: a sum of a few weighted features.

The features are general signs, none of them a word of one project. Their weights were learned by `tools/lost_weights.py`
from labelled transcripts and are kept as data in `lost_weights.py`; `tt lost --explain` shows the parts of each score.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import log2
from typing import Final

from slicebase.context.lost_items import TranscriptItem
from slicebase.context.lost_points import MOST
from slicebase.context.lost_phrases import CONCLUDED, NARRATION, UNSETTLED
from slicebase.context.lost_words import Passages, names
from slicebase.graph.turn import Turn, turn_text

_PROBLEM_ABOVE: Final = re.compile(
    r"\b(?:issues?|problems?|findings?|gaps?|missing|risks?|concerns?|limitations?|bugs?|causes?|why|results?|evidence|"
    r"key|important|critical|not (?:tested|covered)|analysis|where)\b",
    re.IGNORECASE,
)
_NEGATES: Final = re.compile(
    r"\b(?:not|never|no longer|only|without|doesn't|don't|isn't|aren't|won't|can't|cannot|nothing|none|missing|but|"
    r"however|although|instead|silently)\b|n't\b",
    re.IGNORECASE,
)
_CAUSES: Final = re.compile(
    r"\b(?:because|since|root cause|caused? by|the (?:issue|problem|reason) is|which means|this means|so that|due to|"
    r"why|therefore|results? in|turns out|rules? out|confirm\w*)\b",
    re.IGNORECASE,
)
_PLACE: Final = re.compile(r"\w\.\w{1,5}:\d+|\blines? \d+")
_DONE_SIGN: Final = re.compile(r"✅|✓|☑|\[x\]|\ball (?:tests )?pass|\b(?:fixed|added|updated|created|removed|done)\b", re.IGNORECASE)
_MEASURE: Final = re.compile(r"\d[\d.,]*\s?(?:ms|s\b|sec|min|%|x\b|kb|mb|gb|tokens|lines|files|times)", re.IGNORECASE)


class Surroundings:
    """What the score of an item needs to know of its transcript: how often names occur, and where."""

    def __init__(self, turns: Sequence[Turn], summary: Passages, found: Sequence[TranscriptItem]) -> None:
        self.turns = turns
        self.summary = summary
        commands = [item for item in found if item.kind == "command"]
        self.newest_of = {_shape(item): item.order for item in commands} | {item.mark: item.order for item in commands}

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
    def last_named(self) -> dict[str, int]:
        """The last turn in which each name occurs."""
        return {name: order for order, turn in enumerate(self.turns) for name in names(turn_text(turn.parts)[:20_000])}

    @cached_property
    def known(self) -> frozenset[str]:
        """The names in the summary."""
        return names(self.summary.text)

    @cached_property
    def prompts(self) -> list[int]:
        return [order for order, turn in enumerate(self.turns) if turn.role == "user"]

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


_NARROW: Final = re.compile(r"\s-(?:run|k|t|-filter|-grep|-testNamePattern)[ =]|::|_test\.\w+|\.(?:test|spec)\.")


def _shape(item: TranscriptItem) -> str:
    """Returns what commands have in common that differ only in their arguments: program, subcommand and flags."""
    words = re.sub(r"\"[^\"]*\"|'[^']*'", "", item.quotes[0]).split()
    return " ".join([*words[:2], *(word.partition("=")[0] for word in words[2:] if word.startswith("-"))])


def features(item: TranscriptItem, around: Surroundings) -> dict[str, float]:
    """Returns the features of an item that are not zero."""
    text = item.text[:MOST]
    total = max(1, len(around.turns))
    named = names(text)
    later = max((around.last_named.get(each, 0) for each in named), default=item.order)
    absent = 1.0 - min(1.0, contained(item, around.summary))
    statement = item.kind in ("finding", "decision", "task")
    said = statement and item.origin == "speech"
    found: dict[str, float] = {
        item.kind: 1.0,
        f"{item.kind} {item.mark}": 1.0 if item.kind in ("command", "artefact", "instruction") else 0.0,
        f"state {item.state}": 1.0 if item.state not in ("standing",) else 0.0,
        "absent": absent,
        "recent": item.order / total,
        "repeated": log2(item.times) if item.kind == "command" else 0.0,
    }
    if item.kind == "command":
        found["short command"] = 1.0 if len(item.text) <= 80 else 0.0
        found["narrow"] = float(bool(_NARROW.search(item.text)))
        found["newest of its class"] = float(item.order >= around.newest_of.get(item.mark, 0))
        found["succeeded"] = float(item.order < around.newest_of.get(_shape(item), item.order))
    if statement:
        found |= {
            "report": float(item.origin == "report"),
            "current": len(named & around.current) / max(1, len(named)),
            "names absent": len(named - around.known) / max(1, len(named)),
            "named later": max(0.0, (later - item.order) / total),
            "answer": float(said and item.order in around.answers),
            "long answer": float(said and around.answers.get(item.order, 0) > 1000),
            "interim": float(said and item.order not in around.answers),
            "negates": float(bool(_NEGATES.search(text))),
            "causes": float(bool(_CAUSES.search(text))),
            "unsettled": float(bool(UNSETTLED.search(text))),
            "narration": float(bool(NARRATION.match(text.lstrip("#*- ")))),
            "reported": float(item.mark == "reported"),
            "done sign": float(bool(_DONE_SIGN.search(text))),
            "problem above": float(bool(_PROBLEM_ABOVE.search(item.above + " " + text[:60]))),
            "names": min(1.0, len(named) / 4),
            "code": min(1.0, text.count("`") / 6),
            "place": float(bool(_PLACE.search(text))),
            "figures": float(bool(_MEASURE.search(text))),
            "question": float(text.rstrip(" *_").endswith("?")),
            "row": float(item.form == "row"),
            "entry": float(item.form == "entry"),
            "long": min(1.0, len(text) / 300),
            "concluded": float(bool(CONCLUDED.search(text))),
        }
    return {name: value for name, value in found.items() if value}


def contained(item: TranscriptItem, summary: Passages) -> float:
    """Returns which share of an item a summary has: all of it if it quotes the names of an artefact or a command."""
    if item.quotes:
        return 1.0 if summary.quote(item.quotes) else 0.5 * summary.coverage(" ".join(item.quotes))
    return summary.coverage(item.text)


def parts_of(found: Mapping[str, float], weights: Mapping[str, float]) -> dict[str, int]:
    """Returns the parts of a score in millionths (ruling 43): each feature times its weight."""
    parts = {name: round(value * weights.get(name, 0.0) * 1_000_000) for name, value in sorted(found.items())}
    return {name: part for name, part in parts.items() if part}
