"""Small conversations for tests."""

from collections.abc import Iterable, Sequence
from typing import Any

from slicebase.core.ids import turn_id
from slicebase.graph.binary32 import binary32
from slicebase.graph.record import AnnotationRecord, annotation_records
from slicebase.graph.turn import Annotation, Parent, Part, Session, Turn
from slicebase.truth.acts import PurgedText, PurgeRecord
from slicebase.truth.sqlite import SqliteDatabase
from slicebase.truth.truth import Truth
from slicebase.truth.turn_writer import AddedTurns

SESSION = Session("s", "test")


def on_file(truth: Truth) -> SqliteDatabase:
    """Returns the database of a memory that is in a file, with what SQLite alone has."""
    assert isinstance(truth.database, SqliteDatabase)
    return truth.database


def name(of: str | int) -> str:
    return turn_id("test", "", of)


def turn(of: str | int, *parents: str | int, session: str = "s", text: str = "", time: int = 0) -> Turn:
    above = tuple(Parent(name(parent)) for parent in parents)
    part = Part("text", text=text or f"text of {of}")
    return Turn(name(of), session, "user", (part,), time, above, f"sha256:{of}{text}")


def annotation(of: str, **fields: Any) -> Annotation:
    plain: dict[str, Any] = {
        "phase": "planning", "salience": 0.5, "depth": 0, "sibling_order": 0,
        "homogeneity": 0.5, "temporal": 0.5, "complexity": 1.0,
    }  # fmt: skip
    return Annotation(turn=of, annotator="test/1", **{**plain, **fields})


def salient(of: str) -> float:
    """Returns a salience that differs from turn to turn, and is the same in every test run."""
    return binary32(int(of[:4], 16) / 65536)


def annotate(added: AddedTurns) -> list[AnnotationRecord]:
    notes = [annotation(turn.id, salience=salient(turn.id)) for turn in added.turns]
    return list(annotation_records(added.turns[0].session, notes))


def store(truth: Truth, turns: Iterable[Turn]) -> None:
    """Stores turns of any sessions, annotated, in this order."""
    for each in turns:
        truth.turns.add(Session(each.session, "test"), [each], annotate)


def purge_text(truth: Truth, owner: str, text_hash: str) -> None:
    """Purges one text, with a record of it."""
    truth.texts.purge(PurgeRecord("", (PurgedText(owner, text_hash),), "2026-01-02T00:00:00.000Z", owner))


def chain(length: int, session: str = "s") -> Sequence[Turn]:
    return [turn(n, *([n - 1] if n else []), session=session, time=n * 1000) for n in range(length)]
