"""Slice files: bytes in, typed values out, the same bytes back."""

import contextlib
import gc
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.core.hashing import digest
from slicebase.errors import SlicebaseError, Where
from slicebase.files.model import Code, Contract, Conversation, DerivationSource, Link, Mark, Payload
from slicebase.files.slice_file import SliceFile
from tests.files.strategies import Header, headers
from tests.paths import SHARED

SPECIFICATION = SHARED / "spec" / "slices-v1-format.md"

NOTE = b"""\
---
slice:
  v: "1"
  id: 01JNOTE000000000000000001
  title: Deploying
  summary: How the service reaches production. # short
  body:
    type: markdown
---

# Deploying

Tag, build, roll out.
"""

DESIGN = b"""\
---
slice:
  v: "1"
  kind: context
  id: 01JDESIGN0000000000000001
  title: Queue design
  summary: Why the queue is a table. One writer, many readers.
  body:
    type: markdown
  contract:
    purpose: "Design of the queue and what was rejected."
    exclude:
      - "operations"
      - "benchmarks"
    format: "One section per choice."
    cleanup: "Archive after a year."
    write: replace
    overflow: summarize
  links:
    - rel: depends_on
      to: 01JTABLE00000000000000002
    - rel: routes_to
      to: ./operations.slice
      label: "Operations"
  derived_from:
    id: 01JTALK000000000000000001
    hash: sha256:aaaa
  meta:
    author: kim
    reviewed: true
    weight: 3
  updated_at: 2026-01-31T12:00:00.000Z
  archived: {at: 2026-02-01T00:00:00.000Z, reason: replaced}
  colour: blue
tags: [queue]
---
body
"""

POINTER = b"""\
---
slice:
  v: "1"
  id: 01JDUMP00000000000000009
  title: Raw traces
  summary: Two days of traces, compressed.
  body:
    type: none
  payload:
    uri: ./payloads/traces.gz
    hash: sha256:bbbb
    size: 2469606195
---
"""


def slice_file(inside: str, body: str = "") -> SliceFile:
    """Returns a file with these lines under `slice:`."""
    indented = "".join(f"  {line}\n" for line in inside.splitlines())
    return SliceFile.parse(f"---\nslice:\n{indented}---\n{body}".encode(), "x.slice")


# ---- bytes


@pytest.mark.parametrize("data", [NOTE, DESIGN, POINTER, b"\xef\xbb\xbf" + NOTE, NOTE.replace(b"\n", b"\r\n")])
def test_a_file_that_is_read_and_written_is_the_same_bytes(data: bytes) -> None:
    """Ruling 20."""
    assert SliceFile.parse(data).to_bytes() == data


@given(headers(), st.binary(max_size=40), st.booleans(), st.sampled_from(["", " ", "\t"]))
def test_any_file_that_is_read_and_written_is_the_same_bytes(h: Header, body: bytes, bom: bool, spaces: str) -> None:
    """Ruling 20: byte order mark, line ends and spaces after a marker are kept."""
    marker = f"---{spaces}{h.newline}"
    data = ("\ufeff" if bom else "").encode() + f"{marker}{h.text}{marker}".encode() + body
    file = SliceFile.parse(data)
    assert file.to_bytes() == data
    assert file.body == body


@given(st.binary(max_size=60) | st.builds(lambda inside: b"---\n" + inside + b"\n---\n", st.binary(max_size=60)))
def test_arbitrary_bytes_raise_only_our_own_error(data: bytes) -> None:
    with contextlib.suppress(SlicebaseError):
        file = SliceFile.parse(data, "x.slice")
        assert file.to_bytes() == data
        for name in (
            "v",
            "id",
            "kind",
            "body_type",
            "code",
            "conversation",
            "contract",
            "links",
            "payload",
            "archived",
        ):
            getattr(file, name)


