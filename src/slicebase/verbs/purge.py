"""Purges turns, sessions and runs, and everything that was made from them (rulings 19 and 46)."""

from collections.abc import Iterator, Set

from slicebase.core.refs import Ref, parse
from slicebase.errors import SlicebaseError
from slicebase.graph.record import read_session, session_bytes
from slicebase.importers.subagents import base_of
from slicebase.library.purge import Order, PurgeReport, Purging
from slicebase.truth.erasure import Taken, TextKey
from slicebase.truth.facts import without_texts
from slicebase.truth.truth import Truth
from slicebase.verbs.parts import Parts


def purge(parts: Parts, reference: str, *, reason: str = "", dry_run: bool = False) -> PurgeReport:
    """Deletes the text of a turn, a session or a run permanently, and what was made from it."""
    ref = parse(reference)
    orders = {"turn": _turn, "session": _session, "run": _run}
    if ref.kind not in orders:
        raise SlicebaseError("bad-reference", f"{reference!r} does not name a turn, a session or a run")

    def make() -> Order:
        return orders[ref.kind](parts.truth, ref)

    purging = Purging(parts.workspace, parts.folder, parts.truth, parts.library.stamp(), reason or None)
    return purging.plan(make).report if dry_run else purging.carry_out(make)


def _turn(truth: Truth, ref: Ref) -> Order:
    """Takes the content of a turn, and of the turns of its session that say the same."""
    record = truth.turns.get(ref.name).record
    turns = [each.record for each in truth.turns.of_session(record.session)]
    same = tuple(each.id for each in turns if each.content_hash == record.content_hash)
    owner = f"session:{record.session}"
    taken = Taken(
        {(owner, record.content_hash), *_quotes(truth, owner, same)},
        facts={(owner, each.content_hash) for each in truth.turns.records_of(record.session)},
        linked=_with_forks(truth, _told_by(truth, record.session)),
        turns={f"turn:{turn}" for turn in same},
    )
    return Order(str(ref), taken, same, session=record.session)


def _session(truth: Truth, ref: Ref) -> Order:
    """Takes all turns of a session, its title and facts, and the runs that were projected from it."""
    truth.turns.session(ref.name)
    owner = f"session:{ref.name}"
    records = [each.record for each in truth.turns.of_session(ref.name)]
    turns = tuple(record.id for record in records)
    runs = tuple(sorted(_projected(truth, owner)))
    taken = Taken(
        {(owner, record.content_hash) for record in records}.union(_quotes(truth, owner, turns)),
        dict(_facts(truth, ref.name)),
        gone={text for run in runs for text in _texts_of_run(truth, run)},
        corpora={owner, *(f"run:{run}" for run in runs)},
        linked=_with_forks(truth, _told_by(truth, ref.name)),
        turns={f"turn:{turn}" for turn in turns},
    )
    return Order(str(ref), taken, turns, runs, session=ref.name)


def _run(truth: Truth, ref: Ref) -> Order:
    """Takes all payloads, blobs and snapshots of a run. Its chain can still be verified.

    Other runs that were projected from a conversation say what that says: the conversation survives, and so do they.
    """
    truth.runs.log.tally(ref.name)
    taken = Taken(
        _texts_of_run(truth, ref.name),
        corpora=frozenset({f"run:{ref.name}"}),
        linked=_with_forks(truth, {ref.name}),
        kept={f"run:{run}" for run in _projected(truth) if run != ref.name},
    )
    return Order(str(ref), taken, runs=(ref.name,))


def _quotes(truth: Truth, owner: str, turns: tuple[str, ...]) -> Iterator[TextKey]:
    for turn in turns:
        yield from ((owner, quote) for quote in truth.ledger.quotes_of(f"turn:{turn}"))


def _facts(truth: Truth, session: str) -> Iterator[tuple[TextKey, bytes]]:
    """Yields what is left of the title and the facts of a session, for each of its records."""
    owner = f"session:{session}"
    for record in truth.turns.records_of(session):
        stored = truth.texts.get(owner, record.content_hash)
        if stored is not None and stored.data is not None:
            yield (owner, record.content_hash), session_bytes(without_texts(read_session(stored.data)))


def _projected(truth: Truth, owner: str | None = None) -> Iterator[str]:
    """Yields the runs whose events are the turns of a session, or of any session."""
    for tally in truth.runs.log.tallies():
        terms = truth.runs.terms(tally.run_id)
        if terms is not None and terms.projected_from and owner in (None, terms.projected_from):
            yield tally.run_id


def _told_by(truth: Truth, session: str) -> set[str]:
    """Returns the runs that say what a session says: its own; of a subagent, also those of the session above."""
    return {run for name in {session, base_of(session)} for run in _projected(truth, f"session:{name}")}


def _with_forks(truth: Truth, runs: Set[str]) -> set[str]:
    """Returns the owners of the texts of runs and of all their forks, which begin with what these knew."""
    sources = {}
    for tally in truth.runs.log.tallies():
        terms = truth.runs.terms(tally.run_id)
        place = truth.runs.snapshots.place_of(terms.forked_from) if terms and terms.forked_from else None
        sources[tally.run_id] = place[0] if place else None
    found = set(runs)
    while more := {run for run, source in sources.items() if source in found and run not in found}:
        found |= more
    return {f"run:{run}" for run in found}


def _texts_of_run(truth: Truth, run: str) -> set[TextKey]:
    """Returns the texts of a run, and those that manifests keep of it."""
    owner = f"run:{run}"
    return {(owner, name) for name, _ in truth.texts.of(owner)}.union(truth.manifests.texts_from(owner))
