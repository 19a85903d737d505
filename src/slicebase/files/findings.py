"""Findings, and the rules of `tt validate` that they name.

A finding says what is wrong with a file, and where. Readers return findings; only the table of rules says how severe
each one is. An error breaks the format. A warning is about something that can be read but is probably not intended, or
about something missing. A hint is advice. The package `check` finds what breaks the rules. A rule about a file
that cannot be read has the name of the error that the reader raises.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple

from slicebase.errors import SlicebaseError


class Finding(NamedTuple):
    """One breach of a rule. Lines and columns count from 1, columns in characters."""

    rule: str
    line: int | None
    column: int | None
    message: str
    hint: str = ""
    file: str = ""


def refusal(error: SlicebaseError, file: str) -> Finding:
    """Returns the finding for an error that a reader raised. The rule has the name of the error's code."""
    return Finding(error.code, error.where.line, error.where.column, error.message, error.hint, file)


class HeaderProblem(NamedTuple):
    """A finding about a value of the frontmatter, located by its keys. Its line and column are looked up later."""

    rule: str
    path: tuple[str, ...]
    message: str
    hint: str = ""

    def under(self, *path: str) -> "HeaderProblem":
        """Returns the problem with these keys before its own."""
        return self._replace(path=(*path, *self.path))


_SHOWN = 60


def shown(value: object) -> str:
    """Returns a value as a message quotes it: on one line, and shortened if it is long, also then between quotes."""
    text = repr(value)
    end = text[-1] if isinstance(value, str) else ""
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1 - len(end)]}…{end}"


# Rules


Severity = Literal["error", "warning", "hint"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "hint")


class FormatRule(NamedTuple):
    """A rule of the format: its name, its severity, and what it checks."""

    name: str
    severity: Severity
    checks: str


