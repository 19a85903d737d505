"""What became of statements: resolved, revised, rejected or overturned by what was said later (docs/lost.md).

Each statement is followed by itself: what is said later concerns it if both have names or most of the words in common.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final

from slicebase.context.lost.items import ItemState, TranscriptItem
from slicebase.context.lost.phrases import is_change, is_not_yet, orders_change, proposes
from slicebase.context.lost.replies import Replies
from slicebase.context.lost.requests import Requests
from slicebase.context.lost.retracted import Retractions
from slicebase.context.lost.rules import is_temporary, order_of_rule, turns_back
from slicebase.context.lost.told import (
    NOTHING_ELSE,
    RELATED,
    SAME,
    Told,
    ToldSentences,
    are_related,
    is_same,
    share,
    told_by_assistant,
    told_by_user,
    told_in,
)
from slicebase.context.lost.words import Sentence, amounts, content_stems, content_weights, may_have_amounts, sentences
from slicebase.graph.turn import Turn

_FEW_WORDS: Final = 3  # content words of an answer that says no more than no
_ALL_OF_IT: Final = 0.8  # what allows less than a rule forbids does not lift it

_PROBLEM: Final = re.compile(
    r"\b(?:bugs?|issues?|problems?|fail\w*|errors?|wrong\w*|incorrect\w*|broken|missing|miss(?:es|ed)|lacks?|leaks?|races?|"
    r"crash\w*|truncat\w+|ignor\w+|duplicat\w+|weak\w*|stale|unused|silently|unclear|hardcoded|gaps?|risks?|slow\w*|"
    r"expensive|twice|redundant|premature|lost|loses?|inconsisten\w+|should (?:be|have|use)|no \w+ tests?|no mention|"
    r"deprecated|dead code|flak\w+|non-?deterministic)\b|"
    r"\bbut (?:not|never|no)\b|\byou (?:may|might) want to\b|\bcan be removed\b|\bcould remove\b|"
    r"(?:\bnot|\bnever|n't) (?:\w+ly )?(?:\w{2,}ed|set|read|shown|known|written|sent|built|run|detect\w*|valid\w+|"
    r"verif\w+|mention\w*|document|use|work|handle|check|cover|exist)\b",
    re.IGNORECASE,
)
# A summary that tells a problem in the past tense: it was so before the work that it reports.
_WAS_SO: Final = re.compile(
    r"\b(?:was|were|had been|did(?:n't| not))\b.*\b(?:not|never|no|only|all|missing|wrong\w*|broken|ignored|lost|stale|"
    r"unused|incorrect\w*|n't)\b|\b(?:wasn't|weren't|hadn't|didn't)\b|\bused to be\b",
    re.IGNORECASE,
)
_OF_BEFORE: Final = re.compile(
    r"\W*before\b\W{0,4}[:(]", re.IGNORECASE
)  # "**Before**: it guessed", told beside an after
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


class Revisions:
    """What a transcript says, by which statements are followed."""

    def __init__(self, turns: Sequence[Turn], requests: Requests, summaries: Iterable[tuple[int, str]] = ()) -> None:
        told = list(told_by_assistant(turns))
        summed = [each for order, text in summaries for each in told_in(text, order, of_summary=True)]
        prompts = list(told_by_user(turns))
        self.told = [*told, *summed]
        self._changes = ToldSentences([each for each in self.told if is_change(each.text, each.above)])
        self._past = ToldSentences([each for each in summed if _WAS_SO.search(each.text)])
        self._ordered = [each for each in prompts if orders_change(each.text)]
        self._orders = ToldSentences(self._ordered)
        self._replacing = ToldSentences([each for each in (*told, *prompts) if _may_replace(each.text)])
        self._prompts = ToldSentences(prompts)
        self._withdrawals = list(_withdrawals(prompts))
        self._turned = set(_turned(prompts))
        self._replies = Replies(requests)
        self._retractions = Retractions(self.told, requests)
        self._requests = requests

    def state(self, item: TranscriptItem, end: int) -> ItemState | None:
        """Returns the state of a statement by what is said before a turn; None if it holds."""
        if item.kind == "instruction":
            is_over = self._is_turned(item, end) or self._is_lifted(item, end) or self._is_revised(item, end)
            return "revised" if is_over else None
        if self._is_overturned(item, end):
            return "overturned"
        if state := self._replies.state(item, end, is_problem=is_problem(item.text)):
            return state
        if item.kind in ("task", "decision") and self._is_rejected(item, end):
            return "rejected"
        if proposes(item.text) and self._is_declined(item, end):
            return "rejected"
        has_problem = item.kind == "finding" and is_problem(item.text)
        if item.kind == "task" and (self.is_reported(item, end) or self._was_ordered(item, end)):
            return "done"
        if item.kind == "task" and is_not_yet(item.text) and self._was_asked_for(item, end):
            return "done"
        if has_problem and (self.is_reported(item, end) or self._was_ordered(item, end) or self._is_past(item, end)):
            return "resolved"
        if self._is_revised(item, end) or (item.kind == "finding" and _OF_BEFORE.match(item.text)):
            return "revised"
        return "open" if has_problem and item.mark == "stated" else None

    def is_reported(self, item: TranscriptItem, end: int) -> bool:
        """Returns whether the assistant says later that something about it was changed."""
        return any(True for _ in self._changes.about(item, end))

    def is_taken_back(self, item: TranscriptItem, end: int) -> bool:
        """Returns whether the assistant takes a statement back."""
        return self._retractions.concern(item, end)

    def is_settled(self, item: TranscriptItem, end: int) -> bool:
        """Returns whether a later message reports something, or the user ordered it and got it."""
        return self.is_reported(item, end) or self._was_ordered(item, end)

    def _was_ordered(self, item: TranscriptItem, end: int) -> bool:
        """Returns whether the user told the assistant to change something about it later, and that was done."""
        return any(self._requests.state_at(each.order, each.text) == "done" for each in self._orders.about(item, end))

    def _was_asked_for(self, item: TranscriptItem, end: int) -> bool:
        """Returns whether an order that names what is not done yet was given later, in however few words, and done."""
        content = content_weights(item.text)
        return any(
            share(each.content, content) >= RELATED and self._requests.state_at(each.order, each.text) == "done"
            for each in self._ordered
            if item.order < each.order < end
        )

    def _is_past(self, item: TranscriptItem, end: int) -> bool:
        """Returns whether a summary tells a problem as one that there was."""
        return any(True for _ in self._past.about(item, end, RELATED / 2))

    def _is_rejected(self, item: TranscriptItem, end: int) -> bool:
        content = content_weights(item.text)
        about = (each for each in self._prompts.about(item, end) if is_same(content, each.content))
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
        if self._retractions.concern(item, end):
            return True
        exchange = self._requests.next_prompt(item.order)
        if exchange is None or exchange.order >= end or not _CONTRADICTS.search(exchange.prompt[:300]):
            return False
        reply = next(iter(sentences(exchange.reply)), Sentence("", 0, 0)).text
        return are_related(item.text, f"{exchange.prompt[:600]} {reply}") and not _DEFENDS.match(reply)

    def _is_revised(self, item: TranscriptItem, end: int) -> bool:
        """Returns whether a later statement has another number of the same, or replaces it; a rule, one of the user."""
        content, numbers, stems = content_weights(item.text), amounts(item.text), content_stems(item.text)
        if item.kind == "finding" and not numbers:
            return False
        for each in (self._prompts if item.kind == "instruction" else self._replacing).about(item, end):
            other = amounts(each.text)
            differ = any(numbers[unit] != other[unit] for unit in numbers.keys() & other.keys())
            if differ and is_same(content, each.content):
                return True
            if item.kind != "finding" and any(
                content_stems(match[1]) & stems for match in _REPLACES.finditer(each.text)
            ):
                return True
        return False

    def _is_turned(self, item: TranscriptItem, end: int) -> bool:
        """Returns whether the user says something else in place of a rule: "No wait: always use spaces."."""
        return any(
            order == item.order and later < end and (item.text in said or said in item.text)
            for order, said, later in self._turned
        )

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
                _ALLOWS.search(each.text) and not _ONCE.search(each.text) and share(content, each.content) >= _ALL_OF_IT
            )
            for each in self._prompts.about(item, end)
            if not _REFUSES.search(each.text) and not each.text.endswith("?")
        )


def is_problem(text: str) -> bool:
    """Returns whether a statement says that something is not as it should be."""
    return _PROBLEM.search(text) is not None


def _may_replace(text: str) -> bool:
    return may_have_amounts(text) or _REPLACES.search(text) is not None


def _turned(prompts: Sequence[Told]) -> Iterator[tuple[int, str, int]]:
    """Yields the rules in whose place the user says another one with the same verb, and the turn in which he does."""
    newest: dict[str, Told] = {}
    for each in prompts:
        if verb := order_of_rule(each.text):
            if turns_back(each.text) and (before := newest.get(verb)):
                yield before.order, " ".join(before.text.split()), each.order
            newest[verb] = each


def _withdrawals(prompts: Sequence[Told]) -> Iterator[Told]:
    """Yields the sentences that take something back, with the words for what: theirs, or those of the next sentence."""
    for each, following in zip_longest(prompts, prompts[1:]):
        if _WITHDRAWS.search(each.text) and not each.text.endswith("?") and not _ONCE.search(each.text):
            content = content_weights(_RULE_WORDS.sub(" ", _WITHDRAWS.sub(" ", each.text)))
            if not content and following and following.order == each.order:
                content = following.content
            yield each._replace(content=content)


def _covers(content: Mapping[str, int], taken_back: Mapping[str, int]) -> bool:
    """Returns whether what is taken back is a rule: it has half of its words, or hardly any other."""
    return share(content, taken_back) >= SAME or share(taken_back, content) >= NOTHING_ELSE


def _is_not_needed(rule: str, content: Mapping[str, int], later: Told) -> bool:
    """Returns whether a rule that orders something is lifted. That it is not needed for a part is an exception."""
    if _IS_NEGATIVE.search(rule) or later.text.endswith("?") or _ONCE.search(later.text):
        return False
    if not _NOT_NEEDED.search(later.text):
        return False
    return share(content, later.content) >= (SAME if _ANY_MORE.search(later.text) else _ALL_OF_IT)
