"""Reads bytes with the importers as an import does, and collects what a store would receive."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from slicebase.graph.turn import Edge, Session, Turn
from slicebase.importers.formats import Import, reading_order, recognise
from slicebase.importers.values import Batch, Format, ImportReport, ImportSource, Options
from tests.paths import SHARED

DATA = SHARED / "data"

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data is not here")

DEFAULT = Options()


class Taken(NamedTuple):
    """Everything that the importers read from some sources."""

    batches: list[Batch]
    report: ImportReport

    @property
    def turns(self) -> list[Turn]:
        return [turn for batch in self.batches for turn in batch.turns]

    @property
    def by_id(self) -> dict[str, Turn]:
        return {turn.id: turn for turn in self.turns}

    @property
    def sessions(self) -> dict[str, Session]:
        """Each session as its last batch describes it."""
        return {batch.session.id: batch.session for batch in self.batches if batch.session is not None}

    @property
    def links(self) -> list[Edge]:
        return [link for batch in self.batches for link in batch.links]

    @property
    def edges(self) -> list[tuple[str, str, str]]:
        """Edges between turns of one session."""
        return [edge for edge in self._claims() if self._joins_one_session(edge)]

    @property
    def continues(self) -> list[tuple[str, str, str]]:
        known = self.by_id
        return [edge for edge in self._claims() if edge[0] in known and not self._joins_one_session(edge)]

    @property
    def orphans(self) -> list[tuple[str, str, str]]:
        known = self.by_id
        return [edge for edge in self._claims() if edge[0] not in known]

    def _claims(self) -> Iterator[tuple[str, str, str]]:
        for turn in self.by_id.values():
            yield from ((parent.id, turn.id, parent.type) for parent in turn.parents)

    def _joins_one_session(self, edge: tuple[str, str, str]) -> bool:
        known = self.by_id
        parent = known.get(edge[0])
        return parent is not None and parent.session == known[edge[1]].session

    def reasons(self) -> dict[str, int]:
        return {reason: count for (_, reason), count in self.report.reasons.items()}


def take(
    *inputs: tuple[str, bytes],
    options: Options = DEFAULT,
    chunk: int = 1 << 16,
    known: Format | None = None,
    is_growing: bool = False,
) -> Taken:
    """Imports the sources, and checks that the report adds up."""
    run, taken = Import(options), Taken([], ImportReport())
    for name, data in inputs:
        found = known or recognised(name, data)
        assert found is not None, f"nothing recognises {name}"
        for batch in run.read(ImportSource(name, chunks(data, chunk), is_growing), found):
            taken.batches.append(batch)
            taken.report.add(batch)
    assert taken.report.adds_up
    return taken


def recognised(name: str, data: bytes) -> Format | None:
    return recognise(ImportSource(name, chunks(data, 1 << 16)))


def chunks(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def jsonl(records: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def texts(turn: Turn) -> list[str | None]:
    return [part.text for part in turn.parts]


def folder(path: Path, pattern: str = "**/*.json*") -> list[tuple[str, bytes]]:
    files = sorted((str(file) for file in path.glob(pattern)), key=reading_order)
    return [(name, Path(name).read_bytes()) for name in files if not name.endswith("LICENSE")]


def without(record: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in keys}


def calls_of(work: Callable[[], object]) -> int:
    """Returns how many functions some work calls, which no other process can change."""
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
