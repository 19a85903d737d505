"""Processes that are killed while they write, for tests in one process."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest


class Killed(BaseException):
    """Stands for the end of a process: nothing after it changes the disk."""


@contextmanager
def killed_at(number: int) -> Iterator[None]:
    """Ends the process at the rename or deletion of a file with this number."""
    done = 0
    with pytest.MonkeyPatch.context() as patch:
        for name in ("replace", "unlink"):
            real = getattr(os, name)

            def call(*given: object, real: Callable[..., None] = real, **options: object) -> None:
                nonlocal done
                if done + 1 >= number:
                    raise Killed
                real(*given, **options)
                done += 1

            patch.setattr(os, name, call)
        yield
