"""Pages of recalled pieces contain everything, in order, within the budget."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.context import recall
from slicebase.context.recall import Excerpt, RecalledPiece, pages
from slicebase.core.hashing import tokens
from tests.codes import code_of

_texts = st.text(st.sampled_from("ab é\n`~"), max_size=400)


@settings(max_examples=100)
@given(st.lists(_texts, min_size=1, max_size=6), st.integers(110, 400))
def test_pages_hold_every_character_once_and_cost_no_more_than_they_may(texts: list[str], limit: int) -> None:
    pieces = [RecalledPiece(f"file:{number}", "A label", text) for number, text in enumerate(texts)]
    found = pages(pieces, limit)
    assert [page.number for page in found] == list(range(1, len(found) + 1))
    assert all(tokens(page.text) <= limit for page in found)
    together = [excerpt for page in found for excerpt in page.excerpts]
    for piece in pieces:
        spans = [(part.start, part.end) for part in together if part.piece == piece]
        assert [end for _, end in spans[:-1]] == [start for start, _ in spans[1:]]
        assert (spans[0][0], spans[-1][1]) == (0, len(piece.text))
    refs = [part.piece.ref for part in together]
    assert list(dict.fromkeys(refs)) == [piece.ref for piece in pieces]


@settings(max_examples=100)
@given(_texts, st.none() | st.integers(110, 400))
def test_the_fence_is_longer_than_any_fence_inside(text: str, limit: int | None) -> None:
    """Recalled text is data: nothing in it can end its block."""
    for page in pages([RecalledPiece("file:x", "A label", text)], limit):
        (excerpt,) = page.excerpts
        fence = re.search(r"^(`+)text$", page.text, re.MULTILINE)
        assert fence
        inside = max((len(run) for run in re.findall(r"`{3,}|~{3,}", excerpt.text)), default=0)
        assert len(fence[1]) > inside


def test_a_piece_that_is_cut_says_which_part_it_is_and_a_page_says_which_is_next() -> None:
    first, *_, last = pages([RecalledPiece("file:x", "Long", "word " * 400)], 200)
    assert "· characters 1 to " in first.text
    assert first.text.endswith(f"Page 1 of {first.of}; the next is page 2.\n")
    assert last.text.endswith(f"Page {last.of} of {last.of}.\n")


def test_a_piece_is_cut_where_a_paragraph_ends() -> None:
    text = "\n\n".join(f"Paragraph {number} with some words in it." for number in range(30))
    for page in pages([RecalledPiece("file:x", "Long", text)], 200)[:-1]:
        assert page.excerpts[0].text.endswith(".\n\n")


def test_without_a_limit_everything_is_on_one_page() -> None:
    (page,) = pages([RecalledPiece("file:x", "One", "a" * 9999), RecalledPiece("file:y", "Two", "b")])
    assert "Page" not in page.text


def test_a_label_stays_on_its_line() -> None:
    (page,) = pages([RecalledPiece("file:x", "One\n# and two", "text")])
    assert "### One # and two · file:x\n" in page.text


@pytest.mark.parametrize("limit", [1, 40])
def test_a_budget_without_room_for_the_labels_is_refused(limit: int) -> None:
    assert code_of(pages, [RecalledPiece("file:x", "Label", "text " * 50)], limit) == "bad-budget"


def test_the_pages_of_a_long_text_look_at_each_character_a_bounded_number_of_times() -> None:
    looked_at = 0

    def counted(text: str) -> int:
        nonlocal looked_at
        looked_at += len(text)
        return tokens(text)

    costs = []
    for words in (5_000, 20_000):
        looked_at = 0
        pages([RecalledPiece("file:x", "Long", "word " * words)], 200, counted)
        costs.append(looked_at)
    assert costs[1] < 5 * costs[0]


@settings(max_examples=100)
@given(_texts, st.integers(110, 200), st.integers(0, 2))
def test_a_part_is_as_long_as_one_that_is_searched_among_all(text: str, limit: int, few: int) -> None:
    """The plain twin: the longest part of all that fit, shortened to the end of a paragraph, a line or a word."""
    pieces = [RecalledPiece("file:x", "A label", text * (few + 1))]
    room = limit - tokens(recall._HEADING) - tokens(recall._WIDEST_FOOTER)
    start, whole, spans = 0, len(pieces[0].text), []
    while tokens(Excerpt(pieces[0], start, whole).block) > room:
        ends = [end for end in range(start, whole + 1) if tokens(Excerpt(pieces[0], start, end).block) <= room]
        end = recall._tidy(pieces[0].text, start, max(ends))
        spans.append((start, end))
        start = end
    found = [(each.start, each.end) for page in pages(pieces, limit) for each in page.excerpts]
    assert found == [*spans, (start, whole)]
