"""Tools that list what is stored: the files and sessions of a workspace, and what a compaction forgot."""

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from slicebase.context.lost.judged import headline, tally
from slicebase.core.refs import as_words
from slicebase.errors import SlicebaseError
from slicebase.mcp.calls import Arguments, Result, ToolCall, ToolOutput, ToolResult
from slicebase.mcp.quotes import Limit, PagedLine, PageNumber, excerpt, line, more_pages, page_of, plain, quoted
from slicebase.mcp.read import FileArguments, FileFound, TurnFound, file_line, file_value, turn_value
from slicebase.mcp.refusals import with_tools

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slicebase.index.entries import FileEntry
    from slicebase.verbs.sessions import SessionEntry

# List


class ListArguments(FileArguments, frozen=True):
    of: Annotated[
        Literal["files", "stale", "sessions"], Meta(description="stale: files to check again", examples=["files"])
    ] = "files"
    session: Annotated[str | None, Meta(description="List its turns instead")] = None
    query: Annotated[str, Meta(description="Only sessions or turns that search finds with it")] = ""
    limit: Limit = 20
    page: PageNumber = 1


class SessionFound(Result, frozen=True):
    ref: str
    turns: int
    compactions: int = 0
    started: str = ""


class ListResult(ToolResult, frozen=True):
    total: int
    files: tuple[FileFound, ...] = ()
    sessions: tuple[SessionFound, ...] = ()
    turns: tuple[TurnFound, ...] = ()
    next: int | None = None


def list_stored(call: ToolCall, given: ListArguments) -> ToolOutput:
    """Lists files, the last changed first, or sessions, the newest first, or the turns of a session."""
    of_turns = given.session is not None or given.of == "sessions"
    if of_turns and given.filters != FileArguments().filters:
        raise SlicebaseError("bad-arguments", "type, rel, meta and archived go with files")
    if given.query and not of_turns:
        raise SlicebaseError("bad-arguments", "query goes with sessions and turns", hint="`search` finds files")
    entries = _turns(call, given) if given.session is not None else _LISTS[given.of](call, given)
    shown, following = page_of(entries, given.page, given.limit)
    values = [each.value for each in shown]
    result = ListResult(
        len(entries),
        tuple(value for value in values if isinstance(value, FileFound)),
        tuple(value for value in values if isinstance(value, SessionFound)),
        tuple(value for value in values if isinstance(value, TurnFound)),
        following,
    )
    none = "Nothing to list."
    return ToolOutput(result, quoted([each.text for each in shown], more_pages(following)) if shown else none)


def _files(call: ToolCall, given: ListArguments) -> "list[PagedLine]":
    return [_file(call, entry, entry.summary) for entry in call.base.finder.list_files(given.filters)]


def _stale(call: ToolCall, given: ListArguments) -> "list[PagedLine]":
    found = call.base.finder.stale(filters=given.filters)
    return [_file(call, each.entry, "; ".join(with_tools(why.detail) for why in each.reasons)) for each in found]


def _file(call: ToolCall, entry: "FileEntry", about: str) -> PagedLine:
    value = file_value(call, entry)
    return PagedLine(line(f"{file_line(entry, value.freshness)}: {excerpt(about)}"), value)


def _sessions(call: ToolCall, given: ListArguments) -> "list[PagedLine]":
    if not call.base.workspace.has_memory:
        return []
    return [_session(entry) for entry in call.base.graph.sessions(given.query)]


def _session(entry: "SessionEntry") -> PagedLine:
    words = [as_words(word) for word in (entry.project, entry.branch, entry.title or "", entry.prompt) if word]
    text = line(f"{entry.ref} {entry.started or 'undated'}, {entry.turns} turns: {excerpt(' · '.join(words))}")
    return PagedLine(text, SessionFound(plain(entry.ref), entry.turns, entry.compactions, entry.started or ""))


def _turns(call: ToolCall, given: ListArguments) -> "list[PagedLine]":
    return [
        PagedLine(f"{turn.ref} {turn.role} {turn.time or 'undated'}: {excerpt(turn.text or '')}", turn_value(turn))
        for turn in call.base.graph.turns(str(given.session), given.query)
    ]


