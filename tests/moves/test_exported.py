"""What comes from outside is derived again: damage and lies anywhere in an export are named, and store nothing."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slicebase import Slicebase, SlicebaseError
from slicebase.core.hashing import raw_digest
from slicebase.errors import Exit
from slicebase.moves.exported import listed_file, place_of_rows, place_of_texts, row_hash
from slicebase.moves.lines import ROW_LINE, FileHead, encoded, moved_row, row_line
from slicebase.moves.manifest import ExportManifest, export_manifest_bytes, manifest_of
from slicebase.moves.survey import surveyed
from slicebase.truth.transfer import MovedRow, Transfer, shared_head, shared_key
from tests.conversations import chain, name, store, turn
from tests.moves.memories import everything, filled, purge_something
from tests.moves.test_export import contents


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of everything."""
    folder = tmp_path_factory.mktemp("kept")
    with filled(folder / "w") as memory:
        purge_something(memory)
        memory.export_workspace(folder / "e")
    return folder / "e"


def listed_again(folder: Path) -> None:
    """Lets the manifest list the files as they are, as somebody does who means to deceive."""
    try:
        manifest = surveyed(folder)
    except SlicebaseError:  # it cannot be read: only the digests of the files follow
        listed_as_before(folder)
    else:
        (folder / "manifest.json").write_bytes(export_manifest_bytes(manifest))


def listed_as_before(folder: Path) -> None:
    """Lets the manifest list the files as they are, with the heads that it had."""
    old = msgspec.json.decode((folder / "manifest.json").read_bytes(), type=ExportManifest)
    files = {path: listed_file(folder, path) for path in old.by_path() if (folder / path).exists()}
    (folder / "manifest.json").write_bytes(export_manifest_bytes(manifest_of(files, old.heads)))


def taken(folder: Path, root: Path) -> tuple[Any, dict[str, Any]]:
    """Returns the report of an import, or its error, and the rows that are there afterwards, which are proved."""
    with Slicebase.init(root) as memory:
        try:
            report: Any = memory.import_workspace(folder)
        except SlicebaseError as error:
            report = error
        assert memory.verify().status == "VERIFIED"
        return report, everything(memory)


def test_every_file_that_is_damaged_is_named_and_costs_only_what_depends_on_it(kept: Path, tmp_path: Path) -> None:
    for number, path in enumerate(sorted(contents(kept))):
        if path.startswith(("schemas/", "README", ".git")):
            continue
        folder = tmp_path / f"e{number}"
        shutil.copytree(kept, folder)
        data = (folder / path).read_bytes()
        (folder / path).write_bytes(
            data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]
        )
        report, _ = taken(folder, tmp_path / f"r{number}")
        errors = [report] if isinstance(report, SlicebaseError) else list(report.refused)
        assert errors, path
        assert path == "manifest.json" or any(path in str(error) for error in errors), (path, errors)
        assert any(error.code == "bad-move" and error.hint for error in errors)
        (folder / path).unlink()
        report, _ = taken(folder, tmp_path / f"m{number}")
        assert isinstance(report, SlicebaseError) or report.exit == Exit.REFUSED, path


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(
    file=st.integers(0, 100), place=st.floats(0, 1), change=st.sampled_from(["flip", "cut", "drop", "double", "byte"])
)
def test_damage_under_a_manifest_that_lists_it_stores_nothing_that_cannot_be_proved(
    file: int, place: float, change: str, kept: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("x")
    shutil.copytree(kept, folder / "e")
    paths = [path for path in sorted(contents(kept)) if path.endswith(".jsonl")]
    path = folder / "e" / paths[file % len(paths)]
    data = path.read_bytes()
    at = min(int(place * len(data)), len(data) - 1)
    lines = data.splitlines(keepends=True)
    line = min(int(place * len(lines)), len(lines) - 1)
    path.write_bytes({
        "flip": data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :],
        "byte": data[:at] + b"\xff" + data[at + 1 :],
        "cut": data[:at],
        "drop": b"".join([*lines[:line], *lines[line + 1 :]]),
        "double": b"".join([*lines[: line + 1], *lines[line:]]),
    }[change])  # fmt: skip
    listed_again(folder / "e")
    taken(folder / "e", folder / "r")


# Lies


