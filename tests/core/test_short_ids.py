"""Short ids are long enough to name one thing, and no longer than that (ruling 53)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.core.ids import ulid
from slicebase.core.short_ids import SHORTEST_ID, shared, short_id, short_ids, the_only
from tests.amounts import MORE
from tests.codes import code_of

# ULIDs of few moments and little randomness, so that many begin alike.
ulids = st.builds(
    lambda moment, end: ulid(1_767_268_800_000 + moment, bytes(8) + end),
    st.integers(0, 3),
    st.binary(min_size=2, max_size=2),
)
digests = st.text("01", min_size=32, max_size=32)
uuids = digests.map(lambda text: f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}")
names = st.text("ab-", min_size=1, max_size=12)
kinds = st.one_of(
    *(st.sets(each | names, max_size=30) for each in (ulids, digests, uuids, digests.map(lambda text: f"mf_{text}")))
)


@settings(max_examples=40 * MORE)
@given(kinds)
def test_a_short_id_is_the_beginning_of_its_own_id_alone_or_is_complete(ids: set[str]) -> None:
    for whole, short in short_ids(ids).items():
        assert whole.startswith(short)
        assert short == whole or [each for each in ids if each.startswith(short)] == [whole]
        assert short == whole or the_only(short, [each for each in ids if each.startswith(short)], "ids") == whole


@settings(max_examples=40 * MORE)
@given(kinds)
def test_a_short_id_is_as_short_as_can_be(ids: set[str]) -> None:
    for whole, short in short_ids(ids).items():
        least = SHORTEST_ID + (3 if whole.startswith("mf_") else 0)
        less = short.removesuffix(short[-1:]).removesuffix("-")
        if short != whole and len(less) >= least:
            assert len([each for each in ids if each.startswith(less)]) > 1


@settings(max_examples=40 * MORE)
@given(kinds)
def test_neighbours_in_the_order_of_text_decide_as_all_ids_do(ids: set[str]) -> None:
    assert short_ids(ids) == {whole: short_id(whole, ids) for whole in ids}


def test_ids_of_the_same_moment_grow_until_they_differ() -> None:
    one, two = ulid(0, bytes(10)), ulid(0, bytes(9) + b"\x01")
    assert short_ids([one, two]) == {one: one, two: two}
    other = ulid(0, b"\xff" + bytes(9))
    assert short_ids([one, other])[other] == other[:11]


def test_a_name_that_a_person_chose_is_shown_whole() -> None:
    assert short_ids(["architecture-decisions"]) == {"architecture-decisions": "architecture-decisions"}
    session = "5b0c7c1e-3d52-4f0e-9a86-2f7b1d0c64aa"
    assert short_ids([session, f"from-{session}"]) == {session: session[:8], f"from-{session}": "from-5b0c7c1e"}


@pytest.mark.parametrize(
    ("given_id", "found", "expected"),
    [
        ("abcdefgh", ["abcdefghi"], "abcdefghi"),
        ("abcdefgh", [], None),
        ("ab", [], None),
        ("mf_01234567", ["mf_0123456789"], "mf_0123456789"),
    ],
)
def test_the_only_one_is_found(given_id: str, found: list[str], expected: str | None) -> None:
    assert the_only(given_id, found, "ids") == expected


def test_several_and_too_few_characters_are_errors_with_the_candidates() -> None:
    assert code_of(the_only, "abcdefgh", ["abcdefghi", "abcdefghj"], "ids") == "ambiguous-id"
    assert code_of(the_only, "abcdefg", ["abcdefgh"], "ids") == "short-id"
    assert code_of(the_only, "mf_0123456", ["mf_0123456789"], "ids", 3) == "short-id"


@given(st.text(), st.text(), st.text())
def test_what_two_texts_share_is_their_longest_common_beginning(start: str, one: str, other: str) -> None:
    length = shared(start + one, start + other)
    assert length >= len(start)
    assert (start + one)[:length] == (start + other)[:length]
    assert (start + one)[: length + 1] != (start + other)[: length + 1] or start + one == start + other
