import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from slicebase.cli.main import run


class Done(NamedTuple):
    """What a command did: its exit status, what it printed, and the JSON in that."""

    exit: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        return json.loads(self.err.splitlines()[-1])


Tt = Callable[..., Done]


@pytest.fixture
def tt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Tt:
    """Runs a command as `tt` would, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLICEBASE_ROOT", raising=False)

    def call(*arguments: object) -> Done:
        capfd.readouterr()
        status = run([str(argument) for argument in arguments])
        printed = capfd.readouterr()
        return Done(status, printed.out, printed.err)

    return call
