"""Links of real files: by id and by path, to targets that exist and targets that do not."""

from typing import Any

import apsw

from slicebase.index.links import explore_files
from slicebase.library.finder import Finder
from slicebase.workspace.workspace import Workspace
from tests.codes import code_of
from tests.library.samples import put, queries, rows


def edges(finder: Finder, start: str, **options: Any) -> list[str]:
    return [" ".join(step.edge) for step in finder.explore(start, **options).walk.all()]


def test_ids_paths_and_references_to_a_file_are_the_same_place(workspace: Workspace) -> None:
    """Ruling 29: a slice file in the library counts as its id."""
    put(workspace, "b")
    targets = ("b", "./b.slice", "../.slices/b.slice", "file:b")
    for number, to in enumerate(targets):
        put(workspace, f"a{number}", links=[{"rel": "is_a", "to": to}])
    finder = Finder(workspace)
    for number in range(len(targets)):
        assert edges(finder, f"a{number}") == [f"a{number} is_a b"]
    assert edges(finder, "b", direction="in") == [f"a{number} is_a b" for number in range(len(targets))]


def test_a_file_that_is_renamed_keeps_the_links_by_path(workspace: Workspace) -> None:
    put(workspace, "b", name="other")
    put(workspace, "a", links=[{"rel": "is_a", "to": "./other.slice"}])
    finder = Finder(workspace)
    assert edges(finder, "a") == ["a is_a b"]
    (workspace.library / "other.slice").unlink()
    assert edges(finder, "a") == ["a is_a ./.slices/other.slice"]


def test_link_targets_show_their_kind(workspace: Workspace) -> None:
    (workspace.root / "docs").mkdir()
    (workspace.root / "docs" / "page.md").write_text("x")
    put(
        workspace,
        "a",
        links=[
            {"rel": "routes_to", "to": "../docs/"},
            {"rel": "see_also", "to": "../docs/page.md"},
            {"rel": "see_also", "to": "../docs/none.md"},
            {"rel": "see_also", "to": "gone"},
            {"rel": "see_also", "to": "row:b/r1"},
            {"rel": "see_also", "to": "https://example.org/x"},
        ],
    )
    places = Finder(workspace).explore("a").places
    assert {name: place.kind for name, place in places.items()} == {
        "a": "file",
        "./docs/": "path",
        "./docs/page.md": "path",
        "./docs/none.md": "missing",
        "gone": "missing",
        "row:b/r1": "reference",
        "https://example.org/x": "uri",
    }


def test_rows_state_links_as_long_as_they_hold(workspace: Workspace) -> None:
    put(workspace, "b")
    lines = rows(
        {"id": "r1", "text": "old", "links": [{"rel": "evidence_for", "to": "b"}]},
        {"id": "r2", "text": "new", "supersedes": ["r1"], "links": [{"rel": "evidence_against", "to": "b"}]},
    )
    put(workspace, "a", lines, type="jsonl")
    walk = Finder(workspace).explore("b", direction="in").walk
    assert [(" ".join(step.edge), step.row) for step in walk.all()] == [("a evidence_against b", "r2")]


def test_a_source_is_a_link(workspace: Workspace) -> None:
    put(workspace, "b")
    put(workspace, "a", derived_from={"id": "b", "hash": "sha256:" + "0" * 64})
    finder = Finder(workspace)
    assert edges(finder, "a") == ["a derived_from b"]
    assert edges(finder, "b", infer=True) == ["b source_of a"]


def test_an_unknown_start_is_not_found(workspace: Workspace) -> None:
    assert code_of(Finder(workspace).explore, "nope") == "no-file"


def test_info_shows_links_in_both_directions_and_findings(workspace: Workspace) -> None:
    put(workspace, "b", links=[{"rel": "is_a", "to": "a"}])
    put(workspace, "a", "x", links=[{"rel": "is_a", "to": "c"}], kind="nonsense")
    found = Finder(workspace).info("a")
    assert [each.edge.target for each in found.links_out] == ["c"]
    assert [each.edge.source for each in found.links_in] == ["b"]
    assert "kind" in {finding.rule for finding in found.findings}


def test_the_neighbours_of_a_file_are_read_at_once_however_many_there_are(workspace: Workspace) -> None:
    put(workspace, "hub")
    put(workspace, "f0", links=[{"rel": "part_of", "to": "hub"}])
    options: Any = {"direction": "both", "infer": True}

    def explored(connection: apsw.Connection) -> object:
        return explore_files(connection, workspace.root, "hub", **options)

    few = queries(Finder(workspace), explored)
    for number in range(1, 60):
        put(
            workspace, f"f{number}", links=[{"rel": "part_of", "to": "hub"}, {"rel": "see_also", "to": f"gone{number}"}]
        )
    assert queries(Finder(workspace), explored) == few
    assert len(Finder(workspace).explore("hub", **options).places) == 61