ALIAS_BOMB = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("data", "code", "line"),
    [
        (b"", "no-frontmatter", 1),
        (b"---\nslice:\n  id: x\n", "frontmatter-open", 4),
        (b"---\nslice:\n  title: \xff\n---\n", "not-utf8", 3),
        (b"---\n---\n", "frontmatter-shape", 2),
        (b"---\n- a\n---\n", "frontmatter-shape", 2),
        (b"---\nwords\n---\n", "frontmatter-shape", 2),
        (b"---\na: " + b"[" * 20_000 + b"\n---\n", "yaml-nesting", 2),
        (b"---\n" + b"- " * 20_000 + b"\n---\n", "yaml-nesting", 2),
        (b"---\n" + ALIAS_BOMB.encode() + b"---\n", "yaml-anchor", 2),
        (b"---\nslice:\n  id: a\n  id: b\n---\n", "yaml-duplicate-key", 4),
        (b"---\nslice:\n  id: a\n...\n---\n", "yaml-documents", 4),
    ],
)
def test_what_cannot_be_read_is_refused_with_file_line_and_column(data: bytes, code: str, line: int) -> None:
    """Ruling 22, and § File Structure."""
    with pytest.raises(SlicebaseError) as caught:
        SliceFile.parse(data, "x.slice")
    assert caught.value.code == code
    assert (caught.value.where.file, caught.value.where.line) == ("x.slice", line)
    assert caught.value.where.column is not None


def test_a_large_body_is_not_scanned() -> None:
    """A file of 50 MB is split only."""
    body = b"---\n" * 12_500_000
    assert SliceFile.parse(POINTER + body).body == body


# ---- fields


def test_the_required_fields() -> None:
    """§ Required Fields."""
    file = SliceFile.parse(NOTE)
    assert (file.v, file.id, file.title, file.body_type) == ("1", "01JNOTE000000000000000001", "Deploying", "markdown")
    assert file.summary == "How the service reaches production."
    assert file.body.startswith(b"\n# Deploying")


def test_every_part_of_a_context_file() -> None:
    """§ Context, § Contract, § Links, § Derived Files, § Meta Block, ruling 31."""
    file = SliceFile.parse(DESIGN)
    assert file.contract == Contract(
        purpose="Design of the queue and what was rejected.",
        exclude=("operations", "benchmarks"),
        format="One section per choice.",
        cleanup="Archive after a year.",
        write="replace",
        overflow="summarize",
    )
    assert file.links == (
        Link("depends_on", "01JTABLE00000000000000002"),
        Link("routes_to", "./operations.slice", "Operations"),
    )
    assert file.derived_from == DerivationSource("01JTALK000000000000000001", "sha256:aaaa")
    assert file.meta == {"author": "kim", "reviewed": True, "weight": 3}
    assert file.updated_at == "2026-01-31T12:00:00.000Z"
    assert file.archived == Mark("2026-02-01T00:00:00.000Z", "replaced")
    assert (file.payload, file.purged) == (None, None)
    assert (file.unknown, file.beside) == ({"colour": "blue"}, {"tags": ["queue"]})


def test_a_pointer_names_its_payload_and_does_not_contain_it() -> None:
    """§ Pointer."""
    file = SliceFile.parse(POINTER)
    assert file.kind == "pointer"
    assert file.payload == Payload("./payloads/traces.gz", "sha256:bbbb", 2469606195)
    assert file.body == b""


def test_settings_of_a_code_body() -> None:
    """§ Code."""
    file = slice_file("body:\n  type: code\n  code:\n    lang: typescript\n    extension: ts\n    args: [--strict, 1]")
    assert file.code == Code("typescript", "ts", ("--strict", "1"))


def test_all_eight_keys_of_a_conversation() -> None:
    """§ Conversation."""
    file = slice_file(
        "body:\n  type: conversation\n  conversation:\n    participants: [user, assistant]\n    agent_id: model-1\n"
        "    session_id: sess_1\n    trace_id: 00000000000000000000000000000010 # 32 digits, no number\n"
        "    span_id: 0000000000000010\n    format: messages\n    includes_tool_calls: true\n"
        "    includes_compaction: no"
    )
    assert file.conversation == Conversation(
        participants=("user", "assistant"),
        agent_id="model-1",
        session_id="sess_1",
        trace_id="00000000000000000000000000000010",
        span_id="0000000000000010",
        format="messages",
        includes_tool_calls=True,
        includes_compaction=None,
    )


