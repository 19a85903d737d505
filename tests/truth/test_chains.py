"""Chains of rows: their hashes, their heads, and the log of heads (ruling 45)."""

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.truth.chains import (
    LOG,
    Chain,
    ChainHead,
    all_chains,
    append_rows,
    head_of,
    linked,
    logged_head,
    unlogged,
)
from slicebase.truth.truth import Truth
from tests.conversations import chain, store, turn
from tests.history.test_follow import fresh


def test_a_row_is_hashed_with_the_hash_before_it_and_each_value_apart() -> None:
    def of(data: bytes) -> bytes:
        return sha256(data).digest()

    assert linked(b"") == of(b"")
    assert linked(b"before", "a", 7, b"\xff") == of(b"before" + of(b"a") + of(b"7") + of(b"\xff"))
    assert linked(b"", "ab", "c") != linked(b"", "a", "bc")
    assert linked(b"", "a", "b") != linked(b"", "b", "a")


def test_a_head_is_the_last_row_or_the_one_at_a_number(truth: Truth) -> None:
    connection = truth.database.connection
    assert head_of(connection, Chain("blobs")) == ChainHead(0, b"")
    first = append_rows(connection, Chain("blobs"), [("r", b"one")])
    second = append_rows(connection, Chain("blobs"), [("r", b"two")])
    assert (first.length, second.length) == (1, 2)
    assert second.hash == linked(first.hash, "r", b"two")
    assert head_of(connection, Chain("blobs")) == second
    assert head_of(connection, Chain("blobs"), 1) == first
    assert head_of(connection, Chain("blobs"), 3) == ChainHead()


def test_heads_are_logged_once_where_they_have_grown(truth: Truth) -> None:
    connection = truth.database.connection
    store(truth, [*chain(3), turn("x", session="t")])
    truth.database.log(all_chains(connection))
    length = head_of(connection, Chain(LOG)).length
    for each in all_chains(connection):
        assert logged_head(connection, each) == head_of(connection, each)
    truth.database.log(all_chains(connection))
    assert head_of(connection, Chain(LOG)).length == length
    store(truth, [turn("y", "x", session="t")])
    truth.database.log()
    logged = connection.execute("SELECT chain, count FROM log WHERE seq > ? ORDER BY seq", (length,)).fetchall()
    assert logged == [("annotations/t", 2), ("turns/t", 2)]


@pytest.mark.sqlite
def test_what_a_killed_process_did_not_log_is_logged_after_the_next_write(truth: Truth, tmp_path: Path) -> None:
    truth.database.log()
    killed = Truth(tmp_path / "slicebase.db")
    store(killed, [*chain(3), turn("x", session="t")])
    killed.database.connection.close()
    connection = truth.database.connection
    assert unlogged(connection) == {
        Chain(table, owner) for owner in "st" for table in ("sessions", "turns", "annotations")
    }
    truth.database.log()  # nothing was written through this connection
    assert unlogged(connection)
    store(truth, [turn("y", session="u")])
    truth.database.log()
    assert not unlogged(connection)
    for each in all_chains(connection):
        assert logged_head(connection, each) == head_of(connection, each)


@given(st.lists(st.tuples(st.sampled_from("st"), st.sampled_from(["write", "log", "both"])), max_size=12))
@settings(max_examples=10)
def test_what_is_not_logged_is_what_is_ahead_of_the_log(actions: list[tuple[str, str]]) -> None:
    with fresh() as (truth, _):
        connection = truth.database.connection
        for number, (session, action) in enumerate(actions):
            if action != "log":
                store(truth, [turn(number, session=session)])
            if action != "write":
                truth.database.log()
            ahead = {
                each for each in all_chains(connection) if head_of(connection, each) != logged_head(connection, each)
            }
            assert unlogged(connection) == ahead


def test_a_chain_is_found_by_its_name() -> None:
    for each in (Chain("turns", "s"), Chain("turns", "a/b"), Chain("acts")):
        assert Chain.named(str(each)) == each
    for name in ("turns", "acts/s", "nothing", ""):
        with pytest.raises(ValueError):
            Chain.named(name)
