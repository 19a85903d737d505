"""Cited text in its place."""

from pathlib import Path

import pytest

from slicebase import Slicebase
from slicebase.errors import SlicebaseError
from slicebase.runs.records import Span
from slicebase.verbs.cited import cited_chunk, cited_place

TEXT = "before " * 100 + "the quoted words" + " after" * 100


@pytest.fixture
def memory(tmp_path: Path) -> Slicebase:
    return Slicebase.init(tmp_path / "w")


def test_a_quote_of_a_document_has_the_text_around_it_and_its_file(memory: Slicebase) -> None:
    path = memory.root / "text.txt"
    path.write_text(TEXT)
    added = memory.add(path)
    evidence = memory.cite(added.ref, "the quoted words")
    found = cited_place(memory, evidence.id, 20)
    assert (found.found.status, found.is_sound, found.file) == ("found", True, added.id)
    assert found.span is not None
    assert (found.before, found.after) == (TEXT[680:700], TEXT[716:736])
    assert found.span.start == TEXT.index("the quoted words")


SECRET = "ghp_" + "1a2B3c4D5e6F7g8H9i0J" + "kLmNoPqRsTuVwXyZ"


@pytest.mark.parametrize("cut", [0, 10])
def test_a_secret_of_a_document_is_not_shown_around_a_quote(memory: Slicebase, cut: int) -> None:
    path = memory.root / "text.txt"
    path.write_text(f"{TEXT} token = {SECRET} and more of it\n")
    chunk = memory.add(path).chunks[0]
    evidence = memory.cite(chunk.chunk_id, "the quoted words")
    end = chunk.text.index(SECRET)
    around = end - chunk.text.index("the quoted words") - len("the quoted words") + 10  # ends inside the secret
    place = cited_place(memory, evidence.id, around)
    pieces = cited_chunk(memory, chunk.chunk_id, Span(start=end, end=end + cut))
    for shown in (place.before + place.after, "".join(pieces)):
        assert SECRET[:10] not in shown
        assert SECRET[-10:] not in shown


def test_a_quote_that_moved_is_shown_where_it_is_now(memory: Slicebase) -> None:
    file = memory.library.create("Notes", "Some.", body="# One\n\nthe quoted words\n", type="markdown").file
    evidence = memory.cite(f"file:{file.id}", "the quoted words")
    path = memory.workspace.library / f"{file.id}.slice"
    path.write_text(path.read_text().replace("# One\n\n", "# One\n\nmore of it, then "))
    found = cited_place(memory, evidence.id, 10)
    assert found.found.status == "changed"
    assert found.before == " it, then "


def test_a_quote_that_is_gone_has_no_place(memory: Slicebase) -> None:
    file = memory.library.create("Notes", "Some.", body="# One\n\nthe quoted words\n", type="markdown").file
    evidence = memory.cite(f"file:{file.id}", "the quoted words")
    path = memory.workspace.library / f"{file.id}.slice"
    path.write_text(path.read_text().replace("the quoted words", "other words"))
    found = cited_place(memory, evidence.id)
    assert (found.found.status, found.span, found.before, found.after) == ("changed", None, "", "")
    assert found.found.quote == "the quoted words"


def test_evidence_that_is_not_there_is_an_error(memory: Slicebase) -> None:
    with pytest.raises(SlicebaseError) as raised:
        cited_place(memory, "ev_" + "0" * 32)
    assert raised.value.code == "no-evidence"
