"""The records that runs store and print. The JSON Schemas in docs/schemas are generated from these types.

Fields are in the order of the specification ("Snapshot JSON shape"), and a record has exactly these fields.
"""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

ClaimStatus = Literal["verified", "candidate", "retracted"]
ItemStatus = Literal["open", "resolved"]
QuestionStatus = Literal["open", "closed"]
CheckStatus = Literal["PASS", "FAIL"]
FailureAction = Literal["NONE", "RETRY", "SYSTEM_ERROR"]
StopReason = Literal["OBJECTIVE_ACHIEVED", "BUDGET_EXCEEDED", "NO_EVIDENCE", "HUMAN_REQUESTED", "SYSTEM_ERROR"]
StepAt = Literal["prompt", "call"]  # what a step of a conversation is
LoopKind = Literal["repeat", "alternate"]
DoneDefinition = str | dict[str, Any]

DEFAULT_PROVENANCE_MODE = "audit_only"


class Record(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The base of all records. Unknown fields are an error."""


# Evidence pointers (requirement C, ruling 36)


class Span(Record, frozen=True):
    """A half-open span in Unicode code points of the chunk's text."""

    start: int
    end: int


class Pointer(Record, frozen=True):
    evidence_id: str
    chunk_id: str
    span: Span


# The snapshot


class Counts(Record, frozen=True):
    """The counts before this snapshot set them to zero (ruling 34)."""

    steps_since_last_compaction: int
    counted_events_since_last_compaction: int


class Claim(Record, frozen=True):
    """A claim. `since` and `changed` are the sequences of the first snapshot with it and of its last change."""

    claim_id: str
    status: ClaimStatus
    statement: str
    evidence_refs: tuple[Pointer, ...]
    since: int
    changed: int
    kind: str | UnsetType = UNSET  # of what a transcript says: instruction, decision, finding … (ruling 55)


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


NO_STATE = SnapshotState(
    claims=(),
    conflicts=(),
    open_questions=(),
    failures=(),
    source_coverage=SourceCoverage(source_ids_seen=(), chunk_ids_seen=(), chunk_ids_cited=()),
)


class RetrievalDiagnostics(Record, frozen=True):
    """The sums over the manifests since the last snapshot (ruling 38)."""

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


# Payloads of events as the verbs write them. A log may contain other payloads of the same types (ruling 35).

# Of a run that was projected from a conversation: the turns that each field with words was made from.
MadeFrom = dict[str, tuple[str, ...]]


class Budgets(Record, frozen=True):
    """The limits of a run in `done_definition.budgets` (ruling 38)."""

    max_steps: int | None = None
    max_seconds: float | None = None
    max_cost: float | None = None


class Spending(Record, frozen=True):
    """What was spent of the budgets."""

    steps: int
    seconds: float
    cost: float


class Inherited(Spending, frozen=True):
    """What the run that a fork continues had spent, together with what it had inherited itself.

    `events` is the number of events that this run had then, so that the sums can be derived again.
    """

    run: str
    events: int


class RunStarted(Record, frozen=True):
    objective: str
    done_definition: DoneDefinition
    provenance_mode: str = DEFAULT_PROVENANCE_MODE
    forked_from: str | None = None  # the snapshot that a fork starts from
    projected_from: str | UnsetType = UNSET  # the session whose turns are the events of the run
    made_from: MadeFrom | UnsetType = UNSET
    inherited: Inherited | UnsetType = UNSET  # what a fork has of its budgets no more


class ClaimLogged(Record, frozen=True):
    claim_id: str
    statement: str
    status: ClaimStatus = "candidate"
    evidence_refs: tuple[Pointer, ...] = ()
    kind: str | UnsetType = UNSET
    made_from: MadeFrom | UnsetType = UNSET


class ConflictLogged(Record, frozen=True):
    conflict_id: str
    description: str
    side_a_refs: tuple[Pointer, ...]
    side_b_refs: tuple[Pointer, ...]
    status: ItemStatus = "open"


class QuestionLogged(Record, frozen=True):
    question: str
    status: QuestionStatus = "open"
    made_from: MadeFrom | UnsetType = UNSET


class FailureLogged(Record, frozen=True):
    failure_id: str
    category: str
    where: str
    why: str
    status: ItemStatus = "open"
    made_from: MadeFrom | UnsetType = UNSET


class SourceLogged(Record, frozen=True):
    """The sources that were seen (`session:…`, `file:…`, `doc:…`) and their chunks."""

    source_ids: tuple[str, ...] = ()
    chunk_ids: tuple[str, ...] = ()


class StateInherited(Record, frozen=True):
    """What a fork inherits that no item of its state says: chunks that were cited, the latest manifests, the policy."""

    chunk_ids_cited: tuple[str, ...] = ()
    manifest_ids: tuple[str, ...] = ()
    policy_snapshot_ref: str | None = None


class ManifestLogged(Record, frozen=True):
    """The sums of a manifest, for a context that was given to the model."""

    manifest_id: str
    policy_params_hash: str | None = None
    candidates: int = 0
    selected: int = 0
    excluded_by_reason: dict[str, int] = {}
    filters: tuple[str, ...] = ()
    source_ids: tuple[str, ...] = ()
    chunk_ids: tuple[str, ...] = ()


class LoopLogged(Record, frozen=True):
    """A loop that the guard has found: the numbers of the events of each call and its outcome."""

    kind: LoopKind
    times: int
    cycles: tuple[tuple[int, int], ...]


class LoopAllowed(Record, frozen=True):
    """Until when loops are allowed, and why: up to a step, up to a time, or up to the one that comes first."""

    reason: str
    until_step: int | None = None
    until: str | None = None


class SnapshotLogged(Record, frozen=True):
    """A snapshot. `digest` covers everything in it, also its time and its validation (ruling 46)."""

    snapshot_id: str
    sequence: int
    status: CheckStatus
    digest: str


class Refused(Record, frozen=True):
    """An attempt to change terms that a run may not change, with the attempted values."""

    what: tuple[str, ...]
    attempted: dict[str, Any]


class RunStopped(Record, frozen=True):
    reason: StopReason
    message: str = ""
