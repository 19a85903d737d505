"""Tells apart who wrote a text of a transcript, before anything in it is judged (docs/lost.md).

    speech    what the user or the assistant says
    report    prose that a tool returns because another model wrote it: a subagent's answer
    output    anything else that a tool returns

What the user copied in (logs, code, tables, quotations, the words of others) and what a client writes in the name of
the user or of a tool is none of these, and is left out: it is not what the user says, and it is not about the work. A
text is divided into blocks (paragraphs, headings, list entries, table rows), and each block is judged by itself.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Literal, NamedTuple

SpeechOrigin = Literal["speech", "report", "output"]
BlockForm = Literal["paragraph", "heading", "entry", "row", "code", "quotation"]

# Messages that a client writes in the name of the user.
_CLIENT_PROMPT: Final = re.compile(
    r"\s*(?:<(?:command-|local-command|system-reminder|bash-|task-|user-|ide_|environment_|session-|persisted-|turn_)|"
    r"\[Request interrupted|Caveat: The messages below|This session is being continued|"
    r"If you need specific details from before|Base directory for this skill|Invoke the [\w:-]+ skill|"
    r"Stop hook feedback|\[Image: |Context microcompacted|Unknown slash command|# AGENTS\.md instructions)"
)
INTERRUPTED: Final = re.compile(r"\s*(?:\[Request interrupted|<turn_aborted>)")
_COMMAND_WORDS: Final = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_COMPACTS: Final = re.compile(r"<command-name>/?compact\b")
# Messages of a client in place of a tool's result. They are about the use of the tool, not about the work.
_CLIENT_RESULT: Final = re.compile(
    r"\s*(?:<tool_use_error>|<retrieval_status>|<persisted-output>|<error>|File has not been read yet|"
    r"File has been (?:modified|unexpectedly)|Sibling tool call errored|Todos have been modified|Updated task #|"
    r"Output too large|The user doesn't want to|\[Request interrupted|\[Tool use was cancelled|Launching skill|"
    r"Exit plan mode|Command running in background|Command timed out after|Request timed out|Cancelled: parallel|"
    r"InputValidationError|Error: No such tool|API Error|MCP error|No changes to make|Permission to use|"
    r"This command requires approval|This \w+ command contains multiple operations|Shell \S+ is not running|"
    r"Claude requested permissions|Tool ran without output|agentId: |"
    r"The file .{1,400} has been (?:updated|created)|File created successfully|Successfully (?:wrote|edited))"
)
# A client's message that the user refused a call.
REFUSED: Final = re.compile(
    r"(?:user|person) (?:doesn't|does not|didn't) want to|rejected by (?:the )?user", re.IGNORECASE
)
_REMINDER: Final = re.compile(
    r"<(system-reminder|usage)>.*?(?:</\1>|\Z)|</?thinking>|^agentId: .*$", re.DOTALL | re.MULTILINE
)


def without_reminders(text: str) -> str:
    """Returns the text with the reminders of clients replaced by spaces, so that offsets do not change."""
    if "<" not in text and "agentId" not in text:
        return text
    return _REMINDER.sub(lambda match: _blank(match[0]), text)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def said_by_user(text: str) -> str:
    """Returns what the user says in a message: all else is blank, so that offsets do not change.

    A message of the client says nothing, except for the words that the user gave to one of its commands.
    """
    if not _CLIENT_PROMPT.match(text):
        return without_reminders(text).replace("\ufeff", " ")  # a byte order mark came with what was pasted
    words = None if _COMPACTS.search(text) else _COMMAND_WORDS.search(text)
    return _only(text, [(words.start(1), words.end(1))]) if words else _blank(text)


def _only(text: str, spans: list[tuple[int, int]]) -> str:
    """Returns a text in which everything outside these spans is blank."""
    pieces, place = [], 0
    for start, end in spans:
        pieces += [_blank(text[place:start]), text[start:end]]
        place = end
    return "".join([*pieces, _blank(text[place:])])


def joined(spans: Iterable[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """Returns spans with those joined between which there is nothing but white space and marks."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and not re.search(r"\w", text[joined[-1][1] : start]):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


class TextBlock(NamedTuple):
    """A block of a text with its span, its form, and the heading or lead-in above it."""

    text: str
    start: int
    end: int
    form: BlockForm
    above: str = ""


_FENCE: Final = re.compile(r"^[ \t>]*(`{3,}|~{3,})")
_ENTRY: Final = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)]|\[[ xX]\])\s+")
_HEADING: Final = re.compile(r"\s*#{1,6}\s|\s*(?:\*\*|__)[^*]{2,120}(?:\*\*|__):?\s*\Z|[^.!?]{2,120}:\s*\Z")
_RULE: Final = re.compile(r"[\s|:=_*-]*\Z")


def blocks(text: str) -> Iterator[TextBlock]:
    """Yields the blocks of a text, with the heading or the lead-in that each stands under."""
    above = ""
    for start, end, form in _spans(text):
        body = text[start:end]
        yield TextBlock(body, start, end, form, above)
        if form == "heading":
            above = " ".join(body.split())


