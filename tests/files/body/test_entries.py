"""New rows and lines: their ids, and that they keep everything that is given."""

import json
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.core.ids import is_ulid, ulid, ulid_time
from slicebase.errors import SlicebaseError
from slicebase.files.body.entries import Stamp, new_lines, new_rows
from slicebase.files.body.rows import Provenance
from tests.amounts import MORE
from tests.codes import code_of
from tests.files.body.test_objects import objects, read, texts, values, written

_moments = st.integers(0, 2**47)
_chance = st.binary(min_size=10, max_size=10)


@given(_moments, _chance)
def test_ids_of_one_write_grow_and_none_is_the_files(moment: int, chance: bytes) -> None:
    stamp = Stamp(moment, chance)
    ids = list(islice(stamp.ids(), 5))
    assert ids == sorted(set(ids))
    assert all(is_ulid(each) and ulid_time(each) == moment for each in (*ids, stamp.file_id))
    assert stamp.file_id not in ids


@given(_moments, _chance, _chance, st.integers(0, 999))
def test_a_row_of_the_same_moment_follows_the_one_before_it(moment: int, one: bytes, two: bytes, ahead: int) -> None:
    before = ulid(moment + ahead, one)
    assert next(Stamp(moment, two).ids(before)) > before


@given(_moments, _chance, _chance, _chance)
def test_two_branches_that_append_behind_the_same_row_do_not_meet(
    moment: int, row: bytes, one: bytes, two: bytes
) -> None:
    before = ulid(moment, row)
    if one != two:
        assert next(Stamp(moment, one).ids(before)) != next(Stamp(moment, two).ids(before))


def test_a_row_from_the_far_future_does_not_change_the_time_of_new_ids() -> None:
    before = ulid(5_000_000, b"0123456789")
    assert ulid_time(next(Stamp(1000, b"0123456789").ids(before))) == 1000
    assert ulid_time(next(Stamp(1000, b"0123456789").ids("no ulid"))) == 1000


# ---- rows: every key that is given is kept


STAMP = Stamp(1_772_352_000_000, b"0123456789")


def row_of(text: str, provenance: Provenance | None = None) -> dict[str, Any]:
    (row,) = new_rows(text, STAMP._replace(provenance=provenance))
    found = read(row.line)
    assert isinstance(found, dict)
    return found


def test_a_row_keeps_everything_that_its_provenance_says() -> None:
    given = {"author": "dom", "method": "spike", "url": "u", "agent": "A"}
    meta = row_of(json.dumps({"text": "t", "_meta": {"provenance": given}}))["_meta"]
    assert meta["provenance"] == given


def test_a_row_that_names_its_author_is_signed_by_who_writes_it() -> None:
    text = '{"text": "t", "_meta": {"provenance": {"author": "dom", "session": "s1"}}}'
    meta = row_of(text, Provenance(agent="reviewer", session="s2"))["_meta"]
    assert meta["provenance"] == {"author": "dom", "session": "s1", "agent": "reviewer"}


def test_links_move_into_the_envelope_with_all_their_keys() -> None:
    """Ruling 27."""
    one, two = {"rel": "see_also", "to": "01A", "weight": ("1.50",)}, {"rel": "parent", "to": "01B"}
    row = row_of(written({"_meta": {"links": [one]}, "links": [one, two]}))
    assert row["_meta"]["links"] == [one, two]
    assert "links" not in row
    assert row_of('{"links": ["https://example.org"]}')["links"] == ["https://example.org"]


@pytest.mark.parametrize("stated", ["{}", "0", "false", '""', '{"rel": "parent"}', '"01A"'])
def test_links_beside_an_envelope_whose_links_are_no_list_are_refused(stated: str) -> None:
    given = '"links": [{"rel": "parent", "to": "01B"}]'
    assert code_of(row_of, f'{{{given}, "_meta": {{"links": {stated}}}}}') == "breaks-rule"
    assert row_of(f'{{{given}, "_meta": {{"links": null}}}}')["_meta"]["links"] == [{"rel": "parent", "to": "01B"}]


