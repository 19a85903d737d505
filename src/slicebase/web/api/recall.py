"""What references lead to, as a model should see it."""

from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

from slicebase.runs.records import Span
from slicebase.web.endpoints import Name, Parameters, get

if TYPE_CHECKING:
    from slicebase.base import Slicebase


class RecallQuery(Parameters, frozen=True, kw_only=True):
    """A reference, and the page of what it leads to."""

    ref: Name
    rows: Literal["active", "all"] = "active"
    tokens: Annotated[int, Meta(ge=50, le=100_000)] = 8000
    page: Annotated[int, Meta(ge=1, le=1_000_000)] = 1


class RecalledRow(Struct, frozen=True):
    """A stored text, or the part of it that is on this page."""

    ref: str
    label: str
    text: str
    span: Span
    whole: bool


class RecallAnswer(Struct, frozen=True):
    """A page of what a reference leads to: its pieces, and the fenced text with all of them."""

    page: int
    pages: int
    next: int | None
    tokens: int
    pieces: tuple[RecalledRow, ...]
    text: str


def recall(memory: "Slicebase", asked: RecallQuery) -> RecallAnswer:
    """Returns the text that a reference leads to, with its source."""
    page = memory.library.recall(asked.ref, rows=asked.rows, tokens=asked.tokens, page=asked.page)
    return msgspec.convert(page.as_json(), RecallAnswer)


ENDPOINTS: Final = (get("/recall", "library.recall", recall),)
