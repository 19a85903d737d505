"""Asks for a recorded context again: with the same question, budget and policy, of what is stored now."""

from slicebase.context.assemble import Context
from slicebase.context.lost import LOST_RULES
from slicebase.context.manifest import Manifest
from slicebase.verbs.newest import NEWEST
from slicebase.verbs.parts import Parts


def context_again(parts: Parts, before: Manifest, *, record: bool = True) -> Context:
    """Builds a context again with the verb that built it: its ranker tells which one."""
    if before.ranker == NEWEST:
        from slicebase.verbs.newest import project_context

        return project_context(parts, before.budget.tokens, record=record)
    if before.ranker == LOST_RULES:
        from slicebase.verbs.lost import lost_context

        session, prompt = before.filters["session"], before.filters.get("prompt")
        return lost_context(parts, session, before.budget.tokens, prompt=prompt, record=record)
    from slicebase.verbs.contexts import question_again

    return question_again(parts, before, record=record)
