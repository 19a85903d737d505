"""The kinds of items, and the phrases by which a statement is one of them (docs/lost.md).

The phrases are English. A person can read them and say whether they are right: no phrase is of one project.
"""

import re
from collections.abc import Iterator
from typing import Final, Literal, get_args

from slicebase.context.lost.words import says
from slicebase.graph.annotate import CORRECTED, words_in

LostKind = Literal["instruction", "decision", "finding", "artefact", "task", "error", "command"]
LOST_KINDS: Final[tuple[LostKind, ...]] = get_args(LostKind)

# What the user says

ORDERS: Final = frozenset(
    {
        "add", "adjust", "allow", "apply", "ask", "build", "bump", "call", "change", "check", "clean", "commit",
        "compare", "consider", "continue", "convert", "copy", "create", "cut", "delete", "deploy", "describe",
        "disable", "do", "document", "drop", "enable", "explain", "extend", "find", "finish", "fix", "format", "give",
        "go", "handle", "hide", "implement", "improve", "include", "investigate", "keep", "leave", "list", "log",
        "look", "make", "merge", "migrate", "move", "open", "pin", "port", "prepare", "print", "push", "put", "read",
        "rebase", "redo", "refactor", "remove", "rename", "repeat", "replace", "rerun", "restart", "restore", "revert",
        "review", "rewrite", "run", "send", "set", "show", "simplify", "skip", "sort", "split", "start", "stop",
        "strengthen", "summarise", "summarize", "support", "switch", "take", "tell", "test", "tidy", "touch", "treat",
        "try", "turn", "undo", "update", "upgrade", "use", "validate", "verify", "wait", "wire", "wrap", "write",
    }
)  # fmt: skip
# Orders that any answer fulfils: they ask to be told something.
_TELLING: Final = frozenset(
    {
        "check", "compare", "describe", "explain", "find", "give", "investigate", "list", "look", "print", "read",
        "review", "show", "summarise", "summarize", "tell", "verify",
    }
)  # fmt: skip
_ASKED: Final = (
    "please", "should", "need", "needs", "want", "can you", "can we", "could you", "could we", "would you", "let's",
    "only", "i'd like",
)  # fmt: skip
# "Instead" is a correction only at the end of a sentence; elsewhere it compares.
_CORRECTIONS: Final = (*(phrase for phrase in CORRECTED if phrase != "instead"), "i said", "i told you")

_FILLERS: Final = frozenset(
    {"please", "just", "also", "and", "but", "so", "ok", "okay", "then", "now", "yes", "no", "kindly"}
)
# By which somebody who orders something says that it is something else than before.
_TURNS: Final = re.compile(
    r"\A\W*(?:i(?:'ve| have)? changed my mind|on second thoughts?|actually)\b[\s,:;.—–-]*", re.IGNORECASE
)
_ASKS_FOR: Final = re.compile(
    r"\b(?:can|could|would|will) (?:you|we) (?:please |also |now |maybe |just )*|\blet's (?:also |now |just )*|"
    r"\b(?:i|we) (?:want|need|would like|'d like) (?:you )?to |\bwe should (?:also )?",
    re.IGNORECASE,
)


def orders_change(sentence: str) -> bool:
    """Returns whether the user orders that something is changed, not only that it is looked at or told."""
    if sentence.rstrip().endswith("?") and not _ASKS_FOR.search(sentence):
        return False
    words = words_in(_ASKS_FOR.sub("", _TURNS.sub("", sentence)))
    first = next((word for word in words if word not in _FILLERS), "")
    return first in ORDERS - _TELLING - {"continue", "go", "do", "wait", "stop", "keep", "leave", "run", "test", "try"}


def first_order(text: str) -> str:
    """Returns the first word of a text that is more than a filler."""
    return next((word for word in words_in(_TURNS.sub("", text)) if word not in _FILLERS), "")


def kind_of_prompt(text: str) -> tuple[LostKind, str]:
    """Returns the kind and the mark of what a user says, apart from rules."""
    is_question = text.rstrip().endswith("?")
    if says(text, _CORRECTIONS) or words_in(text)[-1:] == ["instead"]:
        return "instruction", "correction"
    if not is_question and (_DECIDED.search(text) or _SETTLED.search(text)):
        return "decision", "by the user"
    if is_question or says(text, _ASKED) or first_order(text) in ORDERS:
        return "instruction", "asked"
    return "instruction", "told"


def asks_to_be_told(text: str) -> bool:
    """Returns whether any answer fulfils a request: it asks, or orders to look or to explain."""
    return text.rstrip().endswith("?") or first_order(text) in _TELLING


# What the assistant says

