"""Kills: a writer dies at a random moment, also while another one works."""

import signal
from collections.abc import Callable
from random import Random
from typing import Final

from soak.checks import check
from soak.figures import Outcome
from soak.ground import Ground, repeat, working
from soak.moments import Moments
from soak.works import WORKS
from soak.writers import Writer, wait

_BYSTANDERS: Final = ("import", "log", "rows", "pages", "seal", "steps", "")


def killed_after_a_time(ground: Ground, random: Random, number: int) -> Outcome:
    """Kills a writer after a random time, at most a little later than its work takes."""
    name = list(WORKS)[number % len(WORKS)]
    seconds = random.uniform(0, ground.measured(name).seconds * 1.1)
    return _killed(ground, random, name, lambda pipe: None, seconds)


def killed_at_a_change(ground: Ground, random: Random, number: int) -> Outcome:
    """Kills a writer at a change of a file: before it, after it, or when half of the bytes are written."""
    name = list(WORKS)[number % len(WORKS)]
    last = random.randint(1, ground.measured(name).changes)
    return _killed(ground, random, name, lambda pipe: Moments(last, pipe), None)


def _killed(
    ground: Ground, random: Random, name: str, prepare: Callable[[int], object], seconds: float | None
) -> Outcome:
    outcome, folder = Outcome(), ground.copy(random)
    other = random.choice(_BYSTANDERS) if random.random() < 0.3 else ""
    bystander = Writer(working(other, folder, "2")) if other else None
    writer = Writer(working(name, folder), prepare)
    if seconds is not None:
        wait([writer], seconds)
        writer.stop(signal.SIGKILL)
    writer.end()
    if writer.errors:
        outcome.alarms.append(f"{name}: {writer.errors}")
    if bystander is not None:
        if bystander.end():
            outcome.alarms.append(f"{other} beside {name}: {bystander.errors or bystander.status}")
        outcome.acknowledged += len(bystander.acknowledged)
        check(folder, bystander.acknowledged, outcome)
    repeat(name, folder, writer, outcome)
    return ground.done(folder, outcome)
