"""The tool for the moment after a compaction: lost."""

from typing import Annotated

from msgspec import Meta

from slicebase.context.lost import TABLE, by_importance, headline, tally
from slicebase.mcp.answers import Answer, Arguments, Call, Limit, PageNumber, Result, excerpt, going_on, page_of, quoted


class LostArguments(Arguments, frozen=True):
    session: Annotated[str | None, Meta(description="Default: the one compacted last", examples=["session:0f3a…"])] = (
        None
    )
    limit: Limit = 20
    page: PageNumber = 1


class LostItem(Result, frozen=True):
    ref: str
    kind: str
    mark: str
    text: str


class LostResult(Result, frozen=True):
    summary: str
    compactions: int
    lost: Annotated[list[LostItem], Meta(description="Most important first")]
    total: int
    session: str | None = None
    next: int | None = None


def lost(call: Call, given: LostArguments) -> Answer:
    found = call.base.lost(given.session)
    judged = by_importance(each for loss in found.compactions for each in loss.judged if not each.kept)
    shown, following = page_of(judged, given.page, given.limit)
    items = [
        LostItem(f"turn:{each.item.turn}", TABLE[each.item.kind].one, each.item.mark, excerpt(each.item.text))
        for each in shown
    ]
    told = f"Compacted, the session {headline(tally(found.compactions))}." if found.compactions else "Never compacted."
    result = LostResult(told, len(found.compactions), items, len(judged), found.session, following)
    lines = [f"{item.kind}, {item.mark}: {item.text} ({item.ref})" for item in items]
    return Answer(result, f"{told}\n{quoted(lines, going_on(following)) if lines else ''}".strip())
