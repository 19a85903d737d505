"""Checks the rules for one file's body, by its type (§ Body Types)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from slicebase.core.parsers import decode
from slicebase.errors import SlicebaseError
from slicebase.files.body.routine import read_routine
from slicebase.files.check.between import Outgoing, placed
from slicebase.files.check.header import link_problems, value_at
from slicebase.files.findings import Finding, refusal
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.stream import check_stream

if TYPE_CHECKING:
    from slicebase.files.body.conversation import ConversationEntry

_CONVERSATION: Final = ("slice", "body", "conversation")


class BodyCheck(NamedTuple):
    """The result of checking a body: its findings, and the targets that it names."""

    findings: tuple[Finding, ...] = ()
    outgoing: tuple[Outgoing, ...] = ()
    log_findings: tuple[Finding, ...] = ()  # these apply only if the file is a log by itself


def check_body(file: SliceFile) -> BodyCheck:
    """Checks a body, and returns its findings and targets. An unknown type is left to the rules for the header."""
    check = _CHECKS.get(file.body_type or "")
    return check(file) if check else BodyCheck()


def _text(file: SliceFile) -> BodyCheck:
    try:
        text = decode(file.body, file.body_line)
    except SlicebaseError as error:
        return BodyCheck((refusal(error, file.name),))
    conflict = _first_conflict(text)
    if conflict is None:
        return BodyCheck()
    message, hint = "a merge left conflict markers here", "resolve the conflict, and remove the markers"
    return BodyCheck((Finding("merge-marks", file.body_line + conflict, 1, message, hint, file.name),))


def _first_conflict(text: str) -> int | None:
    """Returns the line, from 0, of the first complete conflict that git marked, None if there is none."""
    opened, is_divided = None, False
    for number, line in enumerate(text.split("\n") if "<<<<<<< " in text else ()):
        if line.startswith("<<<<<<< "):
            opened, is_divided = number, False
        elif line.rstrip("\r") == "=======":
            is_divided = True
        elif opened is not None and is_divided and line.startswith(">>>>>>> "):
            return opened
    return None


def _yaml(file: SliceFile) -> BodyCheck:
    try:
        check_stream(decode(file.body, file.body_line), file.body_line)
    except SlicebaseError as error:
        return BodyCheck((refusal(error, file.name),))
    return BodyCheck()


def _none(file: SliceFile) -> BodyCheck:
    if not file.body.strip():
        return BodyCheck()
    message = "the body's type is none, but there is content here"
    hint = "keep the content in the payload, or give the body another type"
    return BodyCheck((Finding("pointer-body", file.body_line, 1, message, hint, file.name),))


def _jsonl(file: SliceFile) -> BodyCheck:
    # Imported here for a fast start: most commands check no body.
    from slicebase.files.body.rows import placed_links, read_rows
    from slicebase.files.body.supersession import supersession_findings

    rows, findings = read_rows(file.body, file.body_line, file.name)
    links = [(row.line, path, link) for row in rows for path, link in placed_links(row.line.value)]
    outgoing = tuple(Outgoing("link", link.to or "", (*path, "to"), line, link.rel or "") for line, path, link in links)
    problems = tuple(
        line.finding(problem.rule, problem.message, *path, *problem.path, hint=problem.hint)
        for line, path, link in links
        for problem in link_problems(link.rel or "", link.to or "")
    )
    return BodyCheck((*findings, *problems), outgoing, tuple(supersession_findings(rows)))


def _conversation(file: SliceFile) -> BodyCheck:
    # Imported here for a fast start: most commands check no body.
    from slicebase.files.body.conversation import FLOW_RULES, header_problems, read_conversation

    header = _conversation_header(file)
    entries, findings = read_conversation(file.body, file.body_line, file.name)
    problems = (placed(file, problem.under(*_CONVERSATION)) for problem in header_problems(header))
    flow = [finding for finding in findings if finding.rule in FLOW_RULES]
    own = [finding for finding in findings if finding.rule not in FLOW_RULES]
    return BodyCheck((*own, *problems), (), (*flow, *_contradictions(file, entries)))


def conversation_findings(parts: Sequence[SliceFile]) -> Iterator[Finding]:
    """Yields the findings about a conversation as a whole, whose parts are given in their order."""
    from slicebase.files.body.conversation import flow_findings, read_conversation

    entries = [entry for part in parts for entry in read_conversation(part.body, part.body_line, part.name).entries]
    yield from flow_findings(entries)
    for part in parts:
        yield from _contradictions(part, entries)


def _contradictions(file: SliceFile, entries: "Sequence[ConversationEntry]") -> Iterator[Finding]:
    from slicebase.files.body.conversation import contradictions

    for problem in contradictions(_conversation_header(file), entries):
        yield placed(file, problem.under(*_CONVERSATION))


def _conversation_header(file: SliceFile) -> Mapping[str, Any]:
    """Returns the header's values, with numbers as the text that is written (ruling 21)."""
    values = value_at(file.frontmatter, _CONVERSATION)
    if not isinstance(values, dict):
        return {}
    numbers = [key for key, value in values.items() if type(value) in (int, float)]
    texts = {key: file.source_text((*_CONVERSATION, key)) for key in numbers}
    return {key: value for key, value in {**values, **texts}.items() if value is not None}


def _routine(file: SliceFile) -> BodyCheck:
    steps, findings = read_routine(file.body, file.body_line, file.name)
    outgoing = tuple(
        Outgoing(step.kind, step.what, (step.kind,), step.line) for step in steps if step.kind != "instruction"
    )
    return BodyCheck(findings, outgoing)


_CHECKS: Final[Mapping[str, Callable[[SliceFile], BodyCheck]]] = {
    "markdown": _text,
    "text": _text,
    "code": _text,
    "yaml": _yaml,
    "none": _none,
    "jsonl": _jsonl,
    "conversation": _conversation,
    "routine": _routine,
}
