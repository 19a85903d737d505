"""Tests for `tt turns` where sessions are copies of other sessions, as clients write them for `--resume`."""

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import Tt


def record(session: str, turn: str, parent: str | None, **more: Any) -> dict[str, Any]:
    said = {"role": "user", "content": f"This is {turn}."}
    there = {"cwd": "/repo/gateway", "gitBranch": "main", "version": "2", "timestamp": "2026-05-01T10:00:00.000Z"}
    fields = {"isSidechain": False, "userType": "external", **there, "message": said, **more}
    return {"type": "user", "uuid": turn, "parentUuid": parent, "sessionId": session, **fields}


def resumed(folder: Path, name: str, turns: str) -> Path:
    """Writes a session whose turns have these letters, each with its number; equal ones are the same turns."""
    ids = [f"{letter * 8}-0000-4000-8000-{number:012d}" for number, letter in enumerate(turns)]
    records = [record(name, turn, parent) for turn, parent in zip(ids, [None, *ids], strict=False)]
    path = folder / f"{name}.jsonl"
    path.write_text("\n".join(json.dumps(each) for each in records))
    return path


THIRD, FOURTH, FIFTH, SIXTH = (f"0f3a{number}-0000-4000-8000-000000000004" for number in (3333, 4444, 5555, 6666))


def copies(tt: Tt) -> dict[str, str]:
    return {row["session"]: row["copy_of"] for row in tt("turns", "--json").json["rows"] if row["copy_of"]}


def test_a_long_copy_and_one_with_subagents_are_listed_as_copies(tt: Tt, tmp_path: Path) -> None:
    for name, copy, count in ((FIFTH, SIXTH, 2500), (THIRD, FOURTH, 3)):
        for each in (name, copy):
            folder = tmp_path / each
            (folder / each / "subagents").mkdir(parents=True)
            resumed(folder, each, ("a" if count > 3 else "c") * count)
            if count == 3:
                agent = record(each, f"{each[:8]}-0000-4000-9000-000000000050", None, isSidechain=True, agentId="ag7")
                (folder / each / "subagents" / "agent-ag7.jsonl").write_text(json.dumps(agent))
            assert tt("import", folder).exit == 0

    assert copies(tt) == {SIXTH: FIFTH, FOURTH: THIRD}


def test_a_copy_names_the_session_that_has_all_of_its_turns(tt: Tt, tmp_path: Path) -> None:
    names = [f"0f3a{number}-0000-4000-8000-000000000009" for number in range(5000, 5005)]
    first, second, both, grown, apart = names
    for name, turns in ((first, "a" * 6), (second, "a" * 6 + "b" * 2), (both, "a" * 6 + "b" * 2)):
        assert tt("import", resumed(tmp_path, name, turns)).exit == 0
    assert copies(tt) == {both: second}
    # The copy that goes on with turns of the same session is still one of that.
    assert tt("import", resumed(tmp_path, grown, "a" * 3)).exit == 0
    assert tt("import", resumed(tmp_path, grown, "a" * 6)).exit == 0
    assert copies(tt) == {both: second, grown: first}
    # No session has the turns of two that have nothing in common.
    assert tt("import", resumed(tmp_path, THIRD, "c" * 2)).exit == 0
    mixed = [
        *resumed(tmp_path, apart, "a" * 6).read_text().splitlines(),
        *resumed(tmp_path, apart, "c" * 2).read_text().splitlines(),
    ]
    (tmp_path / f"{apart}.jsonl").write_text("\n".join(mixed))
    assert tt("import", tmp_path / f"{apart}.jsonl").exit == 0
    assert copies(tt) == {both: second, grown: first}
