"""Canonical JSON: RFC 8785, and the values that ruling 1 refuses."""

import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.core.hashing import LARGEST_INTEGER, canonical, digest_of, digest_of_short, number
from slicebase.errors import SlicebaseError

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-LARGEST_INTEGER, LARGEST_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


def refusal(value: Any) -> str:
    with pytest.raises(SlicebaseError) as caught:
        canonical(value)
    return caught.value.code


@given(json_values)
def test_the_bytes_read_back_to_the_value(value: Any) -> None:
    try:
        encoded = canonical(value)
    except SlicebaseError as error:
        assert error.code == "lone-surrogate"  # st.text may put one into a key
        return
    assert json.loads(encoded, parse_int=float) == value


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), st.integers(0, 9), max_size=8))
def test_the_order_of_insertion_changes_nothing(value: dict[str, int]) -> None:
    assert canonical(value) == canonical(dict(reversed(value.items())))


@given(json_values)
def test_a_short_value_has_the_same_digest_without_openssl(value: Any) -> None:
    assert digest_of_short(value) == digest_of(value)


def test_keys_sort_by_utf16_code_units() -> None:
    """RFC 8785, 3.2.3: U+1D11E is a surrogate pair that begins with U+D834, so it sorts before U+FB33."""
    assert canonical({"\ufb33": 1, "\U0001d11e": 2}) == '{"\U0001d11e":2,"\ufb33":1}'.encode()


def test_only_what_must_be_escaped_is_escaped() -> None:
    assert (
        canonical('\x00\x1f\x7f\u2028é"\\/\b\f\n\r\t') == '"\\u0000\\u001f\x7f\u2028é\\"\\\\/\\b\\f\\n\\r\\t"'.encode()
    )


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        # Examples from RFC 8785, appendix B.
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
    ],
)
def test_doubles_print_as_ecmascript_prints_them(bits: str, text: str) -> None:
    assert number(struct.unpack(">d", bytes.fromhex(bits))[0]) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_printed_double_reads_back_to_itself(value: float) -> None:
    assert float(number(value)) == value


def test_a_lone_surrogate_is_refused() -> None:
    assert refusal(["\ud800"]) == "lone-surrogate"
    assert refusal({"\udfff": 1}) == "lone-surrogate"


@pytest.mark.parametrize("value", [2**53, -(2**53), 10**30])
def test_an_integer_beyond_53_bits_is_refused(value: int) -> None:
    assert refusal(value) == "integer-range"
    assert canonical(value // abs(value) * LARGEST_INTEGER)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_refused(value: float) -> None:
    assert refusal(value) == "not-finite"


def test_a_value_that_is_not_json_is_refused() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    assert refusal(nested) == "not-json-value"
    assert refusal({1: 2}) == "not-json-value"
    assert refusal(b"bytes") == "not-json-value"
