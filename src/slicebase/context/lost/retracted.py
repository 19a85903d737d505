"""Which claims of the assistant were taken back, also where the words that take them back do not name them.

"No, I was wrong." after "are you sure?" says nothing of the cause that it takes back: the claims of the answer that was
questioned are meant, all that the new answer does not say again. What the assistant suspected while it searched ("There
is the issue: …") falls with the answer that the search ended with, and if the answer names another cause.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from slicebase.context.lost.items import TranscriptItem
from slicebase.context.lost.requests import Requests
from slicebase.context.lost.told import Told, ToldSentences, are_related, is_same, share
from slicebase.context.lost.words import Sentence, content_weights, sentences

_OF_A_CAUSE: Final = r"(?:root |real |actual |underlying )?(?:cause|issue|problem|bug|culprit|reason|explanation)"
# What takes a claim back that it names, in the same sentence.
_RETRACTS: Final = re.compile(
    rf"\b(?:is|was|are|were)(?:n't| not)(?: \w+)? (?:the|a|an) {_OF_A_CAUSE}\b|"
    r"\bnot the (?:root )?cause\b|\brul(?:es?|ed|ing) (?:it )?out\b|"
    r"\bturn(?:s|ed) out (?:\w+ ){0,6}?(?:not|never|wrong|fine|unrelated|nothing|no \w+|\w+n't)\b|"
    r"\b(?:i|we) (?:was|were) (?:\w+ )?(?:wrong|mistaken|incorrect)\b|"
    r"\bmis(?:diagnos\w+|read|understood|interpreted)\b|"
    r"\b(?:false alarm|(?:wrong|false|incorrect) (?:assumption|conclusion|claim|theory|hypothesis|lead))\b|"
    r"\b(?:assumption|conclusion|claim|theory|hypothesis|diagnosis|analysis|suspicion) (?:was|is|turned out) "
    r"(?:\w+ )?(?:wrong|false|incorrect|mistaken)\b|\b(?:disprove[sdn]?|refute[sd]?|debunked)\b|"
    r"\b(?:i|we) (?:had )?(?:wrongly|falsely|incorrectly|mistakenly) \w+|\b(?:i|we) (?:only )?assumed\b|"
    r"\bred herring\b",
    re.IGNORECASE,
)
# By which an answer gives in to a prompt that questions or contradicts the answer before it.
_TAKES_BACK: Final = re.compile(
    r"\b(?:i|we) (?:was|were) (?:\w+ )?(?:wrong|mistaken|incorrect)\b|\bi stand corrected\b|"
    r"\bmy (?:mistake|bad|error)\b|"
    r"\b(?:i|we) (?:only |just |had )?(?:assumed|misread|misunderstood|misdiagnosed|misinterpreted|overlooked|"
    r"jumped to|guessed|speculated)\b|\bno,? i(?:'m| am) not\b|\bi(?:'m| am) not (?:\w+ )?(?:sure|certain)\b|"
    r"\bthe (?:proper|right|correct|better) (?:fix|way|approach|solution) (?:is|would be)\b|\bi should have\b|"
    r"\bthat(?:'s| is) a (?:\w+ )?better (?:approach|way|idea|fix|solution)\b|"
    r"\bi (?:take (?:that|it) back|retract)\b|\bthat (?:was|is) (?:\w+ )?(?:wrong|incorrect|false|mistaken|not true)\b",
    re.IGNORECASE,
)
_AGREES: Final = re.compile(
    r"\W*(?:(?:ah|oh|yes|no|hmm|sorry|i see|good point|fair point|good catch)\b[\s,.!—–-]*)*"
    r"(?:you(?:'re| are) (?:\w+ )?(?:right|correct)|that(?:'s| is) (?:\w+ )?(?:right|correct|true|fair)|"
    r"(?:good|fair|valid) (?:point|catch)|i apologi[sz]e)",
    re.IGNORECASE,
)
# Prompts that ask whether what was said is so, or say that it is not.
_QUESTIONS: Final = re.compile(
    r"\b(?:are|r) (?:you|u|we) (?:\w+ )?(?:sure|certain)\b|\breally\s*\?|\A\W*(?:really|sure|huh|what|seriously)\W*\Z|"
    r"\bis (?:that|this|it) (?:\w+ )?(?:true|right|correct|so|the case)\b|\bhow (?:do|can) you (?:know|tell)\b|"
    r"\bwhy (?:do|would|did) you (?:think|say|believe|claim|assume)\b|\bdid you (?:\w+ )?(?:check|verify|"
    r"test|confirm|prove)\b|"
    r"\b(?:you|u) (?:also )?(?:said|claimed|wrote|told me)\b|\bwhat (?:do|did|am) i (?:miss\w*|overlook\w*|get\w*)\b|"
    r"\bi (?:doubt|don't (?:think|believe|see|understand|buy))\b|\b(?:doesn't|does not|can't|"
    r"cannot) (?:mean|be|make sense)\b|"
    r"\bmakes? no sense\b|\b(?:is|was|are|were|does|do|did)(?:n't| not) (?:it|that|this|the|we|because)\b.*\?|"
    r"\bhow (?:can|could|would|should) (?:that|this|it|there)\b|\b(?:wrong|incorrect|not (?:true|right|correct))\b",
    re.IGNORECASE | re.DOTALL,
)
# Of these, an answer that agrees gives in as well: the user doubted what was said.
_DOUBTS: Final = re.compile(
    r"\b(?:are|r) (?:you|u|we) (?:\w+ )?(?:sure|certain)\b|\breally\s*\?|"
    r"\bis (?:that|this|it) (?:\w+ )?(?:true|right|correct)\b|\bi doubt\b|\b(?:can't|cannot) be\b|\bmakes? no sense\b",
    re.IGNORECASE,
)
_QUOTES: Final = re.compile(r"\byou (?:also )?(?:said|claimed|wrote|told me)\b[^:]{0,30}:?", re.IGNORECASE)
_CLAIMS_CAUSE: Final = re.compile(
    rf"\bthe (?:\w+ )?(?:key|likely|probable) (?:one|{_OF_A_CAUSE})\b|\bthe {_OF_A_CAUSE} (?:is|was|here|must|seems)\b|"
    rf"\b(?:here(?:'s| is)|there(?:'s| is)|that(?:'s| is)|this is|found) (?:the|our|your|an?) (?:\w+ )?{_OF_A_CAUSE}\b|"
    r"\bfound it\b|\bthere it is\b|\b(?:root cause|culprit|smoking gun)\b|"
    r"\bthe (?:key|most likely|likely|only) (?:one|cause|explanation|candidate|suspect)\b",
    re.IGNORECASE,
)
# What may be so, up to the message that says what it is.
_SUSPECTS: Final = re.compile(
    r"\b(?:probably|presumably|my (?:guess|suspicion|hunch|theory|bet) is|i'd guess|most likely|"
    r"i (?:think|suspect|guess|bet|assume) (?:it|that|this|the|there)|"
    r"(?:might|may|could) be (?:the|a|an|because|due|caused)|"
    r"(?:it|this|that) (?:seems|looks|sounds) (?:like|to be))\b",
    re.IGNORECASE,
)
_FINDS_OUT: Final = re.compile(
    r"(?:\A|[.!:]\s+)\W*confirmed\b|"
    r"\A\W*(?:so |ok,? |no,? |hm+,? )?(?:it|that)(?:'s| is| was)(?:n't| not) (?:the|a|an|because|about|due)\b",
    re.IGNORECASE,
)
_OVERRULED: Final = re.compile(
    r"\W*(?:understood|got it|ok(?:ay)?|i see|right|alright|sure|will do)\b[\s,.:;—–-]*(?:so )?you(?:'d| would)? "
    r"(?:want|prefer|like|need)\b",
    re.IGNORECASE,
)
_ADVISES_AGAINST: Final = re.compile(
    r"\b(?:skip|semantic[- ]only|unnecessary|not (?:needed|necessary|worth|required)|no (?:need|benefit|reason|point)|"
    r"without (?:\w+ )?(?:benefit|gain|value)|adds? (?:\w+ )?complexity|(?:would|should|does|do)(?:n't|"
    r" not)|only|overkill|"
    r"recommend against|rather not|already|fine as|leave)\b",
    re.IGNORECASE,
)
_FIRST: Final = 4  # sentences of an answer that may give in
_BEGINNING: Final = 600  # characters of a prompt


class _Conceded(NamedTuple):
    """An answer that takes back what the answer before it said, and what it says instead."""

    order: int  # of its prompt
    prompt: str
    meant: str  # the prompt, and the sentences that give in
    said: tuple[Sentence, ...]
    is_plain: bool  # it says that it was wrong; it does not only agree
    answered_at: int  # the turn that was questioned
    names_it: bool  # something in the questioned answer is what the prompt or the new answer speaks of


class Retractions:
    """What was taken back in a transcript."""

    def __init__(self, told: Sequence[Told], requests: Requests) -> None:
        self._requests = requests
        self._conceded = {each.order: each for each in _conceded(requests)}
        named = [
            each._replace(content=_without(each, match[0]))
            for each in told
            if (match := _RETRACTS.search(each.text)) is not None
        ]
        self._named = ToldSentences([*named, *self._quoted()])
        self._overruled = [
            (each.order, each.text) for each in told if _OVERRULED.match(each.text) and not each.of_summary
        ]
        self._orders = [order for order, _ in self._overruled]
        self._found_out = sorted(
            (each for each in told if not each.of_summary and _is_sure(each.text)), key=lambda each: each.order
        )
        self._found_at = [each.order for each in self._found_out]

    def _quoted(self) -> Iterator[Told]:
        """Yields what a prompt says that the assistant said, where the assistant gives in."""
        for each in self._conceded.values():
            if each.is_plain and (quoting := _QUOTES.search(each.prompt)):
                said = next(iter(sentences(each.prompt[quoting.end() :].lstrip())), None)
                if said and not said.text.endswith("?"):
                    yield Told(each.order, said.text, content_weights(said.text))

    def concern(self, item: TranscriptItem, end: int) -> bool:
        """Returns whether the assistant takes a statement back before a turn."""
        if any(True for _ in self._named.about(item, end, short=True)):
            return True
        return self._is_questioned(item, end) or self._is_left_behind(item, end) or self._is_overruled(item, end)

    def _is_questioned(self, item: TranscriptItem, end: int) -> bool:
        """Returns whether the claim stands in an answer that was questioned, and the next answer gave in."""
        asked = self._requests.next_prompt(item.order)
        given = self._conceded.get(asked.order) if asked else None
        if given is None or given.order >= end or item.kind == "instruction" or item.origin != "speech":
            return False
        content = content_weights(item.text)
        if any(is_same(content, content_weights(each.text)) and not _takes_back(each.text) for each in given.said):
            return False
        if _CLAIMS_CAUSE.search(item.text):
            return True
        is_main = given.is_plain and item.order == given.answered_at
        return is_main and (not given.names_it or are_related(item.text, given.meant))

    def _is_left_behind(self, item: TranscriptItem, end: int) -> bool:
        """Returns whether a cause was suspected during a search that ended with another one."""
        if item.kind != "finding" or item.origin != "speech":
            return False
        if _SUSPECTS.search(item.text) and not _CLAIMS_CAUSE.search(item.text):
            return self._is_found_out(item, end)
        if not _CLAIMS_CAUSE.search(item.text):
            return False
        exchange = self._requests.exchange_of(item.order)
        if exchange is None or not exchange.is_answered or not item.order < exchange.answered_at < end:
            return False
        causes = [each.text for each in sentences(exchange.answer) if _CLAIMS_CAUSE.search(each.text)]
        return bool(causes) and share(content_weights(item.text), content_weights(exchange.answer)) < _SAID_AGAIN

    def _is_found_out(self, item: TranscriptItem, end: int) -> bool:
        """Returns whether a message soon after a guess says for sure that something else is the cause."""
        if len(list(sentences(item.text))) > 1:
            return False  # each is judged by itself
        content = content_weights(item.text)
        until = min(end, self._end_of_search(item))
        first, last = bisect_right(self._found_at, item.order), bisect_left(self._found_at, until)
        return any(share(content, each.content) < _SAID_AGAIN for each in self._found_out[first:last])

    def _end_of_search(self, item: TranscriptItem) -> int:
        """Returns the turn up to which a guess is followed: some exchanges, or those before another subject."""
        exchange, until = self._requests.exchange_of(item.order), self._requests.order_after(item.order, _SOON)
        asked = f"{exchange.prompt[:_BEGINNING]} {exchange.answer[:_BEGINNING]}" if exchange else ""
        about = {*content_weights(item.text), *content_weights(asked)}
        after = self._requests.next_prompt(item.order)
        while after and after.order < until:
            named = content_weights(after.prompt[:_BEGINNING]).keys()
            if len(named) > 1 and not named & about:
                return after.order
            after = self._requests.next_prompt(after.order)
        return until

    def _is_overruled(self, item: TranscriptItem, end: int) -> bool:
        """Returns whether the assistant advised against something and then took it up: "Understood, you want …"."""
        at = bisect_right(self._orders, item.order)
        if at == len(self._orders) or item.origin != "speech" or not _ADVISES_AGAINST.search(item.text):
            return False
        order, text = self._overruled[at]
        is_near = self._requests.exchange_of(order) is self._requests.exchange_of(item.order)
        return order < end and is_near and len(content_weights(item.text).keys() & content_weights(text).keys()) > 1


_SOON: Final = 4  # exchanges
_SAID_AGAIN: Final = 0.5  # of what was suspected; an answer that has as much of it stands by it


def _conceded(requests: Requests) -> Iterator[_Conceded]:
    for before, each in pairwise(requests.all):
        said = tuple(sentences(each.reply))
        first = " ".join(sentence.text for sentence in said[:_FIRST])
        is_plain, agrees = _takes_back(first), _AGREES.match(first) is not None
        if is_plain or agrees:
            questioned = _QUESTIONS.search(each.prompt[:_BEGINNING]) is not None
            is_plain = is_plain or (agrees and _DOUBTS.search(each.prompt[:_BEGINNING]) is not None)
            if questioned or (is_plain and agrees):
                meant = f"{each.prompt[:_BEGINNING]} {first}"
                names_it = any(are_related(claim.text, meant) for claim in sentences(before.answer))
                yield _Conceded(each.order, each.prompt, meant, said, is_plain, before.answered_at, names_it)


def _is_sure(text: str) -> bool:
    """Returns whether a sentence says for sure what the cause of something is, or is not."""
    finds = _CLAIMS_CAUSE.search(text) or _FINDS_OUT.search(text)
    return bool(finds) and not _SUSPECTS.search(text) and not _MAY_BE.search(text)


_MAY_BE: Final = re.compile(r"\b(?:if|likely|perhaps|maybe|would|could|might)\b", re.IGNORECASE)


def _takes_back(text: str) -> bool:
    return _TAKES_BACK.search(text) is not None


def _without(told: Told, words: str) -> dict[str, int]:
    """Returns the content of a sentence without the words that take something back."""
    taken = content_weights(words)
    return {word: weight for word, weight in told.content.items() if word not in taken or weight > 2}