def test_an_id_does_not_depend_on_the_files_name() -> None:
    """§ Required Fields."""
    one, other = SliceFile.parse(NOTE, "a.slice"), SliceFile.parse(NOTE, "folder/b.slice")
    assert one.id == other.id
    assert one != other
    assert {one, SliceFile.parse(NOTE, "a.slice")} == {one}


@pytest.mark.parametrize(
    ("written", "text"),
    [("1", "1"), ("01", "01"), ("1.50", "1.50"), ("true", "true"), ("~", "~"), ("null", "null"), ("1e3", "1e3"),
     ("no", "no"), ("'1'", "1"), ("0x1F", "0x1F"), ('""', "")],
)  # fmt: skip
def test_a_text_field_is_the_text_that_is_written(written: str, text: str) -> None:
    """Ruling 21."""
    file = slice_file(
        f"v: {written}\nid: {written}\ntitle: {written}\nlinks:\n- {{rel: {written}, to: {written}}}\n"
        f"contract: {{exclude: [{written}]}}"
    )
    assert (file.v, file.id, file.title) == (text, text, text)
    assert file.links == (Link(text, text),)
    assert file.contract.exclude == (text,)


def test_a_text_field_without_a_value_is_absent() -> None:
    assert slice_file("title:\nsummary: # to come").title is None


def test_fields_of_the_wrong_shape_read_as_absent_and_the_file_is_still_read() -> None:
    file = slice_file(
        "title: [a]\nbody: text\ncontract: 7\nlinks: x\npayload: []\nmeta: 1\nderived_from: id\nv: {a: b}"
    )
    assert (file.title, file.v, file.body_type, file.links, file.payload) == (None, None, None, (), None)
    assert (file.meta, file.derived_from, file.contract) == ({}, None, Contract(write="append"))


def test_a_file_without_the_key_slice_is_read_and_has_no_fields() -> None:
    """§ File Structure: all metadata is under `slice`."""
    file = SliceFile.parse(b"---\ntitle: x\n---\n")
    assert (file.title, file.kind, file.beside) == (None, "context", {"title": "x"})


@pytest.mark.parametrize(
    ("inside", "kind"),
    [
        ("body: {type: none}\npayload: {uri: x}", "pointer"),
        ("body: {type: none}", "context"),
        ("body: {type: text}\npayload: {uri: x}", "context"),
        ("body: {type: text}", "context"),
        ("kind: pointer\nbody: {type: text}", "pointer"),
        ("kind: other", "other"),
    ],
)
def test_an_absent_kind_follows_from_body_and_payload(inside: str, kind: str) -> None:
    """Ruling 23."""
    assert slice_file(inside).kind == kind


@pytest.mark.parametrize(
    ("inside", "mode"),
    [
        ("body: {type: markdown}", "append"),
        ("body: {type: jsonl}", "append"),
        ("body: {type: yaml}", "replace"),
        ("body: {type: code}", "replace"),
        ("body: {type: code}\ncontract: {write: error}", "error"),
        ("body: {type: markdown}\ncontract: {write: supersede}", "supersede"),
    ],
)
def test_the_write_mode_has_a_default_by_body_type(inside: str, mode: str) -> None:
    """§ Write, ruling 25."""
    assert slice_file(inside).contract.write == slice_file(inside).write_mode == mode


@pytest.mark.parametrize(
    ("inside", "mark"),
    [("archived: {at: x}", Mark("x")), ("archived: true", Mark()), ("archived: false", None), ("archived:", None)],
)
def test_a_file_is_archived_by_its_mark(inside: str, mark: Mark | None) -> None:
    """Ruling 31."""
    assert slice_file(inside).archived == mark


