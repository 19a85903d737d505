"""The index of slice files: it notices every change, repairs itself, and never changes a result."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from slicebase.index import file_reader
from slicebase.index import files as files_index
from slicebase.index.files import listing
from slicebase.index.schema import FILES_LAYOUT
from slicebase.library.finder import Finder
from slicebase.workspace.workspace import Workspace
from tests.amounts import MORE
from tests.library.samples import everything, ids, library, put, rows, text_of
from tests.paths import PROJECT


def index_of(workspace: Workspace) -> Path:
    return workspace.cache / "files.db"


# ---- changes


def test_new_changed_renamed_and_removed_files_are_noticed(workspace: Workspace, finder: Finder) -> None:
    assert ids(finder, "heron") == []
    path = put(workspace, "a", "A heron.")
    assert ids(finder, "heron") == ["a"]
    put(workspace, "a", "A stork.")
    assert (ids(finder, "heron"), ids(finder, "stork")) == ([], ["a"])
    path.rename(path.with_name("renamed.slice"))
    assert [entry.name for entry in finder.list_files()] == ["renamed.slice"]
    path.with_name("renamed.slice").unlink()
    assert ids(finder, "stork") == []


def test_an_edit_that_changes_neither_size_nor_times_is_noticed(workspace: Workspace, finder: Finder) -> None:
    """A program can set the modification time, but not the time of the change itself (ctime)."""
    path = put(workspace, "a", "heron")
    then = path.stat()
    assert ids(finder, "heron") == ["a"]
    path.write_text(path.read_text().replace("heron", "stork"))
    os.utime(path, ns=(then.st_atime_ns, then.st_mtime_ns))
    now = path.stat()
    assert (now.st_size, now.st_mtime_ns, now.st_ino) == (then.st_size, then.st_mtime_ns, then.st_ino)
    assert (ids(finder, "heron"), ids(finder, "stork")) == ([], ["a"])


def test_edits_in_the_same_tick_of_the_clock_are_noticed(workspace: Workspace, finder: Finder) -> None:
    path = put(workspace, "a", "word0")
    text = path.read_text()
    for number in range(1, 25):
        path.write_text(text.replace("word0", f"word{number % 10}"))
        assert ids(finder, f"word{number % 10}") == ["a"]
        assert ids(finder, f"word{(number + 1) % 10}") == []


@pytest.mark.parametrize("tick", ["the same", "later"])
def test_on_a_disk_with_a_coarse_clock_an_edit_in_the_tick_of_the_last_scan_is_noticed(
    workspace: Workspace, finder: Finder, monkeypatch: pytest.MonkeyPatch, tick: str
) -> None:
    """Where every time on the disk is the same, only a scan in that same tick is uncertain and repeated."""
    moment = 1_700_000_000_000_000_000

    def coarse(folder: Path) -> list[str]:
        return [
            f"{name}\0{stamp.split()[0]} {moment} {moment} {stamp.split()[3]}"
            for name, stamp in (line.split("\0") for line in listing(folder))
        ]

    monkeypatch.setattr(files_index, "listing", coarse)
    monkeypatch.setattr(finder.index.database, "tick", lambda: moment + (tick == "later"))
    path = put(workspace, "a", "heron")
    assert ids(finder, "heron") == ["a"]
    path.write_text(path.read_text().replace("heron", "stork"))
    assert ids(finder, "stork") == (["a"] if tick == "the same" else [])


def test_nothing_is_written_when_nothing_changed(workspace: Workspace, finder: Finder) -> None:
    put(workspace, "a", "heron")
    finder.list_files()
    finder.list_files()  # a file that was uncertain at the first scan is certain at the second
    before = index_of(workspace).read_bytes()
    assert ids(finder, "heron") == ["a"]
    assert index_of(workspace).read_bytes() == before


def test_the_files_that_git_checks_out_are_found(workspace: Workspace, finder: Finder) -> None:
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["git", *identity, *arguments], cwd=workspace.root, check=True, capture_output=True)

    git("init", "-b", "main")
    put(workspace, "a", "heron")
    put(workspace, "b", "heron")
    git("add", "-A")
    git("commit", "-m", "herons")
    git("checkout", "-b", "storks")
    put(workspace, "a", "stork")
    (workspace.library / "b.slice").unlink()
    put(workspace, "c", "stork")
    git("add", "-A")
    git("commit", "-m", "storks")
    assert (ids(finder, "heron"), ids(finder, "stork")) == ([], ["a", "c"])
    git("checkout", "main")
    assert (ids(finder, "heron"), ids(finder, "stork")) == (["a", "b"], [])
    git("checkout", "storks")
    assert (ids(finder, "heron"), ids(finder, "stork")) == ([], ["a", "c"])


def test_links_folders_and_hidden_files_are_not_slice_files(
    workspace: Workspace, finder: Finder, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.slice"
    outside.write_text(put(workspace, "a", "heron").read_text().replace('id: "a"', 'id: "outside"'))
    (workspace.library / "link.slice").symlink_to(outside)
    (workspace.library / "folder.slice").mkdir()
    (workspace.library / ".hidden.slice").write_text(outside.read_text())
    os.mkfifo(workspace.library / "pipe.slice")
    assert ids(finder, "heron") == ["a"]


def test_a_broken_file_is_reported_and_the_rest_works(workspace: Workspace, finder: Finder) -> None:
    put(workspace, "a", "heron")
    (workspace.library / "broken.slice").write_text("---\nslice: [\n---\nheron")
    (workspace.library / "empty.slice").write_text("")
    assert ids(finder, "heron") == ["a"]
    assert [(error.code, error.where.file) for error in finder.broken()] == [
        ("yaml-syntax", ".slices/broken.slice"),
        ("no-frontmatter", ".slices/empty.slice"),
    ]
    put(workspace, "broken", "a heron, mended")
    assert ids(finder, "heron") == ["a", "broken"]


def test_of_a_very_large_file_only_the_head_counts(
    workspace: Workspace, finder: Finder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_reader, "LARGEST", 1000)
    put(workspace, "a", "heron " * 50_000, title="Birds")
    assert (ids(finder, "heron"), ids(finder, "birds")) == ([], ["a"])
    assert finder.list_files()[0].hash is None


def test_a_file_that_may_not_be_read_is_reported(workspace: Workspace, finder: Finder) -> None:
    put(workspace, "a", "heron")
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    (workspace.library / "a.slice").chmod(0)
    assert [error.code for error in finder.broken()] == ["cannot-read"]
    (workspace.library / "a.slice").chmod(0o600)
    assert ids(finder, "heron") == ["a"]


# ---- rebuilding


@pytest.mark.parametrize("damage", ["garbage", "truncated", "zeroed page", "empty", "other program", "older", "newer"])
def test_a_damaged_or_foreign_index_is_rebuilt(workspace: Workspace, finder: Finder, damage: str) -> None:
    for number in range(30):
        put(workspace, f"f{number:02}", f"heron number{number} " * 50)
    before = everything(finder, ["heron", "number7", "storck"])
    index = index_of(workspace)
    data = index.read_bytes()
    if damage in ("other program", "older", "newer"):
        connection = apsw.Connection(str(index))
        version = {"older": FILES_LAYOUT.version - 1, "newer": FILES_LAYOUT.version + 1}.get(damage)
        if version is None:
            connection.pragma("application_id", 7)
        else:
            connection.execute("DROP TABLE meta")
            connection.pragma("user_version", version)
        connection.close()
    else:
        index.write_bytes(
            {
                "garbage": b"no database at all" * 1000,
                "truncated": data[: len(data) // 2],
                "zeroed page": data[:8192] + bytes(len(data) - 8192),
                "empty": b"",
            }[damage]
        )
    put(workspace, "later", "gannet")
    assert ids(finder, "gannet") == ["later"]
    (workspace.library / "later.slice").unlink()
    assert everything(finder, ["heron", "number7", "storck"]) == before


def test_an_index_that_is_deleted_during_a_query_changes_no_result(workspace: Workspace, finder: Finder) -> None:
    put(workspace, "a", "heron")
    finder.list_files()

    def question(connection: apsw.Connection) -> int:
        shutil.rmtree(workspace.cache)
        return int(connection.execute("SELECT count(*) FROM files").get)

    assert finder.index.ask(question) == 1
    put(workspace, "b", "heron")
    assert ids(finder, "heron") == ["a", "b"]


def test_where_nothing_can_be_written_the_results_are_the_same(workspace: Workspace) -> None:
    put(workspace, "a", "heron")
    shutil.rmtree(workspace.root / ".slicebase")
    (workspace.root / ".slicebase").write_text("a file stands in the way")
    finder = Finder(workspace)
    assert ids(finder, "heron") == ["a"]
    put(workspace, "b", "heron")
    assert ids(finder, "heron") == ["a", "b"]


_LIMITED = """
import resource, signal, sys
from pathlib import Path
from slicebase.library.finder import Finder
from slicebase.workspace.workspace import open_workspace
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
print(Finder(open_workspace(Path(sys.argv[1]))).search("heron").total)
"""


def test_where_the_disk_is_full_the_results_are_the_same(workspace: Workspace) -> None:
    for number in range(50):
        put(workspace, f"f{number}", f"heron {number} " * 100)
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "src")}
    command = [sys.executable, "-c", _LIMITED, str(workspace.root)]
    assert subprocess.run(command, env=environment, capture_output=True, check=True).stdout == b"50\n"
    assert Finder(workspace).search("heron").total == 50


def test_a_clone_gets_its_ignored_folder_with_the_first_query(workspace: Workspace) -> None:
    put(workspace, "a", "heron")
    shutil.rmtree(workspace.root / ".slicebase")
    assert ids(Finder(workspace), "heron") == ["a"]
    assert (workspace.root / ".slicebase" / ".gitignore").read_text() == "*\n"


# ---- several processes

_ASK = """
import sys
from pathlib import Path
from slicebase.library.finder import Finder
from slicebase.workspace.workspace import open_workspace
finder = Finder(open_workspace(Path(sys.argv[1])))
for _ in range(int(sys.argv[2])):
    hits = finder.search("heron", limit=1000)
    assert hits.total >= 40 and len({hit.entry.id for hit in hits.hits}) == hits.total, hits.total
