"""Every program of docs/adapters.md runs as it is written, with the real package, and prints what the page shows."""

import re
from pathlib import Path

import pytest

from tests.paths import PROJECT
from tests.test_python_page import BLOCKS, Program, run

PAGE = (PROJECT / "docs" / "adapters.md").read_text()
SECTIONS = {section.splitlines()[0]: section for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]}


@pytest.mark.parametrize("name", [each.stem for each in (PROJECT / "src/slicebase/adapters").glob("[!_]*.py")])
def test_the_program_of_an_adapter_runs(name: str, tmp_path: Path) -> None:
    ((code, output),) = BLOCKS.findall(SECTIONS[name.replace("_", "-")])
    assert output
    assert run(Program(code, output), tmp_path) == output