class Forged:
    """An export of a small memory, whose rows can be changed with all hashes that depend on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "e"
        with Slicebase.init(folder / "w") as memory:
            store(memory.truth, [*chain(4), turn("x", session="t")])
            self.evidence = memory.cite(f"turn:{name(1)}", "text")
            memory.runs.start("r", "Find it.", "Found.")
            memory.runs.claim("r", "It is.", cite=[self.evidence.evidence_id])
            memory.runs.compact("r")
            memory.context("text", tokens=200)
            memory.export_workspace(self.folder)

    @classmethod
    def at(cls, folder: Path) -> "Forged":
        """Returns an export that is there already."""
        made = cls.__new__(cls)
        made.folder = folder
        return made

    def change(self, path: str, table: str, edit: Callable[[list[dict[str, Any]]], object]) -> None:
        """Changes the lines of a table in a file; numbers and hashes follow."""
        head, *others = (self.folder / path).read_bytes().splitlines()
        lines = [json.loads(line) for line in others]
        chosen = [line for line in lines if line["table"] == table]
        edit(chosen)
        before, made = b"", []
        for number, line in enumerate(chosen, 1):
            _, row = moved_row(ROW_LINE.decode(json.dumps({**line, "seq": number})))
            before = row_hash(table, before, row.values)
            made.append(MovedRow(number, row.values, before))
        rest = [json.dumps(line).encode() + b"\n" for line in lines if line["table"] != table]
        data = [head + b"\n", *rest, *(encoded(row_line(table, row)) for row in made)]
        (self.folder / path).write_bytes(b"".join(data))
        old = msgspec.json.decode((self.folder / "manifest.json").read_bytes(), type=ExportManifest)
        owner = msgspec.json.decode(head, type=FileHead).owner
        name = table if owner == table else f"{table}/{owner.partition(':')[2]}"
        found = (len(made), before.hex())
        if owner == table:
            found = shared_head(shared_key(table, row.values) for row in made)
        heads = {**old.heads, name: found}
        files = {each: listed_file(self.folder, each) for each in old.by_path()}
        (self.folder / "manifest.json").write_bytes(export_manifest_bytes(manifest_of(files, heads)))

    def text(self, owner: str, old: bytes, new: bytes) -> None:
        """Changes bytes of the texts of an owner, and lets the manifest list that."""
        path = self.folder / "texts" / f"{owner}.jsonl"
        assert old in path.read_bytes()
        path.write_bytes(path.read_bytes().replace(old, new))
        listed_again(self.folder)


@pytest.fixture
def forged(tmp_path: Path) -> Forged:
    return Forged(tmp_path)


def record(line: dict[str, Any], **changes: Any) -> None:
    line["record"] = json.dumps({**json.loads(line["record"]), **changes}, separators=(",", ":"), sort_keys=True)


def rename(line: dict[str, Any]) -> None:
    line["record"] = line["record"].replace('"r"', '"q"')


NONE = "sha256:" + "0" * 64
LIES: dict[str, tuple[str, str, Callable[[list[dict[str, Any]]], object]]] = {
    "a cycle": ("sessions/s.jsonl", "turns", lambda rows: record(rows[0], parents=[[name(3), "reply"]])),
    "a turn of another session": ("sessions/s.jsonl", "turns", lambda rows: record(rows[1], session="t")),
    "a turn under another key": ("sessions/s.jsonl", "turns", lambda rows: rows[1].update(turn="0" * 32)),
    "a turn twice": ("sessions/s.jsonl", "turns", lambda rows: rows.append(rows[0])),
    "no turns": ("sessions/s.jsonl", "turns", lambda rows: rows.clear()),
    "a text that is not there": ("sessions/s.jsonl", "turns", lambda r: record(r[1], content_hash=NONE)),
    "an id in capital letters": ("sessions/s.jsonl", "turns", lambda rows: record(rows[1], id=name(1).upper())),
    "a parent that is no id": ("sessions/s.jsonl", "turns", lambda rows: record(rows[1], parents=[["x", "reply"]])),
    "a record in another form": ("sessions/s.jsonl", "turns", lambda r: r[1].update(record=r[1]["record"] + " ")),
    "an unknown role": ("sessions/s.jsonl", "turns", lambda rows: record(rows[1], role="god")),
    "a time that is none": ("sessions/s.jsonl", "turns", lambda rows: record(rows[1], time="yesterday")),
    "no JSON": ("sessions/s.jsonl", "turns", lambda rows: rows[1].update(record="{")),
    "deep JSON": ("sessions/s.jsonl", "turns", lambda rows: rows[1].update(record="[" * 100_000)),
    "facts of another session": ("sessions/s.jsonl", "sessions", lambda rows: record(rows[0], id="t")),
    "salience beyond 1": ("sessions/s.jsonl", "annotations", lambda rows: record(rows[0], salience=["2"])),
    "salience that is no number": ("sessions/s.jsonl", "annotations", lambda rows: record(rows[0], salience=["nan"])),
    "an infinite complexity": ("sessions/s.jsonl", "annotations", lambda rows: record(rows[0], complexity=["inf"])),
    "a huge depth": ("sessions/s.jsonl", "annotations", lambda rows: record(rows[0], depth=[2**70])),
    "columns of other lengths": ("sessions/s.jsonl", "annotations", lambda rows: record(rows[0], depth=[])),
    "a turn without annotation": ("sessions/s.jsonl", "annotations", lambda rows: rows.pop()),
    "another range": ("sessions/s.jsonl", "annotations", lambda rows: rows[1].update(first=1)),
    "an event left out": ("runs/r.jsonl", "events", lambda rows: rows.pop(1)),
    "the last events left out": ("runs/r.jsonl", "events", lambda rows: rows.pop()),
    "an event of another run": ("runs/r.jsonl", "events", lambda r: rename(r[1])),
    "events in another order": ("runs/r.jsonl", "events", lambda rows: rows.reverse()),
    "a snapshot left out": ("runs/r.jsonl", "snapshots", lambda rows: rows.clear()),
    "a snapshot twice": ("runs/r.jsonl", "snapshots", lambda rows: rows.append(rows[0])),
    "another snapshot": ("runs/r.jsonl", "snapshots", lambda rows: record(rows[0], digest=NONE)),
    "evidence under another id": ("evidence.jsonl", "evidence", lambda r: r[0].update(evidence="ev_" + "0" * 32)),
    "evidence of another chunk": ("evidence.jsonl", "evidence", lambda r: r[0].update(chunk=f"turn:{name(2)}")),
    "a blob that is not there": ("runs/r.jsonl", "events", lambda rows: rows[1].update(payload="0" * 64)),
    "a manifest under another id": ("manifests.jsonl", "manifests", lambda r: r[0].update(manifest="mf_" + "0" * 32)),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_whose_hashes_are_all_right_is_not_taken(lie: str, forged: Forged, tmp_path: Path) -> None:
    forged.change(*LIES[lie])
    report, rows = taken(forged.folder, tmp_path / "r")
    assert isinstance(report, SlicebaseError) or report.exit in (Exit.REFUSED, Exit.CONFLICT), report
    assert any("'t'" in row for row in rows["turns"]) or isinstance(report, SlicebaseError)  # what is true is taken


VALUES: list[Any] = [
    None,
    "",
    0,
    1,
    -1,
    2**63,
    1.5,
    "x",
    [],
    {},
    NONE,
    "2026-01-01T00:00:00.000Z",
    True,
    "user",
    "s",
    "t",
    "r",
]


def mutated(value: Any, chance: Random) -> Any:
    """Returns a JSON value of which one part is another, missing or twice."""
    if isinstance(value, dict) and value and chance.random() < 0.8:
        key = chance.choice(list(value))
        rest = {name: inner for name, inner in value.items() if name != key}
        return rest if chance.random() < 0.15 else {**rest, key: mutated(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        place = chance.randrange(len(value))
        inner = chance.choice([[], [value[place]] * 2, [mutated(value[place], chance)]])
        return [*value[:place], *inner, *value[place + 1 :]]
    return chance.choice(VALUES)


def mutate_rows(rows: list[dict[str, Any]], chance: Random) -> None:
    """Changes a row: a part of its record, a key of it, or where it stands."""
    row, other = chance.choice(rows), chance.choice(rows)
    kind = chance.random()
    if kind < 0.7 and "record" in row:
        row["record"] = json.dumps(mutated(json.loads(row["record"]), chance), separators=(",", ":"), sort_keys=True)
    elif kind < 0.85:
        key = chance.choice([name for name in row if name not in ("table", "seq", "hash")])
        row[key] = other[key]
    elif kind < 0.95:
        rows.remove(row)
    else:
        rows.insert(rows.index(row), dict(other))


TABLES = [
    ("sessions/s.jsonl", "sessions"), ("sessions/s.jsonl", "turns"), ("sessions/s.jsonl", "annotations"),
    ("runs/r.jsonl", "events"), ("runs/r.jsonl", "snapshots"), ("evidence.jsonl", "evidence"),
    ("manifests.jsonl", "manifests"),
]  # fmt: skip


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Forged(tmp_path_factory.mktemp("small")).folder


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(place=st.sampled_from(TABLES), seed=st.integers(0, 2**32))
def test_whatever_rows_say_with_hashes_that_are_right_the_memory_stays_proved(
    place: tuple[str, str], seed: int, small: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("x")
    shutil.copytree(small, folder / "e")
    try:
        Forged.at(folder / "e").change(*place, lambda rows: mutate_rows(rows, Random(seed)))
    except msgspec.ValidationError:
        return  # no line can say that
    report, _ = taken(folder / "e", folder / "r")
    assert isinstance(report, SlicebaseError) or report.verdict is None or report.verdict.status == "VERIFIED"


def test_an_id_that_no_run_can_have_is_not_taken(forged: Forged, tmp_path: Path) -> None:
    """It would name a file outside the folder of open steps."""
    with Slicebase.open(forged.folder.parent / "w") as memory:
        memory.runs.start("XXXX", "Find it.", "Found.")
        memory.export_workspace(forged.folder)
    for path in [*forged.folder.rglob("*.jsonl")]:
        if b"XXXX" in path.read_bytes():
            path.write_bytes(path.read_bytes().replace(b"XXXX", b"../x"))
    path = forged.folder / place_of_rows("run", "XXXX")
    head, line = path.read_bytes().splitlines()
    row = json.loads(line)
    row["hash"] = raw_digest(row["record"].encode()).hex()
    path.unlink()
    (forged.folder / place_of_rows("run", "../x")).write_bytes(head + b"\n" + json.dumps(row).encode() + b"\n")
    texts = forged.folder / place_of_texts("run:XXXX")
    texts.rename(forged.folder / place_of_texts("run:../x"))
    listed_again(forged.folder)
    report, rows = taken(forged.folder, tmp_path / "r")
    assert [error.code for error in report.refused] == ["bad-run"]
    assert not any("../x" in row for row in rows["events"])


def test_a_quote_that_its_turn_does_not_have_is_not_taken(forged: Forged, tmp_path: Path) -> None:
    from slicebase.core.hashing import digest
    from slicebase.truth.ledger import record_id

    other = digest(b"lies")

    def lie(rows: list[dict[str, Any]]) -> None:
        made = rows[0]["record"].replace(forged.evidence.quote_hash, other)
        rows[0].update(record=made, evidence=record_id(made.encode()))

    forged.text("session/s", forged.evidence.quote_hash[7:].encode(), other[7:].encode())
    forged.text("session/s", b'"text":"text"', b'"text":"lies"')
    forged.change("evidence.jsonl", "evidence", lie)
    report, _ = taken(forged.folder, tmp_path / "r")
    assert report.exit == Exit.REFUSED


def test_a_tombstone_that_no_purge_left_is_not_taken(forged: Forged, tmp_path: Path) -> None:
    path = forged.folder / "texts" / "session" / "t.jsonl"
    head, *lines = path.read_bytes().splitlines(keepends=True)
    bare = [json.loads(line) for line in lines]
    path.write_bytes(
        head + b"".join(msgspec.json.encode({"hash": each["hash"], "purged": "now"}) + b"\n" for each in bare)
    )
    listed_again(forged.folder)
    report, rows = taken(forged.folder, tmp_path / "r")
    assert report.exit == Exit.REFUSED
    assert not any("'t'" in row for row in rows["turns"])


def test_a_time_that_is_none_is_not_taken(forged: Forged, tmp_path: Path) -> None:
    with Slicebase.open(forged.folder.parent / "w") as memory:
        memory.purge(f"turn:{name('x')}", reason="a test")
        (purge,) = Transfer(memory.truth.database).purges()
        memory.export_workspace(forged.folder)
    forged.change("manifests.jsonl", "manifests", lambda rows: rows[0].update(recorded="yesterday"))
    for path in (forged.folder / "purges.jsonl", forged.folder / "texts" / "session" / "t.jsonl"):
        path.write_bytes(path.read_bytes().replace(purge.time.encode(), b"yesterday"))
    listed_again(forged.folder)
    report, rows = taken(forged.folder, tmp_path / "r")
    assert {error.where.file for error in report.refused if error.where} == {"manifests", "session:t"}
    assert not any("yesterday" in row for row in (*rows["manifests"], *rows["texts"]))


def test_a_text_that_no_record_names_is_left_there(forged: Forged, tmp_path: Path) -> None:
    path = forged.folder / "texts" / "session" / "t.jsonl"
    line = {"hash": raw_digest(b"smuggled").hex(), "text": "smuggled"}
    path.write_bytes(path.read_bytes() + msgspec.json.encode(line) + b"\n")
    listed_again(forged.folder)
    report, rows = taken(forged.folder, tmp_path / "r")
    assert report.exit == Exit.DONE
    assert not any("smuggled" in row for row in rows["texts"])


@pytest.mark.parametrize(
    "path", ["../x", "/tmp/x", "slices/../../x", "slices//x", "slices/a\\b", "slices/a\nb", "slices/.git/x"]
)
def test_a_path_that_leads_out_of_the_folder_is_refused(path: str, forged: Forged, tmp_path: Path) -> None:
    (forged.folder.parent / "x").write_text("outside")
    manifest = json.loads((forged.folder / "manifest.json").read_text())
    manifest["files"].append({"path": path, "sha256": "0" * 64, "size": 1})
    (forged.folder / "manifest.json").write_text(json.dumps(manifest))
    report, rows = taken(forged.folder, tmp_path / "r")
    assert report.code == "bad-move"
    assert not rows["turns"]


def test_links_in_an_export_are_not_followed(forged: Forged, tmp_path: Path) -> None:
    secret = tmp_path / "secret.slice"
    secret.write_text("a secret of mine")
    (forged.folder / "slices").mkdir(exist_ok=True)
    link = forged.folder / "slices" / "x.slice"
    link.symlink_to(secret)
    manifest = json.loads((forged.folder / "manifest.json").read_text())
    manifest["files"].append(msgspec.to_builtins(listed_file(tmp_path, "secret.slice")) | {"path": "slices/x.slice"})
    (forged.folder / "manifest.json").write_text(json.dumps(manifest))
    with Slicebase.init(tmp_path / "r") as memory:
        report = memory.import_workspace(forged.folder)
        assert report.exit == Exit.REFUSED
        assert not list(memory.workspace.library.iterdir())


@pytest.mark.parametrize(
    "manifest",
    [
        b"", b"{}", b"[", b"[" * 100_000, b"\xff", b'{"format":"slicebase-workspace"}',
        b'{"format":"slicebase-workspace","version":2,"files":[],"heads":{},"digest":"x"}',
        b'{"format":"slicebase-workspace","version":1,"files":[],"heads":{},"digest":"x"}',
        b'{"format":"slicebase-backup"}',
    ],
)  # fmt: skip
def test_a_manifest_that_cannot_be_read_is_an_error_of_ours(manifest: bytes, forged: Forged, tmp_path: Path) -> None:
    (forged.folder / "manifest.json").write_bytes(manifest)
    report, _ = taken(forged.folder, tmp_path / "r")
    assert report.code == "bad-move"


def test_a_second_memory_that_shares_a_session_takes_no_lie_about_it(forged: Forged, tmp_path: Path) -> None:
    with Slicebase.open(forged.folder.parent / "w") as memory:
        rows = everything(memory)
        forged.change("sessions/s.jsonl", "turns", lambda rows: record(rows[3], source_hash="sha256:other"))
        report = memory.import_workspace(forged.folder)
        assert [each.what for each in report.conflicts] == ["turns/s"]
        assert everything(memory) == rows


def test_owners_are_read_from_their_own_files(forged: Forged, tmp_path: Path) -> None:
    """A file that says that it is of another owner is refused."""
    path = forged.folder / "sessions" / "t.jsonl"
    path.write_bytes(path.read_bytes().replace(b"session:t", b"session:s", 1))
    listed_as_before(forged.folder)
    report, _ = taken(forged.folder, tmp_path / "r")
    assert report.exit == Exit.REFUSED
