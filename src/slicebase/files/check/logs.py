"""Checks files that are joined into one log together: which rows hold, and which calls have results (ruling 32)."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from slicebase.files.body.lines import JsonLine
from slicebase.files.body.overflow import unnamed_parts, whole_of
from slicebase.files.body.part_order import each_ordered
from slicebase.files.body.repeated import in_place, in_precedence, not_named, without_repeated
from slicebase.files.body.whole import in_reading_order, repairs
from slicebase.files.check.between import PART_LINKS, Checked, WorkspaceView
from slicebase.files.check.body import conversation_findings
from slicebase.files.findings import Finding
from slicebase.files.links import reach
from slicebase.files.slice_file import SliceFile


def log_findings(files: Sequence[Checked], world: WorkspaceView) -> Iterator[Finding]:
    """Yields the findings that apply to a complete log: to a file by itself, or to joined files together."""
    names = {checked.location.name for checked in files}
    joined = _joined(files, world)
    done: set[str] = set()
    for checked in files:
        file_id = checked.id or ""
        if file_id not in joined:
            yield from checked.log_findings
        elif file_id not in done:
            log = reach(joined, [file_id])
            done |= log
            parts = in_reading_order(part for name in log if (part := world.load(name)))
            found = (*_of_rows(parts), *_of_conversations(parts))
            yield from (finding for finding in found if finding.file in names)


def _joined(files: Sequence[Checked], world: WorkspaceView) -> Mapping[str, Collection[str]]:
    """Returns the joined files. The rest of the workspace is read only if a log has findings without it."""
    unclear = any(checked.log_findings for checked in files)
    pairs = [
        (checked.id, out.to)
        for checked in files
        for out in checked.outgoing
        if checked.id and out.rel in PART_LINKS and out.line is None
    ]
    joined: dict[str, list[str]] = {}
    for one, other in (*pairs, *(world.part_links() if unclear else ())):
        joined.setdefault(one, []).append(other)
        joined.setdefault(other, []).append(one)
    return joined


def _of_rows(parts: Iterable[SliceFile]) -> Iterator[Finding]:
    # Imported here for a fast start: only logs of several files need them.
    from slicebase.files.body.rows import read_rows
    from slicebase.files.body.supersession import supersession_findings

    logs = in_precedence([part for part in parts if part.body_type == "jsonl"])
    rows = [row for part in logs for row in read_rows(part.body, part.body_line, part.name).rows]
    wholes = {part.id: part for part in logs}
    pairs = ((part, wholes.get(whole_of(part))) for part in not_named(logs))
    unfinished = {part.name for part, whole in pairs if whole and any(unnamed_parts(whole, [part]))}
    left = {old.name: {row.line.raw for row in read_rows(new.body).rows} for old, new in repairs(logs)}

    def fix(line: JsonLine) -> str | None:
        if line.file in unfinished:
            return "its file does not name this part: `tt doctor` says what to do"
        return "`tt doctor --fix` removes it here" if line.raw not in left.get(line.file, [line.raw]) else None

    yield from supersession_findings(rows, fix)


def _of_conversations(parts: Iterable[SliceFile]) -> Iterator[Finding]:
    """Checks conversations that overflow divided, in their order. Others have no order: each is by itself."""
    known = {part.id: part for part in parts if part.body_type == "conversation"}
    for found in each_ordered(known, [talk for talk in known.values() if whole_of(talk) not in known]):
        shorter = {old: in_place(old, new) for old, new in without_repeated(found)}
        yield from conversation_findings([shorter.get(part, part) for part in found])
