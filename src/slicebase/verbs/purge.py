"""Purges turns, sessions and runs: tombstones replace their texts (ruling 19)."""

from typing import NamedTuple

from slicebase.core.refs import Ref, parse
from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError
from slicebase.index.turns import TurnIndex
from slicebase.truth.truth import Truth
from slicebase.verbs.parts import Parts


class PurgedTurns(NamedTuple):
    """What a purge deleted: the number of texts, and the turns that had them (a session stores equal texts once)."""

    texts: int
    turns: tuple[str, ...]


def purge(parts: Parts, reference: str, *, reason: str = "", dry_run: bool = False) -> PurgedTurns:
    """Deletes the text of a turn, a session or a run permanently."""
    ref = parse(reference)
    if ref.kind not in ("turn", "session", "run"):
        raise SlicebaseError("bad-reference", f"{reference!r} does not name a turn, a session or a run")
    mark = f"{to_text(parts.surroundings.now())} {reason}".strip()
    if ref.kind == "run":
        return PurgedTurns(purge_run(parts.truth, ref.name, mark, dry_run=dry_run), ())
    return purge_turns(parts.truth, parts.turn_index, ref, mark, dry_run=dry_run)


def purge_run(truth: Truth, run_id: str, mark: str, *, dry_run: bool = False) -> int:
    """Replaces all payloads, blobs and snapshots of a run by tombstones; returns their number.

    The chain of the run can still be verified.
    """
    truth.runs.log.tally(run_id)
    if dry_run:
        return truth.texts.count(f"run:{run_id}")
    truth.runs.remember(None)
    with truth.database.erasing():
        return truth.texts.purge_all(f"run:{run_id}", mark) + truth.manifests.purge_texts(f"run:{run_id}", mark)


def purge_turns(truth: Truth, index: TurnIndex, ref: Ref, mark: str, *, dry_run: bool = False) -> PurgedTurns:
    """Replaces the text of a turn, or of all turns of a session, by a tombstone, in the truth and in the index."""
    session = ref.name if ref.kind == "session" else truth.turns.get(ref.name).record.session
    truth.turns.session(session)
    records = [stored.record for stored in truth.turns.of_session(session)]
    texts = {record.content_hash for record in records if ref.kind == "session" or record.id == ref.name}
    turns = tuple(record.id for record in records if record.content_hash in texts)
    if dry_run:
        return PurgedTurns(len(texts), turns)
    quotes = {quote for turn in turns for quote in truth.ledger.quotes_of(f"turn:{turn}")}
    with truth.database.erasing():
        count = truth.texts.purge(f"session:{session}", texts, mark)
        truth.texts.purge(f"session:{session}", quotes, mark)
        index.purge(turns)
    return PurgedTurns(count, turns)
