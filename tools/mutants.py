"""`make mutants`: puts small bugs into the source, one at a time, and counts those that the tests find.

MUTANTS is the size of the sample and SEED chooses it; MINUTES ends the run, JOBS is the number of processes. Bugs are
ordered by a hash of their text, so that a change elsewhere leaves most of a sample as it was. Everything happens in a
copy of the project. A survivor is printed with its statement; the exit status is 1 below GOAL percent.
"""

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from queue import Queue
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from tools.forks import PIPES, UNFIT, Job
from tools.imports import PROJECT, SOURCE
from tools.mutations import Mutation, mutations
from tools.reach import LOG, NOTES, noting, read

AREAS = {
    "verify": ("verbs/verify*", "verbs/witnesses", "verbs/seal", "truth/chains", "truth/acts"),
    "purge": (
        "library/purge",
        "library/exported",
        "library/remnants",
        "library/narratives",
        "verbs/purge",
        "truth/erasure",
        "core/passages",
    ),
    "gate": ("runs/gate", "runs/checks", "runs/state", "runs/snapshot", "runs/items", "runs/parts", "runs/values"),
    "contexts": ("verbs/contexts", "context/assemble", "context/manifest", "truth/manifests"),
    "turns": ("truth/turns", "truth/texts", "truth/run_log", "truth/snapshots", "truth/items"),
    "merge": ("files/merge*", "library/merge"),
}
# Tests for each bug, and the seconds that they may take without it: first a few, then all that reach it.
FEW, MOST = (40, 20.0), (500, 60.0)
GOAL = 90  # percent
# Tests of the tree itself, not of what the package does.
OTHERS = ("test_architecture", "test_house", "test_packages", "test_pages", "test_mutants", "test_fuzz")
NOTHING: Mapping[str, str] = MappingProxyType({})
KEPT = PROJECT / ".mutants" / "reach.json"  # what the tests reached, for the next run


class Mutant(NamedTuple):
    """A bug in a module."""

    area: str
    path: Path
    number: int
    mutation: Mutation

    @property
    def module(self) -> str:
        return str(self.path.relative_to(SOURCE).with_suffix(""))

    def rank(self, seed: int) -> bytes:
        changed = (self.mutation.kind, self.mutation.before, self.mutation.after)
        return sha256(f"{seed} {self.module} {changed}".encode()).digest()

    def source(self) -> str:
        tree = ast.parse(self.path.read_text())
        for number, _ in enumerate(mutations(tree)):
            if number == self.number:
                return ast.unparse(ast.fix_missing_locations(tree))
        raise AssertionError("the file has changed")


class Reached(msgspec.Struct):
    """What the tests of one file reached, while it had these bytes."""

    digest: str
    tests: list[tuple[str, float, list[str]]]


def sample(size: int, seed: int) -> list[Mutant]:
    """Returns the bugs of a seed, each with another text or place."""
    found = [
        Mutant(area, path, number, mutation)
        for area, names in AREAS.items()
        for name in names
        for path in sorted(SOURCE.glob(f"{name}.py"))
        for number, mutation in enumerate(mutations(ast.parse(path.read_text())))
    ]
    return sorted(found, key=lambda mutant: (mutant.rank(seed), mutant.number))[:size]


class Reach:
    """Which tests reach a statement."""

    def __init__(self, tests: Sequence[tuple[str, float, list[str]]]) -> None:
        self._seconds = {name: seconds for name, seconds, _ in tests}
        self._of_statement: dict[str, set[str]] = defaultdict(set)
        self._of_module: dict[str, set[str]] = defaultdict(set)
        for name, _, statements in tests:
            for statement in statements:
                self._of_statement[statement].add(name)
                self._of_module[statement.partition(":")[0].partition(".")[0]].add(name)

    def few(self, mutant: Mutant) -> list[str]:
        """Returns the first tests for a bug: those of its module, then the quickest, and each test once at first."""
        room, _, stem = mutant.module.rpartition("/")
        own = f"tests/{room}/test_{stem.partition('_')[0]}"
        times: Counter[str] = Counter()
        ordered: list[tuple[int, bool, int, str]] = []
        for name in self._quickest(mutant):
            test = name.partition("[")[0]
            ordered.append((times[test], not name.startswith(own), len(ordered), name))
            times[test] += 1
        return self._within((name for *_, name in sorted(ordered)), *FEW)

    def others(self, mutant: Mutant) -> list[str]:
        """Returns the tests for a bug that survives the first ones: the quickest."""
        few = set(self.few(mutant))
        return self._within((name for name in self._quickest(mutant) if name not in few), *MOST)

    def _quickest(self, mutant: Mutant) -> list[str]:
        """Returns the tests that reach a bug; of a statement that none reaches, those that reach its module."""
        found = self._of_statement.get(f"{mutant.module}{mutant.mutation.statement}") or self._of_module[mutant.module]
        return sorted(found, key=lambda name: (self._seconds[name], name))

    def _within(self, names: Iterable[str], most: int, longest: float) -> list[str]:
        chosen: list[str] = []
        seconds = 0.0
        for name in names:
            if len(chosen) < most and (not chosen or seconds + self._seconds[name] <= longest):
                chosen.append(name)
                seconds += self._seconds[name]
        return chosen

    def patience(self, tests: Sequence[str]) -> float:
        return 20 + 3 * sum(self._seconds[name] for name in tests)


