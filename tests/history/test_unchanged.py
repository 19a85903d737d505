"""An import of what is unchanged costs a look, and never hides a change."""

import json
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slicebase import history
from slicebase.base import Slicebase
from slicebase.history import imports, readers, unchanged
from slicebase.history.account import Account
from slicebase.history.inputs import Input, file_chunks
from slicebase.history.readers import BatchesOf, Recognised
from slicebase.history.unchanged import NAME, FileStamp
from tests.importers.reading import jsonl
from tests.importers.test_claude_code import SESSION, record, uuid
from tests.importers.test_queued import operation
from tests.importers.test_subagents import MAIN, STEPS


@pytest.fixture(autouse=True)
def _no_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of a test are newer than the tick of a coarse clock."""
    monkeypatch.setattr(unchanged, "TICK", 0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / f"{SESSION}.jsonl").write_bytes(jsonl([record(1, None), record(2, 1, "assistant", "first")]))
    (folder / "chat.json").write_text(json.dumps([{"role": "user", "content": "hello"}]))
    (folder / "other.json").write_text("{}")
    return folder


@pytest.fixture
def base(tmp_path: Path) -> Slicebase:
    root = tmp_path / "workspace"
    root.mkdir()
    return Slicebase.init(root)


def said(account: Account) -> tuple[object, ...]:
    report = account.report
    return (account.known, report.records, report.turns, dict(report.others), account.sessions, account.formats,
            sorted(account.unrecognised), account.content_left_out)  # fmt: skip


def test_an_unchanged_import_reads_nothing_and_says_the_same(
    base: Slicebase, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.import_([folder])
    (base.workspace.cache / NAME).rename(base.workspace.cache / "aside")
    read = base.import_([folder])
    assert (read.unchanged, read.added, read.known) == (0, 0, 3)
    monkeypatch.setattr(history.inputs, "file_chunks", lambda path: pytest.fail(f"{path} was read"))
    looked = base.import_([folder])
    assert (looked.unchanged, looked.added) == (2, 0)
    assert said(looked) == said(read)
    assert looked.report.adds_up


def _grown(path: Path) -> None:
    with path.open("ab") as stream:
        stream.write(jsonl([record(3, 2)]))


def _rewritten_in_place(path: Path) -> None:
    """The same size, the same tail and the same time: only the change time of the disk tells."""
    before = path.stat()
    data = path.read_bytes().replace(b"hello", b"HELLO").replace(uuid(1).encode(), uuid(9).encode())
    with path.open("r+b") as stream:
        stream.write(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


def _replaced(path: Path) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(jsonl([record(7, None, "user", "other")]))
    other.replace(path)


@pytest.mark.parametrize("change", [_grown, _rewritten_in_place, _replaced])
def test_a_file_that_changed_in_any_way_is_read_again(
    change: Callable[[Path], None], base: Slicebase, folder: Path
) -> None:
    base.import_([folder])
    change(folder / f"{SESSION}.jsonl")
    again = base.import_([folder])
    assert (again.unchanged, again.added) == (1, 1)


def test_a_purge_other_rules_and_another_database_read_everything_again(base: Slicebase, folder: Path) -> None:
    base.import_([folder])
    assert base.import_([folder], session="x").unchanged == 0
    base.import_([folder])
    base.purge(f"turn:{uuid(2)}", reason="test")
    again = base.import_([folder])
    assert (again.unchanged, again.added) == (0, 0)
    assert base.import_([folder]).unchanged == 2
    rules = base.workspace.root / "rules.toml"
    rules.write_text('[[rule]]\nname = "fruit"\npattern = "banana_[a-z0-9]{20,}"\n')
    (base.workspace.root / "slicebase.toml").write_text('[redaction]\nrules = "rules.toml"\n')
    assert base.import_([folder]).unchanged == 0
    cache = (base.workspace.cache / NAME).read_bytes()
    base.close()
    other = base.workspace.root.parent / "other"
    other.mkdir()
    with Slicebase.init(other) as second:
        second.workspace.cache.mkdir(parents=True, exist_ok=True)
        (second.workspace.cache / NAME).write_bytes(cache)
        assert (second.import_([folder]).unchanged, len(second.graph.sessions())) == (0, 2)


def test_a_copy_of_the_database_from_before_is_noticed(base: Slicebase, folder: Path) -> None:
    base.import_([folder / "chat.json"])
    root, database = base.workspace.root, base.workspace.database
    base.close()
    before = database.read_bytes()
    with Slicebase.open(root) as second:
        second.import_([folder])
    database.write_bytes(before)
    with Slicebase.open(root) as third:
        again = third.import_([folder])
        assert (again.unchanged, again.added) == (0, 2)


def test_a_copy_of_the_database_that_has_the_last_turn_of_a_file_from_another_one_is_noticed(
    base: Slicebase, folder: Path
) -> None:
    lines = [record(1, None), record(3, 1, "user", "only here"), record(2, 1, "assistant", "first")]
    (folder / "longer.jsonl").write_bytes(jsonl(lines))
    base.import_([folder / f"{SESSION}.jsonl"])
    root, database = base.workspace.root, base.workspace.database
    base.close()
    before = database.read_bytes()
    with Slicebase.open(root) as second:
        assert second.import_([folder / "longer.jsonl"]).added == 1
    database.write_bytes(before)
    with Slicebase.open(root) as third:
        assert third.import_([folder / "longer.jsonl"]).added == 1
        assert third.import_([folder / "longer.jsonl"]).unchanged == 1


def test_what_is_added_to_a_file_after_it_was_read_ahead_is_read_the_next_time(
    base: Slicebase, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def far_ahead(inputs: Sequence[Recognised], *more: Any) -> Iterator[BatchesOf]:
        with readers.reading(inputs, *more) as batches_of:
            batches = {each.input.name: list(batches_of(each)) for each in inputs}
            _grown(folder / f"{SESSION}.jsonl")
            yield lambda each: iter(batches[each.input.name])

    with monkeypatch.context() as patched:
        patched.setattr(imports, "reading", far_ahead)
        assert base.import_([folder]).added == 3
    again = base.import_([folder])
    assert (again.unchanged, again.added) == (1, 1)


def test_a_file_with_a_time_in_the_future_is_not_read_each_time(base: Slicebase, folder: Path) -> None:
    os.utime(folder / f"{SESSION}.jsonl", (4_000_000_000, 4_000_000_000))
    base.import_([folder])
    assert base.import_([folder]).unchanged == 2


def test_a_file_in_which_something_is_open_is_read_until_it_is_decided(base: Slicebase, folder: Path) -> None:
    path = folder / f"{SESSION}.jsonl"
    queued = [operation("enqueue", content="look"), operation("remove")]
    path.write_bytes(jsonl([record(1, None), *queued]))
    assert base.import_([path]).added == 1
    assert base.import_([path]).unchanged == 0
    os.utime(path, (1_700_000_000, 1_700_000_000))  # it has not grown for long
    assert (base.import_([path]).added, base.import_([path]).unchanged) == (1, 1)


def test_what_left_something_out_is_read_again(base: Slicebase, folder: Path) -> None:
    with (folder / "broken.jsonl").open("wb") as stream:
        stream.write(jsonl([record(11, None)]) + b'{"type": "user", "uu\n')
    base.import_([folder])
    again = base.import_([folder])
    assert (again.unchanged, again.content_left_out) == (2, 1)


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk whose clock stands still: all files changed within its last tick, and their times tell no change."""
    stamp_of = unchanged.stamp_of

    def stamp(each: Input) -> FileStamp | None:
        stamp = stamp_of(each)
        return stamp and msgspec.structs.replace(stamp, modified=1_700_000_000 * 10**9, changed=0)

    monkeypatch.setattr(unchanged, "stamp_of", stamp)
    monkeypatch.setattr(unchanged, "TICK", 10**12)
    monkeypatch.setattr(unchanged, "_TAIL", 10)


