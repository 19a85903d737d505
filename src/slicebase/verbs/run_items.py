"""The events of items: claims, conflicts, failures and questions, made from what the run knows of them.

Each function returns one that makes the event inside the transaction that writes it, so that an id which it gives is
free (ruling 47).
"""

from collections.abc import Callable

import msgspec

from slicebase.errors import SlicebaseError
from slicebase.runs.event import EventDraft
from slicebase.runs.items import Items, free_id, logged_item
from slicebase.runs.records import (
    ClaimLogged,
    ClaimStatus,
    ConflictLogged,
    FailureLogged,
    Pointer,
    QuestionLogged,
)

MakeEvent = Callable[[Items], EventDraft]


def claim_stated(
    id: str | None, statement: str, status: ClaimStatus, pointers: tuple[Pointer, ...], step: int | None
) -> MakeEvent:
    """Returns how a claim, or a new statement of one, becomes an event."""

    def stated(items: Items) -> EventDraft:
        name = free_id(items, "CLAIM", "c") if id is None else id
        claim = ClaimLogged(claim_id=name, statement=statement, status=status, evidence_refs=pointers)
        return EventDraft.of("CLAIM", claim, step=step)

    return stated


def claim_changed(
    id: str | None, status: ClaimStatus | None, pointers: tuple[Pointer, ...], step: int | None
) -> MakeEvent:
    """Returns how a change of a claim that is known becomes an event."""

    def changed(items: Items) -> EventDraft:
        before = logged_item(items, "CLAIM", id)
        payload = {**before, "status": status or before["status"]}
        if pointers:
            payload["evidence_refs"] = msgspec.to_builtins(pointers)
        return EventDraft(type="CLAIM", step=step, payload=payload)

    return changed


def conflict_stated(
    id: str | None, description: str, one: tuple[Pointer, ...], other: tuple[Pointer, ...], step: int | None
) -> MakeEvent:
    """Returns how a conflict becomes an event."""

    def stated(items: Items) -> EventDraft:
        name = free_id(items, "CONFLICT", "x") if id is None else id
        conflict = ConflictLogged(conflict_id=name, description=description, side_a_refs=one, side_b_refs=other)
        return EventDraft.of("CONFLICT", conflict, step=step)

    return stated


def failure_stated(id: str | None, category: str, where: str, why: str, step: int | None) -> MakeEvent:
    """Returns how a failure becomes an event."""

    def stated(items: Items) -> EventDraft:
        name = free_id(items, "FAILURE", "f") if id is None else id
        failure = FailureLogged(failure_id=name, category=category, where=where, why=why)
        return EventDraft.of("FAILURE", failure, step=step)

    return stated


def question_stated(run_id: str, text: str, step: int | None, *, close: bool) -> MakeEvent:
    """Returns how a question, or the end of one that is open, becomes an event."""
    question = QuestionLogged(question=text, status="closed" if close else "open")

    def stated(items: Items) -> EventDraft:
        if close and text not in items.state("QUESTION", text).open_questions:
            message = f"run:{run_id} has no open question {text!r}"
            raise SlicebaseError("no-item", message, hint="`tt run status` shows the open questions")
        return EventDraft.of("QUESTION", question, step=step)

    return stated


def resolved(type_: str, item_id: str | None) -> MakeEvent:
    """Returns how the end of a conflict or a failure becomes an event."""
    return lambda items: EventDraft(type=type_, payload={**logged_item(items, type_, item_id), "status": "resolved"})