class Copy:
    """A copy of the project, in which tests run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._clock = 1_000_000_000  # of the files that change: Python compiles a file again when its time differs
        listed = subprocess.run(
            ["git", "ls-files", "-z", "-co", "--exclude-standard"],
            cwd=PROJECT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for name in filter(None, listed.split("\0")):
            if (PROJECT / name).is_file():
                target = folder / "project" / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(PROJECT / name, target, follow_symlinks=False)
        for name in ("home", "tmp"):
            (folder / name).mkdir()

    def put(self, module: str, source: str) -> Path:
        path = self.folder / "project" / "src" / "slicebase" / f"{module}.py"
        path.write_text(source)
        self._clock += 1
        os.utime(path, (self._clock, self._clock))
        return path

    def start(
        self, arguments: Sequence[str], variables: Mapping[str, str], pipes: Sequence[int] = ()
    ) -> subprocess.Popen[bytes]:
        """Starts pytest."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.folder / "project" / "src"),
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
            **variables,
        }
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-o", "tmp_path_retention_policy=none"]
        with (self.folder / "log").open("w") as log:
            return subprocess.Popen(
                [*command, *arguments], cwd=self.folder / "project", env=environment, stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, start_new_session=True, pass_fds=pipes,
            )  # fmt: skip

    def run(self, arguments: Sequence[str], patience: float, variables: Mapping[str, str] = NOTHING) -> int | None:
        """Runs tests, and returns their exit status, or None if they do not end."""
        process = self.start(arguments, variables)
        try:
            return process.wait(patience)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


class Runner:
    """Tests bugs, in forks of a process that has collected all tests."""

    def __init__(self, folder: Path, reached: Reach) -> None:
        self._copy = Copy(folder)
        self._reached = reached
        self._sound: dict[str, bool] = {}  # tests that fail here because of a bug only
        jobs, self._jobs = os.pipe()
        self._results, results = os.pipe()
        pipes = (jobs, results)
        ignored = [f"--ignore-glob=*/{name}.py" for name in OTHERS]
        arguments = ["-p", "tools.forks", "-n", "0", *ignored]
        self._process = self._copy.start(arguments, {PIPES: f"{jobs} {results}"}, pipes)
        for pipe in pipes:
            os.close(pipe)
        self._answers = os.fdopen(self._results)
        self._known = set(json.loads(self._answers.readline()))

    def close(self) -> None:
        os.close(self._jobs)
        self._process.wait()

    def is_killed(self, mutant: Mutant) -> bool:
        """Returns whether a test fails with the bug, and only with it. Tests that do not end have failed."""
        tests = (self._reached.few(mutant), self._reached.others(mutant))
        return any(self._is_killed(mutant, each) for each in tests)

    def _is_killed(self, mutant: Mutant, chosen: Sequence[str]) -> bool:
        tests = [name for name in chosen if name in self._known and self._sound.get(name, True)]
        if not tests:
            return False
        source = mutant.source()
        path = self._copy.put(mutant.module, source)
        try:
            failed = self._failed(tests, mutant, path, source)
        finally:
            self._copy.put(mutant.module, mutant.path.read_text())
        if not failed:
            return failed is None
        if failed not in self._sound:
            self._sound[failed] = self._asked(Job([failed], self._reached.patience([failed]))) == ""
        return self._sound[failed] or self._is_killed(mutant, chosen)

    def _failed(self, tests: list[str], mutant: Mutant, path: Path, source: str) -> str | None:
        patience = self._reached.patience(tests)
        answer = self._asked(Job(tests, patience, str(path), source)) if mutant.mutation.inside else UNFIT
        if answer != UNFIT:
            return answer
        return "" if self._copy.run(["-x", "-n", "0", *tests], patience) == 0 else None

    def _asked(self, job: Job) -> str | None:
        os.write(self._jobs, msgspec.json.encode(job) + b"\n")
        answer: str | None = json.loads(self._answers.readline())
        return answer


