"""What references lead to, as a model should see it (ruling 7)."""

import json
from pathlib import Path

import pytest

from slicebase.base import Slicebase
from slicebase.core.hashing import digest
from slicebase.graph.turn import Part, Session, Turn
from slicebase.library import log_rows
from slicebase.library.logs import Logs
from slicebase.library.recall import Recall
from slicebase.truth.truth import open_truth
from slicebase.workspace.surroundings import Surroundings
from slicebase.workspace.workspace import LIBRARY
from tests.codes import code_of
from tests.conversations import purge_text
from tests.library.scratch import NOON, ScratchLibrary

TURN = "05ce3f25-3b45-539e-8730-509ea3dc8613"


@pytest.fixture
def scratch(tmp_path: Path) -> ScratchLibrary:
    return ScratchLibrary(tmp_path)


def seen(scratch: ScratchLibrary, *refs: str, **how: str) -> str:
    rows = how.get("rows", "active")
    return scratch.recall(refs, rows=rows).text  # type: ignore[arg-type]


def test_a_file_is_shown_without_its_frontmatter_fenced_and_labelled(scratch: ScratchLibrary) -> None:
    note = scratch.new("markdown", "# Title\n\n```\ncode\n```\n\n````\nmore\n````\n")
    text = seen(scratch, note)
    assert f"### Title · markdown · changed 2026-01-01 · FRESH · file:{note}\n\n`````text\n# Title\n" in text
    assert "slice:" not in text
    assert seen(scratch, f"file:{note}") == seen(scratch, note[:20]) == text


