"""The kinds of items, and the phrases by which a statement is one of them (docs/lost.md).

The phrases are English. A person can read them and say whether they are right: no phrase is of one project.
"""

import re
from typing import Final, Literal, get_args

from slicebase.context.lost_words import says
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

# A rule is wording that stays in force after the request in which it stands is fulfilled. "That always returns 0" tells
# nobody to do something, and "make sure to delete it" is an order.
_NO_RULE: Final = (
    r"(?!\s+(?:forget|worry|hesitate|mind|bother|think|know|see|understand|remember|care|you|we|i|seen|been|had|heard|"
    r"again|just|the same|a problem|\w+ed)\b)"
)
_STANDING: Final = re.compile(
    r"(?:^|[.!?;:—–(,]\s*)(?:(?:please|just|also|ok|okay|no|yes|and|but|so|then)[\s,]+)*"
    rf"(?:always|never|don't|do not|dont|let's not|avoid|prefer|under no circumstances)\b{_NO_RULE}"
    r"|\b(?:make sure|be sure|remember|want you|need you)\b[^.;]{0,30}?\bto (?:always|never)\b"
    r"|\b(?:must|may|shall) (?:not|never|always)\b|\bmustn't\b|\bshould (?:never|always)\b"
    r"|\bnot allowed\b|\b(?:from now on|going forward|at all times)\b|\bin (?:the )?future(?=\W*\Z|[,;:])",
    re.IGNORECASE,
)
# Here only a verb that orders makes a rule, and after "and" only if the sentence itself is an order: "we always get 0",
# "it is read and never changed" tell how it is.
_SUBJECT: Final = re.compile(r"\b(you|we|and|but|so|then)\s+(?:always|never|don't|do not)\s+(\w+)", re.IGNORECASE)
# Some orders stay in force without such a word: they ask to be asked, set a bound, or say how things are done. They
# begin with their own verb, so what stands before it in the sentence is another order.
_STAYING: Final = re.compile(
    r"\b(?:ask|tell|warn|consult|check with) (?:me |us )?(?:first )?before (?!(?:that|this|it)\b)\w"
    r"|\bwait for (?:my|our) [\w-]+ before\b"
    r"|(?:(?<=^)|(?<=[.!;:,] )|(?<=please )|(?<=and ))"
    r"(?:only (?:touch|change|edit|modify|work|use)|stop (?:using|adding|writing|making|putting)|hands off"
    r"|(?:work|stay) (?:\S+ ){1,4}only\b(?=\W|\Z)|use [^.;,]{1,60}, (?:and )?not|leave (?:the )?(?:\S+ ){1,4}alone"
    r"|keep (?!going|on|at|me|us|it|\w+ing)[^.;,]{3,60}\b(?:compatible|stable|short|simple|small|unchanged|intact|"
    r"untouched|consistent|in sync|private|secret|minimal|as (?:is|it is|they are))|i prefer|i'd rather (?:have|you)"
    r"|write in [^.;]*\b(?:throughout|everywhere))\b",
    re.IGNORECASE,
)
_PAST: Final = r"(?:\w{2,}ed|written|sent|built|made|put|set|run|ran|rewrote|wrote|rebuilt|kept|split|cut|done|gone)"
_SO: Final = "(?:stay|remain|start with|begin with|end with|pass|support|contain|fit|match)"
# What holds for all of a sort, or says how something has to be. What has to be done is an order: it ends.
_BOUND: Final = re.compile(
    r"\boff[ -]limits\b|\b(?:nothing|nobody|no one)\b[^.;]{1,60}\bwithout\b"
    r"|\b(?:for|with|in|to) (?:everything|anything|whatever) you\b|\bwhenever you\b"
    r"|\b(?:when|if) you (?:add|change|create|write|edit|modify|rename|introduce|touch) (?:a|an|any|new)\b"
    r"|(?:^|[.;:,]\s*)(?:every|each|all|any)\s+(?:[^\s.;,]+\s+){1,6}?(?:must|has to|have to|should) "
    rf"(?:{_SO}|have(?! been)|use|follow|be(?!\s+{_PAST}\b))\b"
    r"|(?:^|[.;:,]\s*)no\s+(?:[^\s.;,]+\s+){1,4}?(?:must|should|may)\b"
    rf"|(?<!\bi)(?<!\bwe)(?<!\bit)(?<!\byou)(?<!\bthis)(?<!\bthat) (?:must|has to|have to) {_SO}\b"
    r"|(?:^|[.;:]\s*)(?:for|in) (?:all|every|each|any) [^.;]{2,40}?\b(?:use|prefer|keep|follow)\b",
    re.IGNORECASE,
)
# A user who says how all of a sort are says how they have to be: "all prices are in cents". What is so at the moment,
# or of "all the" things at hand, is told.
_ALL_ARE: Final = re.compile(
    r"\W*(?:(?:note|remember|and|also)(?: that)?[:,]?\s+)?(?:all|every|each)\s+"
    r"(?!(?:of|the|these|those|my|your|this|that|other|others|time|day|i|we|you|it)\b)(?:[^\s.,;:]+\s+){1,3}?"
    r"(?:is|are|uses?|returns?|has|have|lives?|goes?|starts?|ends?|belongs?)\s+(?P<how>[^.;]{2,80})[.!]?\s*",
    re.IGNORECASE,
)
_AT_THE_MOMENT: Final = re.compile(
    r"n't\b|\b(?:not|no|now|still|again|already|just|too|so|very|been|to|fail\w*|broken|red|green|slow|wrong|missing|gone|"
    r"done|ready|good|fine|ok|okay|empty|down|up|null|errors?|bugs?|issues?|problems?|same|\w+ing|\w{3,}ed)\b",
    re.IGNORECASE,
)
_EACH_TIME: Final = re.compile(r"\b(?:before|after) (?:every|each|any)\b|\b(?:every|each) time\b", re.IGNORECASE)
_EACH_EVENT: Final = re.compile(
    r"\b(?:before|after|with|in|on|for) (?:every|each|any) (?:new |single )?(?:commit|push|change|edit|release|run|"
    r"build|deploy\w*|merge|pull request|pr|step|answer|reply|message)s?\b"
    r"|\b(?:tests?|lint\w*|checks?|format\w*|suite)\b[^.;]*\bbefore (?:(?:committ|push|merg)ing|you (?:commit|push))\b",
    re.IGNORECASE,
)
# Orders that are over when they were followed for each of many: "restart the nodes, wait after each".
_AT_ONCE: Final = frozenset(
    {
        "book", "buy", "cancel", "clean", "convert", "copy", "delete", "deploy", "drop", "email", "mail", "merge",
        "migrate", "move", "notify", "order", "pay", "port", "post", "publish", "push", "refund", "release", "remove",
        "rename", "replace", "restart", "restore", "revert", "rewrite", "send", "ship", "submit", "transfer", "undo",
        "upgrade", "upload",
    }
)  # fmt: skip
_FOR_ALL: Final = re.compile(r"\b(?:for|in) (?:every|each|all|any)\b|\beverywhere\b|\bthroughout\b", re.IGNORECASE)
_WAYS: Final = frozenset(
    {"use", "prefer", "follow", "keep", "stick", "name", "prefix", "sign", "format", "document", "test"}
)
_FILLERS: Final = frozenset(
    {"please", "just", "also", "and", "but", "so", "ok", "okay", "then", "now", "yes", "no", "kindly"}
)
# By which somebody who orders something says that it is something else than before.
_TURNS: Final = re.compile(
    r"\A\W*(?:i(?:'ve| have)? changed my mind|on second thoughts?|actually)\b[\s,:;.—–-]*", re.IGNORECASE
)
_NEXT_ORDER: Final = re.compile(r"(?:;\s*|,\s*(?:and|then|but|so|just)\s+|\.\s+)(?=(?:please\s+)?(\w+))", re.IGNORECASE)
# After an order that forbids nothing, any further order is another one: "use tabs, not spaces and push it".
_ANY_ORDER: Final = re.compile(
    r"(?:;\s*|,\s*(?:(?:and|then|but|so|just)\s+)?|\.\s+|\s+and\s+(?:then\s+)?|\s+then\s+)(?=(?:please\s+)?(\w+))",
    re.IGNORECASE,
)
_TEMPORARY: Final = re.compile(r"\b(?:yet|for now|right now|until|today|this time|at the moment)\b", re.IGNORECASE)


