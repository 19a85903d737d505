"""Follows the items of a transcript through its turns: what is over is not lost (docs/lost.md).

standing     it holds: a rule, a decision, a finding, an artefact, a command
open         it waits: a request without an answer, a task, a problem, an error
interrupted  the user stopped the work on a request
unknown      the user said it in a language in which these rules cannot judge what became of it
done         a request that was answered or that the work moved on from; a task that a later message reports
resolved     an error whose command succeeded later; a problem that a later message reports as fixed
revised      a statement that a later one replaces: with another number of the same, or with "instead of"; a rule that
             the user took back; a run of a few tests that a later one is like; a branch that was left for another one
rejected     a task or a decision that the user refused; a proposal that the user declined
overturned   a statement that the assistant took back, or that the user contradicted without an objection
gone         a file, a branch, a pull request or an issue that was removed or closed

Requests and tasks are followed to the last turn, all else to the last turn before the newest compaction: an agent must
not do again what it did after the compaction.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from slicebase.context.lost.artefacts import Removals
from slicebase.context.lost.commands import is_narrow, shape
from slicebase.context.lost.items import OTHER_LANGUAGE, ItemState, TranscriptItem
from slicebase.context.lost.languages import may_stay
from slicebase.context.lost.numbered import NumberedLists
from slicebase.context.lost.output import relied_on
from slicebase.context.lost.phrases import is_for_later, is_not_yet, kind_of_statement, sets_about_it
from slicebase.context.lost.points import pieces
from slicebase.context.lost.reader import open_tasks, read_items
from slicebase.context.lost.requests import Requests
from slicebase.context.lost.revisions import Revisions, is_problem
from slicebase.context.lost.shell import simple_commands
from slicebase.context.lost.tools import command_in, file_changes
from slicebase.context.lost.words import content_stems, sentences
from slicebase.graph.contents import readable_text
from slicebase.graph.turn import Part, Turn

OVER: Final = frozenset(
    {"done", "resolved", "revised", "rejected", "overturned", "gone"}
)  # states of items that nobody needs


def items(
    turns: Iterable[Turn], after: Iterable[Turn] = (), summaries: Iterable[tuple[int, str]] = ()
) -> list[TranscriptItem]:
    """Returns the items of turns, in order, each with its state; `after` are the turns since the newest compaction.

    `summaries` are texts that say what was done before, each with the number of the last turn that it covers.
    """
    turns = list(turns)
    found = sorted([*read_items(turns), *relied_on(turns)], key=lambda item: (item.order, item.start))
    story = _Story(turns, [*turns, *after], found, list(summaries))
    return [each for item in found for each in _followed(item, story, turns)]


def _followed(item: TranscriptItem, story: "_Story", turns: Sequence[Turn]) -> list[TranscriptItem]:
    """Returns an item with its state; of one that says several things, each by itself if one of them is over."""
    state = story.state(item)
    if item.kind in ("task", "finding", "decision") and item.origin == "speech":
        listed = list(_listed(item, readable_text(turns[item.order].parts)))
        if len(listed) < 2:
            return [replace(item, state=full) if (full := story.in_full(item, state)) else item]
        states = [story.in_full(each, story.state(each)) for each in listed]
        if not OVER.isdisjoint(states) and (state not in OVER or item.form == "entry"):
            return [replace(each, state=state or each.state) for each, state in zip(listed, states, strict=True)]
    return [replace(item, state=state) if state else item]


def _listed(item: TranscriptItem, text: str) -> Iterator[TranscriptItem]:
    """Yields what an item says, each as an item: the entries of a list, the sentences of a paragraph."""
    for piece in pieces(text[item.start : item.end]):
        start, end = item.start + piece.start, item.start + piece.end
        words, above = " ".join(piece.text.split()), piece.above or item.above
        kind, mark = (item.kind, item.mark) if item.kind == "decision" else kind_of_statement(words, above)
        if item.kind == "task" and piece.form == "entry":
            kind, mark = item.kind, item.mark
        yield replace(item, kind=kind, mark=mark, text=words, start=start, end=end, above=above)


_FEW: Final = 4  # content words of a sentence by which a problem of several sentences is settled


class _Story:
    """What a transcript says and does, by which items are followed."""

    def __init__(
        self,
        turns: Sequence[Turn],
        to_the_end: Sequence[Turn],
        found: Iterable[TranscriptItem],
        summaries: Sequence[tuple[int, str]],
    ) -> None:
        self._boundary = len(turns)
        self._end = len(to_the_end)
        self._requests = Requests(to_the_end)
        self._revisions = Revisions(to_the_end, self._requests, summaries)
        self._numbered = NumberedLists(to_the_end, self._revisions.told, self._requests)
        self._removals = _removals(turns)
        self._branch = max(
            (max(item.order, item.last) for item in found if item.kind == "artefact" and item.mark == "branch"),
            default=0,
        )
        # The messages that end with "Let me fix them": what they find is resolved when the work is done.
        self._begun = {
            order
            for order, turn in enumerate(turns)
            if turn.role == "assistant"
            and any(part.type == "text" and sets_about_it(part.text or "") for part in turn.parts)
        }
        self._titles: dict[tuple[int, str], bool] = {}
        self._listed = open_tasks(to_the_end)
        self._newest = {shape(item.quotes[0]): item.order for item in found if item.kind == "command"}

    def state(self, item: TranscriptItem) -> ItemState | None:
        """Returns the new state of an item; None if it stays as it is."""
        if item.kind == "instruction" and item.mark != "rule":
            return self._of_other_language(item) if item.mark == OTHER_LANGUAGE else self._of_request(item)
        if item.kind == "artefact":
            if self._removals.concern(item.order, item.mark, item.quotes[0], item.text):
                return "gone"
            is_left = item.mark == "branch" and max(item.order, item.last) < self._branch
            is_pushed = "set up to track" in item.text
            return "revised" if is_left and not is_pushed else None  # the work has gone on in another one
        if item.kind == "task":
            return self._of_task(item)
        if item.kind in ("instruction", "decision", "finding"):
            return self._of_statement(item)
        if item.kind == "command" and item.state == "standing" and len(item.quotes) == 1 and is_narrow(item.quotes[0]):
            return "revised" if item.order < self._newest[shape(item.quotes[0])] else None
        return None

    def in_full(self, item: TranscriptItem, state: ItemState | None) -> ItemState | None:
        """Returns the new state of an item, given that of its words; over is also one with a sentence that is over."""
        if state in OVER:
            return state
        said = [each.text for each in sentences(item.text)]
        for text in said if len(said) > 1 else ():
            sentence = replace(item, text=text)
            if self._revisions.is_taken_back(sentence, self._boundary):
                return "overturned"
            is_told = item.kind == "finding" and is_problem(item.text) and len(content_stems(text)) >= _FEW
            if is_told and self._revisions.is_reported(sentence, self._boundary):
                return "resolved"
        return state

    def _of_statement(self, item: TranscriptItem) -> ItemState | None:
        state = self._revisions.state(item, self._boundary)
        if item.kind != "instruction" and self._numbered.is_passed_over(item, self._boundary):
            return "rejected"
        if item.kind == "finding" and item.origin == "speech" and state not in OVER:
            was_begun = item.order in self._begun and is_problem(item.text)
            if self._is_settled(item) or (was_begun and self._requests.state_at(item.order, "") == "done"):
                return "resolved"
        return state

    def _is_settled(self, item: TranscriptItem) -> bool:
        """Returns whether the entry that an item stands in was settled, by its number or by its title."""
        if self._numbered.is_settled(item, self._boundary):
            return True
        return any(self._is_title_settled(item, entry.title) for entry in self._numbered.entry_of(item))

    def _is_title_settled(self, item: TranscriptItem, title: str) -> bool:
        key = (item.order, title)
        if key not in self._titles:
            named = replace(item, text=title)
            self._titles[key] = is_problem(title) and self._revisions.is_settled(named, self._boundary)
        return self._titles[key]

    def _of_other_language(self, item: TranscriptItem) -> ItemState:
        """Returns done for what was acted on, if it has no word of a rule: more cannot be known."""
        return "done" if not may_stay(item.text) and self._requests.was_acted_on(item) else "unknown"

    def _of_request(self, item: TranscriptItem) -> ItemState:
        state = self._requests.state(item)
        return "done" if state != "done" and self._revisions.is_reported(item, self._end) else state

    def _of_task(self, item: TranscriptItem) -> ItemState:
        if item.mark == "offered" and self._requests.next_prompt(item.order) is not None:
            return "done"
        if item.mark == "said" and not is_for_later(item.text, item.above) and not self._requests.is_answer(item):
            exchange = self._requests.exchange_of(item.order)
            if is_not_yet(item.text) or (exchange is not None and exchange.answered_at > item.order):
                return "done"
        if self._numbered.is_settled(item, self._end):
            return "done"
        if self._numbered.is_passed_over(item, self._end):
            return "rejected"
        if item.mark not in ("said", "offered", "planned") and item.text not in self._listed:
            return "done"
        return self._revisions.state(item, self._end) or "open"


def _removals(turns: Sequence[Turn]) -> Removals:
    """Returns what the calls of turns remove."""
    results = {part.call_id: part for turn in turns for part in turn.parts if part.type == "tool_result"}
    found = Removals()
    for order, turn in enumerate(turns):
        for part in turn.parts if turn.role == "assistant" else ():
            result = results.get(part.call_id)
            if part.type == "tool_call" and not (result and result.error):
                _add_removals(found, order, part, (result.text if result else None) or "")
    return found


def _add_removals(found: Removals, order: int, call: Part, output: str) -> None:
    for simple in simple_commands(command_in(call.name, call.arguments) or ""):
        found.add(order, simple, output)
    for change in file_changes(call):
        if change.how == "removed":
            found.add_file(order, change.path)