def test_a_confidence_is_written_in_the_envelope_and_stays_where_the_row_has_it() -> None:
    """Ruling 27."""
    by_option = row_of("x", Provenance(agent="a", confidence=0.5))["_meta"]
    assert (by_option["confidence"], by_option["provenance"]) == (("0.5",), {"agent": "a", "confidence": ("0.5",)})
    stated = row_of('{"_meta": {"provenance": {"confidence": 0.50}}}')["_meta"]
    assert (stated["confidence"], stated["provenance"]) == (("0.50",), {"confidence": ("0.50",)})
    both = row_of('{"_meta": {"confidence": 1.0}}', Provenance(confidence=0.5))["_meta"]
    assert (both["confidence"], both["provenance"]) == (("1.0",), {"confidence": ("0.5",)})


def test_an_envelope_begins_with_the_keys_of_the_format_and_keeps_all_others() -> None:
    row = row_of('{"b": 1, "_meta": {"mood": {"x": 1e5}, "status": null, "confidence": 0.9}, "a": 2}')
    assert list(row) == ["_meta", "b", "a"]
    assert list(row["_meta"]) == ["id", "created_at", "confidence", "status", "mood"]
    assert row["_meta"]["mood"] == {"x": ("1e5",)}


def test_a_confidence_that_is_no_number_is_refused() -> None:
    assert code_of(new_rows, "x", STAMP._replace(provenance=Provenance(confidence=float("nan")))) == "not-finite"


_provenances = st.none() | st.builds(Provenance, agent=st.none() | texts, session=st.none() | texts)
_links = st.lists(
    st.fixed_dictionaries({"rel": texts, "to": texts}, optional={"label": texts, "by": values}), max_size=3
)
_metas = st.dictionaries(texts, values, max_size=3).flatmap(
    lambda others: st.fixed_dictionaries(
        {},
        optional={
            "status": texts,
            "links": _links,
            "provenance": st.fixed_dictionaries({}, optional={"author": texts, "agent": texts, "url": values}),
        },
    ).map(lambda meta: {**others, **meta})
)


@settings(max_examples=60 * MORE)
@given(objects, _metas, st.none() | _links, _provenances)
def test_a_row_contains_every_key_and_value_that_was_given(
    content: dict[str, Any], meta: dict[str, Any], links: list[Any] | None, provenance: Provenance | None
) -> None:
    given = {**content, "_meta": meta, **({} if links is None else {"links": links})}
    try:
        row = row_of(written(given), provenance)
    except SlicebaseError as error:
        assert error.code == "breaks-rule"  # what it states has not its form, or is not its own to state
        return
    found = row["_meta"]
    moved = [*meta.get("links", []), *(links or [])]
    assert all(link in (found.get("links") or row.get("links", [])) for link in moved)
    assert all(row[key] == value for key, value in content.items() if key not in ("_meta", "links"))
    assert all(found[key] == value for key, value in meta.items() if key not in ("links", "provenance"))
    stated = meta.get("provenance") or {}
    assert all(found["provenance"][key] == value for key, value in stated.items())
    if provenance and provenance.agent:
        assert found["provenance"]["agent"] == stated.get("agent", provenance.agent)


# ---- lines of conversations and routines


def test_a_line_keeps_what_its_envelope_says_and_is_signed() -> None:
    text = '{"role": "user", "content": "c", "x": 1.10, "_meta": {"mood": 1, "provenance": {"author": "dom"}}}'
    (line,) = new_lines("conversation", text, STAMP._replace(provenance=Provenance(agent="A")))
    found = read(line)
    assert found["x"] == ("1.10",)
    assert found["_meta"]["mood"] == ("1",)
    assert found["_meta"]["provenance"] == {"author": "dom", "agent": "A"}


@pytest.mark.parametrize("body_type", ["conversation", "routine"])
def test_a_line_that_looks_like_json_and_is_not_is_refused(body_type: str) -> None:
    assert code_of(new_lines, body_type, '{"run": "make",}', STAMP) == "bad-json"
    assert code_of(new_lines, body_type, '{"run": "a", "run": "b"}', STAMP) == "bad-json"


def test_a_text_with_braces_is_stored_on_purpose() -> None:
    (row,) = new_rows("{curly} braces are fun", STAMP, as_text=True)
    assert read(row.line)["text"] == "{curly} braces are fun"
    (line,) = new_lines("routine", "{curly}", STAMP, as_text=True)
    assert read(line)["instruction"] == "{curly}"
