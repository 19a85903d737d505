"""Windows of long texts."""

import re

from hypothesis import given
from hypothesis import strategies as st

from slicebase.files.body.windows import cited_span, text_window

TEXTS = st.text(st.sampled_from("ab \n`~é𝄞"), max_size=200)


@given(TEXTS, st.integers(1, 50), st.booleans())
def test_windows_one_after_the_other_are_the_text(text: str, size: int, blocks: bool) -> None:
    pieces, start = [], 0
    while True:
        found = text_window(text, start, size, blocks=blocks)
        assert (found.start, found.end, found.total) == (start, start + len(found.text), len(text))
        assert found.line == text[:start].count("\n") + 1
        pieces.append(found.text)
        start = found.end
        if start == len(text):
            break
        assert 0 < len(found.text) <= size + 1
    assert "".join(pieces) == text


def test_a_window_ends_with_a_line() -> None:
    assert text_window("one\ntwo\nthree\n", 0, 9).text == "one\ntwo\n"


def test_a_window_of_blocks_ends_with_a_paragraph_and_not_inside_a_fence() -> None:
    text = "one\n\ntwo\n\nthree three"
    assert text_window(text, 0, 14, blocks=True).text == "one\n\ntwo\n\n"
    fenced = "a paragraph\n\n```\ncode\n\nmore\n```\n\nend"
    assert text_window(fenced, 0, 23, blocks=True).text == "a paragraph\n\n"


@given(
    st.lists(st.sampled_from(["```", "~~~", "a", "", "", "  ```"]), max_size=40), st.integers(0, 9), st.integers(1, 60)
)
def test_a_window_of_blocks_has_pairs_of_fences_where_a_break_allows_it(
    lines: list[str], start: int, size: int
) -> None:
    """The fences before each possible break, counted again for each of them."""
    text = "\n".join(lines)
    found = text_window(text, start, size, blocks=True)
    end = min(found.start + size, len(text))
    if end < len(text):
        least = found.start + int((end - found.start) * 0.5)
        breaks = [at for at in range(least, end - 1) if text.startswith("\n\n", at)]
        fence = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
        good = [at + 2 for at in breaks if len(fence.findall(text, found.start, at)) % 2 == 0]
        assert not good or found.end == good[-1]


def test_a_window_after_the_end_is_empty() -> None:
    assert text_window("abc", 9, 5) == ("", 3, 3, 1, 3)


def test_a_cited_span_is_counted_from_its_part_and_does_not_leave_it() -> None:
    assert cited_span("0123456789", 1, 3, (4, 8)) == (5, 7)
    assert cited_span("0123456789", 0, 99, (4, 8)) == (4, 8)
    assert cited_span("0123456789", 50, 60, (4, 8)) == (8, 8)