print(hits.total)
"""


def test_processes_that_query_at_once_while_files_and_the_index_change_get_right_results(workspace: Workspace) -> None:
    for number in range(40):
        put(workspace, f"f{number:02}", f"heron {number} " * 20)
    command = [sys.executable, "-c", _ASK, str(workspace.root), "12"]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "src")}
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) for _ in range(4)]
    chance = random.Random(4)
    for number in range(40, 60):
        put(workspace, f"f{number:02}", f"heron {number} " * 20)
        if number % 5 == 0:
            index_of(workspace).write_bytes(chance.randbytes(9000))
    for process in running:
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert int(output) >= 40
    assert Finder(workspace).search("heron").total == 60


# ---- logs of several files


def test_a_row_is_superseded_by_a_row_of_another_file_of_its_log(workspace: Workspace, finder: Finder) -> None:
    """Ruling 32: files joined by `part_of` are one log, as long as they are joined."""
    put(workspace, "one", rows({"id": "r1", "text": "heron"}), type="jsonl")
    put(workspace, "two", rows({"id": "r2", "text": "stork", "supersedes": ["r1"]}), type="jsonl")
    joined = [{"rel": "part_of", "to": "one"}]
    assert ids(finder, "heron") == ["one"]
    put(workspace, "two", rows({"id": "r2", "text": "stork", "supersedes": ["r1"]}), type="jsonl", links=joined)
    assert (ids(finder, "heron"), ids(finder, "heron", former_rows=True)) == ([], ["one"])
    put(workspace, "three", rows({"id": "r3", "text": "gannet", "supersedes": ["r2"]}), type="jsonl", links=joined)
    assert (ids(finder, "heron"), ids(finder, "stork"), ids(finder, "gannet")) == ([], [], ["three"])
    put(workspace, "two", rows({"id": "r2", "text": "stork"}), type="jsonl", links=joined)
    assert (ids(finder, "heron"), ids(finder, "stork")) == (["one"], [])
    (workspace.library / "three.slice").unlink()
    assert (ids(finder, "heron"), ids(finder, "stork")) == (["one"], ["two"])


_JOINED = {
    "f0": text_of("f0", rows({"id": "r0", "text": "x"}), type="jsonl"),
    "f1": text_of("f1", rows({"id": "r1", "text": "y", "supersedes": ["r0"]}), type="jsonl"),
    "f2": text_of("f2", rows({"id": "r2", "text": "z", "supersedes": ["r1"]}), type="jsonl"),
    "whole": text_of("whole", links=[{"rel": "has_part", "to": to} for to in ("f0", "f1", "f2")]),
}


@st.composite
def _logs(draw: st.DrawFn) -> dict[str, str]:
    """Logs whose rows supersede each other's rows: joined directly, by a file that is not a log, or not at all."""
    names = ["f0", "f1", "f2"]
    row_ids = st.sampled_from([f"{name}r{at}" for name in names for at in range(2)])
    files = {}
    for name in draw(st.sets(st.sampled_from(names), min_size=1)):
        given = [
            {"id": f"{name}r{at}", "text": "x", "supersedes": draw(st.lists(row_ids, max_size=1))} for at in (0, 1)
        ]
        links = [{"rel": "part_of", "to": to} for to in draw(st.lists(st.sampled_from(names), max_size=1))]
        files[name] = text_of(name, rows(*given), type="jsonl", links=links)
    parts = draw(st.lists(st.sampled_from(names), max_size=2))
    return files | {"whole": text_of("whole", links=[{"rel": "has_part", "to": to} for to in parts])}


