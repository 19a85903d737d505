"""A context without a question: the files of the library that were changed last. It must be fast: hooks wait for it."""

from slicebase.context.assemble import Candidate, Context, assemble
from slicebase.context.manifest import Budget
from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError, refuse_out_of_range
from slicebase.library.library import Library
from slicebase.library.recall import file_group, label_in_group
from slicebase.verbs.parts import Parts
from slicebase.verbs.record import built

NEWEST = "newest/1"  # the manifest's ranker: files in the order of their last change
_NEWEST_FILES = 30


def project_context(parts: Parts, tokens: int, *, record: bool = True) -> Context:
    """Builds a context of the library's files, the last changed first, and records its manifest."""
    refuse_out_of_range("tokens", tokens, 1)
    return built(parts, lambda: newest_context(parts.library, tokens, parts.surroundings.now()), record=record)


def newest_context(library: Library, tokens: int, as_of: int) -> Context:
    """Builds a context of the files that were changed last, each with its beginning, within the budget."""
    reader = library.reader(as_of=to_text(as_of))
    candidates = []
    for entry in library.list_files()[:_NEWEST_FILES]:
        try:
            piece = reader.own(entry.ref)
            if entry.repeated and reader.is_elsewhere(entry.ref):
                continue
        except SlicebaseError:
            continue  # the file cannot be read: `tt validate` shows why
        candidates.append(
            Candidate(
                ref=f"file:{entry.id}",
                corpus=f"file:{entry.id}",
                text=piece.text,
                label=label_in_group(piece, entry),
                group=file_group(entry),
                order=(entry.changed, entry.id),
                score=entry.changed,
                parts={"changed": entry.changed},
            )
        )
    return assemble(
        "what is known of this project",
        to_text(as_of),
        Budget(tokens, None),
        candidates,
        terms=(),
        ranker=NEWEST,
        filters={"archived": False},
    )
