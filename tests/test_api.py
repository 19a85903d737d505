"""The Python API as a program sees it: its names, its words, its values, and results that repeat."""

import ast
import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import copy
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slicebase
from slicebase import Filters, Provenance, ShownTurns, Slicebase, aio
from tests.paths import PROJECT

SAMPLE = PROJECT / "src" / "slicebase" / "samples" / "long-session.jsonl"
SHORT_SAMPLE = SAMPLE.with_name("claude-code-session.jsonl")
CODES = "turn:0961d9aa-a012-46c7-b376-16f70598151d"  # a turn of the sample

EXPORTED = [getattr(slicebase, name) for name in slicebase.__all__]
# Classes whose verbs are called, with those whose verbs are awaited.
AWAITED = {
    slicebase.Slicebase: aio.Slicebase,
    slicebase.Library: aio.Library,
    slicebase.Runs: aio.Runs,
    slicebase.Graph: aio.Graph,
    slicebase.Policies: aio.Policies,
    slicebase.Step: aio.Step,
    slicebase.Recorder: aio.Recorder,
}
OBJECTS = {*AWAITED, slicebase.Exit, slicebase.RunWarning, slicebase.SlicebaseError}


def each_class(test: Callable[..., None]) -> Any:
    return pytest.mark.parametrize(
        "cls", [*EXPORTED, *AWAITED.values()], ids=lambda cls: f"{cls.__module__}.{cls.__name__}"
    )(test)


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """Yields the public methods and properties of a class as functions, by name. Inherited ones of Python are not."""
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        if isinstance(member, classmethod | staticmethod):
            member = member.__func__
        elif isinstance(member, property):
            member = member.fget
        elif isinstance(member, cached_property):
            member = member.func
        if not name.startswith("_") and inspect.isfunction(member) and _is_ours(member):
            yield name, inspect.unwrap(member)


def _is_ours(function: Any) -> bool:
    return str(inspect.unwrap(function).__module__).startswith("slicebase.")


# Names


def test_all_places_and_typed_imports_name_the_same_things() -> None:
    """A name that is exported can be imported, and a type checker knows it."""
    parsed = ast.parse(Path(slicebase.__file__).read_text())
    typed = {
        (str(node.module).removeprefix("slicebase."), alias.name)
        for node in ast.walk(parsed)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("slicebase.")
        for alias in node.names
    }
    places = {(place, name) for place, names in slicebase._PLACES.items() for name in names}
    assert typed == places
    assert slicebase.__all__ == sorted(name for _, name in places)


def test_every_name_is_imported_when_it_is_used_and_others_are_not_there() -> None:
    space: dict[str, Any] = {}
    exec("from slicebase import *", space)
    assert space.keys() - {"__builtins__"} == set(slicebase.__all__)
    assert set(dir(slicebase)) >= {*slicebase.__all__, "__version__"}
    for name in slicebase.__all__:
        assert getattr(slicebase, name).__name__ == name
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(slicebase, "no_such" + "_name")
    with pytest.raises(ImportError):
        exec("from slicebase import no_such_name")


