"""A context without a question: the files of the library that are worth most. It must be fast: hooks wait for it.

Files that people and agents wrote come first, then those that were derived from others, then the newest narrative of
each run: what a run knew earlier is in its newest narrative, or is no longer true. Of two of a kind, the one that was
changed last comes first. Seals are left out: their hashes tell an agent nothing.
"""

from collections.abc import Iterator, Mapping, Set
from itertools import islice
from typing import Final, NamedTuple

from slicebase.context.assemble import Candidate, Context, assemble
from slicebase.context.manifest import Budget
from slicebase.core.hashing import raw_digest
from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError, refuse_out_of_range
from slicebase.index.entries import FileEntry, Filters
from slicebase.library.recall import Recall, file_group, label_in_group
from slicebase.verbs.names import shown_in_context
from slicebase.verbs.parts import Parts
from slicebase.verbs.record import built

NEWEST: Final = "newest/2"  # the manifest's ranker: files by their worth, then in the order of their last change
_NEWEST_FILES: Final = 30
_STEP: Final = 10**15  # between two worths; more than any time in milliseconds
_DIGEST: Final = 12  # characters
_SNAPSHOT: Final = "sn_"
_SEALS: Final = Filters(meta={"slicebase": "seal"})


class ShownFiles(NamedTuple):
    """What a project's context leaves out: files in the version that is known, and what is not a person's own."""

    versions: Mapping[str, str] = {}
    passed: Set[str] = frozenset()  # the digests of files that were passed over
    own_only: bool = False
    but: str | None = None  # a run whose narratives are shown by other means


NOTHING_SHOWN: Final = ShownFiles()


def project_context(parts: Parts, tokens: int, *, record: bool = True, known: ShownFiles = NOTHING_SHOWN) -> Context:
    """Builds a context of the library's files, the most worth first, and records its manifest."""
    refuse_out_of_range("tokens", tokens, 1)
    return built(parts, lambda: _newest_context(parts, tokens, known), record=record)


def seen_files(parts: Parts, references: Set[str]) -> tuple[dict[str, str], list[str]]:
    """Returns what identifies the content of some files, by their ids, and digests of the library's other files."""
    entries = parts.library.list_files()
    versions = {entry.id: _version(entry) for entry in entries if entry.ref in references}
    return versions, [_digest(entry) for entry in entries if entry.ref not in references]


def _version(entry: FileEntry) -> str:
    return f"{entry.hash} {entry.body_hash} {entry.changed}"


def _digest(entry: FileEntry) -> str:
    return raw_digest(f"{entry.id} {_version(entry)}".encode(errors="surrogatepass")).hex()[:_DIGEST]


def _newest_context(parts: Parts, tokens: int, known: ShownFiles) -> Context:
    as_of = to_text(parts.surroundings.now())
    reader = parts.library.reader(as_of=as_of)
    entries = sorted(_one_narrative_a_run(parts, known.but), key=lambda each: (-_worth(each), -each.changed, each.id))
    wanted = (
        _candidate(reader, entry)
        for entry in entries
        if (_worth(entry) or not known.own_only)
        and known.versions.get(entry.id) != _version(entry)
        and not (known.passed and _digest(entry) in known.passed)
    )
    return assemble(
        "what is known of this project",
        as_of,
        Budget(tokens, None),
        list(islice(filter(None, wanted), _NEWEST_FILES)),
        terms=(),
        ranker=NEWEST,
        filters={"archived": False},
        shown=shown_in_context(parts),
    )


def _worth(entry: FileEntry) -> int:
    if entry.source is None:
        return 2
    return 0 if entry.source.startswith(_SNAPSHOT) else 1


def _one_narrative_a_run(parts: Parts, but: str | None) -> Iterator[FileEntry]:
    """Yields all files except seals, narratives of which the library has a newer one of the same run, and of one run.

    A run that could not continue goes on as others, whose ids begin with its own.
    """
    newest: dict[str, tuple[tuple[int, int, str], FileEntry]] = {}
    seals = {entry.id for entry in parts.library.list_files(_SEALS)}
    for entry in parts.library.list_files():
        if entry.id in seals:
            continue
        if _worth(entry):
            yield entry
            continue
        run, sequence = parts.truth.runs.snapshots.place_of(entry.source or "") or (entry.title, 0)
        if but is not None and (run == but or run.startswith(f"{but}-")):
            continue
        rank = sequence, entry.changed, entry.id
        newest[run] = max(newest.get(run, (rank, entry)), (rank, entry), key=lambda each: each[0])
    yield from (entry for _, entry in newest.values())


def _candidate(reader: Recall, entry: FileEntry) -> Candidate | None:
    """Returns the beginning of a file; None if it cannot be read (`tt validate` shows why) or is in another one."""
    try:
        piece = reader.own(entry.ref)
        if entry.repeated and reader.is_elsewhere(entry.ref):
            return None
    except SlicebaseError:
        return None
    return Candidate(
        ref=entry.ref,
        corpus=entry.ref,
        text=piece.text,
        label=label_in_group(piece, entry),
        group=file_group(entry),
        order=(entry.changed, entry.id),
        score=_worth(entry) * _STEP + entry.changed,
        parts={"worth": _worth(entry) * _STEP, "changed": entry.changed},
    )