@settings(max_examples=20)
@given(past=_logs(), other=_logs(), changed=st.sampled_from(["f0", "f1", "f2", "whole"]))
@example(past=_JOINED, other=_JOINED | {"whole": text_of("whole")}, changed="whole")
@example(past=_JOINED, other={"f0": _JOINED["f0"]}, changed="f2")
def test_what_holds_in_joined_logs_does_not_depend_on_what_they_were_before(
    tmp_path_factory: pytest.TempPathFactory, past: dict[str, str], other: dict[str, str], changed: str
) -> None:
    workspace = library(tmp_path_factory.mktemp("library"))
    present = {name: text for name, text in past.items() if name != changed}
    present |= {changed: other[changed]} if changed in other else {}
    finder = Finder(workspace)
    for files in (past, present):
        for path in workspace.library.iterdir():
            if path.stem not in files:
                path.unlink()
        for name, text in files.items():
            (workspace.library / f"{name}.slice").write_text(text)
        grown = finder.index.ask(_bodies)
    finder.index.database.discard()
    assert finder.index.ask(_bodies) == grown


def _bodies(connection: apsw.Connection) -> Sequence[object]:
    query = "SELECT name, passages, former FROM bodies JOIN files ON files.number = bodies.file ORDER BY name"
    return connection.execute(query).fetchall()


