"""A transcript as a run: the turns of a session as events (architecture.md, "How the three specifications meet").

A prompt is a step. The text before a tool call is PLAN_DONE, the call ACT_DONE and its result OBSERVE_DONE. A call that
fails is a FAILURE, which a later success of the same intention resolves (`outcomes.py`); its id is its fingerprint, so
that repetitions are one failure. The reply of an agent at the end of a step is a CLAIM: a candidate, unless it names
evidence that is in the ledger. Long texts are cut and referred to (ruling 39).

Every event says which turns its words were made from: `ref` names the turn of a text, and `made_from` the turns of a
field where there are several, or of another field. A purge of a turn follows them (ruling 46).

What later turns could still change is left to `ending`: the events that `project` returns are the first events of the
same session after it has grown.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from slicebase.context.lost.speech import said_by_user
from slicebase.context.lost.tools import Actions
from slicebase.context.outcomes import CallOutcome, OpenFailures, outcome
from slicebase.core.hashing import canonical, digest
from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError
from slicebase.graph.turn import Part, Turn, part_text
from slicebase.runs.event import EventDraft
from slicebase.runs.evidence import Evidence
from slicebase.runs.manifests import source_events
from slicebase.runs.records import ClaimLogged, DoneDefinition, FailureLogged, RunStarted, StepAt
from slicebase.runs.values import is_blank

KEPT = 500  # code points that are kept of a longer text
_ID_DIGITS = 12  # of a fingerprint, in the id of a failure
_SEEN_AT_ONCE = 50
_EVIDENCE_ID = re.compile(r"\bev_[0-9a-f]{32}\b")


class Projected(NamedTuple):
    """The events of a conversation: those that stay when it grows, and those that end it as it is now."""

    drafts: list[EventDraft]
    ending: list[EventDraft]
    turns: int
    step: int  # the last one, and the time of the last turn
    time: str


def project(
    turns: Sequence[Turn],
    *,
    started: RunStarted | None = None,
    evidence: Mapping[str, Evidence] | None = None,
    step_at: StepAt = "prompt",
) -> Projected:
    """Returns the events of a conversation, whose turns are given in order.

    Without terms, the first prompt is the objective. A trajectory has one prompt and many cycles of plan, act and
    observe: with `step_at="call"` each cycle is a step.
    """
    started = started or terms_of(turns)
    projection = _Projection(evidence or {}, step_at)
    projection.log("RUN_STARTED", turns[0], msgspec.to_builtins(started))
    for turn in turns:
        projection.add(turn)
    count = len(projection.drafts)
    projection.finish()
    return Projected(
        projection.drafts[:count], projection.drafts[count:], len(turns), projection.step, to_text(turns[-1].time)
    )


def terms_of(
    turns: Sequence[Turn], objective: str | None = None, done_definition: DoneDefinition | None = None
) -> RunStarted:
    """Returns the terms of a conversation as a run.

    By default the objective is the first prompt, and the run is done when every prompt is answered.
    """
    if not turns:
        raise SlicebaseError("bad-transcript", "a conversation without turns cannot be a run")
    prompts = [turn for turn in turns if turn.role == "user" and _text(turn.parts)]
    spoken = (turn for turn in prompts if said_by_user(_text(turn.parts)).strip())
    prompt = next(spoken, prompts[0] if prompts else None)
    if not objective and prompt is None:
        raise SlicebaseError(
            "bad-transcript", "the conversation has no prompt that could be the objective", hint="give an objective"
        )
    whole = _text(prompt.parts) if prompt else ""
    first = said_by_user(whole).strip() or whole
    session = f"session:{turns[0].session}"
    canonical(done_definition)  # raises our error for what has no JSON form
    return RunStarted(
        objective=objective or (first if len(first) <= KEPT else first[:KEPT] + "…"),
        done_definition=done_definition or f"Every prompt of {session} is answered.",
        projected_from=session,
        made_from={"objective": _refs([prompt])} if prompt and not objective else UNSET,
    )


class _Failed(NamedTuple):
    """A failure as it was logged last, the turn in which it was first, and how often it was."""

    logged: FailureLogged
    first: Turn
    times: int


class _Projection:
    """Adds turns one by one and logs their events."""

    def __init__(self, evidence: Mapping[str, Evidence], step_at: StepAt) -> None:
        self.evidence = evidence
        self.step_at = step_at
        self.drafts: list[EventDraft] = []
        self.step = 0
        self.in_cycle = False  # after a plan or call, before its first result
        self.waiting: list[tuple[Turn, Part]] = []  # text that is a plan if a call follows, else a reply
        self.unseen: list[Turn] = []
        self.calls: dict[str | None, tuple[Part, Turn]] = {}
        self.failed: dict[str, _Failed] = {}
        self.open = OpenFailures()
        self.actions = Actions()

    def log(self, type_: str, turn: Turn, payload: Mapping[str, Any], step: int | None = None) -> None:
        self.drafts.append(EventDraft(type=type_, step=step, time=to_text(turn.time), payload=dict(payload)))

    def add(self, turn: Turn) -> None:
        if turn.role == "user" and (text := _text(turn.parts)):
            self.finish()
            self.step += self.step_at == "prompt"
            self.log("PROMPT", turn, _text_payload(text, turn), self.step)
        for part in turn.parts:
            if part.type == "tool_call":
                self.act(turn, part)
            elif part.type == "tool_result" or turn.role == "tool":
                self.observe(turn, part)
            elif turn.role == "assistant" and not part.error:  # an error of the client is no reply
                self.waiting.append((turn, part))
            elif turn.role == "system":
                self.log("NOTE", turn, _text_payload(part_text(part), turn), self.step)
        self.unseen.append(turn)
        if len(self.unseen) >= _SEEN_AT_ONCE:
            self.see()

    def act(self, turn: Turn, part: Part) -> None:
        if self.step_at == "call" and not self.in_cycle:
            self.step += 1
        self.in_cycle = True
        parts = [part for _, part in self.waiting]
        if plan := _text(parts) or _text(parts, "thinking"):
            self.log("PLAN_DONE", turn, _text_payload(plan, self.waiting[0][0], _turns(self.waiting)), self.step)
        self.waiting = []
        self.calls[part.call_id] = self.actions.as_call(part), turn
        said = canonical(part.arguments).decode()
        self.log("ACT_DONE", turn, {"tool": part.name or "tool", **_text_payload(said, turn)}, self.step)

    def observe(self, turn: Turn, part: Part) -> None:
        self.in_cycle = False
        call, caller = self.calls.get(part.call_id, (None, turn))
        said = {
            "tool": (call.name if call else None) or "tool",
            "error": part.error,
            **_text_payload(part_text(part), turn),
        }
        self.log("OBSERVE_DONE", turn, said, self.step)
        found = outcome(call, part)
        if found.ended == "failed":
            self.fail(turn, caller, found)
        elif found.ended == "ok":
            self.resolve(turn, self.open.made_good(found))

    def fail(self, turn: Turn, caller: Turn, found: CallOutcome) -> None:
        name = f"failure-{found.fingerprint.removeprefix('sha256:')[:_ID_DIGITS]}"
        before = self.failed.get(name)
        first, times = (before.first, before.times + 1) if before else (turn, 1)
        places = f"{times} times, first {_ref(first)}, last {_ref(turn)}" if before else _ref(turn)
        logged = FailureLogged(
            failure_id=name,
            category="tool_error",
            where=found.where,
            why=f"{found.why} ({places})",
            made_from={"where": _refs([caller]), "why": _refs({first.id: first, turn.id: turn}.values())},
        )
        self.failed[name] = _Failed(logged, first, times)
        self.log("FAILURE", turn, msgspec.to_builtins(logged), self.step)
        self.resolve(turn, self.open.add(name, found))

    def resolve(self, turn: Turn, names: Iterable[str]) -> None:
        for name in names:
            resolved = msgspec.structs.replace(self.failed[name].logged, status="resolved")
            self.log("FAILURE", turn, msgspec.to_builtins(resolved), self.step)

    def finish(self) -> None:
        """Ends a step: the last text is its reply."""
        spoken = [(turn, part) for turn, part in self.waiting if part.type != "thinking"]
        self.waiting = []
        if answer := _text(part for _, part in spoken):
            turns = _turns(spoken)
            self.log("REPLY", turns[-1], _text_payload(answer, turns[-1], turns), self.step)
            self.log("CLAIM", turns[-1], msgspec.to_builtins(self.claim(answer, turns)), self.step)
        self.see()

    def claim(self, answer: str, turns: Sequence[Turn]) -> ClaimLogged:
        named = dict.fromkeys(_EVIDENCE_ID.findall(answer))
        known = tuple(self.evidence[name].pointer for name in named if name in self.evidence)
        return ClaimLogged(
            claim_id=f"reply-{self.step}",
            statement=_statement(answer, turns[-1]),
            status="verified" if known else "candidate",
            evidence_refs=known,
            made_from={"statement": _refs(turns)},
        )

    def see(self) -> None:
        if self.unseen:
            last = self.unseen[-1]
            for draft in source_events([f"session:{last.session}"], map(_ref, self.unseen), step=self.step):
                self.log(draft.type, last, draft.payload, draft.step)
        self.unseen = []


_VISIBLE = frozenset({"text", "code", "pointer"})


def _text(parts: Iterable[Part], *types: str) -> str:
    """Returns the texts of parts with blank lines between them; by default only of parts that the user sees."""
    wanted = [part for part in parts if (part.type in types if types else part.type in _VISIBLE)]
    return "\n\n".join(text for part in wanted if not is_blank(text := part_text(part).strip()))


def _ref(turn: Turn) -> str:
    return f"turn:{turn.id}"


def _refs(turns: Iterable[Turn]) -> tuple[str, ...]:
    return tuple(map(_ref, turns))


def _turns(spoken: Iterable[tuple[Turn, Part]]) -> list[Turn]:
    """Returns the turns of some parts, each once."""
    return list({turn.id: turn for turn, _ in spoken}.values())


def _text_payload(text: str, turn: Turn, turns: Sequence[Turn] = ()) -> dict[str, Any]:
    """Returns the payload of a text that refers to one turn, and was made from this one or from several."""
    made_from = {"made_from": {"text": _refs(turns)}} if len(turns) > 1 else {}
    if len(text) <= KEPT:
        return {"text": text, "ref": _ref(turn), **made_from}
    return {"text": text[:KEPT], "length": len(text), "hash": digest(text.encode()), "ref": _ref(turn), **made_from}


def _statement(text: str, turn: Turn) -> str:
    return text if len(text) <= KEPT else f"{text[:KEPT]}… ({_ref(turn)})"
