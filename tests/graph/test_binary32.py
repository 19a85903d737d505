"""Binary32 arithmetic and its shortest decimals (rulings 4 and 8)."""

import struct
from fractions import Fraction
from math import inf, nan

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from slicebase.graph.binary32 import binary32, power, shortest

NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)


def neighbours(value: float) -> tuple[float, float]:
    """Returns the binary32 numbers just below and above a positive one."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    low, high = (struct.unpack("<f", struct.pack("<I", near))[0] for near in (bits - 1, bits + 1))
    return low, high


def reads_as(text: Fraction, value: float) -> bool:
    """Returns whether an exact reader, which rounds once and ties to even, reads a decimal as this positive number."""
    low, high = neighbours(value)
    even = struct.unpack("<I", struct.pack("<f", value))[0] % 2 == 0
    down = (Fraction(low) + Fraction(value)) / 2
    up = (Fraction(value) + Fraction(high)) / 2 if high != float("inf") else Fraction(value) * 2
    return down <= text <= up if even else down < text < up


def digits(text: str) -> str:
    return text.replace(".", "").strip("0") or "0"


@given(NUMBERS)
def test_a_number_of_binary32_is_its_own_rounding(value: float) -> None:
    assert binary32(value) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_rounding_agrees_with_the_machine(value: float) -> None:
    if abs(value) < 3.4e38:
        assert binary32(value) == struct.unpack("<f", struct.pack("<f", value))[0]


def test_numbers_beyond_the_range_become_infinite() -> None:
    assert (binary32(1e39), binary32(-1e39)) == (float("inf"), float("-inf"))


def test_repeated_squaring_differs_from_multiplying_step_by_step() -> None:
    """The golden README: at distance 7 with the default decay, the orders of multiplication give different numbers."""
    decay = stepwise = binary32(0.9)
    for _ in range(6):
        stepwise = binary32(stepwise * decay)
    assert power(decay, 7) != stepwise
    assert power(decay, 0) == 1.0
    assert power(decay, 1) == decay
    assert power(decay, 2) == binary32(decay * decay)


@given(NUMBERS)
def test_the_shortest_decimal_reads_back(value: float) -> None:
    text = shortest(value)
    assert "e" not in text
    assert "." in text
    assert value == 0 or reads_as(abs(Fraction(text)), abs(value))


@given(st.floats(width=32, min_value=2.0**-149, max_value=2.0**127, exclude_min=True))
def test_no_decimal_with_fewer_digits_reads_back(value: float) -> None:
    length = len(digits(shortest(value)))
    assume(length > 1)
    exact = Fraction(value)
    scale = Fraction(1)
    while exact * scale >= 10 ** (length - 1):
        scale /= 10
    while exact * scale < 10 ** (length - 2):
        scale *= 10
    below = Fraction(int(exact * scale)) / scale
    assert not reads_as(below, value)
    assert not reads_as(below + 1 / scale, value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "0.0"),
        (1.0, "1.0"),
        (0.1, "0.1"),
        (-2.5, "-2.5"),
        (0.7332705, "0.7332705"),
        (16777216.0, "16777216.0"),
        (0.251953125, "0.25195312"),  # equally near to …13: ties go to the even digit
        (1e-7, "0.0000001"),
        (2.0**-149, "0." + "0" * 44 + "1"),
        (2.0**-126, "0." + "0" * 37 + "11754944"),
        (9.765625e-4, "0.0009765625"),
        (3.4028234663852886e38, "34028235" + "0" * 31 + ".0"),
    ],
)
def test_decimals_are_plain(value: float, text: str) -> None:
    assert shortest(binary32(value)) == text


@pytest.mark.parametrize("exponent", range(-149, 128, 3))
def test_powers_of_two_read_back_although_their_neighbours_are_not_equally_near(exponent: int) -> None:
    assert exponent == -149 or reads_as(Fraction(shortest(2.0**exponent)), 2.0**exponent)


@pytest.mark.parametrize("value", [inf, -inf, nan])
def test_a_number_that_is_not_finite_has_no_decimal(value: float) -> None:
    """A StopIteration would end the loop that asks, as if there were nothing more to write."""
    with pytest.raises(ValueError, match="no decimal"):
        shortest(value)
