"""The documents show what really happens: every `console` block runs, in order, and prints the shown output."""

import sys
from pathlib import Path

import pytest

from tests.console import assert_shows_what_happens, environment
from tests.paths import PROJECT
from tests.warm import warm_programs

DOCUMENTS = [
    "README.md",
    "docs/tour.md",
    "docs/slices.md",
    "docs/library.md",
    "docs/notes.md",
    "docs/finding.md",
    "docs/workspace.md",
    "docs/moving.md",
    "docs/runs.md",
    "docs/redaction.md",
    "docs/atlas.md",
]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_shows_what_happens(name: str, tmp_path: Path) -> None:
    """As `make test-packages` does with installed programs, but with commands that have loaded the package already."""
    variables = environment(Path(sys.executable).parent, tmp_path / "home") | {"PYTHONPATH": str(PROJECT / "src")}
    variables["PATH"] = f"{warm_programs()}:{variables['PATH']}"
    assert_shows_what_happens(name, tmp_path, variables)