_TABLE: Final = (
    # reading (§ File Structure, rulings 20 and 22)
    FormatRule("unreadable", "error", "the file can be opened and is a regular file"),
    FormatRule("no-frontmatter", "error", "the file starts with a `---` line"),
    FormatRule("frontmatter-open", "error", "a second `---` line ends the frontmatter"),
    FormatRule("frontmatter-size", "error", "the frontmatter has at most 64 KiB"),
    FormatRule("frontmatter-shape", "error", "the frontmatter is a mapping"),
    FormatRule("not-utf8", "error", "the file is UTF-8"),
    FormatRule("yaml-syntax", "error", "the YAML can be read"),
    FormatRule("yaml-character", "error", "the YAML has no control characters"),
    FormatRule("yaml-anchor", "error", "the frontmatter has no anchors and no aliases"),
    FormatRule("yaml-tag", "error", "the frontmatter has no tags"),
    FormatRule("yaml-key", "error", "every key of the frontmatter is one plain or quoted scalar"),
    FormatRule("yaml-duplicate-key", "error", "no mapping of the YAML has a key twice"),
    FormatRule("yaml-documents", "error", "the frontmatter is one document"),
    FormatRule("yaml-nesting", "error", "the frontmatter is nested at most 64 levels deep"),
    FormatRule("file-size", "hint", "the file has at most 1 MiB, a size that people and agents read"),
    # the frontmatter's fields (§ Required Fields, § Identifiers, § Storage, rulings 21 and 23)
    FormatRule("slice-missing", "error", "the frontmatter has a mapping under `slice`"),
    FormatRule("beside-slice", "warning", "all metadata is under `slice`"),
    FormatRule("unknown-key", "hint", "`slice` and its contract have only keys that the format defines"),
    FormatRule("required", "error", "v, id, title, summary and body.type are present and not empty"),
    FormatRule("field-type", "error", "every field has its type"),
    FormatRule("version", "error", "`v` is \"1\""),
    FormatRule("id-form", "error", "the id can be used as a file name and in a reference"),
    FormatRule("id-ulid", "hint", "the id is a ULID"),
    FormatRule("id-duplicate", "error", "no two files of a workspace have the same id"),
    FormatRule("id-name", "warning", "a file in .slices/ is named by its id"),
    FormatRule("file-name", "hint", "a file elsewhere is named by its id"),
    FormatRule("nested-folder", "warning", ".slices/ has no folders"),
    FormatRule("time", "error", "a time is ISO-8601"),
    FormatRule("time-form", "hint", "a time is RFC 3339, with a zone"),
    # kind, body and payload (§ File Kinds, § Body Types, rulings 24, 25, 31)
    FormatRule("kind", "error", "the kind is context or pointer"),
    FormatRule("body-type", "error", "the body's type is one of the eight"),
    FormatRule("kind-body", "error", "a pointer's body type is none, a context's is not"),
    FormatRule("pointer-body", "error", "a body of the type none is empty"),
    FormatRule("body-header", "warning", "`body.code` is only for code, `body.conversation` only for conversations"),
    FormatRule("merge-marks", "warning", "a text has no conflict markers of an unfinished merge"),
    FormatRule("code-lang", "hint", "a code body names its language"),
    FormatRule("payload-missing", "error", "a pointer has a payload with a uri; a purged pointer needs none"),
    FormatRule("payload-kind", "warning", "a context file has no payload"),
    FormatRule("payload-unproven", "warning", "a payload has a hash and a size"),
    FormatRule("payload-absent", "warning", "a local payload exists, if its pointer is not archived"),
    FormatRule("payload-size", "error", "a local payload has the size that its pointer states, if not archived"),
    FormatRule("payload-hash", "error", "a local payload has the hash that its pointer states, if not archived"),
    FormatRule("hash-form", "error", "a hash is `sha256:` and 64 lower-case hex digits"),
    FormatRule("purged-kind", "error", "a purged file is a pointer"),
    # contract (§ Contract, ruling 25)
    FormatRule("contract-enum", "error", "write and overflow have one of their allowed values"),
    FormatRule("contract-write", "warning", "the write mode fits the body: append lines or paragraphs, supersede rows"),
    FormatRule("exclude-unrouted", "hint", "each excluded topic has a routes_to link with that topic as its label"),
    # links and sources (§ Links, § Derived Files, rulings 29 and 41)
    FormatRule("link-field", "error", "a link has a relationship and a target"),
    FormatRule("link-rel", "warning", "a link's relationship is one that the format defines"),
    FormatRule("link-form", "error", "a link's target is an id or a path, a folder only for routes_to"),
    FormatRule("link-target", "warning", "a link's target exists"),
    FormatRule("link-self", "warning", "no file links to itself"),
    FormatRule("path-outside", "error", "no link, payload or symbolic link leads out of the workspace"),
    FormatRule("derived-field", "error", "`derived_from` has an id and a hash"),
    FormatRule("derived-target", "warning", "the source of a derived file exists"),
    FormatRule("derived-stale", "warning", "a derived file's source still has the recorded hash"),
    # lines of JSON (§ JSONL Body, ruling 27)
    FormatRule("json-line", "error", "every line that is not blank is JSON"),
    FormatRule("json-object", "error", "every line is an object"),
    FormatRule("row-meta", "error", "a row has an object `_meta`"),
    FormatRule("row-id", "error", "a row has an id, which is text without spaces"),
    FormatRule("row-created-at", "error", "a row has a created_at"),
    FormatRule("row-field", "error", "every other field of `_meta` has its form"),
    FormatRule("row-duplicate", "error", "no two rows of a log have the same id"),
    FormatRule("row-repeated", "hint", "a row is in one file of a log; the same row in two is read as one"),
    FormatRule("supersedes-unknown", "warning", "a superseded row is in the file, or in another file of the same log"),
    FormatRule("supersedes-cycle", "error", "no rows supersede each other in a cycle"),
    FormatRule("supersedes-fork", "warning", "no two active rows supersede the same row"),
    # conversations (§ Conversation)
    FormatRule("conversation-header", "error", "the conversation's eight keys have their forms"),
    FormatRule("conversation-role", "error", "a line has a role, or is a compaction note"),
    FormatRule("conversation-role-unknown", "warning", "a line's role is known"),
    FormatRule("conversation-line", "error", "a line has the fields that its role requires"),
    FormatRule("conversation-order", "hint", "no line is older than a line before it"),
    FormatRule("conversation-contradiction", "warning", "participants and includes_… agree with the lines"),
    FormatRule("call-id", "warning", "a tool call and its result have a call_id, which is text"),
    FormatRule("call-pairs", "error", "a tool call has an id of its own, and one result"),
    FormatRule("call-unknown", "warning", "a tool result comes after the call that it names"),
    FormatRule("call-unanswered", "warning", "every tool call has a result"),
    # routines (§ Routine, ruling 30)
    FormatRule("routine-step", "error", "a step has one of instruction, read and run, and each field has its form"),
    FormatRule("routine-key", "hint", "a step has only keys that the format defines"),
    FormatRule("routine-target", "warning", "the file that a step reads or runs exists"),
)  # fmt: skip

FORMAT_RULES: Final[Mapping[str, FormatRule]] = {rule.name: rule for rule in _TABLE}


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """Returns the findings whose rule is an error."""
    return [finding for finding in findings if FORMAT_RULES[finding.rule].severity == "error"]
