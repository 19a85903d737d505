"""Text, JSON and TOML from outside: any bytes give a value or our own error."""

import io
import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.core.parsers import MOST_TOML, decode, read_all, read_json, read_toml
from slicebase.errors import SlicebaseError

MANY_DIGITS = "9" * 5000
DEEP = "[" * 5000 + "]" * 5000


def code_of(call: object, *arguments: object) -> str:
    with pytest.raises(SlicebaseError) as caught:
        call(*arguments)  # type: ignore[operator]
    return caught.value.code


def test_a_wrong_byte_is_named_with_file_line_and_column() -> None:
    with pytest.raises(SlicebaseError) as caught:
        decode(b"one\n\xc3\xa9 \xff three", name="notes.txt")
    assert caught.value.code == "not-utf8"
    assert caught.value.where == ("notes.txt", 2, 3)
    assert "0xFF, number 4 of its line" in caught.value.message


def test_an_endless_stream_is_refused_after_its_largest_size() -> None:
    with open("/dev/zero", "rb") as endless:
        assert code_of(read_all, endless, "endless", 1 << 20) == "too-large"
    assert read_all(io.BytesIO(b"12"), "short", 2) == b"12"


@pytest.mark.parametrize("text", [MANY_DIGITS, DEEP, "{", "", b"\xff", '{"a":' * 3000, b"\xff\xfe[\x001\x00]\x00"])
def test_what_no_parser_reads_is_our_error(text: str | bytes) -> None:
    assert code_of(read_json, text) in ("bad-json", "not-utf8")


@pytest.mark.parametrize("text", [f"a = {MANY_DIGITS}", f"a = {DEEP}", "a.b." * 3000 + "c = 1", "[", "a = 1\na = 2"])
def test_toml_that_no_parser_reads_is_our_error(text: str) -> None:
    assert code_of(read_toml, text, "bad-setting", "slicebase.toml") == "bad-setting"


def test_json_that_is_wrong_has_a_place() -> None:
    with pytest.raises(SlicebaseError) as caught:
        read_json('{"a": 1,\n  b}')
    assert caught.value.where == (None, 2, 3)


@given(st.text() | st.binary())
def test_any_text_is_read_as_the_standard_library_does_or_refused(text: str | bytes) -> None:
    try:
        value = read_json(text)
    except SlicebaseError:
        return
    assert repr(value) == repr(json.loads(text))  # NaN differs from itself


@given(st.text())
def test_any_toml_is_read_as_the_standard_library_does_or_refused(text: str) -> None:
    try:
        table = read_toml(text, "bad-rule", "it")
    except SlicebaseError:
        return
    assert repr(table) == repr(tomllib.loads(text))


@pytest.mark.parametrize(
    "line",
    [
        "a." * 30_000 + "b = 1",
        "[" + "a." * 30_000 + "b]",
        "x = {" + '"a" . ' * 30_000 + "b = 1}",
        "[[" + "'a'." * 30_000 + "b]]",
    ],
)
def test_a_key_whose_parts_cost_gigabytes_is_refused_with_its_line_before_it_is_parsed(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tomllib, "loads", None)  # fails if it is called
    with pytest.raises(SlicebaseError) as caught:
        read_toml(f"# ours\n\n{line}\n", "bad-rule", "the file of rules")
    assert caught.value.code == "bad-rule"
    assert caught.value.where.line == 3


def test_a_large_toml_text_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tomllib, "loads", None)
    assert code_of(read_toml, "a = 1\n" * MOST_TOML, "bad-setting", "slicebase.toml") == "bad-setting"


@given(
    st.lists(st.sampled_from(["a", "'b'", '"c"', ".", " ", "=", "[", "]", "{", "}", "1", "#", "\n", '"""', ","])).map(
        "".join
    )
)
def test_toml_is_read_as_the_standard_library_does_or_refused(text: str) -> None:
    try:
        wanted = tomllib.loads(text)
    except ValueError:
        assert code_of(read_toml, text, "bad-setting", "slicebase.toml") == "bad-setting"
    else:
        assert read_toml(text, "bad-setting", "slicebase.toml") == wanted
