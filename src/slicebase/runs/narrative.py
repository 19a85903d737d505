"""The narrative of a snapshot: Markdown from the snapshot alone, eight sections in a fixed order (ruling 41).

A narrative is a slice file that is derived from the snapshot. Text from the log is data in it: it is put on one line or
quoted, so that it cannot become a heading, a list item or a link. The same snapshot always gives the same bytes.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple, TypeVar

from slicebase.core.hashing import canonical
from slicebase.core.ids import ULID_RANDOM_BYTES, ulid
from slicebase.core.times import from_text
from slicebase.runs.records import Claim, Conflict, DoneDefinition, Failure, Pointer, Snapshot
from slicebase.runs.snapshot import snapshot_digest, typed
from slicebase.runs.state import Json

MOST_ACTIONS = 3
NOTHING_OPEN = "Continue towards the done definition."
_TITLE_LENGTH = 60

_Lines = Iterator[str]
_Item = TypeVar("_Item", Claim, Conflict, Failure)


class Narrative(NamedTuple):
    """What a run knew at a snapshot, as Markdown: the fields and the body of its slice file."""

    file_id: str
    title: str
    summary: str
    derived_from: str
    derived_hash: str
    updated_at: str
    supersedes: str | None
    body: str
    is_new: bool = False  # whether its slice file was written by this call

    @property
    def id(self) -> str:
        """The id of the slice file."""
        return self.file_id

    @property
    def text(self) -> str:
        """The Markdown of the narrative."""
        return self.body

    def __str__(self) -> str:
        return self.body

    def __repr__(self) -> str:
        return f"Narrative(id={self.id!r}, title={self.title!r}, is_new={self.is_new})"


def narrate(snapshot: dict[str, Json], previous: dict[str, Json] | None = None) -> Narrative:
    """Returns the narrative of a snapshot that passed.

    It supersedes the narrative of `previous`, the last snapshot that has one.
    """
    read = typed(snapshot)
    state = read.state
    return Narrative(
        file_id=file_id(snapshot),
        title=f"Run {read.run_id}, snapshot {read.sequence}: {_short(read.objective, _TITLE_LENGTH)}",
        summary=(
            f"{len(_with_status(state.claims, 'verified'))} verified claims, {_open(state.conflicts)} open conflicts, "
            f"{len(state.open_questions)} open questions, {_open(state.failures)} open failures."
        ),
        derived_from=read.snapshot_id,
        derived_hash=snapshot_digest(snapshot),
        updated_at=read.created_at,
        supersedes=file_id(previous) if previous is not None else None,
        body=render(read),
    )


def file_id(snapshot: dict[str, Json]) -> str:
    """Returns a ULID of the snapshot's time and digest, so that the same snapshot always gives the same file."""
    digits = snapshot_digest(snapshot).removeprefix("sha256:")
    return ulid(from_text(snapshot["created_at"]), bytes.fromhex(digits)[:ULID_RANDOM_BYTES])


def render(snapshot: Snapshot) -> str:
    """Returns the Markdown of the narrative."""
    lines = [f"# Run {_inline(snapshot.run_id)}, snapshot {snapshot.sequence}"]
    for heading, section in _SECTIONS.items():
        lines += ["", f"## {heading}", "", *(list(section(snapshot)) or ["None."])]
    return "\n".join(lines) + "\n"


def _objective(snapshot: Snapshot) -> _Lines:
    yield from _quoted(snapshot.objective)
    yield ""
    yield from _done(snapshot.done_definition)
    yield ""
    yield f"- Budgets: {_budgets(snapshot.done_definition)}"
    yield f"- Provenance mode: {_inline(snapshot.provenance_mode)}"
    yield f"- Policy: {_inline(snapshot.policy_snapshot_ref or 'none')}"


def _done(done: DoneDefinition) -> _Lines:
    terms: Json = done if isinstance(done, str) else {name: done[name] for name in done if name != "budgets"}
    if isinstance(terms, dict):
        terms = terms["text"] if terms.keys() == {"text"} else canonical(terms).decode()
    yield from _quoted(f"Done when: {terms}")


def _budgets(done: DoneDefinition) -> str:
    budgets = done.get("budgets") if isinstance(done, dict) else None
    known = sorted(budgets.items()) if isinstance(budgets, dict) else []
    return _inline(", ".join(f"{name} {value}" for name, value in known)) or "none"


def _changes(snapshot: Snapshot) -> _Lines:
    counts, state = snapshot.counts, snapshot.state
    yield (
        f"- {counts.counted_events_since_last_compaction} counted events in {counts.steps_since_last_compaction} steps."
    )
    yield f"- Claims: {_delta(((item.claim_id, item) for item in state.claims), snapshot.sequence)}"
    yield f"- Conflicts: {_delta(((item.conflict_id, item) for item in state.conflicts), snapshot.sequence)}"
    yield f"- Failures: {_delta(((item.failure_id, item) for item in state.failures), snapshot.sequence)}"
    coverage = state.source_coverage
    yield (
        f"- Sources seen: {len(coverage.source_ids_seen)}; chunks seen: {len(coverage.chunk_ids_seen)}, "
        f"cited: {len(coverage.chunk_ids_cited)}."
    )


