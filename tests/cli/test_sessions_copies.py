"""Tests for `tt turns` where sessions are copies of other sessions, as clients write them for `--resume`."""

import json
from pathlib import Path
from typing import Any

import pytest

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


def goes_on(folder: Path, name: str, before: Path, turns: str) -> Path:
    """Writes a session that has only its own turns, and goes on from another one."""
    earlier = [json.loads(line) for line in before.read_text().splitlines()]
    path = resumed(folder, name, turns)
    own = [json.loads(line) for line in path.read_text().splitlines()]
    own[0]["parentUuid"] = earlier[-1]["uuid"]
    path.write_text("\n".join(map(json.dumps, own)))
    return path


def copied(folder: Path, name: str, *parts: Path) -> Path:
    path = folder / f"{name}.jsonl"
    records = [json.loads(line) | {"sessionId": name} for part in parts for line in part.read_text().splitlines()]
    path.write_text("\n".join(map(json.dumps, records)))
    return path


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


def test_a_copy_in_pieces_is_one_of_the_session_that_goes_on_from_the_others(tt: Tt, tmp_path: Path) -> None:
    """However its turns arrive: in one batch, in several, again, or while it grows."""
    first, second, third, copy, mixed = (f"0f3a{number}-0000-4000-8000-000000000009" for number in range(6000, 6005))
    one = resumed(tmp_path, first, "a" * 1500)
    two = goes_on(tmp_path, second, one, "b" * 1500)
    three = goes_on(tmp_path, third, two, "d" * 3)
    apart = resumed(tmp_path, FIFTH, "e" * 3)
    assert tt("import", one, two, three, apart).exit == 0
    for parts, holder in (((one,), first), ((one, two), second), ((one, two, three), third), ((one, two), third)):
        assert tt("import", copied(tmp_path, copy, *parts)).exit == 0
        assert copies(tt) == {copy: holder}
    # No session has what two have that have nothing in common, whatever comes later.
    for parts in ((one, apart), (apart, one), (one,)):
        assert tt("import", copied(tmp_path, mixed, *parts)).exit == 0
        assert copies(tt) == {copy: third}


def test_a_copy_of_calls_that_were_made_at_once_and_of_what_came_after_is_one(tt: Tt, tmp_path: Path) -> None:
    """The results of the other calls are beside the path on which the conversation goes on."""
    asked, one_call, other_call = (f"0f3b000{number}-0000-4000-8000-000000000000" for number in range(3))
    records = [record(FIFTH, asked, None), record(FIFTH, one_call, asked), record(FIFTH, other_call, asked)]
    records[1], records[2] = records[2], records[1]  # the one on which it goes on stands last
    (tmp_path / f"{FIFTH}.jsonl").write_text("\n".join(map(json.dumps, records)))
    two = goes_on(tmp_path, SIXTH, tmp_path / f"{FIFTH}.jsonl", "b")
    assert tt("import", tmp_path / f"{FIFTH}.jsonl", two).exit == 0
    assert tt("import", copied(tmp_path, THIRD, tmp_path / f"{FIFTH}.jsonl", two)).exit == 0
    assert copies(tt) == {THIRD: SIXTH}


def test_a_copy_of_what_was_purged_has_nothing_either(tt: Tt, tmp_path: Path) -> None:
    one = resumed(tmp_path, FIFTH, "a" * 3)
    assert tt("import", one).exit == 0
    assert tt("import", copied(tmp_path, SIXTH, one)).exit == 0
    assert "which has all of its turns" in tt("turns").out
    assert tt("purge", f"session:{FIFTH}").exit == 0
    listed = tt("turns").out
    assert "0f3a6666  purged  0 turns" in listed
    assert "which had all of its turns" in listed
    assert {row["session"]: row["purged"] for row in tt("turns", "--json").json["rows"]} == {FIFTH: True, SIXTH: True}


def test_a_purge_says_which_sessions_still_have_turns_that_a_session_showed(tt: Tt, tmp_path: Path) -> None:
    """A copy has none of its own, and what was resumed begins with those of another session."""
    one = resumed(tmp_path, FIFTH, "a" * 3)
    assert tt("import", one, copied(tmp_path, SIXTH, one), goes_on(tmp_path, FOURTH, one, "b" * 2)).exit == 0
    for dry_run in (("--dry-run",), ()):
        copy, later = (tt("purge", f"session:{name}", *dry_run).err for name in (SIXTH, FOURTH))
        assert f"Not reached: session:{FIFTH}, which has the turns of this copy." in copy
        assert f"Not reached: session:{FIFTH}, from which it goes on." in later
    assert f"session:{FIFTH}" not in tt("purge", f"session:{FIFTH}").err
    assert tt("verify").exit == 0


@pytest.mark.parametrize(
    ("command", "status"), [(("turns",), 1), (("export", "--to", "copy.slice"), 4), (("run", "from"), 3)]
)
def test_who_asks_for_the_turns_of_a_copy_is_told_which_session_has_them(
    command: tuple[str, ...], status: int, tt: Tt, tmp_path: Path
) -> None:
    """An export of a copy was an empty conversation, and its list of turns said nothing."""
    one = resumed(tmp_path, FIFTH, "a" * 3)
    assert tt("import", one, copied(tmp_path, SIXTH, one)).exit == 0
    for name in (SIXTH, SIXTH[:8], f"session:{SIXTH}"):
        asked = tt(*command, name)
        assert (asked.exit, asked.out) == (status, "")
        assert f"it is a copy of session:{FIFTH}, which has its turns" in asked.err
    assert not (tmp_path / "copy.slice").exists()
    assert "copy" not in tt("turns", FIFTH, "nothing like this").err


def test_what_was_lost_in_a_copy_is_what_was_lost_in_the_session_that_has_its_turns(tt: Tt, tmp_path: Path) -> None:
    said = "Always run the linter before you commit, and never push to main."
    turn, summary = (f"0f3b000{number}-0000-4000-8000-000000000000" for number in range(2))
    records = [
        record(FIFTH, turn, None, message={"role": "user", "content": said}),
        record(FIFTH, summary, turn, isCompactSummary=True),
    ]
    one = tmp_path / f"{FIFTH}.jsonl"
    one.write_text("\n".join(map(json.dumps, records)))
    assert tt("import", one).exit == 0
    copy = copied(tmp_path, SIXTH, one)
    asked = tt("lost", FIFTH, "--json")
    assert asked.exit == 0
    assert tt("import", copy).exit == 0
    for name in (SIXTH, SIXTH[:8], f"session:{SIXTH}", copy):
        assert tt("lost", name, "--json").json == asked.json
    assert tt("lost", SIXTH, "--cost").exit == tt("lost", SIXTH, "--tokens", 500).exit == 0
    assert "0f3a6666 is a copy of session:0f3a5555" in tt("lost", SIXTH[:8]).err
    assert "is a copy of" not in tt("lost", FIFTH).err