_DECIDED: Final = re.compile(
    r"\b(?:we|i|you|they)(?:'ve| have| had|'d)? (?:decided|agreed|settled|chose|opted|picked|went with|go with)\b"
    r"|(?:^|[.!:]\s+)(?:decided|agreed|went with|going with|decision:)|\bdecided (?:to|on|that|against)\b"
    r"|\blet's (?:use|keep|go with|drop|do|not|stick|skip|leave)\b|\b(?:we'll|we will) (?:use|keep|go with|stick|not)\b"
    r"|\bi'll go with\b|\bwe won't\b|\bwe (?:should|must) use\b|\b(?:i'm|we're|we are) going with\b|\bsettled on\b"
    r"|\bopted for\b|\bthe (?:decision|plan) is (?:to|that)\b|\b(?:is|are|stays?|remains?) (?:out of|not in) scope\b"
    r"|\bdesign decisions?:",
    re.IGNORECASE,
)
# A user who says what "we" do settles it; an assistant who says so describes.
_SETTLED: Final = re.compile(
    r"(?:^|[.;!,]\s*)(?:(?:ok|okay|so|and|but|then|yes|no|right|good|fine)[\s,.]+)*"
    r"we (?:keep|stick (?:with|to)|stay (?:with|on)|go with|drop|skip|report|support|only (?:use|support|need)|"
    r"use \S.*\b(?:not|instead of|rather than)\b)",
    re.IGNORECASE,
)
_DECISIONS_ABOVE: Final = re.compile(r"\b(?:design )?decisions?\b\W*\Z", re.IGNORECASE)
_OPEN: Final = (
    "todo", "still to do", "still need to", "still needs to", "still have to", "left to do", "remaining work",
    "for later", "come back to", "not done yet", "next step", "next steps", "we need to", "needs to be", "not yet",
    "remains to",
)  # fmt: skip
_LEFT: Final = (
    "todo", "still to do", "left to do", "remaining work", "for later", "later", "come back to", "follow up",
    "remains to", "still need to", "still needs to", "still have to",
)  # fmt: skip
_NOT_YET: Final = re.compile(
    r"\b(?:i|we) (?:have |did |could )?(?:haven't|didn't|couldn't|not)\b[^.;:]{1,60}\byet\b|"
    r"\b(?:so|but|and) no \w+ [^.;:]{1,40}\byet\b|\bi left (?:it |that |this )?open\b",
    re.IGNORECASE,
)
_OFFERED: Final = (
    "would you like", "should i", "do you want", "which approach", "which option", "let me know", "shall i",
    "want me to", "if you want", "if you'd like",
)  # fmt: skip
_GIVES_CHOICE: Final = re.compile(r"\?\W+(?:\*\*)?\(?[Aa1][.)]\s")  # "When? A) At the end B) Now"
_OPEN_ABOVE: Final = re.compile(
    r"\b(?:next steps?|to ?dos?|remaining (?:work|tasks?|steps?|items?|issues?)|recommendations?|my suggestions?|"
    r"follow-?ups?|action items?)\b|^\W*(?:remaining|still open)\W*\Z",
    re.IGNORECASE,
)
_CHECKED: Final = re.compile(r"✅|✓|☑|\[x\]")
# What the assistant says while it works: it announces the next call, and is over when the call is made.
_LEAD: Final = (
    r"\W*(?:(?:good|great|perfect|excellent|ok(?:ay)?|right|alright|sure|done|now|first|next|also|and|so|but|then|"
    r"interesting|clean|hmm|wait|actually|yes|nice|all green|sorry|understood)\b[\s,.!:—–-]*)*"
)
_ANNOUNCES: Final = re.compile(
    rf"{_LEAD}(?:let me|let's (?:look|check|see|run|verify|read|try|start|continue|first)|i'll|i will|i'm going to|"
    r"i am going to|time to|now (?:let|update|add|run|check|fix|create|write|verify|i)\b|"
    r"(?:checking|running|reading|updating|adding|looking)\b[^,]*(?:\bnow\W*|:|…|\.{3})\Z|"
    r"(?:step|phase) \w+\W+(?:\w+ )?(?:update|add|create|write|run|fix|remove|rename|move|change|"
    r"implement|verify|check|"
    r"test|refactor|replace|delete|commit|push|build|install|configure|document)\b[^:;]*\Z|"
    r"the (?:compiler|linter|tests?|build|error|output|type checker) (?:is|are|now )?\s?(?:telling|tells?|says?|"
    r"confirm\w*|complain\w*)\b[^:`]*\bneed\b|"
    r"(?:launching|starting|spawning|dispatching|kicking off)\b[^,;]*\b(?:agents?|subagents?|workflows?)\W*\Z)",
    re.IGNORECASE,
)
_MAY_ANNOUNCE: Final = re.compile(
    rf"{_LEAD}(?:i (?:need to|can see|see|want to|should|have)\b|i'm |here(?:'s| are| is)|now (?:the|for|that))",
    re.IGNORECASE,
)
_AGREES: Final = re.compile(
    rf"{_LEAD}(?:you(?:'re| are) (?:\w+ )?(?:right|correct)|i (?:understand|see|agree)(?: (?:it|that|now|the \w+))?|"
    r"(?:good|great|excellent|fair) (?:catch|point|question|idea|news|call|enough)|(?:that |it )?makes sense|got it|"
    r"of course|exactly|there it is|here we go|no problem|as expected)\W*",
    re.IGNORECASE,
)
# Signs that a sentence that begins like one of those still says what is so.
_CONCLUDES: Final = re.compile(
    r"\b(?:root cause|the (?:issue|problem|bug|cause|reason|culprit) (?:is|was|here)|turns out|because|caused by|"
    r"due to|which means|this means|that means|therefore|that's why|this is why|confirms?|confirmed|rules? out|proves?|"
    r"shows? that|results? in|leads? to|no longer|doesn't|does not|isn't|is not|aren't|are not|can't|cannot|instead of|"
    r"silently|missing|must be|unless|only (?:when|if|for|in))\b",
    re.IGNORECASE,
)
_HEADED_REPORT: Final = re.compile(
    r"\b(?:changes? (?:made|i made)|what (?:i|was|has been|we) (?:did|changed?|done|implemented|fixed)|"
    r"summary of (?:the )?(?:fixes|changes)|fixes|fixed|done|completed|implemented|added|updated)\b",
    re.IGNORECASE,
)
PAST: Final = r"(?:\w{2,}ed|written|sent|built|made|put|set|run|ran|rewrote|wrote|rebuilt|kept|split|cut|done|gone)"
_ADVERB: Final = r"(?:\w+ly\s+|also\s+|now\s+|all\s+|both\s+|already\s+)?"
_REPORTS: Final = re.compile(
    r"✅|✓|☑|\[x\]|\b(?:done|finished|completed?|in place|fixed|resolved|undone|passes|pass)\b|"
    rf"\b(?:is|are|was|were|been|now|i've|i have|we've|i|we)\s+{_ADVERB}{PAST}\b|"
    rf"^\W*(?:\d+[.)]\W*)?(?:all )?{PAST}\b",
    re.IGNORECASE,
)
# "Is called five times" describes. What was changed is told in the perfect, in the past, or as what is so now.
_CHANGED: Final = (
    r"(?:fixed|resolved|addressed|corrected|strengthened|implemented|added|removed|deleted|replaced|"
    r"renamed|moved|updated|"
    r"refactored|changed|rewritten|rewrote|wrote|extracted|handled|covered|closed|reverted|dropped|merged|"
    r"committed|pushed|"
    r"written|created|sent|built|finished|completed|done|deployed|switched|cleaned|simplified|tightened|documented)"
)
_FIXES: Final = re.compile(
    rf"✅|✓|☑|\[x\]|^\W*(?:\d+[.)]\W*)?(?:all |both )?{_CHANGED}\b|"
    rf"\b(?:i|we|i've|we've|i have|has been|have been|was|were|is now|are now|now|already)\s+{_ADVERB}{_CHANGED}\b|"
    rf"\b(?:is|are) {_CHANGED} (?:now|again)\b|"
    r"\b(?:is|are) (?:now |all )?(?:in place|done|fixed|resolved|complete|gone)\b|\bnow \w+s\b",
    re.IGNORECASE,
)
_NOT_DONE: Final = re.compile(
    r"\b(?:not|never|cannot|failed to|unable|still|could|should|would|might|unless|if)\b|n't\b", re.IGNORECASE
)
_REPORTED: Final = re.compile(
    r"(?:all )?(?:done|fixed|updated|added|created|removed|deleted|committed|pushed|renamed|moved|reverted|changed|"
    r"rewrote|implemented|refactored|replaced|i've|i have|both|all (?:tests|checks|green|pass)|tests? pass)\b",
    re.IGNORECASE,
)


