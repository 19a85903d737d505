import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from slicebase.library.finder import Finder
from slicebase.truth.truth import Truth
from slicebase.workspace.workspace import Workspace
from tests.amounts import EXPLORE, MORE
from tests.library.samples import library

# No example has a deadline. Every machine draws the same ones; `HYPOTHESIS_PROFILE=explore make test` draws others.
# The same examples each time, so few are enough here: `make fuzz` tries others with the profile "explore".
FEW = 15
settings.register_profile(
    "steady",
    max_examples=FEW,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# Tests create thousands of small databases. Where there is a file system in memory with room for them, they are there.
# pytest has asked for the folder before this module is loaded, so that the variable alone would not change it.
MEMORY = Path("/dev/shm")
if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 2 << 30:
    tempfile.tempdir = os.environ["TMPDIR"] = str(MEMORY)

# Started by nohup, the tests would ignore it, and so would every process that they start.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# The tests of the truth also run on PostgreSQL: `make test-postgres` names a server.
SERVER = os.environ.get("SLICEBASE_TEST_URL", "")

SLOWEST = [
    f"test_{name}.py"
    for name in ("packages", "main_captured", "boundary_clone", "verify_tampered", "documents", "purge", "aio", "soak")
]

OWN = "_hypothesis_internal_use_settings"  # where hypothesis keeps the settings of a property


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Starts the slowest files first, so that no process is left alone with one at the end.

    A property that asks for many examples gets a quarter of them; `make fuzz` tries them all.
    """
    order = {name: number for number, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))
    if not EXPLORE and MORE == 1:
        for test in {id(test): test for item in items if hasattr(test := getattr(item, "obj", None), OWN)}.values():
            own: settings = getattr(test, OWN)
            if own.max_examples > FEW:
                setattr(test, OWN, settings(own, max_examples=max(FEW, own.max_examples // 4)))


def pytest_collection_finish() -> None:
    """Takes the modules and tests, which stay until the end, out of what the garbage collector looks through.

    Tests create many objects and keep few: it looks less often.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)


@pytest.fixture
def truth(tmp_path: Path) -> Iterator[Truth]:
    opened = Truth(tmp_path / "slicebase.db", create=True, url=SERVER)
    yield opened
    opened.close()


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """An empty workspace outside any repository."""
    return library(tmp_path)


@pytest.fixture
def finder(workspace: Workspace) -> Finder:
    return Finder(workspace)
