"""The documents show what really happens: every `console` block runs, in order, and prints the shown output.

`…` in the shown output stands for any text on one line or, on its own line, for any lines.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import PROJECT

DOCUMENTS = ["README.md", "docs/tour.md", "docs/library.md", "docs/finding.md", "docs/workspace.md", "docs/runs.md"]
END = "--- end of output ---"


def sessions(document: str) -> list[tuple[str, str]]:
    """Returns the commands of a document with the output that it shows."""
    found = []
    for _, block in re.findall(r"^(`{3,})console\n(.*?)^\1$", document, re.DOTALL | re.MULTILINE):
        for step in re.split(r"^(?=\$ )", block, flags=re.MULTILINE):
            if step.strip():
                lines = step.splitlines()
                typed = [lines[0].removeprefix("$ ")]
                rest = lines[1:]
                while rest and rest[0].startswith("> "):
                    typed.append(rest.pop(0).removeprefix("> "))
                found.append(("\n".join(typed), "\n".join(rest)))
    return found


def outputs(commands: list[str], folder: Path) -> list[str]:
    """Runs the commands in one shell, as a person does, and returns what each printed."""
    script = "\n".join(f"{command}\necho '{END}'" for command in commands)
    bin_folder = Path(sys.executable).parent
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("SLICEBASE_")},
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "SAMPLES": str(PROJECT / "src" / "slicebase" / "samples"),
        "PYTHONPATH": str(PROJECT / "src"),
        "HOME": str(folder / "home"),
        "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.invalid",
        "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@example.invalid",
    }  # fmt: skip
    work = folder / "project"
    work.mkdir()
    done = subprocess.run(
        ["bash", "-c", f"exec 2>&1\n{script}"], cwd=work, env=environment, capture_output=True, text=True, check=False
    )
    return [part.strip("\n") for part in done.stdout.split(END + "\n")][:-1]


def matches(shown: str, printed: str) -> bool:
    pattern = "\n".join(
        "(?:.*\n)*?.*" if line.strip() == "…" else ".*?".join(map(re.escape, line.rstrip().split("…")))
        for line in shown.strip("\n").splitlines()
    )
    return re.fullmatch(pattern, "\n".join(line.rstrip() for line in printed.splitlines())) is not None


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if (PROJECT / name).exists()])
def test_a_document_shows_what_happens(name: str, tmp_path: Path) -> None:
    steps = sessions((PROJECT / name).read_text())
    assert steps, f"{name} shows no session"
    for (command, shown), printed in zip(steps, outputs([command for command, _ in steps], tmp_path), strict=True):
        assert matches(shown, printed), f"$ {command}\nshown:\n{shown}\n\nprinted:\n{printed}"
