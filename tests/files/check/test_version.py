"""The check before every write: what is written is what was meant."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.files.body.entries import Stamp
from slicebase.files.body.write import WriteRequest, write
from slicebase.files.check.version import checked_bytes, read_back
from slicebase.files.create import assigned_values, define
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import set_key
from tests.amounts import MORE
from tests.codes import code_of
from tests.files.strategies import Header, headers

HEAD = b'---\nslice:\n  v: "1"\n  id: 01A\n  title: T\n  summary: S\n  body:\n    type: jsonl\n---\n'
ROW = b'{"_meta":{"id":"01R","created_at":"2026-03-01T08:00:00Z"},"text":"x"}\n'


def file(head: bytes = HEAD, body: bytes = b"") -> SliceFile:
    return SliceFile.parse(head + body, "01A.slice")


def rebuilt(of: SliceFile, head: bytes, body: bytes) -> SliceFile:
    """Returns a value that claims to be something else than its bytes."""
    return SliceFile(of.name, head, body, of.header, of.frontmatter)


def test_a_version_that_is_what_was_meant_is_returned_as_bytes() -> None:
    old = file()
    assert checked_bytes(old, old.with_body(ROW), rows=["01R"]) == HEAD + ROW
    assert checked_bytes(None, file(body=ROW)) == HEAD + ROW


def test_a_body_that_would_become_part_of_the_frontmatter_is_not_written() -> None:
    """The instance: `---{"_meta"…`, which no reader can read any more."""
    damaged = rebuilt(file(), HEAD.removesuffix(b"\n"), ROW)
    assert code_of(checked_bytes, file(), damaged) == "write-differs"
    assert code_of(read_back, damaged) == "write-differs"


def test_metadata_that_would_be_read_as_another_is_not_written() -> None:
    meant = set_key(file(), "slice.title", "Another")
    assert code_of(checked_bytes, file(), rebuilt(meant, HEAD, b"")) == "write-differs"


def test_a_part_of_the_body_that_would_be_read_as_frontmatter_is_not_written() -> None:
    opened = HEAD.removesuffix(b"---\n")
    assert code_of(read_back, rebuilt(file(), opened, b"---\nbody")) == "write-differs"


def test_an_id_never_changes_and_new_rows_are_where_they_should_be() -> None:
    other = file(HEAD.replace(b"01A", b"01B"))
    assert code_of(checked_bytes, file(), other) == "write-differs"
    assert code_of(checked_bytes, file(), file(body=ROW), rows=["01X"]) == "write-differs"
    assert code_of(checked_bytes, file(body=ROW), file(body=ROW), rows=["01R"]) == "write-differs"


def test_a_new_error_is_refused_and_one_that_was_there_is_not() -> None:
    bad = file(HEAD.replace(b'v: "1"', b'v: "7"'))
    assert code_of(checked_bytes, None, bad) == "breaks-rule"
    assert code_of(checked_bytes, file(), bad) == "breaks-rule"
    assert checked_bytes(bad, bad.with_body(ROW), rows=["01R"])
    assert checked_bytes(file(), bad, also=[bad])


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("blanks", [b"", b" \t"])
@pytest.mark.parametrize("at_end", [b"", b"\r"])
def test_a_closing_marker_at_the_end_of_the_file_gets_its_line_end_with_the_first_body(
    line_end: bytes, bom: bytes, blanks: bytes, at_end: bytes
) -> None:
    """Ruling 20: reading is tolerant, and a metadata edit leaves everything else as it is."""
    head = bom + HEAD.removesuffix(b"\n").replace(b"\n", line_end) + blanks
    old = file(head + at_end)
    assert old.body == b""
    assert set_key(old, "slice.title", "Another").to_bytes() == old.to_bytes().replace(b"title: T", b"title: Another")
    assert checked_bytes(old, old.with_body(ROW), rows=["01R"]) == head + line_end + ROW
    assert old.with_body(b"").to_bytes() == old.to_bytes()


@settings(max_examples=40 * MORE)
@given(headers(), st.binary(max_size=40), st.binary(max_size=40), st.booleans())
def test_any_body_after_any_head_is_read_back_as_it_was_given(
    header: Header, before: bytes, body: bytes, ends: bool
) -> None:
    head = f"---\n{header.text}---".encode() + (b"\n" if ends else b"")
    old = SliceFile.parse(head + (before if ends else b""))
    new = old.with_body(body)
    assert SliceFile.parse(read_back(new)).body == body


# ---- any file, any writes

TYPES = ("jsonl", "conversation", "routine", "markdown", "text")
STAMP = Stamp(1_772_352_000_000, b"0123456789")
_line_ends = st.sampled_from(["\n", "\r\n"])
_closings = st.sampled_from(["---", "--- ", "---\t", "---\n", "---  \n", "---\r"])
_bodies = {
    "jsonl": st.sampled_from(["", ROW.decode(), ROW.decode().rstrip("\n"), ROW.decode().replace("\n", "\r\n"), "\n\n"]),
    "conversation": st.sampled_from(["", '{"role": "user", "content": "c"}', '{"role": "user", "content": "c"}\r\n']),
    "routine": st.sampled_from(["", '{"run": "make"}', '{"run": "make"}\n\n{"instruction": "i"}\r\n']),
    **dict.fromkeys(("markdown", "text"), st.text("a #-\n\r{}é", max_size=20)),
}
_texts = st.text('ab {}[]":,1.\n\r-#é\ufeff', max_size=16) | st.sampled_from(
    ['{"role": "user", "content": "x"}', '{"run": "x"}', '{"text": "x", "n": 1.0}', "---", "--- \nslice:", "{a}"]
)
_edits = st.lists(
    st.tuples(st.just("remember"), _texts)
    | st.tuples(st.sampled_from(["title", "meta.x", "meta.y.z", "summary", "contract.purpose"]), _texts),
    max_size=5,
)


@st.composite
def slice_files(draw: st.DrawFn) -> SliceFile:
    """Draws a slice file as editors and other programs leave it."""
    body_type, newline, closing = draw(st.sampled_from(TYPES)), draw(_line_ends), draw(_closings)
    head = HEAD.decode().removesuffix("---\n").replace("jsonl", body_type) + draw(st.sampled_from(["", "# end\n"]))
    body = draw(_bodies[body_type]) if closing.endswith("\n") else ""
    bom = draw(st.sampled_from(["", "\ufeff"]))
    return SliceFile.parse((bom + (head + closing).replace("\n", newline) + body).encode(), "01A.slice")


@settings(max_examples=80 * MORE)
@given(slice_files(), _edits)
def test_any_file_after_any_writes_is_what_was_meant(old: SliceFile, edits: list[tuple[str, str]]) -> None:
    for what, text in edits:
        try:
            if what == "remember":
                new, rows = write(old, WriteRequest(text, STAMP))
            else:
                new, rows = define(old, assigned_values([f"{what}={text}"], lambda value: value)), ()
            data = checked_bytes(old, new, rows=rows)
        except SlicebaseError as error:
            assert error.code != "write-differs"
            continue
        found = SliceFile.parse(data, old.name)
        assert found == new
        if what == "remember":
            assert found.body.startswith(old.body)
            assert {**found.frontmatter["slice"], "updated_at": None} == {
                **old.frontmatter["slice"],
                "updated_at": None,
            }
        else:
            assert found.body == old.body
            assert found.head.startswith(old.head[:4])
        old = found
