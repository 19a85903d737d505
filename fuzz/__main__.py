"""`make fuzz`: every door for its share of FUZZ_SECONDS, several at a time. Exit status 1 if something crashed.

`python -m fuzz DOOR…` runs only these doors. FUZZ_SEED gives the same inputs again, FUZZ_JOBS is the number of
processes, and FUZZ_CASES the least number of inputs of the doors in `MANY`, however long they take.
"""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from fuzz.doors import pure_doors
from fuzz.seeds import CRASHES, HERE
from fuzz.worker import LONGEST

STATEFUL = (
    "query", "stream", "remember", "define", "settings", "transcript", "hook", "mcp", "memory-tool", "seal", "command",
    "client-settings", "agents-md", "exported", "kept-state", "zipped",
)  # fmt: skip
MANY = ("merges",)  # what must never lose a word
_PROJECT = HERE.parent
_START = 60  # seconds for a process to begin and to check its workspace at the end
_SLOWEST = 0.1  # seconds for one of many inputs


def main(names: list[str]) -> int:
    known = [*MANY, *(name for name, _ in pure_doors() if name not in MANY), *STATEFUL]  # the longest first
    if unknown := set(names) - set(known):
        sys.exit(f"no door {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    chosen = names or known
    jobs = int(os.environ.get("FUZZ_JOBS") or os.cpu_count() or 1)
    seconds = float(os.environ.get("FUZZ_SECONDS", "120")) * jobs / len(chosen)
    seed = int(os.environ.get("FUZZ_SEED") or int.from_bytes(os.urandom(4), "big"))
    print(f"{len(chosen)} doors, {seconds:.1f} seconds each, FUZZ_SEED={seed}")
    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(lambda name: _shown(_fuzzed(name, seconds, seed)), chosen))
    crashes = [crash for result in results for crash in result["crashes"]]
    print(f"{sum(result['inputs'] for result in results)} inputs, {len(crashes)} crashes")
    if crashes:
        print(f"the inputs are in {CRASHES.relative_to(_PROJECT)}/, and run first the next time")
    return 1 if crashes else 0


def _fuzzed(name: str, seconds: float, seed: int) -> dict[str, Any]:
    """Runs a door in a process of its own. One that dies or hangs is a crash of the input that ran."""
    least = int(os.environ.get("FUZZ_CASES", "50000")) if name in MANY else 0
    with tempfile.TemporaryDirectory() as folder:
        current = Path(folder) / "current"
        command = [sys.executable, "-m", "fuzz.worker", name, str(seconds), str(seed), str(current), str(least)]
        patience = seconds + least * _SLOWEST + LONGEST + _START
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=patience, check=False, cwd=_PROJECT)
            if done.returncode == 0:
                result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
                return result
            why = f"exit status {done.returncode}: {done.stderr.strip()[-400:]}"
        except subprocess.TimeoutExpired:
            why = f"no end after {patience:.0f} seconds"
        if current.exists():
            CRASHES.mkdir(exist_ok=True)
            (CRASHES / f"{name}--died.bin").write_bytes(current.read_bytes())
        return {"door": name, "inputs": 0, "refused": 0, "crashes": [why]}


def _shown(result: dict[str, Any]) -> dict[str, Any]:
    print(f"{result['door']:22} {result['inputs']:9} inputs {result['refused']:9} refused", flush=True)
    for crash in result["crashes"]:
        print(f"    {crash}", flush=True)
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
