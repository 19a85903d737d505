"""The programs in examples/ work."""

import subprocess
import sys
from pathlib import Path

from tests.paths import PROJECT


def test_the_agent_loop_proves_what_it_found(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"note-{number}.txt").write_text("nothing\n" if number % 3 else f"a heron at {number}\n")
    command = [sys.executable, str(PROJECT / "examples" / "agent_loop.py"), str(tmp_path), "heron"]
    environment = {"PYTHONPATH": str(PROJECT / "src"), "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.count("holds 'heron'.") == 3
    assert done.stdout.count("evidence: `ev_") == 3
    assert "verify: VERIFIED" in done.stdout
