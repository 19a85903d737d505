"""Seals: what one contains, which one is the latest, and what it finds."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slicebase import Slicebase, SlicebaseError
from slicebase.files.slice_file import SliceFile
from slicebase.truth.chains import LOG, Chain, head_of
from slicebase.verbs.seal import SealedLog, all_seals, find_seal, sealed_log
from tests.conversations import chain, store, turn


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Slicebase]:
    """Two sessions, one run and one file."""
    with Slicebase.init(tmp_path) as opened:
        store(opened.truth, [*chain(3), turn("x", session="t")])
        opened.runs.start("r", "Find it.", "Found.")
        opened.library.create("Page", "A page.", body="one")
        yield opened


def test_a_seal_has_the_head_of_the_log_of_every_chain_and_the_version_of_every_file(memory: Slicebase) -> None:
    memory.seal()
    sealed = memory.seal()
    assert (sealed.runs, sealed.sessions, sealed.files) == (1, 2, 1)
    assert sealed.file.name == f".slices/{sealed.id}.slice"
    lines = [json.loads(line) for line in sealed.file.body.splitlines()]
    connection = memory.truth.database.connection
    head = head_of(connection, Chain(LOG))
    assert lines[0] == ["log", memory.truth.identity.database, head.length, head.hash.hex()]
    heads = {name: (rows, found) for kind, name, rows, found in (line for line in lines[1:] if line[0] == "chain")}
    assert heads.keys() >= {"turns/s", "turns/t", "sessions/s", "events/r", "acts"}
    assert LOG not in heads
    for name, (rows, found) in heads.items():
        assert head_of(connection, Chain.named(name)) == (rows, bytes.fromhex(found))
    (page,) = [file for file in memory.folder.all() if isinstance(file, SliceFile) and file.title == "Page"]
    assert [line for line in lines if line[0] == "file"] == [["file", page.id, page.digest]]


def test_what_a_seal_says_about_the_log_is_in_its_first_line(memory: Slicebase) -> None:
    file = memory.seal().file
    head = head_of(memory.truth.database.connection, Chain(LOG))
    assert sealed_log(file) == SealedLog(memory.truth.identity.database, head.length, head.hash.hex())
    for first in (b"", b"x\n", b"\xff", b"[" * 2000, b'["chain","a",1,"b"]\n', b'["log","a","b"]\n'):
        assert sealed_log(file.with_body(first)) is None


def test_the_latest_seal_is_found_by_its_time_and_any_other_by_its_id(memory: Slicebase) -> None:
    with pytest.raises(SlicebaseError) as caught:
        find_seal(memory.folder, "latest")
    assert caught.value.code == "no-file"
    first, second = memory.seal(), memory.seal()
    assert [file.id for file in all_seals(memory.folder)] == sorted([first.id, second.id])
    assert find_seal(memory.folder, "latest").id == max(first.id, second.id)
    assert find_seal(memory.folder, first.id).id == first.id


# Seals that cannot be read


def found(memory: Slicebase) -> list[tuple[str, str, str]]:
    return [(each.status, each.check, each.place) for each in memory.verify().findings]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "not text": lambda data: b"\xff" * 100,
    "without its frontmatter": lambda data: data.split(b"---\n", 2)[2],
    "with broken frontmatter": lambda data: data.replace(b"meta:", b"meta: {", 1),
    "without its end": lambda data: data[: data.index(b"meta:")],
    "another kind of file": lambda data: data.replace(b"slicebase: seal", b"slicebase: page"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_seal_of_this_database_that_cannot_be_read_is_unverifiable(memory: Slicebase, damage: str) -> None:
    first, second = memory.seal(), memory.seal()
    for sealed in (first, second):
        path = memory.workspace.root / sealed.file.name
        data = path.read_bytes()
        path.write_bytes(DAMAGES[damage](data))
        assert found(memory) == [("UNVERIFIABLE", "seal", sealed.file.name)]
        assert memory.verify().status == "UNVERIFIABLE"
        path.write_bytes(data)
    assert memory.verify().status == "VERIFIED"


def test_a_seal_that_cannot_be_opened_is_unverifiable(memory: Slicebase) -> None:
    path = memory.workspace.root / memory.seal().file.name
    path.unlink()
    path.mkdir()
    assert [status for status, _, _ in found(memory)] == ["UNVERIFIABLE"]


def test_a_seal_whose_file_is_gone_or_forgotten_is_no_damage(memory: Slicebase) -> None:
    """An older commit that is checked out does not have it."""
    first, second = memory.seal(), memory.seal()
    (memory.workspace.root / second.file.name).unlink()
    assert found(memory) == []
    memory.library.forget(first.id)
    assert memory.verify().status == "VERIFIED"
    memory.library.purge(first.id)
    assert memory.verify().status == "VERIFIED"


@pytest.mark.parametrize(
    ("damage", "is_known"), [("with broken frontmatter", True), ("without its frontmatter", True), ("empty", False)]
)
def test_a_damaged_seal_of_another_database_is_known_by_its_mark(
    memory: Slicebase, tmp_path_factory: pytest.TempPathFactory, damage: str, is_known: bool
) -> None:
    with Slicebase.init(tmp_path_factory.mktemp("colleague")) as colleague:
        sealed = colleague.seal()
        data = (colleague.workspace.root / sealed.file.name).read_bytes()
    (memory.workspace.root / sealed.file.name).write_bytes(DAMAGES[damage](data))
    assert found(memory) == ([("UNVERIFIABLE", "seal", sealed.file.name)] if is_known else [])


def test_a_broken_file_that_merely_talks_about_seals_is_none(memory: Slicebase) -> None:
    (memory.workspace.library / "talk.slice").write_text(
        "---\nslice: {\n---\nThe mark is `slicebase: seal`, of a seal.\n"
    )
    assert found(memory) == []


@pytest.mark.parametrize("damage", ["empty", "not text"])
def test_a_sealed_file_that_cannot_be_read_has_drifted(memory: Slicebase, damage: str) -> None:
    page = memory.library.create("Another", "A page.", body="one").id
    memory.seal()
    path = memory.workspace.library / f"{page}.slice"
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    assert found(memory) == [("DRIFTED", "seal", f"file:{page}")]
