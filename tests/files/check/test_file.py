"""Validation of complete files: files of every type, the specification's own examples, and arbitrary bytes."""

import json
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.files.body.conversation import header_problems, read_conversation
from slicebase.files.body.rows import read_rows
from slicebase.files.check.between import Checked, FileLocation
from slicebase.files.check.file import check_file, report
from slicebase.files.findings import FORMAT_RULES, Finding
from slicebase.files.model import HEADER_KEYS
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.load import load
from slicebase.library.check import validate
from tests.files.strategies import Header, headers
from tests.paths import PROJECT, SHARED

EXAMPLES = PROJECT / "tests" / "files" / "examples"
SPECIFICATION = SHARED / "spec" / "slices-v1-format.md"
SEAT = FileLocation("x.slice", ".slices/x.slice")

needs_specification = pytest.mark.skipif(
    not SPECIFICATION.exists(), reason="the specification is not beside the project"
)


def test_a_library_with_a_file_of_every_type_has_no_findings(tmp_path: Path) -> None:
    """The library has a file for each example of the specification, with the same structure and other texts."""
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    checked = validate([tmp_path / ".slices"])
    assert checked.findings == ()
    assert checked.files == 13


def test_every_body_type_and_kind_is_among_them() -> None:
    files = [SliceFile.parse(path.read_bytes()) for path in (EXAMPLES / ".slices").iterdir()]
    assert {file.body_type for file in files} == {
        "markdown", "jsonl", "none", "code", "conversation", "text", "yaml", "routine",
    }  # fmt: skip
    assert {file.kind for file in files} == {"context", "pointer"}


# ---- the specification's own examples


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", SPECIFICATION.read_text(), re.DOTALL | re.MULTILINE)


@needs_specification
def test_the_specifications_complete_files_have_no_errors(tmp_path: Path) -> None:
    """A missing target or payload is a warning (ruling 29)."""
    whole = [block for block in (*blocks(""), *blocks("yaml")) if block.startswith("---\nslice:")]
    for block in whole:
        file = SliceFile.parse(block.encode())
        library = tmp_path / ".slices"
        library.mkdir(exist_ok=True)
        (library / f"{file.id}.slice").write_text(block)
    checked = validate([tmp_path])
    assert checked.files == len(whole) == 6
    assert checked.counts["error"] == 0
    assert {finding.rule for finding in checked.findings} <= {
        "id-ulid", "link-target", "payload-absent", "exclude-unrouted",
    }  # fmt: skip


@needs_specification
def test_the_specifications_fragments_of_frontmatter_fit_into_a_file() -> None:
    fragments = [block for block in blocks("yaml") if block.startswith("slice:")]
    assert len(fragments) == 14
    for fragment in fragments:
        checked = check_file(f"---\n{fragment}---\n".encode(), SEAT)
        assert isinstance(checked, Checked)
        rules = {finding.rule for finding in checked.findings}
        # The hashes are shortened, and fragments leave out what is not their subject.
        assert rules <= {"required", "hash-form", "kind-body", "code-lang"}, fragment


@needs_specification
def test_the_specifications_rows_and_lines_are_read_without_findings() -> None:
    for block in blocks("json"):
        rows, findings = read_rows(json.dumps(json.loads(block)).encode())
        assert (len(rows), findings) == (1, ())
    (lines,) = blocks("jsonl")
    assert read_conversation(lines.encode()).findings == ()
    header = next(load(block) for block in blocks("yaml") if "conversation:\n" in block)
    assert list(header_problems(header["slice"]["body"]["conversation"])) == []


# ---- arbitrary bytes


def well_placed(result: Checked | Finding, data: bytes) -> None:
    found = [result] if isinstance(result, Finding) else [*result.findings, *result.log_findings]
    lines = data.split(b"\n")
    for finding in found:
        assert finding.rule in FORMAT_RULES
        assert finding.file == "x.slice"
        assert finding.line is not None
        assert finding.column is not None
        assert 1 <= finding.line <= len(lines)
        assert 1 <= finding.column <= len(lines[finding.line - 1]) + 1


@given(st.binary(max_size=80))
def test_arbitrary_bytes_give_findings_and_no_exception(data: bytes) -> None:
    well_placed(check_file(data, SEAT), data)


@settings(max_examples=100)
@given(headers(), st.binary(max_size=60))
def test_arbitrary_frontmatter_gives_findings_and_no_exception(header: Header, body: bytes) -> None:
    data = f"---\n{header.text}".encode() + b"---\n" + body
    well_placed(check_file(data, SEAT), data)


_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x", "a b", "1", "none", "jsonl", "../../x"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["id", "to", "rel", "at"]), inner, max_size=2)
    ),
    max_leaves=4,
)
_keys = st.sampled_from(HEADER_KEYS)
_body = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["jsonl", "conversation", "routine", "yaml", "code", "none", "text"]) | _values,
        "code": _values,
        "conversation": st.dictionaries(
            st.sampled_from(["participants", "format", "trace_id", "includes_tool_calls"]), _values
        ),
    },
)


@settings(max_examples=150)
@given(
    st.dictionaries(_keys, _values, max_size=6),
    _body,
    st.binary(max_size=30) | st.sampled_from([b'{"read":"x"}', b"{}"]),
)
def test_known_fields_with_arbitrary_values_give_findings_and_no_exception(
    fields: dict[str, object], body: dict[str, object], content: bytes
) -> None:
    """JSON is YAML: whatever the fields hold, it is reported."""
    header = json.dumps({"slice": {**fields, "body": body}})
    data = f"---\n{header}\n---\n".encode() + content
    well_placed(check_file(data, SEAT), data)


_examples = [path.read_bytes() for path in sorted((EXAMPLES / ".slices").iterdir())]


@settings(max_examples=150)
@given(st.sampled_from(_examples), st.integers(0, 2000), st.integers(0, 6), st.binary(max_size=3))
def test_an_example_with_some_bytes_changed_gives_findings_and_no_exception(
    data: bytes, at: int, length: int, new: bytes
) -> None:
    at %= len(data)
    changed = data[:at] + new + data[at + length :]
    well_placed(check_file(changed, SEAT), changed)


def test_findings_are_ordered_by_file_line_and_column() -> None:
    found = [
        Finding("kind", line, column, "", file=file) for file in "ba" for line in (2, 1) for column in (3, None, 1)
    ]
    ordered = [(finding.file, finding.line, finding.column) for finding in report(2, found).findings]
    assert ordered == [(file, line, column) for file in "ab" for line in (1, 2) for column in (None, 1, 3)]
