"""Imports of a memory: equal where there was none, united where there was, and nothing lost in a conflict."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slicebase import Slicebase
from slicebase.core.hashing import digest
from slicebase.errors import Exit, SlicebaseError
from slicebase.graph.turn import Edge
from slicebase.moves.imported import is_workspace_export
from slicebase.truth.transfer import Transfer, heads_digest
from tests.conversations import name, store, turn
from tests.moves.memories import everything, filled, first_session, library, purge_something
from tests.moves.test_export import contents


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a workspace `w` and its export `e`."""
    folder = tmp_path_factory.mktemp("kept")
    with filled(folder / "w") as memory:
        purge_something(memory)
        memory.export_workspace(folder / "e")
    return folder


def heads(memory: Slicebase) -> str:
    return heads_digest(Transfer(memory.truth.database).heads())


@pytest.mark.parametrize("place", ["e", "e.tar.zst"])
def test_an_import_into_an_empty_workspace_gives_an_equal_one(place: str, tmp_path: Path) -> None:
    with filled(tmp_path / "w") as memory:
        purge_something(memory)
        report = memory.export_workspace(tmp_path / place)
        rows, files = everything(memory), library(memory)
    with Slicebase.init(tmp_path / "r") as copy:
        done = copy.import_workspace(tmp_path / place)
        assert (done.heads, done.exit) == (report.heads, Exit.DONE)
        assert done.verdict
        assert done.verdict.status == "VERIFIED"
        assert everything(copy) == rows
        assert library(copy) == files
        assert copy.graph.turns(first_session(copy), "codes")
        assert copy.replay().identical
        again = copy.import_workspace(tmp_path / place)
        assert (again.taken, again.exit) == ((), Exit.DONE)
        copy.export_workspace(tmp_path / "again")
    with Slicebase.open(tmp_path / "w") as memory:
        memory.export_workspace(tmp_path / "first")
    assert contents(tmp_path / "again") == contents(tmp_path / "first")


def test_a_copy_goes_on_like_the_memory_it_came_from(kept: Path, tmp_path: Path) -> None:
    """The tables beside the records are filled, so that runs continue and turns are added as before."""
    with Slicebase.init(tmp_path) as copy:
        copy.import_workspace(kept / "e")
        copy.runs.log("own", [{"type": "OBSERVE_DONE", "step": 2, "payload": {"text": "more"}}])
        copy.runs.compact("own")
        copy.runs.stop("own")
        store(copy.truth, [turn("new", session=first_session(copy))])
        assert copy.verify().status == "VERIFIED"
        assert copy.graph.select(f"turn:{name('new')}").export
        assert copy.seal().sessions == 2


ODD = [
    "A", "a", "..", ".", "con", "CON", "a/b", "a\\b", "x\ny", "é" * 300, "s#agent-1", "S#agent-1", " ", "~", "-",
    "a~0000", "x" * 5000, "../../etc", "\x00n", "sessions", "s:t",
]  # fmt: skip


def test_owners_with_odd_names_forks_links_and_binary_content_are_moved(tmp_path: Path) -> None:
    """Whatever a session is called, it has a file of its own, and none outside the folder."""
    with Slicebase.init(tmp_path / "w") as memory, Slicebase.init(tmp_path / "c") as copy:
        for number, session in enumerate(ODD):
            pair = [turn(f"{number}-a", session=session), turn(f"{number}-b", f"{number}-a", session=session)]
            store(memory.truth, pair)
        store(memory.truth, [turn("child", "parent", session="first"), turn("parent", session="last")])
        edges = [Edge(name("0-b"), name("1-b"), "reference"), Edge(name("missing"), name("1-a"), "branch")]
        memory.truth.turns.link(edges)
        for run in ("Z", "z", "origin"):
            memory.runs.start(run, "Find it.", "Found.")
        memory.runs.log("origin", [{"type": "OBSERVE_DONE", "step": 1, "payload": {"text": "seen"}}])
        memory.runs.compact("origin")
        memory.runs.fork("origin", "a-fork")  # comes before the run that it continues
        data = bytes(range(256)) * 500
        memory.runs.log("origin", [{"type": "note", "payload": {"blob": digest(data)}}], blobs={digest(data): data})
        memory.export_workspace(tmp_path / "e")
        done = copy.import_workspace(tmp_path / "e")
        assert (done.exit, done.heads) == (Exit.DONE, done.heads_there)
        assert everything(copy) == everything(memory)
        copy.export_workspace(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "e")
    assert len({path.casefold() for path in contents(tmp_path / "e")}) == len(contents(tmp_path / "e"))