def test_importing_the_package_imports_nothing_else_of_it() -> None:
    """The commands start fast: each name is imported when it is first used."""
    code = "import sys, slicebase; print([name for name in sys.modules if name.startswith('slicebase.')])"
    environment = {"PYTHONPATH": str(PROJECT / "src"), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_aio_is_imported_when_it_is_used() -> None:
    code = "import sys, slicebase; print('slicebase.aio' in sys.modules, slicebase.aio.Slicebase.__name__)"
    environment = {"PYTHONPATH": str(PROJECT / "src"), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "False Slicebase\n"


# Words


@each_class
def test_a_class_and_its_public_members_say_what_they_do(cls: type) -> None:
    documented = {"the class": cls.__doc__, **{name: member.__doc__ for name, member in members(cls)}}
    for name, text in documented.items():
        first = (text or "").strip().partition("\n")[0]
        assert re.fullmatch(r"[A-Z`].{10,}\.", first), f"{cls.__name__}.{name}: {text}"


@each_class
def test_no_verb_asks_for_the_time_or_a_stamp(cls: type) -> None:
    for name, member in members(cls):
        for given_name in inspect.signature(member).parameters:
            once = name in ("open", "init") and given_name in ("clock", "entropy")
            assert once or not re.search(r"^(now|stamp|clock|entropy|rng)$|_ms$|millis", given_name), (
                f"{name}({given_name})"
            )


# Strings and paths


class PathCall(NamedTuple):
    """A verb that takes a path, and its result in a workspace, in a form that can be compared."""

    verb: str
    call: Callable[[Slicebase, Any], object]
    path: str = "session.jsonl"


def _opened(memory: Slicebase) -> Path:
    with memory:
        return memory.root


def a_session(memory: Slicebase) -> str:
    return memory.import_("session.jsonl").sessions[0]


def a_turn(memory: Slicebase) -> str:
    return memory.graph.turns(a_session(memory))[0].ref


def an_export(memory: Slicebase) -> bytes:
    return memory.graph.select(a_turn(memory), memory.graph.policy(POLICY)).export


def _restored(memory: Slicebase, path: Any) -> object:
    memory.backup("b.tar.zst")
    with Slicebase.init("other") as other:
        return other.restore_backup(path).files


def _taken(memory: Slicebase, path: Any) -> object:
    memory.export_workspace("export")
    return memory.import_workspace(path).taken


POLICY = "policy.json"
PATH_CALLS = (
    PathCall("Slicebase.open start", lambda memory, path: _opened(Slicebase.open(path)), "."),
    PathCall("Slicebase.open root", lambda memory, path: _opened(Slicebase.open(".", path)), "."),
    PathCall("Slicebase.init folder", lambda memory, path: _opened(Slicebase.init(path)), "."),
    PathCall("Slicebase.import_ paths", lambda memory, path: memory.import_(path).added),
    PathCall("Slicebase.import_ paths", lambda memory, path: memory.import_([path, path]).added),
    PathCall("Slicebase.lost_in paths", lambda memory, path: memory.lost_in(path).session),
    PathCall("Slicebase.follow transcript", lambda memory, path: memory.follow(path).end),
    PathCall("Slicebase.add path", lambda memory, path: len(memory.add(path).chunks)),
    PathCall("Slicebase.validate paths", lambda memory, path: memory.validate(path).files, "."),
    PathCall("Slicebase.doctor home", lambda memory, path: len(memory.doctor(home=path)[0]), "."),
    PathCall(
        "Library.create from_file", lambda memory, path: memory.library.create("t", "s", from_file=path).file.kind
    ),
    PathCall("Library.add folder", lambda memory, path: memory.library.add(path, glob="*.jsonl").added, "."),
    PathCall(
        "Library.create_from folder", lambda memory, path: memory.library.create_from(path, glob="*.json").added, "."
    ),
    PathCall("Runs.from_file path", lambda memory, path: memory.runs.from_file(path).session),
    PathCall(
        "Slicebase.export to",
        lambda memory, path: memory.export(memory.import_("session.jsonl").sessions[0], path).name,
        "export.slice",
    ),
    PathCall("Slicebase.backup path", lambda memory, path: memory.backup(path).files, "b.tar.zst"),
    PathCall("Slicebase.restore_backup path", _restored, "b.tar.zst"),
    PathCall("Slicebase.export_workspace path", lambda memory, path: memory.export_workspace(path).ahead, "export"),
    PathCall("Slicebase.import_workspace path", _taken, "export"),
    PathCall("Slicebase.context policy", lambda memory, path: len(memory.context("test", policy=path).pieces), POLICY),
    PathCall("Graph.policy name", lambda memory, path: memory.graph.policy(path).max_nodes, POLICY),
    PathCall("Graph.select policy", lambda memory, path: memory.graph.select(a_turn(memory), path).id, POLICY),
    PathCall("Graph.verify policy", lambda memory, path: memory.graph.verify(an_export(memory), path), POLICY),
    PathCall("Graph.bundle policy", lambda memory, path: memory.graph.bundle(a_turn(memory), path), POLICY),
    PathCall("Graph.bundle to", lambda memory, path: memory.graph.bundle(a_turn(memory), to=path), "slice.bundle"),
    PathCall("Policies.save policy", lambda memory, path: memory.policies.save("mine", path).policy, POLICY),
    PathCall("Policies.import_ path", lambda memory, path: memory.policies.import_(path), POLICY),
    PathCall("Graph.atlas policy", lambda memory, path: memory.graph.atlas(a_session(memory), path).manifest, POLICY),
    PathCall("Graph.draw policy", lambda memory, path: memory.graph.draw(a_turn(memory), path).policy, POLICY),
    PathCall("Graph.explain policy", lambda memory, path: memory.graph.explain(a_turn(memory), path), POLICY),
)


@pytest.mark.parametrize("called", PATH_CALLS, ids=lambda called: called.verb)
def test_a_string_and_a_path_are_taken_alike(called: PathCall, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for kind in (str, Path):
        folder = tmp_path / kind.__name__
        folder.mkdir()
        shutil.copy(SHORT_SAMPLE, folder / "session.jsonl")
        (folder / POLICY).write_text('{"version": "slice_policy_v1", "max_nodes": 3}')
        monkeypatch.chdir(folder)
        with Slicebase.init(".") as memory:
            result = called.call(memory, kind(called.path))
        results.append(result.relative_to(folder) if isinstance(result, Path) and result.is_absolute() else result)
    assert results[0] == results[1]
    assert results[0] is not None


def test_every_argument_that_is_a_path_is_tested() -> None:
    found = {
        f"{cls.__name__}.{name} {given_name}"
        for cls in EXPORTED
        for name, member in members(cls)
        for given_name, parameter in inspect.signature(member).parameters.items()
        if "Path" in str(parameter.annotation)
    }
    assert found == {called.verb for called in PATH_CALLS}


# Values


class Shown(NamedTuple):
    """A returned value, and what its `repr` must show."""

    value: object
    identity: object


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Shown]]:
    """A value of every class that verbs return."""
    folder = tmp_path_factory.mktemp("values")
    with Slicebase.init(folder) as memory:
        account = memory.import_(SAMPLE)
        session = account.sessions[0]
        context = memory.context("how are codes compared?", 800)
        log = memory.library.create("Log", "x" * 1000, type="jsonl")
        row = memory.library.remember(log.id, "Codes are upper case. " + 500 * "long ")
        guide = memory.library.create("Guide", "s", body="heron", links=[("derived_from", log.id)])
        memory.library.remember(log.id, "The guide is stale now.")
        started = memory.runs.start("build", "Find out how codes are compared. " + 500 * "long ", "done")
        with memory.runs.step("build") as step:
            evidence = step.cite(CODES, "compared without regard to case")
            claim = step.claim("Without regard to case.", cite=evidence, status="verified")
        recorder = memory.runs.recorder("build")
        with recorder.call("bash", command="make") as call:
            call.result = "done"
        memory.runs.compact("build")
        narrative = memory.runs.narrative("build")
        sealed = memory.seal()
        document = memory.add(SHORT_SAMPLE, copy=True)
        part, bundle = memory.graph.select(CODES), memory.graph.bundle(CODES)
        found = memory.search("codes")
        losses = memory.lost()
        every = {
            "Account": Shown(account, f"added={account.added}"),
            "AddedDocument": Shown(document, document.id),
            "Atlas": Shown(memory.graph.atlas(), "sessions=1"),
            "Bundle": Shown(bundle, bundle.graph_snapshot_hash),
            "Change": Shown(row, row.ref),
            "Context": Shown(context, context.id),
            "ContextSlice": Shown(part, part.id),
            "Event": Shown(memory.runs.events("build")[0], "RUN_STARTED"),
            "Evidence": Shown(evidence, evidence.id),
            "Explanation": Shown(memory.graph.explain(CODES), "selected="),
            "Exploration": Shown(memory.library.explore(guide.id), guide.id),
            "FileEntry": Shown(memory.library.list_files()[0], memory.library.list_files()[0].id),
            "Filters": Shown(Filters(kind="context"), "context"),
            "Graph": Shown(memory.graph, str(folder)),
            "Hit": Shown(memory.library.search("upper").hits[0], log.ref),
            "Info": Shown(memory.library.info(log.id), log.id),
            "JudgedItem": Shown(losses.items[0], losses.items[0].ref),
            "Library": Shown(memory.library, str(folder)),
            "Logged": Shown(claim, claim.id),
            "Loss": Shown(losses.compactions[0], losses.compactions[0].summary.id),
            "Losses": Shown(losses, session),
            "Manifest": Shown(context.manifest, context.id),
            "Narrative": Shown(narrative, narrative.id),
            "NotesReport": Shown(memory.library.refresh_all(), "added=0"),
            "Overview": Shown(memory.status(), str(folder)),
            "Page": Shown(memory.library.recall(log.ref), "of=1"),
            "Piece": Shown(context.pieces[0], context.pieces[0].ref),
            "Policies": Shown(memory.policies, str(folder)),
            "Provenance": Shown(Provenance(agent="reviewer"), "reviewer"),
            "Reason": Shown(memory.why(f"claim:build/{claim.id}"), f"claim:build/{claim.id}"),
            "RecordedCall": Shown(call, call.blob),
            "Recorder": Shown(recorder, "build"),
            "Replayed": Shown(memory.replay(context.id), True),
            "Results": Shown(found.files, f"total={found.files.total}"),
            "RunEntry": Shown(memory.runs.list_runs()[0], "build"),
            "RunReport": Shown(memory.runs.report("build"), "build"),
            "RunStatus": Shown(memory.runs.status("build"), "build"),
            "RunTally": Shown(started, "build"),
            "Runs": Shown(memory.runs, str(folder)),
            "Seal": Shown(sealed, sealed.id),
            "SearchResults": Shown(found, f"turns={len(found.turns)}"),
            "SessionEntry": Shown(memory.graph.sessions()[0], session),
            "ShownTurns": Shown(ShownTurns.in_bundle(bundle.to_bytes()), part.id),
            "SliceFile": Shown(row.file, row.id),
            "SliceProof": Shown(memory.graph.verify(bundle.to_bytes()), "VERIFIED"),
            "Slicebase": Shown(memory, str(folder)),
            "StaleFile": Shown(memory.library.stale()[0], guide.id),
            "Step": Shown(step, "build"),
            "TextChange": Shown(memory.agents_md(), "AGENTS.md"),
            "TurnView": Shown(memory.graph.turn(CODES), CODES),
            "Verdict": Shown(memory.verify(), "VERIFIED"),
        }  # fmt: skip
        yield every


NEVER_RETURNED = {"Exit", "RunWarning", "SlicebaseError"}


def test_every_exported_class_has_a_value_here(values: dict[str, Shown]) -> None:
    assert set(slicebase.__all__) - NEVER_RETURNED <= values.keys()


def test_the_repr_of_a_value_is_one_short_line_that_identifies_it(values: dict[str, Shown]) -> None:
    for name, (value, identity) in values.items():
        shown = repr(value)
        assert type(value).__name__ == name
        assert shown.startswith(f"{name}("), shown
        assert "\n" not in shown
        assert len(shown) < 200, shown
        assert str(identity) in shown


def test_the_repr_and_the_traceback_of_an_error_name_its_code() -> None:
    error = slicebase.SlicebaseError("no-run", "no run is called\nx", hint="start it")
    assert error.__notes__ == ["[no-run] start it"]
    assert repr(error) == "SlicebaseError('no-run', 'no run is called\\nx')"


def test_the_page_lists_every_value_with_properties_that_it_has(values: dict[str, Shown]) -> None:
    page = (PROJECT / "docs" / "python.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", page, re.MULTILINE)
    assert {name for name, _ in rows} == {cls.__name__ for cls in EXPORTED if cls not in OBJECTS}
    for name, properties in rows:
        named = re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", properties))
        assert named
        assert [each for each in named if not hasattr(values[name].value, each)] == [], name


def test_results_are_sequences_that_equal_their_copies(values: dict[str, Shown]) -> None:
    for name in ("Results", "SearchResults"):
        found: Any = values[name].value
        assert [found[place] for place in range(len(found))] == list(found)
        assert list(found[1:]) == list(found)[1:]
        assert found == copy(found)
        assert found != list(found)


def test_losses_are_false_where_nothing_was_compacted(tmp_path: Path, values: dict[str, Shown]) -> None:
    assert values["Losses"].value
    with Slicebase.init(tmp_path) as memory:
        assert not memory.lost()


# Results that repeat


def test_an_entropy_that_does_not_vary_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path, clock=lambda: 1_767_225_600, entropy=bytes) as memory:
        memory.library.create("Log", "s")
        for verb in (lambda: memory.library.create("Log", "s"), memory.seal):
            with pytest.raises(slicebase.SlicebaseError) as caught:
                verb()
            assert caught.value.code == "file-exists"
            assert "entropy" in caught.value.hint


