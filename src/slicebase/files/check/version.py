"""Checks the next version of a slice file before it is written: the one way from a value to the bytes on the disk.

Every writer ends here: the bytes are read again, compared with what was meant, and checked by the rules of the format.
What does not pass is not written (ruling 20: writing is strict).
"""

from collections.abc import Sequence

from slicebase.errors import SlicebaseError, Where
from slicebase.files.body.rows import read_rows
from slicebase.files.check.between import FileLocation
from slicebase.files.check.body import check_body
from slicebase.files.check.file import check_parsed
from slicebase.files.findings import Finding, errors
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import same


def checked_bytes(
    old: SliceFile | None, new: SliceFile, *, also: Sequence[SliceFile] = (), rows: Sequence[str] = ()
) -> bytes:
    """Returns the bytes of the next version of a file, after they were read again and checked.

    `old` is the version before it, None for a new file. `also` are other files that its content comes from, such as
    the other side of a merge. `rows` are the ids of the rows that are new at the end of its body. Raises
    `write-differs` if the bytes do not mean what they should, and `breaks-rule` if they have an error that neither the
    version before nor these files have.
    """
    new = _read_again(new)
    if old and new.id != old.id:
        raise _differs(new, f"the id would change from {old.id} to {new.id}")
    if rows and _last_rows(old, new)[-len(rows) :] != list(rows):
        raise _differs(new, "the new rows are not at its end")
    _refuse_new_errors(old, new, also)
    return new.to_bytes()


def read_back(file: SliceFile) -> bytes:
    """Returns the bytes of a file. Raises `write-differs` if they cannot be read again as the same file."""
    return _read_again(file).to_bytes()


def _read_again(file: SliceFile) -> SliceFile:
    try:
        found = SliceFile.parse(file.to_bytes(), file.name)
    except SlicebaseError as error:
        raise _differs(file, f"it could not be read again: {error.message}") from None
    if found.body != file.body or not same(found.frontmatter, file.frontmatter):
        raise _differs(file, f"its {'body' if found.body != file.body else 'metadata'} would be read as another")
    return found


def _differs(file: SliceFile, what: str) -> SlicebaseError:
    hint = "nothing was written; `tt validate` may show what is unusual in the file"
    message = f"the file would not be what was meant: {what}"
    return SlicebaseError("write-differs", message, hint=hint, where=Where(file.name))


def _last_rows(old: SliceFile | None, new: SliceFile) -> list[str]:
    """Returns the ids of the rows of a body; only of its new part, if it grew."""
    added = _added(old, new)
    return [row.id for row in read_rows(new.body if added is None else added).rows]


def _added(old: SliceFile | None, new: SliceFile) -> bytes | None:
    """Returns what a new version adds to the end of a body, None if it changes something else in the body."""
    return new.body[len(old.body) :] if old and new.body.startswith(old.body) else None


def _refuse_new_errors(old: SliceFile | None, new: SliceFile, also: Sequence[SliceFile]) -> None:
    """Raises an error if the new version has an error that no version before has.

    If rows were appended, only the new rows are checked, so that a write does not read the complete log.
    """
    added = _added(old, new) if new.body_type == "jsonl" else None
    if added is not None and old and new.header == old.header:
        above = old.body.count(b"\n")
        found = [
            finding._replace(line=finding.line and finding.line + above)
            for finding in errors(check_body(new.with_body(added)).findings)
        ]
    else:
        found = errors_in(new)
    before = (*([old] if old else []), *also) if found else ()
    known = {(finding.rule, finding.message) for file in before for finding in errors_in(file)}
    for finding in found:
        if (finding.rule, finding.message) not in known:
            raise _breach(new, finding)


def _breach(file: SliceFile, finding: Finding) -> SlicebaseError:
    """Returns the error for a finding. One in the body has its line there, too: who gave it sees no file around it."""
    message = f"{finding.message} ({finding.rule})"
    line = (finding.line or 0) - file.body_line + 1
    if line < 1:
        return SlicebaseError("breaks-rule", message, hint=finding.hint, where=Where(file.name))
    where = Where(file.name, finding.line, finding.column)
    return SlicebaseError("breaks-rule", f"{message}, line {line} of the body", hint=finding.hint, where=where)


def errors_in(file: SliceFile) -> list[Finding]:
    """Returns the errors of a file alone, without those that other files cause."""
    checked = check_parsed(file, FileLocation(file.name, file.name))
    return errors((*checked.findings, *checked.log_findings))
