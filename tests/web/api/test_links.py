"""Links over HTTP, as lists and as a drawing."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from slicebase.files.grid import LONGEST_COLUMN
from slicebase.workspace.workspace import open_workspace
from tests.library.samples import put
from tests.web.api.test_files import ok, refused


@pytest.fixture(autouse=True)
def _library(root: Path) -> None:
    workspace = open_workspace(root, root)
    put(workspace, "a", links=[{"rel": "depends_on", "to": "b"}, {"rel": "see_also", "to": "lost-file"}])
    put(workspace, "b", links=[{"rel": "depends_on", "to": "c"}])
    put(workspace, "c")
    put(workspace, "d", links=[{"rel": "depends_on", "to": "a", "label": "for keys"}])


def test_links_go_both_ways_and_inferred_ones_say_from_what_they_follow(client: TestClient) -> None:
    found = ok(client, "/files/a/links")
    shown = [(each["rel"], each["outward"], each["end"]["id"], each["end"]["kind"]) for each in found["links"]]
    assert shown[:3] == [
        ("depends_on", True, "b", "file"),
        ("see_also", True, "lost-file", "missing"),
        ("depends_on", False, "d", "file"),
    ]
    inferred = [each for each in found["links"] if each["inferred"]]
    assert [(each["rel"], each["end"]["id"]) for each in inferred] == [("depends_on", "c")]
    assert inferred[0]["path"] == [
        {"source": "a", "rel": "depends_on", "target": "b"}, {"source": "b", "rel": "depends_on", "target": "c"},
    ]  # fmt: skip
    assert found["titles"] == {name: f"Title of {name}" for name in "abc"}
    assert not any(each["inferred"] for each in ok(client, "/files/a/links", infer="false")["links"])


def test_of_a_long_chain_each_link_has_the_beginning_of_its_path_and_its_length(client: TestClient, root: Path) -> None:
    workspace = open_workspace(root, root)
    for number in range(30):
        put(workspace, f"n{number}", links=[{"rel": "depends_on", "to": f"n{number + 1}"}])
    put(workspace, "n30")
    last = next(each for each in ok(client, "/files/n0/links")["links"] if each["end"]["id"] == "n30")
    assert (last["path_length"], len(last["path"])) == (30, 20)
    assert last["path"][0] == {"source": "n0", "rel": "depends_on", "target": "n1"}


def test_a_list_of_links_has_a_limit(client: TestClient) -> None:
    found = ok(client, "/files/a/links", limit=1)
    assert (len(found["links"]), found["total"]) == (1, 4)


def test_the_neighbourhood_has_places_on_a_grid(client: TestClient) -> None:
    found = ok(client, "/files/a/neighbourhood", depth=2, infer="false")
    places = {each["id"]: (each["column"], each["distance"]) for each in found["places"]}
    assert places == {"a": (1, 0), "b": (2, 1), "lost-file": (2, 1), "d": (0, 1), "c": (3, 2)}
    drawn = {(found["places"][each["source"]]["id"], found["places"][each["target"]]["id"]) for each in found["links"]}
    assert drawn == {("a", "b"), ("b", "c"), ("d", "a"), ("a", "lost-file")}
    assert (found["columns"], found["left_out"], found["depth"]) == (4, 0, 2)


def test_a_file_that_is_not_there_has_no_neighbourhood(client: TestClient) -> None:
    assert refused(client, "/files/nothing/neighbourhood") == (404, "no-file")
    assert refused(client, "/files/a/neighbourhood", depth=9) == (400, "bad-arguments")


def test_a_file_with_very_many_links_is_drawn_in_part(client: TestClient, root: Path) -> None:
    workspace = open_workspace(root, root)
    for number in range(200):
        put(workspace, f"n{number:03}", links=[{"rel": "depends_on", "to": "c"}])
    found = ok(client, "/files/c/neighbourhood", depth=3)
    assert found["depth"] == 1
    assert len(found["places"]) + found["left_out"] > 200
    assert found["rows"] == LONGEST_COLUMN