# Random histories


Step = Callable[[Slicebase], object]


def histories() -> st.SearchStrategy[list[tuple[str, int, int]]]:
    kinds = st.sampled_from(["turn", "run", "event", "claim", "policy", "context", "purge", "file", "row"])
    return st.lists(st.tuples(kinds, st.integers(0, 2), st.integers(0, 5)), max_size=12)


def live(memory: Slicebase, machine: str, history: list[tuple[str, int, int]]) -> None:
    """Lets things happen to a memory. What each does depends on what is there, and never fails."""
    history = [("turn", 0, 0), ("run", 0, 0), *history] if history else []
    for number, (kind, owner, what) in enumerate(history):
        try:
            _happen(memory, kind, f"{owner}", what, f"{machine} {number}")
        except SlicebaseError as error:
            assert error.code in EXPECTED, (kind, error)


EXPECTED = {
    "no-run",
    "run-exists",
    "no-turn",
    "purged",
    "policy-name",
    "no-session",
    "run-closed",
    "no-file",
    "no-words",
}


def _happen(memory: Slicebase, kind: str, owner: str, what: int, words: str) -> None:
    session, run = f"s{owner}", f"r{owner}"
    turns = [stored.record.id for stored in memory.truth.turns.of_session(session)]
    files = sorted(path for path in library(memory))
    if kind == "turn":
        parents = [what] if name(f"{owner}-{what}") in turns else []
        of = f"{owner}-{words}-{len(turns)}"
        store(memory.truth, [turn(of, *[f"{owner}-{each}" for each in parents], session=session)])
    elif kind == "run":
        memory.runs.start(run, f"Objective {words}.", "Done.")
    elif kind == "event":
        memory.runs.log(run, [{"type": "OBSERVE_DONE", "step": what + 1, "payload": {"text": words}}])
    elif kind == "claim" and turns:
        evidence = memory.cite(f"turn:{turns[what % len(turns)]}", span=(0, 3))
        memory.runs.claim(run, f"Claim {words}.", cite=[evidence.evidence_id])
        memory.runs.compact(run)
    elif kind == "policy":
        memory.policies.save(f"p{owner}", "default", [f"max_nodes={what + 1}"])
    elif kind == "context" and turns:
        memory.context("text", tokens=100 + what)
    elif kind == "purge" and turns:
        memory.purge(f"turn:{turns[what % len(turns)]}", reason=f"reason {words}")
    elif kind == "file":
        memory.library.create(f"File {words}", "A file.", type="jsonl")
    elif kind == "row" and files:
        memory.library.remember(files[what % len(files)].removesuffix(".slice"), f"Row {words}.")


