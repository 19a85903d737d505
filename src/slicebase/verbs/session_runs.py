"""Conversations as runs: the run of a session, and how it grows with the session.

A run has the events of the turns first. What later turns can still change follows as an ending: the reply at the end,
and what an agent needs to continue (`context/handover.py`). An ending begins with a PROJECTED event, which says how
many events it has. When the session has grown, the events of the new turns are added, and then another ending, which
logs only the differences: new claims, those that no longer hold as retracted, questions that are answered as closed.

`narrate_session` does the work before a coding agent's compaction: a snapshot of the session as a run, and its
narrative.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from slicebase.context.handover import HANDOVER_RULES, Handover, HandoverClaim, HandoverQuestion, handover
from slicebase.context.projection import Projected, project, terms_of
from slicebase.core.hashing import canonical, digest
from slicebase.errors import SlicebaseError
from slicebase.graph.session import copy_hint
from slicebase.graph.turn import Turn
from slicebase.history.paths import Paths
from slicebase.importers.subagents import SUBAGENT
from slicebase.runs.event import Event, EventDraft
from slicebase.runs.gate import Thresholds, is_run_id
from slicebase.runs.narrative import Narrative
from slicebase.runs.records import ClaimLogged, DoneDefinition, QuestionLogged, StepAt
from slicebase.truth.ledger import Ledger
from slicebase.truth.run_writer import Logged
from slicebase.truth.runs import StoredRuns
from slicebase.truth.truth import Truth
from slicebase.verbs.parts import Parts

if TYPE_CHECKING:
    from slicebase.verbs.runs import Runs

PROJECTED: Final = "PROJECTED"
# The types of events that a conversation becomes. Whatever else is in the log was added by others, and stays.
_OWN: Final = frozenset(
    "RUN_STARTED PROMPT PLAN_DONE ACT_DONE OBSERVE_DONE NOTE REPLY CLAIM QUESTION FAILURE SOURCE".split()  # noqa: SIM905
)

_Plain = dict[str, Any]


def steps_of(format_name: str) -> StepAt:
    """Returns what a step of a conversation is: a call in a trajectory, which has only one prompt, else a prompt."""
    from slicebase.importers.swe_agent import NAME  # imported here to keep start-up fast: few commands need it

    return "call" if format_name == NAME else "prompt"


def project_session(
    parts: Parts,
    runs: StoredRuns,
    run_id: str,
    session: str,
    leaf: str | None,
    terms: tuple[str | None, DoneDefinition | None],
    step_at: StepAt | None,
    thresholds: Thresholds | None,
) -> Logged:
    """Logs a conversation up to a turn as a run, or what is new in it; `terms` are its objective and its end."""
    truth, now = parts.truth, parts.surroundings.now()
    acts = runs.log.acts()
    paths = Paths(truth)
    stored, turns = truth.turns.session(session), paths.to_leaf(session, leaf)
    if not turns:
        raise SlicebaseError("bad-transcript", "a session without turns cannot be a run", hint=copy_hint(stored))
    steps = step_at or steps_of(stored.format)
    projected = project(turns, started=terms_of(turns, *terms), evidence=truth.ledger, step_at=steps)
    found = handover(turns, _agents(truth, paths, session, turns))
    try:
        runs.begin(run_id, runs.unpurged(session, acts, projected.drafts[:1]), now)
    except SlicebaseError as error:
        if error.code != "run-exists":
            raise
    drafts = _new_drafts(runs.events(run_id), run_id, projected, found, truth.ledger)
    return runs.append(run_id, runs.unpurged(session, acts, drafts), now, thresholds)


def _agents(truth: Truth, paths: Paths, session: str, turns: Iterable[Turn]) -> dict[str, list[Turn]]:
    """Returns the turns of the subagents that some turns of a session have started, by the turn that did."""
    known = {turn.id for turn in turns}
    found: dict[str, list[Turn]] = {}
    for name in truth.turns.names(session + SUBAGENT):
        own = paths.turns(name)
        starters = known.intersection(parent for parent, _ in truth.turns.parents_of(own[0].id)) if own else ()
        for starter in sorted(starters)[:1]:
            found.setdefault(starter, []).extend(own)
    return found


def _new_drafts(
    events: Iterable[Event], run_id: str, projected: Projected, found: Handover, ledger: Ledger
) -> Iterator[EventDraft]:
    """Yields the drafts that the run does not have yet; raises `run-differs` if the run begins differently.

    The log is read when the first draft is asked for, and evidence is kept when its claim is: inside the transaction
    that adds them.
    """
    logged = _read(events)
    drafts = [_plain(draft) for draft in projected.drafts]
    if drafts[: len(logged.own)] != logged.own:
        raise SlicebaseError(
            "run-differs", f"run:{run_id} does not begin like this conversation", hint="choose another id for the run"
        )
    new = projected.drafts[len(logged.own) :]
    yield from new
    for draft in new:
        logged.add(_plain(draft))
    ending = list(_ending(logged, projected, found, ledger))
    if ending:
        said = {"turns": projected.turns, "events": len(ending), "rules": HANDOVER_RULES}
        yield EventDraft(type=PROJECTED, step=projected.step, time=projected.time, payload=said)
        yield from ending


class _Logged(NamedTuple):
    """What a log says: the events of its turns, those of its endings, its claims, and its open questions."""

    own: list[_Plain]
    endings: set[bytes]
    ended: set[str]  # the claims that endings have logged
    claims: dict[str, _Plain]
    questions: dict[str, None]

    def add(self, event: _Plain) -> None:
        """Adds what an event says of a claim or a question."""
        payload = event["payload"]
        if event["type"] == "CLAIM":
            name = payload["claim_id"]
            self.claims[name] = {**self.claims[name], **payload} if "statement" not in payload else payload
        elif event["type"] == "QUESTION":
            self.questions.pop(payload["question"], None)
            if payload.get("status") != "closed":
                self.questions[payload["question"]] = None


def _read(events: Iterable[Event]) -> _Logged:
    logged = _Logged([], set(), set(), {}, {})
    left = 0  # events of an ending
    for event in events:
        if event.type == PROJECTED:
            left = int(event.payload.get("events", 0))
        if event.type not in _OWN:
            continue
        plain = {"type": event.type, "step": event.step, "time": event.time, "payload": event.payload}
        if left:
            left -= 1
            logged.endings.add(canonical(plain))
            if event.type == "CLAIM":
                logged.ended.add(event.payload["claim_id"])
        else:
            logged.own.append(plain)
        logged.add(plain)
    return logged


def _ending(logged: _Logged, projected: Projected, found: Handover, ledger: Ledger) -> Iterator[EventDraft]:
    """Yields what the end of a conversation changes in what is logged."""
    said = [draft for draft in projected.ending if draft.type != "CLAIM"]
    yield from (draft for draft in said if canonical(_plain(draft)) not in logged.endings)
    yield from _claims(logged, projected, found.claims, ledger)
    yield from _questions(logged, projected, found.questions)


def _claims(
    logged: _Logged, projected: Projected, found: Iterable[HandoverClaim], ledger: Ledger
) -> Iterator[EventDraft]:
    """Yields the claims that the log does not have, and the end of those that no longer hold."""
    step, time = projected.step, projected.time
    evidence = {each.claim_id: each.evidence for each in found}
    wanted = {draft.payload["claim_id"]: draft for draft in projected.ending if draft.type == "CLAIM"}
    for each in found:
        claim = ClaimLogged(
            claim_id=each.claim_id,
            statement=each.statement,
            evidence_refs=(each.evidence.pointer,),
            kind=each.kind,
            made_from={"statement": tuple(f"turn:{turn}" for turn in each.turns)},
        )
        wanted[each.claim_id] = EventDraft.of("CLAIM", claim, step, time)
    of_turns = {draft.payload["claim_id"] for draft in projected.drafts if draft.type == "CLAIM"}
    for name in sorted(logged.ended - wanted.keys() - of_turns):
        if logged.claims[name].get("status") != "retracted":
            yield EventDraft(type="CLAIM", step=step, time=time, payload={"claim_id": name, "status": "retracted"})
    for name, draft in wanted.items():
        if _plain(draft)["payload"] != logged.claims.get(name):
            if name in evidence:
                ledger.keep(evidence[name])
            yield draft


def _questions(logged: _Logged, projected: Projected, found: Iterable[HandoverQuestion]) -> Iterator[EventDraft]:
    """Yields the questions that the log does not have, and the end of those that are answered."""
    step, time = projected.step, projected.time
    asked = {each.text for each in found}
    for text in [text for text in logged.questions if text not in asked]:
        yield EventDraft.of("QUESTION", QuestionLogged(question=text, status="closed"), step, time)
    for each in found:
        if each.text not in logged.questions:
            question = QuestionLogged(
                question=each.text, made_from={"question": tuple(f"turn:{turn}" for turn in each.turns)}
            )
            yield EventDraft.of("QUESTION", question, step, time)


def _plain(draft: EventDraft) -> _Plain:
    """Returns a draft as it is read back from a log."""
    payload: Mapping[str, Any] = msgspec.json.decode(canonical(draft.payload))
    return {"type": draft.type, "step": draft.step, "time": draft.time, "payload": payload}


# Before a compaction

# Errors after which a session continues as another run: it was rewound, or its run was stopped or purged.
_NO_PROMPT: Final = "The conversation has no prompt."
_NEEDS_NEW_RUN: Final = frozenset({"run-differs", "run-closed", "gate-refused", "purged"})


def run_of(session: str) -> str:
    """Returns the id of the run that a session is projected to, unless another one is named."""
    name = "from-" + "-".join(re.split(r"[/:\s]+", session.strip()))
    usable = is_run_id(name + _NEXT_RUN)
    return name if usable else "from-" + digest(session.encode("utf-8", "surrogatepass"))[7:39]


_NEXT_RUN: Final = "-00000000"  # as much as follows if the run cannot continue: the beginning of a leaf


def narrate_session(runs: "Runs", session: str, leaf: str | None) -> Narrative:
    """Projects a session as a run, compacts and narrates it. If its run cannot continue, another one does."""
    refused: SlicebaseError | None = None
    for run_id in _runs_for(runs, session, leaf):
        try:
            return _narrated(runs, session, run_id)
        except SlicebaseError as error:
            if error.code not in _NEEDS_NEW_RUN:
                raise
            refused = error
    assert refused is not None
    raise refused


def _runs_for(runs: "Runs", session: str, leaf: str | None) -> Iterator[str]:
    """Yields the run of a session, the last one with which it went on, and a new one whose id also names the leaf."""
    name = run_of(session)
    yield name
    others = (entry.tally.run_id for entry in runs.list_runs() if entry.tally.run_id.startswith(f"{name}-"))
    yield from islice(others, 1)
    if leaf is not None:
        yield f"{name}-{leaf[:8]}"


def _narrated(runs: "Runs", session: str, run_id: str) -> Narrative:
    try:
        logged = runs.from_session(session, run_id)
    except SlicebaseError as error:
        if error.code != "bad-transcript":
            raise
        logged = runs.from_session(session, run_id, objective=_NO_PROMPT)
    if logged.last >= logged.first or not runs.has_snapshot(run_id):
        runs.compact(run_id)
    return runs.narrative(run_id)
