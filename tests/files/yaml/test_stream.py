"""The body of a yaml file is any YAML stream; what is broken in it is found with its place (ruling 22)."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError, Where
from slicebase.files.yaml.stream import check_stream
from tests.amounts import MORE
from tests.files.strategies import soup

STREAMS = {
    "a leading marker": "---\na: 1\n",
    "a byte order mark": "\ufeff---\na: 1\n",
    "several documents": "a: 1\n---\nb: 2\n...\n---\nc\n",
    "directives": "%YAML 1.2\n%TAG ! tag:example.com,2000:\n---\n- !x y\n",
    "anchors, aliases and merge keys": "base: &b {x: 1}\nother:\n  <<: *b\n  y: *b\n",
    "an anchor inside itself": "a: &a\n  b: *a\n",
    "tags": "a: !mine 1\nb: !!python/object:os.system x\nc: !!binary |\n  R0lG\n",
    "keys that are collections": "? [a, b]\n: c\n",
    "scalars as documents": "--- |\n text\n--- >\n more\n",
    "line ends of Windows": "---\r\na: 1\r\n---\r\nb: 2\r\n",
    "nothing": "",
    "markers alone": "---\n---\n...\n",
    "nesting": "- " * 100_000 + "x",
    "explicit keys": "? " * 100_000 + "x",
    "brackets": "a: &x " + "[" * 300 + "]" * 300,
    "aliases that grow": "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else 'x'}]\n" for n in range(9)),
}


@pytest.mark.parametrize("text", STREAMS.values(), ids=STREAMS)
def test_every_yaml_stream_is_accepted(text: str) -> None:
    check_stream(text)


@pytest.mark.parametrize(
    ("text", "code", "where"),
    [
        ("a: [1\n", "yaml-syntax", (3, 4)),
        ("---\na: [1\n", "yaml-syntax", (4, 4)),
        ("a: &x 1\nb: *x\nc: *y\n", "yaml-syntax", (5, 4)),
        ("---\r\na: 1\r\n---\r\nb: ]\r\n", "yaml-syntax", (6, 4)),
        ("---\na: 1\na: 2\n", "yaml-duplicate-key", (3, 1)),
        ("---\na: \x01\n", "yaml-character", (4, 4)),
    ],
)
def test_a_broken_stream_is_an_error_with_its_place(text: str, code: str, where: tuple[int, int]) -> None:
    with pytest.raises(SlicebaseError) as raised:
        check_stream(text, first_line=3)
    assert (raised.value.code, raised.value.where) == (code, Where(None, *where))


_scalars = st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8", exclude_categories=["C"]))
_values = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=4)
)


@settings(max_examples=100 * MORE)
@given(st.lists(_values, min_size=1, max_size=3), st.booleans(), st.booleans())
def test_what_another_program_writes_is_accepted(documents: list[Any], share: bool, flow: bool) -> None:
    """PyYAML writes an object that is in two places once, with an anchor, and then as an alias."""
    written = [[document, document] if share else document for document in documents]
    text = yaml.dump_all(written, explicit_start=True, default_flow_style=flow, allow_unicode=True)
    check_stream(text)


@settings(max_examples=100 * MORE)
@given(soup)
def test_any_text_is_accepted_or_refused_with_an_error_of_the_yaml_rules(text: str) -> None:
    try:
        check_stream("---\n" + text)
    except SlicebaseError as error:
        assert error.code in ("yaml-syntax", "yaml-character", "yaml-duplicate-key")
