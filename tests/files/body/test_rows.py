"""Rows: § JSONL Body, § Provenance, rulings 27 and 36."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.files.body.rows import Provenance, Row, read_rows, row_line, row_text
from slicebase.files.model import Link

MOMENT = "2026-03-01T08:00:00Z"
MILLISECONDS = 1_772_352_000_000


def line(meta: dict[str, Any] | None = None, **content: Any) -> bytes:
    envelope = {"id": "01ROW1", "created_at": MOMENT, **(meta or {})}
    return json.dumps({"_meta": envelope, **content}).encode() + b"\n"


def only(body: bytes) -> Row:
    (row,), findings = read_rows(body)
    assert findings == ()
    return row


def test_a_row_needs_only_an_id_and_a_time() -> None:
    """§ Row Envelope."""
    row = only(line(text="The gate opens at six."))
    assert (row.id, row.time, row.text) == ("01ROW1", MILLISECONDS, "The gate opens at six.")
    assert (row.supersedes, row.confidence, row.provenance, row.status, row.links) == ((), None, None, None, ())


def test_all_optional_fields_are_read() -> None:
    """§ Optional Metadata."""
    row = only(
        line(
            {
                "supersedes": ["01ROW0"],
                "confidence": 0.75,
                "provenance": {"author": "reviewer", "method": "observation"},
                "status": "active",
                "links": [{"rel": "evidence_for", "to": "01CLAIM"}],
            },
            text="The gate opens at seven.",
        )
    )
    assert row.supersedes == ("01ROW0",)
    assert row.confidence == 0.75
    assert row.provenance == Provenance(agent="reviewer", source="observation")
    assert row.status == "active"
    assert row.links == (Link("evidence_for", "01CLAIM"),)


def test_both_shapes_of_provenance_are_read() -> None:
    """§ Provenance shows one shape, § Optional Metadata another (ruling 27)."""
    long = {"agent": "session-7", "session": "s7", "source": "inference", "confidence": 0.5, "context": "said so"}
    row = only(line({"provenance": long}))
    assert row.provenance == Provenance("session-7", "s7", "inference", 0.5, "said so")


def test_confidence_is_read_in_both_places_and_the_envelope_wins() -> None:
    """Ruling 27."""
    assert only(line({"provenance": {"confidence": 0.5}})).confidence == 0.5
    assert only(line({"confidence": 1, "provenance": {"confidence": 0.5}})).confidence == 1.0
    assert only(line({"confidence": 0, "provenance": {"confidence": 0.5}})).confidence == 0.0


def test_links_are_read_in_both_places_once_each() -> None:
    """Ruling 27."""
    first, second = {"rel": "see_also", "to": "01A"}, {"rel": "evidence_for", "to": "01B", "label": "why"}
    row = only(line({"links": [first]}, links=[first, second]))
    assert row.links == (Link("see_also", "01A"), Link("evidence_for", "01B", "why"))


def test_links_beside_the_envelope_may_be_a_field_of_the_user() -> None:
    assert only(line(links=["https://example.org"])).links == ()
    assert only(line(links="none")).links == ()


@pytest.mark.parametrize(
    ("body", "rule", "column"),
    [
        (b'{"text":"x"}', "row-meta", 1),
        (b'{"_meta": [], "text":"x"}', "row-meta", 11),
        (b'{"_meta": {"created_at":"2026-03-01T08:00:00Z"}}', "row-id", 11),
        (b'{"_meta": {"id": 7, "created_at":"2026-03-01T08:00:00Z"}}', "row-id", 18),
        (b'{"_meta": {"id": "", "created_at":"2026-03-01T08:00:00Z"}}', "row-id", 18),
        (b'{"_meta": {"id": "a b", "created_at":"2026-03-01T08:00:00Z"}}', "row-id", 18),
        (b'{"_meta": {"id": "a"}}', "row-created-at", 11),
        (b'{"_meta": {"id": "a", "created_at": "soon"}}', "time", 37),
        (b'{"_meta": {"id": "a", "created_at": "2026-03-01"}}', "time-form", 37),
    ],
)
def test_an_envelope_without_its_required_fields_is_a_finding(body: bytes, rule: str, column: int) -> None:
    """§ Row Envelope: id and created_at are required."""
    findings = read_rows(body, first_line=4).findings
    assert [(finding.rule, finding.line, finding.column) for finding in findings] == [(rule, 4, column)]


@pytest.mark.parametrize(
    "meta",
    [
        {"supersedes": "01ROW0"},
        {"supersedes": [3]},
        {"confidence": 1.5},
        {"confidence": "high"},
        {"confidence": True},
        {"provenance": "reviewer"},
        {"provenance": {"confidence": -1}},
        {"provenance": {"author": 5}},
        {"status": 1},
        {"links": {"rel": "parent", "to": "01A"}},
        {"links": [{"rel": "parent"}]},
    ],
)
def test_an_optional_field_of_the_wrong_form_is_a_finding_and_the_row_stays(meta: dict[str, Any]) -> None:
    """§ Optional Metadata; § Provenance: confidence is between 0 and 1."""
    rows, findings = read_rows(line(meta))
    assert [finding.rule for finding in findings] == ["row-field"]
    assert [row.id for row in rows] == ["01ROW1"]


def test_links_beside_the_envelope_with_rel_or_to_must_have_the_form_of_links() -> None:
    assert [finding.rule for finding in read_rows(line(links=[{"rel": "parent"}])).findings] == ["row-field"]


def test_a_bare_superseded_id_still_supersedes() -> None:
    assert read_rows(line({"supersedes": "01ROW0"})).rows[0].supersedes == ("01ROW0",)


def test_the_text_of_a_row_starts_with_text_and_continues_in_the_rows_order() -> None:
    """Ruling 36."""
    row = {"_meta": {"id": "x"}, "why": "because", "text": "That.", "n": 3, "empty": "", "also": "and so"}
    assert row_text(row) == "That.\n\nbecause\n\nand so"
    assert row_text({"why": "because"}) == "because"
    assert row_text({"n": 1}) == ""


def test_a_new_rows_line_has_its_envelope_first() -> None:
    meta = {"id": "01NEW", "created_at": MOMENT, "links": [{"rel": "see_also", "to": "01B"}]}
    assert row_line(meta, {"text": "Der Säugling schläft.", "n": 1}).decode() == (
        '{"_meta":{"id":"01NEW","created_at":"2026-03-01T08:00:00Z","links":[{"rel":"see_also","to":"01B"}]},'
        '"text":"Der Säugling schläft.","n":1}\n'
    )


@pytest.mark.parametrize(
    ("meta", "content", "code"),
    [
        ({}, {"_meta": {}}, "breaks-rule"),
        ({"id": "two words"}, {}, "breaks-rule"),
        ({"confidence": 2.0}, {}, "breaks-rule"),
        ({"supersedes": [""]}, {}, "breaks-rule"),
        ({}, {"x": "\ud800"}, "lone-surrogate"),
        ({}, {"x": object()}, "not-json-value"),
    ],
)
def test_a_line_that_would_break_a_rule_is_never_created(
    meta: dict[str, Any], content: dict[str, Any], code: str
) -> None:
    with pytest.raises(SlicebaseError) as caught:
        row_line({"id": "01NEW", "created_at": MOMENT, **meta}, content)
    assert caught.value.code == code


@given(
    st.binary(max_size=150)
    | st.lists(
        st.sampled_from([b'{"_meta":', b'{"id":', b'"a"', b"}", b"\n", b"1", b"[", b"]", b","]), max_size=25
    ).map(b"".join)
)
def test_arbitrary_bytes_never_raise(body: bytes) -> None:
    read_rows(body)
