"""What exported pages hold: the answers that their views ask for, under the addresses that the pages ask."""

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from slicebase.base import Slicebase
from slicebase.core.refs import parse
from slicebase.errors import SlicebaseError
from slicebase.library.exported import exported_files
from slicebase.runs.event import EventDraft
from slicebase.web import exports
from slicebase.web.api.table import ENDPOINTS
from slicebase.web.exports import address, export_html, exported_page
from tests.browser.memories import LONG, NOW, SHORT
from tests.verbs.test_chat import add

TURN = "2c95cb2b-f886-45d4-96e8-2595a5b1f061"


def values_of(page: bytes) -> dict[str, Any]:
    """Returns what a page holds."""
    found = re.search(rb'<script type="application/json" id="answers">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    values: dict[str, Any] = json.loads(found[1])
    return values


def page_of(root: Path, ref: str) -> dict[str, Any]:
    with Slicebase.open(root, root, create=False) as memory:
        return values_of(exported_page(memory, parse(ref), NOW))


@pytest.mark.parametrize(
    ("path", "values", "expected"),
    [
        ("/status", {}, "/api/v1/status"),
        ("/trees/{session:path}", {"session": "a b#agent-1/2", "limit": 5, "first": 0},
         "/api/v1/trees/a%20b%23agent-1/2?first=0&limit=5"),
        ("/files/{id}/neighbourhood", {"id": "(x)!", "infer": True, "depth": "1"},
         "/api/v1/files/(x)!/neighbourhood?depth=1&infer=true"),
        ("/why", {"ref": "claim:r~*/ü &=+c", "forward": False},
         "/api/v1/why?forward=false&ref=claim%3Ar%7E*%2F%C3%BC+%26%3D%2Bc"),
    ],
)  # fmt: skip
def test_an_address_is_written_as_a_browser_writes_it(path: str, values: dict[str, Any], expected: str) -> None:
    endpoint = next(each for each in ENDPOINTS if each.path == path)
    assert address(endpoint, values) == expected


def test_a_session_has_all_its_turns_branches_and_losses(root: Path) -> None:
    found = page_of(root, f"session:{LONG}")
    assert (found["address"], found["notes"]) == (f"/session/{LONG}", [])
    assert len(found["branches"]["turns"]) == 390
    assert f"/api/v1/trees/{LONG}?first=300&limit=100" in found["answers"]
    assert found["answers"][f"/api/v1/lost/{LONG}?limit=200"]["compactions"]
    assert "seen" not in found


def test_a_branch_is_the_path_that_the_server_shows(root: Path) -> None:
    with Slicebase.open(root, root, create=False) as memory:
        branches = values_of(exported_page(memory, parse(f"session:{SHORT}"), NOW))["branches"]
        assert len(branches["paths"]) > 1
        for turn, number in branches["path_of"].items():
            read = memory.graph.reading(turn, 200, 200)
            assert branches["paths"][number] == [[each.turn, each.beside] for each in read.turns]


def test_a_turn_is_its_session_with_the_slice_around_it(root: Path) -> None:
    found = page_of(root, f"turn:{TURN}")
    assert found["address"] == f"/session/{SHORT}?turn={TURN}&anchor={TURN}"
    first, limit = found["seen"]["first"], found["seen"]["limit"]
    drawn = found["answers"][f"/api/v1/slices/{TURN}/drawn?first={first}&limit={limit}"]
    with Slicebase.open(root, root, create=False) as memory:
        assert drawn["slice_id"] == memory.graph.select(f"turn:{TURN}").slice_id


def test_a_large_session_ends_early_and_says_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "TURNS", 100)
    found = page_of(root, f"session:{LONG}")
    assert found["notes"] == ["This page has the first 100 of 390 turns. `tt serve` shows everything."]
    assert len(found["branches"]["turns"]) == 100
    assert found["answers"][f"/api/v1/sessions/{LONG}"]["turns"] == 100


def test_a_page_says_that_it_does_not_have_all_branches(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slicebase.web.branches._MOST_PATHS", 1)
    found = page_of(root, f"session:{SHORT}")
    assert len(found["notes"]) == 1
    branches = found["branches"]
    assert set(branches["path_of"]) == {name for name, _ in branches["paths"][0]}  # of another turn, it shows none


def test_the_page_of_a_turn_in_a_large_session_has_the_turns_around_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "TURNS", 20)
    monkeypatch.setattr(exports, "_ROWS", 10)
    with Slicebase.open(root, root, create=False) as memory:
        late = memory.graph.tree(LONG, 300, 1).rows[0].turn
    found = page_of(root, f"turn:{late}")
    assert found["notes"][0].startswith("This page has turns 291 to 310 of ")
    assert (found["begin"], found["cut"]) == (290, True)
    assert f"/api/v1/trees/{LONG}?first=300&limit=10" in found["answers"]
    path = found["branches"]["paths"][found["branches"]["path_of"][late]]
    assert late in [name for name, _ in path]
    assert set(found["branches"]["turns"]) >= {name for name, _ in path}
    view = found["answers"][f"/api/v1/sessions/{LONG}"]
    assert {view["first"], view["last"]} <= set(found["branches"]["path_of"])


