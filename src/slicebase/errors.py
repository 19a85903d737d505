"""The errors that Slicebase raises on purpose: one class with a stable code, a hint, a place and an exit status.

`CODES` lists every code. Callers and tests compare the `code`; the wording of a message may change.
"""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, NamedTuple


class Exit(IntEnum):
    """The exit status of a command."""

    DONE = 0
    FINDINGS = 1
    USAGE = 2
    REFUSED = 3
    NOT_FOUND = 4
    CONFLICT = 5
    UNVERIFIABLE = 6


class ErrorKind(NamedTuple):
    """The exit status of an error code, and its meaning in the reference."""

    exit: Exit
    meaning: str


CODES: Mapping[str, ErrorKind] = {
    # canonical bytes, ids, references
    "lone-surrogate": ErrorKind(Exit.REFUSED, "text contains half of a surrogate pair, which UTF-8 cannot encode"),
    "integer-range": ErrorKind(Exit.REFUSED, "an integer is outside ±(2^53−1), where JSON readers disagree"),
    "not-finite": ErrorKind(Exit.REFUSED, "a number is infinite or not a number"),
    "not-json-value": ErrorKind(Exit.REFUSED, "a value has no JSON form, or is nested too deeply"),
    "bad-uuid": ErrorKind(Exit.REFUSED, "a turn id is not a UUID"),
    "bad-ulid": ErrorKind(Exit.REFUSED, "a ULID's time or randomness is out of range"),
    "bad-time": ErrorKind(Exit.REFUSED, "a time is not in RFC 3339 form, or is outside the years 1 to 9999"),
    "bad-reference": ErrorKind(Exit.REFUSED, "a reference does not follow the reference syntax"),
    # slice files: reading
    "no-frontmatter": ErrorKind(Exit.REFUSED, "a slice file does not start with a `---` line"),
    "frontmatter-open": ErrorKind(Exit.REFUSED, "the frontmatter's closing `---` line is missing"),
    "frontmatter-size": ErrorKind(Exit.REFUSED, "the frontmatter is larger than 64 KiB"),
    "frontmatter-shape": ErrorKind(Exit.REFUSED, "the frontmatter is not a mapping"),
    "not-utf8": ErrorKind(Exit.REFUSED, "text is not UTF-8"),
    "yaml-syntax": ErrorKind(Exit.REFUSED, "YAML cannot be parsed"),
    "yaml-character": ErrorKind(
        Exit.REFUSED, "YAML contains a control character, or a carriage return that does not end a line"
    ),
    "yaml-anchor": ErrorKind(Exit.REFUSED, "YAML contains an anchor or an alias"),
    "yaml-tag": ErrorKind(Exit.REFUSED, "YAML contains a tag"),
    "yaml-key": ErrorKind(Exit.REFUSED, "a YAML key is empty, explicit or a collection"),
    "yaml-duplicate-key": ErrorKind(Exit.REFUSED, "a YAML mapping has the same key twice"),
    "yaml-documents": ErrorKind(Exit.REFUSED, "YAML contains several documents"),
    "yaml-nesting": ErrorKind(Exit.REFUSED, "YAML is nested deeper than 64 levels"),
    # slice files: editing and creating
    "edit-path": ErrorKind(Exit.REFUSED, "a key path does not fit the frontmatter"),
    "edit-refused": ErrorKind(Exit.REFUSED, "an edit cannot be made without changing something else"),
    # policies
    "bad-policy": ErrorKind(
        Exit.REFUSED, "a policy is not a JSON object with the known keys, or its name cannot be one"
    ),
    "policy-millionth": ErrorKind(Exit.REFUSED, "a number in a policy is not a whole number of millionths"),
    "policy-version": ErrorKind(Exit.REFUSED, "the version of a policy is not slice_policy_v1"),
    "policy-name": ErrorKind(Exit.CONFLICT, "the name of a policy belongs to other parameters"),
    "weak-key": ErrorKind(Exit.REFUSED, "the key of a signature is empty or too short"),
    "no-key": ErrorKind(Exit.REFUSED, "a bundle is signed, and its key was not given"),
    "broken-bundle": ErrorKind(Exit.REFUSED, "a bundle or a SliceExport contradicts itself"),
    "outside-bundle": ErrorKind(Exit.REFUSED, "what is cited was not in the bundle that limits what can be cited"),
    "bad-kernel": ErrorKind(Exit.USAGE, "SLICEBASE_KERNEL names no version of the code that selects slices"),
    "no-kernel": ErrorKind(Exit.NOT_FOUND, "SLICEBASE_KERNEL asks for the compiled version, which is not installed"),
    "unknown-policy": ErrorKind(Exit.NOT_FOUND, "no policy has this name or hash"),
    # graphs, graph files and SliceExports
    "no-turn": ErrorKind(Exit.NOT_FOUND, "no turn with this id is stored"),
    "bad-json": ErrorKind(Exit.REFUSED, "bytes are not JSON text"),
    "missing-field": ErrorKind(Exit.REFUSED, "an object lacks a required field"),
    "unknown-field": ErrorKind(Exit.REFUSED, "an object has a field that its schema does not know"),
    "unknown-value": ErrorKind(Exit.REFUSED, "a role, a phase, an edge type or the value of an option is unknown"),
    "wrong-type": ErrorKind(Exit.REFUSED, "a value has the wrong JSON type"),
    "out-of-range": ErrorKind(Exit.REFUSED, "a number is outside its range"),
    "duplicate-turn": ErrorKind(Exit.REFUSED, "two turns of a file have the same id"),
    "cycle": ErrorKind(Exit.REFUSED, "an edge makes a turn its own ancestor"),
    # runs
    "bad-run": ErrorKind(Exit.REFUSED, "the id or the terms of a run cannot be used"),
    "bad-run-budget": ErrorKind(Exit.REFUSED, "the budgets of a run cannot be read"),
    "bad-event": ErrorKind(Exit.REFUSED, "a line or value is not an event"),
    "step-missing": ErrorKind(Exit.REFUSED, "a terminal event has no step"),
    "payload-too-large": ErrorKind(Exit.REFUSED, "an event's payload is larger than 64 KiB"),
    "reserved-event": ErrorKind(Exit.REFUSED, "only Slicebase writes events of this type"),
    "gate-would-refuse": ErrorKind(Exit.REFUSED, "the gate would refuse the state of a run with this event in it"),
    "gate-refused": ErrorKind(Exit.REFUSED, "the snapshot of a run did not pass, and the run has stopped"),
    "budget-exceeded": ErrorKind(Exit.REFUSED, "a run has used up its budget and stopped"),
    "loop-found": ErrorKind(
        Exit.REFUSED, "an agent repeats itself in a run whose loop guard stops that; all is stored"
    ),
    "run-closed": ErrorKind(Exit.REFUSED, "a run has stopped and accepts no more events"),
    "run-exists": ErrorKind(Exit.CONFLICT, "a run with this id already exists"),
    "no-run": ErrorKind(Exit.NOT_FOUND, "no run with this id is stored"),
    "no-snapshot": ErrorKind(Exit.NOT_FOUND, "no such snapshot is stored"),
    "run-differs": ErrorKind(Exit.CONFLICT, "a run does not begin like the conversation that should continue it"),
    "no-item": ErrorKind(Exit.NOT_FOUND, "a run has no such event, claim, conflict, failure or open question"),
    "no-blob": ErrorKind(Exit.NOT_FOUND, "a run has no content with this hash"),
    "no-evidence": ErrorKind(Exit.NOT_FOUND, "no evidence with this id is in the ledger"),
    "bad-snapshot": ErrorKind(Exit.REFUSED, "a record is not a snapshot"),
    "bad-transcript": ErrorKind(Exit.REFUSED, "a conversation or trajectory cannot be read as a run"),
    "session-differs": ErrorKind(
        Exit.CONFLICT, "a file does not contain the records that are stored under the session that it names"
    ),
    "no-chunk": ErrorKind(Exit.NOT_FOUND, "a chunk does not exist, or the text that it was part of has changed"),
    "not-a-chunk": ErrorKind(Exit.REFUSED, "a reference does not name a text that can be cited"),
    "quote-not-found": ErrorKind(Exit.REFUSED, "a quote is not in its chunk"),
    "quote-ambiguous": ErrorKind(Exit.REFUSED, "a quote is in its chunk more than once"),
    "bad-span": ErrorKind(Exit.REFUSED, "a span is outside its chunk"),
    # redaction
    "holds-secret": ErrorKind(
        Exit.REFUSED, "a name, a quote or a file that cannot be changed contains what redaction replaces"
    ),
    "bad-rule": ErrorKind(Exit.REFUSED, "a rule for redaction cannot be read, or is not matched in linear time"),
    # command line and MCP
    "usage": ErrorKind(Exit.USAGE, "the command line is wrong"),
    "bad-arguments": ErrorKind(
        Exit.USAGE, "the arguments of a tool, a prompt or a verb do not match its schema or its types"
    ),
    "no-tool": ErrorKind(Exit.NOT_FOUND, "no tool of the MCP server has this name"),
    "port-taken": ErrorKind(Exit.CONFLICT, "the port of a server cannot be listened on"),
    "bad-token": ErrorKind(Exit.REFUSED, "the token of a server is too short, or others may read the file that has it"),
    # the web application
    "no-extra": ErrorKind(Exit.NOT_FOUND, "a command needs a package that is not installed"),
    "no-address": ErrorKind(Exit.NOT_FOUND, "the web application has no such address"),
    "bad-cursor": ErrorKind(Exit.REFUSED, "a cursor is not one of the API, or its place is gone"),
    "no-admission": ErrorKind(Exit.REFUSED, "a request to the web application has no token, or a wrong one"),
    "other-origin": ErrorKind(Exit.REFUSED, "a request comes from another site, or under another name"),
    "request-size": ErrorKind(Exit.REFUSED, "a request to the web application is too large"),
    "request-slow": ErrorKind(Exit.REFUSED, "the body of a request to the web application does not arrive in time"),
    "wrong-method": ErrorKind(Exit.USAGE, "an address of the web application does not know the method"),
    "wrong-media-type": ErrorKind(Exit.USAGE, "the body of a request is not JSON"),
    "index-building": ErrorKind(Exit.CONFLICT, "the web application builds an index: ask again"),
    "server-busy": ErrorKind(Exit.CONFLICT, "the web application has too much to do, or an answer takes too long"),
    "server-failed": ErrorKind(Exit.REFUSED, "the web application met a bug of its own"),
    # workspaces and databases
    "no-server": ErrorKind(Exit.CONFLICT, "PostgreSQL does not answer, or a connection to it was lost"),
    "no-workspace": ErrorKind(Exit.NOT_FOUND, "there is no workspace in this folder or in a folder above it"),
    "no-database": ErrorKind(Exit.NOT_FOUND, "the workspace has no database yet"),
    "two-databases": ErrorKind(
        Exit.CONFLICT, "a workspace that became a repository has one database inside git and one outside"
    ),
    "database-lost": ErrorKind(Exit.REFUSED, "the database that the workspace had is empty or gone"),
    "no-repository": ErrorKind(
        Exit.NOT_FOUND, "a folder names a git repository that is not there, or that belongs to another folder"
    ),
    "database-newer": ErrorKind(Exit.REFUSED, "a newer Slicebase wrote the database"),
    "database-damaged": ErrorKind(Exit.REFUSED, "the database cannot be read"),
    "database-not-ours": ErrorKind(
        Exit.REFUSED, "the database came with the repository or from another machine, or is not the one it was"
    ),
    "broken-record": ErrorKind(Exit.REFUSED, "a stored record cannot be read; `tt verify` shows more"),
    "not-our-database": ErrorKind(Exit.REFUSED, "the database belongs to another program"),
    "other-process": ErrorKind(Exit.REFUSED, "an open workspace is used in a process that was forked from its own"),
    "locked": ErrorKind(Exit.CONFLICT, "another process has locked the database or a file"),
    "disk-full": ErrorKind(Exit.REFUSED, "the disk, a quota or a file is full; what was confirmed before is stored"),
    "no-memory": ErrorKind(Exit.REFUSED, "there is not enough memory; what was confirmed before is stored"),
    "cannot-write": ErrorKind(Exit.REFUSED, "a file or folder cannot be written"),
    "cannot-read": ErrorKind(Exit.REFUSED, "a file or folder cannot be read"),
    "too-large": ErrorKind(Exit.REFUSED, "an input is larger than what Slicebase reads of its kind"),
    "not-flushed": ErrorKind(Exit.REFUSED, "a change was made, but the disk does not confirm it"),
    "bad-setting": ErrorKind(
        Exit.REFUSED, "slicebase.toml cannot be read, or contains something that is not a setting"
    ),
    # the library: files and names
    "no-file": ErrorKind(Exit.NOT_FOUND, "no slice file has this id"),
    "ambiguous-id": ErrorKind(Exit.REFUSED, "a short id is the beginning of several ids"),
    "short-id": ErrorKind(Exit.REFUSED, "the beginning of an id has fewer than eight characters"),
    "bad-id": ErrorKind(Exit.REFUSED, "an id cannot be used as a file name"),
    "id-mismatch": ErrorKind(Exit.REFUSED, "the name of a file does not match the id in it"),
    "not-a-file": ErrorKind(Exit.REFUSED, "a symbolic link, a folder or a device is where a file should be"),
    "file-exists": ErrorKind(Exit.CONFLICT, "a file with the name of the new file already exists"),
    "outside-workspace": ErrorKind(Exit.REFUSED, "a path is outside the workspace"),
    # the library: writing and reading
    "conflict": ErrorKind(Exit.CONFLICT, "something has changed since the version that a write is based on"),
    "broken-file": ErrorKind(Exit.REFUSED, "a file has lines that cannot be read; it is left as it is"),
    "breaks-rule": ErrorKind(Exit.REFUSED, "a write, a new file or a new row would break a rule of the format"),
    "write-differs": ErrorKind(
        Exit.REFUSED, "the bytes of a new version would not be read back as what was meant; nothing is written"
    ),
    "write-mode": ErrorKind(Exit.REFUSED, "the file's contract or kind does not allow this write"),
    "overflow": ErrorKind(
        Exit.REFUSED, "the file would become larger than its maximum size, and its contract does not allow that"
    ),
    "nothing-given": ErrorKind(Exit.USAGE, "there is no text to write"),
    "managed-key": ErrorKind(Exit.REFUSED, "the key can only be changed by the command for it"),
    "archived": ErrorKind(Exit.REFUSED, "the file was forgotten, and cannot be written until it is restored"),
    "purged": ErrorKind(Exit.UNVERIFIABLE, "the content was purged"),
    "no-row": ErrorKind(Exit.NOT_FOUND, "no row has this id"),
    "topic-exists": ErrorKind(
        Exit.CONFLICT, "a log has an active row about the same topic, and the new row does not say that it is another"
    ),
    "no-section": ErrorKind(Exit.NOT_FOUND, "no section has this heading"),
    "ambiguous-section": ErrorKind(Exit.REFUSED, "several sections have this heading"),
    "no-passage": ErrorKind(Exit.NOT_FOUND, "the passage to replace is not in the body"),
    "ambiguous-passage": ErrorKind(Exit.REFUSED, "the passage to replace is in the body more than once"),
    "bad-link": ErrorKind(Exit.REFUSED, "a link has a relationship or a target that is not allowed"),
    "no-link": ErrorKind(Exit.NOT_FOUND, "the file has no such link"),
    "not-derived": ErrorKind(Exit.REFUSED, "the file does not say what it is derived from"),
    "drifted": ErrorKind(Exit.NOT_FOUND, "a reference names a version of a body that no longer exists"),
    "no-page": ErrorKind(Exit.NOT_FOUND, "the page does not exist"),
    # the library: search
    "no-words": ErrorKind(Exit.USAGE, "the search has no word to look for"),
    "no-git": ErrorKind(Exit.REFUSED, "git cannot be run, or reports an error"),
    # imports
    "no-input": ErrorKind(
        Exit.NOT_FOUND, "a file or folder to read does not exist, cannot be read, or has nothing to import"
    ),
    "bad-zip": ErrorKind(Exit.REFUSED, "a zip or a member of it cannot be read, or is not what it claims"),
    "unknown-format": ErrorKind(Exit.REFUSED, "no importer recognises the input"),
    "nothing-found": ErrorKind(Exit.NOT_FOUND, "no agent's sessions were found on this machine"),
    # backups and exports of a workspace
    "bad-move": ErrorKind(Exit.REFUSED, "a backup or an export of a workspace cannot be read, or contradicts itself"),
    "has-memory": ErrorKind(Exit.CONFLICT, "a workspace has memory already, which a backup would replace"),
    # coding agents
    "unknown-client": ErrorKind(Exit.USAGE, "there are no hooks for a client with this name"),
    "bad-client-settings": ErrorKind(Exit.REFUSED, "the settings of a client cannot be read, or have an unknown form"),
    "bad-marks": ErrorKind(Exit.REFUSED, "a document has only one of the two marks of a block"),
    "bad-command": ErrorKind(Exit.REFUSED, "a command of the memory tool is unknown or wrong"),
    # the path
    "no-session": ErrorKind(Exit.NOT_FOUND, "no session with this id is stored, or none was compacted"),
    "bad-question": ErrorKind(Exit.REFUSED, "the question is empty"),
    "bad-budget": ErrorKind(Exit.REFUSED, "a budget of tokens or turns is too small"),
    "bad-atlas": ErrorKind(Exit.REFUSED, "a file is not the manifest of an atlas, or one of another version"),
    "bad-request": ErrorKind(Exit.REFUSED, "a line of a batch is not a request for a slice"),
    "no-manifest": ErrorKind(Exit.NOT_FOUND, "no manifest with this id is recorded"),
}


