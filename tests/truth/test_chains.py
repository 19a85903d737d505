"""Chains of rows: their hashes, their heads, and the log of heads (ruling 45)."""

from hashlib import sha256

import pytest

from slicebase.truth.chains import LOG, Chain, ChainHead, all_chains, append_rows, head_of, linked, logged_head
from slicebase.truth.truth import Truth
from tests.conversations import chain, store, turn


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


def test_a_chain_is_found_by_its_name() -> None:
    for each in (Chain("turns", "s"), Chain("turns", "a/b"), Chain("acts")):
        assert Chain.named(str(each)) == each
    for name in ("turns", "acts/s", "nothing", ""):
        with pytest.raises(ValueError):
            Chain.named(name)
