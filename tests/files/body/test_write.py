"""What is written to a body is the text that was given; only line ends and a byte order mark are those of the file."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.files.body.entries import Stamp
from slicebase.files.body.text import append_lines
from slicebase.files.body.write import WriteRequest, whole_body, write
from slicebase.files.slice_file import SliceFile
from tests.amounts import MORE

STAMP = Stamp(1_767_268_800_000, b"0123456789")
HEAD = """---
slice:
  v: "1"
  id: 01JFILE0000000000000000001
  title: Title
  summary: Summary.
  body:
    type: {type}
  contract:
    write: {mode}
---
"""
ROW = '{"_meta":{"id":"r1","created_at":"2026-01-01T00:00:00Z"},"text":"x"}\n'
OLD = {
    "jsonl": ROW,
    "conversation": '{"role":"user","content":"x"}\n',
    "routine": '{"instruction":"x"}\n',
    "markdown": "# A\n\nx\n\n# B\n\ny\n",
    "text": "x\n\n  y\n",
    "yaml": "x: 1\n",
    "code": "x = 1\n",
}
LINES = ("jsonl", "routine")
PARAGRAPHS = ("markdown", "text")

_texts = st.text(st.sampled_from("ab#\t \r\n\ufeff"), max_size=12).map(lambda text: f"{text}x").flatmap(
    lambda text: st.sampled_from(["", "\n", "\r\n", "\r", "\n\n", " ", "\r\r\n"]).map(lambda end: text + end)
)  # fmt: skip
_ends = st.sampled_from(["\n", "\r\n"])


def written(
    body_type: str, mode: str, text: str, end: str, *, is_empty: bool = False, section: str | None = None
) -> str:
    """Writes a text to a file with these line ends. Returns the new body, in which all lines end so."""
    file = SliceFile.parse(HEAD.format(type=body_type, mode=mode).replace("\n", end).encode())
    file = file.with_body(b"" if is_empty else OLD[body_type].replace("\n", end).encode())
    new = write(file, WriteRequest(text, STAMP, section=section, as_text=body_type != "conversation")).file
    body = new.body.decode()
    assert body.count("\r\n") == (body.count("\n") if end == "\r\n" else 0)
    assert new.head.count(b"\r\n") == (new.head.count(b"\n") if end == "\r\n" else 0)
    if mode == "append" and section is None:
        assert new.body.startswith(file.body)
    return body.replace("\r\n", "\n")


def plain(text: str) -> str:
    """Returns a text as docs/library.md says that it is kept."""
    text = text.removeprefix("\ufeff")
    while "\r\n" in text:
        text = text.replace("\r\n", "\n")
    return text


@settings(max_examples=60 * MORE)
@pytest.mark.parametrize("mode", ["append", "replace"])
@given(_texts, _ends, st.booleans(), st.sampled_from([*LINES, *PARAGRAPHS]))
def test_any_text_is_kept_as_it_is_given_but_for_its_line_ends(
    mode: str, text: str, end: str, is_empty: bool, body_type: str
) -> None:
    body = written(body_type, mode, text, end, is_empty=is_empty)
    if body_type in LINES:
        last = json.loads(body.splitlines()[-1])
        assert last["text" if body_type == "jsonl" else "instruction"] == plain(text).rstrip("\r\n")
    elif mode == "append":
        paragraph = plain(text).rstrip("\r\n").lstrip("\n")
        assert body == ("" if is_empty else OLD[body_type] + "\n") + paragraph + "\n"
    else:
        assert body.removesuffix("\n") == plain(text).removesuffix("\n").rstrip("\r")


@settings(max_examples=30 * MORE)
@pytest.mark.parametrize("mode", ["append", "replace"])
@given(_texts, _ends)
def test_any_text_of_a_section_is_kept_as_it_is_given_but_for_its_line_ends(mode: str, text: str, end: str) -> None:
    body = written("markdown", mode, text, end, section="A")
    paragraph = plain(text).rstrip("\r\n").lstrip("\n")
    before = "# A\n\nx\n\n" if mode == "append" else "# A\n\n"
    assert body == f"{before}{paragraph}\n\n# B\n\ny\n"


@pytest.mark.parametrize("body_type", ["yaml", "code"])
def test_what_is_replaced_has_the_line_ends_of_the_file(body_type: str) -> None:
    for end in ("\n", "\r\n"):
        assert written(body_type, "replace", "\ufeffa: 1\r\n\nb: 2", end) == "a: 1\n\nb: 2\n"


def test_the_indentation_of_a_step_stays() -> None:
    line = written("routine", "append", "    make test\n    make docs\n", "\n").splitlines()[-1]
    assert json.loads(line) == {"instruction": "    make test\n    make docs"}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_objects_are_lines_with_the_line_ends_of_the_body_whatever_theirs_are(end: str) -> None:
    said = '{"role":"user","content":"a\\r\\nb"}'
    body = written("conversation", "append", f"{said}\r\n{said}\r\n", end)
    assert [json.loads(line)["content"] for line in body.splitlines()] == ["x", "a\r\nb", "a\r\nb"]
    rows = ROW + ROW.replace("r1", "r2")
    assert written("jsonl", "append", "y", end).startswith(ROW)
    assert whole_body("jsonl", rows.replace("\n", "\r\n"), STAMP).file_body.decode() == rows


def test_lines_after_a_body_without_a_last_line_end_get_the_line_end_that_it_has() -> None:
    assert append_lines(b"a\r\nb", b"x\n") == b"a\r\nb\r\nx\r\n"
    assert append_lines(b"a", b"x\n", "\r\n") == b"a\r\nx\r\n"
    assert append_lines(b"a\n", b"x\n", "\r\n") == b"a\nx\n"


@pytest.mark.parametrize("body_type", ["markdown", "text", "yaml", "code"])
@given(_texts)
def test_the_text_of_a_new_file_is_kept_byte_for_byte(body_type: str, text: str) -> None:
    body = whole_body(body_type, text, STAMP).file_body.decode()
    given = text.removeprefix("\ufeff")
    given = given if given.endswith("\n") else given.rstrip("\r")  # half a line end
    assert body in (given, given + "\n", given + "\r\n")
    assert body.endswith("\n")


@pytest.mark.parametrize("body_type", ["markdown", "text", "code", "yaml"])
@pytest.mark.parametrize(
    ("text", "body"),
    [("a", b"a\n"), ("a\r", b"a\n"), ("a\nb\r", b"a\nb\n"), ("a\r\nb", b"a\r\nb\r\n"), ("a\r\nb\r", b"a\r\nb\r\n")],
)
def test_a_complete_body_ends_with_a_line_end_of_its_own_kind(body_type: str, text: str, body: bytes) -> None:
    assert whole_body(body_type, text, STAMP).file_body == body


@pytest.mark.parametrize("mode", ["append", "replace"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_body_of_one_line_without_an_end_has_the_line_ends_of_its_frontmatter(mode: str, end: str) -> None:
    file = SliceFile.parse(HEAD.format(type="markdown", mode=mode).replace("\n", end).encode()).with_body(b"# A")
    request = WriteRequest("b\nc", STAMP, section="A")
    assert write(file, request).file.body.decode() == end.join(["# A", "", "b", "c", ""])
    before = WriteRequest("b", STAMP, at=0)
    assert write(file, before, mode="append").file.body.decode() == end.join(["b", "", "# A"])
    whole = WriteRequest("b\nc", STAMP, newline="\r\n")  # as where a body with CRLF has moved to another file
    assert write(file.with_body(b""), whole, mode="append").file.body == b"b\r\nc\r\n"
