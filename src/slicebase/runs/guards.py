"""The guards of a run, which watch over it besides the gate: loops, contexts that must be bound, limits that are near.

They are a part of the terms of a run, in `done_definition.guards`. So they never change, a fork has the same, and every
snapshot says which ones there were.
"""

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from slicebase.core.times import from_text
from slicebase.errors import SlicebaseError
from slicebase.runs.event import Event
from slicebase.runs.loops import Loop
from slicebase.runs.records import Budgets, DoneDefinition, LoopLogged, Record
from slicebase.runs.values import shown_number

if TYPE_CHECKING:
    from slicebase.runs.gate import Spent

LoopMode = Literal["warn", "stop", "off"]
GUARDS = "guards"  # the key in the done definition
LOOP_ALLOWED = "LOOP_ALLOWED"


class Guards(Record, frozen=True):
    """What happens in a loop, whether every step with an action needs a manifest, and when a limit is near."""

    loop: LoopMode = "warn"
    require_manifest: bool = False
    soft: float = 0.8  # the share of a budget after which a warning is given


DEFAULT_GUARDS = Guards()


def loop_logged(loop: Loop) -> LoopLogged:
    """Returns the payload of the event that notes a loop. It repeats no words of the log."""
    return LoopLogged(kind=loop.kind, times=loop.times, cycles=loop.cycles)


def allows(allowed: Event, step: int | None, now: str) -> bool:
    """Returns whether a LOOP_ALLOWED event covers a later event, by its step and by when it is logged.

    An agent may give any time to its events. So their times do not count.
    """
    until_step, until = allowed.payload.get("until_step"), allowed.payload.get("until")
    if until_step is not None and (step is None or step > until_step):
        return False
    return until is None or from_text(now) <= from_text(until)


def read_guards(done: DoneDefinition) -> Guards:
    """Returns the guards in a done definition; those that are not given are the usual ones.

    Raises `bad-run` if they cannot be read.
    """
    given: Any = done.get(GUARDS) if isinstance(done, dict) else None
    if given is None:
        return DEFAULT_GUARDS
    try:
        guards = msgspec.convert(given, Guards)
    except msgspec.ValidationError as error:
        raise _bad_guards(str(error)) from None
    if not 0 < guards.soft <= 1:
        raise _bad_guards(f"soft is {guards.soft}")
    return guards


def _bad_guards(problem: str) -> SlicebaseError:
    return SlicebaseError(
        "bad-run",
        f"the guards of the done definition cannot be read: {problem}",
        hint="guards are loop (warn, stop or off), require_manifest (true or false) and soft, above 0 and at most 1",
    )


def guards_of(done: DoneDefinition) -> Guards:
    """Returns the guards of a run that is stored. One that was started before there were guards may say anything."""
    try:
        return read_guards(done)
    except SlicebaseError:
        return DEFAULT_GUARDS


def with_guards(done: DoneDefinition, **more: Any) -> DoneDefinition:
    """Returns a done definition with further parts, such as budgets and guards, which only an object can have.

    What it says itself of a part stays, unless the same is given.
    """
    given = {name: value for name, value in more.items() if value}
    if not given or not done or not isinstance(done, str | dict):
        return done
    said = done if isinstance(done, dict) else {"text": done}
    return {**said, **{name: _joined(said.get(name), value) for name, value in given.items()}}


def _joined(said: Any, given: dict[str, Any]) -> Any:
    return given if said is None else {**said, **given} if isinstance(said, dict) else said


# Limits that are near


def near_limits(budgets: Budgets, spent: "Spent", share: float) -> dict[str, str]:
    """Returns the budgets of which this share is spent, each in words. They are not exceeded yet, or just so."""
    limits = {
        "steps": (spent.steps, budgets.max_steps),
        "seconds": (spent.seconds, budgets.max_seconds),
        "cost": (spent.cost, budgets.max_cost),
    }
    return {
        name: f"{name} {shown_number(used)} of {shown_number(limit)} are spent"
        for name, (used, limit) in limits.items()
        if limit and round(used / limit, 9) >= share  # a sum of costs is not exact
    }