def is_narration(sentence: str) -> bool:
    """Returns whether a sentence of the assistant only announces the next step."""
    if len(sentence) >= 200:
        return False
    return (
        bool(_AGREES.fullmatch(sentence))
        or bool(_ANNOUNCES.match(sentence))
        or bool(_MAY_ANNOUNCE.match(sentence) and not _CONCLUDES.search(sentence))
    )


def is_agreement(sentence: str) -> bool:
    """Returns whether a sentence of the assistant only agrees with the user. As an answer, it is one."""
    return _AGREES.fullmatch(sentence) is not None


def denies(sentence: str) -> bool:
    """Returns whether a sentence says that something was not done, or under which condition."""
    return _NOT_DONE.search(sentence) is not None


def is_report(sentence: str) -> bool:
    """Returns whether a sentence of an answer may say that something was done."""
    return bool(_REPORTS.search(sentence)) and not denies(sentence)


def is_change(sentence: str, above: str) -> bool:
    """Returns whether a sentence of the assistant says that something was changed, by its words or its heading."""
    return bool(_FIXES.search(sentence) or _HEADED_REPORT.search(above)) and not denies(sentence)


def is_not_yet(text: str) -> bool:
    """Returns whether the assistant says that it has not done something so far."""
    return _NOT_YET.search(text) is not None