SLOW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SLOW
@given(history=histories(), later=histories())
def test_any_history_is_moved_and_moved_again_without_a_difference(
    history: list[Any], later: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("x")
    with Slicebase.init(folder / "a") as one, Slicebase.init(folder / "b") as other:
        for part in (history, later):
            live(one, "one", part)
            one.export_workspace(folder / "e")
            done = other.import_workspace(folder / "e")
            assert done.exit == Exit.DONE, done
            if not done.kept:  # what was purged there later is kept here
                assert done.heads == done.heads_there
                assert everything(other)["events"] == everything(one)["events"]
            assert library(one) == library(other)
            assert other.verify().status == "VERIFIED"
        other.export_workspace(folder / "again")
        if not done.kept:
            assert contents(folder / "again") == contents(folder / "e")


def said(memory: Slicebase) -> set[str]:
    """Returns all records that name content, and the texts that are left, which no exchange may lose."""
    rows = everything(memory)
    connection = memory.truth.database.connection
    texts = {repr(row) for row in connection.execute("SELECT owner, hash FROM texts WHERE purged IS NULL")}
    return texts | {row for table in ("turns", "events", "snapshots", "sessions") for row in rows[table]}


@SLOW
@given(
    histories_of_both=st.lists(st.tuples(st.booleans(), histories()), min_size=1, max_size=4),
    order=st.lists(st.tuples(st.booleans(), st.booleans()), max_size=6),
)
def test_two_machines_that_exchange_through_a_folder_lose_nothing_and_agree_or_say_why(
    histories_of_both: list[Any], order: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("x")
    (folder / "e").mkdir()
    with Slicebase.init(folder / "a") as one, Slicebase.init(folder / "b") as other:
        both = {True: one, False: other}
        one.export_workspace(folder / "e")
        steps = [*order, *[(False, False)] * len(histories_of_both)]
        for number, (who, history) in enumerate(histories_of_both):
            live(both[who], f"{who}-{number}", history)
            machine, imports = steps[number]
            before = said(both[machine])
            if imports:
                both[machine].import_workspace(folder / "e")
            else:
                both[machine].export_workspace(folder / "e")
            assert before <= said(both[machine])
        reports = []
        for machine in (one, other, one, other):
            before = said(machine)
            done = machine.import_workspace(folder / "e")
            assert done.refused == (), done
            assert before <= said(machine)
            assert machine.verify().status == "VERIFIED"
            exported = machine.export_workspace(folder / "e")
            reports.append((done, exported))
        conflicts = [each for done, exported in reports[2:] for each in (*done.conflicts, *exported.conflicts)]
        kept = sum(done.kept for done, _ in reports)
        if not conflicts and not kept:
            assert heads(one) == heads(other) == reports[-1][1].heads
            assert library(one) == library(other)


# Conflicts


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Slicebase, Slicebase, Path]]:
    """Two memories that were the same, and their folder."""
    with Slicebase.init(tmp_path / "a") as one, Slicebase.init(tmp_path / "b") as other:
        store(one.truth, [turn(0), turn(1, 0)])
        one.runs.start("r", "Find it.", "Found.")
        one.policies.save("mine", "default", ["max_nodes=3"])
        one.library.create("Page", "A page.", body="one\n\ntwo\n")
        one.export_workspace(tmp_path / "e")
        other.import_workspace(tmp_path / "e")
        assert heads(one) == heads(other)
        yield one, other, tmp_path / "e"


def test_chains_that_grew_on_both_sides_are_a_conflict_and_everything_else_is_taken(two: Any) -> None:
    one, other, folder = two
    for memory, word in ((one, "one"), (other, "other")):
        memory.runs.log("r", [{"type": "note", "payload": {"text": word}}])
        memory.runs.start(f"only-{word}", "Find it.", "Found.")
        store(memory.truth, [turn(word, session=f"session {word}")])
    one.export_workspace(folder)
    rows = everything(other)
    done = other.import_workspace(folder)
    (conflict,) = done.conflicts
    assert done.exit == Exit.CONFLICT
    assert conflict.what == "events/r"
    assert conflict.here.startswith("2 rows, ")
    assert conflict.here != conflict.there
    assert set(done.taken) == {"run:only-one", "session:session one"}
    assert set(rows["events"]) < set(everything(other)["events"])
    exported = other.export_workspace(folder)
    assert [each.what for each in exported.conflicts] == ["events/r"]
    assert one.import_workspace(folder).exit == Exit.DONE  # the folder has its own version
    assert other.verify().status == one.verify().status == "VERIFIED"


