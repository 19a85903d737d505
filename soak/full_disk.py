"""A full disk: every verb says `disk-full`, and what was acknowledged is there."""

import os
import resource
from math import exp, log
from pathlib import Path
from random import Random

from soak.checks import hidden_files
from soak.figures import Outcome
from soak.ground import Ground, repeat, working
from soak.works import WORKS
from soak.writers import Writer


def limited_sizes(ground: Ground, random: Random, number: int) -> Outcome:
    """Lets no file of a writer grow beyond a random size, as a quota does."""
    name = list(WORKS)[number % len(WORKS)]
    largest = ground.measured(name).largest
    size = int(exp(random.uniform(0, log(largest)))) if random.random() < 0.3 else random.randint(0, largest)
    folder, outcome = ground.copy(random), Outcome()
    limits = (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    writer = Writer(working(name, folder), lambda pipe: resource.setrlimit(resource.RLIMIT_FSIZE, limits))
    _judge(name, folder, writer, outcome)
    return ground.done(folder, outcome)


def small_disk(ground: Ground, random: Random, number: int) -> Outcome:
    """Lets a writer fill a disk that has little space left."""
    name = list(WORKS)[number % len(WORKS)]
    disk = ground.small_disk()
    if disk is None:
        return Outcome(skipped="no tmpfs can be mounted here")
    folder, outcome = ground.copy(random, disk), Outcome()
    left = random.randint(0, ground.measured(name).largest)
    ballast = disk / "ballast"
    status = os.statvfs(disk)
    ballast.write_bytes(bytes(max(0, status.f_bavail * status.f_frsize - left)))
    writer = Writer(working(name, folder))
    writer.end()
    ballast.unlink()
    _judge(name, folder, writer, outcome)
    return ground.done(folder, outcome)


def _judge(name: str, folder: Path, writer: Writer, outcome: Outcome) -> None:
    writer.end()
    if any(code != "disk-full" for _, code, _ in writer.errors) or (writer.status or 0) < 0:
        outcome.alarms.append(f"{name}: {writer.errors or writer.status}")
    outcome.unfinished += [f"left: {path}" for path in hidden_files([folder])]
    repeat(name, folder, writer, outcome)
