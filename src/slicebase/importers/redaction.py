"""Redaction of what an import reads: the texts of turns, and the facts of their session.

`slicebase.secrets` recognises and replaces the secrets. The hash of a source record is computed before (ruling 15).
"""

from collections import Counter
from typing import Final

from msgspec.structs import replace

from slicebase.errors import SlicebaseError
from slicebase.graph.turn import Part, Session, Turn
from slicebase.importers.values import Batch, Options
from slicebase.secrets.redact import Redactor, built_in, private_only

_LONGEST: Final = 200  # characters of a detail
_SHORT_TEXT: Final = 2_000  # characters of a text that is looked at together with others
_TOGETHER: Final = 16  # texts: where one of them may hold a secret, all are looked at again
_TEXTS: Final = ("text", "name", "arguments", "call_id", "language", "uri", "media_type")


def redactor_of(options: Options) -> Redactor:
    """Returns the redactor of an import. What is private is never kept, also where secrets are."""
    return (options.redactor or built_in()) if options.redact else private_only()


def redact(batch: Batch, redactor: Redactor) -> Batch:
    """Returns the batch without secrets in the texts of its turns, in the facts of its session, and in its notes.

    Only secrets in turns are counted, because every batch repeats the facts of the session. Raises `holds-secret` if
    the id of the session contains one: other records refer to it.
    """
    if batch.session:
        _refuse_id(batch.session.id, redactor)
    counts: Counter[str] = Counter()
    turns = _turns(batch.turns, redactor, counts)
    session = _session(batch.session, redactor) if batch.session else None
    notes = tuple(replace(note, detail=_short(note.detail, redactor)) for note in batch.notes)
    others: Counter[str] = Counter()
    for kind, count in batch.others.items():
        others[_short(kind, redactor)] += count
    return replace(
        batch,
        session=session,
        turns=turns,
        notes=notes,
        others=dict(others),
        redacted=dict(counts),
    )


def _short(text: str, redactor: Redactor) -> str:
    """Returns the beginning of what a source says. It is cut after redaction: half a secret would not be recognised."""
    return redactor.text(text, Counter())[:_LONGEST]


def _refuse_id(session: str, redactor: Redactor) -> None:
    counts: Counter[str] = Counter()
    redactor.text(session, counts)
    if counts:
        message = f"the id of a session contains what redaction replaces ({', '.join(sorted(counts))})"
        raise SlicebaseError("holds-secret", message, hint="give it another one: rename the file, or name the session")


def _turns(turns: tuple[Turn, ...], redactor: Redactor, counts: Counter[str]) -> tuple[Turn, ...]:
    """Returns the turns without secrets. Short texts are looked at together first: most hold none."""
    short = [place for place, turn in enumerate(turns) if _is_short(turn)]
    clean: set[int] = set()
    for first in range(0, len(short), _TOGETHER):
        places = short[first : first + _TOGETHER]
        if redactor.passes("\n".join([turns[place].parts[0].text or "" for place in places])):
            clean.update(places)
    if len(clean) == len(turns):
        return turns
    redacted = [turn if place in clean else _turn(turn, redactor, counts) for place, turn in enumerate(turns)]
    return tuple(redacted) if counts else turns


def _is_short(turn: Turn) -> bool:
    """Returns whether all that a turn says is one short text."""
    if len(turn.parts) != 1:
        return False
    part = turn.parts[0]
    text = part.text
    return text is not None and len(text) <= _SHORT_TEXT and part == Part(part.type, text)


def _turn(turn: Turn, redactor: Redactor, counts: Counter[str]) -> Turn:
    before = counts.total()
    parts = tuple([_part(part, redactor, counts) for part in turn.parts])
    return replace(turn, parts=parts) if counts.total() > before else turn


def _part(part: Part, redactor: Redactor, counts: Counter[str]) -> Part:
    before = counts.total()
    fields = {field: redactor.value(value, counts) for field in _TEXTS if (value := getattr(part, field)) is not None}
    return replace(part, **fields) if counts.total() > before else part


def _session(session: Session, redactor: Redactor) -> Session:
    counts: Counter[str] = Counter()
    title, facts = redactor.value(session.title, counts), redactor.value(session.facts, counts)
    return replace(session, title=title, facts=facts) if counts else session
