"""Numbered lists of the assistant, and which of their entries were settled by number (docs/lost.md).

"All 5 issues have been fixed", "both are done", "issue #2 is fixed" and "yes, do 1" say what became of entries without
any word of them. An entry is all that stands below its number, up to the next one.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from slicebase.context.lost.items import TranscriptItem, placed_parts
from slicebase.context.lost.phrases import ORDERS, denies, is_change, is_ordered, puts_off
from slicebase.context.lost.requests import Exchange, Requests
from slicebase.context.lost.speech import TextBlock, blocks, without_reminders
from slicebase.context.lost.told import RELATED, Told, share
from slicebase.context.lost.tools import PLANNERS, argument, tool_name
from slicebase.context.lost.words import content_weights, sentences
from slicebase.graph.annotate import words_in
from slicebase.graph.turn import Turn

_THINGS: Final = (
    r"(?:issues?|bugs?|problems?|findings?|items?|points?|comments?|suggestions?|recommendations?|tasks?|steps?|fixes|"
    r"concerns?|gaps?|todos?|options?)"
)
_NUMBERED: Final = re.compile(
    rf"\s*(?P<marks>#{{1,6}}\s*)?(?P<bold>\*\*|__)?\s*(?:{_THINGS}\s+)?#?(?P<number>\d{{1,2}})(?:[.):]|\s[—–-])\s",
    re.IGNORECASE,
)
_COUNTS: Final = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_COUNT: Final = rf"(?:\d{{1,2}}|{'|'.join(_COUNTS)})"
_SETTLED: Final = r"(?:fixed|resolved|addressed|done|implemented|completed?|handled|corrected|in place)"
_ALL_SETTLED: Final = (
    re.compile(rf"\b(all|both)\b(?P<what>[^.;:!?]{{0,60}}?)\b{_SETTLED}\b", re.IGNORECASE),
    re.compile(r"\b(?:fixed|resolved|addressed|implemented|completed|handled|corrected|did) (all|both|everything)\b"
               r"(?P<what>[^.;:!?,(]{0,40})", re.IGNORECASE),
)  # fmt: skip
_NAMES_THINGS: Final = re.compile(
    rf"\b(?:{_THINGS}|them|these|those|{_COUNT})\b|\A\W*(?:(?:are|were|have|is|now|been)\b\W*)*\Z", re.IGNORECASE
)
_OTHER_THINGS: Final = re.compile(
    r"\b(?:tests?|checks?|lint\w*|builds?|files?|suites?|commits?|jobs?)\b", re.IGNORECASE
)
_BY_NUMBER: Final = re.compile(
    rf"(?:\b{_THINGS}\s*#?|(?<![\w/])#)(\d{{1,2}})\b(?:\s*(?:-|–|to|through)\s*#?(\d{{1,2}})\b)?"
    r"((?:\s*(?:,|and|&|or)\s*#?\d{1,2}\b)*)",
    re.IGNORECASE,
)
_PULL: Final = re.compile(r"\b(?:pr|pull request|mr|merge request|gh|ticket)\W*\Z", re.IGNORECASE)
_COUNTED: Final = (  # a number before one of these is not that of an entry: "skip the 3 failing tests"
    r"(?:of|(?:\w+(?:ing|ed) )?(?:tests?|files?|lines?|spaces?|rows?|columns?|words?|characters?|pages?|warnings?|"
    r"errors?|failures?|times|seconds?|minutes?|hours?|days?|weeks?|months?|users?|workers?|threads?|retries|tries|commits?))\b"
)
_CHOSEN: Final = re.compile(
    r"(?<![\w.#-])#?(\d{1,2})(?:\s*(?:-|–|to|through)\s*#?(\d{1,2}))?"
    rf"(?![\w%]|\.\d|\s+{_COUNTED})"
)
_ALL_OF_THEM: Final = re.compile(
    rf"\b(?:all|both)\b(?:\s+(?:of\s+)?(?:the|these|those|them)?\s*(?P<count>{_COUNT})?)?|\beverything\b", re.IGNORECASE
)
_AGREES: Final = re.compile(r"\W*(?:yes|yep|yeah|sure|ok|okay|please|let's|go|do|option)\b", re.IGNORECASE)
_CHOICE: Final = 160  # characters of a prompt that chooses by number
_CLAUSE: Final = re.compile(
    r"[.;:!?\n]\s*|,\s*(?:and|but|then|so)?\s+(?=\D)|,?\s+(?:but|and)\s+(?=\D*\d)|,\s+(?=\w+ \d)"
)
_ANSWERED: Final = re.compile(r"(?<!\S)(?=\d{1,2}[.):]\s)")  # "1. yes 2. no"
_NOT_CHOSEN: Final = re.compile(
    r"\b(?:no|not|skip|never|leave|drop|ignore|except|without|forget|intended|intentional|fine|"
    r"ok as|nothing|wrong|by design|on purpose)\b|n't\b",
    re.IGNORECASE,
)
_PROMPT: Final = 600  # characters of a prompt
_DROPS: Final = re.compile(
    r"\b(?:drop|skip|cancel|forget|omit|leave out|strike|remove|(?:don't|do not) (?:do|need|want)|"
    r"not (?:needed|necessary))\b",
    re.IGNORECASE,
)
_ASKS_WHICH: Final = re.compile(
    r"\b(?:which|option|prefer|choose|pick|favou?r)\b[^?.]*\?|\blet me know which\b", re.IGNORECASE
)


class _Entry(Struct):
    """An entry of a numbered list, with its span in the readable text of its turn."""

    number: int
    start: int
    end: int
    title: str
    settled: int | None = None  # the turn that settles it
    passed: int | None = None  # the turn in which the user chose others
    is_option: bool = False  # the user was asked to choose one


class _List(NamedTuple):
    order: int
    entries: tuple[_Entry, ...]
    text: str  # all of it

    def numbered(self, number: int) -> Iterator[_Entry]:
        return (each for each in self.entries if each.number == number)


class NumberedLists:
    """The numbered lists of a transcript, and what became of their entries by number."""

    def __init__(self, turns: Sequence[Turn], told: Iterable[Told], requests: Requests) -> None:
        self._lists = [each for order, turn in enumerate(turns) for each in _lists(order, turn)]
        self._orders = [each.order for each in self._lists]
        self._in_turn: dict[int, list[_List]] = {}
        for each in self._lists:
            self._in_turn.setdefault(each.order, []).append(each)
        for said in told:
            if not denies(said.text):
                self._report(said)
        for exchange in requests.all:
            self._drop(exchange)
        for before, after in zip(requests.all, requests.all[1:], strict=False):
            self._choose(before, after, requests)

    def entry_of(self, item: TranscriptItem) -> tuple[_Entry, ...]:
        """Returns the entries that an item stands in, of a list and of a part of it."""
        if item.mark == "planned":
            step = _NUMBERED.match(item.text)
            lists = self._in_turn.get(item.order, ()) if step else ()
            return tuple(
                entry
                for each in lists
                for entry in each.entries
                if step and entry.start >= _OF_PLAN and entry.number == int(step["number"])
            )
        return tuple(
            entry
            for each in self._in_turn.get(item.order, ())
            for entry in each.entries
            if entry.start <= item.start < entry.end
        ) or self._only_entry_in(item)

    def _only_entry_in(self, item: TranscriptItem) -> tuple[_Entry, ...]:
        """Returns the entry that an item ends with, if it is one with the words above the list."""
        found = tuple(
            entry
            for each in self._in_turn.get(item.order, ())
            for entry in each.entries
            if item.start < entry.start < item.end
        )
        return found if len(found) == 1 else ()

    def is_settled(self, item: TranscriptItem, end: int) -> bool:
        """Returns whether an item stands in an entry that was settled before a turn, or names only such entries."""
        if any(entry.settled is not None and entry.settled < end for entry in self.entry_of(item)):
            return True
        named = [
            [entry for each in self._in_turn.get(item.order, ()) for entry in each.numbered(number)]
            for number in _numbers(item.text)
        ]
        return bool(named) and all(
            any(entry.settled is not None and entry.settled < end for entry in entries) for entries in named
        )

    def is_passed_over(self, item: TranscriptItem, end: int) -> bool:
        """Returns whether the user chose other entries of the list that an item stands in.

        A finding stays true then, if it is not one of several options.
        """
        return any(
            entry.passed is not None and entry.passed < end and (entry.is_option or item.kind == "task")
            for entry in self.entry_of(item)
        )

    # What settles entries

    def _report(self, said: Told) -> None:
        if (count := _all_settled(said.text)) is not None:
            self._settle_all(said.order, count)
        elif is_change(said.text, said.above):
            for number in (*_numbers(said.text), *_numbers(said.above)):
                self._settle_one(said.order, number)

    def _settle_all(self, order: int, count: int) -> None:
        """Settles the newest list with so many entries, or the newest of all; and older ones about the same."""
        at = bisect_right(self._orders, order)
        newest: dict[str, int] | None = None
        for each in reversed(self._lists[max(0, at - _FAR) : at]):
            if (count and len(each.entries) != count) or _is_report(each):
                continue
            content = dict(content_weights(each.text))
            if newest is None or max(share(content, newest), share(newest, content)) >= RELATED:
                for entry in each.entries:
                    _settle(entry, order)
                if newest is None and each.order != order:
                    newest = content
                if not count:
                    return

    def _drop(self, exchange: Exchange) -> None:
        """Passes over the entries that a prompt drops by number: "drop step 5 of the plan"."""
        for sentence in sentences(exchange.prompt[:_PROMPT]):
            for number in _dropped(sentence.text):
                at = bisect_right(self._orders, exchange.order)
                newest = next((each for each in reversed(self._lists[:at]) if any(each.numbered(number))), None)
                for entry in newest.numbered(number) if newest else ():
                    entry.passed = exchange.order

    def _settle_one(self, order: int, number: int) -> None:
        at = bisect_right(self._orders, order)
        for each in reversed(self._lists[max(0, at - _FAR) : at]):
            if each.order < order and (found := list(each.numbered(number))):
                is_plan = found[0].start >= _OF_PLAN  # its steps are done one after the other
                for entry in (entry for entry in each.entries if entry.number <= number) if is_plan else found:
                    _settle(entry, order)
                return

    def _choose(self, before: Exchange, after: Exchange, requests: Requests) -> None:
        """Settles the entries of an answer that the user chose, once they are done; the others are passed over."""
        prompt = after.prompt.strip()
        lists = self._in_turn.get(before.answered_at, ())
        if not lists or len(prompt) > _CHOICE or not _chooses(prompt):
            return
        found = _ALL_OF_THEM.search(prompt)
        count = _count(found["count"]) if found else 0
        chosen, later, refused = _choice(prompt)
        if count:
            chosen.clear()
        elif chosen or later:
            found = None  # "do 1, the rest is all fine"
        target = next((each for each in reversed(lists) if not count or len(each.entries) == count), None)
        if target is None or not (found or any(list(target.numbered(number)) for number in chosen | later)):
            return
        is_done = requests.state_at(after.order, prompt) == "done"
        at = after.answered_at if after.answered_at > after.order else after.order
        are_options = _ASKS_WHICH.search(before.answer) is not None
        for entry in target.entries:
            entry.is_option = are_options
            if entry.number in refused or not (found or entry.number in chosen | later):
                entry.passed = after.order
            elif is_done and entry.number not in later:
                _settle(entry, at)


def _dropped(sentence: str) -> Iterator[int]:
    """Yields the numbers that a sentence drops, each by its own clause; what is skipped for now is for later."""
    if not _HANGS_ON.search(sentence):
        for clause in _NEXT_CLAUSE.split(sentence):
            if is_ordered(_DROPS, clause) and not puts_off(clause):
                yield from _numbers(clause)


_HANGS_ON: Final = re.compile(r"\?|\b(?:if|unless|when|in case)\b", re.IGNORECASE)
_NEXT_CLAUSE: Final = re.compile(rf"[,;:]\s+(?=[a-z])|\s+(?:and|but|then|so)\s+(?!{_THINGS}\b)(?=[a-z])", re.IGNORECASE)


def _choice(prompt: str) -> tuple[set[int], set[int], set[int]]:
    """Returns the numbers that a prompt chooses, those that it leaves for later, and those that it refuses."""
    chosen, later, refused = set[int](), set[int](), set[int]()
    for clause in (_ANSWERED if _ANSWERED.match(prompt) else _CLAUSE).split(prompt):
        numbers = _range_of(_CHOSEN.finditer(clause))
        (later if puts_off(clause) else refused if _NOT_CHOSEN.search(clause) else chosen).update(numbers)
    return chosen, later - chosen, refused - chosen - later


_FAR: Final = 40  # lists that are looked at, the newest first


def _settle(entry: _Entry, order: int) -> None:
    entry.settled = order if entry.settled is None else min(entry.settled, order)


def _is_report(numbered: _List) -> bool:
    """Returns whether a list tells what was changed."""
    return sum(is_change(entry.title, "") for entry in numbered.entries) * 2 > len(numbered.entries)


def _chooses(prompt: str) -> bool:
    words = words_in(prompt)
    if _AGREES.match(prompt) or re.match(r"\W*#?\d", prompt):
        return True
    return prompt.count("?") <= 1 and not ORDERS.isdisjoint(words[:6]) and "test" not in words


def _all_settled(text: str) -> int | None:
    """Returns how many things were all settled, 0 if this is not said; None if the text does not say so."""
    for pattern in _ALL_SETTLED:
        if (match := pattern.search(text)) is None:
            continue
        what = match["what"]
        if _OTHER_THINGS.search(what) or not _NAMES_THINGS.search(what):
            continue
        if match[1].lower() == "both":
            return 2
        return _count(number[0] if (number := re.search(rf"\b{_COUNT}\b", what, re.IGNORECASE)) else None)
    return None


def _count(word: str | None) -> int:
    if not word:
        return 0
    return int(word) if word.isdigit() else _COUNTS.index(word.lower())


def _numbers(text: str) -> list[int]:
    """Returns the numbers by which a text names entries: "#1-3", "issue 4"."""
    found = []
    for match in _BY_NUMBER.finditer(text):
        if not _PULL.search(text[: match.start()][-20:]):
            found += [*_from_to(match[1], match[2]), *map(int, re.findall(r"\d+", match[3]))]
    return found


def _range_of(matches: Iterable[re.Match[str]]) -> Iterator[int]:
    for match in matches:
        yield from _from_to(match[1], match[2])


def _from_to(first: str, last: str | None) -> range:
    return range(int(first), int(last or first) + 1)


# Reading them


def _lists(order: int, turn: Turn) -> Iterator[_List]:
    """Yields the numbered lists in what the assistant says; of one that is divided by headings, also its parts."""
    for part, text, place in placed_parts(turn) if turn.role == "assistant" else ():
        if part.type == "tool_call" and tool_name(part) in PLANNERS:
            yield from _lists_in(argument(part, ("plan",)) or "", _OF_PLAN, order)
        elif part.type == "text" and not part.hidden:
            yield from _lists_in(text, place, order)


def _lists_in(text: str, place: int, order: int) -> Iterator[_List]:
    if _ANY.search(text):
        found = list(blocks(without_reminders(text)))
        for how in ("#", "*", "1"):
            yield from _lists_of(how, found, text, place, order)


_OF_PLAN: Final = 1 << 40  # an entry of a plan has no place in the readable text: it is found by its number
_ANY: Final = re.compile(r"(?m)^[\s#*_]*(?:\w+\s+)?#?1[.):\s]")


def _lists_of(how: str, found: Sequence[TextBlock], text: str, place: int, order: int) -> Iterator[_List]:
    """Yields the lists whose numbers stand in headings (#), in bold (*), or before entries (1)."""
    entries: list[_Entry] = []
    runs: list[list[_Entry]] = []  # of entries without a heading between them
    is_open = False
    for block in found:
        match = _NUMBERED.match(block.text) if block.form in ("heading", "entry", "paragraph") else None
        if match and _how(match) == how and (how != "1" or block.form == "entry"):
            number = int(match["number"])
            if number != (entries[-1].number + 1 if entries else 1):
                yield from _as_lists(entries, runs, text, place, order)
                entries, runs = [], []
                if number != 1:
                    is_open = False
                    continue
            if is_open and entries:
                entries[-1].end = place + block.start
            if not is_open or not runs:
                runs.append([])
            title = block.text[match.end() :].splitlines()[0].strip("*_ ")
            entries.append(_Entry(number, place + block.start, place + block.end, title))
            runs[-1].append(entries[-1])
            is_open = True
        elif is_open and _ends(how, block):
            entries[-1].end = place + block.start
            is_open = False
        elif is_open:
            entries[-1].end = place + block.end
    yield from _as_lists(entries, runs, text, place, order)


def _how(match: re.Match[str]) -> str:
    return "#" if match["marks"] else "*" if match["bold"] else "1"


def _ends(how: str, block: TextBlock) -> bool:
    if how == "1":
        return block.form != "code" and not (block.form == "entry" and not re.match(r"\d", block.text))
    return block.text.lstrip().startswith("#")


def _as_lists(
    entries: Sequence[_Entry], runs: Sequence[Sequence[_Entry]], text: str, place: int, order: int
) -> Iterator[_List]:
    for each in ([entries] if len(runs) < 2 else [*runs, entries]):  # fmt: skip
        if len(each) > 1 or (each is entries and each):
            yield _List(order, tuple(each), text[each[0].start - place : each[-1].end - place])
