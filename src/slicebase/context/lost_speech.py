"""Tells apart who wrote a text of a transcript, before anything in it is judged (docs/lost.md).

    speech    what the user or the assistant says
    pasted    what the user copied in: logs, code, lists, quotations, plans
    report    prose that a tool returns because another model wrote it: a subagent's answer
    output    anything else that a tool returns
    client    a message of the client in the name of the user or of a tool: it is about the client, not the work

A text is divided into blocks (paragraphs, headings, list entries, table rows), and each block has one origin.
"""

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

SpeechOrigin = Literal["speech", "pasted", "report", "output", "client"]
BlockForm = Literal["paragraph", "heading", "entry", "row", "code", "quotation"]

# Messages that a client writes in the name of the user.
CLIENT_PROMPT: Final = re.compile(
    r"\s*(?:<(?:command-|local-command|system-reminder|bash-|task-|user-|ide_|environment_|session-|persisted-)|"
    r"\[Request interrupted|Caveat: The messages below|This session is being continued|"
    r"If you need specific details from before|Base directory for this skill|Invoke the [\w:-]+ skill|"
    r"Stop hook feedback|\[Image: |Context microcompacted|Unknown slash command|# AGENTS\.md instructions)"
)
# Messages of a client in place of a tool's result. They are about the use of the tool, not about the work.
CLIENT_RESULT: Final = re.compile(
    r"\s*(?:<tool_use_error>|<retrieval_status>|<persisted-output>|File has not been read yet|"
    r"File has been (?:modified|unexpectedly)|Sibling tool call errored|Todos have been modified|Updated task #|"
    r"Output too large|The user doesn't want to|\[Request interrupted|Launching skill|Exit plan mode|"
    r"Command running in background|Cancelled: parallel tool call|InputValidationError|Error: No such tool|"
    r"String to replace not found|No changes to make|Permission to use|This command requires approval|"
    r"Claude requested permissions|<error>InputValidationError|Tool ran without output|agentId: |"
    r"The file .{1,400} has been (?:updated|created)|File created successfully|Successfully (?:wrote|edited))"
)
# Tools that return the words of another model.
REPORTERS: Final = frozenset({"task", "agent", "taskoutput", "agentoutput", "spawn_agent", "wait_agent"})
_REMINDER: Final = re.compile(
    r"<(system-reminder|usage)>.*?(?:</\1>|\Z)|</?thinking>|^agentId: .*$", re.DOTALL | re.MULTILINE
)


def blanked(text: str) -> str:
    """Returns the text with the reminders of clients replaced by spaces, so that offsets do not change."""
    if "<" not in text and "agentId" not in text:
        return text
    return _REMINDER.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


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
    r"[│├└╭╰─┃●⏺⎿✓✗✘•]|\w+ \w+\(.*\{\s*\Z|\s{4,}\S)"
)
_SYMBOL: Final = re.compile(r"[{}\[\]();=<>|\\/_$#@*^~`\"]|::|->")
_LONG: Final = 700  # characters: few people type more in one block


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
    return not text.strip() or bool(CLIENT_RESULT.match(text))
