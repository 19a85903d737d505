import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from slicebase.cli.main import run
from slicebase.history.inputs import LONG_SAMPLE


class Done(NamedTuple):
    """The result of a command: its exit status, what it printed, and the JSON that this contains."""

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


@pytest.fixture(scope="session")
def sample_lost(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace in which `tt lost` has judged the long sample, for copies."""
    folder = tmp_path_factory.mktemp("lost")
    assert run(["--root", str(folder), "init"]) == 0
    assert run(["--root", str(folder), "lost", str(LONG_SAMPLE)]) == 0
    return folder


@pytest.fixture
def tt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Tt:
    """Returns a function that runs a command as `tt` does, in its own folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("SLICEBASE_ROOT", "TT_DIR"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: object) -> Done:
        capfd.readouterr()
        status = run([str(argument) for argument in arguments])
        printed = capfd.readouterr()
        return Done(status, printed.out, printed.err)

    return call
