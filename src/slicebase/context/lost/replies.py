"""What the next prompt does with an answer, where it does not repeat the words of it (docs/lost.md).

"Roll it back" takes back what was changed in the exchange before, "2 is too lax, make it 1" the number in its answer,
and after "fix that" a problem in it is one no longer; "replace stripe" ends all that was said of it. Each holds once
the prompt itself was answered.
"""

import re
from typing import Final

from slicebase.context.lost.items import ItemState, TranscriptItem
from slicebase.context.lost.phrases import is_change, puts_off
from slicebase.context.lost.requests import Requests
from slicebase.context.lost.words import all_amounts, amounts, sentences

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
    rf"(?<![\w.]){_NUMBER}\s?(?:%|\w+)?(?:'s| is| are| was| sounds?| seems?| feels?)\s+(?:\w+ ){{0,2}}too \w+",
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
_PROPOSES: Final = re.compile(
    r"\b(?:i|we) (?:would |'d )?(?:suggest|propose|recommend)\b|\bi'd (?:suggest|propose|recommend)\b|"
    r"\bmy (?:suggestion|proposal|recommendation)\b|\b(?:we|you) could\b|\bhow about\b",
    re.IGNORECASE,
)
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
    r"(?=\s*(?:\Z|[.,;:!]|\b(?:with|by|to|everywhere|again|completely|entirely|altogether|please|now)\b))",
    re.IGNORECASE,
)
_ANY: Final = frozenset(
    {
        "it", "that", "this", "them", "these", "those", "everything", "all", "both", "one", "some", "any", "anything",
        "something", "comments", "logs", "tests", "files", "duplicates", "code", "support",
    }
)  # fmt: skip
_SHORT: Final = 200  # characters of a prompt that is about the answer before it


class Replies:
    """The prompts of a transcript, by what they do with the exchange before."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._removed = [
            (each.order, match["what"].strip("`"), each.prompt)
            for each in requests.all
            for match in _REMOVES.finditer(each.prompt[:_FIRST])
            if match["what"].lower() not in _ANY
        ]

    def state(self, item: TranscriptItem, end: int, *, is_problem: bool) -> ItemState | None:
        """Returns what a later prompt makes of a statement; None if it leaves it as it is."""
        if item.origin != "speech":
            return None
        if any(self._removes(item, end, *each) for each in self._removed):
            return "revised"
        after = self._requests.next_prompt(item.order)
        if after is None or after.order >= end or len(after.prompt) > _SHORT or after.prompt.endswith("?"):
            return None
        state = self._by_next(item, after.prompt, is_problem=is_problem)
        return state if state and self._requests.state_at(after.order, after.prompt) == "done" else None

    def _removes(self, item: TranscriptItem, end: int, order: int, what: str, prompt: str) -> bool:
        """Returns whether a statement is about what the user ordered to remove, and that was done."""
        return (
            item.order < order < end
            and re.search(rf"(?<![\w-]){re.escape(what)}(?![\w-])", item.text, re.IGNORECASE) is not None
            and self._requests.state_at(order, prompt) == "done"
        )

    def _by_next(self, item: TranscriptItem, prompt: str, *, is_problem: bool) -> ItemState | None:
        """Returns what the next prompt makes of a statement once it is done."""
        is_one = len(list(sentences(item.text))) == 1  # of several, each is judged by itself
        if _UNDOES.search(prompt) or (is_one and _resets(prompt, item.text)):
            return "revised"
        if _INSTEAD.search(prompt) and is_one and (item.kind == "decision" or is_change(item.text, "")):
            return "revised"
        if is_problem and _FIXES_IT.search(prompt) and not puts_off(prompt):
            return "resolved"
        if _PROPOSES.search(item.text) and is_one and item.kind == "finding" and not puts_off(prompt):
            return "resolved"  # it was taken up, or passed over
        if _DOES_SO.match(prompt) and not puts_off(prompt):
            asked = self._requests.exchange_of(item.order)
            is_answer = asked is not None and asked.answered_at == item.order
            return "resolved" if is_answer and asked and len(asked.answer) <= _SHORT_ANSWER else None
        return None


_FIRST: Final = 600  # characters of a prompt


def _resets(prompt: str, text: str) -> bool:
    """Returns whether a prompt says that a number in a text is too high or too low, or sets another one of the same."""
    if any(
        re.search(rf"(?<![\w.,]){re.escape(match['number'])}(?![\d.,]\d)", text) for match in _IS_TOO.finditer(prompt)
    ):
        return True
    if not _SETS.match(prompt):
        return False
    said, given = amounts(text), all_amounts(prompt)
    return any(given[unit] - {said[unit]} for unit in said.keys() & given.keys())
