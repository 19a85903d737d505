"""The text of a context: what it says besides its pieces is never read as a source (ruling 48)."""

from pathlib import Path

import pytest

from slicebase import Slicebase
from slicebase.context import manifest as manifests
from slicebase.context.manifest import heading, one_line
from slicebase.core.refs import as_words

TURN = "turn:00000000-0000-4000-8000-000000000000"


def test_a_reference_in_the_question_is_escaped_in_the_heading() -> None:
    assert TURN not in heading(f"what is {TURN}?", "2026-01-01T00:00:00Z")


@pytest.mark.parametrize("question", ["how are codes compared?", "why  3:1?\nand sn_?", "[a] is (b)"])
def test_the_heading_of_an_ordinary_question_is_the_question(question: str) -> None:
    assert as_words(question) == one_line(question)


def test_a_context_whose_heading_was_not_escaped_replays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Slicebase.init(tmp_path) as base:
        base.library.create("Herons", "Where they stand.", body="A heron stands at the lake.")
        with monkeypatch.context() as before:
            before.setattr(manifests, "as_words", one_line)
            old = base.context(f"where does the heron of {TURN} stand?", tokens=500)
        assert TURN in old.text
        again = base.replay(old.id)
        assert again.identical
        assert again.text == old.text


def test_the_beginning_of_an_id_at_the_cut_of_a_title_is_escaped(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as base:
        for length in range(80, 100):
            made = base.library.create("x" * length + " sn_" + "0" * 32, "A summary.", body="A text.")
            assert " sn_" not in base.library.recall(f"file:{made.id}").text
