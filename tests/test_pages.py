"""The pages agree with the tree: all are linked, what they name exists, and their maps are complete."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slicebase.importers import formats
from slicebase.importers.values import ImportReport, ImportSource, Options
from slicebase.truth.truth import Truth
from tests.paths import PROJECT

PAGES = sorted([*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md")])
SOURCE = PROJECT / "src" / "slicebase"


def text_of(page: Path) -> str:
    return page.read_text()


def links(page: Path) -> Iterator[Path]:
    """Yields the files of the project that a page links to or shows."""
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text_of(page)):
        if "://" not in target:
            yield (page.parent / target).resolve()


def named(page: Path) -> str:
    return str(page.relative_to(PROJECT))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_what_a_page_links_to_is_there(page: Path) -> None:
    assert [str(target) for target in links(page) if not target.exists()] == []


def test_every_page_is_reached_by_links_from_the_readme() -> None:
    reached: set[Path] = set()
    ahead = [PROJECT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page not in reached and page.suffix == ".md" and page.exists():
            reached.add(page)
            ahead += links(page)
    assert [named(page) for page in PAGES if page not in reached] == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_path_or_module_that_a_page_names_exists(page: Path) -> None:
    text = text_of(page)
    paths = re.findall(r"`((?:src|tests|bench|docs|tools|examples)/[\w./-]*\w/?)`", text)
    examples = re.compile(r"ROOM|MODULE|chatlog")  # stand for names
    missing = [path for path in paths if not (PROJECT / path).exists() and not examples.search(path)]
    files = {"slicebase.db", "slicebase.js", "slicebase.mdc", "slicebase.toml"}
    modules = set(re.findall(r"\bslicebase(?:\.[a-z][a-z_0-9]*)+\b", text)) - files
    for name in modules:
        place = PROJECT / "src" / name.replace(".", "/")
        if not (place.is_dir() or place.with_suffix(".py").exists() or place.parent.with_suffix(".py").exists()):
            missing.append(name)
    assert missing == []


def test_the_readme_names_no_page_twice_in_its_table() -> None:
    rows = [line for line in text_of(PROJECT / "README.md").splitlines() if line.startswith("| [")]
    targets = [target for row in rows for target in re.findall(r"\]\(([^)]+)\)", row)]
    assert rows
    assert len(targets) == len(set(targets))


def test_the_map_of_rooms_has_every_room_with_its_subject_and_modules() -> None:
    rows = dict(
        re.findall(r"^\| `([\w/]+)/` \| (.*) \|$", text_of(PROJECT / "docs" / "architecture.md"), flags=re.MULTILINE)
    )
    rooms = {str(path.parent.relative_to(SOURCE)): path for path in SOURCE.rglob("__init__.py")}
    del rooms["."]
    assert rows.keys() == rooms.keys()
    for room, init in rooms.items():
        modules = sorted(path.stem for path in init.parent.glob("*.py") if path != init)
        expected = f"{ast.get_docstring(ast.parse(init.read_text()))} | {', '.join(f'`{name}`' for name in modules)}"
        assert rows[room] == expected, room


def test_the_map_of_the_database_has_every_table(truth: Truth) -> None:
    page = text_of(PROJECT / "docs" / "architecture.md")
    shown = page[page.index("### The database") :]
    query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    for (table,) in truth.database.connection.execute(query):
        assert re.search(rf"[ ,]{table}\b", shown), table


def test_the_importer_on_the_page_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", text_of(PROJECT / "docs" / "extending.md"), flags=re.DOTALL)
    space: dict[str, Any] = {}
    exec(compile(code, "docs/extending.md", "exec"), space)
    monkeypatch.setattr(formats, "FORMATS", (space["FORMAT"], *formats.FORMATS))
    data = (
        b'{"chat": "c1", "from": "ann", "text": "hello", "at": "2026-01-31T12:00:00Z"}\n'
        b'{"chat": "c1", "from": "ann", "text": "", "kind": "typing"}\n'
        b'{"chat": "c1", "from": "assistant", "text": "good day", "at": "2026-01-31T12:00:05Z"}\n'
        b'{"chat": "c2", "from": "ann", "text": 7}\n'
    )
    known = formats.recognise(ImportSource("log.jsonl", [data]))
    assert known is not None
    assert known.name == "chatlog"
    report = ImportReport()
    turns: list[Any] = []
    for batch in formats.Import(Options()).read(ImportSource("log.jsonl", [data]), known):
        report.add(batch)
        turns += batch.turns
    assert [(turn.session, turn.role, turn.tree_parent) for turn in turns] == [
        ("c1", "user", None),
        ("c1", "assistant", turns[0].id),
    ]
    assert (report.records, dict(report.others), report.count("skipped"), report.adds_up) == (4, {"typing": 1}, 1, True)
