"""Mutants (tools/mutants.py): which bugs are put into a source, which tests are run for them, and what is noted."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from tools.forks import exchange
from tools.imports import SOURCE
from tools.mutants import AREAS, Mutant, Reach, sample
from tools.mutations import Mutation, mutations
from tools.reach import NOTES, noting


def mutants(source: str) -> set[str]:
    """Returns a source with each of its bugs, as a line."""
    tree = ast.parse(source)
    found = {ast.unparse(ast.fix_missing_locations(tree)).replace("\n", ";") for _ in mutations(tree)}
    assert ast.unparse(tree) == ast.unparse(ast.parse(source)), "the last bug is taken out again"
    return found


@pytest.mark.parametrize(
    ("source", "bugs"),
    [
        ("a = b < c", {"a = b <= c"}),
        ("a = b in c", {"a = b not in c"}),
        ("a = b and c", {"a = b or c", "a = b", "a = c"}),
        ("a = b + c", {"a = b - c"}),
        ("a = 'text' + c", set()),
        ("a = not b", {"a = b"}),
        ("a = 7", {"a = 8", "a = 6"}),
        ("a = True", {"a = False"}),
        ("a = b[0]", {"a = b[-1]", "a = b[1]"}),
        ("a = b[c:d]", {"a = b[:d]", "a = b[c:]"}),
        ("a = min(b, c)", {"a = max(b, c)"}),
        ("a = sorted(b)", {"a = list(b)"}),
        ("a = sorted(b, key=c)", {"a = sorted(b, key=c, reverse=True)"}),
        ("a = b(c, d)", {"a = b(d, c)"}),
        ("a = [b for b in c if b]", {"a = [b for b in c if not b]"}),
        ("b()", {"pass"}),
        ("a.b = c", {"pass"}),
        ("if a:\n    b = c", {"if not a:;    b = c"}),
        ("while a:\n    break", {"while not a:;    break", "while a:;    continue"}),
        ("raise Wrong('text', 7)", {"pass"}),
        ("try:\n    a = b\nexcept Wrong:\n    c = d", {"try:;    a = b;except ():;    c = d"}),
        ("with suppress(Wrong):\n    a = b", {"with suppress():;    a = b"}),
        ("def a(b: int = c) -> Literal[7]:\n    return b", {"def a(b: int=c) -> Literal[7]:;    return None"}),
        ("a = 'SELECT b FROM c ORDER BY d DESC'", {"a = 'SELECT b FROM c ORDER BY d'"}),
        ("a = f'WHERE b = {c}'", {"a = f'WHERE b != {c}'"}),
        ("a = f'a < b and {c + 1}'", set()),
        ("'''A text.'''\nimport a\na = 'and a message'", set()),
    ],
)
def test_one_operator_bound_argument_or_statement_is_changed_at_a_time(source: str, bugs: set[str]) -> None:
    assert mutants(source) == bugs


def test_a_seed_gives_the_same_sample_and_a_larger_one_contains_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sample.__globals__, "AREAS", {"gate": AREAS["gate"]})
    few = sample(20, 12)
    assert few == sample(40, 12)[:20]
    assert few != sample(20, 13)
    assert len({(mutant.path, mutant.number) for mutant in few}) == 20
    ast.parse(few[0].source())


def test_every_area_has_modules() -> None:
    for names in AREAS.values():
        assert all(list(SOURCE.glob(f"{name}.py")) for name in names)


def test_the_tests_of_the_module_come_first_then_the_quickest_and_each_test_once_before_its_other_cases() -> None:
    path, line = SOURCE / "runs" / "gate.py", "runs/gate.f:a = b"
    reach = Reach(
        [
            ("tests/cli/test_runs.py::slow", 3.0, [line]),
            ("tests/cli/test_runs.py::quick", 0.1, [line]),
            ("tests/runs/test_gate.py::one[a]", 0.2, [line]),
            ("tests/runs/test_gate.py::one[b]", 0.3, [line]),
            ("tests/runs/test_gate.py::elsewhere", 0.1, ["runs/gate.f:c = d"]),
            ("tests/runs/test_gate.py::endless", 50.0, ["runs/gate.f:e = f"]),
        ]
    )
    names = [
        name.partition("::")[2] for name in reach.few(Mutant("gate", path, 0, Mutation(7, ".f:a = b", "", "", "")))
    ]
    assert names == ["one[a]", "quick", "slow", "one[b]"]
    everywhere = Mutant("gate", path, 0, Mutation(1, ":import os", "", "", ""))
    assert len(reach.few(everywhere)) == 5, "of a statement that no test reaches, those that reach its module"
    assert reach.others(everywhere) == ["tests/runs/test_gate.py::endless"]


def test_functions_get_other_code_while_they_are_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        "class A:\n    @property\n    def b(self):\n        return 1\n"
        "    def c(self):\n        return [x for x in (1, 2) if x > 1]\n"
        "def d(y):\n    return (lambda x: x + y)(1)\n"
    )
    path = tmp_path / "some_module_of_a_test.py"
    path.write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(path.stem)
    a, d = module.A(), module.d
    assert (a.b, a.c(), d(1)) == (1, [2], 2)
    exchange(str(path), source.replace("return 1", "return 7").replace("x > 1", "x < 2").replace("x + y", "x - y"))
    assert (a.b, a.c(), d(1)) == (7, [1], 0)


def test_a_statement_notes_itself_when_it_runs_also_in_another_process(tmp_path: Path) -> None:
    package, notes = tmp_path / "slicebase", tmp_path / "notes"
    package.mkdir()
    notes.mkdir()
    source = (
        '"""A module."""\ndef a(b):\n    """Says b."""\n    if b:\n        c = 1\n    else:\n        c = 2\n\na(0)\n'
    )
    (package / "__init__.py").write_text("")
    (package / "reached.py").write_text(NOTES)
    (package / "m.py").write_text(noting(source, "m"))
    environment = {"PYTHONPATH": str(tmp_path), "SLICEBASE_REACH_CHILDREN": str(notes)}
    done = subprocess.run(
        [sys.executable, "-c", "from slicebase import m; print(m.__doc__, m.a.__doc__)"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "A module. Says b.\n"
    (written,) = notes.iterdir()
    assert set(written.read_text().splitlines()) == {"m:def a(b):", "m.a:if b:", "m.a:c = 2", "m:a(0)"}
