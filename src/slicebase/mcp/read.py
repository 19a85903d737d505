"""Tools that read memory: search, recall, explore and, after a compaction, lost."""

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from slicebase.context.lost import headline, tally
from slicebase.core.refs import as_words
from slicebase.core.times import EARLIEST, LATEST, to_text
from slicebase.errors import SlicebaseError
from slicebase.files.freshness import label_at
from slicebase.files.links import doubts
from slicebase.index.entries import Filters
from slicebase.mcp.calls import (
    Arguments,
    Limit,
    PageNumber,
    Result,
    ToolCall,
    ToolOutput,
    excerpt,
    more_pages,
    page_of,
    quoted,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicebase.index.links import LinkTarget
    from slicebase.index.results import Hit
    from slicebase.verbs.found import FoundSession, SearchResults, TurnView

# Search


class SearchArguments(Arguments, frozen=True):
    query: Annotated[
        str,
        Meta(
            description='Words; "exact text"; begin*; -word; session: role: tool: file: project: before: after: kind:',
            examples=['"rate limit" after:7d'],
        ),
    ]
    any: Annotated[bool, Meta(description="Any word")] = False
    type: Annotated[str | None, Meta(description="Only files of this body type", examples=["jsonl"])] = None
    limit: Limit = 10
    page: PageNumber = 1


class Passage(Result, frozen=True):
    ref: str
    text: str


class FileFound(Result, frozen=True):
    ref: str
    title: str
    summary: str
    changed: str
    freshness: str
    passages: list[Passage]


class TurnFound(Result, frozen=True):
    ref: str
    role: str
    text: str
    where: str  # its session; with the first turn of a session also project, branch and how to resume it
    time: str = ""  # none where its source has none


class SearchResult(Result, frozen=True):
    files: list[FileFound]
    turns: list[TurnFound]
    total_files: int
    note: str = ""  # what is less than was asked for
    next: int | None = None
    hints: tuple[str, ...] = ()


def search(call: ToolCall, given: SearchArguments) -> ToolOutput:
    """Finds slice files and turns by their words."""
    filters = Filters(type=given.type)
    wanted = given.page * given.limit + 1  # one more shows whether there is a next page
    found = call.base.search(given.query, filters, either=given.any, limit=wanted)
    start, end = wanted - 1 - given.limit, wanted - 1
    hits, turns = found.files.hits[start:end], found.turns[start:end]
    if given.page > 1 and not (hits or turns):
        raise SlicebaseError("no-page", f"there is no page {given.page}", hint="continue only while `next` is given")
    more = max(len(found.files.hits), len(found.turns)) > end
    result = SearchResult(
        [_file(hit, call) for hit in hits],
        list(_turns(turns, found.sessions)),
        found.files.total,
        " ".join(_less(found)),
        given.page + 1 if more else None,
        found.hints,
    )
    return ToolOutput(result, _search_text(result))


def _less(found: "SearchResults") -> "Iterator[str]":
    if found.partial:
        yield "Nothing has all words; these have some."
    if found.by_parts:
        yield "Nothing has the identifier as it is; these have its parts."


def _file(hit: "Hit", call: ToolCall) -> FileFound:
    entry = hit.entry
    changed = to_text(min(max(entry.changed, EARLIEST), LATEST))
    is_stale = entry.derivation == "stale" or entry.note_state in ("changed", "missing")
    freshness = "STALE" if is_stale else str(label_at(call.now, entry.changed, call.half_life))
    passages = [Passage(each.ref, each.snippet.text) for each in hit.found]
    return FileFound(f"file:{entry.id}", entry.title, entry.summary, changed, freshness, passages)


def _turns(turns: "Iterable[TurnView]", sessions: "Iterable[FoundSession]") -> "Iterator[TurnFound]":
    places = {each.ref: _place_of(each) for each in sessions}
    for turn in turns:
        session = f"session:{turn.session}"
        shown = turn.snippet.text if turn.snippet else turn.text or ""
        where = places.pop(session, session)
        yield TurnFound(turn.ref, turn.role, excerpt(shown), where, turn.time or "")


def _place_of(session: "FoundSession") -> str:
    resume = f"resume: {session.resume}" if session.resume else ""
    words = [as_words(word) for word in (session.project, session.branch, resume) if word]
    return " · ".join([session.ref, *words])


def _search_text(result: SearchResult) -> str:
    lines: list[str] = []
    for file in result.files:
        lines.append(f"{file.ref} {as_words(file.title)} [{file.freshness}]")
        lines += [f"  {passage.ref}: {excerpt(passage.text)}" for passage in file.passages]
    for turn in result.turns:
        lines.append(f"{turn.ref} {turn.role} {turn.time or 'undated'} ({turn.where}): {turn.text}")
    if not lines:
        return " ".join(["Nothing found.", *result.hints])
    return (f"{result.note}\n" if result.note else "") + quoted(lines, more_pages(result.next))


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
    ref: str
    label: str
    whole: bool


class RecallResult(Result, frozen=True):
    text: Annotated[str, Meta(description="The pieces, fenced")]
    pieces: list[Recalled]
    page: int
    pages: int
    next: int | None = None


def recall(call: ToolCall, given: RecallArguments) -> ToolOutput:
    """Returns the texts of references, page by page."""
    page = call.base.library.recall(given.refs, rows=given.rows, tokens=given.tokens, page=given.page)
    pieces = [Recalled(each.piece.ref, each.piece.label, each.is_whole) for each in page.excerpts]
    following = page.number + 1 if page.number < page.of else None
    return ToolOutput(RecallResult(page.text, pieces, page.number, page.of, following), page.text)


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
    source: str
    rel: str
    target: str
    label: str | None = None
    inferred: bool = False


class PlaceFound(Result, frozen=True):
    id: str
    kind: str
    title: str | None = None


class ExploreResult(Result, frozen=True):
    start: str
    edges: list[EdgeFound]
    places: list[PlaceFound]
    total: int
    next: int | None = None


def explore(call: ToolCall, given: ExploreArguments) -> ToolOutput:
    """Lists the links around a file."""
    found = call.base.finder.explore(
        given.id, direction=given.direction, rel=given.rel, depth=given.depth, infer=given.infer
    )
    steps, following = page_of(list(found.walk.all()), given.page, given.limit)
    edges = [EdgeFound(*step.edge, step.label, bool(step.path)) for step in steps]
    names = dict.fromkeys([found.walk.start, *(name for edge in edges for name in (edge.source, edge.target))])
    places = [_place(name, found.places[name]) for name in names]
    result = ExploreResult(found.walk.start, edges, places, sum(1 for _ in found.walk.all()), following)
    titles = {place.id: f"{place.id} ({as_words(place.title or place.kind)})" for place in places}
    lines = [f"{titles[edge.source]} {edge.rel} {titles[edge.target]}" for edge in edges]
    none = " ".join([f"{result.start} has no such links.", *doubts([given.rel])])
    return ToolOutput(result, quoted(lines, more_pages(following)) if lines else none)


def _place(name: str, place: "LinkTarget") -> PlaceFound:
    return PlaceFound(name, place.kind, place.entry.title if place.entry else None)


# Lost


class LostArguments(Arguments, frozen=True):
    session: Annotated[str | None, Meta(description="Default: compacted last")] = None
    prompt: Annotated[str, Meta(description="Rank for it", examples=["Fix the login"])] = ""
    tokens: Annotated[int, Meta(description="As cited text")] = 0
    cost: Annotated[bool, Meta(description="Read again")] = False
    limit: Limit = 20
    page: PageNumber = 1


class LostItem(Result, frozen=True):
    ref: str
    kind: str
    text: str


class LostResult(Result, frozen=True):
    summary: str
    lost: list[LostItem]
    total: int
    session: str | None = None
    next: int | None = None
    text: str = ""


def lost(call: ToolCall, given: LostArguments) -> ToolOutput:
    """Lists what the compactions of a session lost, the most important first, or what that cost; or renders it."""
    if given.cost and (given.prompt or given.tokens):
        raise SlicebaseError("bad-arguments", "cost goes with neither prompt nor tokens")
    if given.tokens:
        return _lost_context(call, given)
    summary, session, items = _cost(call, given) if given.cost else _lost_items(call, given)
    shown, following = page_of(items, given.page, given.limit)
    result = LostResult(summary, list(shown), len(items), session, following)
    lines = [f"{item.kind}: {item.text} ({item.ref})" for item in shown]
    return ToolOutput(result, f"{summary}\n{quoted(lines, more_pages(following)) if lines else ''}".strip())


_Listed = tuple[str, str | None, list[LostItem]]  # a summary, the session, the entries


def _lost_items(call: ToolCall, given: LostArguments) -> _Listed:
    found = call.base.lost(given.session, prompt=given.prompt or None)
    if given.prompt:
        items = [
            LostItem(each.ref, each.item.name if each.item else "from the turns before", excerpt(each.text))
            for each in found.wanted
        ]
    else:
        items = [LostItem(each.ref, each.name, excerpt(each.text)) for each in found.items]
    if not found.compactions:
        return "Never compacted.", found.session, items
    times = "once" if len(found.compactions) == 1 else f"{len(found.compactions)} times"
    return f"Compacted {times}, the session {headline(tally(found.compactions))}.", found.session, items


def _cost(call: ToolCall, given: LostArguments) -> _Listed:
    found = call.base.lost_cost(given.session)
    items = [
        LostItem(again.again.ref, f"{again.first.kind}, {again.tokens} tokens", excerpt(again.first.what))
        for each in found
        for again in each.repeated
    ]
    tokens = sum(each.tokens for each in found)
    summary = f"Looked up again: {len(items)} things, about {tokens} tokens." if found else "Never compacted."
    return summary, found[0].session if found else None, items


def _lost_context(call: ToolCall, given: LostArguments) -> ToolOutput:
    record = not call.environment.read_only
    built = call.base.lost_context(given.session, given.tokens, prompt=given.prompt or None, record=record)
    summary = f"{len(built.pieces)} pieces, {built.tokens} tokens; {built.id}"
    result = LostResult(summary, [], len(built.pieces), built.manifest.filters["session"], text=built.text)
    return ToolOutput(result, f"{built.text}\n{summary}")
