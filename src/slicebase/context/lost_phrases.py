"""The kinds of items, and the phrases by which a statement is one of them (docs/lost.md)."""

import re
from typing import Final, Literal, get_args

from slicebase.context.lost_words import says
from slicebase.graph.annotate import CORRECTED, DECIDED, words_in

LostKind = Literal["instruction", "decision", "finding", "artefact", "task", "error", "command"]
LOST_KINDS: Final[tuple[LostKind, ...]] = get_args(LostKind)

# "Decision" as a noun says nothing: "lots of decisions there".
DECISIONS: Final = (
    *(phrase for phrase in DECIDED if phrase not in ("decision", "decisions")),
    "i'll go with", "we'll go with", "i'd go with", "went with", "going with", "let's do", "let's not", "settled on",
    "opted for", "i chose", "we chose", "chose to", "agreed to", "agreed on", "agreed that", "design decision",
    "design decisions", "the decision is", "decision is to", "rather than", "the plan is", "simplest approach",
    "block merge", "not in scope", "out of scope", "is acceptable", "trade off", "tradeoff",
)  # fmt: skip
# "Instead" is a correction only at the end of a sentence; elsewhere it compares.
CORRECTIONS: Final = (
    *(phrase for phrase in CORRECTED if phrase != "instead"),
    "revert", "undo", "i said", "i told you", "why don't you",
)  # fmt: skip
# A rule stays in force after the request in which it stands is fulfilled. It tells somebody to do something: "that
# always returns 0" is none.
RULE: Final = re.compile(
    r"(?:^|[.!?,;:—–(-]\s*|\b(?:please|you|we|and|but|also|so|just|should|must|to|let's|i'd|i|no)\s+)"
    r"(?:always|never|don't|do not|must|must not|mustn't|make sure|ensure|avoid|prefer|only|let's not|remember|"
    r"shouldn't|should not|can just|keep in mind|mind that)\b"
    r"|\b(?:from now on|not allowed|no need to|only when|only if|unless|before you|should (?:be|only|not|check|ask)|"
    r"make sure|instead of)\b",
    re.IGNORECASE,
)
ASKED: Final = (
    "please", "should", "need", "needs", "want", "can you", "can we", "could you", "could we", "would you", "let's",
    "only", "i'd like",
)  # fmt: skip
ORDERS: Final = frozenset(
    {
        "add", "adjust", "allow", "apply", "ask", "build", "bump", "call", "change", "check", "clean", "commit",
        "compare", "consider", "continue", "convert", "copy", "create", "cut", "delete", "deploy", "describe",
        "disable", "do", "document", "drop", "enable", "explain", "extend", "find", "finish", "fix", "format", "give",
        "go", "handle", "hide", "implement", "improve", "include", "investigate", "keep", "leave", "list", "log",
        "look", "make", "merge", "migrate", "move", "open", "pin", "port", "prepare", "print", "push", "put", "read",
        "rebase", "redo", "refactor", "remove", "rename", "repeat", "replace", "rerun", "restore", "review",
        "rewrite", "run", "set", "show", "simplify", "skip", "sort", "split", "start", "strengthen", "support",
        "switch", "take", "tell", "test", "tidy", "treat", "try", "turn", "undo", "update", "upgrade", "use",
        "validate", "verify", "wait", "wire", "wrap", "write",
    }
)  # fmt: skip
OPEN: Final = (
    "todo", "still to do", "still need to", "still needs to", "still have to", "left to do", "remaining work",
    "for later", "come back to", "follow up", "not done yet", "next step", "next steps", "we need to", "needs to be",
    "not yet", "still unfixed", "remains to", "would need to",
)  # fmt: skip
OFFERED: Final = (
    "would you like", "should i", "do you want", "which approach", "which option", "let me know", "shall i",
    "want me to", "if you want", "if you'd like",
)  # fmt: skip
OPEN_ABOVE: Final = re.compile(
    r"\b(?:next steps?|to ?do|remaining|recommendations?|my suggestions?|follow-?ups?|action items?|"
    r"(?:unit|integration|e2e|missing|new|manual) (?:tests?|verification))\b:?",
    re.IGNORECASE,
)
# What the assistant says while it works: it announces the next call, and is over when the call is made.
NARRATION: Final = re.compile(
    r"(?:(?:good|great|perfect|excellent|ok(?:ay)?|right|alright|sure|done|now|first|next|also|and|so|interesting|"
    r"clean|hmm|wait|yes|nice|all green|sorry)\b[\s,.!:—–-]*)*"
    r"(?:let me|let's (?:look|check|see|run|verify|read|try|start|continue|first)|i'll|i will|i'm going to|"
    r"i am going to|i need to|i can see|i see\b|i want to|now i|i should|i'm |time to|here's|here are|here is|"
    r"now (?:let|update|add|run|check|fix|create|write|verify|the|for|that)|"
    r"(?:checking|running|reading|updating|adding) (?:the|all|this|both|it|them|more|a|now)\b)",
    re.IGNORECASE,
)
# What the assistant reports as finished. The result is in the files; the report is not needed again.
REPORTED: Final = re.compile(
    r"(?:all )?(?:done|fixed|updated|added|created|removed|deleted|committed|pushed|renamed|moved|reverted|changed|"
    r"rewrote|implemented|refactored|replaced|i've|i have|both|all (?:tests|checks|green|pass)|tests? pass)\b",
    re.IGNORECASE,
)
# Signs that a statement of the assistant is a conclusion.
CONCLUDED: Final = re.compile(
    r"\b(?:root cause|the (?:issue|problem|bug|cause|reason|real|key|culprit) (?:is|was|here)|turns out|because|"
    r"caused? by|due to|which means|this means|that means|so that|therefore|hence|that's why|this is why|confirms?|"
    r"confirmed|rules? out|proves?|shows? that|found|discovered|noticed|the fact that|results? in|leads? to|"
    r"since it|only (?:when|if|for|in)|never|always|already|not (?:used|set|called|tested|scoped|covered|the)|"
    r"no longer|doesn't|does not|don't|isn't|is not|aren't|are not|can't|cannot|won't|without|instead of|but|"
    r"however|although|silently|missing|fails?|race|leak|duplicat\w+|redundant|unused|stale|expensive|slow\w*|unless|except)\b",
    re.IGNORECASE,
)


