"""The architecture is a test: floors and rooms, allowed imports, and the place of tests (docs/architecture.md)."""

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from slicebase.files.check import between
from slicebase.files.yaml import load
from slicebase.importers import json_stream
from slicebase.workspace import workspace
from tests.paths import PROJECT
from tools.imports import FLOORS, OUTSIDE, SOURCE, STRANGERS, imports, modules, name_of, room_of, tree

TESTS = PROJECT / "tests"

PURE = {*FLOORS["ground"], *FLOORS["pure"]}
# Modules that give access to disk, network, processes, the clock or random numbers.
IMPURE = {
    "apsw", "asyncio", "fcntl", "glob", "httpx", "io", "os", "pathlib", "random", "requests", "secrets", "select",
    "shutil", "signal", "socket", "sqlite3", "subprocess", "sys", "tempfile", "threading", "time", "urllib",
    "importlib", "multiprocessing", "zipfile",
}  # fmt: skip
LARGEST = 400  # lines of a module
SMALLEST = 40
# Smaller modules, each with its reason.
SMALL = {
    "__main__": "python -m slicebase",
    "cli.entry": "the start of every command imports nothing else",
}
# What they import has a name in a table: the command that runs, the names of the API.
BY_NAME = {"__init__", "cli.main"}
SUBJECTS = {"hashing", "ranking"}  # nouns that end like gerunds
# What every importer of a format has.
OF_A_FORMAT = {"ESSENCE", "FACTS", "FORMAT", "NAME", "NO_TURNS"}
# The same value where a room must not import the other; what every family of endpoints has.
SAME = {"BOM", "LIBRARY", "ENDPOINTS"}
# Modules that write, rename or delete files, each with its reason. All others call them (docs/decisions/clones.md).
WRITERS = {
    "workspace.boundary": "decides where may be written",
    "workspace.atomic": "writes files, below a folder out of which no link leads",
    "workspace.holds": "creates and deletes the files of steps that are open",
    "workspace.workspace": "creates the folders of a workspace, and moves its database",
    "index.disposable": "opens, builds and deletes the indexes",
    "history.opencode_store": "opens the database of opencode, for reading only",
    "index.schema": "opens a database in memory, for its tokenizer",
    "workspace.machine": "reads the id of the database in an index",
    "truth.sqlite": "opens the database",
    "truth.transfer": "copies the database into a file that a backup packs",
    "workspace.stage": "creates and deletes the folders in which a backup is put together",
    "verbs.install": "removes what `tt init` created",
    "verbs.doctor": "renames a slice file to its id",
    "cli.options": "creates the folder that a command names",
    "cli.output": "sends the rest of the output nowhere when its reader is gone",
}
# What changes the disk, of a path or of any object, and of the modules `os` and `shutil`.
WRITING = {
    "write_text", "write_bytes", "mkdir", "rmdir", "unlink", "symlink_to", "hardlink_to", "touch", "chmod", "lchmod",
    "rmtree", "Connection", "NamedTemporaryFile", "mkstemp", "mkdtemp",
}  # fmt: skip
OF_THE_SYSTEM = re.compile(
    r"(os|shutil)\.(replace|renames?|remove\w*|unlink|rmdir|mkdir|makedirs|link|symlink|mkfifo|mknod|utime|l?chmod|fchmod"
    r"|f?truncate|rmtree|copy\w*|move)"
)
# Modules that find out what a path is without its symbolic links, each with its reason. All others call the first.
RESOLVING = {
    "workspace.boundary": "gives an error of ours for a path that nothing can have",
    "workspace.given_paths": "opens a folder that was looked at before",
    "library.walk": "opens a folder that was looked at before",
    "library.payloads": "opens a file that was looked at before",
    "history.follow": "opens a transcript that was looked at before",
}
# What the verbs of every day import where it is needed: the beginnings of modules that they do not load at once.
DOORS = {
    "base history.show verbs.contexts verbs.graph verbs.imports verbs.newest verbs.runs verbs.search verbs.step": (
        "context.lost"
    ),
    "verbs.hook_events verbs.imports verbs.lost verbs.search verbs.status": "files.yaml",
    "verbs.contexts verbs.lost verbs.search verbs.status": "importers.formats",
}
# Tests of a complete room, or of a promise that several of its modules keep.
WHOLE = {
    "adapters": {"test_page"},
    "browser": {
        "test_citations", "test_exports", "test_growth", "test_hostile", "test_keys", "test_session", "test_texts",
        "test_views", "test_watching",
    },
    "cli": {"test_bad_input", "test_read_only"},
    "files": {"test_format_page", "test_specification"},
    "graph": {"test_golden"},
    "importers": {"test_damage", "test_real_data"},
    "mcp": {"test_descriptions"},
    "runs": {"test_specification"},
    ".": {
        "test_agents_document", "test_api", "test_architecture", "test_bad_arguments", "test_bench", "test_documents",
        "test_doors", "test_errors", "test_examples", "test_fuzz", "test_house", "test_mutants", "test_packages",
        "test_pages", "test_python_page", "test_soak", "test_threads", "test_user_program",
    },
}  # fmt: skip


