"""The items of a transcript: what a continuing agent may need of it, each with its state (docs/lost.md).

instruction   what the user says, each point once; a tool call that the user refused, with the reason
decision      what the user or the assistant settled; an answer that the user chose
finding       a conclusion of the assistant or of a subagent; a line of output that the assistant then relied on
artefact      a branch, a commit, a pull request, an issue, a URL, a file that was created
task          an entry of the newest list of tasks; a step of an approved plan; what the assistant says is to be done
error         a failure that a command reported
command       a command that is needed again: it builds, tests, checks, or calls a tool of the project

`reader.py` reads them from turns and `follow.py` sets their states. Neither knows anything of a summary.
"""

from collections.abc import Iterator
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from slicebase.context.lost.phrases import LostKind
from slicebase.context.lost.speech import SpeechOrigin
from slicebase.graph.contents import readable_text
from slicebase.graph.turn import Part, Turn

ItemState = Literal[
    "standing", "open", "interrupted", "unknown", "failed", "unfinished",
    "done", "resolved", "revised", "rejected", "overturned", "gone",
]  # fmt: skip

OTHER_LANGUAGE: Final = "in another language"  # the mark of what the user says and these rules cannot judge


class TranscriptItem(Struct, frozen=True):
    """Something that a continuing agent may need, with its turn and its span in the readable text of the turn."""

    kind: LostKind
    text: str
    mark: str  # who said it, what it is, or how it ended
    turn: str
    start: int
    end: int
    order: int  # the number of its turn, from 0
    state: ItemState = "standing"
    origin: SpeechOrigin = "speech"
    form: str = "paragraph"
    above: str = ""  # the heading that it stands under
    result: str | None = None  # the turn with the result of the call
    first: str = ""  # the turn of the first of repeated actions, if it is another one
    last: int = -1  # the number of the turn of the last of repeated statements, if it is another one
    times: int = 1
    # The texts that must all be quoted for a summary to contain the item. Without them, its words decide.
    quotes: tuple[str, ...] = ()

    @property
    def can_be_done(self) -> bool:
        """Whether somebody may act on it: a request that is no rule, a task, an error."""
        return self.kind in ("task", "error") or (self.kind == "instruction" and self.mark != "rule")


def placed_parts(turn: Turn) -> Iterator[tuple[Part, str, int]]:
    """Yields the parts of a turn, each with its readable text, and its place in the readable text of the turn."""
    place = 0
    for part in turn.parts:
        text = readable_text((part,))
        yield part, text, place
        place += len(text) + 2 if text else 0  # the blank line between parts


class FoundItems:
    """Items by what they are: a repeated one counts once."""

    def __init__(self) -> None:
        self._items: dict[tuple[Any, ...], TranscriptItem] = {}

    def __iter__(self) -> Iterator[TranscriptItem]:
        return iter(self._items.values())

    def has(self, item: TranscriptItem, *identity: str) -> bool:
        """Returns whether there is an item like this."""
        return _key(item, *identity) in self._items

    def add(self, item: TranscriptItem, *identity: str) -> tuple[Any, ...]:
        """Adds an item and returns its key. Of repeated statements the first stays, of all else the last."""
        key = _key(item, *identity)
        lasting = _is_statement(item)
        before = self._items.get(key) if lasting else self._items.pop(key, None)
        if before is None:
            self._items[key] = item
        else:
            kept = before if lasting else replace(item, first=before.first or before.turn)
            self._items[key] = replace(kept, times=before.times + 1, last=item.order if lasting else -1)
        return key

    def make_good(self, key: tuple[Any, ...]) -> None:
        """Says that what had failed has worked since: an error is resolved, a command stands."""
        if (item := self._items.get(key)) is not None:
            self._items[key] = replace(item, state="resolved" if item.kind == "error" else "standing")


def _is_statement(item: TranscriptItem) -> bool:
    is_request = item.kind == "instruction" and item.mark != "rule"
    return item.kind not in ("command", "error") and item.mark != "file" and not is_request


def _key(item: TranscriptItem, *identity: str) -> tuple[Any, ...]:
    if item.kind in ("command", "error", "artefact"):
        return (item.kind, *identity)
    return (item.kind, *(" ".join(words.lower().split()) for words in identity))
