"""The pinned packages of npm that the server is tested with: `python -m tests.mcp.npm_packages` installs them.

They go beside the clients of `make test-clients`. What is there in the right version stays.
"""

import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.agents.clients.packages import agents_folder

SYSTEM: Final = {"Linux": "linux", "Darwin": "darwin"}.get(platform.system(), "linux")
PROCESSOR: Final = "arm64" if platform.machine() in ("arm64", "aarch64") else "x64"
NODE: Final = f"node-{SYSTEM}-{PROCESSOR}"  # the conformance suite needs a newer one than the clients
PACKAGES: Final = {
    "@modelcontextprotocol/sdk": "1.32.2",
    "@modelcontextprotocol/conformance": "0.2.0-alpha.12",
    NODE: "22.23.3",
}


def modules_folder() -> Path:
    return agents_folder() / "mcp" / "node_modules"


def node_program() -> Path:
    return modules_folder() / NODE / "bin" / "node"


def installed() -> bool:
    """Returns whether every package is there in its version."""
    files = {name: modules_folder() / name / "package.json" for name in PACKAGES}
    return all(
        files[name].exists() and json.loads(files[name].read_text())["version"] == version
        for name, version in PACKAGES.items()
    )


def main() -> int:
    if installed():
        return 0
    folder = modules_folder().parent
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}\n')
    wanted = [f"{name}@{version}" for name, version in PACKAGES.items()]
    quiet = ("--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts", "--loglevel=error")
    subprocess.run(["npm", "install", *quiet, "--save-exact", *wanted], cwd=folder, check=False)
    return 0 if installed() else 1


if __name__ == "__main__":
    sys.exit(main())