def _delta(items: Iterable[tuple[str, Claim | Conflict | Failure]], sequence: int) -> str:
    """Returns how many items there are, which are new in this snapshot, and which have changed since the last one."""
    listed = list(items)
    fresh = [(f"{_inline(name)} ({item.status})", item) for name, item in listed if item.changed == sequence]
    new = ", ".join(name for name, item in fresh if item.since == sequence) or "none"
    changed = ", ".join(name for name, item in fresh if item.since != sequence) or "none"
    return f"{len(listed)}; new: {new}; changed: {changed}."


def _verified(snapshot: Snapshot) -> _Lines:
    for claim in _with_status(snapshot.state.claims, "verified"):
        yield f"- **{_inline(claim.claim_id)}** {_inline(claim.statement)}"
        yield from _pointers(claim.evidence_refs, "evidence")


def _conflicts(snapshot: Snapshot) -> _Lines:
    for conflict in snapshot.state.conflicts:
        yield f"- **{_inline(conflict.conflict_id)}** ({conflict.status}) {_inline(conflict.description)}"
        yield from _pointers(conflict.side_a_refs, "side a")
        yield from _pointers(conflict.side_b_refs, "side b")


def _failures(snapshot: Snapshot) -> _Lines:
    for failure in snapshot.state.failures:
        yield f"- **{_inline(failure.failure_id)}** ({failure.status}) {_failure_text(failure)}"


def _unknowns(snapshot: Snapshot) -> _Lines:
    for question in snapshot.state.open_questions:
        yield f"- Question: {_inline(question)}"
    for claim in _with_status(snapshot.state.claims, "candidate"):
        yield f"- Not verified: **{_inline(claim.claim_id)}** {_inline(claim.statement)}"
        yield from _pointers(claim.evidence_refs, "evidence")


def _next_actions(snapshot: Snapshot) -> _Lines:
    actions = list(islice(_actions(snapshot), MOST_ACTIONS)) or [NOTHING_OPEN]
    yield from (f"{number}. {action}" for number, action in enumerate(actions, 1))


def _actions(snapshot: Snapshot) -> _Lines:
    """Yields an action for each open conflict, then question, then failure, the oldest of each kind first."""
    state = snapshot.state
    for conflict in _with_status(state.conflicts, "open"):
        yield f"Resolve the conflict {_inline(conflict.conflict_id)}: {_inline(conflict.description)}"
    for question in state.open_questions:
        yield f"Answer: {_inline(question)}"
    for failure in _with_status(state.failures, "open"):
        yield f"Mend the failure {_inline(failure.failure_id)}: {_failure_text(failure)}"


def _manifests(snapshot: Snapshot) -> _Lines:
    diagnostics = snapshot.retrieval_diagnostics
    for manifest_id in snapshot.latest_context_manifest_ids:
        yield f"- {_code(manifest_id)}"
    if diagnostics.manifests:
        reasons = ", ".join(f"{_inline(name)} {n}" for name, n in sorted(diagnostics.excluded_by_reason.items()))
        yield (
            f"- Of {diagnostics.candidates} candidates {diagnostics.selected} were selected and "
            f"{diagnostics.excluded} left out ({reasons or 'no reasons'})."
        )
        yield f"- Filters: {', '.join(_code(name) for name in diagnostics.filters) or 'none'}."


_SECTIONS = {
    "Objective, budgets and provenance mode": _objective,
    "What changed since the last snapshot": _changes,
    "Verified claims": _verified,
    "Conflicts": _conflicts,
    "Failures": _failures,
    "Open questions and unknowns": _unknowns,
    "Next actions": _next_actions,
    "Manifests": _manifests,
}


def _pointers(pointers: Iterable[Pointer], label: str) -> _Lines:
    for pointer in pointers:
        span = pointer.span
        yield f"  - {label}: {_code(pointer.evidence_id)} {_code(pointer.chunk_id)} {span.start}–{span.end}"


def _failure_text(failure: Failure) -> str:
    return f"{_inline(failure.category)} at {_inline(failure.where)}: {_inline(failure.why)}"


def _with_status(items: Iterable[_Item], status: str) -> list[_Item]:
    return [item for item in items if item.status == status]


def _open(items: Iterable[_Item]) -> int:
    return len(_with_status(items, "open"))


_SPACE = re.compile(r"\s+")
_LIVE = re.compile(r"<(?=[A-Za-z/!?])|(?<=\])\(")  # the beginning of HTML, an autolink or a link target


def _inert(text: str) -> str:
    return _LIVE.sub(r"\\\g<0>", text)


def _inline(text: str) -> str:
    return _inert(_SPACE.sub(" ", text).strip())


def _code(text: str) -> str:
    inside = _SPACE.sub(" ", text).replace("`", "'")
    return f"`{inside}`"


def _short(text: str, length: int) -> str:
    line = _SPACE.sub(" ", text).strip()
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def _quoted(text: str) -> _Lines:
    yield from (f"> {_inert(line)}".rstrip() for line in text.splitlines())
