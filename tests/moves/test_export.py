"""Exports: the same memory gives the same bytes, what is there is added to, and other programs can check it."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import apsw
import jsonschema
import pytest

from slicebase import Slicebase, SlicebaseError
from slicebase.errors import Exit
from tests.kills import Killed, killed_at
from tests.moves.memories import filled, first_session, purge_something, restored


def contents(folder: Path) -> dict[str, bytes]:
    """Returns the files of an export, without what git and others keep beside them."""
    found = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if not name.startswith(".git/")}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Slicebase]:
    with filled(tmp_path / "w") as opened:
        yield opened


def test_the_same_memory_gives_the_same_bytes_in_any_new_folder_and_archive(memory: Slicebase, tmp_path: Path) -> None:
    purge_something(memory)
    reports = [memory.export_workspace(tmp_path / name) for name in ("a", "b", "a.tar.zst", "b.tar.zst")]
    assert len({report.heads for report in reports}) == 1
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert (tmp_path / "a.tar.zst").read_bytes() == (tmp_path / "b.tar.zst").read_bytes()
    assert [name for name in contents(tmp_path / "a") if name.startswith(".")] == [".gitattributes"]


def test_an_export_is_checked_with_sha256sum_and_jq_as_its_readme_says(memory: Slicebase, tmp_path: Path) -> None:
    memory.export_workspace(tmp_path / "e")
    page = (tmp_path / "e" / "README.md").read_text()
    commands = [
        block.replace("NAME", first_session(memory)) for block in page.split("\n\n") if block.startswith("    ")
    ]
    assert len(commands) == 2
    for command in commands:
        done = subprocess.run(command, shell=True, cwd=tmp_path / "e", capture_output=True, text=True, check=True)
        assert done.stdout + done.stderr == ""
    texts = tmp_path / "e" / "texts" / "session" / f"{first_session(memory)}.jsonl"
    texts.write_bytes(texts.read_bytes().replace(b"the", b"thy"))
    for command in commands:
        done = subprocess.run(command, shell=True, cwd=tmp_path / "e", capture_output=True, text=True, check=False)
        assert done.stdout + done.stderr != ""


def test_every_line_follows_the_schema_that_comes_with_it(memory: Slicebase, tmp_path: Path) -> None:
    purge_something(memory)
    folder = tmp_path / "e"
    memory.export_workspace(folder)
    schemas = {path.stem: json.loads(path.read_text()) for path in (folder / "schemas").iterdir()}
    jsonschema.validate(json.loads((folder / "manifest.json").read_text()), schemas["manifest"])
    lines = 0
    for path in folder.rglob("*.jsonl"):
        head, *others = [json.loads(line) for line in path.read_text().splitlines()]
        jsonschema.validate(head, schemas["head"])
        validator = jsonschema.Draft202012Validator(schemas[head["lines"].removesuffix("s")])
        for line in others:
            validator.validate(line)
            lines += 1
    assert lines > 1000


def test_a_second_export_touches_nothing_and_growth_touches_only_what_grew(memory: Slicebase, tmp_path: Path) -> None:
    folder = tmp_path / "e"
    memory.export_workspace(folder)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    assert memory.export_workspace(folder).written == ()
    assert before == {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    old = contents(folder)
    memory.runs.log("own", [{"type": "note", "payload": {"text": "one more"}}])
    assert memory.export_workspace(folder).written == ("runs/own.jsonl", "texts/run/own.jsonl")
    assert set(old["runs/own.jsonl"].splitlines()) < set((folder / "runs" / "own.jsonl").read_bytes().splitlines())


def test_what_is_purged_here_is_taken_out_there(memory: Slicebase, tmp_path: Path) -> None:
    memory.runs.start("gone", "An unmistakable objective of this run, in many words.", "It is gone.")
    for place in ("e", "e.tar.zst"):
        memory.export_workspace(tmp_path / place)
    assert any(b"An unmistakable" in data for data in contents(tmp_path / "e").values())
    assert any(f"{tmp_path}/e," in place for place in memory.purge("run:gone").beyond)
    for place in ("e", "e.tar.zst"):
        assert memory.export_workspace(tmp_path / place).purged == 1
    assert not any(b"An unmistakable" in data for data in contents(tmp_path / "e").values())
    memory.export_workspace(tmp_path / "again")
    assert contents(tmp_path / "e") == contents(tmp_path / "again")


def test_files_of_others_in_the_folder_stay_and_a_folder_of_others_is_refused(
    memory: Slicebase, tmp_path: Path
) -> None:
    folder = tmp_path / "e"
    memory.export_workspace(folder)
    (folder / "notes.txt").write_text("mine")
    (folder / "slices" / "theirs.slice").write_text("theirs")
    memory.export_workspace(folder)
    assert (folder / "notes.txt").read_text() == "mine"
    assert (folder / "slices" / "theirs.slice").read_text() == "theirs"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name, code in (("other", "file-exists"), ("file", "cannot-write")):
        with pytest.raises(SlicebaseError) as caught:
            memory.export_workspace(tmp_path / name)
        assert caught.value.code == code


def test_a_memory_holds_no_copy_of_itself(memory: Slicebase, tmp_path: Path) -> None:
    root = memory.workspace.root
    for place in (".slices/inside", ".slices/x.tar.zst", ".slicebase/cache/inside", ".slicebase/x.tar.zst", "."):
        before = contents(root)
        for copy in (memory.export_workspace, memory.backup):
            with pytest.raises(SlicebaseError) as caught:
                copy(root / place)
            assert caught.value.code in ("outside-workspace", "file-exists", "bad-move"), place
        assert contents(root) == before
    memory.export_workspace(root / "shared")
    memory.backup(root / "b.tar.zst")


def test_the_attributes_of_git_that_others_wrote_in_the_folder_stay(memory: Slicebase, tmp_path: Path) -> None:
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / ".gitattributes").write_text("*.bin filter=lfs\n")
    for _ in range(2):
        memory.export_workspace(tmp_path / "e")
        assert (tmp_path / "e" / ".gitattributes").read_text() == "*.bin filter=lfs\n"
    with Slicebase.init(tmp_path / "again") as other:
        assert other.import_workspace(tmp_path / "e").exit == Exit.DONE


def test_a_folder_of_git_in_the_library_is_left_out_and_said(memory: Slicebase, tmp_path: Path) -> None:
    (memory.workspace.library / ".git").mkdir()
    (memory.workspace.library / ".git" / "config").write_text("[core]")
    made, exported = memory.backup(tmp_path / "b.tar.zst"), memory.export_workspace(tmp_path / "e")
    assert [name.strip("'") for name in (*made.left_out, *exported.left_out)] == [".git", ".git"]


def test_names_that_differ_in_capital_letters_are_kept_and_moved(memory: Slicebase, tmp_path: Path) -> None:
    for name in ("Notes.txt", "notes.txt"):
        (memory.workspace.library / name).write_text(name)
    memory.backup(tmp_path / "b.tar.zst")
    memory.export_workspace(tmp_path / "e")
    restored(tmp_path / "b.tar.zst", tmp_path / "r")
    with Slicebase.init(tmp_path / "again") as other:
        assert other.import_workspace(tmp_path / "e").exit == Exit.DONE
    for root in ("r", "again"):
        assert (tmp_path / root / ".slices" / "Notes.txt").read_text() == "Notes.txt"
        assert (tmp_path / root / ".slices" / "notes.txt").read_text() == "notes.txt"


def test_what_a_killed_process_left_is_removed_by_the_next(memory: Slicebase, tmp_path: Path) -> None:
    folder = tmp_path / "e"
    memory.export_workspace(folder)
    expected = contents(folder)
    for place in (folder, folder / "sessions", folder / "texts" / "session"):
        (place / ".slicebase-writing-999999999-1").write_text("half of a conversation")
    memory.export_workspace(folder)
    assert contents(folder) == expected


def test_what_contradicts_its_hash_here_is_named_and_not_written(memory: Slicebase, tmp_path: Path) -> None:
    database = memory.workspace.database
    session = first_session(memory)
    memory.close()
    connection = apsw.Connection(str(database))
    connection.execute("DROP TRIGGER turns_fixed; DROP TRIGGER texts_fixed; DROP TRIGGER evidence_fixed")
    connection.execute("UPDATE turns SET hash = zeroblob(32) WHERE session = ? AND seq = 3", (session,))
    connection.execute("UPDATE evidence SET chunk = 'turn:x' WHERE seq = 2")
    connection.execute("UPDATE texts SET bytes = x'00' WHERE owner = 'run:own'")
    connection.close()
    report = memory.export_workspace(tmp_path / "e")
    assert {f"session:{session}", "evidence"} < set(report.broken)
    assert any(each.startswith("run:own text") for each in report.broken)
    assert "runs/own.jsonl" in report.written
    assert f"sessions/{session}.jsonl" not in report.written
    with Slicebase.init(tmp_path / "r") as copy:
        done = copy.import_workspace(tmp_path / "e")
        assert len(done.taken) > 3
        assert copy.verify().status != "BROKEN"


def test_an_older_manifest_beside_newer_files_is_written_again(memory: Slicebase, tmp_path: Path) -> None:
    """As after a merge of git that took the manifest of one side."""
    folder = tmp_path / "e"
    memory.export_workspace(folder)
    manifest = (folder / "manifest.json").read_bytes()
    memory.runs.log("own", [{"type": "note", "payload": {"text": "one more"}}])
    memory.export_workspace(folder)
    expected = contents(folder)
    (folder / "manifest.json").write_bytes(manifest)
    memory.export_workspace(folder)
    assert contents(folder) == expected
    run = folder / "runs" / "own.jsonl"
    run.write_bytes(run.read_bytes().replace(b'"seq":2', b'"seq":3', 1))
    (folder / "manifest.json").write_bytes(manifest)
    with pytest.raises(SlicebaseError) as caught:
        memory.export_workspace(folder)
    assert caught.value.code == "bad-move"
    assert "own.jsonl:3" in str(caught.value)


def test_what_others_keep_in_the_folder_stops_no_export_that_was_interrupted(memory: Slicebase, tmp_path: Path) -> None:
    folder = tmp_path / "e"
    memory.export_workspace(folder)
    before = contents(folder)
    rows = sorted((folder / "sessions").iterdir())[0]
    others = [
        "slices/bad\udcff.txt", "slices/a\\b", "slices/two\nlines", "slices/.git/config", "texts/notes.txt",
        "runs/notes.txt", f"sessions/{rows.stem} (copy).jsonl", f"texts/{rows.name}",
    ]  # fmt: skip
    for name in others:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"no line of an export")
    shutil.copy(rows, folder / others[-2])
    shutil.copy(folder / "texts" / "session" / rows.name, folder / others[-1])
    os.mkfifo(folder / "slices" / "pipe")
    (folder / ".exporting").touch()
    memory.export_workspace(folder)
    assert {name: data for name, data in contents(folder).items() if name not in others} == before
    with Slicebase.init(tmp_path / "again") as other:
        assert other.import_workspace(folder).exit == Exit.DONE


def test_no_write_follows_a_link_out_of_the_folder(memory: Slicebase, tmp_path: Path) -> None:
    folder = tmp_path / "e"
    folder.mkdir()
    (tmp_path / "outside").mkdir()
    (folder / ".git").mkdir()
    (folder / "sessions").symlink_to(tmp_path / "outside")
    with pytest.raises(SlicebaseError):
        memory.export_workspace(folder)
    assert not list((tmp_path / "outside").iterdir())


def test_an_export_that_is_killed_anywhere_is_finished_by_the_next(memory: Slicebase, tmp_path: Path) -> None:
    memory.export_workspace(tmp_path / "whole")
    first, number, done = tmp_path / "first", 1, False
    memory.export_workspace(first)
    memory.runs.start("later", "More.", "Done.")
    while not done:
        folder = tmp_path / f"k{number}"
        subprocess.run(["cp", "-r", first, folder], check=True)
        try:
            with killed_at(number):
                memory.export_workspace(folder)
                done = True
        except Killed:
            pass
        memory.export_workspace(folder)
        memory.export_workspace(tmp_path / "expected")
        assert contents(folder) == contents(tmp_path / "expected"), number
        number += 1
    assert number > 5


def test_the_memory_holds_no_settings_and_no_index_when_it_leaves(memory: Slicebase, tmp_path: Path) -> None:
    memory.set("provenance.agent", "an-agent-of-mine")
    memory.search("codes")
    memory.export_workspace(tmp_path / "e")
    assert not any(b"an-agent-of-mine" in data for data in contents(tmp_path / "e").values())
