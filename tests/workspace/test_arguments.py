"""What a program passes to a verb is of the type that the verb states, or the verb does not begin."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.workspace.arguments import fits, refuse_wrong_types
from slicebase.workspace.workspace import StrPath


class Pair(NamedTuple):
    """A value of a class of our own."""

    one: int


FITS: list[tuple[Any, object]] = [
    ("x", str), (None, str | None), (1, float), (True, bool), (1, "int | None"), (Path("x"), StrPath), ("x", "Which"),
    (1.5, "Moment | None"), (["x"], str | Iterable[str]), (("x", "y"), Sequence[str]), ({"x": 1}, Iterable[str]),
    ({"x": b""}, "Mapping[str, bytes]"),
    ([("a", "b"), ["c", "d"]], Iterable[tuple[str, str]]), ({"a": 1}, Mapping[str, Any]), (len, Callable[[str], None]),
    ("prompt", Literal["prompt"]), (Pair(1), "Pair | None"), (Pair(1), Pair), (iter([5]), Iterable[str]), (5, Any),
    (5, object),
]  # fmt: skip
WRONG: list[tuple[Any, object]] = [
    (5, str), (b"x", str), ("x", int), ("x", float), (0.5, int), (5, StrPath), (5, "Which"), (b"", "Moment | None"),
    (5, str | Iterable[str]), ([5], str | Iterable[str]), (b"x", Iterable[str]), ({5: "x"}, Iterable[str]),
    ([("a", 5)], Iterable[tuple[str, str]]), ([("a",)], Iterable[tuple[str, str]]), ({5: 1}, Mapping[str, Any]),
    ([], Mapping[str, Any]), (5, Callable[[str], None]), (5, Literal["prompt"]), (5, "Pair | None"), ((1,), Pair),
    (5, None), (True, int), (True, float), (True, "int | None"), (1, bool), ("no", bool),
]  # fmt: skip


@pytest.mark.parametrize(("value", "form"), FITS)
def test_what_fits(value: Any, form: object) -> None:
    assert fits(value, form)


@pytest.mark.parametrize(("value", "form"), WRONG)
def test_what_does_not_fit(value: Any, form: object) -> None:
    assert not fits(value, form)


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary()),
    lambda inner: st.one_of(st.lists(inner), st.tuples(inner, inner), st.dictionaries(st.text(), inner)),
    max_leaves=5,
)


@settings(max_examples=40)
@given(VALUES, st.sampled_from([form for _, form in FITS]))
def test_any_value_can_be_compared_with_any_form(value: Any, form: object) -> None:
    assert fits(value, form) in (True, False)


def test_arguments_are_checked_by_position_and_by_name() -> None:
    def verb(self: object, text: str, *, several: Iterable[str] = (), flag: bool = False, **more: int) -> None:
        """Does nothing."""

    refuse_wrong_types(verb, ("x",), {"several": ["y"], "flag": True, "more": "anything"})
    for args, keywords in (((5,), {}), ((), {"text": 5}), (("x",), {"several": [5]}), (("x",), {"flag": "no"})):
        with pytest.raises(SlicebaseError) as caught:
            refuse_wrong_types(verb, args, keywords)
        assert caught.value.code == "bad-arguments"