def test_what_opens_last_is_left_out_of_a_large_page(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Slicebase.open(root, root) as memory:
        log = memory.library.create("Log", "Long rows.", type="jsonl")
        for number in range(20):
            memory.library.remember(log.id, f"{number} " + "x" * 2000)
    whole = page_of(root, f"file:{log.id}")
    monkeypatch.setattr(exports, "_MOST_BYTES", 30_000)
    found = page_of(root, f"file:{log.id}")
    assert len(found["answers"]) < len(whole["answers"])
    assert found["notes"]
    assert not whole["notes"]


def test_the_page_of_a_long_text_with_many_sections_is_not_many_times_as_long(root: Path) -> None:
    text = "".join(f"## Part {number}\n\n{'Text. ' * 50}\n\n" for number in range(300))
    with Slicebase.open(root, root) as memory:
        short = memory.library.create("Short", "A short text.", body="# One\n\n## Two\n\n## Three\n\nEnd.\n")
        long = memory.library.create("Long", "A long text.", body=text)
        empty = memory.library.create("Empty", "No text.")
        pages = {each.id: len(exported_page(memory, parse(each.ref), NOW)) for each in (long, empty)}
    assert pages[long.id] - pages[empty.id] < 3 * len(text)
    answers = page_of(root, f"file:{short.id}")["answers"]
    assert sum("body?at=" in each for each in answers) == 3


def test_a_purged_text_is_not_in_a_page(root: Path) -> None:
    with Slicebase.open(root, root) as memory:
        assert b"ten-minute limit" in exported_page(memory, parse(f"session:{SHORT}"), NOW)
        for each in memory.graph.search('"ten-minute limit"', 50):
            memory.purge(each.ref, reason="a name")
        assert memory.graph.search('"ten-minute limit"', 50) == []
        assert b"ten-minute limit" not in exported_page(memory, parse(f"session:{SHORT}"), NOW)


def test_a_purge_names_the_page_that_a_session_was_exported_to(root: Path, tmp_path: Path) -> None:
    with Slicebase.open(root, root) as memory:
        export_html(memory, f"turn:{TURN}", tmp_path / "page.html")
        assert [(each.what, each.path) for each in exported_files(memory.workspace)] == [
            (SHORT, str(tmp_path / "page.html"))
        ]


@pytest.mark.parametrize("kind", ["run", "file", "mf"])
def test_a_purge_finds_what_it_takes_in_the_page_of_a_run_a_file_and_a_context(
    root: Path, tmp_path: Path, kind: str
) -> None:
    with Slicebase.open(root, root) as memory:
        told = "The customer Ada Example lives at Nowhere Street 4711, behind the mill."
        file = memory.library.create("Customers", "Who they are.", body=told)
        evidence = memory.cite(f"file:{file.id}", told)
        memory.runs.start("told", "Find her.", done="Found.")
        memory.runs.claim("told", "She lives there.", status="verified", cite=evidence)
        context = memory.context("Where does Ada Example live?", 2000)
        named = {"run": "run:told", "file": f"file:{file.id}", "mf": context.id}[kind]
        page = export_html(memory, named, tmp_path / "page.html")
        assert b"Nowhere Street" in page.read_bytes()
        report = memory.library.purge(file.id).purge
        assert report is not None
        assert {each.file for each in report.remnants} == {str(page)}
        assert any(str(page) in place for place in report.beyond) == (kind == "file")


def test_only_the_time_differs_between_two_pages(root: Path) -> None:
    with Slicebase.open(root, root, create=False) as memory:
        one, same, other = (exported_page(memory, parse(f"session:{SHORT}"), NOW + late) for late in (0, 0, 60))
    assert one == same
    assert one != other
    assert one.replace(values_of(one)["time"].encode(), values_of(other)["time"].encode()) == other


@pytest.mark.parametrize("kind", ["CLAIM", "CONFLICT", "QUESTION", "FAILURE", "NOTE"])
def test_a_run_whose_log_has_values_that_nothing_can_be_asked_with_has_a_page(root: Path, kind: str) -> None:
    """A stream is taken as it is (ruling 35)."""
    names = (
        "claim_id",
        "conflict_id",
        "failure_id",
        "question",
        "status",
        "kind",
        "evidence_refs",
        "side_a_refs",
        "blob",
    )
    with Slicebase.open(root, root) as memory:
        memory.runs.start("odd", "An aim", "When it is done")
        values: list[Any] = ["x" * 2000, "", None, 7, [], {}, [{"evidence_id": ""}], [{"evidence_id": "x" * 2000}]]
        for value in values:
            with suppress(SlicebaseError):  # no log takes this
                draft = EventDraft(type=kind, step=1, payload=dict.fromkeys(names, value))
                memory.truth.runs.append("odd", [draft], 0)
    found = page_of(root, "run:odd")
    assert found["answers"]["/api/v1/runs/odd"]["events"] > 1


def test_what_has_no_page_is_refused(root: Path) -> None:
    with Slicebase.open(root, root, create=False) as memory, pytest.raises(SlicebaseError) as caught:
        exported_page(memory, parse("ev_" + "0" * 32), NOW)
    assert caught.value.code == "bad-reference"


def test_a_fork_below_results_of_calls_made_at_once_has_the_path_of_the_server(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        add(memory, "uaattuu", [-1, 0, 1, 1, 2, 4, 4])  # the result 3 is beside the path, before 4, which forks
        branches = values_of(exported_page(memory, parse("session:calls"), NOW))["branches"]
        for turn, number in branches["path_of"].items():
            read = memory.graph.reading(turn, 200, 200)
            assert branches["paths"][number] == [[each.turn, each.beside] for each in read.turns]
