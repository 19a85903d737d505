"""Builds a recorded context again: with the same question, budget and policy, of what is stored now."""

from slicebase.context.assemble import Candidate, Context
from slicebase.context.lost.judged import LOST_RULES
from slicebase.context.manifest import Manifest
from slicebase.context.render import heading
from slicebase.core.times import milliseconds, to_text
from slicebase.errors import SlicebaseError
from slicebase.verbs.contexts import Request, context_for
from slicebase.verbs.graph import Graph
from slicebase.verbs.lost import lost_context
from slicebase.verbs.newest import NEWEST, project_context
from slicebase.verbs.parts import Parts
from slicebase.verbs.record import built


def context_again(parts: Parts, before: Manifest, *, record: bool = True) -> Context:
    """Builds a context again with the verb that built it, which its ranker tells, of what is stored now."""
    if before.ranker == NEWEST:
        return project_context(parts, before.budget.tokens, record=record)
    if before.ranker == LOST_RULES:
        session, prompt = before.filters["session"], before.filters.get("prompt")
        last = before.filters.get("last")
        return lost_context(parts, session, before.budget.tokens, prompt=prompt, as_of=last, record=record)
    return _question_again(parts, before, record=record)


def _question_again(parts: Parts, before: Manifest, *, record: bool) -> Context:
    """Asks the question of a manifest again, with the same budget and policy, of what is stored now.

    A context as of a time is built as of that time again. A context of a run begins with the last snapshot of the run;
    it is bound to no step.
    """
    policy = Graph(parts).policy(before.policy_params_hash or "focused")
    budget = before.budget
    last = before.filters.get("last")
    moment = parts.surroundings.now() if last is None else milliseconds(last)
    request = Request(before.question, budget.tokens, budget.turns, moment, policy, last is not None)
    return built(parts, lambda: context_for(parts, request, _snapshot_again(parts, before, request)), record=record)


def _snapshot_again(parts: Parts, before: Manifest, request: Request) -> tuple[Candidate, ...]:
    """Returns the first piece of a context again if it is a snapshot, and its run is still there."""
    corpus = before.pieces[0].corpus if before.pieces else ""
    if not corpus.startswith("run:"):
        return ()
    from slicebase.verbs.narrate import first_pieces

    try:
        first = heading(request.question, to_text(request.as_of))
        return first_pieces(parts, corpus.removeprefix("run:"), request.tokens, first, request.last)
    except SlicebaseError as error:
        if error.code not in ("no-run", "purged"):
            raise
        return ()
