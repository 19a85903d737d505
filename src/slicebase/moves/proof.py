"""Proves what was just taken from an export, inside its transaction, as `tt verify` does: before it is there to stay.

Hashes show only that rows are the ones that were exported. Here their records are read, and compared with their keys,
their texts and each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

import apsw
import msgspec

from slicebase.context.manifest import manifest_id, read_manifest, replayed
from slicebase.core.ids import is_uuid, uuid_bytes, uuid_of
from slicebase.core.times import from_text
from slicebase.errors import SlicebaseError
from slicebase.graph.policy import policy_from_bytes
from slicebase.graph.record import read_annotations, read_link, read_parts, read_session, read_session_record, read_turn
from slicebase.runs.gate import check_id
from slicebase.runs.records import StopReason
from slicebase.truth.ledger import read_record, record_id
from slicebase.truth.transfer import MovedRow
from slicebase.verbs.evidence import ChunkTexts
from slicebase.verbs.parts import Parts
from slicebase.verbs.verify_chains import UNREADABLE_RECORD, VerifyFinding
from slicebase.verbs.verify_runs import RunProof
from slicebase.verbs.verify_tables import derived_tables

UNREADABLE_ROW = (*UNREADABLE_RECORD, apsw.Error, ArithmeticError)
_LARGEST = 2**53 - 1


def refuse(what: str, expected: object, found: object) -> None:
    """Raises `bad-move` where two values differ."""
    if expected != found:
        raise _refused(f"{what}: {expected} is expected, and there is {found}")


def refuse_broken(findings: Iterable[VerifyFinding]) -> None:
    """Raises `bad-move` for the first finding that `tt verify` calls BROKEN."""
    for finding in findings:
        if finding.status == "BROKEN":
            shown = f"{finding.expected} is expected, and there is {finding.found}"
            raise _refused(f"{finding.check} of {finding.place}: {shown}")


def _refused(message: str) -> SlicebaseError:
    hint = "nothing of this owner was stored; export it again where it comes from"
    return SlicebaseError("bad-move", message, hint=hint)


def _are_ids(*ids: str) -> bool:
    return all(is_uuid(each) and uuid_of(uuid_bytes(each)) == each for each in ids)


class MovedProof:
    """Checks owners and shared rows that were taken."""

    def __init__(self, parts: Parts) -> None:
        self._truth = parts.truth
        self._look_up = ChunkTexts(parts).look_up

    # A session

    def session(self, session: str, rows: Mapping[str, Sequence[MovedRow]]) -> None:
        """Checks the records of a session that have arrived."""
        refuse("a session with a name", True, bool(session))
        for table, some in rows.items():
            for row in some:
                again = msgspec.json.encode(msgspec.json.decode(row.values[-1]), order="sorted")
                refuse(f"record {row.seq} of {table} in its canonical form", True, again == row.values[-1])
        for row in rows.get("sessions", ()):
            record = read_session_record(row.values[0])
            refuse(f"the session of record {row.seq}", session, record.id)
            self._content(session, record.content_hash, is_turn=False)
        for row in rows.get("turns", ()):
            turn = read_turn(row.values[1])
            refuse(f"the key of turn {row.seq}", (session, row.values[0]), (turn.session, uuid_bytes(turn.id)))
            refuse(
                f"ids of turn {row.seq} in their form", True, _are_ids(turn.id, *(parent for parent, _ in turn.parents))
            )
            from_text(turn.time)
            self._content(session, turn.content_hash, is_turn=True)
        for row in rows.get("links", ()):
            link = read_link(row.values[1])
            refuse(f"ids of link {row.seq} in their form", True, _are_ids(link.child, link.parent))
            refuse(f"the key of link {row.seq}", (session, row.values[0]), (link.session, uuid_bytes(link.child)))
        self._annotations(session, rows.get("annotations", ()))

    def _content(self, session: str, name: str, *, is_turn: bool) -> None:
        stored = self._truth.texts.get(f"session:{session}", name)
        if stored is None:
            refuse("a text", name, "none")
        elif stored.data is not None:
            _ = read_parts(stored.data) if is_turn else read_session(stored.data)
            refuse("what is left of a turn that was purged", is_turn and stored.purged is not None, False)

    def _annotations(self, session: str, rows: Sequence[MovedRow]) -> None:
        numbers = {turn.id: seq for seq, turn in self._truth.turns.of_session(session)}
        for row in rows:
            first, last, data = row.values
            record = read_annotations(data)
            refuse(f"the session of annotation {row.seq}", session, record.session)
            for each in record.annotations():
                fractions = (each.salience, each.homogeneity, each.temporal)
                counts = (each.depth, each.sibling_order)
                is_right = all(0 <= value <= 1 for value in fractions) and all(0 <= n <= _LARGEST for n in counts)
                refuse(f"numbers of annotation {row.seq} in their ranges", True, is_right)
                refuse(f"a finite complexity in annotation {row.seq}", True, abs(each.complexity) < float("inf"))
            found = [numbers[turn] for turn in record.turns if turn in numbers]
            refuse(f"the range of annotation {row.seq}", (min(found, default=0), max(found, default=0)), (first, last))
        annotated = {turn for record in self._truth.turns.annotations_of(session) for turn in record.turns}
        refuse("turns without an annotation", 0, len(numbers.keys() - annotated))

    # A run

    def run(self, run: str, told: tuple[float | None, str | None]) -> None:
        """Fills the derived tables of a run, and checks all of it. `told` is what only purged events said."""
        check_id(run)
        cost, stopped = told
        refuse("a reason to stop", True, stopped is None or stopped in get_args(StopReason))
        start = (run, 0, b"", "", "", 0, 0, 0, 0, 0, float(cost or 0.0), stopped)
        derived = derived_tables(self._truth, run, start)
        self._truth.runs.log.refill(derived.tally, derived.steps, dict(derived.items))
        proof = RunProof(self._truth, lambda owner, text, place: False, lambda what: None)
        refuse_broken(proof.run(run))

    # What is shared

    def policy(self, row: MovedRow) -> None:
        """Checks that a policy has the hash that names it."""
        refuse("the hash of a policy", row.values[0], policy_from_bytes(row.values[1]).params_hash)

    def quote(self, evidence: str) -> None:
        """Checks that the quote of evidence from a turn is in that turn, where it is here."""
        proof = RunProof(self._truth, lambda owner, text, place: False, lambda what: None)
        refuse_broken(proof.quote(self._truth.ledger.records[evidence], self._look_up))

    def evidence(self, row: MovedRow) -> tuple[str, bytes]:
        """Checks that evidence has the id that names it; returns the owner and the hash of its quote."""
        name, chunk, data = row.values
        refuse("the id of evidence", name, record_id(data))
        record = read_record(name, data)
        refuse("the chunk of evidence", chunk, record.chunk_id)
        return record.corpus_id, bytes.fromhex(record.quote_hash.removeprefix("sha256:"))

    def manifest(self, name: str, data: bytes | None, *, is_whole: bool) -> list[bytes]:
        """Checks that a manifest has the id that names it; returns the hashes of the texts that it keeps itself."""
        if data is None:
            return []
        if is_whole:
            refuse("the id of a manifest", name, manifest_id(data))
        pieces = read_manifest(data).pieces
        return [bytes.fromhex(each.text_hash[7:]) for each in pieces if not each.corpus.startswith("session:")]

    def rendering(self, name: str) -> None:
        """Checks that the texts of a manifest are here and render to the bytes that it pins."""
        stored = self._truth.texts.get(f"manifest:{name}", self._truth.manifests.text_of(name))
        if stored is None or stored.data is None:
            return
        manifest = read_manifest(stored.data)
        texts, problems = self._truth.manifests.texts_of(name, manifest)
        found = list(problems) or (replayed(name, manifest, texts, problems).problems if not stored.purged else [])
        for problem in found:
            if problem.status == "BROKEN":
                raise _refused(f"{problem.ref}: {problem.expected} is expected, and there is {problem.found}")