@pytest.mark.usefixtures("coarse")
def test_files_that_were_written_right_before_are_not_imported_twice(
    base: Slicebase, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.import_([folder])
    for tick in (10**12, 0):  # the second look is in the next tick, and finds that the times of the files will do
        monkeypatch.setattr(unchanged, "TICK", tick)
        assert base.import_([folder]).unchanged == 2
    monkeypatch.setattr(unchanged, "file_chunks", lambda path: pytest.fail(f"{path} was read"))
    assert base.import_([folder]).unchanged == 2


@pytest.mark.usefixtures("coarse")
def test_a_change_within_the_tick_of_a_disk_is_seen(base: Slicebase, folder: Path) -> None:
    base.import_([folder])
    _rewritten_in_place(folder / f"{SESSION}.jsonl")
    again = base.import_([folder])
    assert (again.unchanged, again.added) == (1, 1)


@pytest.mark.usefixtures("coarse")
def test_of_a_zip_that_was_written_right_before_all_files_are_looked_at_with_one_pass(
    base: Slicebase, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder.parent / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(3):
            archive.writestr(f"{number}.json", json.dumps([{"role": "user", "content": f"hello {number}"}]))
    base.import_([path])
    passes: list[Path] = []

    def chunks(path: Path) -> Iterator[bytes]:
        passes.append(path)
        return file_chunks(path)

    monkeypatch.setattr(unchanged, "file_chunks", chunks)
    assert (base.import_([path]).unchanged, len(passes)) == (3, 1)


def test_the_members_of_a_zip_are_looked_at_together(base: Slicebase, folder: Path) -> None:
    path = folder.parent / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(folder / "chat.json", "a.json")
        archive.write(folder / f"{SESSION}.jsonl", "b.jsonl")
    base.import_([path])
    assert base.import_([path]).unchanged == 2
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("c.json", json.dumps([{"role": "user", "content": "more"}]))
    assert base.import_([path]).added == 1


@pytest.mark.parametrize("first", ["main", "agent"])
def test_an_agent_is_linked_to_a_call_in_a_file_that_is_not_read_again(
    first: str, base: Slicebase, tmp_path: Path
) -> None:
    calls = [line for line in MAIN if line["type"] != "progress"]
    calls[-1] = {**calls[-1], "toolUseResult": {"agentId": "a77"}, "parentUuid": uuid(2)}
    files = {"main": jsonl(calls), "agent": jsonl(STEPS)}
    paths = {"main": tmp_path / f"{SESSION}.jsonl", "agent": tmp_path / SESSION / "subagents" / "agent-a77.jsonl"}
    paths["agent"].parent.mkdir(parents=True)
    order = ["main", "agent"] if first == "main" else ["agent", "main"]
    for number, name in enumerate(order):
        paths[name].write_bytes(files[name])
        given = [paths["main"], paths["agent"]][: 2 if number else None] if number else [paths[name]]
        account = base.import_(given)
        assert account.unchanged == number
    assert (uuid(2), "reference") in base.truth.turns.parents_of(uuid(10))


def test_the_cache_has_no_texts(base: Slicebase, folder: Path) -> None:
    base.import_([folder])
    kept = (base.workspace.cache / NAME).read_bytes()
    assert b"hello" not in kept
    assert b"first" not in kept