def reach(folder: Path, jobs: int) -> Reach:
    """Runs the test files that changed since the last time, over a source that notes what they reach."""
    files = [path for path in sorted((PROJECT / "tests").rglob("test_*.py")) if path.stem not in OTHERS]
    now = {str(path.relative_to(PROJECT)): sha256(path.read_bytes()).hexdigest() for path in files}
    known: dict[str, Reached] = {}
    if KEPT.exists():
        known = msgspec.json.decode(KEPT.read_bytes(), type=dict[str, Reached])
    known = {name: reached for name, reached in known.items() if now.get(name) == reached.digest}
    if missing := [name for name in now if name not in known]:
        print(f"{len(missing)} test files: what they reach", flush=True)
        copy = Copy(folder)
        for path in _modules():
            module = str(path.relative_to(SOURCE).with_suffix(""))
            copy.put(module, noting(path.read_text(), module))
        copy.put("reached", NOTES)
        (folder / "reached").mkdir()
        options = ["-p", "tools.reach", "-n", str(jobs if jobs > 1 else 0)]
        copy.run([*options, *missing], 3600, {LOG: str(folder / "reached")})
        print((folder / "log").read_text().rstrip().rpartition("\n")[2], flush=True)
        known |= {name: Reached(now[name], []) for name in missing}
        for test in read(folder / "reached"):
            known[test[0].partition("::")[0]].tests.append(test)
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_bytes(msgspec.json.encode(known))
    return Reach([test for reached in known.values() for test in reached.tests])


def _modules() -> list[Path]:
    return [path for names in AREAS.values() for name in names for path in sorted(SOURCE.glob(f"{name}.py"))]


def outcomes(mutants: Sequence[Mutant], reached: Reach, folder: Path, jobs: int, end: float) -> Iterator[str]:
    """Yields for each bug: killed, survived, or not run because the time is over."""
    runners: Queue[Runner] = Queue()
    for number in range(jobs):
        runners.put(Runner(folder / str(number), reached))

    def outcome(mutant: Mutant) -> str:
        runner = runners.get()
        try:
            return "not run" if time.monotonic() > end else "killed" if runner.is_killed(mutant) else "survived"
        finally:
            runners.put(runner)

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(outcome, mutants)
    while not runners.empty():
        runners.get().close()


def main() -> int:
    size, seed = int(os.environ.get("MUTANTS", "200")), int(os.environ.get("SEED", "12"))
    jobs = int(os.environ.get("JOBS") or os.cpu_count() or 1)
    end = time.monotonic() + 60 * float(os.environ.get("MINUTES", "60"))
    chosen = sample(size, seed)
    totals: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        reached = reach(Path(folder) / "reach", jobs)
        for mutant, outcome in zip(chosen, outcomes(chosen, reached, Path(folder), jobs, end), strict=True):
            totals[mutant.area, outcome] += 1
            if outcome == "survived":
                mutation = mutant.mutation
                place = f"src/slicebase/{mutant.module}.py:{mutation.line}"
                print(f"\n{place}: {mutation.kind}, {len(reached.few(mutant) + reached.others(mutant))} tests")
                print(f"  - {mutation.before}\n  + {mutation.after}", flush=True)
    print(f"\n{'':10} killed survived  not run   (MUTANTS={size} SEED={seed})")
    for area in AREAS:
        print(f"{area:10} {totals[area, 'killed']:6} {totals[area, 'survived']:8} {totals[area, 'not run']:8}")
    killed = sum(totals[area, "killed"] for area in AREAS)
    survived = sum(totals[area, "survived"] for area in AREAS)
    score = 100 * killed / max(killed + survived, 1)
    print(f"{killed} of {killed + survived} killed: {score:.1f} %")
    return 0 if score >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
