"""JSON that is given as text: read strictly and without loss, or refused with its place."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.files.body.objects import json_line, objects_in


def refusal(text: str) -> SlicebaseError:
    with pytest.raises(SlicebaseError) as caught:
        objects_in(text)
    return caught.value


@pytest.mark.parametrize(
    "text",
    [
        "A sentence.",
        "[x] done",
        "[link](https://example.org) and more",
        "[1, 2]",
        "42",
        '"quoted"',
        "Use this:\n{\"a\": 1}",
        "- {braces} in a list",
        "",
    ],
)  # fmt: skip
def test_text_that_does_not_look_like_json_is_text(text: str) -> None:
    assert objects_in(text) is None


def test_one_object_or_one_on_each_line_is_read() -> None:
    assert objects_in('{"a": "x"}') == [{"a": "x"}]
    assert objects_in('{\n  "a": {\n    "b": null\n  }\n}\n') == [{"a": {"b": None}}]
    assert objects_in('\n{"a": "x"}\r\n\n  {"b": [true]}\n') == [{"a": "x"}, {"b": [True]}]
    assert objects_in('\ufeff{"a": "x"}') == [{"a": "x"}]


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ('{"a": 1,}', "bad-json", 1, 9),
        ('{"a": NaN}', "bad-json", 1, 7),
        ('{"NaN": [-Infinity]}', "bad-json", 1, 10),
        ('{"a": 1}\n{"b": 2}\n{"c": }', "bad-json", 3, 7),
        ('{"a": 1}\noops\n{"c": 3}', "bad-json", 2, 1),
        ('oops\n{"b": 2}\n{"c": 3}', "bad-json", 1, 1),
        ('{"a": 1} {"b": 2}', "bad-json", 1, 10),
        ('{\n  "a": 1\n  "b": 2\n}', "bad-json", 3, 3),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "bad-json", 1, 24),
        ('{"a": {"a": [{"a": 1}]}, "\\u0061": 2}', "bad-json", 1, 26),
        ('{"a": 1}\n{"b": 1, "b": 1}', "bad-json", 2, 10),
        ('[{"a": 1}]', "bad-json", 1, 1),
        ('[{"a": 1},]', "bad-json", 1, 11),
        ("{curly} braces are fun", "bad-json", 1, 2),
        ("{'a': 1}", "bad-json", 1, 2),
        ('{"a": "two\nlines"}', "bad-json", 1, 11),
        ('{"n": 12345678901234567890}', "integer-range", 1, 7),
        ('{"n": 9007199254740992}', "integer-range", 1, 7),
        ('{"n": 1e999}', "not-finite", 1, 7),
        ('{"a":' * 100_000, "bad-json", 1, 1),
    ],
)
def test_what_looks_like_json_and_is_not_is_refused_with_its_place(
    text: str, code: str, line: int, column: int
) -> None:
    error = refusal(text)
    assert (error.code, error.where.line, error.where.column) == (code, line, column)
    assert error.hint


# Numbers as people and programs write them.
spellings = st.from_regex(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,2})?", fullmatch=True)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


def written(value: Any) -> str:
    """Returns JSON text for a value in which a tuple holds the spelling of a number."""
    if isinstance(value, tuple):
        return str(value[0])
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[ " + " ,".join(map(written, value)) + "]"
    return json.dumps(value)


values = st.recursive(
    spellings.map(lambda text: (text,)) | st.none() | st.booleans() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, values, max_size=5)


def read(text: str | bytes) -> Any:
    """Returns JSON as Python reads it, but with the spelling of each number."""
    return json.loads(text, parse_int=lambda text: (text,), parse_float=lambda text: (text,))


@settings(max_examples=50)
@given(objects)
def test_every_key_and_value_comes_back_with_its_spelling(value: dict[str, Any]) -> None:
    (found,) = objects_in(written(value)) or [{"not": "read"}]
    assert read(json_line(found)) == value
    assert list(read(json_line(found))) == list(value)


@settings(max_examples=200)
@given(st.lists(st.sampled_from(["{", "}", "[", "]", '"a"', '"b"', ":", ",", "1", "NaN", "\n", " ", "x"]), max_size=12))
def test_any_text_is_objects_or_text_or_refused_with_a_place(pieces: list[str]) -> None:
    text = "".join(pieces)
    try:
        found = objects_in(text)
    except SlicebaseError as error:
        assert error.code == "bad-json"
        assert error.where.line
        assert error.where.column
    else:
        assert found is None or (found and all(isinstance(each, dict) for each in found))
        assert found is not None or not text.lstrip().startswith("{")