# ---- the property: rebuilt in any order, after any history, every result is the same

_WORDS = ["heron", "stork", "gannet", "herons", "認証方式", "naïve", "retry", "the"]
_QUERIES = ["heron", "the", "naive", "認証", "heron stork", '"heron stork"', "her*", "hero"]
_RELS = ["depends_on", "part_of", "part_of", "see_also", "is_a"]
_texts = st.lists(st.sampled_from(_WORDS), max_size=12).map(" ".join)


@st.composite
def _files(draw: st.DrawFn) -> dict[str, str]:
    """Names and texts of a small library: text, logs that are joined and supersede each other, links, broken files."""
    names = [f"f{number}" for number in range(draw(st.integers(1, 6)))]
    files = {}
    for name in names:
        fields = {
            "title": draw(_texts) or None,
            "summary": draw(_texts) or None,
            "links": [
                {"rel": rel, "to": to}
                for rel, to in draw(st.lists(st.tuples(st.sampled_from(_RELS), st.sampled_from(names)), max_size=2))
            ],
            "archived": draw(st.sampled_from([None, None, {"at": "2026-01-01T00:00:00Z"}])),
            "derived_from": draw(st.sampled_from([None, None, {"id": "f0", "hash": "sha256:" + "0" * 64}])),
            "meta": {"kind": draw(st.sampled_from(["one", "two"]))},
        }  # fmt: skip
        if draw(st.booleans()):
            body, kind = draw(_texts), "markdown"
        else:
            body, kind = rows(*(
                {"id": f"{name}r{at}", "text": draw(_texts), "supersedes": draw(st.lists(st.sampled_from(
                    [f"{other}r{row}" for other in names for row in range(3)]), max_size=1))}
                for at in range(draw(st.integers(0, 3)))
            )), "jsonl"  # fmt: skip
        files[name] = draw(st.sampled_from(["", "", "", "broken"])) + text_of(name, body, type=kind, **fields)
    return files


@settings(max_examples=3 * MORE)
@given(past=_files(), present=_files(), seed=st.integers(0, 1000))
def test_an_index_made_anew_in_any_order_answers_as_one_that_grew(
    tmp_path_factory: pytest.TempPathFactory, past: dict[str, str], present: dict[str, str], seed: int
) -> None:
    """Ruling 43: the index changes no result."""
    workspace = library(tmp_path_factory.mktemp("library"))
    finder = Finder(workspace)
    for files in (past, present):
        for path in workspace.library.iterdir():
            if path.stem not in files:
                path.unlink()
        for name in random.Random(seed).sample(sorted(files), len(files)):
            (workspace.library / f"{name}.slice").write_text(files[name])
            if seed % 3 == 0:
                finder.list_files()
        grown = everything(finder, _QUERIES)
    finder.index.database.discard()
    assert everything(finder, _QUERIES) == grown
    other = library(tmp_path_factory.mktemp("copy"))
    for name in random.Random(seed + 1).sample(sorted(present), len(present)):
        shutil.copy2(workspace.library / f"{name}.slice", other.library)
    assert everything(Finder(other), _QUERIES) == grown
