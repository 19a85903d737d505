"""The packages: built as for a release, installed in fresh environments, and used there as the README shows.

Each environment is created here and has only what pip installs into it. Where pip reaches no registry, the tests are
skipped. What installs is marked `packages`, and runs by `make test-packages`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import pytest

from slicebase import __version__
from slicebase.cli.commands import LISTED
from slicebase.mcp.tools import TOOLS
from tests.console import assert_shows_what_happens, environment
from tests.paths import PROJECT

DECLARED = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
PYTHONS = re.findall(r"Programming Language :: Python :: (3\.\d+)", "\n".join(DECLARED["classifiers"]))
EXTRAS: dict[str, list[str]] = DECLARED["optional-dependencies"]
DEVELOPMENT = {"test", "browser", "lint", "bench"}  # every other extra is a feature or an adapter
CONSTRAINTS = PROJECT / "constraints.txt"
KERNEL = {path.stem for path in Path(PROJECT, "src/slicebase/graph").glob("native*.pxd")}
# Tests that fail if a minimum is declared too low: of commands, policies, headers and ranks.
TESTS_OF_MINIMUMS = [
    "tests/cli/test_bad_input.py", "tests/cli/test_check.py", "tests/cli/test_commands.py", "tests/cli/test_find.py",
    "tests/cli/test_runs.py", "tests/cli/test_write.py", "tests/graph/test_policy.py", "tests/files/yaml/test_load.py",
    "tests/index/test_files.py::test_an_index_made_anew_in_any_order_answers_as_one_that_grew",
]  # fmt: skip


# What pyproject.toml declares


def members(extra: str) -> set[str]:
    """Returns the extras that an extra combines."""
    (combined,) = EXTRAS[extra]
    match = re.fullmatch(r"slicebase\[([\w,-]+)\]", combined)
    assert match
    return set(match[1].split(","))


def minimums() -> dict[str, str]:
    """Returns the smallest declared version of every package that Slicebase and its features use."""
    features = [each for extra in members("all") for each in EXTRAS[extra]]
    pattern = re.compile(r"([\w-]+)(?:\[[\w,]+\])?>=([\w.]+)(?:; .+)?")
    found = [pattern.fullmatch(each) for each in DECLARED["dependencies"] + features]
    return {match[1]: match[2] for match in found if match}


def name_of(requirement: str) -> str:
    """Returns the name of the package that a requirement or a pin is about, in its normal form."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement)[0]).lower()


def test_all_has_every_feature_and_no_adapter_nor_tool_of_development() -> None:
    assert members("all") == EXTRAS.keys() - DEVELOPMENT - members("adapters") - {"adapters", "all", "dev"}
    modules = {path.stem.replace("_", "-") for path in (PROJECT / "src/slicebase/adapters").glob("[!_]*.py")}
    assert members("adapters") == modules
    assert members("dev") == {"all"} | DEVELOPMENT


def test_the_readme_and_the_declaration_name_the_same_versions_of_python() -> None:
    assert DECLARED["requires-python"] == f">={PYTHONS[0]}"
    assert f"Python {', '.join(PYTHONS[:-1])} and {PYTHONS[-1]}" in (PROJECT / "README.md").read_text()


def test_every_dependency_declares_its_minimum() -> None:
    features = [each for extra in members("all") for each in EXTRAS[extra]]
    assert len(minimums()) == len(DECLARED["dependencies"] + features)


