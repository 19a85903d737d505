"""`tt doctor` reports transcripts that are not imported before the client deletes them."""

import json
import os
from pathlib import Path

import pytest

from slicebase.base import Slicebase
from slicebase.history.transcripts import AgentHome, expiring_transcripts

DAY = 86_400_000
NOW = 1_790_000_000_000
SESSION = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def base(tmp_path: Path) -> Slicebase:
    folder = tmp_path / "my project.v2"
    folder.mkdir()
    return Slicebase.init(folder, clock=lambda: NOW / 1000)


def transcript(base: Slicebase, home: Path, age_days: float) -> Path:
    folder = home / "projects" / str(base.workspace.root).translate({ord(c): "-" for c in "/ ._"})
    folder.mkdir(parents=True)
    path = folder / f"{SESSION}.jsonl"
    record = {
        "type": "user",
        "uuid": "00000000-0000-4000-8000-000000000001",
        "parentUuid": None,
        "sessionId": SESSION,
        "timestamp": "2026-01-01T00:00:00Z",
        "message": {"role": "user", "content": "hello"},
    }
    path.write_text(json.dumps(record) + "\n" + json.dumps({"type": "summary", "summary": "x"}) + "\n")
    os.utime(path, ns=(0, int(NOW - age_days * DAY) * 1_000_000))
    return path


def found(base: Slicebase, home: Path) -> list[tuple[Path, int]]:
    return list(expiring_transcripts(base.workspace, AgentHome(home, NOW)))


@pytest.mark.parametrize(("age", "days"), [(22, None), (23.5, 6), (29.5, 0), (90, 0)])
def test_a_transcript_is_reported_in_its_last_week(
    age: float, days: int | None, base: Slicebase, tmp_path: Path
) -> None:
    path = transcript(base, tmp_path / "home", age)
    assert found(base, tmp_path / "home") == ([] if days is None else [(path, days)])


def test_an_imported_transcript_is_not_reported(base: Slicebase, tmp_path: Path) -> None:
    path = transcript(base, tmp_path / "home", 29)
    base.follow(path)
    assert found(base, tmp_path / "home") == []


@pytest.mark.parametrize(
    ("name", "settings", "is_reported"),
    [
        ("home/settings.json", '{"cleanupPeriodDays": 90}', False),
        ("my project.v2/.claude/settings.json", '{"cleanupPeriodDays": 90}', False),
        ("my project.v2/.claude/settings.local.json", '{"cleanupPeriodDays": 10}', True),
        ("home/settings.json", '{"cleanupPeriodDays": "x"}', True),
        ("home/settings.json", "[]", True),
        ("home/settings.json", "{", True),
    ],
)
def test_the_clients_own_settings_count(
    name: str, settings: str, is_reported: bool, base: Slicebase, tmp_path: Path
) -> None:
    transcript(base, tmp_path / "home", 29)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(settings)
    assert bool(found(base, tmp_path / "home")) == is_reported


def test_the_doctor_complains_unless_there_are_no_transcripts(base: Slicebase, tmp_path: Path) -> None:
    transcript(base, tmp_path / "home", 29)
    left, _ = base.doctor("driver", home=tmp_path / "home")
    assert [each.check for each in left] == ["transcripts"]
    assert base.doctor("driver", home=str(tmp_path / "none"))[0] == []
