"""What the next prompt does with an answer, where it does not repeat the words of it (docs/lost.md).

"Roll it back" takes back what was changed in the exchange before, "2 is too lax, make it 1" the number in its answer,
and after "fix that" a problem in it is one no longer; "replace stripe" ends all that was said of it. Each holds once
the prompt itself was answered.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from slicebase.context.lost.items import ItemState, TranscriptItem
from slicebase.context.lost.phrases import is_change, is_ordered, ordered, proposes, puts_off
from slicebase.context.lost.requests import Exchange, Requests
from slicebase.context.lost.words import all_amounts, amounts, figures, sentences

_WHAT: Final = (
    r"(?:it|that|this|these|those|them|everything|all of (?:it|that|them)|(?:the|your|that|this|these|those) "
    r"(?:last |latest |whole )?(?:changes?|edits?|commit|step|thing))"
)
_UNDOES: Final = re.compile(
    rf"\b(?:revert|undo|back out|take back|roll back)\s+{_WHAT}\b|\b(?:roll|take|change|put|turn) {_WHAT} back\b|"
    r"\A\W*(?:(?:ok|okay|no|sorry|please|then|so)\W+)*(?:revert|undo|roll back)\W*\Z|"
    r"\b(?:go|switch|change) back to (?:the|how|what|as) (?:old|previous|original|former|it was|we had|before)\b",
    re.IGNORECASE,
)
_NUMBER: Final = r"(?P<number>\d+(?:[.,]\d+)*)"
_IS_TOO: Final = re.compile(
    rf"(?<![\w.]){_NUMBER}\s?(?:%|\w+)?(?:'s| is| are| was| sounds?| seems?| feels?)\s+"
    r"(?:(?!not\b|never\b)\w+ ){0,2}too \w+",
    re.IGNORECASE,
)
_SETS: Final = re.compile(
    r"\A\W*(?:(?:no|ok|okay|hm+|actually|please|then|so|good|but|wait|rather|sorry|and|let's)\W+)*"
    r"(?:(?:make|set|change|use|take|do|try|go with|put|raise|lower|increase|decrease|reduce|limit|only|just)\b|\d)",
    re.IGNORECASE,
)
_FIXES_IT: Final = re.compile(
    r"\b(?:fix|correct|repair|solve|resolve|address|handle|change|clean up)\s+"
    r"(?:it|that|this|them|these|those|both|all(?: of (?:it|them|these|those))?)\b",
    re.IGNORECASE,
)
_INSTEAD: Final = re.compile(r"\binstead\W*(?:\Z|[.,;:!])", re.IGNORECASE)
_DOES_SO: Final = re.compile(
    r"\A\W*(?:(?:yes|yep|yeah|ok|okay|good|great|right|sure|then|please|so|fine)\W+)*"
    r"(?:do|implement|build|apply) (?:so|it|that|this)(?=\s*(?:\Z|[.,;:!]|(?:please|now|too|and|then|for|in|with)\b))",
    re.IGNORECASE,
)
_SHORT_ANSWER: Final = 400  # characters; of a longer one, not all is what the user orders
# What a user orders to remove or to replace, by its name: "replace stripe", "get rid of `parse_all`".
_REMOVES: Final = re.compile(
    r"(?:\A|[.,;:!]\s+|\b(?:and|then|now|please|just|also|let's|to|can you|should)\s+)"
    r"(?:remove|replace|drop|ditch|delete|get rid of|throw out|migrate away from|(?:switch|move) (?:away )?from)\s+"
    r"(?:all (?:of )?)?(?P<what>`[^`\n]+`|[\w./-]+)"
    r"(?=\s*(?:\Z|[.,;:!]|\b(?:everywhere|again|completely|entirely|altogether|please|now)\b|"
    # What is replaced in one place is not replaced elsewhere.
    r"\b(?:with|by|to)\b(?![^.;:!?\n]*\b(?:in|on|at|for|inside|within|of|from)\b)))",
    re.IGNORECASE,
)
_ANY: Final = frozenset(
    {
        "it", "that", "this", "them", "these", "those", "everything", "all", "both", "one", "some", "any", "anything",
        "something", "comments", "logs", "tests", "files", "duplicates", "code", "support",
    }
)  # fmt: skip
_SHORT: Final = 200  # characters of a prompt that is about the answer before it


class _Reply(NamedTuple):
    """A short prompt that was done, by what it says of the answer before it."""

    replaces: bool
    fixes: bool
    does_so: bool
    puts_off: bool
    too: frozenset[str]  # the numbers that are too high or too low
    sets: Mapping[str, set[str]]  # the amounts that it sets


class Replies:
    """The prompts of a transcript, by what they do with the exchange before."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._replies: dict[int, _Reply | None] = {}
        self._undone = dict(_undone(requests))
        self._removed: dict[str, list[int]] = {}  # the prompts that have something removed, by its name
        for each in requests.all:
            for match in ordered(_REMOVES, each.prompt[:_FIRST]):
                what = match["what"].strip("`").lower()
                if what not in _ANY and requests.state_at(each.order, each.prompt) == "done":
                    self._removed.setdefault(what, []).append(each.order)

    def state(self, item: TranscriptItem, end: int, *, is_problem: bool) -> ItemState | None:
        """Returns what a later prompt makes of a statement; None if it leaves it as it is."""
        if item.origin != "speech":
            return None
        asked = self._requests.exchange_of(item.order)
        if self._is_removed(item, end) or (asked and self._undone.get(asked.order, end) < end):
            return "revised"
        after = self._requests.next_prompt(item.order)
        if after is None or after.order >= end:
            return None
        if after.order not in self._replies:
            self._replies[after.order] = self._read(after)
        reply = self._replies[after.order]
        return self._by_reply(item, reply, is_problem=is_problem) if reply else None

    def _is_removed(self, item: TranscriptItem, end: int) -> bool:
        """Returns whether a statement is about what the user ordered to remove, and that was done."""
        text = item.text.lower()
        for what, orders in self._removed.items():
            if what in text and _is_named(what, text):
                at = bisect_right(orders, item.order)
                if at < len(orders) and orders[at] < end:
                    return True
        return False

    def _read(self, exchange: Exchange) -> _Reply | None:
        prompt = exchange.prompt
        if len(prompt) > _SHORT or prompt.endswith("?"):
            return None
        if self._requests.state_at(exchange.order, prompt) != "done":
            return None
        return _Reply(
            replaces=is_ordered(_INSTEAD, prompt),
            fixes=is_ordered(_FIXES_IT, prompt),
            does_so=_DOES_SO.match(prompt) is not None,
            puts_off=puts_off(prompt),
            too=frozenset(match["number"] for match in _IS_TOO.finditer(prompt)),
            sets=all_amounts(prompt) if _SETS.match(prompt) else {},
        )

    def _by_reply(self, item: TranscriptItem, reply: _Reply, *, is_problem: bool) -> ItemState | None:
        """Returns what a prompt makes of a statement. Of several sentences, each is judged by itself."""
        is_one = len(list(sentences(item.text))) == 1
        if is_one and _resets(reply, item.text):
            return "revised"
        if reply.replaces and is_one and (item.kind == "decision" or is_change(item.text, "")):
            return "revised"
        if reply.puts_off:
            return None
        if is_problem and reply.fixes:
            return "resolved"
        if is_one and item.kind == "finding" and proposes(item.text):
            return "resolved"  # it was taken up, or passed over
        does_so = reply.does_so and item.kind != "decision"  # what is done as decided stays decided
        return "resolved" if does_so and self._is_short_answer(item) else None

    def _is_short_answer(self, item: TranscriptItem) -> bool:
        asked = self._requests.exchange_of(item.order)
        return asked is not None and asked.answered_at == item.order and len(asked.answer) <= _SHORT_ANSWER


