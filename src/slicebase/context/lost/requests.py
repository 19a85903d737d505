"""What became of the requests of the user: fulfilled, still open, or interrupted (docs/lost.md).

A prompt and what follows it up to the next prompt is an exchange. An exchange is answered if it ends with words of the
assistant that do not only announce the next step. A request is done when its answer reports it, or when the work moved
on: a later exchange was answered. A request that was interrupted stays open, unless the next prompt goes on with it or
a later message reports it. One that the next prompt calls off ("never mind") is rejected.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from slicebase.context.lost.items import ItemState, TranscriptItem
from slicebase.context.lost.phrases import asks_to_be_told, denies, is_narration, is_report
from slicebase.context.lost.shell import LOOKING, simple_commands
from slicebase.context.lost.speech import INTERRUPTED, said_by_user
from slicebase.context.lost.tools import WRITERS, command_in, tool_name
from slicebase.context.lost.words import content_stems, sentences
from slicebase.graph.turn import Part, Turn
from slicebase.runs.values import is_blank

# A prompt that begins so is about the work that was interrupted: also one that begins with "that" or "you".
_CONTINUES: Final = re.compile(
    r"\W*(?:no|nope|wait|stop|sorry|actually|rather|instead|continue|go on|go ahead|proceed|yes|yeah|yep|ok|okay|sure|"
    r"please continue|keep going|resume|do it|don't|do not|it|it's|that's|you|you're|too|hm+|oh|undo|revert|"
    # "This button is ugly" is about something else.
    r"(?:that|this)(?=\s*(?:\Z|[^\s\w])|\s+(?:is|was|are|isn't|wasn't|takes?|took|will|won't|would|does|doesn't|should|"
    r"can't|cannot|looks?|goes|needs?|has|must|way)\b))\b",
    re.IGNORECASE,
)
_CALLS_OFF: Final = re.compile(
    r"\W*(?:(?:no|ok|okay|oh|ah|hm+|actually|sorry|wait|stop|well|just)\b[\s,.:;!—–-]*)*"
    r"(?:never ?mind|don't bother|(?:forget|scratch|drop|skip|cancel|abandon|leave)\s+(?:about\s+)?(?:it|that|this))\b"
    # "Never mind the warnings" and "drop that column" are about something else.
    r"(?=\s*(?:\Z|[^\s\w]|(?:it|that|this|then|please|for now|now|instead|completely|entirely|altogether|"
    r"any ?more|i|i'll|we|we'll|let's)\b))",
    re.IGNORECASE,
)
_NO_END: Final = 1 << 62  # a turn after all
_BEGINNING: Final = 60  # characters of a statement by which it is found again
_SHARED: Final = 1 / 3  # of the words of a request, in an answer to it or in a prompt that goes on with it


class Exchange(Struct):
    """A prompt, and what followed up to the next prompt."""

    order: int  # of the prompt
    prompt: str
    reply: str = ""  # the first words of the assistant
    answer: str = ""  # its last words
    answered_at: int = -1  # the turn of these
    is_answered: bool = False  # they ended it: no call came after them
    is_interrupted: bool = False
    acts: bool = False  # a file was written, or a command run that does more than look

    def reports(self, request: str) -> bool:
        """Returns whether the answer fulfils a request: it says what was asked, or that something was done."""
        told = [each.text for each in sentences(self.answer)]
        if not self.is_answered or not told or is_narration(told[-1]):
            return False
        if asks_to_be_told(request) or any(map(is_report, told)):
            return True
        said = [each for each in told if not each.endswith("?") and not denies(each)]
        return _share(content_stems(request), content_stems(" ".join(said))) >= _SHARED


def exchanges(turns: Sequence[Turn]) -> list[Exchange]:
    """Returns the exchanges of turns, in order."""
    found: list[Exchange] = []
    for order, turn in enumerate(turns):
        for part in turn.parts:
            text = part.text or ""
            if turn.role == "user" and part.type == "text" and not part.hidden and not part.error:
                if not is_blank(said := said_by_user(text).strip()):
                    found.append(Exchange(order, said))
                elif found and INTERRUPTED.match(text):
                    found[-1].is_interrupted = True
            elif turn.role == "assistant" and part.type == "text" and (part.hidden or part.error or is_blank(text)):
                continue  # an error of the client is no answer
            elif found and turn.role == "assistant" and part.type == "text":
                found[-1].answer, found[-1].answered_at, found[-1].is_answered = text, order, True
                found[-1].reply = found[-1].reply or text
            elif found and part.type == "tool_call":
                found[-1].is_answered = False
                found[-1].acts = found[-1].acts or _acts(part)
    return found


def _acts(call: Part) -> bool:
    command = command_in(call.name, call.arguments)
    return tool_name(call) in WRITERS or any(not LOOKING.match(each) for each in simple_commands(command or ""))


class Requests:
    """The exchanges of a transcript, by which requests are followed."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._all = exchanges(turns)
        self._orders = [each.order for each in self._all]
        # From which exchange on there is one that was answered and not interrupted: before it, the work moved on.
        self._moved_on = max((at for at, each in enumerate(self._all) if each.is_answered), default=-1)

    @property
    def all(self) -> Sequence[Exchange]:
        """All exchanges, in order."""
        return self._all

    def exchange_of(self, order: int) -> Exchange | None:
        """Returns the exchange in which a turn stands."""
        at = bisect_right(self._orders, order) - 1
        return self._all[at] if at >= 0 else None

    def state(self, item: TranscriptItem) -> ItemState:
        """Returns the state of a request: done, rejected, open or interrupted."""
        return self.state_at(item.order, item.text)

    def state_at(self, order: int, text: str) -> ItemState:
        """Returns the state of a request that stands in a turn."""
        at = bisect_right(self._orders, order) - 1
        if at < 0:
            return "open"
        while not self._is_called_off(at):
            if not self._all[at].is_interrupted:
                return "done" if at < self._moved_on or self._all[at].reports(text) else "open"
            if at + 1 == len(self._all) or not self._goes_on(self._all[at], self._all[at + 1]):
                return "interrupted"
            at += 1
        return "rejected"

    def _is_called_off(self, at: int) -> bool:
        return at + 1 < len(self._all) and _CALLS_OFF.match(self._all[at + 1].prompt) is not None

    def was_acted_on(self, item: TranscriptItem) -> bool:
        """Returns whether a request was answered after something was done about it, in whatever language it is."""
        exchange = self.exchange_of(item.order)
        return exchange is not None and exchange.acts and self.state(item) == "done"

    def is_answer(self, item: TranscriptItem) -> bool:
        """Returns whether a statement stands in the words that ended an exchange, not while work went on."""
        at = bisect_right(self._orders, item.order) - 1
        return at < 0 or item.text[:_BEGINNING] in " ".join(self._all[at].answer.split())

    def order_after(self, order: int, exchanges: int) -> int:
        """Returns the turn that comes after so many exchanges, with that of a turn."""
        at = bisect_right(self._orders, order) - 1 + exchanges
        return self._orders[at] if at < len(self._orders) else _NO_END

    def next_prompt(self, order: int) -> Exchange | None:
        """Returns the exchange that begins after a turn."""
        at = bisect_right(self._orders, order)
        return self._all[at] if at < len(self._all) else None

    def _goes_on(self, before: Exchange, after: Exchange) -> bool:
        """Returns whether a prompt goes on with the request that was interrupted before it."""
        asked = content_stems(before.prompt)
        return bool(_CONTINUES.match(after.prompt)) or _share(content_stems(after.prompt), asked) >= _SHARED


def _share(sought: frozenset[str], among: frozenset[str]) -> float:
    return len(sought & among) / len(sought) if sought else 0.0