def test_a_log_shows_the_rows_that_hold_each_with_its_reference(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl", '{"text": "REST", "why": "simple", "n": 1}\n{"text": "Redis"}')
    old, redis = (row.id for row in scratch.rows(log))
    scratch.remember(log, "GraphQL", supersedes=[old])
    text = seen(scratch, log)
    assert f"· row:{log}/{redis}\n\n```text\nRedis\n```" in text
    assert "GraphQL" in text
    assert "REST" not in text
    everything = seen(scratch, log, rows="all")
    assert f'· superseded · row:{log}/{old}\n\n```text\nREST\n\nsimple\n\n{{"n":1}}\n```' in everything
    assert everything.index("REST") < everything.index("Redis") < everything.index("GraphQL")


def test_a_row_that_is_named_is_shown_whether_it_holds_or_not(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl", '{"text": "REST"}')
    old = scratch.rows(log)[0].id
    scratch.remember(log, "GraphQL", supersedes=[old])
    assert "· superseded ·" in seen(scratch, f"row:{log}/{old}")
    assert code_of(seen, scratch, f"row:{log}/01NO") == "no-row"


def test_many_rows_of_a_log_are_found_by_reading_it_once(
    scratch: ScratchLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A context has many rows of one log, and a log of 100,000 rows takes seconds to read."""
    log = scratch.new("jsonl", "\n".join(json.dumps({"text": f"fact {number}"}) for number in range(20)))
    scratch.remember(log, "another", supersedes=[scratch.rows(log)[3].id])
    names = [f"row:{log}/{row.id}" for row in scratch.rows(log)]
    with monkeypatch.context() as patched:
        patched.setattr(Recall, "_only_row", lambda *given: None)
        expected = [scratch.reader().own(name) for name in names]
    scratch.reader().own(names[0])
    with monkeypatch.context() as patched:
        patched.setattr(log_rows, "_read", None)  # it is not called again
        patched.setattr(Logs, "row", None)
        assert [scratch.reader().own(name) for name in names] == expected
    assert sum(" · superseded" in piece.label for piece in expected) == 1


def test_an_id_that_is_as_long_as_a_page_does_not_hide_the_log(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as base:
        base.library.create("Log", "Rows.", type="jsonl", id="log")
        path = tmp_path / LIBRARY / "log.slice"
        path.write_text(path.read_text() + json.dumps({"_meta": {"id": "y" * 3000}, "text": "Said."}) + "\n")
        piece = base.library.recall("log", tokens=200).excerpts[-1].piece
        assert piece.text == "Said."
        assert base.library.recall(piece.ref).excerpts[0].piece == piece


def test_rows_in_joined_files_are_one_log(scratch: ScratchLibrary) -> None:
    """Ruling 32."""
    one = scratch.new("jsonl", '{"text": "REST"}')
    two = scratch.new("jsonl", links=(("part_of", one),))
    scratch.remember(two, "GraphQL", supersedes=[scratch.rows(one)[0].id])
    for file_id in (one, two):
        assert "REST" not in seen(scratch, file_id)
        assert f"row:{two}/" in seen(scratch, file_id)


def test_a_section_is_shown_while_its_body_is_the_one_that_was_referred_to(scratch: ScratchLibrary) -> None:
    note = scratch.new("markdown", "# A\n\nfirst\n\n## B\n\nsecond\n")
    version = digest(scratch.file(note).body).removeprefix("sha256:")[:12]
    text = seen(scratch, f"sec:{note}@{version}#a/b")
    assert "second" in text
    assert "first" not in text
    assert code_of(seen, scratch, f"sec:{note}@{version}#c") == "no-section"
    scratch.remember(note, "third")
    assert code_of(seen, scratch, f"sec:{note}@{version}#a/b") == "drifted"


def test_a_turns_text_comes_from_the_truth(scratch: ScratchLibrary) -> None:
    truth = open_truth(scratch.workspace, create=True)
    turn = Turn(TURN, "s1", "assistant", (Part("text", "It was the retry."),), NOON, (), "sha256:" + "0" * 64)
    truth.turns.add(Session("s1", "graph"), [turn])
    text = seen(scratch, f"turn:{TURN}")
    assert (
        f"### assistant · 2026-01-01T12:00:00.000Z · session s1 · turn:{TURN}\n\n```text\nIt was the retry.\n" in text
    )
    purge_text(truth, "session:s1", turn.content_hash)
    truth.close()
    assert code_of(seen, scratch, f"turn:{TURN}") == "purged"
    assert code_of(seen, scratch, "turn:" + TURN.replace("0", "1")) == "no-turn"


def test_a_pointer_shows_its_summary_and_never_its_payload(scratch: ScratchLibrary, tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(b"secret payload")
    pointer = scratch.create("Dump", "2 GB of logs.", from_file=tmp_path / "data.bin").id
    text = seen(scratch, pointer)
    assert "2 GB of logs.\nuri: ../data.bin\nhash: sha256:" in text
    assert "secret payload" not in text


def test_age_archive_and_a_source_that_changed_are_in_the_label(scratch: ScratchLibrary) -> None:
    source = scratch.new("markdown", "One.")
    summary = scratch.new("markdown", "Sum.", links=(("derived_from", source),))
    assert f"derived from {source} ·" in seen(scratch, summary)
    scratch.remember(source, "Two.")
    assert f"derived from {source}, which has changed since" in seen(scratch, summary)
    scratch.path(source).unlink()
    assert f"derived from {source}, which is not here" in seen(scratch, summary)
    scratch.forget(summary)
    assert "· archived ·" in seen(scratch, summary)
    scratch.surroundings = Surroundings(scratch.workspace, lambda: NOON / 1000 + 400 * 86_400)
    assert "· DECAYED ·" in scratch.recall(summary).text


def test_a_part_that_is_missing_or_purged_is_named(scratch: ScratchLibrary) -> None:
    book = scratch.new("markdown", "A book.")
    scratch.define(book, ["links=[{rel: has_part, to: 01GONE, label: overflow}]"])
    assert "a part that is missing · file:01GONE" in seen(scratch, book)


def test_parts_that_name_each_other_are_shown_once(scratch: ScratchLibrary) -> None:
    one, two = scratch.new("markdown", "One."), scratch.new("markdown", "Two.")
    for this, that in ((one, two), (two, one)):
        scratch.connect(this, "has_part", that, label="overflow")
    assert seen(scratch, one).count("```text") == 2


def test_several_references_keep_their_order_across_pages(scratch: ScratchLibrary) -> None:
    ids = [scratch.new("markdown", f"Note {number}. " + "x" * 200) for number in range(6)]
    text = seen(scratch, *reversed(ids))
    assert text.index("Note 5") < text.index("Note 0")
    found = [scratch.recall(ids, tokens=250, page=page).text for page in (1, 2, 3)]
    assert "Note 0" in found[0]
    assert "Note 5" in found[2]
    assert code_of(scratch.recall, ids, tokens=250, page=4) == "no-page"


@pytest.mark.parametrize("ref", ["run:x", "session:x", "mf_" + "0" * 32, "doc:" + "0" * 16 + ":0-1"])
def test_what_has_no_text_of_its_own_is_refused(scratch: ScratchLibrary, ref: str) -> None:
    assert code_of(seen, scratch, ref) == "bad-reference"


def test_an_unknown_file_is_not_found(scratch: ScratchLibrary) -> None:
    assert code_of(seen, scratch, "01NO") == "no-file"
    assert code_of(seen, scratch, "row:01NO/x") == "no-file"


def test_rows_of_a_part_that_was_forgotten_stay_out_and_still_supersede(scratch: ScratchLibrary) -> None:
    one = scratch.new("jsonl", '{"text": "REST"}\n{"text": "Redis"}')
    two = scratch.new("jsonl", links=(("part_of", one),))
    scratch.remember(two, "GraphQL", supersedes=[scratch.rows(one)[0].id])
    scratch.forget(two)
    assert "Redis" in seen(scratch, one)
    assert "GraphQL" not in seen(scratch, one)
    assert "REST" not in seen(scratch, one)
    assert "GraphQL" in seen(scratch, two)