def sets_about_it(text: str) -> bool:
    """Returns whether a message ends with the words that what it says is set right now: "Let me fix them:"."""
    return _SETS_ABOUT.search(text[-_ENDING:]) is not None


_ENDING: Final = 120  # characters of a message
_SETS_ABOUT: Final = re.compile(
    r"\b(?:let me|i'll|i will|let's|i'm going to) (?:now |also |just )*(?:fix|correct|address|resolve|handle) "
    r"(?:it|this|that|them|these|those|both|all(?: of (?:it|them|these))?|(?:this|that|these|those|both|all) [\w-]+)"
    r"(?: (?:now|too|first|right away))?\W*\Z",
    re.IGNORECASE,
)


_PUTS_OFF: Final = re.compile(
    r"\b(?:later|tomorrow|eventually|someday|postpone\w*|for now|not (?:now|yet)|another (?:time|day)|wait|"
    r"next (?:week|month|quarter|year|sprint|time|release|version))\b",
    re.IGNORECASE,
)


def puts_off(text: str) -> bool:
    """Returns whether the user leaves something for later."""
    return _PUTS_OFF.search(text) is not None


_PROPOSES: Final = re.compile(
    r"\b(?:i|we) (?:would |'d )?(?:suggest|propose|recommend)\b|\bi'd (?:suggest|propose|recommend)\b|"
    r"\bmy (?:suggestion|proposal|recommendation)\b|\b(?:we|you) could\b(?! (?:not|never|"
    r"lose|hit|see|get|end up|run into|no longer)\b)|\bhow about\b|"
    r"\b(?:i'd|i would) (?:use|add|put|move|change|split|start|make|remove|replace|drop|do|go|rename|extract)\b",
    re.IGNORECASE,
)


def proposes(text: str) -> bool:
    """Returns whether the assistant proposes something, which ends with the user's answer."""
    return _PROPOSES.search(text) is not None


# What an order is not: what is not to be done, or under a condition.
_NOT_ORDERED: Final = re.compile(
    r"(?:\b(?:not|never|dont|cannot|without|no need|rather than)|n't)(?:\s+\w+){0,2}\s+\Z|"
    r"\b(?:if|unless|in case|when|whether|once (?:it|they|the|that|this|you|we|all))\b[^.;:!?\n]*\Z",
    re.IGNORECASE,
)
_ON_CONDITION: Final = re.compile(r"[^.;:!?\n]*(?:\?|\b(?:if|unless|in case)\b)", re.IGNORECASE)


def ordered(form: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yields where a text of the user orders something: "revert it", not "don't revert it" or "revert it if …"."""
    for match in form.finditer(text):
        if not _NOT_ORDERED.search(text[: match.start()]) and not _ON_CONDITION.match(text, match.end()):
            yield match


def is_ordered(form: re.Pattern[str], text: str) -> bool:
    """Returns whether a text of the user orders something."""
    return any(True for _ in ordered(form, text))


def is_for_later(text: str, above: str) -> bool:
    """Returns whether the assistant says of something that it is left for later, not that it comes next."""
    return says(text, _LEFT) or _OPEN_ABOVE.search(above) is not None


def kind_of_statement(text: str, above: str) -> tuple[LostKind, str]:
    """Returns the kind and the mark of what an assistant says."""
    bare = text.lstrip("#*-_`|> 0123456789.)")
    if _GIVES_CHOICE.search(text):
        return "task", "offered"
    if _DECIDED.search(text) or _DECISIONS_ABOVE.search(above):
        return "decision", "by the assistant"
    if says(text, _OFFERED) or text.rstrip("*_` ").endswith("?"):
        return "task", "offered"
    is_open = says(text, _OPEN) or _NOT_YET.search(text) or _OPEN_ABOVE.search(above)
    if is_open and not _CHECKED.search(text):
        return "task", "said"
    return "finding", "reported" if _REPORTED.match(bare) else "stated"
