"""Stable chunks of a document."""

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.core.hashing import digest, tokens
from slicebase.core.refs import parse
from slicebase.runs.chunks import CUT_REACH, LONGEST, chunks

HASH = digest(b"x")
WORDS = ["build", "lock", "stale", "cause", "test", "report", "write", "run", "claim", "proof", "turn", "row", "gate"]


def prose(seed: int, paragraphs: int, heading_every: int = 5) -> str:
    """Returns paragraphs of about 60 words under headings."""
    pick = random.Random(seed)
    blocks = []
    for number in range(paragraphs):
        if number % heading_every == 0:
            blocks.append(f"## Part {number}")
        blocks.append(" ".join(pick.choice(WORDS) for _ in range(pick.randint(20, 100))) + ".")
    return "\n\n".join(blocks) + "\n"


def texts(document: str) -> list[str]:
    return [chunk.text for chunk in chunks(document, HASH)]


@pytest.mark.parametrize(
    "document",
    [
        "",
        "short",
        "\n\n\n",
        prose(1, 100),
        prose(2, 100).replace("\n", "\r\n"),
        "one line " * 5000,
        "x" * 50_000,
        "漢字" * 10_000,
        "the same line\n" * 2000,
        "```\n" + prose(3, 60) + "```\n" + prose(4, 20),
    ],
)
def test_chunks_joined_are_the_document_and_do_not_overlap(document: str) -> None:
    found = chunks(document, HASH)
    assert "".join(chunk.text for chunk in found) == document
    assert all(chunk.text == document[chunk.start : chunk.end] for chunk in found)
    assert all(first.end == second.start for first, second in pairwise(found))
    assert all(0 < len(chunk.text.encode()) <= LONGEST for chunk in found)


def test_a_chunks_id_is_a_reference_to_the_payload_and_its_span() -> None:
    """Ruling 7."""
    first, second, *_ = chunks(prose(1, 100), HASH)
    ref = parse(second.chunk_id)
    assert ref.is_chunk
    assert ref.owner == HASH[7:23]
    assert ref.local == f"{first.end}-{second.end}"


def test_chunks_have_about_800_tokens() -> None:
    """A text whose headings are closer to each other than that is cut at headings within reach."""
    flat = [tokens(text) for seed in range(4) for text in texts(prose(seed, 400, heading_every=1000))]
    assert 700 <= sum(flat) / len(flat) <= 900
    assert min(flat) >= CUT_REACH // 3
    headed = [tokens(text) for text in texts(prose(1, 400, heading_every=3))]
    assert 600 <= sum(headed) / len(headed) <= 900


def test_chunks_begin_at_structure() -> None:
    """If a document has headings within reach, a chunk begins with one, otherwise with a block."""
    for text in texts(prose(5, 300))[1:]:
        assert text.startswith("## Part")
    for text in texts(prose(6, 300, heading_every=1000))[1:]:
        assert text[:1].isalpha()


def test_a_code_fence_that_fits_is_not_cut() -> None:
    fence = "```python\n" + "\n\n".join(f"value_{n} = {n}" for n in range(60)) + "\n```"
    document = "\n\n".join([prose(7, 30), fence, prose(8, 30)])
    assert any(fence in text for text in texts(document))


def test_headings_inside_a_fence_do_not_count_as_headings() -> None:
    fence = "~~~\n" + "\n".join(f"# {n} {WORDS[n % 13]}" for n in range(80)) + "\n~~~\n"
    assert not any(text.startswith("# ") for text in texts(prose(9, 20) + "\n" + fence + "\n" + prose(10, 20)))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 9), paragraph=st.integers(0, 119), word=st.text("abc xyz", min_size=1, max_size=40))
def test_an_edit_changes_only_the_chunks_around_it(seed: int, paragraph: int, word: str) -> None:
    document = prose(seed, 120)
    blocks = document.split("\n\n")
    edited = "\n\n".join([*blocks[:paragraph], blocks[paragraph] + f" {word}.", *blocks[paragraph + 1 :]])
    before, after = texts(document), texts(edited)
    kept = set(before) & set(after)
    assert len(before) - len(kept) <= 3
    assert len(after) - len(kept) <= 3


def test_an_edit_in_one_long_line_keeps_its_other_chunks() -> None:
    pick = random.Random(11)
    document = " ".join(f"{pick.choice(WORDS)}{pick.randint(0, 999)}" for _ in range(20_000))
    before, after = texts(document), texts("a new beginning " + document)
    assert len(before) > 20
    assert before[1:] == after[1:]


@settings(max_examples=60, deadline=None)
@given(st.text("ab\n# `~\r é", max_size=300).map(lambda text: text * 40))
def test_any_text_has_chunks(text: str) -> None:
    assert "".join(texts(text)) == text
    assert texts(text) == texts(text)