_LISTS = {"files": _files, "stale": _stale, "sessions": _sessions}


# Lost


class LostArguments(Arguments, frozen=True):
    session: Annotated[str | None, Meta(description="Default: compacted last")] = None
    prompt: Annotated[str, Meta(description="Rank for it", examples=["Fix the login"])] = ""
    tokens: Annotated[int, Meta(le=200_000, description="As cited text")] = 0
    as_of: Annotated[str | None, Meta(description="With tokens: leave out what is later")] = None
    cost: Annotated[bool, Meta(description="What was read again")] = False
    limit: Limit = 20
    page: PageNumber = 1


class LostItem(Result, frozen=True):
    ref: str
    kind: str = ""
    tokens: int | None = None


class LostResult(ToolResult, frozen=True):
    summary: str
    lost: list[LostItem]
    total: int
    session: str = ""
    next: int | None = None


def lost(call: ToolCall, given: LostArguments) -> ToolOutput:
    """Lists what the compactions of a session lost, the most important first, or what that cost; or renders it."""
    if given.cost and (given.prompt or given.tokens):
        raise SlicebaseError("bad-arguments", "cost goes with neither prompt nor tokens")
    if given.as_of and not given.tokens:
        raise SlicebaseError("bad-arguments", "as_of goes with tokens")
    if given.tokens:
        return _lost_context(call, given)
    summary, session, items = _cost(call, given) if given.cost else _lost_items(call, given)
    shown, following = page_of(items, given.page, given.limit)
    values = [each.value for each in shown if isinstance(each.value, LostItem)]
    result = LostResult(summary, values, len(items), plain(f"session:{session}") if session else "", following)
    lines = [each.text for each in shown]
    return ToolOutput(result, f"{summary}\n{quoted(lines, more_pages(following)) if lines else ''}".strip())


_LostLines = tuple[str, str | None, "Sequence[PagedLine]"]  # a summary, the session, the entries


def _lost_items(call: ToolCall, given: LostArguments) -> _LostLines:
    found = call.base.lost(given.session, prompt=given.prompt or None)
    if given.prompt:
        items = [
            _lost_line(
                each.ref, each.item.kind if each.item else "", each.item.name if each.item else _BEFORE, each.text
            )
            for each in found.wanted
        ]
    else:
        items = [_lost_line(each.ref, each.kind, each.name, each.text) for each in found.items]
    if not found.compactions:
        return "Never compacted.", found.session, items
    times = "once" if len(found.compactions) == 1 else f"{len(found.compactions)} times"
    return f"Compacted {times}, the session {headline(tally(found.compactions))}.", found.session, items


_BEFORE = "from the turns before"


def _lost_line(ref: str, kind: str, name: str, text: str) -> PagedLine:
    return PagedLine(line(f"{name}: {excerpt(text)} ({ref})"), LostItem(plain(ref), kind))


def _cost(call: ToolCall, given: LostArguments) -> _LostLines:
    found = call.base.lost_cost(given.session)
    items = [
        PagedLine(
            line(f"{again.first.kind}, {again.tokens} tokens: {excerpt(again.first.what)} ({again.again.ref})"),
            LostItem(plain(again.again.ref), again.first.kind, again.tokens),
        )
        for each in found
        for again in each.repeated
    ]
    tokens = sum(each.tokens for each in found)
    summary = f"Looked up again: {len(items)} things, about {tokens} tokens." if found else "Never compacted."
    return summary, found[0].session if found else None, items


def _lost_context(call: ToolCall, given: LostArguments) -> ToolOutput:
    record = not call.environment.read_only
    prompt, as_of = given.prompt or None, given.as_of or None
    built = call.base.lost_context(given.session, given.tokens, prompt=prompt, as_of=as_of, record=record)
    summary = f"{len(built.pieces)} pieces, {built.tokens} tokens; {built.id}"
    pieces = [LostItem(plain(piece.ref), tokens=piece.tokens) for piece in built.pieces]
    session = plain(f"session:{built.manifest.filters['session']}")
    return ToolOutput(LostResult(summary, pieces, len(pieces), session), quoted([built.text], summary))
