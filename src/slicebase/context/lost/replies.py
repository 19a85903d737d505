"""What the next prompt does with an answer, where it does not repeat the words of it (docs/lost.md).

"Roll it back" takes back what was changed in the exchange before, "2 is too lax, make it 1" the number in its answer,
and after "fix that" a problem in it is one no longer. Each holds once the prompt itself was answered.
"""

import re
from typing import Final

from slicebase.context.lost.items import ItemState, TranscriptItem
from slicebase.context.lost.phrases import puts_off
from slicebase.context.lost.requests import Requests
from slicebase.context.lost.words import amounts, sentences

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
_SHORT: Final = 200  # characters of a prompt that is about the answer before it


class Replies:
    """The prompts of a transcript, by what they do with the exchange before."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    def state(self, item: TranscriptItem, end: int, *, is_problem: bool) -> ItemState | None:
        """Returns what the next prompt makes of a statement; None if it leaves it as it is."""
        after = self._requests.next_prompt(item.order)
        if after is None or after.order >= end or item.origin != "speech" or len(after.prompt) > _SHORT:
            return None
        prompt = after.prompt
        is_one = len(list(sentences(item.text))) == 1  # of several, each is judged by itself
        undoes, resets = _UNDOES.search(prompt), is_one and _resets(prompt, item.text)
        fixes = is_problem and _FIXES_IT.search(prompt) and not puts_off(prompt)
        if not (undoes or resets or fixes) or prompt.endswith("?"):
            return None
        if self._requests.state_at(after.order, prompt) != "done":
            return None
        return "resolved" if fixes and not (undoes or resets) else "revised"


def _resets(prompt: str, text: str) -> bool:
    """Returns whether a prompt says that a number in a text is too high or too low, or sets another one of the same."""
    if any(
        re.search(rf"(?<![\w.,]){re.escape(match['number'])}(?![\d.,]\d)", text) for match in _IS_TOO.finditer(prompt)
    ):
        return True
    if not _SETS.match(prompt):
        return False
    said, given = amounts(text), amounts(prompt)
    return any(said[unit] != given[unit] for unit in said.keys() & given.keys())
