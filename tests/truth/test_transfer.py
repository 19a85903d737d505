"""What a database hands out: the same heads for the same content, whatever the order in which it came."""

from pathlib import Path

import apsw
from hypothesis import given
from hypothesis import strategies as st

from slicebase.graph.policy import PRESETS
from slicebase.truth.chains import Chain
from slicebase.truth.policies import PolicyName
from slicebase.truth.schema import CHAINS
from slicebase.truth.transfer import (
    MOVED_COLUMNS,
    OWNED,
    SHARED,
    Transfer,
    copy_to,
    heads_digest,
    shared_head,
    text_head,
)
from slicebase.truth.truth import Truth
from tests.conversations import chain, purge_text, store, turn


def test_every_chain_is_moved_or_belongs_to_the_database_itself(tmp_path: Path) -> None:
    """A new table is moved, or it is said why not; the columns are those of the table."""
    moved = {*(table for tables in OWNED.values() for table in tables), *SHARED}
    assert moved == CHAINS.keys() - {"acts", "log"} == MOVED_COLUMNS.keys()
    connection = Truth(tmp_path / "t.db", create=True).database.connection
    for table in moved:
        owner = (CHAINS[table],) if CHAINS[table] else ()
        columns = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
        found = (*owner, "seq", *MOVED_COLUMNS[table], "hash")
        assert sorted(columns) == sorted(found)


def test_heads_name_all_content_and_change_with_each_of_it(tmp_path: Path) -> None:
    truth = Truth(tmp_path / "t.db", create=True)
    transfer = Transfer(truth.database)
    seen = {heads_digest(transfer.heads())}
    store(truth, chain(2))
    seen.add(heads_digest(transfer.heads()))
    store(truth, [turn("x", session="t")])
    seen.add(heads_digest(transfer.heads()))
    policy = PRESETS.find("focused")
    truth.policies.save(policy, PolicyName("me", "mine", policy.params_hash, "2026-01-01T00:00:00.000Z", "test"))
    seen.add(heads_digest(transfer.heads()))
    purge_text(truth, "session:s", next(name for name, _ in truth.texts.of("session:s")))
    heads = transfer.heads()
    seen.add(heads_digest(heads))
    assert len(seen) == 5
    assert {"turns/s", "turns/t", "annotations/s", "sessions/s", "policy_names", "texts/session:s"} <= heads.keys()
    assert transfer.owners("session") == ["s", "t"]
    assert [purge.owner for purge in transfer.purges()] == ["session:s"]
    rows = list(transfer.rows(Chain("turns", "s")))
    assert (rows[-1].seq, rows[-1].hash) == transfer.head(Chain("turns", "s"))
    assert list(transfer.rows(Chain("turns", "s"), after=1)) == rows[1:]


@given(st.lists(st.text(max_size=5), max_size=6))
def test_what_is_shared_has_the_same_head_in_any_order(keys: list[str]) -> None:
    assert shared_head(keys) == shared_head(sorted(keys, reverse=True)) == shared_head([*keys, *keys])


def test_what_is_left_of_a_purged_text_is_a_part_of_the_head() -> None:
    name = bytes(32)
    states = [text_head([name], purged) for purged in ({}, {name: None}, {name: b"left"}, {name: b"less"})]
    assert len(set(states)) == 4


def test_a_copy_is_one_file_of_the_state_that_is_seen(tmp_path: Path) -> None:
    truth = Truth(tmp_path / "t.db", create=True)
    store(truth, chain(2))
    other = Truth(tmp_path / "t.db")
    with truth.database.reading():
        before = Transfer(truth.database).heads()
        store(other, [turn("later", session="t")])
        copy_to(truth.database, tmp_path / "copy.db")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("copy")) == ["copy.db"]
    copy = apsw.Connection(str(tmp_path / "copy.db"))
    assert copy.pragma("integrity_check") == "ok"
    assert Transfer(Truth(tmp_path / "copy.db").database).heads() == before