def allowed(room: str) -> set[str]:
    """Returns the rooms that a room may import."""
    below: set[str] = set()
    for rooms in FLOORS.values():
        if room in rooms:
            strangers = {other for pair in STRANGERS if room in pair for other in pair}
            return below | (set(rooms[: rooms.index(room)]) - strangers) | {room}
        below |= set(rooms)
    raise AssertionError(f"{room} is on no floor")


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Returns all nodes of the syntax tree of a module."""
    return list(ast.walk(tree(path)))


def called(call: ast.Call) -> str:
    """Returns the last word of what is called: `open` of `path.open(…)` and of `open(…)`."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def each(paths: Iterable[Path]) -> Callable[[Callable[[Path], None]], Callable[[], None]]:
    """Returns a decorator that makes one test of a check of many paths: thousands take longer to report than to run."""

    def of_all(check: Callable[[Path], None]) -> Callable[[], None]:
        def test() -> None:
            failed = {}
            for path in paths:
                try:
                    check(path)
                except AssertionError as error:
                    failed[str(path.relative_to(PROJECT))] = str(error)
            assert not failed

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return of_all


each_module = each(modules())


@each_module
def test_imports_point_down_a_floor_or_stay_in_the_room(path: Path) -> None:
    room = room_of(path)
    if room in OUTSIDE:
        return
    for name in imports(path):
        top, _, rest = name.partition(".")
        if top == "slicebase" and rest and rest != "__version__":
            assert rest.split(".")[0] in allowed(room), f"{room} must not import {name}"


