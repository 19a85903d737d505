"""Tools that read memory: search, recall and explore."""

from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, field

from slicebase.context.recall import pages
from slicebase.core.refs import as_words
from slicebase.core.times import EARLIEST, LATEST, to_text
from slicebase.files.freshness import label_at
from slicebase.files.links import doubts
from slicebase.index.entries import Filters
from slicebase.mcp.calls import Arguments, Result, ToolCall, ToolOutput, ToolResult
from slicebase.mcp.quotes import (
    Limit,
    PagedLine,
    PageNumber,
    excerpt,
    line,
    more_pages,
    no_page,
    page_of,
    plain,
    quoted,
    sent_tokens,
)
from slicebase.mcp.refusals import with_tools

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicebase.files.explore import WalkStep
    from slicebase.index.entries import FileEntry
    from slicebase.index.links import LinkTarget
    from slicebase.index.results import Hit
    from slicebase.verbs.found import FoundSession, SearchResults, TurnView

# Slice files, as lists show them


class FileArguments(Arguments, frozen=True, kw_only=True):
    type: Annotated[str | None, Meta(description="Body type", examples=["jsonl"])] = None
    rel: Annotated[str | None, Meta(description="Has such a link")] = None
    meta: Annotated[dict[str, str], Meta(description="Values in meta")] = field(default_factory=dict)
    archived: Annotated[bool, Meta(description="Forgotten files too")] = False

    @property
    def filters(self) -> Filters:
        return Filters(type=self.type, rel=self.rel, meta=tuple(self.meta.items()), archived=self.archived)


class FileFound(Result, frozen=True):
    ref: str
    changed: str
    freshness: str
    passages: tuple[str, ...] = ()


def file_value(call: ToolCall, entry: "FileEntry", passages: "Iterable[str]" = ()) -> FileFound:
    """Returns what is known about a file without any of its text."""
    changed = to_text(min(max(entry.changed, EARLIEST), LATEST))
    freshness = "STALE" if entry.is_outdated else str(label_at(call.now, entry.changed, call.half_life))
    return FileFound(plain(entry.ref), changed, freshness, tuple(ref for ref in map(plain, passages) if ref))


def file_line(entry: "FileEntry", freshness: str) -> str:
    """Returns the line that lists a file."""
    marks = "".join(f" [{name}]" for name in ("archived", "purged") if getattr(entry, name))
    return line(f"{entry.ref} {excerpt(as_words(entry.title))} [{freshness}]{marks}")


# Search


class SearchArguments(FileArguments, frozen=True):
    query: Annotated[
        str,
        Meta(
            description='Words; "exact text"; begin*; -word; session: role: tool: file: project: before: after: kind:',
            examples=['"rate limit" after:7d'],
        ),
    ]
    any: Annotated[bool, Meta(description="Any word")] = False
    rows: Annotated[Literal["active", "all"], Meta(description="all: superseded rows too")] = "active"
    limit: Limit = 10
    page: PageNumber = 1


class TurnFound(Result, frozen=True):
    ref: str
    role: str
    session: str = ""
    time: str = ""  # none where its source has none


class _FoundPair(Result, frozen=True):
    """The next file and the next turn that were found: a page has the best of both."""

    file: FileFound | None
    turn: TurnFound | None


class SearchResult(ToolResult, frozen=True):
    files: list[FileFound]
    turns: list[TurnFound]
    total_files: int
    total_turns: int  # at least, if the note says so
    note: str = ""  # what is less than was asked for
    next: int | None = None


def search(call: ToolCall, given: SearchArguments) -> ToolOutput:
    """Finds slice files and turns by their words."""
    # One more shows whether there is a next page. What has some of the words follows where files and turns with all of
    # them together are fewer than the limit, and a page pairs them: so twice as many are asked for.
    wanted = 2 * (given.page * given.limit + 1)
    former = given.rows == "all"
    found = call.base.search(given.query, given.filters, former_rows=former, either=given.any, limit=wanted)
    if given.page > 1 and not len(found):
        raise no_page(given.page)
    pairs = list(_pairs(call, found))
    shown, following = page_of(pairs, given.page, given.limit)
    values = [each.value for each in shown if isinstance(each.value, _FoundPair)]
    note = " ".join(_less(found))
    result = SearchResult(
        [each.file for each in values if each.file],
        [each.turn for each in values if each.turn],
        found.files.total,
        found.total_turns,
        note,
        following,
    )
    if not shown:
        return ToolOutput(result, "Nothing found.\n" + quoted([line(with_tools(hint)) for hint in found.hints]))
    text = quoted([each.text for each in shown], more_pages(following))
    return ToolOutput(result, f"{note}\n{text}" if note else text)


def _pairs(call: ToolCall, found: "SearchResults") -> "Iterator[PagedLine]":
    places = {each.ref: _place_of(each) for each in found.sessions}
    for hit, turn in zip_longest(found.files.hits, found.turns):
        yield _pair(call, hit, turn, places)
    if found.rest:
        yield from _pairs(call, found.rest)