class Where(NamedTuple):
    """The place of an error: a file (or `-`, or the name of a record), a line and a column, both counted from 1."""

    file: str | None = None
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in self if part is not None)


NOWHERE = Where()


class RunWarning(UserWarning):
    """A warning about a run: its agent repeats itself, or a budget is nearly spent."""


class SlicebaseError(Exception):
    """The only exception that bad data, bad input or a broken rule raises."""

    def __init__(self, code: str, message: str, *, hint: str = "", where: Where = NOWHERE) -> None:
        message = printable(message)
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.where = where
        self.exit = CODES[code].exit
        self.item: int | None = None  # which of several values that were given is at fault, from 0
        self.add_note(f"[{code}] {hint}".rstrip())  # a traceback shows it

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.code, self.message, self.hint, self.where)

    def __repr__(self) -> str:
        return f"SlicebaseError({self.code!r}, {self.message!r})"

    def __str__(self) -> str:
        place = f"{self.where}: " if any(self.where) else ""
        return printable(f"{place}{self.message}")

    def at(self, where: Where) -> "SlicebaseError":
        """Returns the same error with the missing parts of its place filled in."""
        known = Where(
            self.where.file if self.where.file is not None else where.file,
            self.where.line if self.where.line is not None else where.line,
            self.where.column if self.where.column is not None else where.column,
        )
        return SlicebaseError(self.code, self.message, hint=self.hint, where=known)

    def as_json(self) -> dict[str, Any]:
        """Returns the error as the commands print it with `--json`."""
        return {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "where": self.where._asdict() if any(self.where) else None,
        }


def printable(text: str) -> str:
    """Returns a text that can be encoded: half of a surrogate pair is shown by its number."""
    return text.encode("utf-8", "backslashreplace").decode()


# Checks of arguments

_LARGEST = 2**53 - 1


def refuse_out_of_range(name: str, number: float, least: float) -> None:
    """Raises `out-of-range` for a number below `least`, and for one that is huge, infinite or not a number."""
    if not least <= number <= _LARGEST:
        raise SlicebaseError("out-of-range", f"{name} is out of range", hint=f"give a number from {least}")


def refuse_unknown(name: str, value: object, known: Iterable[str]) -> None:
    """Raises `unknown-value` for a value that is not one of the known ones."""
    if value not in (names := tuple(known)):
        raise SlicebaseError("unknown-value", f"{name} has an unknown value", hint=f"give one of {', '.join(names)}")


def _restored(code: str, message: str, hint: str, where: Where) -> SlicebaseError:
    return SlicebaseError(code, message, hint=hint, where=where)
