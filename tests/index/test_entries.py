"""Lists of files, page by page."""

from functools import partial

import pytest

from slicebase.index.entries import (
    EVERY_FILE,
    FileEntry,
    FileOrder,
    FilePlace,
    Filters,
    get_file,
    get_files,
    page_of_files,
)
from slicebase.library.finder import Finder
from slicebase.workspace.workspace import Workspace
from tests.library.samples import put


@pytest.fixture
def finder(workspace: Workspace) -> Finder:
    for number, (title, kind) in enumerate(
        [("b", "text"), ("A", "yaml"), ("c", "text"), ("a", "markdown"), ("B", "text")]
    ):
        put(workspace, f"f{number}", title=title, type=kind, updated_at=f"2026-01-0{5 - number}T00:00:00.000Z")
    put(workspace, "same", title="a", updated_at="2026-01-05T00:00:00.000Z")
    put(workspace, "gone", title="z", archived={"at": "2026-01-09T00:00:00.000Z"})
    return Finder(workspace)


def pages(finder: Finder, order: FileOrder, limit: int, filters: Filters = EVERY_FILE) -> list[FileEntry]:
    found: list[FileEntry] = []
    after: FilePlace | None = None
    while True:
        page = finder.index.ask(partial(page_of_files, filters=filters, order=order, after=after, limit=limit))
        assert len(page.entries) <= limit
        found += page.entries
        if page.last is None:
            assert page.total == len(found)
            return found
        after = page.last


@pytest.mark.parametrize("limit", [1, 2, 6, 50])
def test_pages_one_after_the_other_are_the_list(finder: Finder, limit: int) -> None:
    assert pages(finder, "changed", limit) == finder.list_files()
    with_archived = Filters(archived=True)
    assert {each.id for each in pages(finder, "title", limit, with_archived)} == {
        each.id for each in finder.list_files(with_archived)
    }


def test_a_list_can_be_in_other_orders(finder: Finder) -> None:
    assert [each.id for each in pages(finder, "oldest", 2)] == ["f4", "f3", "f2", "f1", "f0", "same"]
    assert [each.title.lower() for each in pages(finder, "title", 2)] == ["a", "a", "a", "b", "b", "c"]
    assert [each.id for each in pages(finder, "type", 2)] == ["same", "f3", "f0", "f2", "f4", "f1"]


def test_a_page_passes_the_filters(finder: Finder) -> None:
    assert [each.id for each in pages(finder, "changed", 2, Filters(type="text"))] == ["f0", "f2", "f4"]


def test_files_that_are_read_together_are_those_that_are_read_one_by_one(workspace: Workspace, finder: Finder) -> None:
    put(workspace, "f0", name="another", title="a file with the same id")
    put(workspace, "x y", name="x1", title="first")
    put(workspace, "x y", name="x2", title="second")
    (workspace.library / "broken.slice").write_text("---\n")
    wanted = ["f0", "f1", "x y", "gone", "broken", "nothing", "", 'a "b" \\']
    asked = {name: finder.index.ask(partial(get_file, file_id=name)) for name in wanted}
    one_by_one = {name: entry for name, entry in asked.items() if entry}
    assert finder.index.ask(lambda connection: get_files(connection, wanted)) == one_by_one
    assert finder.index.ask(lambda connection: get_files(connection, ())) == {}
    assert [entry.name for entry in one_by_one.values()] == [
        f"{name}.slice" for name in ("f0", "f1", "x1", "gone", "broken")
    ]
