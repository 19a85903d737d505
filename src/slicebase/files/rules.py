"""The rules that `tt validate` holds slice files to: a name, how grave it is, what it checks.

An error breaks the format; a warning points at something that is read but probably not meant, or missing; a hint is
advice. `checks` finds what breaks them. Rules about what cannot be read are named as the errors that readers raise.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple

from slicebase.files.findings import Finding

Severity = Literal["error", "warning", "hint"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "hint")


class Rule(NamedTuple):
    name: str
    severity: Severity
    checks: str


_TABLE: Final = (
    # reading (§ File Structure, rulings 20 and 22)
    Rule("unreadable", "error", "the file can be opened and is a regular file"),
    Rule("no-frontmatter", "error", "the file starts with a `---` line"),
    Rule("frontmatter-open", "error", "a second `---` line ends the frontmatter"),
    Rule("frontmatter-size", "error", "the frontmatter has at most 64 KiB"),
    Rule("frontmatter-shape", "error", "the frontmatter is a mapping"),
    Rule("not-utf8", "error", "the file is UTF-8"),
    Rule("yaml-syntax", "error", "the YAML can be read"),
    Rule("yaml-character", "error", "the YAML holds no control characters"),
    Rule("yaml-anchor", "error", "the YAML holds no anchors and no aliases"),
    Rule("yaml-tag", "error", "the YAML holds no tags"),
    Rule("yaml-key", "error", "every key of the YAML is one plain or quoted scalar"),
    Rule("yaml-duplicate-key", "error", "no mapping of the YAML has a key twice"),
    Rule("yaml-documents", "error", "the YAML is one document"),
    Rule("yaml-nesting", "error", "the YAML is nested at most 64 levels deep"),
    Rule("file-size", "hint", "the file is of a size that people and agents read: up to 1 MiB"),
    # the frontmatter's fields (§ Required Fields, § Identifiers, § Storage, rulings 21 and 23)
    Rule("slice-missing", "error", "the frontmatter has a mapping under `slice`"),
    Rule("beside-slice", "warning", "all metadata stands under `slice`"),
    Rule("unknown-key", "hint", "the keys of `slice` and its contract are ones that the format knows"),
    Rule("required", "error", "v, id, title, summary and body.type are there and not empty"),
    Rule("field-type", "error", "every field has its type"),
    Rule("version", "error", "`v` is \"1\""),
    Rule("id-form", "error", "the id can be a file's name and part of a reference"),
    Rule("id-ulid", "hint", "the id is a ULID"),
    Rule("id-duplicate", "error", "no two files of a workspace have the same id"),
    Rule("id-name", "warning", "a file in .slices/ is named by its id"),
    Rule("file-name", "hint", "a file elsewhere is named by its id"),
    Rule("nested-folder", "warning", ".slices/ has no folders"),
    Rule("time", "error", "a time is ISO-8601"),
    Rule("time-form", "hint", "a time is RFC 3339, with a zone"),
    # kind, body and payload (§ File Kinds, § Body Types, rulings 24, 25, 31)
    Rule("kind", "error", "the kind is context or pointer"),
    Rule("body-type", "error", "the body's type is one of the eight"),
    Rule("kind-body", "error", "a pointer's body type is none, a context's is not"),
    Rule("pointer-body", "error", "where the body's type is none, there is no body"),
    Rule("body-header", "warning", "`code` and `conversation` stand under `body` with that type only"),
    Rule("merge-marks", "warning", "a text holds no marks of a merge that nobody finished"),
    Rule("code-lang", "hint", "a code body names its language"),
    Rule("payload-missing", "error", "a pointer has a payload with a uri; a purged one needs none"),
    Rule("payload-kind", "warning", "a context file has no payload"),
    Rule("payload-unproven", "warning", "a payload has a hash and a size"),
    Rule("payload-absent", "warning", "a local payload is there"),
    Rule("payload-size", "error", "a local payload has the size that its pointer says"),
    Rule("payload-hash", "error", "a local payload has the hash that its pointer says"),
    Rule("hash-form", "error", "a hash is `sha256:` and 64 hex digits in lower case"),
    Rule("purged-kind", "error", "a purged file is a pointer"),
    # contract (§ Contract, ruling 25)
    Rule("contract-enum", "error", "write and overflow have one of their values"),
    Rule("contract-write", "warning", "the write mode fits the body: append lines or paragraphs, supersede rows"),
    Rule("exclude-unrouted", "hint", "a link with routes_to and that label answers each exclude"),
    # links and sources (§ Links, § Derived Files, rulings 29 and 41)
    Rule("link-field", "error", "a link has a relationship and a target"),
    Rule("link-rel", "error", "a link's relationship is in the table"),
    Rule("link-form", "error", "a link's target is an id or a path, a folder only for routes_to"),
    Rule("link-target", "warning", "a link's target exists"),
    Rule("link-self", "warning", "no file links to itself"),
    Rule("path-outside", "error", "no link, payload or symbolic link leads out of the workspace"),
    Rule("derived-field", "error", "`derived_from` has an id and a hash"),
    Rule("derived-target", "warning", "the source of a derived file exists"),
    Rule("derived-stale", "warning", "a derived file's source still has the recorded hash"),
    # lines of JSON (§ JSONL Body, ruling 27)
    Rule("json-line", "error", "every line that is not blank holds JSON"),
    Rule("json-object", "error", "every line holds an object"),
    Rule("row-meta", "error", "a row has an object `_meta`"),
    Rule("row-id", "error", "a row has an id, which is text without spaces"),
    Rule("row-created-at", "error", "a row has a created_at"),
    Rule("row-field", "error", "what else `_meta` holds has its form"),
    Rule("row-duplicate", "error", "no two rows of a file have the same id"),
    Rule("supersedes-unknown", "warning", "a superseded row is in the file, or in another file of the same log"),
    Rule("supersedes-cycle", "error", "no rows supersede each other in a ring"),
    Rule("supersedes-fork", "warning", "no two active rows supersede the same row"),
    # conversations (§ Conversation)
    Rule("conversation-header", "error", "the conversation's eight keys have their forms"),
    Rule("conversation-role", "error", "a line has a role, or is a compaction note"),
    Rule("conversation-role-unknown", "warning", "a line's role is a known one"),
    Rule("conversation-line", "error", "a line carries what its role needs"),
    Rule("conversation-order", "hint", "the lines' times run forwards"),
    Rule("conversation-contradiction", "warning", "participants and includes_… agree with the lines"),
    Rule("call-id", "warning", "a tool call and its result have a call_id, which is text"),
    Rule("call-pairs", "error", "a tool call has an id of its own, and one result"),
    Rule("call-unknown", "warning", "a tool's result follows the call that it names"),
    Rule("call-unanswered", "warning", "every tool call has a result"),
    # routines (§ Routine, ruling 30)
    Rule("routine-step", "error", "a step is one instruction, read or run, in its form"),
    Rule("routine-key", "hint", "a step has no keys without a meaning"),
    Rule("routine-target", "warning", "what a step reads or runs exists"),
)  # fmt: skip

RULES: Final[Mapping[str, Rule]] = {rule.name: rule for rule in _TABLE}


def errors(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if RULES[finding.rule].severity == "error"]