def test_a_name_with_another_meaning_is_a_conflict(two: Any) -> None:
    one, other, folder = two
    one.policies.save("new", "default", ["max_nodes=5"])
    other.policies.save("new", "default", ["max_nodes=6"])
    one.export_workspace(folder)
    done = other.import_workspace(folder)
    assert [each.what for each in done.conflicts] == ["policy new"]
    assert other.policies.show("new").policy.max_nodes == 6
    assert [each.what for each in other.export_workspace(folder).conflicts] == ["policy new"]


def test_a_turn_that_is_in_another_session_here_is_a_conflict(two: Any) -> None:
    """Both imported copies of one conversation, in another order."""
    one, other, folder = two
    store(one.truth, [turn("copied", session="first")])
    store(other.truth, [turn("copied", session="second")])
    one.export_workspace(folder)
    done = other.import_workspace(folder)
    assert [each.what for each in done.conflicts] == ["session:first"]
    assert other.verify().status == "VERIFIED"


def test_a_page_that_both_changed_is_merged_or_is_a_conflict_that_leaves_ours(two: Any) -> None:
    one, other, folder = two
    (page,) = library(one)
    file_id = page.removesuffix(".slice")
    one.library.define(file_id, ["meta.one=1"])
    other.library.define(file_id, ["meta.other=2"])
    one.export_workspace(folder)
    assert [each.what for each in other.export_workspace(folder).conflicts] == [f"slices/{page}"]
    assert other.import_workspace(folder).exit == Exit.DONE
    assert {"one: 1", "other: 2"} <= {line.strip() for line in library(other)[page].decode().splitlines()}
    other.export_workspace(folder)
    one.import_workspace(folder)
    assert library(one) == library(other)
    one.library.define(file_id, ["title=One"])
    other.library.define(file_id, ["title=Other"])
    one.export_workspace(folder)
    ours = library(other)
    assert [each.what for each in other.import_workspace(folder).conflicts] == [f"slices/{page}"]
    assert library(other) == ours


def test_a_payload_that_both_have_in_other_versions_is_a_conflict(two: Any) -> None:
    one, other, folder = two
    for memory, text in ((one, "one"), (other, "other")):
        (memory.workspace.library / "payloads").mkdir(exist_ok=True)
        (memory.workspace.library / "payloads" / "x.txt").write_text(text)
    one.export_workspace(folder)
    done = other.import_workspace(folder)
    assert [each.what for each in done.conflicts] == ["slices/payloads/x.txt"]
    assert library(other)["payloads/x.txt"] == b"other"
    assert [each.what for each in other.export_workspace(folder).conflicts] == ["slices/payloads/x.txt"]
    (one.workspace.library / "payloads" / "x.txt").write_text("newer")
    assert one.export_workspace(folder).written == ("slices/payloads/x.txt",)


def test_an_export_to_a_folder_that_is_only_ahead_is_no_conflict(two: Any) -> None:
    one, other, folder = two
    (page,) = library(one)
    for number in range(9):
        one.library.define(page.removesuffix(".slice"), [f"meta.one={number}"])
        one.export_workspace(folder)
        done = other.export_workspace(folder)
        assert (done.written, done.ahead, done.conflicts) == ((), (f"slices/{page}",), ())
        assert other.import_workspace(folder).exit == Exit.DONE
    for memory in (one, other):  # of the versions, only the last ones are kept to merge with
        kept = [path for path in (memory.workspace.root / ".slicebase/cache/exchanged").iterdir() if not path.suffix]
        assert len(kept) == 8


def test_a_conflict_of_a_page_is_resolved_by_whoever_writes_what_both_should_have(two: Any) -> None:
    one, other, folder = two
    (page,) = library(one)
    for memory, word in ((one, "One"), (other, "Other")):
        memory.library.define(page.removesuffix(".slice"), [f"title={word}"])
    one.export_workspace(folder)
    assert other.import_workspace(folder).exit == Exit.CONFLICT
    other.library.define(page.removesuffix(".slice"), ["meta.more=1"])
    assert other.export_workspace(folder).conflicts
    shutil.copy(folder / "slices" / page, other.workspace.library / page)
    assert other.import_workspace(folder).exit == Exit.DONE
    other.library.define(page.removesuffix(".slice"), ["title=One and other"])
    assert other.export_workspace(folder).conflicts == ()
    assert one.import_workspace(folder).exit == Exit.DONE
    assert library(one) == library(other)