def rule_in(sentence: str) -> tuple[int, int] | None:
    """Returns the span of the standing rule in a sentence of the user; None if there is none.

    Orders before and after it in the same sentence are cut off: they end when they are fulfilled.
    """
    if sentence.rstrip().endswith("?"):
        return None
    match = _STANDING.search(sentence)
    subject = _SUBJECT.search(sentence)
    first = _first_order(sentence)
    if match is None and subject and subject[2].lower() in ORDERS:
        match = subject if subject[1].lower() in ("you", "we") or first in ORDERS else None
    start, end = 0, len(sentence)
    orders = _NEXT_ORDER
    if match is None and (match := _STAYING.search(sentence)):
        start, orders = (0 if _BOUND.search(sentence[: match.start()]) else match.start()), _ANY_ORDER
    elif match and match[0].lower().endswith("prefer"):
        orders = _ANY_ORDER
    match = match or _BOUND.search(sentence)
    if match is None:
        return (0, end) if _is_each_time(sentence, first) or _is_of_all(sentence) else None
    for order in orders.finditer(sentence, start):
        word = order[1].lower()
        is_order = word in ORDERS or word in _AT_ONCE
        if order.end() <= match.end():
            if orders is _NEXT_ORDER and _first_order(sentence[start:]) in ORDERS and not is_order:
                start = order.end()
        elif order.start() >= match.end() and is_order:
            end = order.start()
            break
    return start, end


