"""What has to hold after anything: what was acknowledged is there, everything verifies, and nothing is left behind."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from slicebase import Slicebase
from slicebase.core.hashing import digest
from slicebase.errors import SlicebaseError
from slicebase.workspace.workspace import LIBRARY, LOCAL
from soak.figures import Outcome
from soak.writers import Acknowledgement

_OUR_HIDDEN: Final = {".gitignore", ".gitattributes"}
_WITH_IDS: Final = {"row", "claim", "failure", "step"}
_ENDS: Final = ("PLAN_DONE", "ACT_DONE", "OBSERVE_DONE")


def check(folder: Path, acknowledged: Iterable[Acknowledgement], outcome: Outcome) -> None:
    """Looks for everything that was acknowledged, and verifies the workspace. Adds what is wrong to the outcome."""
    try:
        with Slicebase.open(folder, create=False) as memory:
            verdict = memory.verify()
            if verdict.exit:
                found = [str(each) for each in verdict.findings if each.status in ("BROKEN", "UNVERIFIABLE")]
                outcome.alarms.append(f"verify: {'; '.join(found)[:600]}")
            outcome.unwitnessed |= any(each.status == "UNWITNESSED" for each in verdict.findings)
            stored = _Stored(memory)
            said = [each for each in acknowledged if each[0] != "purged"]
            outcome.lost += [str(each)[:300] for each in said if not stored.has(*each)]
            ended = {(each[1], each[2]) for each in said if each[0] == "step"}
            outcome.alarms += [problem for run in _runs(memory) for problem in _steps_of(memory, run, ended)]
    except SlicebaseError as error:
        outcome.alarms.append(f"{error.code}: {error.message}")


def _runs(memory: Slicebase) -> list[str]:
    """Returns the runs that have steps which a process began and others can close."""
    return [entry.id for entry in memory.runs.list_runs() if entry.terms and not entry.terms.projected_from]


def _steps_of(memory: Slicebase, run: str, ended: set[tuple[Any, Any]]) -> Iterator[str]:
    """Yields what is wrong with the steps of a run, after those of killed writers were closed."""
    memory.runs.status(run)
    events = memory.runs.events(run)
    begun = sorted(event.step or 0 for event in events if event.type == "STEP_BEGUN")
    if begun != list(range(1, len(begun) + 1)):
        yield f"run:{run} has the steps {begun}"
    counted = Counter((event.step, event.type) for event in events if event.type in _ENDS)
    yield from (f"run:{run} has {counted[each]} of {each}" for each in counted if counted[each] > 1)
    half = [step for step in begun if not all((step, end) in counted for end in _ENDS)]
    yield from (f"step {step} of run:{run} has no end" for step in half)
    for event in events:
        if event.payload.get("category") == "interrupted" and (run, event.step) in ended:
            yield f"step {event.step} of run:{run} had ended, and was closed as interrupted"


class _Stored:
    """What is stored now."""

    def __init__(self, memory: Slicebase) -> None:
        self._memory = memory
        self._events: dict[str, list[Any]] = {}
        self._states: dict[str, Any] = {}

    def has(self, kind: str, *what: Any) -> bool:
        try:
            return bool(getattr(self, f"_{kind}")(*what))
        except (SlicebaseError, OSError, KeyError):
            return False

    def _run(self, run: str) -> list[Any]:
        if run not in self._events:
            self._events[run] = list(self._memory.runs.events(run))
        return self._events[run]

    def _session(self, name: str, turns: int) -> bool:
        return len(self._memory.graph.turns(name)) >= turns

    def _blob(self, run: str, name: str) -> bool:
        return digest(self._memory.runs.blob(run, name)) == name

    def _state(self, run: str) -> Any:
        if run not in self._states:
            self._states[run] = self._memory.truth.runs.state(run)
        return self._states[run]

    def _claim(self, run: str, name: str, statement: str) -> bool:
        return bool(self._state(run).claims[name]["statement"] == statement)

    def _failure(self, run: str, name: str, why: str) -> bool:
        return bool(self._state(run).failures[name]["why"] == why)

    def _step(self, run: str, step: int) -> bool:
        return {*_ENDS} <= {each.type for each in self._run(run) if each.step == step}

    def _snapshot(self, name: str) -> object:
        return self._memory.runs.snapshot(name)

    def _row(self, ref: str, text: str) -> bool:
        return self._memory.library.reader("all").pieces([ref])[0].text.strip() == text.strip()

    def _file(self, name: str) -> bytes:
        return self._memory.folder.find(name).to_bytes()

    def _text(self, name: str, text: str) -> bool:
        return text.encode() in self._file(name)

    def _context(self, name: str, text: str) -> bool:
        return digest(self._memory.replay(name).text.encode()) == text

    def _contains(self, name: str, text: str) -> bool:
        return text in (self._memory.root / name).read_text()


def check_unique(acknowledged: Iterable[Acknowledgement], outcome: Outcome) -> None:
    """Checks that no two writers got the same id: of a row, or of a claim, a failure or a step of a run."""
    ids = Counter(tuple(each[: 2 if each[0] == "row" else 3]) for each in acknowledged if each[0] in _WITH_IDS)
    outcome.alarms += [f"{what} was given {count} times" for what, count in ids.items() if count > 1]


def check_tidy(folder: Path, outcome: Outcome) -> None:
    """Lets the doctor fix what it can. What it still complains of, and temporary files, are unfinished."""
    with Slicebase.open(folder) as memory:
        complaints, _ = memory.doctor(fix=True)
        # A copy that no file names may belong to another branch, so that only a person can remove it.
        found = [f"{each.check} {each.place}: {each.message}" for each in complaints if each.check != "payload"]
        places = {memory.root, memory.workspace.database.parent}
        found += [f"the file of a step is left: {path.name}" for path in memory.workspace.steps.glob("*")]
    left = sorted({str(path) for path in hidden_files(places)})
    outcome.unfinished += [f"doctor: {each}" for each in found] + [f"left: {each}" for each in left]


def hidden_files(places: Iterable[Path]) -> Iterator[Path]:
    """Yields temporary files: hidden ones that nobody wants to keep."""
    for place in places:
        for path in place.rglob(".*"):
            is_of_git = ".git" in path.parent.parts and not path.name.startswith(".slicebase")
            if path.is_file() and path.name not in _OUR_HIDDEN and not is_of_git:
                yield path


def check_purged(folder: Path, acknowledged: Iterable[Acknowledgement], outcome: Outcome) -> None:
    """Looks for purged text in the raw bytes of every file of ours."""
    for kind, text, *_ in acknowledged:
        if kind != "purged":
            continue
        for path in _our_files(folder):
            if text.encode() in path.read_bytes():
                outcome.unfinished.append(f"purged text in {path.relative_to(folder)}: {text}")


def _our_files(folder: Path) -> Iterator[Path]:
    for place in (folder / LIBRARY, folder / LOCAL, folder / ".git" / "slicebase"):
        yield from (path for path in place.rglob("*") if path.is_file())
