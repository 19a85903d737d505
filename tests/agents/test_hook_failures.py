"""Failures of hooks are kept for `tt doctor`, in a small file that nothing depends on."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from slicebase.agents.hook_failures import HookFailure, HookFailures
from slicebase.base import Slicebase
from slicebase.workspace.workspace import Workspace

NOW = 1_780_000_000_000


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Slicebase.init(tmp_path / "project").workspace


def failure(number: int = 0, event: str = "PreCompact", message: str = "no") -> HookFailure:
    return HookFailure(NOW + number, "codex", event, "no-input", message)


def test_the_last_failures_are_kept_until_the_hook_succeeds_or_a_week_is_over(workspace: Workspace) -> None:
    failures = HookFailures(workspace)
    for number in range(30):
        failures.add(failure(number, message="x" * 100_000))
    failures.add(failure(30, "SessionEnd"))
    found = failures.recent(NOW + 40)
    assert [each.time - NOW for each in found] == list(range(11, 31))
    assert failures.path.stat().st_size < 20_000
    assert stat.S_IMODE(failures.path.stat().st_mode) == 0o600
    failures.succeeded("claude-code", "PreCompact", NOW + 40)
    assert failures.recent(NOW + 40) == found
    failures.succeeded("codex", "PreCompact", NOW + 40)
    assert [each.event for each in failures.recent(NOW + 40)] == ["SessionEnd"]
    assert not failures.recent(NOW + 8 * 86_400_000)
    failures.succeeded("codex", "SessionEnd", NOW + 40)
    assert not failures.path.exists()


@pytest.mark.parametrize("content", [b"", b"{", b'[{"time": "late"}]', b"[" * 100_000, b"\xff", b" " * (1 << 20)])
def test_a_damaged_file_has_no_failures_and_is_replaced(workspace: Workspace, content: bytes) -> None:
    failures = HookFailures(workspace)
    failures.path.write_bytes(content)
    assert not failures.recent(NOW)
    failures.add(failure())
    assert failures.recent(NOW) == [failure()]


def test_failures_at_the_same_moment_are_all_kept(workspace: Workspace) -> None:
    """Eight hooks fail at once, each with a failure of its own."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: HookFailures(workspace).add(failure(number)), range(16)))
    assert sorted(each.time - NOW for each in HookFailures(workspace).recent(NOW)) == list(range(16))


def test_where_nothing_can_be_written_nothing_is_kept(workspace: Workspace) -> None:
    failures = HookFailures(workspace)
    os.mkdir(failures.path)
    failures.add(failure())
    failures.succeeded("codex", "PreCompact", NOW)
    assert not failures.recent(NOW)


def test_the_doctor_tells_of_hooks_that_failed(workspace: Workspace) -> None:
    with Slicebase.open(workspace.root) as memory:
        now = memory.surroundings.now()
        for number in range(3):
            HookFailures(workspace).add(HookFailure(now + number, "codex", "PreCompact", "no-input", "it is gone"))
        (told,) = (each for each in memory.doctor()[0] if each.check == "hooks")
        assert told.place == "codex PreCompact"
        assert "and 2 times before: it is gone [no-input]" in told.message
        HookFailures(workspace).succeeded("codex", "PreCompact", now)
        assert not [each for each in memory.doctor()[0] if each.check == "hooks"]