def test_a_manifest_that_a_tool_has_formatted_is_one(two: Any, tmp_path: Path) -> None:
    _, _, folder = two
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(json.dumps(json.loads(text), indent=2))
    assert is_workspace_export(folder)
    with Slicebase.init(tmp_path / "c") as third:
        assert third.import_workspace(folder).exit == Exit.DONE


def test_a_file_that_cannot_be_read_costs_only_itself(two: Any, tmp_path: Path) -> None:
    one, other, folder = two
    (page,) = library(one)
    one.library.define(page.removesuffix(".slice"), ["title=New"])
    new = one.library.create("Another", "Another page.").id
    one.export_workspace(folder)
    (folder / "slices" / page).unlink()
    os.mkfifo(folder / "slices" / page)
    done = other.import_workspace(folder)
    assert (done.exit, done.taken) == (Exit.REFUSED, (f"slices/{new}.slice",))


def test_a_version_of_another_branch_of_git_is_merged_with_the_one_that_both_came_from(
    two: Any, tmp_path: Path
) -> None:
    """Each exports into a clone of its own. What one of them never saw, it has not removed."""
    one, other, folder = two
    (page,) = library(one)
    log = one.library.create("Log", "A log.", type="jsonl").id
    one.export_workspace(folder)
    other.import_workspace(folder)
    shutil.copytree(folder, tmp_path / "start")
    branches = []
    for memory in (one, other):
        shutil.rmtree(folder)
        shutil.copytree(tmp_path / "start", folder)
        for number in range(3):
            memory.library.remember(log, f"Row {number} of {memory.workspace.root.name}.")
            memory.library.define(page.removesuffix(".slice"), [f"meta.{memory.workspace.root.name}={number}"])
            memory.export_workspace(folder)
        branches.append(shutil.copytree(folder, tmp_path / memory.workspace.root.name / "branch"))
    shutil.rmtree(folder)
    shutil.copytree(branches[0], folder)  # the whole folder from one side, as after a merge of git
    assert other.import_workspace(folder).exit == Exit.DONE
    assert other.export_workspace(folder).conflicts == ()
    assert one.import_workspace(folder).exit == Exit.DONE
    assert library(one) == library(other)
    rows = [f"Row {number} of {name}." for number in range(3) for name in "ab"]
    assert all(row.encode() in library(one)[f"{log}.slice"] for row in rows)
    assert b"a: 2" in library(one)[page]
    assert b"b: 2" in library(one)[page]


def test_three_machines_in_a_ring_merge_a_log_in_a_place_that_is_new_to_one_of_them(two: Any, tmp_path: Path) -> None:
    one, other, folder = two
    log = one.library.create("Log", "A log.", type="jsonl").id
    one.export_workspace(folder)
    other.import_workspace(folder)
    other.export_workspace(tmp_path / "bc")
    with Slicebase.init(tmp_path / "c") as third:
        third.import_workspace(tmp_path / "bc")
        for memory, word in ((one, "one"), (third, "third")):
            memory.library.remember(log, f"Row of {word}.")
        third.export_workspace(tmp_path / "ca")
        assert one.import_workspace(tmp_path / "ca").exit == Exit.DONE
        one.export_workspace(tmp_path / "ca")
        assert third.import_workspace(tmp_path / "ca").exit == Exit.DONE
        assert library(one) == library(third)
        assert all(f"Row of {word}.".encode() in library(one)[f"{log}.slice"] for word in ("one", "third"))


