"""The sections of a narrative, in the order that the specification suggests: what each says, the most needed first."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import TypeVar

from msgspec import UNSET

from slicebase.core.hashing import canonical
from slicebase.runs.narrative_page import ItemList, ItemSort, NarrativePage, NarrativeSection, code, inline
from slicebase.runs.records import Claim, Conflict, DoneDefinition, Failure

MOST_ACTIONS = 3
NOTHING_OPEN = "Continue towards the done definition."
_MOST_NAMED = 5
_LONG_FOLDER = 8  # characters: shorter ones are not worth a word

# In the order in which they get what is left of the room.
_SORTS: Mapping[str, ItemSort] = {
    "instruction": ItemSort("constraint", "constraints", 0.15, "Constraints, as they were said", is_needed=True),
    "question": ItemSort("open question", "open questions", 0.15, is_needed=True),
    "failure": ItemSort("open failure", "open failures", 0.1),
    "conflict": ItemSort("conflict", "conflicts", 0.15),
    "verified": ItemSort("verified claim", "verified claims", 0.25),
    "prompt": ItemSort("prompt", "prompts", 0.1, most=0),
    "reply": ItemSort("reply", "replies", 0.1, most=0),
    "last finding": ItemSort("finding", "findings", 0.3, "Said last, not verified"),
    "command": ItemSort("command", "commands", 0.1, "Commands that worked, not verified", 4),
    "file": ItemSort("file", "files", 0.15, "Files, not verified", 1),
    "decision": ItemSort("decision", "decisions", 0.1, "Decisions, not verified", 1),
    "finding": ItemSort("earlier finding", "earlier findings", 0.1, "Findings before, not verified", 1),
    "artefact": ItemSort("artefact", "artefacts", 0.04, "Artefacts, not verified", 0.5),
    "other": ItemSort("other claim", "other claims", 0.1),
    "manifest": ItemSort("manifest", "manifests", 0.05),
}

_Item = TypeVar("_Item", Claim, Conflict, Failure)


def _objective(page: NarrativePage) -> NarrativeSection:
    snapshot = page.snapshot
    terms = [
        f"- Budgets: {page.short(_budgets(snapshot.done_definition))}",
        f"- Provenance mode: {page.short(inline(snapshot.provenance_mode))}",
        f"- Policy: {page.short(inline(snapshot.policy_snapshot_ref or 'none'))}",
    ]
    lines = page.quoted(snapshot.objective, 0.15)
    if not page.is_small:
        lines += ["", *page.quoted(f"Done when: {_done(snapshot.done_definition)}", 0.06), "", *terms]
    return lines, [_listing(page, "instruction", _said(page, "instruction"))]


def _done(done: DoneDefinition) -> str:
    if isinstance(done, str):
        return done
    terms = {name: done[name] for name in done if name != "budgets"}
    return str(terms["text"]) if terms.keys() == {"text"} else canonical(terms).decode()


def _budgets(done: DoneDefinition) -> str:
    budgets = done.get("budgets") if isinstance(done, dict) else None
    known = sorted(budgets.items()) if isinstance(budgets, dict) else []
    return inline(", ".join(f"{name} {value}" for name, value in known)) or "none"


def _changes(page: NarrativePage) -> NarrativeSection:
    snapshot = page.snapshot
    counts, state, coverage = snapshot.counts, snapshot.state, snapshot.state.source_coverage
    if page.is_small:
        return [], []
    return [
        f"- {counts.counted_events_since_last_compaction} counted events "
        f"in {counts.steps_since_last_compaction} steps.",
        f"- Claims: {_delta(page, ((item.claim_id, item) for item in state.claims))}",
        f"- Conflicts: {_delta(page, ((item.conflict_id, item) for item in state.conflicts))}",
        f"- Failures: {_delta(page, ((item.failure_id, item) for item in state.failures))}",
        f"- Sources seen: {len(coverage.source_ids_seen)}; chunks seen: {len(coverage.chunk_ids_seen)}, "
        f"cited: {len(coverage.chunk_ids_cited)}.",
    ], []


def _delta(page: NarrativePage, items: Iterable[tuple[str, Claim | Conflict | Failure]]) -> str:
    """Returns how many items there are, which are new in this snapshot, and which have changed since the last one."""
    listed, sequence = list(items), page.snapshot.sequence
    fresh = [(name, item) for name, item in listed if item.changed == sequence]
    new = _names(page, [(name, item) for name, item in fresh if item.since == sequence])
    changed = _names(page, [(name, item) for name, item in fresh if item.since != sequence])
    return f"{len(listed)}; new: {new}; changed: {changed}."


def _names(page: NarrativePage, items: Sequence[tuple[str, Claim | Conflict | Failure]]) -> str:
    """Returns the names of a few items, and how many more there are; of what a transcript says, only how many."""
    own = [(name, item) for name, item in items if not _is_told(name, item)][:_MOST_NAMED]
    named = [f"{page.name(name, 40)} ({item.status})" for name, item in own]
    others = len(items) - len(named)
    shown = [*named, *([f"{others} more" if named else str(others)] if others else [])]
    return ", ".join(shown) or "none"


def _is_told(name: str, item: Claim | Conflict | Failure) -> bool:
    """Returns whether an item is what a conversation says: its name says nothing to a reader."""
    return isinstance(item, Claim) and (_kind(item) is not None or _REPLY.fullmatch(name) is not None)


def _verified(page: NarrativePage) -> NarrativeSection:
    found = _newest(each for each in page.snapshot.state.claims if each.status == "verified")
    return [], [_listing(page, "verified", (_cited(page, each) for each in found))]


def _cited(page: NarrativePage, claim: Claim, mark: str = "") -> Iterator[str]:
    yield _named(page, claim.claim_id, claim.statement, mark)
    yield from page.pointers(claim.evidence_refs, "evidence")


def _named(page: NarrativePage, name: str, words: str, mark: str = "", share: float = 1.0) -> str:
    return f"- {mark}**{page.name(name)}** {page.words(words, share)}"


def _conflicts(page: NarrativePage) -> NarrativeSection:
    found = sorted(page.snapshot.state.conflicts, key=lambda each: each.status != "open")
    return [], [_listing(page, "conflict", (_two_sided(page, each) for each in found))]


def _two_sided(page: NarrativePage, conflict: Conflict) -> Iterator[str]:
    yield f"- **{page.name(conflict.conflict_id)}** ({conflict.status}) {page.words(conflict.description)}"
    yield from page.pointers(conflict.side_a_refs, "side a")
    yield from page.pointers(conflict.side_b_refs, "side b")


def _failures(page: NarrativePage) -> NarrativeSection:
    found = page.snapshot.state.failures
    still = _newest(_with_status(found, "open"))
    resolved = len(found) - len(still)
    lines = [f"- {resolved} resolved: {page.more}"] if resolved else []
    return lines, [_listing(page, "failure", (_failed(page, each) for each in still))]


def _failed(page: NarrativePage, failure: Failure) -> Iterator[str]:
    yield f"- **{page.name(failure.failure_id)}** {_failure_text(page, failure)}"


def _unknowns(page: NarrativePage) -> NarrativeSection:
    state = page.snapshot.state
    asked = ([f"- {page.words(_asked(each))}"] for each in sorted(state.open_questions, key=_urgency))
    plain = _newest(each for each in state.claims if each.status == "candidate" and _kind(each) not in _KINDS)
    replies = [each for each in plain if _REPLY.fullmatch(each.claim_id)]
    others = (_cited(page, each, "Not verified: ") for each in plain if not _REPLY.fullmatch(each.claim_id))
    told = ([_named(page, each.claim_id, each.statement, "Last reply, not verified: ", 0.4)] for each in replies)
    return [], [
        _listing(page, "question", asked),
        _listing(page, "prompt", _said(page, "prompt", mark="Last prompt, answered: ", share=0.5)),
        _listing(page, "reply", told),
        _listing(page, "last finding", _said(page, "finding", last=True)),
        _listing(page, "command", _said(page, "command")),
        _files(page),
        *(_listing(page, kind, _said(page, kind)) for kind in ("decision", "artefact")),
        _listing(page, "finding", _said(page, "finding", last=False)),
        _listing(page, "other", others),
    ]


# What a conversation says, by kind (ruling 55). A claim of any other kind is shown like one without.
_KINDS = frozenset({"prompt", "instruction", "decision", "finding", "artefact", "file", "command"})
_REPLY = re.compile(r"reply-\d+")  # the last words of a step of a conversation


def _listing(page: NarrativePage, name: str, entries: Iterable[Iterable[str]]) -> ItemList:
    return ItemList(_SORTS[name], list(_SORTS).index(name), page.size, entries)


def _said(
    page: NarrativePage, kind: str, *, last: bool | None = None, mark: str = "", share: float = 1.0
) -> Iterator[Iterator[str]]:
    """Yields the candidates of a kind: those whose words were seen last first.

    `last` asks for those that were said last of all, or for the others.
    """
    found = [each for each in page.snapshot.state.claims if _kind(each) == kind and each.status == "candidate"]
    for each in sorted(found, key=lambda each: -page.place(each.evidence_refs)):
        if last is None or last != page.last_seen.isdisjoint(at.chunk_id for at in each.evidence_refs):
            yield _told(page, each, mark, share)


def _told(page: NarrativePage, claim: Claim, mark: str, share: float) -> Iterator[str]:
    yield f"- {mark}{page.words(claim.statement, share)}{page.at(claim.evidence_refs)}"


def _files(page: NarrativePage) -> ItemList:
    """Returns the list of files, without the folders that all are in whose path is absolute; two steps of each stay."""
    lines = [list(each) for each in _said(page, "file")]
    paths = [line[0].removeprefix("- ").split(" ")[0] for line in lines if line[0].startswith("- /")]
    steps = takewhile(lambda step: len(set(step)) == 1, zip(*(path.split("/")[:-2] for path in paths), strict=False))
    below = "".join(f"{step[0]}/" for step in steps) if len(paths) > 1 else ""
    found = _listing(page, "file", ([f"- {line[0].removeprefix('- ').removeprefix(below)}"] for line in lines))
    if len(below) >= _LONG_FOLDER:
        return found.titled(f"Files below {page.words(below)}, not verified")
    return found if not below else _listing(page, "file", lines)


def _next_actions(page: NarrativePage) -> NarrativeSection:
    actions = list(islice(_actions(page), MOST_ACTIONS)) or [NOTHING_OPEN]
    return [f"{number}. {action}" for number, action in enumerate(actions, 1)], []


def _actions(page: NarrativePage) -> Iterator[str]:
    """Yields an action for the prompt without an answer, then for each task, conflict, question and failure.

    The oldest of each sort comes first (ruling 56).
    """
    state = page.snapshot.state
    asked = sorted(state.open_questions, key=_urgency)
    urgent = [each for each in asked if _urgency(each) < _PLAIN]
    yield from (page.words(_asked(each), 0.8) for each in urgent)
    for conflict in _with_status(state.conflicts, "open"):
        name = page.name(conflict.conflict_id)
        yield f"Resolve the conflict {name}: {page.words(conflict.description, 0.6)}{page.at(conflict.side_a_refs)}"
    yield from (page.words(_asked(each, "Answer"), 0.8) for each in asked[len(urgent) :])
    for failure in _with_status(state.failures, "open"):
        yield f"Mend the failure {page.name(failure.failure_id)}: {_failure_text(page, failure, 0.5)}"


def _manifests(page: NarrativePage) -> NarrativeSection:
    diagnostics = page.snapshot.retrieval_diagnostics
    if page.is_small:
        return [], []
    lines = []
    if diagnostics.manifests:
        sums = sorted(diagnostics.excluded_by_reason.items())
        reasons = page.short(", ".join(f"{inline(name)} {n}" for name, n in sums))
        lines = [
            f"- Of {diagnostics.candidates} candidates {diagnostics.selected} were selected and "
            f"{diagnostics.excluded} left out ({reasons or 'no reasons'}).",
            f"- Filters: {', '.join(code(page.name(name, 40)) for name in diagnostics.filters[:5]) or 'none'}.",
        ]
    named = ([f"- {code(page.name(each))}"] for each in reversed(page.snapshot.latest_context_manifest_ids))
    return lines, [_listing(page, "manifest", named)]


SECTIONS: Mapping[str, Callable[[NarrativePage], NarrativeSection]] = {
    "Objective, budgets and provenance mode": _objective,
    "What changed since the last snapshot": _changes,
    "Verified claims": _verified,
    "Conflicts": _conflicts,
    "Failures": _failures,
    "Open questions and unknowns": _unknowns,
    "Next actions": _next_actions,
    "Manifests": _manifests,
}


# Items

_PLAIN = 2


def _urgency(question: str) -> int:
    return 0 if question.startswith("prompt: ") else 1 if question.startswith("task: ") else _PLAIN


_ASKED = {
    "prompt": "Answer the prompt",
    "task": "Do the task",
    "asked": "Get the user's answer to",  # what an agent has offered or asked, it must not do or answer by itself
}


def _asked(question: str, plain: str = "Question") -> str:
    """Returns an open question as a line: those of a conversation say what they are (ruling 55)."""
    sort, _, words = question.partition(": ")
    return f"{_ASKED[sort]}: {words}" if sort in _ASKED else f"{plain}: {question}"


def _kind(item: Claim | Conflict | Failure) -> str | None:
    kind = item.kind if isinstance(item, Claim) else UNSET
    return kind if isinstance(kind, str) else None


def _newest(items: Iterable[_Item]) -> list[_Item]:
    """Returns items, those that changed last first, and among these the last one first."""
    numbered = sorted(enumerate(items), key=lambda each: (-each[1].changed, -each[0]))
    return [item for _, item in numbered]


def _failure_text(page: NarrativePage, failure: Failure, share: float = 1.0) -> str:
    place = page.words(f"{failure.category} at {failure.where}", share / 2)
    return f"{place}: {page.words(failure.why, share)}"


def _with_status(items: Iterable[_Item], status: str) -> list[_Item]:
    return [item for item in items if item.status == status]
