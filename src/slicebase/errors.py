"""Every error that Slicebase raises on purpose: one class, a stable code, a hint, a place, an exit status.

`CODES` is the whole family. Callers and tests look at `code`; the wording may change.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NamedTuple


class Exit(IntEnum):
    """What a command's exit status says."""

    DONE = 0
    FINDINGS = 1
    USAGE = 2
    REFUSED = 3
    NOT_FOUND = 4
    CONFLICT = 5
    UNVERIFIABLE = 6


class ErrorKind(NamedTuple):
    exit: Exit
    meaning: str


CODES: Mapping[str, ErrorKind] = {
    # canonical bytes, ids, references
    "lone-surrogate": ErrorKind(Exit.REFUSED, "text holds half of a surrogate pair, which UTF-8 cannot carry"),
    "integer-range": ErrorKind(Exit.REFUSED, "an integer lies beyond ±(2^53−1), where JSON readers disagree"),
    "not-finite": ErrorKind(Exit.REFUSED, "a number is infinite or not a number"),
    "not-json-value": ErrorKind(Exit.REFUSED, "a value has no JSON form"),
    "bad-uuid": ErrorKind(Exit.REFUSED, "a turn id is no UUID"),
    "bad-ulid": ErrorKind(Exit.REFUSED, "a ULID's time or randomness is out of range"),
    "bad-time": ErrorKind(Exit.REFUSED, "a time is not RFC 3339, or outside the years 1 to 9999"),
    "bad-reference": ErrorKind(Exit.REFUSED, "a reference does not follow the reference syntax"),
    # slice files: reading
    "no-frontmatter": ErrorKind(Exit.REFUSED, "a slice file does not start with a `---` line"),
    "frontmatter-open": ErrorKind(Exit.REFUSED, "the frontmatter's closing `---` line is missing"),
    "frontmatter-size": ErrorKind(Exit.REFUSED, "the frontmatter is larger than 64 KiB"),
    "frontmatter-shape": ErrorKind(Exit.REFUSED, "the frontmatter is no mapping"),
    "not-utf8": ErrorKind(Exit.REFUSED, "text is not UTF-8"),
    "yaml-syntax": ErrorKind(Exit.REFUSED, "YAML that no reader understands"),
    "yaml-character": ErrorKind(Exit.REFUSED, "YAML holds a control character, or a carriage return that ends no line"),
    "yaml-anchor": ErrorKind(Exit.REFUSED, "YAML holds an anchor or an alias"),
    "yaml-tag": ErrorKind(Exit.REFUSED, "YAML holds a tag"),
    "yaml-key": ErrorKind(Exit.REFUSED, "a YAML key is empty, explicit or a collection"),
    "yaml-duplicate-key": ErrorKind(Exit.REFUSED, "a YAML mapping has the same key twice"),
    "yaml-documents": ErrorKind(Exit.REFUSED, "YAML holds several documents"),
    "yaml-nesting": ErrorKind(Exit.REFUSED, "YAML is nested deeper than 64 levels"),
    # slice files: editing and creating
    "edit-path": ErrorKind(Exit.REFUSED, "a key path does not fit the frontmatter"),
    "edit-refused": ErrorKind(Exit.REFUSED, "an edit cannot be made without touching something else"),
    # slice files: rows
    "bad-row": ErrorKind(Exit.REFUSED, "a new row would break a rule of its own envelope"),
    # policies
    "bad-policy": ErrorKind(Exit.REFUSED, "a policy is no JSON object of the known keys"),
    "policy-type": ErrorKind(Exit.REFUSED, "a policy's value has the wrong type"),
    "policy-range": ErrorKind(Exit.REFUSED, "a policy's number lies outside its range"),
    "policy-millionth": ErrorKind(Exit.REFUSED, "a policy's number is no whole number of millionths"),
    "policy-version": ErrorKind(Exit.REFUSED, "a policy names a version that is not slice_policy_v1"),
    "policy-name": ErrorKind(Exit.CONFLICT, "a policy's name stands for other parameters, or cannot be a name"),
    "unknown-policy": ErrorKind(Exit.NOT_FOUND, "no policy has this name or hash"),
    # graphs, graph files and SliceExports
    "no-turn": ErrorKind(Exit.NOT_FOUND, "no turn with this id is stored"),
    "bad-json": ErrorKind(Exit.REFUSED, "bytes are no JSON text"),
    "missing-field": ErrorKind(Exit.REFUSED, "an object lacks a field that it must have"),
    "unknown-field": ErrorKind(Exit.REFUSED, "an object has a field that its schema does not know"),
    "unknown-value": ErrorKind(Exit.REFUSED, "a role, phase or edge type is none of the known ones"),
    "wrong-type": ErrorKind(Exit.REFUSED, "a value has the wrong JSON type"),
    "out-of-range": ErrorKind(Exit.REFUSED, "a number lies outside its range"),
    "duplicate-turn": ErrorKind(Exit.REFUSED, "two turns of a file have the same id"),
    "cycle": ErrorKind(Exit.REFUSED, "an edge makes a turn its own ancestor"),
    # runs
    "bad-run": ErrorKind(Exit.REFUSED, "a run's id or terms are not usable"),
    "bad-run-budget": ErrorKind(Exit.REFUSED, "a run's budgets are not understood"),
    "bad-event": ErrorKind(Exit.REFUSED, "a line or value is no event"),
    "step-missing": ErrorKind(Exit.REFUSED, "a terminal event does not say its step"),
    "payload-too-large": ErrorKind(Exit.REFUSED, "an event's payload is larger than 64 KiB"),
    "reserved-event": ErrorKind(Exit.REFUSED, "an event of this type is written by Slicebase alone"),
    "gate-would-refuse": ErrorKind(Exit.REFUSED, "the gate would refuse a run's state with this event in it"),
    "gate-refused": ErrorKind(Exit.REFUSED, "a run's snapshot did not pass, and the run has stopped"),
    "budget-exceeded": ErrorKind(Exit.REFUSED, "a run has spent its budget and stopped"),
    "run-closed": ErrorKind(Exit.REFUSED, "a run has stopped and takes no more events"),
    "run-exists": ErrorKind(Exit.CONFLICT, "a run with this id is there already"),
    "no-run": ErrorKind(Exit.NOT_FOUND, "no run with this id is stored"),
    "no-snapshot": ErrorKind(Exit.NOT_FOUND, "no such snapshot is stored"),
    "run-differs": ErrorKind(Exit.CONFLICT, "a run does not begin like the conversation that it is to go on with"),
    "no-item": ErrorKind(Exit.NOT_FOUND, "a run has no such claim, conflict, failure or open question"),
    "no-evidence": ErrorKind(Exit.NOT_FOUND, "no evidence with this id is in the ledger"),
    "bad-snapshot": ErrorKind(Exit.REFUSED, "a record is no snapshot"),
    "bad-transcript": ErrorKind(Exit.REFUSED, "a conversation or trajectory cannot be read as a run"),
    "no-chunk": ErrorKind(Exit.NOT_FOUND, "a chunk is not there, or what it was part of has changed"),
    "not-a-chunk": ErrorKind(Exit.REFUSED, "a reference names nothing that can be cited"),
    "quote-not-found": ErrorKind(Exit.REFUSED, "a quote does not stand in its chunk"),
    "quote-ambiguous": ErrorKind(Exit.REFUSED, "a quote stands in its chunk more than once"),
    "bad-span": ErrorKind(Exit.REFUSED, "a span lies outside its chunk"),
    # faces
    "usage": ErrorKind(Exit.USAGE, "the command line is not understood"),
    "bad-arguments": ErrorKind(Exit.USAGE, "the arguments of a tool or prompt do not fit its schema"),
    "no-tool": ErrorKind(Exit.NOT_FOUND, "no tool of the MCP server has this name"),
    "no-sdk": ErrorKind(Exit.REFUSED, "the MCP SDK is not installed"),
    # workspaces and databases
    "no-workspace": ErrorKind(Exit.NOT_FOUND, "no workspace in this folder or above it"),
    "no-database": ErrorKind(Exit.NOT_FOUND, "the workspace has no database yet"),
    "two-databases": ErrorKind(
        Exit.CONFLICT, "a workspace that became a repository has a database inside and outside git"
    ),
    "database-newer": ErrorKind(Exit.REFUSED, "a newer Slicebase wrote the database"),
    "database-damaged": ErrorKind(Exit.REFUSED, "SQLite cannot read the database"),
    "broken-record": ErrorKind(Exit.REFUSED, "a stored record cannot be read; `tt verify` says more"),
    "not-our-database": ErrorKind(Exit.REFUSED, "the database belongs to another program"),
    "locked": ErrorKind(Exit.CONFLICT, "another process holds the database or a file"),
    "disk-full": ErrorKind(Exit.REFUSED, "the disk is full; nothing was written"),
    "cannot-write": ErrorKind(Exit.REFUSED, "a file or folder cannot be written"),
    "cannot-read": ErrorKind(Exit.REFUSED, "a file or folder cannot be read"),
    "not-flushed": ErrorKind(Exit.REFUSED, "a change was made, but the disk does not confirm it"),
    "bad-setting": ErrorKind(Exit.REFUSED, "slicebase.toml cannot be read, or holds something that is no setting"),
    # the library: files and names
    "no-file": ErrorKind(Exit.NOT_FOUND, "no slice file has this id"),
    "ambiguous-id": ErrorKind(Exit.REFUSED, "the beginning of an id fits several files"),
    "bad-id": ErrorKind(Exit.REFUSED, "an id cannot be a file's name"),
    "id-mismatch": ErrorKind(Exit.REFUSED, "a file is named by another id than its own"),
    "not-a-file": ErrorKind(Exit.REFUSED, "a symbolic link, a folder or a device stands where a file should"),
    "file-exists": ErrorKind(Exit.CONFLICT, "a new file's name is taken"),
    "outside-workspace": ErrorKind(Exit.REFUSED, "a path leads out of the workspace"),
    # the library: writing and reading
    "conflict": ErrorKind(Exit.CONFLICT, "something has changed since the version that a write is based on"),
    "broken-file": ErrorKind(Exit.REFUSED, "a file has lines that cannot be read; it is left as it is"),
    "breaks-rule": ErrorKind(Exit.REFUSED, "a write, or a new file, would break a rule of the format"),
    "write-mode": ErrorKind(Exit.REFUSED, "the file's contract or kind does not allow this write"),
    "overflow": ErrorKind(Exit.REFUSED, "the file would grow above its size, and its contract does not allow that"),
    "nothing-given": ErrorKind(Exit.USAGE, "there is no text to write"),
    "managed-key": ErrorKind(Exit.REFUSED, "a key that only its own verb changes"),
    "archived": ErrorKind(Exit.REFUSED, "the file was forgotten, and is not written before it is restored"),
    "purged": ErrorKind(Exit.UNVERIFIABLE, "the content was purged"),
    "no-row": ErrorKind(Exit.NOT_FOUND, "no row has this id"),
    "no-section": ErrorKind(Exit.NOT_FOUND, "no section has this heading"),
    "ambiguous-section": ErrorKind(Exit.REFUSED, "several sections have this heading"),
    "bad-link": ErrorKind(Exit.REFUSED, "a link has an unknown relationship or a target that it cannot have"),
    "no-link": ErrorKind(Exit.NOT_FOUND, "the file has no such link"),
    "not-derived": ErrorKind(Exit.REFUSED, "the file does not say what it is derived from"),
    "drifted": ErrorKind(Exit.NOT_FOUND, "a reference names a version of a body that is no longer there"),
    "no-page": ErrorKind(Exit.NOT_FOUND, "there is no such page"),
    # the library: finding
    "index-damaged": ErrorKind(Exit.REFUSED, "SQLite cannot read a disposable index"),
    "no-words": ErrorKind(Exit.USAGE, "a search has no word to look for"),
    "no-git": ErrorKind(Exit.REFUSED, "git cannot be called, or refuses"),
    # imports
    "no-input": ErrorKind(Exit.NOT_FOUND, "a file or folder to read does not exist, or cannot be read"),
    "bad-zip": ErrorKind(Exit.REFUSED, "a zip or a member of it cannot be read, or is not what it claims"),
    "unknown-format": ErrorKind(Exit.REFUSED, "no importer recognises an input"),
    "nothing-found": ErrorKind(Exit.NOT_FOUND, "no agent's sessions were found on this machine"),
    # coding agents
    "unknown-client": ErrorKind(Exit.USAGE, "there are no hooks for a client of this name"),
    "bad-client-settings": ErrorKind(
        Exit.REFUSED, "a client's settings cannot be read, or have a form that is not known"
    ),
    "bad-marks": ErrorKind(Exit.REFUSED, "a document has one mark of a block and not the other"),
    "bad-command": ErrorKind(Exit.REFUSED, "a command of the memory tool is not understood"),
    # the path
    "no-session": ErrorKind(Exit.NOT_FOUND, "no session with this id is stored"),
    "bad-question": ErrorKind(Exit.REFUSED, "a question is empty"),
    "bad-budget": ErrorKind(Exit.REFUSED, "a budget of tokens or turns is too small"),
    "bad-request": ErrorKind(Exit.REFUSED, "a line of a batch is no request for a slice"),
    "no-manifest": ErrorKind(Exit.NOT_FOUND, "no manifest with this id is recorded"),
}


class Where(NamedTuple):
    """The place of an error: a file (or `-`, or a record's name), a line and a column from 1."""

    file: str | None = None
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in self if part is not None)


NOWHERE = Where()


class SlicebaseError(Exception):
    """The only exception that bad data, bad input or a broken rule may raise."""

    def __init__(self, code: str, message: str, *, hint: str = "", where: Where = NOWHERE) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.where = where
        self.exit = CODES[code].exit

    def __reduce__(self) -> tuple[Any, ...]:
        return _revive, (self.code, self.message, self.hint, self.where)

    def __str__(self) -> str:
        place = f"{self.where}: " if any(self.where) else ""
        return f"{place}{self.message}"

    def at(self, where: Where) -> "SlicebaseError":
        """The same error with the parts of its place that it did not know yet."""
        known = Where(
            self.where.file if self.where.file is not None else where.file,
            self.where.line if self.where.line is not None else where.line,
            self.where.column if self.where.column is not None else where.column,
        )
        return SlicebaseError(self.code, self.message, hint=self.hint, where=known)

    def as_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "where": self.where._asdict() if any(self.where) else None,
        }


def _revive(code: str, message: str, hint: str, where: Where) -> SlicebaseError:
    return SlicebaseError(code, message, hint=hint, where=where)
