"""What a user says that stays in force: standing rules, told apart from orders that end when they are fulfilled.

The phrases are English. A person can read them and say whether they are right: no phrase is of one project.
"""

import re
from typing import Final

from slicebase.context.lost.phrases import ORDERS, PAST, first_order
from slicebase.graph.annotate import words_in

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
_SO: Final = "(?:stay|remain|start with|begin with|end with|pass|support|contain|fit|match)"
# What holds for all of a sort, or says how something has to be. What has to be done is an order: it ends.
_BOUND: Final = re.compile(
    r"\byou may [^.;?]{2,80}?(?:\bbut not|\bbut never|, never)\b"
    r"|(?:^|[.;:,]\s*|\band |\bbut )(?:everything|anything) (?:that|which|in|on|with|from|under) [^.;]{2,60}?"
    r"\b(?:needs? (?:a|an|my|our|to)|must|has to|goes (?:through|to|into)|belongs?|stays?)\b"
    r"|\boff[ -]limits\b|\b(?:nothing|nobody|no one)\b[^.;]{1,60}\bwithout\b"
    r"|\b(?:for|with|in|to) (?:everything|anything|whatever) you\b|\bwhenever you\b"
    r"|\b(?:when|if) you (?:add|change|create|write|edit|modify|rename|introduce|touch) (?:a|an|any|new)\b"
    r"|(?:^|[.;:,]\s*)(?:every|each|all|any)\s+(?:[^\s.;,]+\s+){1,6}?(?:must|has to|have to|should) "
    rf"(?:{_SO}|have(?! been)|use|follow|be(?!\s+{PAST}\b))\b"
    r"|(?:^|[.;:,]\s*)no\s+(?:[^\s.;,]+\s+){1,4}?(?:must|should|may)\b"
    rf"|(?<!\bi)(?<!\bwe)(?<!\bit)(?<!\byou)(?<!\bthis)(?<!\bthat) (?:must|has to|have to) {_SO}\b"
    r"|(?:^|[.;:]\s*)(?:for|in) (?:all|every|each|any) [^.;]{2,40}?\b(?:use|prefer|keep|follow)\b"
    rf"|(?:^|[.;:,]\s*|\band )(?:the|our|your)\s+(?:[\w./-]+\s+){{1,3}}?(?:must|has to|have to) be\s+(?!{PAST}\b)\S"
    r"|(?:^|[.;:,]\s*|\band |\bbut )(?!(?:and|but|i|we|you|it|this|that|these|those|they|he|she|there|what|which|why|"
    r"how|where|who|if|when|some\w*|any\w*)\b)(?:[\w./-]+\s+){1,4}?"
    r"(?:(?:must|has to|have to) be\b|"
    r"needs? to be (?=(?:at (?:least|most)|under|below|above|less|more|within|between)\b))\s*"
    rf"(?!(?:{PAST}|a|an|the|some\w*|another|wrong|broken|because|due|related|missing|in|from|why|how|what|that)\b)\S",
    re.IGNORECASE,
)
_LANGUAGES: Final = (
    "(?:english|german|french|spanish|italian|portuguese|dutch|polish|russian|chinese|japanese|korean|swedish|turkish|"
    "deutsch|latin|arabic|hindi|markdown|(?:snake|camel|kebab|pascal|upper|lower|title|sentence)[ _-]?case|plain text)"
)
# What somebody says in a few words without a verb: "no new dependencies", "commit messages in German please".
_SHORT: Final = re.compile(
    r"\W*(?:(?:please|and|also|but|ok|okay|remember|note)[\s,:]+)*(?:"
    r"no\s+(?:new|more|additional|extra|external|further|other|third[- ]party|breaking|unnecessary|unrelated)\s+"
    r"(?!(?:errors?|bugs?|issues?|problems?|failures?|warnings?|comments?|questions?|news|results?|ideas?)\b)"
    r"(?:[\w-]+\s*){1,4}"
    rf"|(?:all |every |your |the |our )?(?:[\w-]+\s+){{0,2}}(?:messages?|comments?|docs?|docstrings?|"
    rf"documentation|answers?|"
    r"replies|names?|titles?|descriptions?|texts?|strings?|logs?|identifiers?|code|everything|reports?|notes)\s+"
    rf"(?:(?:only|always|are|is)\s+)?in\s+{_LANGUAGES}(?:\s+only)?"
    r")(?:[\s,]+please)?[\s.!]*",
    re.IGNORECASE,
)
# What somebody wants of all of a sort; that a few are fixed is over once it is done.
_WANTED: Final = re.compile(
    r"\W*(?:(?:and|also|but|please)[\s,]+)*(?:i|we)(?:'d| would)?\s+(?:want|need|expect|like|insist on)\s+"
    r"(?:every|each|no|all(?!\s+(?:of|the|these|those|this|that|my|your)\b))\s+(?:[\w-]+\s+){1,4}?"
    r"(?!(?:fixed|gone|done|removed|deleted|resolved|merged|pushed|deployed|renamed|moved|updated|migrated|"
    r"converted|replaced|rewritten|closed|reverted|checked|reviewed)\b)"
    r"(?:\w+ed|written|in|with|without|to be|to have|as|under|on)\b[^?]*",
    re.IGNORECASE,
)
# "Use pathlib instead of os.path" tells how things are done; "use the new one instead of this" ends.
_USE_INSTEAD: Final = re.compile(
    r"\W*(?:(?:please|just|actually|no|wait|and|ok|okay|rather|from now on|in general)[\s,:;—–-]+)*use\s+"
    r"(?!(?:the|this|that|these|those|it|my|your|our|his|her|their|a|an)\b)[^.;,]{1,40}?\s+(?:instead of|"
    r"rather than|over)\s+"
    r"(?!(?:the|this|that|these|those|it|my|your|our|his|her|their|a|an)\b)[\w.`'-]+(?:\s+[\w.`'-]+)?[\s.!]*",
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
    r"n't\b|\b(?:not|no|now|still|again|already|just|too|so|very|been|to|fail\w*|broken|red|green|slow|"
    r"wrong|missing|gone|"
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
_NEXT_ORDER: Final = re.compile(r"(?:;\s*|,\s*(?:and|then|but|so|just)\s+|\.\s+)(?=(?:please\s+)?(\w+))", re.IGNORECASE)
# After an order that forbids nothing, any further order is another one: "use tabs, not spaces and push it".
_ANY_ORDER: Final = re.compile(
    r"(?:;\s*|,\s*(?:(?:and|then|but|so|just)\s+)?|\.\s+|\s+and\s+(?:then\s+)?|\s+then\s+)(?=(?:please\s+)?(\w+))",
    re.IGNORECASE,
)
_TEMPORARY: Final = re.compile(r"\b(?:yet|for now|right now|until|today|this time|at the moment)\b", re.IGNORECASE)


_REFUSAL: Final = re.compile(
    r"\W*(?:please,?\s+)?no\s+(?!(?:need|idea|problem|thanks|thank|way|wait|longer|worries|rush|reason|point|one|it|that|this|"
    r"i|we|you|stop|do|just|use|let|first|not|please)\b)[\w`-]",
    re.IGNORECASE,
)


def is_forbidden(reason: str) -> bool:
    """Returns whether the reason of a refused call forbids what it does: "no new migrations please"."""
    return _REFUSAL.match(reason) is not None


def rule_in(sentence: str) -> tuple[int, int] | None:
    """Returns the span of the standing rule in a sentence of the user; None if there is none.

    Orders before and after it in the same sentence are cut off: they end when they are fulfilled.
    """
    if sentence.rstrip().endswith("?"):
        return None
    match = _STANDING.search(sentence)
    subject = _SUBJECT.search(sentence)
    first = first_order(sentence)
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
        is_rule = _is_each_time(sentence, first) or _is_of_all(sentence)
        return (
            (0, end) if is_rule or any(form.fullmatch(sentence) for form in (_SHORT, _WANTED, _USE_INSTEAD)) else None
        )
    for order in orders.finditer(sentence, start):
        word = order[1].lower()
        is_order = word in ORDERS or word in _AT_ONCE
        if order.end() <= match.end():
            if orders is _NEXT_ORDER and first_order(sentence[start:]) in ORDERS and not is_order:
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


def order_of_rule(rule: str) -> str:
    """Returns the verb of what a rule orders or forbids: "use" of "No wait: always use spaces."."""
    words = words_in(_TURNS_BACK.sub("", rule))
    return next((word for word in words if word in ORDERS), "") if rule_in(rule) else ""


def can_be_rule(entry: str, above: str) -> bool:
    """Returns whether an entry of a list of rules may be one: neither it nor the line above orders a piece of work."""
    once = first_order(entry) in _AT_ONCE | {"add", "create", "fix", "implement"}
    return not once and first_order(above) not in ORDERS - _WAYS


def turns_back(sentence: str) -> bool:
    """Returns whether the user says that something is other than he said before: "No wait: always use spaces."."""
    return _TURNS_BACK.match(sentence) is not None


_TURNS_BACK: Final = re.compile(
    r"\W*(?:(?:oh|ok|okay|sorry|ah|hm+|um)\b[\s,.:;—–-]*)*(?:no[,\s—–-]+wait|wait[,\s—–-]+no|wait|"
    r"actually|correction|scratch that|"
    r"(?:i|i've|i have) changed my mind|on second thoughts?|no[,:]|rather|i meant|make (?:that|it))\b|\W*no[,:—–-]",
    re.IGNORECASE,
)


def is_temporary(rule: str) -> bool:
    """Returns whether a rule holds only for some time."""
    return _TEMPORARY.search(rule) is not None
