"""Verify: one stored value of every kind is changed, and exactly the matching finding is reported."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace

from slicebase.context.assemble import Candidate, assemble
from slicebase.context.manifest import Budget, Manifest, PinnedSlice, manifest_id
from slicebase.core.hashing import digest, raw_digest
from slicebase.errors import Exit
from slicebase.graph.policy import DEFAULT, SlicePolicyV1
from slicebase.graph.record import annotation_records
from slicebase.graph.turn import Edge, turn_text
from slicebase.runs.evidence import Chunk, cite
from slicebase.runs.records import RunStarted
from slicebase.truth.acts import PurgedText, PurgeRecord
from slicebase.truth.chains import Chain, all_chains, append_rows, linked
from slicebase.truth.schema import CHAINS
from slicebase.truth.texts import keep_texts
from slicebase.truth.truth import Truth
from slicebase.verbs.bundle import slice_in_graph
from slicebase.verbs.verify import verify
from tests.conversations import SESSION, annotate, chain, name, on_file, purge_text, store, turn

POLICY = SlicePolicyV1(max_nodes=7)


def manifest_of(truth: Truth, *names: str, **filters: object) -> Manifest:
    candidates = []
    for each in map(turn, names):
        text = turn_text(each.parts)
        candidates.append(Candidate(f"turn:{each.id}", "session:s", text, "user", "s", (0, each.id), 1, {}))
    found, _, around = slice_in_graph(truth, name(names[0]), POLICY)
    pinned = PinnedSlice("s", name(names[0]), found.slice_id, found.export_hash, found.annotators, around)
    return assemble(
        "why?",
        "2026-01-01T00:00:00.000Z",
        Budget(1000),
        candidates,
        terms=(),
        ranker="test/1",
        filters=filters,
        slices=lambda _: [pinned],
        policy=POLICY,
    ).manifest


@pytest.fixture
def filled(truth: Truth) -> Truth:
    store(truth, [turn("a"), turn("b", "a"), turn("c"), turn("d", "b")])
    truth.turns.link([Edge(name("c"), name("d"), "reference")])
    truth.turns.add(SESSION, [turn("orphan", "nobody")], annotate)
    truth.policies.keep(POLICY)
    truth.manifests.record(manifest_of(truth, "a", "b"), "2026-01-01T00:00:00.000Z", {})
    return truth


def tamper(truth: Truth, statement: str) -> None:
    """Changes the database like someone who opens the file, and switches the triggers off."""
    truth.database.log()
    with without_triggers(truth.database.path) as connection:
        before = connection.total_changes()
        connection.execute(statement)
        assert connection.total_changes() > before, "the statement changed nothing"


@contextmanager
def without_triggers(path: Path) -> Iterator[apsw.Connection]:
    """Opens a database like a program in which triggers are switched off."""
    with closing(apsw.Connection(str(path))) as connection:
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        connection.execute("PRAGMA synchronous = OFF")
        yield connection


def test_an_untouched_store_is_verified(filled: Truth) -> None:
    verdict = verify(filled)
    assert verdict.findings == ()
    assert (verdict.status, verdict.exit) == ("VERIFIED", 0)
    assert verdict.checked == {"sessions": 1, "turns": 5, "links": 1, "annotations": 5, "texts": 7, "policies": 1,
                               "manifests": 1}  # fmt: skip


FLIP = "CAST(substr(CAST({0} AS TEXT), 1, 40) || char(64) || substr(CAST({0} AS TEXT), 42) AS BLOB)"
ROW = "WHERE session = 's' AND seq = 1"


@pytest.mark.parametrize(
    ("statement", "check"),
    [
        (f"UPDATE sessions SET record = {FLIP.format('record')}", "row-hash"),
        ("UPDATE sessions SET hash = zeroblob(32)", "row-hash"),
        ("UPDATE sessions SET session = 't'", "log"),
        (f"UPDATE turns SET record = {FLIP.format('record')} {ROW}", "row-hash"),
        (f"UPDATE turns SET hash = zeroblob(32) {ROW}", "row-hash"),
        (f"UPDATE turns SET turn = zeroblob(16) {ROW}", "row-hash"),
        ("UPDATE turns SET seq = 9 WHERE seq = 5", "numbering"),
        ("DELETE FROM turns WHERE seq = 2", "numbering"),
        (f"UPDATE links SET record = {FLIP.format('record')}", "row-hash"),
        ("UPDATE links SET hash = zeroblob(32)", "row-hash"),
        ("UPDATE links SET child = zeroblob(16)", "row-hash"),
        (f"UPDATE annotations SET record = {FLIP.format('record')} {ROW}", "row-hash"),
        (f"UPDATE annotations SET hash = zeroblob(32) {ROW}", "row-hash"),
        (f"UPDATE annotations SET first = 3, last = 3 {ROW}", "row-hash"),
        ("DELETE FROM annotations WHERE seq = 5", "log"),
        ("UPDATE texts SET bytes = CAST('{}' AS BLOB) WHERE rowid = 1", "text-hash"),
        ("UPDATE texts SET hash = zeroblob(32) WHERE rowid = 1", "text-hash"),
        ("DELETE FROM texts WHERE rowid = 5", "text-missing"),
        ("UPDATE policies SET record = CAST(replace(CAST(record AS TEXT), '7', '8') AS BLOB)", "row-hash"),
        ("UPDATE manifests SET text = zeroblob(32)", "row-hash"),
        ("UPDATE manifests SET recorded = '2027-01-01T00:00:00.000Z'", "row-hash"),
        ("UPDATE manifests SET hash = zeroblob(32)", "row-hash"),
        ("UPDATE shapes SET turns = 1", "derived"),
        ("DELETE FROM shapes", "derived"),
        ("UPDATE shapes SET turns = 7", "derived"),
        ("DELETE FROM waiting", "derived"),
        ("UPDATE waiting SET parent = child", "derived"),
    ],
)
def test_a_changed_value_is_found_first_by_the_check_that_names_its_place(
    filled: Truth, statement: str, check: str
) -> None:
    tamper(filled, statement)
    verdict = verify(filled)
    assert (verdict.findings[0].status, verdict.findings[0].check) == ("BROKEN", check)
    assert len(verdict.findings) <= 3
    assert (verdict.status, verdict.exit) == ("BROKEN", 1)


@pytest.mark.parametrize(
    ("statement", "findings"),
    [
        (f"UPDATE sessions SET record = {FLIP.format('record')}", ["row-hash sessions/s #1"]),
        (f"UPDATE turns SET record = {FLIP.format('record')} {ROW}", ["row-hash turns/s #1"]),
        ("UPDATE turns SET hash = zeroblob(32) WHERE seq = 5", ["row-hash turns/s #5"]),
        ("UPDATE turns SET record = x'ff' WHERE seq = 5", ["row-hash turns/s #5"]),
        (f"UPDATE turns SET hash = zeroblob(32) {ROW}", ["row-hash turns/s #1", "row-hash turns/s #2"]),
        ("DELETE FROM turns WHERE seq = 2", ["numbering turns/s #3"]),
        ("UPDATE links SET hash = zeroblob(32)", ["row-hash links/s #1"]),
        (f"UPDATE annotations SET first = 3, last = 3 {ROW}", ["row-hash annotations/s #1"]),
        ("DELETE FROM annotations WHERE seq = 5", ["log annotations/s"]),
        ("UPDATE texts SET bytes = CAST('{}' AS BLOB) WHERE rowid = 1", ["text-hash sessions/s #1"]),
        ("UPDATE texts SET bytes = CAST('{}' AS BLOB) WHERE rowid = 2", [f"text-hash turn:{name('a')}"]),
        ("DELETE FROM texts WHERE rowid = 5", [f"text-missing turn:{name('d')}"]),
        ("UPDATE texts SET bytes = CAST('{}' AS BLOB) WHERE owner LIKE 'manifest:%'", ["text-hash mf_"]),
        ("DELETE FROM texts WHERE owner LIKE 'manifest:%'", ["manifest-missing mf_"]),
        ("UPDATE manifests SET hash = zeroblob(32)", ["row-hash manifests #1"]),
        ("DELETE FROM log WHERE seq = 1", ["numbering log #2", "log log"]),
        ("UPDATE log SET chain = 'no/s' WHERE seq = 1", ["row-hash log #1", "log log #1", "log log"]),
    ],
)
def test_one_changed_value_is_reported_once_where_it_is(filled: Truth, statement: str, findings: list[str]) -> None:
    """What one check reports, later checks skip."""
    tamper(filled, statement)
    found = [f"{finding.check} {finding.place}" for finding in verify(filled).findings]
    assert len(found) == len(findings)
    for expected, actual in zip(findings, found, strict=True):
        assert actual.startswith(expected)


@pytest.mark.parametrize(
    "change",
    [
        "nodes SET time = 77 WHERE seq = 3",
        "families SET negated = -1 WHERE seq = 3",
        # rows that name other turns of the session: nothing in them looks damaged, and slices change
        "families SET seq = 5, turn = (SELECT turn FROM nodes WHERE seq = 5) WHERE seq = 3",
        "families SET parent = 1 WHERE seq = 4",
        "nodes SET parents = (SELECT parents FROM nodes WHERE seq = 2) WHERE seq = 5",
        "nodes SET turn = (SELECT turn FROM nodes AS other WHERE other.seq = 9 - nodes.seq) WHERE seq IN (4, 5)",
    ],
)
def test_what_slices_read_is_compared_too(truth: Truth, change: str) -> None:
    truth.turns.add(SESSION, chain(5), annotate)
    assert verify(truth).status == "VERIFIED"
    tamper(truth, f"UPDATE {change}")
    assert [finding.check for finding in verify(truth).findings] == ["derived"]


def test_a_purged_text_is_listed_and_is_not_damage(filled: Truth) -> None:
    """Ruling 19."""
    stored = filled.turns.get(name("a")).record
    purge_text(filled, "session:s", stored.content_hash)
    verdict = verify(filled)
    assert [(finding.status, finding.check) for finding in verdict.findings] == [
        ("PURGED", "text"),
        ("PURGED", "piece"),
    ]
    assert (verdict.status, verdict.exit) == ("VERIFIED", 0)


def test_a_graph_that_grew_is_drift_and_not_damage(filled: Truth) -> None:
    """Ruling 44."""
    store(filled, [turn("e", "a")])
    verdict = verify(filled)
    assert [(finding.status, finding.check) for finding in verdict.findings] == [("DRIFTED", "slice")]
    assert verdict.exit == 0


def test_a_policy_that_is_gone_is_missed_by_the_log_and_by_the_manifest_that_names_it(filled: Truth) -> None:
    tamper(filled, "DELETE FROM policies")
    verdict = verify(filled)
    assert [(finding.status, finding.check) for finding in verdict.findings] == [
        ("BROKEN", "log"),
        ("UNVERIFIABLE", "slice"),
    ]
    assert verdict.exit == 1


def test_a_manifest_of_another_version_cannot_be_verified(filled: Truth) -> None:
    record = b'{"question":"why?"}'
    with filled.database.writing() as connection:
        row = (manifest_id(record), "2026-01-01T00:00:00.000Z", raw_digest(record))
        filled.database.append(Chain("manifests"), [row])
        keep_texts(connection, f"manifest:{row[0]}", {row[2]: record})
    verdict = verify(filled)
    assert [(each.status, each.check, each.place) for each in verdict.findings] == [
        ("UNVERIFIABLE", "manifest-form", row[0])
    ]
    assert (verdict.status, verdict.exit) == ("UNVERIFIABLE", Exit.UNVERIFIABLE)


@pytest.mark.parametrize("last", [[], {}, "soon", "2000-01-01T00:00:00.000Z"])
def test_a_slice_as_of_no_time_or_of_one_before_its_turn_cannot_be_verified(filled: Truth, last: object) -> None:
    filled.manifests.record(manifest_of(filled, "a", last=last), "2026-01-01T00:00:00.000Z", {})
    assert [(each.status, each.check) for each in verify(filled).findings] == [("UNVERIFIABLE", "slice")]


def test_the_default_policy_needs_no_record(filled: Truth) -> None:
    filled.policies.keep(DEFAULT)
    assert verify(filled).checked["policies"] == 1


@pytest.mark.parametrize("value", ["'text'", "CAST(x'ff00' AS TEXT)", "x'ff00'", "77", "x''", "'[]'"])
@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("sessions", "session"), ("sessions", "seq"), ("sessions", "record"), ("sessions", "hash"),
        ("turns", "session"), ("turns", "seq"), ("turns", "turn"), ("turns", "record"), ("turns", "hash"),
        ("links", "record"), ("annotations", "first"), ("annotations", "record"), ("texts", "owner"),
        ("texts", "hash"), ("texts", "bytes"), ("policies", "record"), ("manifests", "recorded"),
        ("manifests", "text"), ("manifests", "hash"), ("shapes", "turns"),
    ],
)  # fmt: skip
def test_a_value_of_any_type_in_any_column_is_a_finding_and_not_a_crash(
    filled: Truth, table: str, column: str, value: str
) -> None:
    rows = "" if table == "shapes" else f"WHERE rowid = (SELECT max(rowid) FROM {table})"
    try:
        tamper(filled, f"UPDATE {table} SET {column} = {value} {rows}")
    except apsw.ConstraintError:
        return  # SQLite refuses a value of another type
    assert verify(filled).status != "VERIFIED"


@pytest.mark.parametrize(
    ("table", "old", "new"),
    [
        ("turns", '"content_hash":"sha256:', '"content_hash":"sha256:no'),
        ("turns", '"id":"', '"id":"no'),
        ("annotations", '"turns":[', '"turns":["no",'),
        ("annotations", '"salience":["', '"salience":["no'),
        ("sessions", '"id":"', '"id":"no'),
        ("sessions", '"content_hash":"', '"content_hash":"no'),
    ],
)
def test_a_record_that_matches_its_hash_and_makes_no_sense_is_a_finding(
    filled: Truth, table: str, old: str, new: str
) -> None:
    query = f"SELECT rowid, CAST(record AS TEXT) FROM {table} ORDER BY rowid DESC LIMIT 1"
    rowid, record = next(filled.database.connection.execute(query))
    changed = record.replace(old, new).replace(",}", "}").encode()
    assert changed != record.encode()
    tamper(filled, f"UPDATE {table} SET record = x'{changed.hex()}' WHERE rowid = {rowid}")
    rehash(filled)
    checks = [finding.check for finding in verify(filled).findings if finding.status == "BROKEN"]
    assert len(checks) == 1
    assert checks[0] in {"record-form", "record-key", "text-missing", "database"}


def rehash(truth: Truth) -> None:
    """Hashes all chains again, and begins a new log, like someone who knows how it is done."""
    with without_triggers(truth.database.path) as connection:
        for each in list(all_chains(connection)):
            if each.table == "events":
                continue
            owner = CHAINS[each.table]
            where, values = (f"WHERE {owner} = ?", (each.owner,)) if owner else ("", ())
            head = b""
            for row in connection.execute(f"SELECT rowid, * FROM {each.table} {where} ORDER BY seq", values).fetchall():
                head = linked(head, *row[3 if owner else 2 : -1])
                connection.execute(f"UPDATE {each.table} SET hash = ? WHERE rowid = ?", (head, row[0]))
        connection.execute("DELETE FROM log")


def test_a_page_that_cannot_be_read_is_a_finding(filled: Truth) -> None:
    root = next(filled.database.connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'manifests'"))[0]
    path = filled.database.path
    size = on_file(filled).connection.pragma("page_size")
    on_file(filled).connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    filled.close()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
    damaged = Truth(path)
    assert ("BROKEN", "database") in [(each.status, each.check) for each in verify(damaged).findings]
    damaged.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE snapshots SET record = CAST('{}' AS BLOB)",
        "UPDATE evidence SET record = CAST('[]' AS BLOB)",
        "UPDATE acts SET record = CAST('{}' AS BLOB)",
        "CREATE TABLE copy AS SELECT * FROM texts",
        "CREATE VIEW seen AS SELECT * FROM turns",
        "DROP INDEX turns_by_id",
        "ALTER TABLE texts ADD COLUMN more TEXT",
        "DROP TABLE steps",
        "INSERT INTO log VALUES ((SELECT max(seq) + 1 FROM log), 'events/r', 1099511627776, x'', x'')",
    ],
)
def test_whatever_somebody_does_to_the_tables_is_a_finding_and_never_a_traceback(filled: Truth, statement: str) -> None:
    filled.runs.start("r", RunStarted(objective="o", done_definition="d"), 0)
    filled.runs.compact("r", 0)
    filled.ledger.keep(cite(Chunk("session:s", f"turn:{name('a')}", "text of a"), "text"))
    filled.database.log()
    with without_triggers(filled.database.path) as connection:
        connection.execute(statement)
        connection.execute("UPDATE log SET hash = hash")
    assert verify(filled).status == "BROKEN"


def test_a_forged_entry_does_not_blind_the_log(filled: Truth) -> None:
    filled.database.log()
    with without_triggers(filled.database.path) as connection:
        append_rows(connection, Chain("log"), [("turns/s", 2**40, b"")])
    assert "log" in [finding.check for finding in verify(filled).findings if finding.status == "BROKEN"]


def test_a_purge_leaves_nothing_of_a_turn(filled: Truth) -> None:
    """So a forged purge cannot put another text in its place."""
    stored = filled.turns.get(name("a")).record
    forged = b'{"parts":[{"text":"another text","type":"text"}],"role":"user"}'
    text = PurgedText("session:s", stored.content_hash, digest(forged))
    record = PurgeRecord("", (text,), "2026-01-02T00:00:00.000Z", "x")
    filled.texts.purge(record, {("session:s", stored.content_hash): forged})
    assert "tombstone" in [finding.check for finding in verify(filled).findings if finding.status == "BROKEN"]


def test_a_graph_that_changed_around_the_same_slice_is_drift(filled: Truth) -> None:
    """The annotator of a turn is part of the graph around a slice, and not of its export."""
    again = replace(filled.turns.annotation_of(name("a")), annotator="other/1")
    for record in annotation_records("s", [again]):
        filled.turns.annotate(record)
    assert [(each.status, each.check) for each in verify(filled).findings] == [("DRIFTED", "graph")]