def _less(found: "SearchResults") -> "Iterator[str]":
    if found.partial:
        yield "Nothing has all words; these have some."
    if found.rest:
        yield f"{found.files.total + found.total_turns} have all words; what follows them has some."
    if not found.is_exact:
        yield f"At least {found.total_turns} turns match."
    if found.by_parts:
        yield "Nothing has the identifier as it is; these have its parts."


def _pair(call: ToolCall, hit: "Hit | None", turn: "TurnView | None", places: dict[str, str]) -> PagedLine:
    file = file_value(call, hit.entry, [each.ref for each in hit.found]) if hit else None
    lines = []
    if hit and file:
        lines.append(file_line(hit.entry, file.freshness))
        lines += [line(f"  {each.ref}: {excerpt(each.snippet.text)}") for each in hit.found]
    if turn:
        session = f"session:{turn.session}"
        where = places.pop(session, session)  # with the first turn of a session, also how to resume it
        text = excerpt(turn.snippet.text if turn.snippet else turn.text or "")
        lines.append(f"{turn.ref} {turn.role} {turn.time or 'undated'} ({where}): {text}")
    return PagedLine("\n".join(lines), _FoundPair(file, turn_value(turn) if turn else None))


def turn_value(turn: "TurnView") -> TurnFound:
    """Returns what is known about a turn without its text."""
    return TurnFound(turn.ref, plain(turn.role), plain(f"session:{turn.session}"), turn.time or "")


def _place_of(session: "FoundSession") -> str:
    resume = f"resume: {session.resume}" if session.resume else ""
    words = [as_words(word) for word in (session.project, session.branch, resume) if word]
    return line(" · ".join([session.ref, *words]))


# Recall


class RecallArguments(Arguments, frozen=True):
    refs: Annotated[
        list[str],
        Meta(min_length=1, description="file:, row:, sec: or turn: references", examples=[["file:01J…", "turn:5c1e…"]]),
    ]
    rows: Annotated[Literal["active", "all"], Meta(description="all: superseded rows too")] = "active"
    tokens: Annotated[int, Meta(ge=64, le=200_000, description="Size of a page")] = 4000
    page: PageNumber = 1


class Recalled(Result, frozen=True):
    ref: str = ""
    cut: bool = False  # the rest of it is on other pages


class RecallResult(ToolResult, frozen=True):
    pieces: list[Recalled]
    page: int
    pages: int
    next: int | None = None


def recall(call: ToolCall, given: RecallArguments) -> ToolOutput:
    """Returns the texts of references, page by page."""
    found = pages(call.base.library.reader(given.rows).pieces(given.refs), given.tokens, sent_tokens)
    if given.page > len(found):
        raise no_page(given.page)
    page = found[given.page - 1]
    pieces = [Recalled(plain(each.piece.ref), not each.is_whole) for each in page.excerpts]
    following = page.number + 1 if page.number < page.of else None
    return ToolOutput(RecallResult(pieces, page.number, page.of, following), quoted([page.text]))


# Explore


class ExploreArguments(Arguments, frozen=True):
    id: Annotated[str, Meta(description="A file's id", examples=["01JABC…"])]
    direction: Literal["out", "in", "both"] = "both"
    rel: Annotated[str | None, Meta(description="Only this relationship (see connect)")] = None
    depth: Annotated[int, Meta(ge=1, le=20)] = 1
    infer: Annotated[bool, Meta(description="Add inferred links")] = False
    limit: Limit = 50
    page: PageNumber = 1


class EdgeFound(Result, frozen=True):
    source: str = ""
    rel: str = ""
    target: str = ""
    inferred: bool = False


class ExploreResult(ToolResult, frozen=True):
    edges: list[EdgeFound]
    total: int
    next: int | None = None


def explore(call: ToolCall, given: ExploreArguments) -> ToolOutput:
    """Lists the links around a file."""
    found = call.base.finder.explore(
        given.id, direction=given.direction, rel=given.rel, depth=given.depth, infer=given.infer
    )
    steps = list(found.walk.all())
    shown, following = page_of([_edge(step, found.places) for step in steps], given.page, given.limit)
    edges = [each.value for each in shown if isinstance(each.value, EdgeFound)]
    result = ExploreResult(edges, len(steps), following)
    none = " ".join(["The file has no such links.", *doubts([given.rel])])
    return ToolOutput(result, quoted([each.text for each in shown], more_pages(following)) if shown else none)


def _edge(step: "WalkStep", places: "dict[str, LinkTarget]") -> PagedLine:
    source, rel, target = step.edge
    label = f" ({excerpt(as_words(step.label))})" if step.label else ""
    text = line(f"{_place(source, places)} {rel} {_place(target, places)}{label}")
    return PagedLine(text, EdgeFound(plain(source), plain(rel), plain(target), step.is_inferred))


_TITLE = 100  # characters


def _place(name: str, places: "dict[str, LinkTarget]") -> str:
    place = places[name]
    title = as_words(place.entry.title) if place.entry else place.kind
    return f"{excerpt(name, 2 * _TITLE)} ({excerpt(title, _TITLE)})"
