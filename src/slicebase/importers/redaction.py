"""Redaction of what an import reads: the texts of turns, and the facts of their session.

`slicebase.secrets` recognises and replaces the secrets. The hash of a source record is computed before (ruling 15).
"""

from collections import Counter
from typing import Final

from msgspec.structs import replace

from slicebase.graph.turn import Part, Session
from slicebase.importers.values import Batch
from slicebase.secrets.redact import Redactor, built_in

_TEXTS: Final = ("text", "name", "arguments", "uri")


def redact(batch: Batch, redactor: Redactor | None = None) -> Batch:
    """Returns the batch without secrets in the texts of its turns, in the facts of its session, and in its notes.

    Only secrets in turns are counted, because every batch repeats the facts of the session.
    """
    redactor = redactor or built_in()
    counts: Counter[str] = Counter()
    turns = tuple(
        replace(turn, parts=tuple(_part(part, redactor, counts) for part in turn.parts)) for turn in batch.turns
    )
    session = _session(batch.session, redactor) if batch.session else None
    notes = tuple(replace(note, detail=redactor.text(note.detail, Counter())) for note in batch.notes)
    return replace(batch, session=session, turns=turns if counts else batch.turns, notes=notes, redacted=dict(counts))


def _part(part: Part, redactor: Redactor, counts: Counter[str]) -> Part:
    before = counts.total()
    fields = {field: redactor.value(getattr(part, field), counts) for field in _TEXTS}
    return replace(part, **fields) if counts.total() > before else part


def _session(session: Session, redactor: Redactor) -> Session:
    counts: Counter[str] = Counter()
    title, facts = redactor.value(session.title, counts), redactor.value(session.facts, counts)
    return replace(session, title=title, facts=facts) if counts else session
