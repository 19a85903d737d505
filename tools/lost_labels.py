"""The labelled transcripts of `../shared/data/claude-code/lost`, and when a listed item is what a label names.

A label is *right* if it is worth 2 or more and the summary does not contain it. An item matches a label if the label's
quote stands in the first 300 characters of the item's text or of its span in the turn, with white space made even. With
`same_command`, a command also matches if every simple command of the quote is one of the item's: `pytest -q 2>&1 | tail
-5` is `pytest -q`. The two are reported side by side.
"""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from slicebase.base import Slicebase
from slicebase.context.lost.items import TranscriptItem
from slicebase.context.lost.judged import CompactedTurns
from slicebase.context.lost.shell import simple_commands
from slicebase.graph.contents import readable_text
from slicebase.graph.turn import Turn
from slicebase.history.compactions import compacted_sessions, compactions
from slicebase.history.imports import import_inputs
from slicebase.history.inputs import inputs
from slicebase.importers.values import Options

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
LABELLED = DATA / "claude-code" / "lost"
COUNTED = 300  # characters of an item


class Label(NamedTuple):
    session: str
    kind: str
    quote: str
    in_summary: str
    worth: int

    @property
    def right(self) -> bool:
        return self.worth >= 2 and self.in_summary == "no"


class Compaction(NamedTuple):
    """A compaction of a real transcript, the turns that followed it, and the labels of its items, if it has some."""

    session: str
    turns: CompactedTurns
    after: list[Turn]
    labels: list[Label]


class Corpus(NamedTuple):
    base: Slicebase
    folder: TemporaryDirectory[str]
    compactions: list[Compaction]

    @property
    def labelled(self) -> list[Compaction]:
        return [each for each in self.compactions if each.labels]


@cache
def corpus(*, only_labelled: bool = False) -> Corpus | None:
    """Reads the transcripts with a compaction into a temporary workspace; None where the data is absent."""
    if not (LABELLED / "labels.jsonl").exists():
        return None
    folder = TemporaryDirectory()
    base = Slicebase.open(folder.name, folder.name, create=True)
    paths = sorted(LABELLED.glob("*-*.jsonl"))
    if not only_labelled:
        paths += sorted((DATA / "claude-code" / "compacted").glob("*.jsonl")) + sorted((DATA / "codex").glob("*.jsonl"))
    with base.truth.database.bulk():  # without an index: few readers need one, and they fill it
        import_inputs(base.truth, inputs(paths), Options())
    labels = [json.loads(line) for line in (LABELLED / "labels.jsonl").read_text().splitlines()]
    read = [Label(each["session"], each["kind"], each["quote"], each["in_summary"], each["worth"]) for each in labels]
    found = []
    for session in sorted(compacted_sessions(base.truth)):
        removed, since = compactions(base.truth, session)
        following = [*(each.before for each in removed[1:]), since]
        for number, (turns, after) in enumerate(zip(removed, following, strict=True)):
            own = [label for label in read if label.session == session] if number == 0 else []
            found.append(Compaction(session, turns, list(after), own))
    return Corpus(base, folder, found)


def matching(item: TranscriptItem, turn: Turn, labels: Iterable[Label], *, same_command: bool = True) -> list[Label]:
    """Returns the labels that an item of a turn matches."""
    text = readable_text(turn.parts)[item.start : item.end]
    shown = (_even(item.text)[:COUNTED], _even(text)[:COUNTED])
    return [
        label
        for label in labels
        if any(_even(label.quote) in text for text in shown) or (same_command and _is_same_command(item, label))
    ]


def _is_same_command(item: TranscriptItem, label: Label) -> bool:
    simple = simple_commands(label.quote) if label.kind == item.kind == "command" else ()
    return bool(simple) and set(simple) <= set(item.quotes)


def _even(text: str) -> str:
    return " ".join(text.split())
