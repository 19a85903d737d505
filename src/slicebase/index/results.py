"""What a search in slice files found."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, overload

if TYPE_CHECKING:  # keeps start-up fast: most searches of turns find no files
    from slicebase.context.snippets import Snippet
    from slicebase.index.entries import FileEntry


class FoundPassage(NamedTuple):
    """A passage or the summary of a file that contains terms of the search."""

    ref: str
    line: int | None
    snippet: "Snippet"


class Hit(NamedTuple):
    """A file that matches, with the passages that are shown."""

    entry: "FileEntry"
    score: float  # relative to the best hit, whose score is 1
    title: "Snippet"
    found: tuple[FoundPassage, ...]
    more: int  # passages that match as well and are not shown

    @property
    def ref(self) -> str:
        """The reference of the file."""
        return self.entry.ref

    @property
    def text(self) -> str:
        """The first passage that matches; the summary of the file if only its title does."""
        return self.found[0].snippet.text if self.found else self.entry.summary

    def __repr__(self) -> str:
        return f"Hit(ref={self.ref!r}, title={self.title.text[:60]!r}, score={self.score:.2f})"

    def as_json(self, now: int, half_life: float) -> dict[str, Any]:
        """Returns the file with its passages, as `tt search --json` prints it; marks count in code points."""
        passages = [
            {"ref": each.ref, "line": each.line, "text": each.snippet.text, "marks": each.snippet.marks}
            for each in self.found
        ]
        more = {"score": self.score, "title_marks": self.title.marks, "passages": passages, "more": self.more}
        return {**self.entry.as_json(now, half_life), **more}


class Results:
    """The hits of a search, best first, and the number of all files that match. Iterating it yields the hits."""

    def __init__(self, hits: tuple[Hit, ...], total: int, hints: tuple[str, ...]) -> None:
        self.hits = hits
        self.total = total
        self.hints = hints  # what to try when nothing was found

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, place: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Results) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Results(hits={len(self.hits)}, total={self.total})"
