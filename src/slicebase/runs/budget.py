"""Budgets of a run, in its done definition, and what it has spent (ruling 38)."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from slicebase.core.times import from_text
from slicebase.errors import SlicebaseError
from slicebase.runs.event import TERMINAL, Event
from slicebase.runs.records import Budgets, DoneDefinition

UNLIMITED = Budgets()


class Spent(NamedTuple):
    """Distinct steps of terminal events, seconds from the first event to the last, and the events' `cost`."""

    steps: int = 0
    seconds: float = 0.0
    cost: float = 0.0


def budgets_of(done_definition: DoneDefinition) -> Budgets:
    given = done_definition.get("budgets") if isinstance(done_definition, dict) else None
    try:
        budgets = msgspec.convert(given or {}, Budgets)
    except msgspec.ValidationError as error:
        raise _bad(str(error)) from None
    for name, limit in msgspec.structs.asdict(budgets).items():
        if limit is not None and (limit < 0 or not math.isfinite(limit)):
            raise _bad(f"{name} is {limit}")
    return budgets


def _bad(problem: str) -> SlicebaseError:
    return SlicebaseError(
        "bad-run-budget",
        f"the budgets of the done definition are not understood: {problem}",
        hint="budgets are max_steps, max_seconds and max_cost, each a number from 0",
    )


def cost_of(payload: Mapping[str, Any]) -> float:
    cost: Any = payload.get("cost")
    known = isinstance(cost, int | float) and not isinstance(cost, bool)
    return max(0.0, float(cost)) if known else 0.0


def spent(events: Iterable[Event]) -> Spent:
    steps: set[int | None] = set()
    first = last = None
    cost = 0.0
    for event in events:
        last = event.time
        first = first or last
        cost += cost_of(event.payload)
        if event.type in TERMINAL:
            steps.add(event.step)
    return Spent(len(steps), seconds_between(first, last), cost)


def seconds_between(first: str | None, last: str | None) -> float:
    return max(0.0, (from_text(last) - from_text(first)) / 1000) if first and last else 0.0


def exceeded(budgets: Budgets, spent: Spent) -> str | None:
    """What is spent beyond its limit, in words; None while there is budget."""
    limits = {
        "steps": (spent.steps, budgets.max_steps),
        "seconds": (spent.seconds, budgets.max_seconds),
        "cost": (spent.cost, budgets.max_cost),
    }
    over = [
        f"{name} {used:g} of {limit:g}" for name, (used, limit) in limits.items() if limit is not None and used > limit
    ]
    return ", ".join(over) or None
