"""Two contexts side by side."""

from slicebase.context.assemble import Context
from slicebase.context.comparison import compared
from slicebase.context.manifest import Budget, LeftOut
from tests.context.test_manifest import built, candidate


def rows(before: Context, after: Context, left: tuple[LeftOut, ...] | None = None) -> dict[str, tuple[str, str]]:
    _, found = compared(before.manifest, after.manifest, left)
    return {each.ref: (each.change, each.what) for each in found}


def test_every_piece_of_either_context_is_listed_once() -> None:
    before = built(candidate("a", "one"), candidate("b", "two"), candidate("c", "three", score=5))
    after = built(candidate("b", "two"), candidate("c", "three", score=7), candidate("d", "four"))
    assert rows(before, after, ()) == {
        "turn:b": ("same", ""),
        "turn:c": ("changed", "score"),
        "turn:d": ("added", ""),
        "turn:a": ("removed", "no longer found"),
    }


def test_both_sides_say_where_a_piece_is() -> None:
    before, after = built(candidate("a", "one"), candidate("b", "two")), built(candidate("b", "two", score=3))
    _, (kept, gone) = compared(before.manifest, after.manifest)
    assert kept.before is not None
    assert kept.after is not None
    assert (kept.before.place, kept.after.place, kept.after.score) == (2, 1, 3)
    assert (gone.before is not None, gone.after) == (True, None)


def test_a_piece_that_had_no_room_says_so() -> None:
    before = built(candidate("a", "one", score=2), candidate("b", "two " * 90))
    after = built(candidate("a", "one", score=2), candidate("b", "two " * 90), budget=Budget(75))
    assert rows(before, after, after.left_out)["turn:b"] == ("removed", "no room in tokens")


def test_the_changes_are_those_of_the_command_line() -> None:
    before, after = built(candidate("a", "one")), built(candidate("b", "two"))
    changes, found = compared(before.manifest, after.manifest)
    assert {(each.change, each.ref) for each in changes} == {(each.change, each.ref) for each in found}
