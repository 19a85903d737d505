"""One family of errors: every code that is raised is in the table, and an error keeps its fields."""

import ast
import pickle

from slicebase.errors import CODES, Exit, SlicebaseError, Where
from tests.paths import PROJECT


def codes_raised() -> set[str]:
    raised = set()
    for path in (PROJECT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            is_error = (
                isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "SlicebaseError"
            )
            if is_error and node.args and isinstance(node.args[0], ast.Constant):  # type: ignore[attr-defined]
                raised.add(str(node.args[0].value))  # type: ignore[attr-defined]
    return raised


def test_every_code_that_is_raised_is_in_the_table() -> None:
    assert codes_raised() <= CODES.keys()


def test_an_error_knows_its_place_hint_and_exit_status() -> None:
    error = SlicebaseError("bad-time", "no time", hint="write one", where=Where("a.slice", 3, 7))
    assert error.exit == Exit.REFUSED
    assert error.as_json() == {
        "code": "bad-time",
        "message": "no time",
        "hint": "write one",
        "where": {"file": "a.slice", "line": 3, "column": 7},
    }
    assert str(error).startswith("a.slice:3:7: ")


def test_a_place_that_becomes_known_later_is_added_and_never_overwritten() -> None:
    error = SlicebaseError("bad-time", "no time", where=Where(line=3))
    assert error.at(Where("a.slice", 9)).where == Where("a.slice", 3)


def test_an_error_can_be_sent_between_processes() -> None:
    error = SlicebaseError("bad-time", "no time", hint="write one", where=Where("a", 1, 2))
    assert pickle.loads(pickle.dumps(error)).as_json() == error.as_json()