def _is_named(what: str, text: str) -> bool:
    """Returns whether a text has a name, and not a common noun of the same letters: "each user"."""
    found = re.finditer(rf"(?<![\w-]){re.escape(what)}(?![\w-])", text)
    return any(not _BEFORE_NOUN.search(text[max(0, match.start() - _WORD) : match.start()]) for match in found)


_WORD: Final = 12  # characters
_BEFORE_NOUN: Final = re.compile(
    r"\b(?:an?|the|each|every|any|all|some|no|this|that|these|those|one|another|its|their|your|our|my|other)\s+\Z"
)


def _undone(requests: Requests) -> Iterator[tuple[int, int]]:
    """Yields the exchanges that a prompt undoes, back to the last one that changed something, each with its turn."""
    for at, each in enumerate(requests.all):
        prompt = each.prompt
        if len(prompt) > _SHORT or prompt.endswith("?") or not is_ordered(_UNDOES, prompt):
            continue
        if requests.state_at(each.order, prompt) == "done":
            for before in reversed(requests.all[max(0, at - _BACK) : at]):
                yield before.order, each.order
                if before.acts:
                    break


_BACK: Final = 3  # exchanges in which the user asked about what he then has undone
_FIRST: Final = 600  # characters of a prompt


def _resets(reply: _Reply, text: str) -> bool:
    """Returns whether a number in a text is too high or too low, or another one of the same is set."""
    if not reply.too.isdisjoint(figures(text)):
        return True
    said = amounts(text) if reply.sets else {}
    return any(reply.sets[unit] - {said[unit]} for unit in said.keys() & reply.sets.keys())
