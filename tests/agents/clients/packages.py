"""The pinned clients: `python -m tests.agents.clients.packages` installs them with npm, each into a folder of its own.

They go to `$AGENTS_DIR`, else to `~/.cache/slicebase-agents`. A client that is there in the right version stays.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

NODE: Final = 20  # the oldest version of Node.js that the clients run with


class ClientPackage(NamedTuple):
    """A package of npm, and the files below `node_modules` of which the first that runs is the program."""

    name: str
    version: str
    programs: tuple[str, ...]


# npm may hold back the install scripts that copy a platform's program into place: that program comes first.
PACKAGES: Final = {
    "claude": ClientPackage(
        "@anthropic-ai/claude-code", "2.1.325", ("@anthropic-ai/claude-code-*/claude", ".bin/claude")
    ),
    "codex": ClientPackage("@openai/codex", "0.166.0", (".bin/codex",)),
    "gemini": ClientPackage("@google/gemini-cli", "0.61.0", (".bin/gemini",)),
    "opencode": ClientPackage("opencode-ai", "1.18.33", ("opencode-*/bin/opencode", ".bin/opencode")),
}


def wanted_clients() -> list[str]:
    """Returns the clients that `$TEST_CLIENTS` names; else all but opencode, which installs packages at each start."""
    return (os.environ.get("TEST_CLIENTS") or "claude codex gemini").split()


def agents_folder() -> Path:
    return Path(os.environ.get("AGENTS_DIR") or Path.home() / ".cache" / "slicebase-agents").absolute()


def client_program(client: str) -> Path:
    """Returns the program of a client, which may not be there yet."""
    return agents_folder() / "bin" / client


def installed_version(client: str) -> str | None:
    """Returns the version that a client says it has; None if it does not run."""
    home = agents_folder() / ".home"
    home.mkdir(parents=True, exist_ok=True)
    try:
        shown = subprocess.run(
            [client_program(client), "--version"],
            capture_output=True,
            text=True,
            env={**os.environ, "HOME": str(home)},
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    match = re.search(r"\d+\.\d+\.\d+", shown.stdout)
    return match and match[0]


def missing_tools() -> str | None:
    """Returns what is missing to install and run clients; None if nothing is."""
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            return f"{tool} is missing: the tests with real clients need Node.js {NODE} or newer, with npm"
    shown = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    if int(shown.strip().removeprefix("v").split(".")[0]) < NODE:
        return f"node is {shown.strip()}: the tests with real clients need version {NODE} or newer"
    return None


def install_client(client: str) -> str | None:
    """Installs a client if it is not there in its version. Returns what failed."""
    package = PACKAGES[client]
    if installed_version(client) == package.version:
        return None
    folder = agents_folder() / client
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "package.json").exists():
        (folder / "package.json").write_text('{"private": true}\n')
    quiet = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
    done = subprocess.run(
        ["npm", "install", *quiet, "--save-exact", f"{package.name}@{package.version}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    client_program(client).parent.mkdir(exist_ok=True)
    for program in (path for pattern in package.programs for path in sorted((folder / "node_modules").glob(pattern))):
        client_program(client).unlink(missing_ok=True)
        client_program(client).symlink_to(program)
        if installed_version(client) == package.version:
            return None
    return f"{client} {package.version} cannot be installed: {done.stderr.strip() or 'it does not run'}"


def main() -> int:
    if missing := missing_tools():
        print(missing, file=sys.stderr)
        return 1
    failed = [problem for client in wanted_clients() if (problem := install_client(client))]
    print("\n".join(failed), file=sys.stderr, end="\n" if failed else "")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
