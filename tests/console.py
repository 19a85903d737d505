"""Console blocks of a document: the commands that it shows, what they print, and a comparison of both.

`…` in the shown output stands for any text on one line or, on its own line, for any lines.
"""

import os
import re
import subprocess
from pathlib import Path

from tests.paths import PROJECT

END = "--- end of output ---"


def environment(programs: Path, home: Path) -> dict[str, str]:
    """Returns the variables of a shell in which the programs of a folder come first and nothing of ours is set."""
    ours = {key for key in os.environ if key.startswith("SLICEBASE_")}
    return {
        **{key: value for key, value in os.environ.items() if key not in ours | {"PYTHONPATH"}},
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(home),
        "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.invalid",
        "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@example.invalid",
    }  # fmt: skip


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


def outputs(commands: list[str], work: Path, variables: dict[str, str]) -> list[str]:
    """Runs the commands in one shell, as a person does, and returns what each printed."""
    script = "\n".join(f"{command}\necho '{END}'" for command in commands)
    work.mkdir()
    done = subprocess.run(
        ["bash", "-c", f"exec 2>&1\n{script}"], cwd=work, env=variables, capture_output=True, text=True, check=False
    )
    return [part.strip("\n") for part in done.stdout.split(END + "\n")][:-1]


def matches(shown: str, printed: str) -> bool:
    pattern = "\n".join(
        "(?:.*\n)*?.*" if line.strip() == "…" else ".*?".join(map(re.escape, line.rstrip().split("…")))
        for line in shown.strip("\n").splitlines()
    )
    return re.fullmatch(pattern, "\n".join(line.rstrip() for line in printed.splitlines())) is not None


def assert_shows_what_happens(name: str, folder: Path, variables: dict[str, str]) -> None:
    """Runs the commands of a document in a new folder, and compares what they print with what the document shows."""
    steps = sessions((PROJECT / name).read_text())
    assert steps, f"{name} shows no session"
    all_printed = outputs([command for command, _ in steps], folder / "project", variables)
    for (command, shown), printed in zip(steps, all_printed, strict=True):
        assert matches(shown, printed), f"$ {command}\nshown:\n{shown}\n\nprinted:\n{printed}"
