"""Titles in Claude Code's transcripts: given by a person, made by a model, or of the session that a leaf belongs to."""

from typing import Any, Final

from msgspec import Struct

from slicebase.importers.batches import BatchBuilder
from slicebase.importers.blocks import as_name
from slicebase.importers.thread import SourceRecord

# The fields with titles, by record type; the first types have precedence.
_FIELDS: Final = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}


class TitleState(Struct):
    """The state of the titles of a file, from which another reader can continue."""

    summaries: dict[str, str] = {}  # titles of sessions that are known only by a leaf, by leaf
    weights: dict[str, int] = {}  # the precedence of each session's title


class Titles:
    """The titles of the sessions in one file."""

    def __init__(self, builder: BatchBuilder, state: TitleState | None = None) -> None:
        self._builder = builder
        self.state = state or TitleState()

    def read(self, record: SourceRecord, session: str) -> None:
        """Reads a record that may have the title of a session."""
        kind: Any = record["type"]
        title = as_name(record.get(_FIELDS[kind])) if kind in _FIELDS else None
        if kind == "summary" and title:
            self.state.summaries[str(record.get("leafUuid")).lower()] = title
        elif title:
            self._give(session, kind, title)

    def end(self, lasts: dict[str, str]) -> None:
        """Gives sessions, by their last turns, the titles that name these as leaves. Others are facts of the first."""
        for session, last in lasts.items():
            if last in self.state.summaries:
                self._give(session, "summary", self.state.summaries.pop(last))
        if self.state.summaries and lasts:
            self._builder.facts(next(iter(lasts)))["summaries"] = self.state.summaries

    def _give(self, session: str, kind: str, title: str) -> None:
        weight = list(_FIELDS).index(kind)
        if weight <= self.state.weights.get(session, weight):
            self.state.weights[session] = weight
            self._builder.title(session, title)
