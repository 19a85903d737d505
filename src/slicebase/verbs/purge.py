"""Purging turns, sessions and runs: their text is replaced by tombstones (ruling 19)."""

from typing import NamedTuple

from slicebase.core.refs import Ref, parse
from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError
from slicebase.index.turns import TurnIndex
from slicebase.truth.truth import Truth
from slicebase.verbs.parts import Parts


def purge(parts: Parts, reference: str, *, now: int, reason: str = "", dry_run: bool = False) -> "PurgedTurns":
    """Takes the text of a turn, a session or a run away for good."""
    ref = parse(reference)
    if ref.kind not in ("turn", "session", "run"):
        raise SlicebaseError("bad-reference", f"{reference!r} names no turn, session or run")
    mark = f"{to_text(now)} {reason}".strip()
    if ref.kind == "run":
        return PurgedTurns(purge_run(parts.truth, ref.name, mark, dry_run=dry_run), ())
    return purge_turns(parts.truth, parts.turn_index, ref, mark, dry_run=dry_run)


def purge_run(truth: Truth, run_id: str, mark: str, *, dry_run: bool = False) -> int:
    """Replaces all payloads, blobs and snapshots of a run by tombstones; answers how many. Its chain stays provable."""
    truth.runs.log.tally(run_id)
    if dry_run:
        return truth.texts.count(f"run:{run_id}")
    truth.runs.remember(None)
    with truth.database.erasing():
        return truth.texts.purge_all(f"run:{run_id}", mark) + truth.manifests.purge_texts(f"run:{run_id}", mark)


class PurgedTurns(NamedTuple):
    """What a purge took away: the texts, and the turns that had them (equal texts of a session are one text)."""

    texts: int
    turns: tuple[str, ...]


def purge_turns(truth: Truth, index: TurnIndex, ref: Ref, mark: str, *, dry_run: bool = False) -> PurgedTurns:
    """Replaces the text of a turn, or of all turns of a session, by a tombstone, in the truth and in the index."""
    session = ref.name if ref.kind == "session" else truth.turns.get(ref.name).record.session
    truth.turns.session(session)
    records = [stored.record for stored in truth.turns.of_session(session)]
    gone = {record.content_hash for record in records if ref.kind == "session" or record.id == ref.name}
    turns = tuple(record.id for record in records if record.content_hash in gone)
    if dry_run:
        return PurgedTurns(len(gone), turns)
    quotes = {quote for turn in turns for quote in truth.ledger.quotes_of(f"turn:{turn}")}
    with truth.database.erasing():
        count = truth.texts.purge(f"session:{session}", gone, mark)
        truth.texts.purge(f"session:{session}", quotes, mark)
        index.remove(turns)
    return PurgedTurns(count, turns)
