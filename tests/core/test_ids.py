"""Digests, ids, times and tokens: the vectors of tests/golden/ids.json and rulings 5, 6 and 16."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.core import ids, times
from slicebase.core.hashing import canonical, digest, digest_of, id_from, is_digest, tokens, xxh64
from slicebase.errors import SlicebaseError
from tests.paths import GOLDEN

VECTORS: dict[str, Any] = json.loads((GOLDEN / "ids.json").read_text())


def test_evidence_ids_match_the_vector() -> None:
    vector = VECTORS["evidence"]
    assert digest(vector["quote"].encode()) == vector["quote_hash"]
    chunk = "turn:00000000-0000-0000-0000-000000000001"
    encoded = canonical(["session:s1", chunk, 0, 5, vector["quote_hash"]])
    assert encoded.decode() == vector["canonical"]
    assert id_from("ev_", digest(encoded)) == vector["evidence_id"]


def test_turn_ids_and_content_hashes_match_the_vectors() -> None:
    assert str(ids.TURN_NAMESPACE) == VECTORS["turn_id"]["namespace"]
    assert ids.turn_id("claude-code", "s1", "a") == VECTORS["turn_id"]["id"]
    assert digest_of(VECTORS["turn"]["value"]) == VECTORS["turn"]["content_hash"]
    assert digest(VECTORS["body"]["bytes"].encode()) == VECTORS["body"]["hash"]


def test_a_position_is_a_number_in_a_turn_id() -> None:
    """Ruling 16: position 0 and a source id "0" are different turns."""
    assert ids.turn_id("messages", "s", 0) != ids.turn_id("messages", "s", "0")


def test_tokens_match_the_vectors() -> None:
    for vector in VECTORS["tokens"]:
        assert tokens(vector["text"]) == vector["tokens"]


def test_a_digest_is_64_lower_case_digits_after_the_name_of_the_hash() -> None:
    assert is_digest(digest(b""))
    assert not is_digest(digest(b"").upper())
    assert not is_digest(digest(b"")[:-1])


def test_xxh64_has_seed_zero_and_sixteen_digits() -> None:
    assert xxh64(b"") == "ef46db3751d8e999"


@given(st.integers(0, 2**48 - 1), st.binary(min_size=10, max_size=10))
def test_a_ulid_carries_its_time_and_sorts_by_it(milliseconds: int, randomness: bytes) -> None:
    made = ids.ulid(milliseconds, randomness)
    assert ids.is_ulid(made)
    assert ids.ulid_time(made) == milliseconds
    if milliseconds:
        assert ids.ulid(milliseconds - 1, b"\xff" * 10) < made


@given(st.lists(st.integers(0, 5), min_size=2, max_size=10))
def test_ulids_rise_even_when_the_clock_does_not(clock: list[int]) -> None:
    made: list[str] = []
    for now in clock:
        made.append(ids.ulid(now, b"\xff" * 9 + b"\xfe", made[-1] if made else None))
    assert made == sorted(set(made))


@pytest.mark.parametrize(
    ("time", "random", "code"),
    [(-1, b"0" * 10, "bad-time"), (2**48, b"0" * 10, "bad-time"), (0, b"short", "bad-ulid")],
)
def test_a_ulid_out_of_range_is_refused(time: int, random: bytes, code: str) -> None:
    with pytest.raises(SlicebaseError) as caught:
        ids.ulid(time, random)
    assert caught.value.code == code


@given(st.uuids())
def test_uuids_are_written_in_lower_case_and_their_bytes_sort_alike(value: Any) -> None:
    text = str(value)
    assert ids.uuid_text(text.upper()) == text
    assert ids.uuid_of(ids.uuid_bytes(text)) == text


@pytest.mark.parametrize(
    "text", ["", "x", "05ce3f253b45539e8730509ea3dc8613", "{05ce3f25-3b45-539e-8730-509ea3dc8613}"]
)
def test_a_text_that_is_not_a_uuid_is_refused(text: str) -> None:
    with pytest.raises(SlicebaseError) as caught:
        ids.uuid_text(text)
    assert caught.value.code == "bad-uuid"


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_agree_with_the_standard_library(moment: datetime) -> None:
    milliseconds = times.from_text(moment.isoformat())
    assert times.to_text(milliseconds)[:-1] == moment.replace(tzinfo=None).isoformat(timespec="milliseconds")
    assert times.from_text(times.to_text(milliseconds)) == milliseconds


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2026-02-02T12:00:00Z", "2026-02-02T12:00:00.000Z"),
        ("2026-02-02t12:00:00.1239999z", "2026-02-02T12:00:00.123Z"),
        ("2026-02-02 13:30:00+01:30", "2026-02-02T12:00:00.000Z"),
        ("2026-02-02T07:00:00-05:00", "2026-02-02T12:00:00.000Z"),
        ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"),
    ],
)
def test_every_rfc_3339_form_is_read(text: str, same: str) -> None:
    assert times.to_text(times.from_text(text)) == same


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-02-02",
        "2026-02-30T00:00:00Z",
        "2026-02-02T24:00:00Z",
        "2026-02-02T12:00:00",
        "0001-01-01T00:00:00+01:00",
        "2026-02-02T12:00:00+24:00",
        "٢٠٢٦-02-02T12:00:00Z",
    ],
)
def test_a_text_that_is_not_an_rfc_3339_time_is_refused(text: str) -> None:
    with pytest.raises(SlicebaseError) as caught:
        times.from_text(text)
    assert caught.value.code == "bad-time"


def test_seconds_are_rounded_down() -> None:
    """Ruling 4, also for times before 1970."""
    assert times.whole_seconds(1999) == 1
    assert times.whole_seconds(-1) == -1
