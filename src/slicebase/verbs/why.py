"""`why`: from a claim, a file or a context back to the text that supports it, or forward to what rests on a text."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from slicebase.core.refs import Ref, parse, recorded
from slicebase.core.times import known_time
from slicebase.errors import SlicebaseError
from slicebase.files.slice_file import SliceFile
from slicebase.library.folder import SliceFolder
from slicebase.runs.evidence import resolve
from slicebase.runs.state import ITEMS, Json, RunState, evidence_ids
from slicebase.runs.values import field_text
from slicebase.truth.truth import Truth
from slicebase.verbs.evidence import ChunkTexts

_SHOWN = 300  # characters of a chunk
_LONGEST_CHAIN = 100  # files, each derived from the next


class Reason(NamedTuple):
    """Why something is believed: a reference and its text. Its children are what it rests on, or what rests on it."""

    ref: str
    kind: str
    text: str
    note: str = ""
    children: tuple["Reason", ...] = ()

    def __repr__(self) -> str:
        return f"Reason(ref={self.ref!r}, text={self.text[:60]!r}, children={len(self.children)})"

    def as_json(self) -> dict[str, Any]:
        """Returns the tree as `tt why --json` prints it."""
        return {**self._asdict(), "children": [child.as_json() for child in self.children]}


class Why:
    """Walks from references to what they rest on, and back."""

    def __init__(self, truth: Truth, folder: SliceFolder, chunks: ChunkTexts) -> None:
        self._truth = truth
        self._folder = folder
        self._chunks = chunks
        self._backward: Mapping[str, Callable[[Ref], Reason]] = {
            "claim": self._claim,
            "ev": self._evidence,
            "sn": self._snapshot,
            "run": self._run,
            "file": self._file,
            "mf": self._manifest,
            **dict.fromkeys(("turn", "row", "sec", "doc"), self._chunk),
        }
        self._forward: Mapping[str, Callable[[Ref], Iterator[Reason]]] = {
            "claim": self._on_claim,
            "ev": self._on_evidence,
            "sn": self._on_snapshot,
            "run": self._on_run,
            "mf": self._on_manifest,
            "session": self._on_corpus,
            "file": self._on_file,
            **dict.fromkeys(("turn", "row", "sec", "doc"), self._on_chunk),
        }

    def backward(self, reference: str) -> Reason:
        """Returns what a reference rests on, down to the quoted text."""
        ref = parse(reference)
        reason: Reason = _known(self._backward, ref)(ref)
        return reason

    def forward(self, reference: str) -> Reason:
        """Returns what rests on a reference, up to the narratives and contexts that contain it."""
        ref = parse(reference)
        children = tuple(_known(self._forward, ref)(ref))
        here = self._backward[ref.kind](ref) if ref.kind in self._backward else Reason(str(ref), ref.kind, "")
        return here._replace(children=children)

    # Backward

    def _claim(self, ref: Ref) -> Reason:
        claim = self._truth.runs.state(ref.owner).claims.get(ref.local)
        if claim is None:
            raise SlicebaseError("no-item", f"run:{ref.owner} has no claim {ref.local}")
        return self._item(ref.owner, claim)

    def _item(self, run_id: str, claim: Mapping[str, Json]) -> Reason:
        evidence = tuple(map(self._evidence_of, evidence_ids(claim, ITEMS["CLAIM"])))
        name = f"claim:{run_id}/{claim['claim_id']}"
        return Reason(name, "claim", field_text(claim, "statement"), field_text(claim, "status"), evidence)

    def _evidence(self, ref: Ref) -> Reason:
        if str(ref) not in self._truth.ledger:
            raise SlicebaseError("no-evidence", f"the ledger has no {ref}", hint="`tt cite` adds evidence to it")
        return self._evidence_of(str(ref))

    def _evidence_of(self, evidence_id: str) -> Reason:
        record = self._truth.ledger.get(evidence_id)
        if record is None:
            return Reason(evidence_id, "evidence", "", "not in the ledger")
        found = resolve(record, self._chunks.look_up(record))
        span = f"characters {record.span.start}–{record.span.end}"
        moved = f", now at {found.moved_to.start}–{found.moved_to.end}" if found.moved_to else ""
        chunk = self._chunk(parse(record.chunk_id))._replace(text="")
        return Reason(evidence_id, "evidence", found.quote or "", f"{found.status}, {span}{moved}", (chunk,))

    def _chunk(self, ref: Ref) -> Reason:
        corpus, found = self._chunks.placed(str(ref))
        state = {"same": "", "other": "what it is part of has changed", "gone": "gone", "purged": "purged"}[found.state]
        stored = self._truth.turns.find([ref.name]).get(ref.name) if ref.kind == "turn" else None
        origin = [stored.record.role, known_time(stored.record.time) or "undated"] if stored else []
        text = found.text if found.state == "same" else ""
        shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
        return Reason(str(ref), "chunk", shown, " · ".join(word for word in (corpus, *origin, state) if word))

    def _snapshot(self, ref: Ref) -> Reason:
        snapshot = self._truth.runs.snapshots.find(str(ref)).snapshot
        verified = [claim for claim in snapshot["state"]["claims"] if claim.get("status") == "verified"]
        note = f"run:{snapshot['run_id']}, snapshot {snapshot['sequence']} of {snapshot['created_at']}"
        claims = tuple(self._item(snapshot["run_id"], claim) for claim in verified)
        return Reason(str(ref), "snapshot", snapshot["objective"], note, claims)

    def _run(self, ref: Ref) -> Reason:
        state = self._truth.runs.state(ref.name)
        claims = [self._item(ref.name, claim) for claim in state.claims.values() if claim.get("status") == "verified"]
        return Reason(str(ref), "run", str(state.objective), state.stopped or "running", tuple(claims))

    def _file(self, ref: Ref) -> Reason:
        """Returns a file, what it is derived from, and so on; a file that is derived from itself ends that."""
        chain = [self._folder.find(ref.name)]
        last: Reason | None = None
        while last is None and (source := _source_of(chain[-1])):
            try:
                above = parse(source, bare="file")
                found = self._folder.find(above.name) if above.kind == "file" else self.backward(str(above))
            except SlicebaseError as error:
                found = Reason(source, "file", "", error.message)
            if isinstance(found, Reason):
                last = found
            elif any(found.id == file.id for file in chain):
                last = _file_alone(found, "already above: a circle")
            elif len(chain) == _LONGEST_CHAIN:
                last = _file_alone(found, f"`tt why file:{found.id}` goes on")
            else:
                chain.append(found)
        for file in reversed(chain[1:]):
            last = _file_alone(file)._replace(children=(last,) if last else ())
        return _file_alone(chain[0])._replace(children=(last,) if last else ())

    def _manifest(self, ref: Ref) -> Reason:
        manifest = self._truth.manifests.get(str(ref)).manifest
        pieces = []
        for piece in manifest.pieces:
            found = parse(piece.ref)
            if found.kind == "file":  # what it is derived from can be this context
                made = _file_alone(self._folder.find(found.name))
            else:
                made = self._backward[found.kind](found) if found.kind in self._backward else _other(piece.ref)
            pieces.append(made._replace(note=piece.label, children=made.children if found.kind == "sn" else ()))
        return Reason(str(ref), "context", manifest.question, f"as of {manifest.as_of}", tuple(pieces))

    # Forward

    def _on_chunk(self, ref: Ref) -> Iterator[Reason]:
        name = recorded(str(ref))
        for record in self._truth.ledger.of_chunk(name):
            yield self._with_dependants(record.evidence_id)
        yield from self._contexts_with(name)

    def _on_corpus(self, ref: Ref) -> Iterator[Reason]:
        for record in self._truth.ledger.values():
            if record.corpus_id == str(ref):
                yield self._with_dependants(record.evidence_id)

    def _on_file(self, ref: Ref) -> Iterator[Reason]:
        file = self._folder.find(ref.name)
        yield from self._on_corpus(Ref("file", file.id or ""))
        if file.payload and file.payload.hash:
            yield from self._on_corpus(Ref("doc", file.payload.hash))
        yield from self._derived_from({file.id or ""})

    def _with_dependants(self, evidence_id: str) -> Reason:
        ref = parse(evidence_id)
        return self._evidence(ref)._replace(children=tuple(self._on_evidence(ref)))

    def _on_evidence(self, ref: Ref) -> Iterator[Reason]:
        for run_id, state in self._states():
            for kind in ITEMS.values():
                for item in getattr(state, kind.collection).values():
                    cited = evidence_ids(item, kind)
                    if str(ref) in cited:
                        yield self._citing(run_id, kind.id, item, len(cited))

    def _citing(self, run_id: str, id_field: str, item: Mapping[str, Json], cited: int) -> Reason:
        alone = "its only evidence" if cited == 1 else f"one of {cited} pieces of evidence"
        note = ", ".join(filter(None, (field_text(item, "status"), alone)))
        if id_field == "claim_id":
            name = Ref("claim", f"{run_id}/{field_text(item, 'claim_id')}")
            return Reason(str(name), "claim", field_text(item, "statement"), note, tuple(self._on_claim(name)))
        place = f"run:{run_id} {field_text(item, id_field, 'without an id')}"
        return Reason(place, "conflict", field_text(item, "description"), note)

    def _on_claim(self, ref: Ref) -> Iterator[Reason]:
        """Yields the narratives that contain the claim, and the forks that inherited it."""
        holding = {
            snapshot["snapshot_id"]
            for snapshot in self._snapshots(ref.owner)
            if any(claim.get("claim_id") == ref.local for claim in snapshot["state"]["claims"])
        }
        yield from self._derived_from(holding)
        yield from self._forks(holding)

    def _on_snapshot(self, ref: Ref) -> Iterator[Reason]:
        yield from self._derived_from({str(ref)})
        yield from self._forks({str(ref)})
        yield from self._contexts_with(str(ref))

    def _on_run(self, ref: Ref) -> Iterator[Reason]:
        names = {snapshot["snapshot_id"] for snapshot in self._snapshots(ref.name)}
        yield from self._derived_from(names)
        yield from self._forks(names)

    def _on_manifest(self, ref: Ref) -> Iterator[Reason]:
        yield from self._derived_from({str(ref)})
        for run_id, state in self._states():
            for snapshot in self._snapshots(run_id):
                if str(ref) in snapshot["retrieval_diagnostics"]["manifest_ids"]:
                    note = f"run:{run_id}, snapshot {snapshot['sequence']}"
                    yield Reason(snapshot["snapshot_id"], "snapshot", snapshot["objective"], note)
            if str(ref) in state.retrieval.manifest_ids:
                yield Reason(f"run:{run_id}", "run", str(state.objective), "since its last snapshot")

    # Reading what is stored

    def _states(self) -> Iterator[tuple[str, RunState]]:
        for tally in list(self._truth.runs.log.tallies()):
            try:
                yield tally.run_id, self._truth.runs.state(tally.run_id)
            except SlicebaseError as error:
                if error.code != "purged":
                    raise

    def _snapshots(self, run_id: str) -> Iterator[dict[str, Json]]:
        snapshots = self._truth.runs.snapshots
        for record in list(snapshots.records(run_id)):
            if record.status == "PASS":
                yield snapshots.get(run_id, record.sequence).snapshot

    def _derived_from(self, sources: set[str]) -> Iterator[Reason]:
        files = self._folder.mentioning(*(source.encode() for source in sources)) if sources else ()
        for file in files:
            if file.derived_from and file.derived_from.id in sources:
                yield Reason(f"file:{file.id}", "file", file.title or "", f"derived from {file.derived_from.id}")

    def _forks(self, snapshots: set[str]) -> Iterator[Reason]:
        for tally in list(self._truth.runs.log.tallies()):
            terms = self._truth.runs.terms(tally.run_id)
            if terms is not None and terms.forked_from in snapshots:
                yield Reason(f"run:{tally.run_id}", "run", terms.objective, f"forked from {terms.forked_from}")

    def _contexts_with(self, reference: str) -> Iterator[Reason]:
        for name, stored in self._truth.manifests.readable():
            if any(piece.ref == reference for piece in stored.manifest.pieces):
                yield Reason(name, "context", stored.manifest.question, f"recorded {stored.time}")


def _source_of(file: SliceFile) -> str | None:
    return file.derived_from.id if file.derived_from else None


def _file_alone(file: SliceFile, note: str | None = None) -> Reason:
    return Reason(f"file:{file.id}", "file", file.title or "", file.summary or "" if note is None else note)


def _other(reference: str) -> Reason:
    return Reason(reference, "piece", "")


def _known(table: Mapping[str, Any], ref: Ref) -> Any:
    if ref.kind not in table:
        raise SlicebaseError(
            "bad-reference", f"a {ref.kind} cannot be explained: {ref}", hint=f"use one of {', '.join(table)}"
        )
    return table[ref.kind]
