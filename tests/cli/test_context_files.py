"""Contexts with pieces of slice files: rows and sections next to turns."""

from pathlib import Path

import pytest

from slicebase.core.refs import recorded
from tests.cli.conftest import Tt

NOW = "2126-11-15T00:00:00Z"  # after the files were written


@pytest.fixture
def notes(tt: Tt) -> tuple[Tt, str, str]:
    tt("init")
    body = "Intro.\n\n# Deployment\n\nWe deploy with blue and green zeppelins.\n\n# Testing\n\nTests run nightly.\n"
    page = tt("create", "--title", "Handbook", "--summary", "How we work.", "--body", body).out.strip()
    log = tt("create", "--title", "Decisions", "--summary", "What was decided.", "--type", "jsonl").out.strip()
    tt("remember", log, "The zeppelin budget is 100 crowns.")
    return tt, page, log


def pieces(tt: Tt, question: str) -> dict[str, str]:
    result = tt("context", question, "--as-of", NOW, "--json").json
    return {piece["ref"]: piece["label"] for piece in result["manifest"]["pieces"]}


def test_rows_and_sections_are_found_cited_and_replayed(notes: tuple[Tt, str, str]) -> None:
    tt, page, log = notes
    built = tt("context", "zeppelins budget", "--json").json
    refs = [piece["ref"] for piece in built["manifest"]["pieces"]]
    assert any(ref.startswith(f"row:{log}/") for ref in refs)
    assert any(
        ref.startswith(f"sec:{page}@") and ref == recorded(f"{ref.partition('#')[0]}#deployment") for ref in refs
    )
    assert not any(ref.endswith("#testing") for ref in refs[:2])
    assert tt("replay", built["manifest_id"]).out == built["text"]


def test_superseded_rows_and_archived_files_are_left_out(notes: tuple[Tt, str, str]) -> None:
    tt, _, log = notes
    old = next(ref for ref in pieces(tt, "zeppelin budget crowns") if ref.startswith("row:"))
    tt("remember", log, "The zeppelin budget is 200 crowns.", "--supersedes", old.partition("/")[2])
    found = pieces(tt, "zeppelin budget crowns")
    assert old not in found
    assert any(ref.startswith("row:") for ref in found)
    tt("forget", log)
    assert not any(ref.startswith("row:") for ref in pieces(tt, "zeppelin budget crowns"))


def test_stale_text_is_labelled(notes: tuple[Tt, str, str]) -> None:
    tt, _, _ = notes
    result = tt("context", "zeppelins", "--as-of", NOW, "--json").json
    assert all("DECAYED" in piece["label"] for piece in result["manifest"]["pieces"])


def test_an_edited_file_is_drift_and_its_old_text_is_still_replayed(notes: tuple[Tt, str, str], tmp_path: Path) -> None:
    """Rulings 42 and 44."""
    tt, page, _ = notes
    built = tt("context", "zeppelins", "--json").json
    assert tt("verify").exit == 0
    path = tmp_path / ".slices" / f"{page}.slice"
    path.write_text(path.read_text().replace("zeppelins", "balloons"))
    assert tt("replay", built["manifest_id"]).out == built["text"]
    verdict = tt("verify", "--json")
    assert verdict.exit == 0
    assert {(each["status"], each["check"]) for each in verdict.json["findings"]} == {("DRIFTED", "file")}


def test_the_index_of_chunks_is_disposable(notes: tuple[Tt, str, str], tmp_path: Path) -> None:
    tt, page, _ = notes
    before = tt("context", "zeppelins", "--as-of", NOW, "--json").json["manifest_id"]
    for path in (tmp_path / ".slicebase" / "cache").iterdir():
        path.unlink()
    assert tt("context", "zeppelins", "--as-of", NOW, "--json").json["manifest_id"] == before
    tt("define", page, "slice.title=Guide")
    assert "## Guide · file:" in tt("context", "zeppelins", "--as-of", NOW).out


def test_a_broken_file_does_not_exclude_the_others(notes: tuple[Tt, str, str], tmp_path: Path) -> None:
    tt, _, _ = notes
    (tmp_path / ".slices" / "broken.slice").write_bytes(b"---\nslice: [\n")
    assert pieces(tt, "zeppelins")
    assert tt("validate").exit == 1


def test_a_purge_leaves_no_byte_of_the_content_in_any_file(notes: tuple[Tt, str, str], tmp_path: Path) -> None:
    """Truth, index and caches: text that was found, recalled and kept by a manifest is gone, also from free pages and
    logs."""
    tt, page, log = notes
    assert tt("search", "deploy").exit == tt("context", "deployment budget").exit == 0
    for file_id in (page, log):
        assert tt("purge", file_id).exit == 0
    left = {
        (word, path.name)
        for word in (b"zeppelin", b"crowns", b"nightly", b"How we work")
        for path in tmp_path.rglob("*")
        if path.is_file() and word in path.read_bytes().lower() + path.read_bytes()
    }
    assert not left
    assert tt("search", "Handbook").exit == 0
    assert tt("verify").exit == 0