def _spans(text: str) -> Iterator[tuple[int, int, BlockForm]]:
    fence: str | None = None
    opened: tuple[int, BlockForm] | None = None
    last = place = 0
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        mark = _FENCE.match(line)
        if fence is not None:
            if mark and mark[1].startswith(fence):
                yield opened[0] if opened else place, place + len(line.rstrip()), "code"
                fence, opened = None, None
        else:
            form = _form(line, bare)
            if opened and (mark or not bare or form != "paragraph" or opened[1] in ("heading", "row")):
                yield opened[0], last, opened[1]
                opened = None
            if mark:
                fence, opened = mark[1], (place, "code")
            elif bare and opened is None and not _RULE.match(bare):
                opened = place + len(line) - len(line.lstrip()), form
        place += len(line)
        last = place - len(line) + len(line.rstrip())
    if opened:
        yield opened[0], last, opened[1]


def _form(line: str, bare: str) -> BlockForm:
    if bare.startswith(">"):
        return "quotation"
    if bare.startswith("|"):
        return "row"
    if _ENTRY.match(line):
        return "entry"
    return "heading" if _HEADING.match(bare) else "paragraph"


# What the user typed, and what was pasted

_LOG_LINE: Final = re.compile(
    r"\s*(?:\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d|[\w./-]+\.\w{1,5}:\d+|===|---|\+\+\+|@@|\$ |% |❯|>>> |at \S+\(|"
    r"Traceback|(?:FAIL|PASS|ok|ERROR|WARN|INFO|DEBUG|error|warning|fatal|panic|remote|hint)\b[:\s\[]|[{}\[\]();]+\s*\Z|"
    r"commit [0-9a-f]{7,40}\b|(?:Author|AuthorDate|Commit|CommitDate): |[│├└╭╰─┃●⏺⎿✓✗✘•]|\w+ \w+\(.*\{\s*\Z|\s{4,}\S)"
)
_SYMBOL: Final = re.compile(r"[{}\[\]();=<>|\\/_$#@*^~`\"]|::|->")
_LONG: Final = 700  # characters: few people type more in one block


# The words, before the colon at its end, of a line that announces the words of somebody else.
_FOREIGN: Final = re.compile(
    r"\b(?:comments?|review(?:er)?s?|feedback|output|logs?|errors?|messages?|trace\w*|prints?|printed|says|said|wrote|"
    r"reported|reports|copilot|bot|ci|tickets?|e-?mails?|issue|description|got this|the following (?:error|output)|"
    r"(?:fix|address|resolve|look at|check|see|about|handle|regarding|got|get) this)\b",
    re.IGNORECASE,
)
# A line that announces the rules of the user.
_RULES: Final = re.compile(
    r"\W*(?:[\w'-]+ ){0,4}?(?:rules|conventions|constraints|guidelines|preferences)"
    r"(?: (?:for|on|about|of|in|here)\b[^:]*)?:?\W*\Z",
    re.IGNORECASE,
)
_ADDRESSES: Final = re.compile(r"\s*(?:please|can you|could you|i\b|i'd|let's|ok\b|thanks)", re.IGNORECASE)
_DISOWNS: Final = re.compile(r"\bignore (?:it|this|that|them|the above|those)\b", re.IGNORECASE)


def typed(text: str) -> str:
    """Returns what the user typed of a message: blocks that were copied in are blank.

    What follows a line such as "fix this review comment:" is of somebody else, up to a block that speaks to the agent,
    and so is what the user says to ignore.
    """
    own: list[tuple[int, int]] = []
    foreign = False
    for block in blocks(text):
        foreign = foreign and not _ADDRESSES.match(block.text)
        if _DISOWNS.search(block.text):
            own.clear()
        if not foreign and not is_pasted(block):
            own.append((block.start, block.end))
        foreign = foreign or (_announces_others(block.text) and not _announces_rules(block.text))
    return _only(text, own)


def _announces_others(text: str) -> bool:
    """Returns whether a text ends with a colon, and the words since the colon before it name words of somebody else."""
    line = text.rstrip()
    return line.endswith(":") and _FOREIGN.search(line[line.rfind(":", 0, -1) + 1 : -1]) is not None


def _announces_rules(text: str) -> bool:
    """Returns whether a text is a line such as "ground rules:". A long text is none, and is not searched."""
    return len(text) <= _LONG and _RULES.match(text) is not None


def listed_rules(text: str, may_be: Callable[[str, str], bool]) -> tuple[list[TextBlock], str]:
    """Returns the entries of lists that stand under a line such as "ground rules:", and the text without them."""
    rules: list[TextBlock] = []
    rest: list[tuple[int, int]] = []
    under = False
    for block in blocks(text):
        if block.form != "entry":
            under = block.form == "heading" and _announces_rules(block.text)
        words = _ENTRY.sub("", block.text, count=1)
        if under and block.form == "entry" and may_be(words, block.above):
            rules.append(block._replace(text=words, start=block.end - len(words)))
        elif not under or block.form == "entry":
            rest.append((block.start, block.end))
    return rules, _only(text, rest) if rules else text


def is_pasted(block: TextBlock) -> bool:
    """Returns whether a block of a user's message was copied in rather than typed."""
    if block.form in ("code", "row", "quotation") or block.text.lstrip().startswith("#"):
        return True
    lines = block.text.splitlines() or [""]
    if len(block.text) > _LONG or sum(bool(_LOG_LINE.match(line)) for line in lines) * 2 > len(lines):
        return True
    bare = re.sub(r"`[^`]*`|https?://\S+", "", block.text)
    return len(_SYMBOL.findall(bare)) * 8 > len(bare)


def is_client_result(text: str) -> bool:
    """Returns whether a tool's result is a message of the client."""
    return not text.strip() or bool(_CLIENT_RESULT.match(text))
