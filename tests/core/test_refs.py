"""References (ruling 7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.core import refs
from slicebase.core.refs import Ref, as_words, parse, recorded
from slicebase.errors import SlicebaseError

UUID = "05ce3f25-3b45-539e-8730-509ea3dc8613"
EXAMPLES = [
    f"turn:{UUID}",
    "row:01JDEC/01JROW",
    "sec:01JDEC@0123456789ab#top/part",
    "sec:01JDEC@0123456789ab#",
    "doc:0123456789abcdef:0-12",
    "file:01JDEC",
    "session:my session",
    "run:r1",
    "claim:r1/c1",
    "ev_" + "0" * 32,
    "mf_" + "a" * 32,
    "sn_" + "f" * 32,
]


@pytest.mark.parametrize("text", EXAMPLES)
def test_a_reference_reads_and_prints_as_itself(text: str) -> None:
    assert str(parse(text)) == text


def test_the_first_four_kinds_are_chunks() -> None:
    assert [parse(text).is_chunk for text in EXAMPLES] == [True] * 5 + [False] * 7


def test_a_name_has_an_owner_and_a_local_part() -> None:
    assert (parse("row:01JDEC/a/b").owner, parse("row:01JDEC/a/b").local) == ("01JDEC", "a/b")
    assert (parse("doc:0123456789abcdef:0-12").owner, parse("doc:0123456789abcdef:0-12").local) == (
        "0123456789abcdef",
        "0-12",
    )
    assert parse("sec:01JDEC@0123456789ab#top").owner == "01JDEC"


def test_an_id_without_a_prefix_has_the_kind_that_is_given() -> None:
    assert parse(UUID.upper(), bare="turn") == Ref("turn", UUID)
    assert parse(f"turn:{UUID}", bare="turn") == Ref("turn", UUID)


@pytest.mark.parametrize(
    "text",
    ["", UUID, "turn:", "turn:x", "row:file", "sec:f#a", "doc:0:1", "mf_", "mf_xyz", "nothing:x", "TURN:" + UUID],
)
def test_a_text_that_is_not_a_reference_is_refused(text: str) -> None:
    with pytest.raises(SlicebaseError) as caught:
        parse(text)
    assert caught.value.code == "bad-reference"


@given(st.text(max_size=60))
def test_any_text_gives_a_reference_or_our_error(text: str) -> None:
    try:
        assert str(parse(text)) == text
    except SlicebaseError as error:
        assert error.code == "bad-reference"


@given(st.lists(st.sampled_from([*EXAMPLES, "a", " ", "\n", "]", "(", "[", "\\", ":", "_", "turn", "ev"])).map("".join))
def test_words_of_a_label_hold_no_reference_and_are_escaped_once(text: str) -> None:
    words = as_words(text)
    assert as_words(words) == words
    assert "\n" not in words
    for start in range(len(words)):
        for kind in ("turn:", "row:", "sec:", "doc:", "file:", "session:", "run:", "claim:"):
            apart = start == 0 or not words[start - 1].isalnum()
            assert not (apart and words.startswith(kind, start) and words[start + len(kind) :].strip())


def test_a_place_in_a_document_has_at_most_16_digits() -> None:
    assert str(parse("doc:0123456789abcdef:1-9007199254740991"))
    with pytest.raises(SlicebaseError) as caught:
        parse(f"doc:0123456789abcdef:1-{'9' * 5000}")
    assert caught.value.code == "bad-reference"


@given(st.sampled_from(["sec:01JDEC@0123456789ab#", "row:01JDEC/"]), st.from_regex(r"[\w/-]{1,60}", fullmatch=True))
def test_a_recorded_reference_repeats_no_slug_and_no_long_id(place: str, local: str) -> None:
    kept = recorded(place + local)
    is_short_row = place.startswith("row:") and len(local.encode()) < 32
    assert kept.startswith(place)
    assert (kept == place + local) == is_short_row or local == UUID
    assert (recorded(kept), str(parse(kept))) == (kept, kept)
    assert recorded(place + local + "x") != kept


@pytest.mark.parametrize("text", [text for text in EXAMPLES if not text.endswith("#top/part")])
def test_other_references_are_recorded_as_they_are(text: str) -> None:
    assert recorded(text) == text


def test_a_long_text_is_not_kept_in_memory_for_the_next_label() -> None:
    """A server would keep a thousand pasted pages."""
    known = refs._kept_as_words.cache_info().currsize
    assert as_words("session:a " * 100) == ("session\\:a " * 100).strip()
    assert refs._kept_as_words.cache_info().currsize == known
