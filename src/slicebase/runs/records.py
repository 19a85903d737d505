"""What runs write down, as it stands on the wire; docs/schemas is made from these types.

Fields stand in the specification's order ("Snapshot JSON shape"), and a record has exactly these fields.
"""

from typing import Any, Literal

from msgspec import Struct

ClaimStatus = Literal["verified", "candidate", "retracted"]
ItemStatus = Literal["open", "resolved"]
QuestionStatus = Literal["open", "closed"]
CheckStatus = Literal["PASS", "FAIL"]
FailureAction = Literal["NONE", "RETRY", "SYSTEM_ERROR"]
StopReason = Literal["OBJECTIVE_ACHIEVED", "BUDGET_EXCEEDED", "NO_EVIDENCE", "HUMAN_REQUESTED", "SYSTEM_ERROR"]
DoneDefinition = str | dict[str, Any]

DEFAULT_PROVENANCE_MODE = "audit_only"


class Record(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A record with exactly its fields."""


# Evidence pointers (requirement C, ruling 36)


class Span(Record, frozen=True):
    """Half-open, in Unicode code points of the chunk's text."""

    start: int
    end: int


class Pointer(Record, frozen=True):
    evidence_id: str
    chunk_id: str
    span: Span


# The snapshot


class Counts(Record, frozen=True):
    """As they stood before this snapshot set them to zero (ruling 34)."""

    steps_since_last_compaction: int
    counted_events_since_last_compaction: int


class Claim(Record, frozen=True):
    """`since` and `changed` are the sequences of the snapshots that first held it and in which it last changed."""

    claim_id: str
    status: ClaimStatus
    statement: str
    evidence_refs: tuple[Pointer, ...]
    since: int
    changed: int


class Conflict(Record, frozen=True):
    conflict_id: str
    description: str
    side_a_refs: tuple[Pointer, ...]
    side_b_refs: tuple[Pointer, ...]
    status: ItemStatus
    since: int
    changed: int


class Failure(Record, frozen=True):
    failure_id: str
    category: str
    where: str
    why: str
    status: ItemStatus
    since: int
    changed: int


class SourceCoverage(Record, frozen=True):
    source_ids_seen: tuple[str, ...]
    chunk_ids_seen: tuple[str, ...]
    chunk_ids_cited: tuple[str, ...]


class SnapshotState(Record, frozen=True):
    claims: tuple[Claim, ...]
    conflicts: tuple[Conflict, ...]
    open_questions: tuple[str, ...]
    failures: tuple[Failure, ...]
    source_coverage: SourceCoverage


class RetrievalDiagnostics(Record, frozen=True):
    """The manifests since the last snapshot, summed up (ruling 38)."""

    manifests: int
    candidates: int
    selected: int
    excluded: int
    excluded_by_reason: dict[str, int]
    filters: tuple[str, ...]
    manifest_ids: tuple[str, ...]


class CheckResult(Record, frozen=True):
    name: str
    status: CheckStatus
    message: str


class Validation(Record, frozen=True):
    status: CheckStatus
    checks: tuple[CheckResult, ...]
    failure_action_taken: FailureAction


class Snapshot(Record, frozen=True):
    snapshot_id: str
    run_id: str
    sequence: int
    created_at: str
    objective: str
    done_definition: DoneDefinition
    provenance_mode: str
    policy_snapshot_ref: str | None
    counts: Counts
    latest_context_manifest_ids: tuple[str, ...]
    state: SnapshotState
    retrieval_diagnostics: RetrievalDiagnostics
    validation: Validation


# Payloads of events. A log may hold others under the same types (ruling 35): these are what the verbs write.


class Budgets(Record, frozen=True):
    """`done_definition.budgets` (ruling 38)."""

    max_steps: int | None = None
    max_seconds: float | None = None
    max_cost: float | None = None


class RunStarted(Record, frozen=True):
    objective: str
    done_definition: DoneDefinition
    provenance_mode: str = DEFAULT_PROVENANCE_MODE
    forked_from: str | None = None  # the snapshot that a fork starts from


class ClaimLogged(Record, frozen=True):
    claim_id: str
    statement: str
    status: ClaimStatus = "candidate"
    evidence_refs: tuple[Pointer, ...] = ()


class ConflictLogged(Record, frozen=True):
    conflict_id: str
    description: str
    side_a_refs: tuple[Pointer, ...]
    side_b_refs: tuple[Pointer, ...]
    status: ItemStatus = "open"


class QuestionLogged(Record, frozen=True):
    question: str
    status: QuestionStatus = "open"


class FailureLogged(Record, frozen=True):
    failure_id: str
    category: str
    where: str
    why: str
    status: ItemStatus = "open"


class SourceLogged(Record, frozen=True):
    """What was seen: sources (`session:…`, `file:…`, `doc:…`) and their chunks."""

    source_ids: tuple[str, ...] = ()
    chunk_ids: tuple[str, ...] = ()


class ManifestLogged(Record, frozen=True):
    """A context that was put before the model, summed up."""

    manifest_id: str
    policy_params_hash: str | None = None
    candidates: int = 0
    selected: int = 0
    excluded_by_reason: dict[str, int] = {}
    filters: tuple[str, ...] = ()
    source_ids: tuple[str, ...] = ()
    chunk_ids: tuple[str, ...] = ()


class SnapshotLogged(Record, frozen=True):
    """`digest` is the whole digest behind the snapshot's id."""

    snapshot_id: str
    sequence: int
    status: CheckStatus
    digest: str


class Refused(Record, frozen=True):
    """A try to change what a run may not change, with what was tried."""

    what: tuple[str, ...]
    attempted: dict[str, Any]


class RunStopped(Record, frozen=True):
    reason: StopReason
    message: str = ""