def kind_of_prompt(text: str) -> tuple[LostKind, str]:
    """Returns the kind and the mark of what a user says."""
    is_question = text.rstrip().endswith("?")
    if RULE.search(text):
        return "instruction", "rule"
    if says(text, CORRECTIONS) or words_in(text)[-1:] == ["instead"]:
        return "instruction", "correction"
    if not is_question and says(text, DECISIONS):
        return "decision", "by the user"
    if is_question or says(text, ASKED) or first_word(text) in ORDERS:
        return "instruction", "asked"
    return "instruction", "told"


def is_narration(sentence: str) -> bool:
    """Returns whether a sentence of the assistant only announces the next step."""
    bare = sentence.lstrip("#*-_|> ")
    return bool(NARRATION.match(bare)) and not CONCLUDED.search(bare) and len(sentence) < 200


def kind_of_statement(text: str, above: str) -> tuple[LostKind, str]:
    """Returns the kind and the mark of what an assistant says."""
    bare = text.lstrip("#*-_`|> 0123456789.)")
    if says(text, DECISIONS) or says(above, ("design decision", "design decisions", "decisions", "decision")):
        return "decision", "by the assistant"
    if says(text, OFFERED):
        return "task", "offered"
    if says(text, OPEN) or OPEN_ABOVE.search(above):
        return "task", "said"
    return "finding", "reported" if REPORTED.match(bare) else "stated"


def first_word(text: str) -> str:
    """Returns the first word of a text, in lower case."""
    match = re.search(r"[^\W\d]+", text)
    return match[0].lower() if match else ""
