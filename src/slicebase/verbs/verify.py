"""Verification: derives every stored hash, id, text, slice and rendering again from its bytes, and compares.

It returns findings and never raises on stored data, however broken. What one check reports, later checks skip: one
changed byte is one finding, not many.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Any, NamedTuple

import apsw

from slicebase.context.manifest import Manifest, manifest_id, read_manifest, replayed
from slicebase.core.hashing import digest, raw_digest
from slicebase.core.ids import uuid_bytes
from slicebase.core.times import milliseconds
from slicebase.errors import Exit, SlicebaseError
from slicebase.graph.policy import policy_from_bytes
from slicebase.graph.record import AnnotationRecord, read_annotations, read_link, read_session_record, read_turn
from slicebase.runs.evidence import Evidence, Lookup
from slicebase.truth.nodes import derived_differences
from slicebase.truth.policies import read_policy_name
from slicebase.truth.schema import CHAINS
from slicebase.truth.truth import Truth
from slicebase.verbs.bundle import slice_in_graph
from slicebase.verbs.evidence import ChunkTexts
from slicebase.verbs.parts import Parts
from slicebase.verbs.verify_chains import UNREADABLE_RECORD, ChainProof, VerifyFinding, VerifyStatus
from slicebase.verbs.verify_runs import RunProof
from slicebase.verbs.verify_texts import unnamed_texts
from slicebase.verbs.witnesses import consulted, heard


class Verdict(NamedTuple):
    """The result of a verification (ruling 44): drift and purges are listed, and are not damage."""

    checked: dict[str, int]
    findings: tuple[VerifyFinding, ...]

    @property
    def status(self) -> str:
        """VERIFIED, or BROKEN or UNVERIFIABLE if there is such a finding."""
        seen = {finding.status for finding in self.findings}
        return next((status for status in ("BROKEN", "UNVERIFIABLE") if status in seen), "VERIFIED")

    def __repr__(self) -> str:
        return f"Verdict(status={self.status!r}, checked={sum(self.checked.values())}, findings={len(self.findings)})"

    @property
    def exit(self) -> Exit:
        """The exit status of `tt verify`."""
        return {"BROKEN": Exit.FINDINGS, "UNVERIFIABLE": Exit.UNVERIFIABLE, "VERIFIED": Exit.DONE}[self.status]


TextNow = Callable[[str], str | None]
LookUp = Callable[[Evidence], Lookup]


def verify_workspace(parts: Parts, progress: Callable[[str], None], seal: str | None = None) -> Verdict:
    """Derives everything stored again, and compares it with itself and with its witnesses (ruling 45).

    Of the seals, the newest one is compared in full, or the one that is named.
    """

    def text_now(reference: str) -> str | None:
        with suppress(SlicebaseError):  # it is gone or has changed
            return reader().own(reference).text
        return None

    reader = cache(lambda: parts.library.reader())  # noqa: PLW0108 - a run and its proof need no library
    try:
        truth = parts.truth
    except SlicebaseError as error:
        if error.code not in _LOST:
            raise
        return _lost(parts, error.message)
    if not truth.database.is_in_place():
        return _lost(parts, "the file that was opened is no longer there")
    with suppress(SlicebaseError):  # as it is logged when the connection is closed
        truth.database.log()
    witnesses = heard(parts, seal)
    with truth.database.reading():
        verdict = _Verification(truth, text_now, progress, ChunkTexts(parts).look_up).run()
        try:
            against = tuple(consulted(parts, witnesses))
        except (apsw.Error, SlicebaseError) as error:
            against = (VerifyFinding("BROKEN", "database", "witnesses", "rows that can be read", str(error)),)
    return verdict._replace(findings=(*verdict.findings, *against))


# The errors of a database that is not there, cannot be read, or is not the one that the workspace had.
_LOST = frozenset({"database-lost", "database-not-ours", "database-damaged", "not-our-database"})


def _lost(parts: Parts, message: str) -> Verdict:
    finding = VerifyFinding("BROKEN", "database", parts.workspace.place, "the database of this workspace", message)
    return Verdict({}, (finding,))


def verify(
    truth: Truth,
    text_now: TextNow = lambda ref: None,
    progress: Callable[[str], None] = lambda what: None,
    look_up: LookUp | None = None,
) -> Verdict:
    """Checks the complete truth, one row at a time.

    `text_now` returns the current text of a part of a slice file; `look_up`, where a quote was taken from.
    """
    with suppress(SlicebaseError):  # as it is logged when the connection is closed
        truth.database.log()
    return _Verification(truth, text_now, progress, look_up).run()


# What bytes that nobody has written cause: errors of SQLite, and of those who read them.
_UNREADABLE = (apsw.Error, *UNREADABLE_RECORD)


class _Verification:
    def __init__(
        self, truth: Truth, text_now: TextNow, progress: Callable[[str], None], look_up: LookUp | None
    ) -> None:
        self._truth = truth
        self._text_now = text_now
        self._look_up = look_up
        self._connection = truth.database.connection
        self._progress = progress
        self._findings: list[VerifyFinding] = []
        self._checked: dict[str, int] = {}
        self._chains = ChainProof(truth, self._count)
        self._broken_sessions: set[str] = set()
        self._broken_policies: set[str] = set()
        self._broken_texts: dict[tuple[str, str], int] = {}  # by owner and hash: the place of the finding

    def run(self) -> Verdict:
        self._run_check("schema", self._schema)
        for table in CHAINS:
            self._run_check(table, partial(self._chain, table))
        self._run_check("log", self._log)
        self._run_check("acts", self._acts)
        for table in _READERS:
            self._run_check(table, partial(self._records, table))
        self._run_check("texts", self._texts)
        self._run_check("contents and annotations", self._turns_complete)
        self._run_check("derived tables", self._derived)
        self._run_check("policies", self._policies)
        self._run_check("manifests", self._manifests)
        self._run_check("runs", self._runs)
        self._run_check("texts without a record", self._unnamed)
        return Verdict(self._checked, tuple(self._findings))

    def _run_check(self, what: str, check: Callable[[], None]) -> None:
        """Runs one check. A page that SQLite cannot read ends this check, not the verification."""
        self._progress(what)
        try:
            with self._truth.database.part():
                check()
        except _UNREADABLE as error:
            self._report("BROKEN", "database", what, "rows that can be read", str(error))

    def _report(self, status: VerifyStatus, check: str, place: str, expected: str = "", found: str = "") -> None:
        self._findings.append(VerifyFinding(status, check, place, expected, found))

    def _name_place(self, finding: int, place: str) -> None:
        """Replaces the place of a finding: the turn of a text says more to a person than its owner and hash."""
        self._findings[finding] = self._findings[finding]._replace(place=place)

    def _count(self, what: str) -> None:
        self._checked[what] = self._checked.get(what, 0) + 1

    # Chains, and what their records say

    def _schema(self) -> None:
        self._findings.extend(self._chains.schema())

    def _chain(self, table: str) -> None:
        self._findings.extend(self._chains.chains(table))

    def _log(self) -> None:
        self._findings.extend(self._chains.log())
        self._broken_sessions |= {chain.owner for chain in self._chains.broken if CHAINS[chain.table] == "session"}

    def _acts(self) -> None:
        self._findings.extend(self._chains.acts())

    def _records(self, table: str) -> None:
        """Checks that every record of a session can be read, and stands where it says."""
        read, key_of = _READERS[table]
        for row in self._chains.rows(table):
            session = row.chain.owner
            if session in self._broken_sessions:
                continue
            try:
                own_key = key_of(read(row.values[-1]))
            except (SlicebaseError, ValueError, IndexError) as error:
                self._broken(session, "record-form", row.place, "a record of this version", str(error))
                continue
            key = (session, row.values[0] if table in ("turns", "links") else None)
            if own_key != key:
                self._broken(session, "record-key", row.place, str(own_key), str(key))

    def _broken(self, session: str, check: str, place: str, expected: str, found: str) -> None:
        self._broken_sessions.add(session)
        self._report("BROKEN", check, place, expected, found)

    # Texts

    def _texts(self) -> None:
        query = "SELECT owner, hash, bytes, purged FROM texts ORDER BY owner, hash"
        for owner, stored_hash, data, purged in self._connection.execute(query):
            self._count("texts")
            place = f"{owner} text sha256:{stored_hash.hex()}"
            if purged is not None:
                self._report("PURGED", "text", place, found=f"purged {purged}")
            elif (actual := raw_digest(data or b"")) != stored_hash:
                # The text or its hash was changed. Other records refer to the text by one of these two hashes.
                for name in (stored_hash, actual):
                    self._broken_texts[owner, "sha256:" + name.hex()] = len(self._findings)
                self._report("BROKEN", "text-hash", place, stored_hash.hex(), actual.hex())

    def _unnamed(self) -> None:
        """Checks that a record names every text. Beside other damage, that may be the record that is missing."""
        if all(finding.status != "BROKEN" for finding in self._findings):
            self._findings.extend(unnamed_texts(self._truth))

    def _turns_complete(self) -> None:
        """Checks that every turn has its content or tombstone, and an annotation whose range has the turn's number."""
        sessions: list[Any] = self._connection.execute("SELECT DISTINCT session FROM turns ORDER BY session").fetchall()
        for (session,) in sessions:
            if session in self._broken_sessions:
                continue
            self._facts_complete(session)
            numbers = {}
            for seq, turn in self._truth.turns.of_session(session):
                numbers[turn.id] = seq
                text = (f"session:{session}", turn.content_hash)
                if text in self._broken_texts:
                    self._name_place(self._broken_texts[text], f"turn:{turn.id}")
                elif self._truth.texts.get(*text) is None:
                    self._broken_texts[text] = len(self._findings)
                    self._report("BROKEN", "text-missing", f"turn:{turn.id}", turn.content_hash, "no text")
            self._annotations_complete(session, numbers)

    def _facts_complete(self, session: str) -> None:
        query = "SELECT seq, record FROM sessions WHERE session = ? ORDER BY seq"
        for seq, record in self._connection.execute(query, (session,)):
            text = (f"session:{session}", read_session_record(record).content_hash)
            place = f"sessions/{session} #{seq}"
            if not self._reported(*text, place) and self._truth.texts.get(*text) is None:
                self._report("BROKEN", "text-missing", place, text[1], "no text")

    def _annotations_complete(self, session: str, numbers: dict[str, int]) -> None:
        annotated: set[str] = set()
        query = "SELECT seq, first, last, record FROM annotations WHERE session = ? ORDER BY seq"
        for seq, first, last, record in self._connection.execute(query, (session,)):
            turns = read_annotations(record).turns
            annotated.update(turns)
            found = [numbers[turn_id] for turn_id in turns if turn_id in numbers]
            expected = (min(found, default=0), max(found, default=0))
            if expected != (first, last):
                place = f"annotations {session} #{seq}"
                self._broken(session, "annotation-range", place, "{} to {}".format(*expected), f"{first} to {last}")
        for turn_id in numbers.keys() - annotated:
            self._broken(session, "annotation-missing", f"turn:{turn_id}", "an annotation", "none")

    # Derived tables

    def _derived(self) -> None:
        """Checks that the tables that are kept for speed agree with the truth."""
        for check, expected, found in derived_differences(self._connection, self._broken_sessions):
            self._report("BROKEN", "derived", check, expected, found)

    # Policies

    def _policies(self) -> None:
        for name, record in self._connection.execute("SELECT policy, record FROM policies ORDER BY policy"):
            try:
                found = policy_from_bytes(record).params_hash
            except SlicebaseError as error:
                found = error.message
            if found != name:
                self._broken_policies.add(name)
                self._report("BROKEN", "policy-hash", f"policy {name}", name, found)
        for name, record in self._connection.execute("SELECT name, record FROM policy_names ORDER BY name"):
            try:
                given = read_policy_name(record)
                named = given.name
                self._truth.policies.find(given.policy)
            except SlicebaseError as error:
                named = error.message
            if named != name:
                self._report("BROKEN", "policy-name", f"policy {name}", name, named)

    # Manifests: the record, the pieces' texts, the rendering, the slices

    def _manifests(self) -> None:
        for row in self._chains.rows("manifests"):
            name, _, text_hash = row.values
            text = (f"manifest:{name}", f"sha256:{text_hash.hex()}")
            stored = self._truth.texts.get(*text)
            if self._reported(*text, name):
                continue
            if stored is None:
                self._report("BROKEN", "manifest-missing", name, text[1], "no text")
            elif stored.purged is None and manifest_id(stored.data or b"") != name:
                self._report("BROKEN", "manifest-id", name, name, manifest_id(stored.data or b""))
            elif stored.data is not None:
                self._manifest(name, stored.data, is_whole=stored.purged is None)

    def _manifest(self, name: str, record: bytes, *, is_whole: bool) -> None:
        try:
            manifest = read_manifest(record)
        except SlicebaseError as error:
            self._report("UNVERIFIABLE", "manifest-form", name, "a manifest of this version", error.message)
            return
        self._rendering(name, manifest, is_whole=is_whole)
        self._files(name, manifest)
        self._slices(name, manifest)

    def _rendering(self, name: str, manifest: Manifest, *, is_whole: bool) -> None:
        texts, problems = self._truth.manifests.texts_of(name, manifest)
        for problem in problems:
            session = problem.source[0].removeprefix("session:")
            if problem.source not in self._broken_texts and session not in self._broken_sessions:
                self._report(problem.status, "piece", f"{name} {problem.ref}", problem.expected, problem.found)
        if not problems and is_whole:
            for problem in replayed(name, manifest, texts, problems).problems:
                self._report(problem.status, "rendering", name, problem.expected, problem.found)

    def _files(self, name: str, manifest: Manifest) -> None:
        """Reports a slice file that was edited since as drift: the manifest keeps its text (ruling 44)."""
        for piece in manifest.pieces:
            if piece.corpus.startswith("file:"):
                text = self._text_now(piece.ref)
                found = (
                    digest(text[piece.span.start : piece.span.end].encode()) if text is not None else "changed or gone"
                )
                if found != piece.text_hash:
                    self._report("DRIFTED", "file", f"{name} {piece.ref}", piece.text_hash, found)

    def _slices(self, name: str, manifest: Manifest) -> None:
        last = manifest.filters.get("last")
        for pinned in manifest.slices:
            place = f"{name} slice {pinned.slice_id}"
            if pinned.session in self._broken_sessions or manifest.policy_params_hash in self._broken_policies:
                continue
            try:
                policy = self._truth.policies.find(manifest.policy_params_hash or "")
                as_of = None if last is None else milliseconds(last)
                found, _, around = slice_in_graph(self._truth, pinned.anchor_turn_id, policy, as_of)
            except SlicebaseError as error:
                self._report("UNVERIFIABLE", "slice", place, pinned.export_hash, error.message)
                continue
            if found.export_hash != pinned.export_hash:
                self._report("DRIFTED", "slice", place, pinned.export_hash, found.export_hash)
            elif around != pinned.graph_snapshot_hash:
                self._report("DRIFTED", "graph", place, pinned.graph_snapshot_hash, around)

    # Runs and the evidence that they cite

    def _runs(self) -> None:
        proof = RunProof(self._truth, self._reported, self._count)
        for check in (proof.evidence(self._looked_up), proof.blobs(), proof.runs(), proof.manifests()):
            self._findings.extend(check)

    def _looked_up(self, evidence: Evidence) -> Lookup | None:
        """Returns the current text of the chunk that evidence cites; None if it is not known or reported already."""
        corpus = evidence.corpus_id
        if self._look_up is None or corpus.removeprefix("session:") in self._broken_sessions:
            return None
        turn = evidence.chunk_id.removeprefix("turn:")
        stored = self._truth.turns.find([turn]).get(turn) if corpus.startswith("session:") else None
        if stored is not None and (corpus, stored.record.content_hash) in self._broken_texts:
            return None
        return self._look_up(evidence)

    def _reported(self, owner: str, text: str, place: str) -> bool:
        """Returns whether a text is reported as broken already; then the finding gets the place of the text's use."""
        finding = self._broken_texts.get((owner, text))
        if finding is not None:
            self._name_place(finding, place)
        return finding is not None


def _checked_annotations(record: bytes) -> AnnotationRecord:
    """Reads an annotation record; raises unless all its columns are as long as its turns and contain numbers."""
    annotations = read_annotations(record)
    for _ in annotations.annotations():
        pass
    return annotations


# For each table of sessions: the reader of a record, and the session and key that a record itself states.
_READERS: dict[str, tuple[Callable[[bytes], Any], Callable[[Any], tuple[str, Any]]]] = {
    "sessions": (read_session_record, lambda session: (session.id, None)),
    "turns": (read_turn, lambda turn: (turn.session, uuid_bytes(turn.id))),
    "links": (read_link, lambda link: (link.session, uuid_bytes(link.child))),
    "annotations": (_checked_annotations, lambda annotations: (annotations.session, None)),
}