@each_module
def test_imports_can_be_seen(path: Path) -> None:
    """An import by a name that is computed, or of the package as a whole, hides its direction."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            assert not any(alias.name.split(".")[0] == "slicebase" for alias in node.names)
        elif isinstance(node, ast.Attribute | ast.Name) and name_of(path) not in BY_NAME:
            assert (node.attr if isinstance(node, ast.Attribute) else node.id) not in ("__import__", "import_module")
    if name_of(path) == "__init__":  # the names of the API are imported when they are used
        assert not [name for name in imports(path, typing=False) if name.startswith("slicebase")]


@each_module
def test_pure_rooms_import_nothing_that_reaches_outside(path: Path) -> None:
    if room_of(path) in PURE:
        reached = {name.split(".")[0] for name in imports(path)} & IMPURE
        assert not reached, f"{path.name} imports {reached}"
        assert "open(" not in path.read_text().replace("_open(", ""), f"{path.name} opens a file"


def writes(node: ast.AST) -> bool:
    """Returns whether an expression changes the disk, or names a function that does."""
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and bool(OF_THE_SYSTEM.fullmatch(f"{node.value.id}.{node.attr}"))
    if not isinstance(node, ast.Call):
        return False
    method = isinstance(node.func, ast.Attribute)
    name = called(node)
    if name == "open":
        shown = ast.unparse(node)
        return bool(re.search(r"O_CREAT|O_WRONLY|O_RDWR|['\"][rwaxbt+]*[wax+][rwaxbt+]*['\"]", shown))
    if name in ("replace", "rename"):  # of a path; a text's has two arguments
        return method and len(node.args) == 1 and not node.keywords
    return method and name in WRITING


@each_module
def test_only_a_few_modules_write_files(path: Path) -> None:
    """So that no write follows a link out of the workspace (ruling 49)."""
    found = [ast.unparse(node) for node in nodes(path) if writes(node)]
    assert bool(found) == (name_of(path) in WRITERS), found


@each_module
def test_commands_print_through_one_module(path: Path) -> None:
    """So that a pipe gets exact bytes, and a terminal none that it obeys (ruling 48)."""
    if room_of(path) == "cli" and name_of(path) not in ("cli.output", "cli.reference"):
        text = path.read_text()
        assert not re.search(r"click\.(s?echo|style)\b|\bprint\(|std(out|err)\.(buffer|write)", text)


def test_no_module_imports_itself_through_others_not_even_lazily() -> None:
    known = {f"slicebase.{name_of(path)}": path for path in modules() if room_of(path) not in OUTSIDE}
    graph = {name: {each for each in imports(path, typing=False) if each in known} for name, path in known.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def loaded_with(name: str) -> set[str]:
    """Returns the modules that are loaded when a module is imported, before anything of it is called."""
    known = {f"slicebase.{name_of(path)}": path for path in modules()}
    found, waiting = set[str](), [f"slicebase.{name}"]
    while waiting:
        module = waiting.pop()
        if module in known and module not in found:
            found.add(module)
            waiting += imports(known[module], typing=False, lazy=False)
    return {each.removeprefix("slicebase.") for each in found}


@pytest.mark.parametrize(("verbs", "unneeded"), DOORS.items())
def test_a_verb_loads_no_room_that_it_does_not_enter(verbs: str, unneeded: str) -> None:
    """Every process loads what it imports again: the rules of `tt lost` took longer than an import."""
    for name in verbs.split():
        loaded = loaded_with(name)
        assert name in loaded
        assert not [each for each in loaded if each.startswith(unneeded)], name


@each_module
def test_a_module_has_a_subject_of_a_fitting_size(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    assert lines <= LARGEST
    if path.stem != "__init__":
        assert (lines < SMALLEST) == (name_of(path) in SMALL), f"{lines} lines"
        assert not path.stem.endswith("ing") or path.stem in SUBJECTS, "a module is named by a noun"


@each(sorted({path.parent for path in modules()} - {SOURCE}))
def test_a_room_says_in_one_sentence_what_it_is_about(path: Path) -> None:
    printed = ast.get_docstring(tree(path / "__init__.py")) or ""
    assert printed.endswith(".")
    assert "\n" not in printed
    assert ". " not in printed
    assert len(printed) > 20
    assert len(tree(path / "__init__.py").body) == 1, "the code of a room belongs in its modules"


def public_names(path: Path) -> set[str]:
    """Returns the classes, type aliases and constants that a module defines at its top."""
    found = set()
    for node in tree(path).body:
        if isinstance(node, ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in found if name[0].isupper()}


def test_one_name_means_one_thing() -> None:
    places = defaultdict(list)
    for path in modules():
        if name_of(path) == "aio":  # the same names, to await
            continue
        for name in public_names(path) - (OF_A_FORMAT if room_of(path) == "importers" else set()) - SAME:
            places[name].append(name_of(path))
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_what_is_defined_twice_is_the_same() -> None:
    assert load.BOM == json_stream.BOM
    assert between.LIBRARY == workspace.LIBRARY


@each(sorted(TESTS.rglob("test_*.py")))
def test_tests_mirror_the_tree(path: Path) -> None:
    """tests/ROOM/test_MODULE.py tests that module, test_MODULE_ASPECT.py one aspect of it."""
    room = path.parent.relative_to(TESTS)
    if path.stem in WHOLE.get(str(room), ()):
        return
    subjects = {module.stem for module in (SOURCE / room).glob("*.py")} - {"__init__"}
    assert any(f"{path.stem}_".startswith(f"test_{subject}_") for subject in subjects), f"{path.stem} tests no module"


@each_module
def test_paths_are_resolved_in_one_place(path: Path) -> None:
    """`Path.resolve` and `realpath` raise errors of Python's own for what a file may name: a loop of links, a NUL."""
    for call in (node for node in nodes(path) if isinstance(node, ast.Call)):
        method = isinstance(call.func, ast.Attribute)
        assert not (method and called(call) == "resolve" and not call.args), ast.unparse(call)
        assert called(call) != "realpath" or name_of(path) in RESOLVING, ast.unparse(call)


@pytest.mark.skipif(not (PROJECT / ".git").exists(), reason="an archive of the source has no repository")
def test_nothing_that_git_ignores_is_in_the_repository() -> None:
    """An environment that is committed by mistake has thousands of files of other packages."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"], cwd=PROJECT, capture_output=True, check=True
    )
    assert not listed.stdout
