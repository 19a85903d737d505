"""Verify knows what should exist: the workspace knows its database, seals and the index know what it had."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from slicebase import Slicebase, SlicebaseError, Verdict
from slicebase.graph.turn import Edge
from slicebase.workspace import machine
from slicebase.workspace.workspace import DATABASE_ID
from tests.conversations import chain, name, on_file, store, turn
from tests.importers.reading import jsonl
from tests.importers.test_claude_code import record
from tests.verbs.test_verify import without_triggers


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a session and a run, sealed."""
    folder = tmp_path / "here"
    with Slicebase.init(folder) as memory:
        store(memory.truth, chain(4))
        memory.runs.start("r", "Find it.", "Found.")
        memory.runs.claim("r", "It is there.", cite=(f"turn:{name(1)}", "text of 1"))
        memory.runs.compact("r")
        memory.runs.narrative("r")
        memory.context("text of 2")
        memory.seal()
    return folder


def verdict(root: Path) -> Verdict:
    with Slicebase.open(root) as memory:
        return memory.verify()


def statuses(root: Path) -> set[str]:
    return {finding.status for finding in verdict(root).findings}


def database(root: Path) -> Path:
    return root / ".slicebase" / "slicebase.db"


def refused(root: Path, verb: Callable[[Slicebase], object]) -> str:
    with Slicebase.open(root) as memory, pytest.raises(SlicebaseError) as caught:
        verb(memory)
    return caught.value.code


def without(root: Path, statement: str) -> None:
    with without_triggers(database(root)) as connection:
        connection.execute(statement)


# The database itself


@pytest.mark.parametrize("empty", [True, False], ids=["empty", "gone"])
def test_a_database_that_is_empty_or_gone_is_broken_and_refused_by_every_other_verb(root: Path, empty: bool) -> None:
    database(root).write_bytes(b"") if empty else database(root).unlink()
    found = verdict(root)
    assert (found.status, found.exit, [each.check for each in found.findings]) == ("BROKEN", 1, ["database"])
    assert refused(root, lambda memory: memory.context("anything")) == "database-lost"
    assert refused(root, lambda memory: memory.runs.start("x", "y", "z")) == "database-lost"
    assert database(root).exists() == empty, "nothing was created in its place"
    with Slicebase.open(root) as memory:
        assert "database" in [complaint.check for complaint in memory.doctor()[0]]


def test_a_database_of_a_later_version_is_not_called_broken(root: Path) -> None:
    without(root, "PRAGMA user_version = 9999")
    assert refused(root, lambda memory: memory.verify()) == "database-newer"


def test_a_new_database_after_a_loss_is_a_record(root: Path) -> None:
    database(root).unlink()
    Slicebase.init(root, adopt=True).close()
    assert verdict(root).status == "VERIFIED"
    assert "FOREIGN" in statuses(root), "the seal of the old one is listed"


def test_a_database_of_another_program_is_broken(root: Path) -> None:
    database(root).unlink()
    other = apsw.Connection(str(database(root)))
    other.execute("CREATE TABLE mine (x)")
    other.close()
    assert verdict(root).status == "BROKEN"
    assert refused(root, lambda memory: memory.context("anything")) == "not-our-database"