@pytest.mark.parametrize(
    "time",
    [10**400, 10**5000, -1, float("nan"), "1969-12-31T23:59:59Z"],
    ids=lambda time: str(time)[:9] if time != 10**5000 else "huge",
)
def test_a_clock_that_is_wrong_is_a_bad_time(tmp_path: Path, time: Any) -> None:
    with Slicebase.init(tmp_path, clock=lambda: time) as memory, pytest.raises(slicebase.SlicebaseError) as caught:
        memory.library.create("Log", "s")
    assert caught.value.code == "bad-time"


def _library(memory: Slicebase) -> None:
    log = memory.library.create("Decisions", "What was decided.", type="jsonl")
    first = memory.library.remember(log.id, "Codes are lower case.")
    memory.library.remember(log.id, "Codes are upper case.", supersedes=first.ref, provenance=Provenance(agent="a"))
    memory.library.forget(memory.library.create("Old", "Not needed.", body="heron").id)


def _history(memory: Slicebase) -> None:
    memory.import_(SHORT_SAMPLE)
    memory.context("why do retries fail?", 400)


def _run(memory: Slicebase) -> None:
    name = f"run-{len(memory.runs.list_runs())}"
    memory.runs.start(name, "Find out.", "Found.")
    with memory.runs.step(name) as step:
        step.plan("look")
        step.ask("What is missing?")
    recorder = memory.runs.recorder(name)
    recorder.ended(recorder.started("bash", {"command": "make"}), "output")
    memory.runs.compact(name)
    memory.runs.narrative(name)


def _seal(memory: Slicebase) -> None:
    memory.seal()


@settings(max_examples=8)
@given(st.lists(st.sampled_from([_library, _history, _run, _seal]), max_size=5))
def test_the_same_clock_and_entropy_write_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, verbs: list[Callable[[Slicebase], None]]
) -> None:
    assert _written(tmp_path_factory.mktemp("one"), verbs) == _written(tmp_path_factory.mktemp("two"), verbs)


def _written(folder: Path, verbs: list[Callable[[Slicebase], None]]) -> tuple[dict[str, bytes], dict[Any, list[str]]]:
    """Returns the slice files and the rows of the database after some verbs."""
    seconds, numbers = count(1_767_225_600), count()
    memory = Slicebase.init(
        folder, clock=lambda: next(seconds), entropy=lambda size: next(numbers).to_bytes(size, "big")
    )
    with memory:
        for verb in verbs:
            verb(memory)
        connection = memory.truth.database.connection
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        rows = {name: sorted(map(repr, connection.execute(f'SELECT * FROM "{name}"'))) for (name,) in tables}
        files = {path.name: path.read_bytes() for path in (folder / ".slices").iterdir() if path.is_file()}
    return files, rows
