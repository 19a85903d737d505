"""Slice files and turns that have words, found together."""

from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from slicebase.core.refs import parse
from slicebase.verbs.found import search_json
from slicebase.verbs.sessions import titles_of
from slicebase.web.api.files import FileFilters, FileRow
from slicebase.web.endpoints import get

if TYPE_CHECKING:
    from slicebase.base import Slicebase

Marks = tuple[tuple[int, int], ...]


class PassageFound(Struct, frozen=True):
    """A passage of a file that was found; the marks are spans of its text, in code points."""

    ref: str
    line: int | None
    text: str
    marks: Marks


class FileHit(FileRow, frozen=True):
    """A file that was found, with its best passages."""

    score: float
    title_marks: Marks
    passages: tuple[PassageFound, ...]
    more: int


class TurnHitRow(Struct, frozen=True):
    """A turn that was found, with the part of its text that has the words."""

    ref: str
    session: str
    time: str | None
    role: str
    match: str | None
    snippet: str | None
    marks: Marks


class SessionHit(Struct, frozen=True):
    """A session with its best turns."""

    ref: str
    title: str | None
    prompt: str | None  # of one without a title, the beginning of what was asked first
    project: str
    branch: str
    date: str | None
    resume: str
    turns: tuple[TurnHitRow, ...]
    more: int


class Found(Struct, frozen=True, kw_only=True):
    """What was found: files, and turns by session."""

    total: int
    total_turns: int
    exact: bool
    files: tuple[FileHit, ...]
    sessions: tuple[SessionHit, ...]
    partial: bool
    by_parts: bool


class SearchAnswer(Found, frozen=True, kw_only=True):
    """What a search found; `rest` has the best with some of the words, where few have all."""

    rest: Found | None
    hints: tuple[str, ...]
    unreadable: int


class SearchQuery(FileFilters, frozen=True, kw_only=True):
    """Words, and filters of files; `former_rows` also searches rows that are not active, `either` any of the words."""

    q: Annotated[str, Meta(min_length=1, max_length=4000)]
    former_rows: bool = False
    either: bool = False
    limit: Annotated[int, Meta(ge=1, le=100)] = 10


def search(memory: "Slicebase", asked: SearchQuery) -> SearchAnswer:
    """Finds slice files and turns by their words, best first."""
    now, half_life = memory.surroundings.now(), memory.settings.freshness_half_life_days
    found = memory.search(
        asked.q,
        asked.filters(now, half_life),
        former_rows=asked.former_rows,
        either=asked.either,
        limit=asked.limit,
    )
    fields = search_json(found, now, half_life)
    _add_prompts(memory, [*fields["sessions"], *(fields["rest"] or {"sessions": ()})["sessions"]])
    return msgspec.convert({**fields, "unreadable": memory.finder.index.unreadable}, SearchAnswer)


def _add_prompts(memory: "Slicebase", sessions: list[dict[str, Any]]) -> None:
    """Adds to sessions without a title what they are called in lists."""
    names = {each["ref"]: parse(each["ref"]).id for each in sessions if not each["title"]}
    titles = titles_of(memory, [*dict.fromkeys(names.values())])
    for each in sessions:
        each["prompt"] = titles[names[each["ref"]]] if each["ref"] in names else None


ENDPOINTS: Final = (get("/search", "search", search),)
