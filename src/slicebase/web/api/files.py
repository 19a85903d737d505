"""Slice files: listed, and shown with what is known about them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from slicebase.core.times import EARLIEST, to_text
from slicebase.errors import SlicebaseError
from slicebase.files.body.overflow import parts_of, whole_of
from slicebase.files.freshness import Label, age_in_milliseconds, oldest
from slicebase.files.note import note_place
from slicebase.index.entries import FileEntry, FileOrder, FilePlace, Filters, find_file, page_of_files
from slicebase.index.payloads import with_payload_state
from slicebase.web.endpoints import Name, PageCursor, PageLimit, Parameters, cursor_of, get, no_cursor, read_cursor

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.files.model import Mark
    from slicebase.files.slice_file import SliceFile

FreshnessLabel = Literal["FRESH", "AGING", "STALE", "DECAYED"]
_Short = Annotated[str, Meta(max_length=1000)]
_DAY: Final = 86_400_000


class FileFilters(Parameters, frozen=True, kw_only=True):
    """The conditions that files have to meet, as the options of `tt list`."""

    kind: Literal["", "context", "pointer"] = ""
    type: _Short = ""
    rel: _Short = ""
    meta: Annotated[str, Meta(max_length=1000, description="KEY=VALUE")] = ""
    fresher_than: Annotated[str, Meta(max_length=20, description="12h, 30d, 8w, 3mo, 1y, or a label.")] = ""
    label: Literal["", "FRESH", "AGING", "STALE", "DECAYED"] = ""
    archived: bool = False

    def filters(self, now: int, half_life: float) -> Filters:
        """Returns these conditions as the verbs take them."""
        since, before = self._between(now, half_life)
        key, equals, value = self.meta.partition("=")
        if self.meta and not (key and equals):
            raise SlicebaseError("bad-arguments", f"{self.meta!r} is not KEY=VALUE")
        meta = ((key, value),) if self.meta else ()
        return Filters(
            self.kind or None, self.type or None, self.rel or None, meta, since, self.archived, changed_before=before
        )

    def _between(self, now: int, half_life: float) -> tuple[float | None, float | None]:
        """Returns after which time, and before which, a file has been changed, in seconds."""
        if self.label:
            labels = list(Label)
            older = labels[labels.index(Label(self.label)) + 1 :]
            since = now - round(oldest(older[0], half_life) * _DAY) if older else None
            before = now - round(oldest(Label(self.label), half_life) * _DAY) + 1 if self.label != "FRESH" else None
            return (*(None if each is None else max(EARLIEST, each) / 1000 for each in (since, before)),)  # type: ignore[return-value]
        if not self.fresher_than:
            return None, None
        age = age_in_milliseconds(self.fresher_than, half_life)
        if age is None:
            hint = "write 12h, 30d, 8w, 3mo, 1y, or a label"
            raise SlicebaseError("bad-arguments", f"{self.fresher_than!r} is not an age", hint=hint)
        return _seconds(now - age), None


def _seconds(moment: int | None) -> float | None:
    return None if moment is None else max(EARLIEST, moment) / 1000


class FileFreshness(Struct, frozen=True):
    """How fresh a file is: by its age, and for a derived file compared with its source."""

    label: FreshnessLabel
    staleness: float
    derivation: Literal["fresh", "stale", "unknown"] | None


class FileRow(Struct, frozen=True):
    """A slice file in a list."""

    id: str
    title: str
    summary: str
    kind: str
    type: str
    file: str
    bytes: int
    rows: int
    hash: str | None
    changed: str
    freshness: FileFreshness
    archived: bool
    purged: bool
    note: Literal["same", "changed", "missing"] | None
    payload_state: Literal["same", "changed", "missing"] | None  # None where no document was compared, as in lists


class FileQuery(FileFilters, frozen=True, kw_only=True):
    """A list of files: filters, its order, and a page of it."""

    order: FileOrder = "changed"
    limit: PageLimit = 50
    cursor: PageCursor = ""


class FileList(Struct, frozen=True):
    """A page of the list of slice files; `total` counts all that pass the filters, `unreadable` those left out."""

    files: tuple[FileRow, ...]
    total: int
    unreadable: int
    next: str | None


def row_of(memory: "Slicebase", entry: FileEntry) -> FileRow:
    """Returns a file as lists show it."""
    fields = entry.as_json(memory.surroundings.now(), memory.settings.freshness_half_life_days)
    return msgspec.convert(fields, FileRow)


def list_files(memory: "Slicebase", asked: FileQuery) -> FileList:
    """Lists slice files, by default the last changed first."""
    filters = asked.filters(memory.surroundings.now(), memory.settings.freshness_half_life_days)
    after = _place(asked)
    index = memory.finder.index
    page = index.ask(lambda connection: page_of_files(connection, filters, asked.order, after, asked.limit))
    rows = tuple(row_of(memory, entry) for entry in page.entries)
    following = cursor_of(asked, msgspec.json.encode(page.last).decode()) if page.last else None
    return FileList(rows, page.total, index.unreadable, following)


# A place in a list is what the list is sorted by, as the index has it.
_Number = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
_BY_TIME: Final = msgspec.json.Decoder(tuple[_Number, _Number, str, str])
_BY_TEXT: Final = msgspec.json.Decoder(tuple[str, _Number, str, str])
_PLACES: Final[Mapping[FileOrder, msgspec.json.Decoder[Any]]] = {
    "changed": _BY_TIME, "oldest": _BY_TIME, "title": _BY_TEXT, "type": _BY_TEXT,
}  # fmt: skip


def _place(asked: FileQuery) -> FilePlace | None:
    after = read_cursor(asked)
    try:
        found: FilePlace | None = None if after is None else _PLACES[asked.order].decode(after)
    except (msgspec.MsgspecError, RecursionError):
        raise no_cursor() from None
    return found


# One file


class FileName(Parameters, frozen=True, kw_only=True):
    """A file by its id, or by the beginning of it."""

    id: Name


class RouteAnswer(Struct, frozen=True):
    """A topic that does not belong into a file, and the file that it goes to."""

    topic: str
    to: str | None
    title: str | None


class ContractAnswer(Struct, frozen=True):
    """What belongs into a file, and how it is written."""

    purpose: str | None
    exclude: tuple[RouteAnswer, ...]
    format: str | None
    cleanup: str | None
    write: str | None
    overflow: str | None


class PayloadAnswer(Struct, frozen=True):
    """Where the content of a pointer is."""

    uri: str | None
    hash: str | None
    size: int | None


class SourceAnswer(Struct, frozen=True):
    """What a file is derived from, and whether that is still the same."""

    id: str | None
    hash: str | None
    now: str | None
    title: str | None


class MarkAnswer(Struct, frozen=True):
    """When and why a file was archived, purged or dealt with."""

    at: str | None
    reason: str | None


class StaleReasonRow(Struct, frozen=True):
    """Why a file should be checked again."""

    reason: str
    since: str | None
    detail: str


class FileAnswer(FileRow, frozen=True):
    """Everything that a file says about itself, without its body."""

    ref: str
    version: str
    contract: ContractAnswer
    meta: dict[str, Any]
    payload: PayloadAnswer | None
    derived_from: SourceAnswer | None
    created_at: str | None
    updated_at: str | None
    updated_by: dict[str, Any] | None
    language: str | None  # of a code body
    path: str | None  # of the note that a pointer names
    due: str | None
    done: MarkAnswer | None
    archived_by: MarkAnswer | None
    purged_by: MarkAnswer | None
    parts: tuple[str, ...]
    part_of: str | None
    reasons: tuple[StaleReasonRow, ...]


def file(memory: "Slicebase", asked: FileName) -> FileAnswer:
    """Returns what is known about a file: metadata, contract, provenance and freshness. Its body is asked for apart."""
    entry = memory.finder.index.ask(lambda connection: find_file(connection, asked.id))
    found = memory.folder.find(entry.id)
    stale = memory.finder.stale(filters=Filters(ids=(entry.id,), archived=True))
    reasons = next((each.reasons for each in stale if each.entry.id == entry.id), ())
    entry = with_payload_state(memory.root, entry)
    note = note_place(found)
    header = found.frontmatter.get("slice")
    by = header.get("updated_by") if isinstance(header, dict) else None
    return FileAnswer(
        **msgspec.structs.asdict(row_of(memory, entry)),
        ref=entry.ref,
        version=memory.folder.version(found),
        contract=msgspec.convert(memory.library.contract(entry.id), ContractAnswer),
        meta=_plain(found.meta),
        payload=PayloadAnswer(found.payload.uri, found.payload.hash, found.payload.size) if found.payload else None,
        derived_from=_source(memory, found, entry),
        created_at=found.created_at,
        updated_at=found.updated_at,
        updated_by=_plain(by) if isinstance(by, dict) else {"agent": str(by)} if by else None,
        language=found.code.lang if found.body_type == "code" else None,
        path=note.path if note else None,
        due=found.due,
        done=_mark(found.done),
        archived_by=_mark(found.archived),
        purged_by=_mark(found.purged),
        parts=tuple(parts_of(found)),
        part_of=whole_of(found),
        reasons=tuple(
            StaleReasonRow(why.kind, None if why.since is None else to_text(why.since), why.detail) for why in reasons
        ),
    )


def _plain(values: Any) -> dict[str, Any]:
    """Returns values of the frontmatter as JSON has them."""
    found: dict[str, Any] = msgspec.to_builtins(dict(values), str_keys=True)
    return found


def _mark(mark: "Mark | None") -> MarkAnswer | None:
    return MarkAnswer(mark.at, mark.reason) if mark else None


def _source(memory: "Slicebase", found: "SliceFile", entry: FileEntry) -> SourceAnswer | None:
    source = found.derived_from
    if source is None:
        return None
    original = memory.folder.readable(source.id) if source.id and not source.id.startswith("sn_") else None
    return SourceAnswer(source.id, source.hash, entry.source_now, original.title if original else None)


# What is wrong with it


class FileFinding(Struct, frozen=True):
    """A breach of a rule of the format."""

    rule: str
    line: int | None
    column: int | None
    message: str
    hint: str


class FileFindings(Struct, frozen=True):
    """What is wrong with one file by itself."""

    findings: tuple[FileFinding, ...]


def findings(memory: "Slicebase", asked: FileName) -> FileFindings:
    """Checks one file against the format."""
    found = memory.finder.info(asked.id).findings
    return FileFindings(
        tuple(FileFinding(each.rule, each.line, each.column, each.message, each.hint) for each in found)
    )


ENDPOINTS: Final = (
    get("/files", "finder.list_files", list_files),
    get("/files/{id}", "finder.info", file),
    get("/files/{id}/findings", "finder.info", findings),
)
