"""Splitting a file into frontmatter and body (§ File Structure, ruling 20)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.core.parsers import decode
from slicebase.errors import SlicebaseError
from slicebase.files.yaml.load import MAX_HEADER, split


@pytest.mark.parametrize(
    ("data", "header", "body"),
    [
        (b"---\na: 1\n---\nbody", b"a: 1\n", b"body"),
        (b"---\na: 1\n---", b"a: 1\n", b""),
        (b"---\na: 1\n---\n", b"a: 1\n", b""),
        (b"---\na: 1\n---\n\nbody\n", b"a: 1\n", b"\nbody\n"),
        (b"---\n---\n", b"", b""),
        (b"\xef\xbb\xbf---\na: 1\n---\nbody", b"a: 1\n", b"body"),
        (b"---\r\na: 1\r\n---\r\nbody\r\n", b"a: 1\r\n", b"body\r\n"),
        (b"---  \na: 1\n--- \t\nbody", b"a: 1\n", b"body"),
        (b"---\na: 1\n---\nbody\n---\nmore", b"a: 1\n", b"body\n---\nmore"),
        (b"---\na: |\n  ---\n---x: 1\n---\n", b"a: |\n  ---\n---x: 1\n", b""),
        (b"---\na: 1\n---\r", b"a: 1\n", b""),
        (b"---\n---\n---\n", b"", b"---\n"),
    ],
)
def test_the_body_is_every_byte_after_the_closing_markers_line_end(data: bytes, header: bytes, body: bytes) -> None:
    """§ File Structure, ruling 20."""
    found = split(data)
    assert (data[found.start : found.end], data[found.body :]) == (header, body)


@pytest.mark.parametrize(
    ("data", "code", "line"),
    [
        (b"", "no-frontmatter", 1),
        (b"# no marker\n---\n", "no-frontmatter", 1),
        (b" ---\n---\n", "no-frontmatter", 1),
        (b"----\n---\n", "no-frontmatter", 1),
        (b"\xff\xfe-\x00-\x00", "no-frontmatter", 1),
        (b"---", "frontmatter-open", 1),
        (b"---\na: 1\n", "frontmatter-open", 3),
        (b"---\na: 1\n --- \n", "frontmatter-open", 4),
        (b"---\n" + b"a" * MAX_HEADER + b"\n---\n", "frontmatter-size", 2),
    ],
)
def test_a_file_without_markers_is_refused_with_its_position(data: bytes, code: str, line: int) -> None:
    with pytest.raises(SlicebaseError) as caught:
        split(data, "x.slice")
    assert (caught.value.code, caught.value.where.file, caught.value.where.line) == (code, "x.slice", line)


def test_a_header_of_exactly_the_largest_size_is_read() -> None:
    """Ruling 22."""
    header = b"a" * (MAX_HEADER - 1) + b"\n"
    assert split(b"---\n" + header + b"---\n").end == 4 + MAX_HEADER


@given(st.lists(st.sampled_from([b"---", b"\n", b"\r\n", b" ", b"a: b", b"\xef\xbb\xbf", b"\xff"]), max_size=12))
def test_markers_are_found_or_missed_by_our_own_error(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    try:
        found = split(data)
    except SlicebaseError:
        return
    assert 0 < found.start <= found.end < found.body <= len(data)


def test_a_byte_that_is_not_utf8_has_a_position() -> None:
    with pytest.raises(SlicebaseError) as caught:
        decode("é\nüü".encode() + b"\xff", first_line=5)
    assert (caught.value.code, caught.value.where.line, caught.value.where.column) == ("not-utf8", 6, 3)
