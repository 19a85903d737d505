"""Imports of real histories: what becomes of every record, and the speed beside a plain pass of `json.loads`.

The folders are those of ../shared/data; without them nothing is measured. Each import and each plain pass is a process
of its own, with a workspace in a temporary folder. The processor time is that of the process and of those that it
starts, and includes storing, annotating, redaction and the full-text index. The second import finds everything
unchanged.
"""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import Any

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
FOLDERS = ("claude-code", "codex", "gemini", "chatgpt", "claude-ai", "oasst", "runs/swe-agent")
TIMED = "claude-code"
ROUNDS = 3
ENDINGS = (".json", ".jsonl", ".traj")


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in ENDINGS)


def used() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)


def plain(folder: Path) -> dict[str, Any]:
    """Decodes every line, or the document where a line alone is no JSON."""
    before, read = used(), 0
    for path in files_of(folder):
        data = path.read_bytes()
        read += len(data)
        try:
            for line in data.splitlines():
                json.loads(line)
        except ValueError:
            json.loads(data)
    return {"bytes": read, "seconds": used() - before}


def imported(folder: Path, root: Path, processes: str) -> dict[str, Any]:
    from bench._floor import measure as measure_floor
    from slicebase.base import Slicebase
    from slicebase.history import readers

    vars(readers)["LEAST_BYTES"] = 1 << 60 if processes == "one" else 0
    with Slicebase.init(root) as base:
        before, start = used(), perf_counter()
        account = base.import_([folder])
        first, wall = used() - before, perf_counter() - start
        before = used()
        again = base.import_([folder])
        second = used() - before
    floor = measure_floor(files_of(folder), root) if folder.name == TIMED else {}
    report = account.report
    return {
        "records": report.records,
        "turns": report.turns,
        "others": report.others.total(),
        "skipped": report.count("skipped"),
        "left_out": account.content_left_out,
        "sessions": len(report.sessions),
        "first": first,
        "wall": wall,
        "second": second,
        "floor": floor,
        "unchanged": again.unchanged,
    }


def in_process(call: str, *arguments: str) -> dict[str, Any]:
    code = f"import json, sys; from pathlib import Path; from bench.history import *; {call}"
    command = [sys.executable, "-c", code, *arguments]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(json.loads(answer))


def measured_plain(folder: Path) -> dict[str, Any]:
    return in_process("print(json.dumps(plain(Path(sys.argv[1]))))", str(folder))


def measured_import(folder: Path, processes: str) -> dict[str, Any]:
    with TemporaryDirectory() as root:
        call = "print(json.dumps(imported(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])))"
        return in_process(call, str(folder), root, processes)


def run() -> None:
    if not DATA.is_dir():
        print("history: ../shared/data is not here")
        return
    print("history: every record of real folders is a turn, or accounted for by name")
    print(
        f"  {'folder':<16} {'records':>8} {'turns':>8} {'no turns':>9} {'skipped':>8} {'left out':>9} {'sessions':>9}"
    )
    for name in FOLDERS:
        found = measured_import(DATA / name, "one")
        numbers = "records", "turns", "others", "skipped", "left_out", "sessions"
        widths = 8, 8, 9, 8, 9, 9
        cells = (f"{found[number]:>{width},}" for number, width in zip(numbers, widths, strict=True))
        print(f"  {name:<16} {' '.join(cells)}")
    compare(DATA / TIMED)


def compare(folder: Path) -> None:
    plain_rates, one_rates, more_rates, walls, seconds, floors = [], [], [], [], [], []
    for _ in range(ROUNDS):
        sleep(0.1)
        read = measured_plain(folder)
        size = read["bytes"] / 1e6
        one, more = (measured_import(folder, processes) for processes in ("one", "more"))
        plain_rates.append(size / read["seconds"])
        one_rates.append(size / one["first"])
        more_rates.append(size / more["first"])
        walls.append((size / one["wall"], size / more["wall"]))
        seconds.append(one["second"])
        floors.append(one["floor"])
    print(f"  {size:.1f} MB of {folder.name}, median of {ROUNDS}, MB a processor second:")
    rates = {"json.loads": plain_rates, "import": one_rates, "in several processes": more_rates}
    print("    " + "   ".join(f"{name} {median(each):.1f}" for name, each in rates.items()))
    print(f"    json.loads is {median(plain_rates) / median(one_rates):.1f} times as fast")
    parts = {part: median(each[part] for each in floors) for part in floors[0]}
    listed = ", ".join(f"{part} {taken:.2f} s" for part, taken in parts.items())
    print(f"    the same in C alone: {size / sum(parts.values()):.1f} MB a processor second ({listed})")
    here, ahead = median(wall for wall, _ in walls), median(wall for _, wall in walls)
    print(f"    MB a second: one process {here:.1f}, several {ahead:.1f} ({os.cpu_count()} processors)")
    print(f"    the same again, unchanged: {median(seconds) * 1000:.0f} ms of processor time")


if __name__ == "__main__":
    run()