def _is_each_time(sentence: str, first: str) -> bool:
    """Returns whether an order holds again and again. One that is given for each of many things is over soon."""
    if _EACH_EVENT.search(sentence) and first in ORDERS:
        return True
    if _EACH_TIME.search(sentence) and first in ORDERS - _AT_ONCE:
        return True
    return first in _WAYS and _FOR_ALL.search(sentence) is not None


def _is_of_all(sentence: str) -> bool:
    """Returns whether a sentence says how all of a sort are, for good."""
    match = _ALL_ARE.fullmatch(sentence)
    return match is not None and _AT_THE_MOMENT.search(match["how"]) is None


def can_be_rule(entry: str, above: str) -> bool:
    """Returns whether an entry of a list of rules may be one: neither it nor the line above orders a piece of work."""
    once = _first_order(entry) in _AT_ONCE | {"add", "create", "fix", "implement"}
    return not once and _first_order(above) not in ORDERS - _WAYS


def is_temporary(rule: str) -> bool:
    """Returns whether a rule holds only for some time."""
    return _TEMPORARY.search(rule) is not None


def _first_order(text: str) -> str:
    """Returns the first word of a text that is more than a filler."""
    return next((word for word in words_in(_TURNS.sub("", text)) if word not in _FILLERS), "")


def kind_of_prompt(text: str) -> tuple[LostKind, str]:
    """Returns the kind and the mark of what a user says, apart from rules."""
    is_question = text.rstrip().endswith("?")
    if says(text, _CORRECTIONS) or words_in(text)[-1:] == ["instead"]:
        return "instruction", "correction"
    if not is_question and (_DECIDED.search(text) or _SETTLED.search(text)):
        return "decision", "by the user"
    if is_question or says(text, _ASKED) or _first_order(text) in ORDERS:
        return "instruction", "asked"
    return "instruction", "told"


def asks_to_be_told(text: str) -> bool:
    """Returns whether any answer fulfils a request: it asks, or orders to look or to explain."""
    return text.rstrip().endswith("?") or _first_order(text) in _TELLING


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
_NOT_YET: Final = re.compile(
    r"\b(?:i|we) (?:have |did |could )?(?:haven't|didn't|couldn't|not)\b[^.;:]{1,60}\byet\b|"
    r"\b(?:so|but|and) no \w+ [^.;:]{1,40}\byet\b|\bi left (?:it |that |this )?open\b",
    re.IGNORECASE,
)
_OFFERED: Final = (
    "would you like", "should i", "do you want", "which approach", "which option", "let me know", "shall i",
    "want me to", "if you want", "if you'd like",
)  # fmt: skip
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
_ADVERB: Final = r"(?:\w+ly\s+|also\s+|now\s+|all\s+|both\s+|already\s+)?"
_REPORTS: Final = re.compile(
    r"✅|✓|☑|\[x\]|\b(?:done|finished|completed?|in place|fixed|resolved|undone|passes|pass)\b|"
    rf"\b(?:is|are|was|were|been|now|i've|i have|we've|i|we)\s+{_ADVERB}{_PAST}\b|"
    rf"^\W*(?:\d+[.)]\W*)?(?:all )?{_PAST}\b",
    re.IGNORECASE,
)
# "Is called five times" describes. What was changed is told in the perfect, in the past, or as what is so now.
_CHANGED: Final = (
    r"(?:fixed|resolved|addressed|corrected|strengthened|implemented|added|removed|deleted|replaced|renamed|moved|updated|"
    r"refactored|changed|rewritten|rewrote|wrote|extracted|handled|covered|closed|reverted|dropped|merged|committed|pushed|"
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


def kind_of_statement(text: str, above: str) -> tuple[LostKind, str]:
    """Returns the kind and the mark of what an assistant says."""
    bare = text.lstrip("#*-_`|> 0123456789.)")
    if _DECIDED.search(text) or _DECISIONS_ABOVE.search(above):
        return "decision", "by the assistant"
    if says(text, _OFFERED) or text.rstrip("*_` ").endswith("?"):
        return "task", "offered"
    is_open = says(text, _OPEN) or _NOT_YET.search(text) or _OPEN_ABOVE.search(above)
    if is_open and not _CHECKED.search(text):
        return "task", "said"
    return "finding", "reported" if _REPORTED.match(bare) else "stated"