def test_every_dependency_is_pinned_for_development() -> None:
    """So are the packages that build ours."""
    pinned = {name_of(line) for line in CONSTRAINTS.read_text().splitlines()}
    others = [each for extra in DEVELOPMENT | members("adapters") for each in EXTRAS[extra]]
    building = tomllib.loads((PROJECT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert {name_of(each) for each in [*minimums(), *others, *building]} <= pinned


def test_the_source_distribution_takes_every_kind_of_file_that_git_knows() -> None:
    """What a build finds out too, but only with a registry."""
    lines = [line.split() for line in (PROJECT / "MANIFEST.in").read_text().splitlines() if not line.startswith("#")]
    (named,) = [patterns for verb, *patterns in lines if verb == "include"]
    below = [f"{folder}/{pattern}" for verb, folder, *patterns in lines if verb != "include" for pattern in patterns]
    found_by_itself = ["LICENSE", "MANIFEST.in", "pyproject.toml", "setup.py", "src/*"]
    patterns = [*named, *below, *found_by_itself]
    assert [path for path in tracked() if not any(fnmatch(path, pattern) for pattern in patterns)] == []


def test_every_test_that_installs_is_marked() -> None:
    """`make test` leaves out what is marked, so a test that installs without the mark would make it slow."""
    source = Path(__file__).read_text()
    installing = re.findall(r"^((?:@.*\n)*)def (test_\w+)\([^)]*\b(?:packages|smallest): ", source, re.MULTILINE)
    assert installing
    assert [name for marks, name in installing if "@installs\n" not in marks] == []


# Environments

installs = pytest.mark.packages


def variables_for(programs: Path, home: Path) -> dict[str, str]:
    """Returns the variables of a shell that uses an environment. Python may keep bytecode, as on a user's machine."""
    return {key: value for key, value in environment(programs, home).items() if key != "PYTHONDONTWRITEBYTECODE"}


class Environment(NamedTuple):
    """A virtual environment, without pip: what it has is what the test installed."""

    folder: Path

    @classmethod
    def create(cls, python: Path, folder: Path) -> "Environment":
        run(python, "-m", "venv", "--without-pip", folder)
        return cls(folder)

    @property
    def programs(self) -> Path:
        return self.folder / "bin"

    def install(self, *requirements: object, constraints: Path = CONSTRAINTS, **variables: str) -> None:
        """Installs packages. Wheels only: a compiler is used for ours alone, where it is given as its sources."""
        options = ["--quiet", "--no-compile", "--only-binary", ":all:"]
        variables = {"PIP_CONSTRAINT": str(constraints), **variables}  # counts for what builds ours, too
        from_registry("pip", "--python", self.programs / "python", "install", *options, *requirements, **variables)

    def run(self, *command: object, work: Path) -> str:
        """Runs a program of the environment and returns what it prints."""
        program, *arguments = command
        variables = variables_for(self.programs, self.folder)
        return run(self.programs / str(program), *arguments, work=work, variables=variables)

    def installed(self) -> set[str]:
        """Returns the names of the packages that are installed."""
        code = "import importlib.metadata as m; print(*(each.name for each in m.distributions()))"
        return {name_of(name) for name in self.run("python", "-c", code, work=self.folder).split()}


def run(*command: object, work: Path | None = None, variables: dict[str, str] | None = None) -> str:
    """Runs a program that must succeed, and returns what it prints."""
    arguments = [str(each) for each in command]
    done = subprocess.run(
        arguments, cwd=work, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(arguments)}\n{done.stdout}"
    return done.stdout


def from_registry(module: str, *arguments: object, **variables: str) -> str:
    """Runs a module that gets packages from a registry. If it fails because none is reachable, skips the test."""
    outside = {key: value for key, value in os.environ.items() if key not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH")}
    try:
        return run(sys.executable, "-m", module, *arguments, variables={**outside, **variables})
    except AssertionError:
        if reachable():
            raise
        pytest.skip("pip reaches no registry")


def reachable() -> bool:
    """Returns whether pip gets a package at all: this distinguishes a missing registry from a conflict of versions."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--quiet", "--no-deps", "--retries", "1", "--timeout", "15", "--dest", folder]
        command = [sys.executable, "-m", "pip", "download", *options, "setuptools"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


def interpreter(version: str) -> Path | None:
    """Returns a Python of a version: this one, one on the PATH, or one of pyenv."""
    on_path = shutil.which(f"python{version}")
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    candidates = [Path(sys.executable), *([Path(on_path)] if on_path else [])]
    candidates += pyenv.glob(f"versions/{version}.*/bin/python")
    code = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
    for candidate in candidates:
        done = subprocess.run([candidate, "-c", code], capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:  # a shim on the PATH may stand for a version that is not there
            return candidate
    return None


# Building


class Packages(NamedTuple):
    """What `python -m build` makes of a tree: the source distribution, the wheel, and what it prints."""

    tree: Path
    sdist: Path
    wheel: Path
    output: str

    def of(self, python: Path) -> Path:
        """Returns what this Python installs: the wheel if it was built for it, else the sources."""
        code = "import sys; print('cp%d%d' % sys.version_info[:2])"
        return self.wheel if f"-{run(python, '-c', code).strip()}-" in self.wheel.name else self.sdist


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    """Builds a copy of the project, without what git ignores."""
    folder = tmp_path_factory.mktemp("packages")
    ignored = [line.strip("/") for line in (PROJECT / ".gitignore").read_text().splitlines()]
    tree = Path(shutil.copytree(PROJECT, folder / "tree", ignore=shutil.ignore_patterns(".git", *ignored)))
    output = from_registry("build", "--outdir", folder / "dist", tree, PIP_CONSTRAINT=str(CONSTRAINTS))
    (sdist,) = folder.glob("dist/*.tar.gz")
    (wheel,) = folder.glob("dist/*.whl")
    return Packages(tree, sdist, wheel, output)


def files_below(folder: Path) -> set[str]:
    """Returns the paths of the files in a folder, without those that a build generates."""
    paths = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    return {path for path in paths if ".egg-info/" not in path}


@installs
def test_the_build_gives_no_warning_and_the_wheel_is_built_from_the_source_distribution(packages: Packages) -> None:
    assert not re.findall(r".*(?:warning:|deprecat).*", packages.output, re.IGNORECASE)
    assert "Building wheel from sdist" in packages.output
    assert packages.sdist.name == f"slicebase-{__version__}.tar.gz"
    assert re.fullmatch(rf"slicebase-{__version__}-(cp3\d+)-\1-\w+\.whl", packages.wheel.name)  # of this system


@installs
def test_the_wheel_has_the_package_with_types_and_samples_and_nothing_else(packages: Packages) -> None:
    with zipfile.ZipFile(packages.wheel) as archive:
        names = set(archive.namelist())
    about = f"slicebase-{__version__}.dist-info/"
    described = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "top_level.txt", "licenses/LICENSE"}
    assert {name.removeprefix(about) for name in names if name.startswith(about)} == described
    compiled = {name for name in names if name.endswith(".so")}
    assert {name.partition(".")[0] for name in compiled} == {f"slicebase/graph/{name}" for name in KERNEL}
    assert {name for name in names if not name.startswith(about)} - compiled == files_below(packages.tree / "src")
    assert {"slicebase/py.typed", "slicebase/samples/demo.sh", "slicebase/samples/long-session.jsonl"} <= names


@installs
def test_the_source_distribution_has_every_file_of_the_project(packages: Packages) -> None:
    with tarfile.open(packages.sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    in_tree = files_below(packages.tree)
    generated = {name for name in names if ".egg-info/" in name} | {"PKG-INFO", "setup.cfg"}
    assert names - generated <= in_tree
    assert (tracked() or in_tree) & in_tree <= names


def tracked() -> set[str]:
    """Returns the paths that git knows; none outside a repository, where the source distribution was unpacked."""
    listing = subprocess.run(["git", "ls-files"], cwd=PROJECT, capture_output=True, text=True, check=False).stdout
    return set(listing.splitlines())


# Installing


@installs
def test_the_demo_installs_the_package_alone(packages: Packages) -> None:
    commands = run("make", "--dry-run", "demo", work=packages.tree)
    (install,) = re.findall(r"^.*\bpip install\b.*$", commands, re.MULTILINE)
    assert install.endswith(" .")
    assert "--editable" not in install


@pytest.mark.parametrize("target", [".venv/.ready", ".venv-adapters/.ready", ".venv-demo/.ready"])
def test_an_environment_of_another_python_is_replaced(target: str) -> None:
    commands = run("make", "--dry-run", "--always-make", "PYTHON=python3.13", target, work=PROJECT)
    assert re.search(r"^python3\.13 -m venv --clear \.venv", commands, re.MULTILINE)


@installs
@pytest.mark.parametrize("version", PYTHONS)
def test_the_wheel_without_extras_does_the_session_of_the_readme(
    version: str, packages: Packages, tmp_path: Path
) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"no Python {version} on this machine")
    made = Environment.create(python, tmp_path / "environment")
    made.install(packages.of(python))
    assert_shows_what_happens("README.md", tmp_path, variables_for(made.programs, tmp_path))
    optional = {name_of(each) for requirements in EXTRAS.values() for each in requirements} - {"slicebase"}
    assert made.installed() & optional == set()


def kernel_of(made: Environment, folder: Path) -> str:
    """Returns the version that selects slices, as `tt doctor` says."""
    made.run("tt", "init", work=folder)
    return str(json.loads(made.run("tt", "doctor", "--json", work=folder))["kernel"])


@installs
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler")
def test_the_wheel_has_the_compiled_kernel_and_uses_it(packages: Packages, tmp_path: Path) -> None:
    made = Environment.create(Path(sys.executable), tmp_path / "environment")
    made.install(packages.wheel)
    assert kernel_of(made, tmp_path) == "native"
    assert "cython" not in made.installed()


@installs
def test_without_a_compiler_the_package_installs_and_the_plain_version_runs(packages: Packages, tmp_path: Path) -> None:
    made = Environment.create(Path(sys.executable), tmp_path / "environment")
    made.install(packages.sdist, CC="false")
    assert kernel_of(made, tmp_path) == "plain"
    made.install("Cython")  # which could run the sources of the kernel, very slowly
    assert kernel_of(made, tmp_path) == "plain"
    sample = PROJECT / "src/slicebase/samples/claude-code-session.jsonl"
    made.run("tt", "import", sample, work=tmp_path)
    session = json.loads(made.run("tt", "turns", "--json", work=tmp_path))["rows"][0]["session"]
    turn = json.loads(made.run("tt", "turns", session, "--json", work=tmp_path))["rows"][5]["ref"]
    assert json.loads(made.run("tt", "slice", turn, "--json", work=tmp_path))["turns"]


@pytest.fixture(scope="module")
def smallest(packages: Packages, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """Slicebase with the declared minimum versions.

    Word vectors are left out: a package that comes with them needs a newer click, and their minimum is the version that
    is pinned for development. It uses the newest Python, for which an old version is most likely to have no wheel.
    Everything else is pinned as usual, except packages of the same project, which go with the minimum.
    """
    folder = tmp_path_factory.mktemp("smallest")
    pins = [line for line in CONSTRAINTS.read_text().splitlines() if not name_of(line).startswith(tuple(minimums()))]
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join([*pins, *(f"{name}=={version}" for name, version in minimums().items())]))
    newest = next(filter(None, map(interpreter, reversed(PYTHONS))), Path(sys.executable))
    made = Environment.create(newest, folder / "environment")
    features = ",".join(sorted(members("all") - {"semantic"}))
    package = packages.of(newest)
    made.install(f"{package}[{features}]" if features else package, constraints=constraints)
    yield made
    shutil.rmtree(made.folder)  # pytest would keep it for three more runs


def answer_of_mcp(made: Environment, folder: Path) -> list[str]:
    """Starts `tt mcp`, shakes hands, and returns the names of the tools."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]
    answers = []
    with subprocess.Popen(
        [made.programs / "tt", "mcp"], cwd=folder, env=variables_for(made.programs, folder),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdin
        assert process.stdout
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()
            if "id" in message:
                answers.append(json.loads(process.stdout.readline() or "{}"))
        process.stdin.close()
        assert process.wait(timeout=60) == 0
    assert answers[0]["result"]["serverInfo"]["name"] == "slicebase"
    return [tool["name"] for tool in answers[1]["result"]["tools"]]


IMPORT_EVERYTHING = """
import importlib, pkgutil, slicebase
for module in pkgutil.walk_packages(slicebase.__path__, "slicebase."):
    left_out = ("slicebase.__main__", "slicebase.adapters.", "slicebase.graph.native")  # native: where it is compiled
    if not module.name.startswith(left_out):
        importlib.import_module(module.name)
print(slicebase.__file__)
"""


@installs
def test_all_installs_what_every_module_needs_and_the_mcp_server_answers(smallest: Environment, tmp_path: Path) -> None:
    imported = smallest.run("python", "-c", IMPORT_EVERYTHING, work=tmp_path)
    assert Path(imported.strip()).is_relative_to(smallest.folder)
    needed_by_features = {"anyio"}  # by Starlette
    tools = {name_of(each) for extra in DEVELOPMENT for each in EXTRAS[extra]} - needed_by_features
    assert smallest.installed() & tools == set()
    assert answer_of_mcp(smallest, tmp_path) == list(TOOLS)


@installs
def test_the_minimum_versions_do_the_session_of_the_readme_and_print_every_help_text(
    smallest: Environment, tmp_path: Path
) -> None:
    assert_shows_what_happens("README.md", tmp_path, variables_for(smallest.programs, tmp_path))
    helps = smallest.run("python", "-m", "slicebase.cli.reference", work=tmp_path)
    assert [name for name in LISTED if f"\nUsage: tt {name} " not in helps] == []


@installs
def test_the_minimum_versions_pass_the_tests_that_depend_on_them(smallest: Environment, tmp_path: Path) -> None:
    smallest.install("pytest", "hypothesis")
    options = ["-o", "addopts=", "-p", "no:cacheprovider", "--basetemp", tmp_path / "tests", "--quiet"]
    smallest.run("python", "-m", "pytest", *options, *TESTS_OF_MINIMUMS, work=PROJECT)