def test_an_older_folder_brings_nothing_back(two: Any, tmp_path: Path) -> None:
    one, _, folder = two
    shutil.copytree(folder, tmp_path / "old")
    (page,) = library(one)
    one.library.define(page.removesuffix(".slice"), ["title=New"])
    one.export_workspace(folder)
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "old", folder)
    files = library(one)
    assert one.import_workspace(folder).taken == ()
    assert library(one) == files
    (one.workspace.library / page).unlink()
    assert one.import_workspace(folder).taken == ()
    assert library(one) == {}


def test_what_was_purged_there_is_kept_here_and_said_and_what_was_purged_here_stays_so(two: Any) -> None:
    one, other, folder = two
    one.purge(f"turn:{name(0)}", reason="there")
    other.purge(f"turn:{name(1)}", reason="here")
    one.export_workspace(folder)
    done = other.import_workspace(folder)
    assert (done.kept, done.exit) == (1, Exit.DONE)
    assert done.heads != done.heads_there
    assert parts_of(other, 0)
    assert not parts_of(other, 1)
    other.export_workspace(folder)
    with Slicebase.init(folder.parent / "third") as third:
        assert third.import_workspace(folder).exit == Exit.DONE
        assert not parts_of(third, 0)
        assert not parts_of(third, 1)


def parts_of(memory: Slicebase, of: int) -> object:
    found = memory.truth.turn(name(of))
    assert found
    return found.parts


def test_a_purge_leaves_nothing_in_what_is_kept_to_merge_with_or_was_being_put_together(two: Any) -> None:
    one, _, folder = two
    page = one.library.create("Secret", "A page.", body="An unmistakable sentence that stands nowhere else.\n").id
    one.export_workspace(folder)
    left = one.workspace.local("staging-999999999-1")
    left.mkdir()
    (left / "half").write_text("An unmistakable sentence that stands nowhere else.\n")
    assert one.library.purge(page, reason="a test").purge.remnants == ()
    assert not [path for path in one.root.rglob("*") if path.is_file() and b"unmistakable" in path.read_bytes()]
    one.import_workspace(folder)
    assert b"unmistakable" not in library(one)[f"{page}.slice"]
    one.export_workspace(folder)
    assert not [path for path in folder.rglob("*") if path.is_file() and b"unmistakable" in path.read_bytes()]


# Processes


_IMPORT = """
import sys
from slicebase import Slicebase
with Slicebase.open(sys.argv[1]) as memory:
    print("ready", flush=True)
    sys.stdin.readline()
    memory.import_workspace(sys.argv[2])
"""


def start(workspace: Path, export: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", _IMPORT, str(workspace), str(export)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    return process


def test_two_processes_that_import_at_once_take_everything_once(kept: Path, tmp_path: Path) -> None:
    Slicebase.init(tmp_path / "r").close()
    both = [start(tmp_path / "r", kept / "e") for _ in range(2)]
    for process in both:
        assert process.stdin
        process.stdin.write(b"go\n")
        process.stdin.flush()
    for process in both:
        assert process.communicate()[1] == b""
    with Slicebase.open(tmp_path / "r") as copy, Slicebase.open(kept / "w") as memory:
        assert heads(copy) == heads(memory)
        assert library(copy) == library(memory)
        assert copy.verify().status == "VERIFIED"


@pytest.mark.parametrize("seconds", [0.02, 0.05, 0.1, 0.15, 0.2, 0.3])
def test_an_import_that_is_killed_has_whole_owners_and_is_finished_by_the_next(
    seconds: float, kept: Path, tmp_path: Path
) -> None:
    Slicebase.init(tmp_path / "r").close()
    process = start(tmp_path / "r", kept / "e")
    try:
        process.communicate(b"go\n", timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
    with Slicebase.open(tmp_path / "r") as copy, Slicebase.open(kept / "w") as memory:
        assert copy.verify().status == "VERIFIED"
        assert copy.import_workspace(kept / "e").exit == Exit.DONE
        assert heads(copy) == heads(memory)
        assert library(copy) == library(memory)
        assert copy.verify().status == "VERIFIED"