def test_a_database_of_another_user_or_machine_is_not_opened_until_it_is_adopted(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(machine.MACHINE, "another machine")
    assert refused(root, lambda memory: memory.context("text")) == "database-not-ours"
    assert verdict(root).status == "BROKEN"
    with Slicebase.init(root, adopt=True) as memory:
        assert memory.context("text of 2").pieces
    assert verdict(root).status == "VERIFIED"
    assert "ADOPTED" in statuses(root)


def test_another_database_in_the_place_of_the_known_one_is_not_opened(root: Path, tmp_path: Path) -> None:
    with Slicebase.init(tmp_path / "other") as memory:
        store(memory.truth, [turn("x")])
    shutil.copy(database(tmp_path / "other"), database(root))
    assert refused(root, lambda memory: memory.context("text")) == "database-not-ours"
    assert verdict(root).status == "BROKEN"


def test_an_open_object_misses_its_deleted_database(root: Path) -> None:
    with Slicebase.open(root) as memory:
        assert memory.verify().status == "VERIFIED"
        shutil.rmtree(root / ".slicebase")
        assert memory.verify().status == "BROKEN"


def test_the_id_is_kept_beside_the_database_and_in_the_folder_of_this_machine(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    with Slicebase.init(tmp_path) as memory:
        store(memory.truth, chain(1))
        places = memory.workspace.id_files
    assert [path.parent.name for path in places] == ["slicebase", ".slicebase"]
    assert len({path.read_text() for path in places}) == 1
    shutil.rmtree(tmp_path / ".git" / "slicebase")
    assert verdict(tmp_path).status == "BROKEN"


def test_what_init_set_up_is_removed_with_the_database(root: Path) -> None:
    with Slicebase.open(root) as memory:
        memory.uninit(delete_data=True)
    assert not (root / ".slicebase").exists()
    Slicebase.init(root).close()
    assert verdict(root).status == "VERIFIED"


# Seals


def test_a_colleagues_seals_are_listed_and_leave_the_own_database_verified(root: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(root / ".slices", clone / ".slices")
    with Slicebase.init(clone) as memory:
        store(memory.truth, chain(2))
        memory.seal()
    found = verdict(clone)
    assert (found.status, found.exit) == ("VERIFIED", 0)
    assert {each.check for each in found.findings if each.status == "FOREIGN"} == {"seal", "narrative"}


def test_a_restored_backup_is_a_record_and_not_damage(root: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    shutil.copy(database(root), backup)
    with Slicebase.open(root) as memory:
        store(memory.truth, [turn("later", 3)])
        memory.seal()
    shutil.copy(backup, database(root))
    assert verdict(root).status == "BROKEN", "as long as nobody says that it was restored"
    Slicebase.init(root, adopt=True).close()
    found = verdict(root)
    assert found.status == "VERIFIED"
    assert [each.check for each in found.findings if each.status == "ADOPTED"] == ["restore"]
    assert "seal" in [each.check for each in found.findings if each.status == "FOREIGN"]
    with Slicebase.open(root) as memory:
        store(memory.truth, [turn("other", 3)])
        memory.seal()
        assert memory.verify().status == "VERIFIED"


def test_seals_from_before_an_adoption_still_count(root: Path) -> None:
    Slicebase.init(root, adopt=True).close()
    without(root, "DELETE FROM turns WHERE seq = 4")
    without(root, "DELETE FROM log WHERE seq > 1")
    assert "seal" in [each.check for each in verdict(root).findings if each.status == "BROKEN"]


def test_the_newest_seal_is_compared_and_the_logs_of_the_older_ones(root: Path) -> None:
    with Slicebase.open(root) as memory:
        store(memory.truth, [turn("later", 3)])
        newest = memory.seal()
    without(root, "DELETE FROM log")
    found = [each for each in verdict(root).findings if each.check == "seal"]
    assert [each.place for each in found] == ["log", "log"], "once for each seal"
    (root / newest.file.name).unlink()
    assert "seal" in [each.check for each in verdict(root).findings if each.status == "BROKEN"]


def test_a_file_that_changed_before_the_newest_seal_has_not_drifted(root: Path) -> None:
    with Slicebase.open(root) as memory:
        page = memory.library.create("Page", "A page.", body="one")
        memory.seal()
        memory.library.define(page.id, "slice.title=Another title")
        assert [each.place for each in memory.verify().findings if each.check == "seal"] == [page.ref]
        memory.seal()
        assert [each for each in memory.verify().findings if each.check == "seal"] == []


def test_a_log_that_lost_what_an_older_seal_saw_is_broken_though_the_newest_seal_holds(
    root: Path, tmp_path: Path
) -> None:
    shutil.copy(database(root), tmp_path / "copy")
    for name_of_turn in ("first", "second"):
        with Slicebase.open(root) as memory:
            store(memory.truth, [turn(name_of_turn, 3)])
            newest = memory.seal()
        if name_of_turn == "first":
            (root / ".slicebase" / "cache").rename(tmp_path / "cache")  # the index knows the first turn, too
            shutil.copy(tmp_path / "copy", database(root))
    with Slicebase.open(root) as memory:
        assert not [each for each in memory.verify(seal=newest.id).findings if each.place == "turns/s"]
    broken = [each for each in verdict(root).findings if each.status == "BROKEN"]
    assert [(each.check, each.place) for each in broken] == [("seal", "log")]


def test_the_latest_seal_is_the_last_that_was_written(root: Path) -> None:
    with Slicebase.open(root) as memory:
        store(memory.truth, [turn("later", 3)])
        memory.seal()
    without(root, "DELETE FROM turns WHERE seq = 5")
    without(root, "DELETE FROM log WHERE seq > 11")
    with Slicebase.open(root) as memory:
        found = [each.place for each in memory.verify(seal="latest").findings if each.check == "seal"]
    assert "turns/s" in found


@pytest.mark.parametrize(
    "line", ['["chain","turns/s",99999999999999999999,"00"]', "[" * 1000 + "]" * 1000, "[]", "x", '["chain","no",1,""]']
)
def test_a_line_of_a_seal_that_makes_no_sense_is_unverifiable(root: Path, line: str) -> None:
    with Slicebase.open(root) as memory:
        sealed = memory.seal()
        path = root / sealed.file.name
        path.write_text(path.read_text() + line + "\n")
        found = memory.verify(seal=sealed.id)
    assert ("UNVERIFIABLE", "seal-line") in [(each.status, each.check) for each in found.findings]


# The log


ACTS: dict[str, Callable[[Slicebase, Path], object]] = {
    "seal": lambda memory, _: memory.seal(),
    "write": lambda memory, _: store(memory.truth, [turn("more", session="t")]),
    "import of what is known": lambda memory, path: memory.import_([path]),
}


@pytest.mark.parametrize("act", ACTS)
def test_a_write_whose_process_was_killed_is_unwitnessed_until_the_next_act(root: Path, act: str) -> None:
    path = root.parent / "known.jsonl"
    path.write_bytes(jsonl([record(1, None)]))
    with Slicebase.open(root) as memory:
        memory.import_([path])
        store(memory.truth, [turn("later", 3)])
        on_file(memory.truth)._has_grown = False  # as if the process had ended before it could log
    assert "UNWITNESSED" in statuses(root)
    assert verdict(root).exit == 0
    with Slicebase.open(root) as memory:
        ACTS[act](memory, path)
    assert "UNWITNESSED" not in statuses(root)


def test_verify_does_not_wait_for_another_writer(root: Path) -> None:
    writer = apsw.Connection(str(database(root)))
    with Slicebase.open(root) as memory:
        store(memory.truth, [turn("later", 3)])
        memory.truth.database.wait(1)
        writer.execute("BEGIN IMMEDIATE")
        found = memory.verify()
        writer.execute("ROLLBACK")
    writer.close()
    assert found.status == "VERIFIED"
    assert "UNWITNESSED" in {each.status for each in found.findings}
    assert "UNWITNESSED" not in statuses(root), "it was logged when the object was closed"


def test_many_writes_of_a_long_lived_object_are_logged_while_it_is_open(root: Path) -> None:
    with Slicebase.open(root) as memory:
        for number in range(80):
            memory.runs.log("r", [{"type": "note", "payload": {"n": number}}])
        other = apsw.Connection(str(database(root)))
        logged = other.execute("SELECT max(count) FROM log WHERE chain = 'events/r'").get
        other.close()
    assert isinstance(logged, int)
    assert logged > 40


def test_what_others_seal_and_index_while_verify_reads_is_no_damage(root: Path) -> None:
    done = []

    def progress(what: str) -> None:
        if what == "runs":  # the last check: what it reads is the database of before
            with Slicebase.open(root) as other:
                store(other.truth, [turn("meanwhile", 4, text="something new")])
                assert other.search("something").turns
                done.append(other.seal())

    with Slicebase.open(root) as memory:
        assert memory.verify(progress=progress).status == "VERIFIED"
        assert done
        assert memory.verify().status == "VERIFIED"


# Other witnesses


def test_the_index_knows_turns_that_were_removed_with_their_log(root: Path) -> None:
    for seal in (root / ".slices").iterdir():
        seal.unlink()
    for table in ("turns", "annotations", "sessions", "shapes", "waiting", "log"):
        without(root, f"DELETE FROM {table}")
    assert "index" in [each.check for each in verdict(root).findings if each.status == "BROKEN"]


def test_the_index_knows_links_and_purges_that_were_removed_with_their_log(root: Path) -> None:
    with Slicebase.open(root) as memory:
        memory.truth.turns.link([Edge(name(0), name(3), "reference")])
        memory.purge(f"turn:{name(3)}")
        memory.context("text of 2")
    assert not [each for each in verdict(root).findings if each.status == "BROKEN"]
    for seal in (root / ".slices").iterdir():
        seal.unlink()
    without(root, "DELETE FROM links")
    without(root, "DELETE FROM acts WHERE kind = 'purge'")
    without(root, "DELETE FROM log")
    found = [each.place for each in verdict(root).findings if each.check == "index"]
    assert found == ["links", "purges"]


def test_a_manifest_that_a_run_names_is_missed(root: Path) -> None:
    with Slicebase.open(root) as memory:
        context = memory.context("text of 2", run="r", step=1)
    without(root, f"DELETE FROM manifests WHERE manifest = '{context.id}'")
    without(root, "DELETE FROM log")
    checks = {each.check for each in verdict(root).findings}
    assert "manifest-unknown" in checks


def narratives(root: Path) -> list[tuple[str, str]]:
    return [(each.status, each.found) for each in verdict(root).findings if each.check == "narrative"]


def test_a_narrative_is_compared_with_the_snapshot_that_it_names(root: Path) -> None:
    with Slicebase.open(root) as memory:
        (entry,) = [each for each in memory.library.list_files() if (each.source or "").startswith("sn_")]
        memory.library.create("Notes", "About snapshots.", body=f"See {entry.source}, and sn_0.")
        path = root / ".slices" / f"{entry.id}.slice"
        data = path.read_text()
    assert narratives(root) == []
    snapshot, pinned = str(entry.source), data[data.index("hash: ") :].split()[1]
    path.write_text(data.replace(pinned, f"sha256:{'0' * 64}"))
    assert narratives(root) == [("DRIFTED", f"sha256:{'0' * 64}")]
    path.write_text(data.replace(snapshot, f"sn_{'0' * 32}"))
    assert narratives(root) == [("FOREIGN", "no such snapshot here")]
    with Slicebase.open(root) as memory:
        memory.library.purge(entry.id)
        memory.runs.claim("r", "It is here.", cite=(f"turn:{name(2)}", "text of 2"))
        memory.runs.compact("r")
        memory.runs.narrative("r")
    assert narratives(root) == []


def test_an_index_of_another_database_is_built_again(root: Path) -> None:
    (root / ".slicebase" / DATABASE_ID).unlink()
    database(root).unlink()
    assert verdict(root).status == "BROKEN", "the index knows that there was one"
    with Slicebase.init(root, adopt=True) as memory:
        store(memory.truth, [turn("fresh", text="something quite different")])
        assert [piece.text for piece in memory.context("different").pieces] == ["something quite different"]
        again = memory.context("text of 2", record=False).pieces
        assert not [piece for piece in again if piece.ref.startswith("turn:")]
