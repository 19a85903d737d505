"""Finds transcripts that a coding agent will soon delete and that are not imported yet."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from slicebase.core.ids import is_uuid
from slicebase.errors import SlicebaseError
from slicebase.truth.truth import open_truth
from slicebase.workspace.atomic import TEXT_FILE, read_bytes
from slicebase.workspace.workspace import Workspace

_DAY: Final = 86_400_000
_DEFAULT_DAYS: Final = 30  # the client's default
_SOON_DAYS: Final = 7


class AgentHome(NamedTuple):
    """The folder where Claude Code keeps its data, and the current time."""

    folder: Path
    now: int


class ExpiringTranscript(NamedTuple):
    """A transcript that will soon be deleted."""

    path: Path
    days: int  # until it is deleted; 0 if that may happen at any time


def expiring_transcripts(workspace: Workspace, home: AgentHome) -> Iterator[ExpiringTranscript]:
    """Yields the transcripts of this project that will soon be deleted and whose last turn is not stored."""
    period = _cleanup_days(workspace.root, home.folder)
    for path in sorted(_project_folder(workspace.root, home.folder).glob("*.jsonl")):
        try:
            if not path.is_file():  # opening a pipe would wait forever
                continue
            left = period - (home.now - path.stat().st_mtime_ns // 1_000_000) / _DAY
            if left <= _SOON_DAYS and not _is_imported(path, workspace):
                yield ExpiringTranscript(path, max(0, int(left)))
        except OSError:
            continue  # gone since the folder was listed


def _project_folder(root: Path, home: Path) -> Path:
    return home / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(root))


def _cleanup_days(root: Path, home: Path) -> float:
    """Returns the period from the last of these settings: the user's, the project's, the user's for the project."""
    days: float = _DEFAULT_DAYS
    for path in (home / "settings.json", root / ".claude/settings.json", root / ".claude/settings.local.json"):
        try:
            given = json.loads(read_bytes(path, follow=True, most=TEXT_FILE)).get("cleanupPeriodDays")
        except (OSError, SlicebaseError, ValueError, AttributeError, RecursionError):
            continue
        if isinstance(given, int | float) and not isinstance(given, bool) and given >= 0:
            days = given
    return days


def _is_imported(path: Path, workspace: Workspace) -> bool:
    last = next(_last_turns(path), None)
    if last is None:
        return True  # it contains no turn that could be lost
    if not workspace.has_memory:
        return False
    truth = open_truth(workspace)
    try:
        return last in truth.turns.find([last])
    finally:
        truth.close()


_TAIL: Final = 256 << 10  # bytes at the end of a transcript
_TURNS: Final = frozenset({"user", "assistant"})


def _last_turns(path: Path) -> Iterator[str]:
    """Yields the ids of the turns at the end of a transcript, the last first."""
    with path.open("rb") as stream:
        size = stream.seek(0, 2)
        stream.seek(max(0, size - _TAIL))
        lines = stream.read().split(b"\n")
    for line in reversed(lines):
        try:
            record: Any = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and record.get("type") in _TURNS and is_uuid(str(record.get("uuid"))):
            yield str(record["uuid"]).lower()