# ---- hashes, body, positions


def test_the_hash_of_a_context_file_is_its_bodys_and_of_a_pointer_its_payloads() -> None:
    """§ Derived Files, ruling 24."""
    file = SliceFile.parse(NOTE)
    assert file.hash == digest(file.body)
    assert SliceFile.parse(POINTER).hash == "sha256:bbbb"
    assert slice_file("kind: pointer").hash is None


def test_the_version_of_a_file_is_the_digest_of_all_its_bytes() -> None:
    """Ruling 24."""
    assert SliceFile.parse(NOTE).digest == digest(NOTE)
    assert SliceFile.parse(NOTE + b" ").digest != SliceFile.parse(NOTE).digest


def test_the_frontmatter_is_stripped_for_a_model_in_one_call() -> None:
    """§ File Structure."""
    assert SliceFile.parse(NOTE).text_for_model() == "\n# Deploying\n\nTag, build, roll out.\n"


def test_a_body_that_is_not_utf8_is_kept_and_its_text_refused_with_a_position() -> None:
    file = SliceFile.parse(NOTE + b"ok\n\xff", "x.slice")
    assert file.to_bytes() == NOTE + b"ok\n\xff"
    with pytest.raises(SlicebaseError) as caught:
        file.text_for_model()
    assert (caught.value.code, caught.value.where) == ("not-utf8", Where("x.slice", 15, 1))


def test_a_new_body_does_not_change_a_byte_of_the_frontmatter() -> None:
    """Ruling 20."""
    file = SliceFile.parse(DESIGN)
    assert file.with_body(b"new").to_bytes() == file.head + b"new"


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        ("slice", 2, 1),
        ("slice.id", 5, 3),
        ("slice.contract.exclude.1", 14, 7),
        ("slice.links.1.label", 24, 7),
        ("slice.links.1", 22, 5),
        ("slice.archived.reason", 33, 44),
        ("tags.0", 35, 8),
        ("slice.links.9.to", 19, 3),  # the nearest one that exists
        ("slice.nothing", 2, 1),
        ("nothing", 1, 1),
        ("", 1, 1),
    ],
)
def test_every_key_and_item_has_a_position(path: str, line: int, column: int) -> None:
    assert SliceFile.parse(DESIGN, "x.slice").where(path) == Where("x.slice", line, column)


def test_a_key_with_a_dot_is_named_by_a_tuple() -> None:
    file = slice_file("meta:\n  a.b: 1")
    assert file.where(("slice", "meta", "a.b")).line == 4
    assert file.body_line == 6


# ---- the specification's own files


def examples() -> list[str]:
    if not SPECIFICATION.exists():
        return []
    return re.findall(r"```(?:yaml)?\n(---\n.*?\n---\n.*?)```", SPECIFICATION.read_text(), re.DOTALL)


@pytest.mark.skipif(not SPECIFICATION.exists(), reason="the specification is not beside this folder")
def test_the_specifications_complete_files_are_read() -> None:
    files = [SliceFile.parse(example.encode()) for example in examples()]
    assert len(files) >= 6
    for file, example in zip(files, examples(), strict=True):
        assert file.to_bytes() == example.encode()
        assert all((file.v == "1", file.id, file.title, file.summary, file.body_type))
    assert {file.kind for file in files} == {"context", "pointer"}
    assert {file.write_mode for file in files} == {"append", "replace", "error"}


def test_a_file_that_nobody_uses_any_more_keeps_no_memory_until_the_next_collection() -> None:
    """A page of a file of 20 MB is many requests, each of which reads the file."""
    file = SliceFile.parse(
        b"---\nslice: {id: a, title: t, links: [{rel: part_of, to: b}], body: {type: text}}\n---\nx y\n"
    )
    body = file.body
    gc.disable()
    try:
        held = sys.getrefcount(body)
        for name in dir(file):
            if not name.startswith("__"):
                getattr(file, name)
        del file
        assert sys.getrefcount(body) < held
    finally:
        gc.enable()
