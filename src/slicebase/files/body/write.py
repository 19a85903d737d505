"""Writes to a slice file's body: returns the next version of the file, or raises an error (rulings 25 and 26)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from slicebase.errors import SlicebaseError, Where
from slicebase.files.body.entries import Stamp, new_lines, new_rows
from slicebase.files.body.lines import read_lines
from slicebase.files.body.objects import objects_in
from slicebase.files.body.rows import Row, full_row_id, read_rows
from slicebase.files.body.supersession import active, repeated_topic, same_topic, shared_topic
from slicebase.files.body.text import (
    append_in_section,
    append_lines,
    append_paragraph,
    encoded,
    given_text,
    insert_paragraph,
    newline_of,
    replace_section,
    with_ends,
)
from slicebase.files.findings import Finding, errors, shown
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import set_key

LINES: Final = ("jsonl", "conversation", "routine")  # bodies with one JSON object per line
PARAGRAPHS: Final = ("markdown", "text")


class NextVersion(NamedTuple):
    """The next version of a file, and the ids of the rows that are new in it."""

    file: SliceFile
    rows: tuple[str, ...] = ()


class WriteRequest(NamedTuple):
    """The text to remember, and how to write it."""

    text: str
    stamp: Stamp
    supersedes: tuple[str, ...] = ()
    section: str | None = None
    as_text: bool = False  # also what looks like JSON
    is_new: bool = False  # starts a chain of its own, whatever the log says about its topic
    at: int | None = None  # the character of a text before which it goes; None for the end, or that of the section
    newline: str | None = None  # for a body without line ends, where these are not those of the frontmatter

    def newline_for(self, file: SliceFile) -> str:
        """Returns the line end of a body that has none (ruling 20)."""
        return self.newline or file.newline


def write(file: SliceFile, given: WriteRequest, elsewhere: Sequence[Row] = (), mode: str | None = None) -> NextVersion:
    """Returns the file with the text written to its body, by the write mode of its contract.

    `elsewhere` holds the rows of the other files of the same log (ruling 32), and `mode` is the write mode of the log
    where the file is a part of one.
    """
    refuse_closed(file)
    if not given.text.strip():
        raise SlicebaseError("nothing-given", "the text to remember is empty")
    mode, body_type = mode or file.write_mode, file.body_type or ""
    body_write = _WRITES.get((mode, body_type))
    if body_write is None:
        raise _against_contract(file, f"the write mode {mode} does not work for a {body_type} body")
    _refuse_misfits(file, given)
    if body_type in LINES:
        refuse_broken(file, read_lines(file.body, file.body_line).findings)
    return body_write(file, given, elsewhere)


def refuse_closed(file: SliceFile) -> None:
    """Raises an error if no text can be written to the file."""
    if file.purged:
        raise SlicebaseError("purged", "the file was purged", hint="create a new file", where=Where(file.name))
    if file.archived:
        hint = f"bring it back with `tt restore {file.id}`"
        raise SlicebaseError("archived", "the file is archived", hint=hint, where=Where(file.name))
    if file.kind == "pointer":
        raise _against_contract(file, "a pointer has no body", "its payload is elsewhere")
    if file.write_mode == "error":
        raise _against_contract(file, "the file is read-only")


def with_body(file: SliceFile, body: bytes, stamp: Stamp) -> SliceFile:
    """Returns the file with another body and the time of this change (ruling 26)."""
    return with_writer(set_key(file.with_body(body), "slice.updated_at", stamp.time), stamp)


def with_writer(file: SliceFile, stamp: Stamp) -> SliceFile:
    """Returns the file with the name of its last writer, if that is captured (§ Provenance)."""
    return set_key(file, "slice.updated_by", stamp.who) if stamp.who else file


def refuse_broken(file: SliceFile, findings: Iterable[Finding]) -> None:
    """Raises an error for a body with an unreadable line. The line may be incomplete, so people check it first."""
    for finding in errors(findings):
        raise SlicebaseError(
            "broken-file",
            f"the body cannot be read: {finding.message}",
            hint=finding.hint or "fix the line; `tt validate` shows everything that is wrong",
            where=Where(file.name, finding.line, finding.column),
        )


# Writes, by mode and body type


def _append_rows(file: SliceFile, given: WriteRequest, elsewhere: Sequence[Row]) -> NextVersion:
    """Appends rows. The frontmatter does not change, so that two branches merge (ruling 26)."""
    log = (*read_rows(file.body).rows, *elsewhere) if given.supersedes else ()
    named = _superseded(file, given.supersedes, log)
    new = new_rows(given.text, given.stamp, supersedes=named, after=_last_row(file.body), as_text=given.as_text)
    body = append_lines(file.body, b"".join(row.line for row in new), given.newline_for(file))
    return NextVersion(file.with_body(body), tuple(row.id for row in new))


def _last_row(body: bytes) -> str | None:
    """Returns the id of the last row, without reading the complete log."""
    rows = read_rows(body.rstrip().rpartition(b"\n")[2]).rows
    return rows[0].id if rows else None


def _supersede_rows(file: SliceFile, given: WriteRequest, elsewhere: Sequence[Row]) -> NextVersion:
    """Appends a row that names the rows it supersedes, or that starts a chain of its own (ruling 25)."""
    written = _append_rows(file, given, elsewhere)
    if not given.supersedes and not given.is_new:
        former = active((*read_rows(file.body).rows, *elsewhere))
        new = read_rows(written.file.body[len(file.body) :]).rows
        for row in new if former else ():
            _refuse_known_topic(file, same_topic(former, row.line.value), row)
        _refuse_repeated_topic(file, repeated_topic(new))
    return written


def _refuse_known_topic(file: SliceFile, known: Row | None, row: Row) -> None:
    if known:
        raise SlicebaseError(
            "topic-exists",
            f"{known.id} has the same {_topic(known, row)}",
            hint=f"--supersedes {known.id} replaces it, and --new says that this is another fact",
            where=Where(file.name),
        )


def _topic(known: Row, row: Row) -> str:
    """Returns what two rows have in common, as a message quotes it."""
    name = shared_topic(known.line.value, row.line.value) or "topic"
    return f"{name}, {shown(known.line.value.get(name))}"


def _refuse_repeated_topic(file: SliceFile, pair: tuple[Row, Row] | None) -> None:
    if pair:
        raise SlicebaseError(
            "topic-exists",
            f"two of the new rows have the same {_topic(*pair)}",
            hint="write the second one later with --supersedes, or say with --new that they are different facts",
            where=Where(file.name),
        )


def _append_line(file: SliceFile, given: WriteRequest, elsewhere: Sequence[Row]) -> NextVersion:
    lines = new_lines(file.body_type or "", given.text, given.stamp, as_text=given.as_text)
    return NextVersion(file.with_body(append_lines(file.body, b"".join(lines), given.newline_for(file))))


def _append_paragraph(file: SliceFile, given: WriteRequest, elsewhere: Sequence[Row]) -> NextVersion:
    newline = given.newline_for(file)
    if given.at is not None:
        body = insert_paragraph(file.body, given.at, given.text, newline)
    elif given.section:
        body = append_in_section(file.body, given.section, given.text, newline)
    else:
        body = append_paragraph(file.body, given.text, newline)
    return NextVersion(with_body(file, body, given.stamp))


def _replace_text(file: SliceFile, given: WriteRequest, elsewhere: Sequence[Row]) -> NextVersion:
    if given.section:
        body = replace_section(file.body, given.section, given.text, given.newline_for(file))
    else:
        body = new_body(file, given.text, given.stamp).file_body
    return NextVersion(with_body(file, body, given.stamp))


def _replace_lines(file: SliceFile, given: WriteRequest, elsewhere: Sequence[Row]) -> NextVersion:
    body, rows = new_body(file, given.text, given.stamp, as_text=given.as_text)
    return NextVersion(with_body(file, body, given.stamp), rows)


BodyWrite = Callable[[SliceFile, WriteRequest, Sequence[Row]], NextVersion]
_WRITES: Final[Mapping[tuple[str, str], BodyWrite]] = {
    ("append", "jsonl"): _append_rows,
    ("append", "conversation"): _append_line,
    ("append", "routine"): _append_line,
    **{("append", body_type): _append_paragraph for body_type in PARAGRAPHS},
    ("supersede", "jsonl"): _supersede_rows,
    **{("replace", body_type): _replace_text for body_type in (*PARAGRAPHS, "yaml", "code")},
    **{("replace", body_type): _replace_lines for body_type in LINES},
}


# A complete body


class Body(NamedTuple):
    """A new body, and the ids of its rows."""

    file_body: bytes
    rows: tuple[str, ...] = ()


def new_body(file: SliceFile, text: str, stamp: Stamp, *, as_text: bool = False) -> Body:
    """Returns a body that consists of this text, with the line ends of the body that the file has."""
    body, rows = whole_body(file.body_type or "", with_ends(text, "\n"), stamp, as_text=as_text)
    return Body(append_lines(b"", body, newline_of(file.body, file.newline)), rows)


def whole_body(body_type: str, text: str, stamp: Stamp, *, as_text: bool = False) -> Body:
    """Returns the body of a new file that consists of this text. Rows that have an envelope keep it, byte for byte."""
    if body_type not in LINES:
        body = encoded(text.removeprefix("\ufeff"))
        # A carriage return at the very end is half a line end: with LF after it, it would make the body one with CRLF.
        return Body(body if body.endswith(b"\n") else body.rstrip(b"\r") + newline_of(body).encode())
    if body_type != "jsonl":
        return Body(b"".join(new_lines(body_type, text, stamp, as_text=as_text)))
    if not as_text and _is_complete(text):
        return Body(encoded(given_text(text).strip("\n") + "\n"))
    rows = new_rows(text, stamp, as_text=as_text)
    return Body(b"".join(row.line for row in rows), tuple(row.id for row in rows))


def _is_complete(text: str) -> bool:
    """Returns whether a text is already rows: one object per line, each with its own id."""
    objects = objects_in(text) or ()
    lines = [line for line in text.split("\n") if line.strip()]
    ids = [fields["_meta"].get("id") for fields in objects if isinstance(fields.get("_meta"), dict)]
    return bool(ids) and all(ids) and len(ids) == len(objects) == len(lines)


# Refusals


def _refuse_misfits(file: SliceFile, given: WriteRequest) -> None:
    if given.supersedes and file.body_type != "jsonl":
        raise _against_contract(file, f"a {file.body_type} body has no rows to supersede")
    if given.supersedes and file.write_mode == "replace":
        raise _against_contract(file, "the write mode replace replaces all rows, so none can be superseded")
    if given.is_new and file.body_type != "jsonl":
        raise _against_contract(file, f"a {file.body_type} body has no rows that could be new")
    if given.is_new and given.supersedes:
        raise SlicebaseError("usage", "a row that supersedes others is not new", hint="give --new or --supersedes")
    if given.section and file.body_type != "markdown":
        raise _against_contract(file, f"a {file.body_type} body has no sections")


def _superseded(file: SliceFile, given: Sequence[str], log: Sequence[Row]) -> list[str]:
    """Returns the complete ids of named rows. Raises an error if another row already supersedes one of them."""
    known = {row.id for row in log}
    newer = {old: row.id for row in log for old in row.supersedes}
    named = [full_row_id(known, name, "this log") for name in given]
    for row_id in named:
        if row_id in newer:
            hint = f"read {newer[row_id]}, and supersede that"
            raise SlicebaseError(
                "conflict", f"{row_id} is superseded by {newer[row_id]} already", hint=hint, where=Where(file.name)
            )
    return named


def _against_contract(file: SliceFile, message: str, hint: str = "") -> SlicebaseError:
    hint = hint or f"its write mode is {file.write_mode}; `tt define {file.id} contract.write=…` sets another"
    return SlicebaseError("write-mode", message, hint=hint, where=Where(file.name))
