"""What became of statements: resolved, revised, rejected or overturned by what was said later (docs/lost.md).

Each statement is followed by itself: what is said later concerns it if both have names or most of the words in common.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from slicebase.context.lost_items import ItemState, TranscriptItem
from slicebase.context.lost_phrases import is_change, is_temporary
from slicebase.context.lost_points import points
from slicebase.context.lost_requests import Requests
from slicebase.context.lost_speech import said_by_user, typed, without_reminders
from slicebase.context.lost_words import Sentence, StatementIndex, content_stems, content_weights, names, sentences
from slicebase.graph.turn import Turn

# Shares of the content of a statement that a later one must have to be about the same.
_SAME: Final = 0.5
_RELATED: Final = 0.3  # if they also have a name in common
_NOTHING_ELSE: Final = 0.6  # of the content of the later one
_FEW_WORDS: Final = 3  # content words of an answer that says no more than no
_ALL_OF_IT: Final = 0.8  # what allows less than a rule forbids does not lift it

_PROBLEM: Final = re.compile(
    r"\b(?:bugs?|issues?|problems?|fail\w*|errors?|wrong\w*|incorrect\w*|broken|missing|miss(?:es|ed)|lacks?|leaks?|races?|"
    r"crash\w*|truncat\w+|ignor\w+|duplicat\w+|weak\w*|stale|unused|silently|unclear|hardcoded|gaps?|risks?|slow\w*|"
    r"expensive|twice|redundant|premature|lost|loses?|inconsisten\w+|should (?:be|have|use)|no \w+ tests?|"
    r"(?:not|never|n't) (?:\w+ly )?(?:tested|covered|handled|checked|called|used|set|detect\w*|valid\w+|verif\w+|shown|"
    r"displayed|closed|released|updated|work|handle|check|cover|exist))\b",
    re.IGNORECASE,
)
_CONTRADICTS: Final = re.compile(
    r"\A\W*(?:no|nope|wrong)\b(?!\s+(?:problem|worries|rush))|"
    r"\b(?:that|this|it)(?:'s| is| was)(?: \w+)? (?:not|wrong)\b|"
    r"\b(?:is|was|are|were)(?:n't| not) (?:\w+ )?(?:correct|true|right)\b|"
    r"\b(?:is|was|are|were)(?:n't| not) (?:\w+ )?the (?:root )?(?:cause|issue|problem|reason|case)\b|"
    r"\bnot (?:quite|correct|true|right)\b|\bdoesn't mean\b|\byou're wrong\b|\bincorrect\b|"
    r"\bi don't think (?:so|that|it)\b|\bthere is no\b|\bwe (?:removed|don't have|never had)\b",
    re.IGNORECASE,
)
_DEFENDS: Final = re.compile(r"\s*(?:actually|no\b|i (?:checked|verified)|it does|it is|yes, it)", re.IGNORECASE)
_RETRACTS: Final = re.compile(
    r"\b(?:is|was|are|were)(?:n't| not)(?: \w+)? the (?:root |real |actual )?(?:cause|issue|problem|culprit|reason)\b|"
    r"\bnot the (?:root )?cause\b|\brul(?:es?|ed) (?:it )?out\b|\bturned out (?:not|to be wrong)\b|\bi was wrong\b|"
    r"\b(?:false alarm|wrong assumption)\b|\bdisprove[sd]?\b",
    re.IGNORECASE,
)
_REFUSES: Final = re.compile(
    r"\A\W*(?:no|nope|nah)\b(?!\s+(?:problem|worries))|\b(?:won't|will not|don't|do not|shouldn't|not needed|no need|"
    r"skip|forget|cancel|not now|not worth|rather not|let's not|leave (?:it|that|them) out)\b",
    re.IGNORECASE,
)
_ALLOWS: Final = re.compile(
    r"\b(?:you|we) (?:can|may)\b|\b(?:it is|it's|that's) (?:ok|okay|fine|allowed) to\b|\bfeel free to\b",
    re.IGNORECASE,
)
# What the user takes back in so many words, and what a rule that orders something no longer asks for.
_WITHDRAWS: Final = re.compile(
    r"\b(?:forget|ignore|never ?mind) (?:what i (?:said|told you|wrote)(?: (?:earlier|before))?(?: (?:about|on))?|"
    r"(?:about )?(?:the|my|that|this) (?=(?:[\w-]+ )?(?:rule|instruction|requirement|restriction|ban|limit)s?\b))|"
    r"\b(?:(?:i|i've|i have) changed|let me change) my mind\b|\bon second thoughts?\b|\b(?:drop|scrap|lift|cancel) "
    r"(?:the|my|that|this) (?=(?:[\w-]+ )?(?:rule|instruction|requirement|restriction|ban|limit)\b)|"
    r"\bno longer (?:applies|holds|counts|valid|in force|necessary|needed|required)\b|"
    r"\b(?:is|are|'s|'re) (?:ok|okay|fine|allowed) (?:now|again|after all)\b",
    re.IGNORECASE,
)
_NOT_NEEDED: Final = re.compile(
    r"\b(?:don't|do not|doesn't|no longer|not) (?:need|have)(?: you)? to\b|\bno need (?:to|for)\b|\bneed(?:n't| not)\b|"
    r"\b(?:you|we) can (?:stop|skip)\b|\bstop \w+ing\b|\b(?:isn't|not|aren't|is not) (?:needed|necessary|required)\b",
    re.IGNORECASE,
)
_RULE_WORDS: Final = re.compile(r"\b(?:rule|instruction|requirement|restriction|ban|limit)s?\b", re.IGNORECASE)
_ONCE: Final = re.compile(
    r"\b(?:this|that|just) (?:once|time)\b|\bfor (?:this|that|now|these|those)\b|\bonly\b", re.IGNORECASE
)
_ANY_MORE: Final = re.compile(r"\b(?:any ?more|no longer|from now on|after all)\b", re.IGNORECASE)
_IS_NEGATIVE: Final = re.compile(r"\b(?:never|not|no|avoid|without|nothing|nobody)\b|n't\b|\bdont\b", re.IGNORECASE)
_PROPOSES: Final = re.compile(
    r"\b(?:i|we) (?:would |'d )?(?:suggest|propose|recommend)\b|\bi'd (?:suggest|propose|recommend)\b|"
    r"\bmy (?:suggestion|proposal|recommendation)\b|\b(?:we|you) could\b|\bhow about\b",
    re.IGNORECASE,
)
_SAYS_NO: Final = re.compile(
    r"\A\W*(?:no|nope|nah|don't|do not|please don't|let's not|rather not)\b(?!\s+(?:problem|worries|rush))",
    re.IGNORECASE,
)
_FORBIDS: Final = re.compile(r"\b(?:never|always|avoid)\b", re.IGNORECASE)
_REPLACES: Final = re.compile(
    r"\b(?:instead of|rather than|no longer|replac(?:es?|ed|ing)|switch(?:ed|ing)? from|dropp(?:ed|ing)|in place of)\s+"
    r"((?:\S+\s*){1,4})",
    re.IGNORECASE,
)
_WORDS: Final = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_NUMBERS: Final = {word: str(number) for number, word in enumerate(_WORDS)}
_AMOUNT: Final = re.compile(rf"\b(\d[\d.,]*|{'|'.join(_NUMBERS)})[ -](\w{{3,}})", re.IGNORECASE)


class _Later(NamedTuple):
    """A sentence of the user or the assistant."""

    order: int
    text: str
    content: Mapping[str, int]


class _Sentences:
    """Sentences in order, in which those about a statement are found."""

    def __init__(self, said: Sequence[_Later]) -> None:
        self._said = said
        self._orders = [each.order for each in said]
        self._index = StatementIndex(each.content for each in said)

    def about(self, item: TranscriptItem, end: int) -> Iterator[_Later]:
        """Yields the sentences after an item, and before a turn, that are about the same."""
        content, named = content_weights(item.text), names(item.text)
        for number in self._index.like(content, _RELATED, bisect_right(self._orders, item.order)):
            each = self._said[number]
            if each.order >= end:
                break
            if not named.isdisjoint(each.content) or _is_same(content, each.content):
                yield each


class Revisions:
    """What a transcript says, by which statements are followed."""

    def __init__(self, turns: Sequence[Turn], requests: Requests) -> None:
        said = list(_assistant(turns))
        prompts = list(_user(turns))
        told = [(each, above) for each, above in said if not each.text.endswith("?")]
        self._changes = _Sentences([each for each, above in told if is_change(each.text, above)])
        self._retractions = _Sentences([each for each, _ in told if _RETRACTS.search(each.text)])
        self._statements = _Sentences(sorted([*(each for each, _ in told), *prompts], key=lambda each: each.order))
        self._prompts = _Sentences(prompts)
        self._withdrawals = list(_withdrawals(prompts))
        self._requests = requests

    def state(self, item: TranscriptItem, end: int) -> ItemState | None:
        """Returns the state of a statement by what is said before a turn; None if it holds."""
        if item.kind == "instruction":
            return "revised" if self._is_lifted(item, end) or self._is_revised(item, end) else None
        if self._is_overturned(item, end):
            return "overturned"
        if item.kind in ("task", "decision") and self._is_rejected(item, end):
            return "rejected"
        if _PROPOSES.search(item.text) and self._is_declined(item, end):
            return "rejected"
        is_problem = item.kind == "finding" and _PROBLEM.search(item.text) is not None
        if (item.kind == "task" or is_problem) and self.is_reported(item, end):
            return "done" if item.kind == "task" else "resolved"
        if self._is_revised(item, end):
            return "revised"
        return "open" if is_problem and item.mark == "stated" else None

    def is_reported(self, item: TranscriptItem, end: int) -> bool:
        """Returns whether the assistant says later that something about it was changed."""
        return any(True for _ in self._changes.about(item, end))

    def _is_rejected(self, item: TranscriptItem, end: int) -> bool:
        content = content_weights(item.text)
        about = (each for each in self._prompts.about(item, end) if _is_same(content, each.content))
        return any(_REFUSES.search(each.text) for each in about)

    def _is_declined(self, item: TranscriptItem, end: int) -> bool:
        """Returns whether the next prompt begins with a no to a proposal, and says no more or speaks of it."""
        exchange = self._requests.next_prompt(item.order)
        if exchange is None or exchange.order >= end or not _SAYS_NO.match(exchange.prompt):
            return False
        told = content_stems(next(iter(sentences(exchange.prompt))).text)
        return len(told) < _FEW_WORDS or not told.isdisjoint(content_stems(item.text))

    def _is_overturned(self, item: TranscriptItem, end: int) -> bool:
        """Returns whether the assistant takes a statement back, or the user contradicts it and nobody defends it."""
        if any(True for _ in self._retractions.about(item, end)):
            return True
        exchange = self._requests.next_prompt(item.order)
        if exchange is None or exchange.order >= end or not _CONTRADICTS.search(exchange.prompt[:300]):
            return False
        reply = next(iter(sentences(exchange.reply)), Sentence("", 0, 0)).text
        return _are_related(item.text, f"{exchange.prompt[:600]} {reply}") and not _DEFENDS.match(reply)

    def _is_revised(self, item: TranscriptItem, end: int) -> bool:
        """Returns whether a later statement has another number of the same, or replaces it; a rule, one of the user."""
        content, amounts, stems = content_weights(item.text), _amounts(item.text), content_stems(item.text)
        for each in (self._prompts if item.kind == "instruction" else self._statements).about(item, end):
            other = _amounts(each.text)
            differ = any(amounts[unit] != other[unit] for unit in amounts.keys() & other.keys())
            if differ and _is_same(content, each.content):
                return True
            if item.kind != "finding" and any(
                content_stems(match[1]) & stems for match in _REPLACES.finditer(each.text)
            ):
                return True
        return False

    def _is_lifted(self, item: TranscriptItem, end: int) -> bool:
        """Returns whether the user takes a rule back or allows what it forbids; orders it, if it is for some time."""
        content, for_some_time = content_weights(_FORBIDS.sub("", item.text)), is_temporary(item.text)
        if any(item.order < each.order < end and _covers(content, each.content) for each in self._withdrawals):
            return True
        if any(_is_not_needed(item.text, content, each) for each in self._prompts.about(item, end)):
            return True
        return any(
            for_some_time
            or (
                _ALLOWS.search(each.text)
                and not _ONCE.search(each.text)
                and _share(content, each.content) >= _ALL_OF_IT
            )
            for each in self._prompts.about(item, end)
            if not _REFUSES.search(each.text) and not each.text.endswith("?")
        )


def _withdrawals(prompts: Sequence[_Later]) -> Iterator[_Later]:
    """Yields the sentences that take something back, with the words for what: theirs, or those of the next sentence."""
    for each, following in zip_longest(prompts, prompts[1:]):
        if _WITHDRAWS.search(each.text) and not each.text.endswith("?") and not _ONCE.search(each.text):
            content = content_weights(_RULE_WORDS.sub(" ", _WITHDRAWS.sub(" ", each.text)))
            if not content and following and following.order == each.order:
                content = following.content
            yield each._replace(content=content)


def _covers(content: Mapping[str, int], taken_back: Mapping[str, int]) -> bool:
    """Returns whether what is taken back is a rule: it has half of its words, or hardly any other."""
    return _share(content, taken_back) >= _SAME or _share(taken_back, content) >= _NOTHING_ELSE


def _is_not_needed(rule: str, content: Mapping[str, int], later: _Later) -> bool:
    """Returns whether a rule that orders something is lifted. That it is not needed for a part is an exception."""
    if _IS_NEGATIVE.search(rule) or later.text.endswith("?") or _ONCE.search(later.text):
        return False
    if not _NOT_NEEDED.search(later.text):
        return False
    return _share(content, later.content) >= (_SAME if _ANY_MORE.search(later.text) else _ALL_OF_IT)


def _are_related(text: str, other: str) -> bool:
    """Returns whether a text is about what another says: they have enough words in common, fewer if also a name."""
    content, of_other = content_weights(text), content_weights(other)
    least = _RELATED if names(text).isdisjoint(of_other) else _RELATED / 2
    return _share(content, of_other) >= least


def _is_same(content: Mapping[str, int], later: Mapping[str, int]) -> bool:
    """Returns whether a later sentence is about the same: it has half of a statement, or says little else."""
    inside = len(content.keys() & later.keys()) > 1 and _share(later, content) >= _NOTHING_ELSE
    return inside or _share(content, later) >= _SAME


def _share(content: Mapping[str, int], other: Mapping[str, int]) -> float:
    return sum(content[word] for word in content.keys() & other.keys()) / max(1, sum(content.values()))


def _amounts(text: str) -> dict[str, str]:
    """Returns the numbers in a text by the stem of what they count, where there is one number of it."""
    found: dict[str, set[str]] = {}
    for match in _AMOUNT.finditer(text):
        for unit in content_stems(match[2]):
            found.setdefault(unit, set()).add(_NUMBERS.get(match[1].lower(), match[1]))
    return {unit: min(numbers) for unit, numbers in found.items() if len(numbers) == 1}


def _assistant(turns: Sequence[Turn]) -> Iterator[tuple[_Later, str]]:
    """Yields the sentences of the assistant, each with the heading above it."""
    for order, turn in enumerate(turns):
        for part in turn.parts if turn.role == "assistant" else ():
            if part.type == "text" and part.text and not part.hidden:
                text = without_reminders(part.text)
                for point in points(text):
                    for each in sentences(text[point.start : point.end]):
                        yield _Later(order, each.text, content_weights(each.text)), point.above


def _user(turns: Sequence[Turn]) -> Iterator[_Later]:
    """Yields the sentences that the user typed."""
    for order, turn in enumerate(turns):
        for part in turn.parts if turn.role == "user" else ():
            if part.type == "text" and part.text and not part.hidden and not part.error:
                for each in sentences(typed(said_by_user(part.text))):
                    yield _Later(order, each.text, content_weights(each.text))
