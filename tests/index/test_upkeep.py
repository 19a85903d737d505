"""The index is brought up to date with the truth: turns and texts are read together, as they would be one by one."""

from pathlib import Path

import pytest

from slicebase.base import Slicebase
from slicebase.index import wanted_turns
from slicebase.index.turn_schema import IndexedTurn
from slicebase.index.wanted_turns import WantedTurns

SAMPLES = Path(wanted_turns.__file__).parent.parent / "samples"
ALONE = "SELECT rowid, session, seq, record, NULL FROM turns WHERE rowid > ? AND rowid <= ? ORDER BY rowid"
OF_ANOTHER = """
SELECT rowid, session, seq, record,
  (SELECT bytes FROM texts WHERE owner = 'session:' || session AND bytes IS NOT NULL LIMIT 1)
FROM turns WHERE rowid > ? AND rowid <= ? ORDER BY rowid
"""


def turns_of(memory: Slicebase, after: int = 0) -> list[IndexedTurn]:
    wanted = WantedTurns(after, 10_000)
    return list(wanted_turns.wanted_turns(memory.truth, wanted, memory.turn_index.note_unreadable))


def test_turns_that_are_read_with_their_texts_are_those_that_are_read_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Slicebase.init(tmp_path) as memory:
        memory.import_([SAMPLES / "long-session.jsonl", SAMPLES / "claude-code-session.jsonl"])
        with monkeypatch.context() as patched:
            patched.delattr(wanted_turns, "text_of")  # no text is looked up by itself
            together, later = turns_of(memory), turns_of(memory, 400)
        monkeypatch.setattr(wanted_turns, "_WITH_TEXTS", ALONE)
        assert together == turns_of(memory)
        assert later == turns_of(memory, 400)
        assert len(together) > 400
        assert 0 < len(later) < len(together)


def test_a_text_counts_only_if_the_record_names_its_digest_where_the_query_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record that somebody has written in another form is read as it says."""
    with Slicebase.init(tmp_path) as memory:
        memory.import_([SAMPLES / "claude-code-session.jsonl"])
        right = turns_of(memory)
        monkeypatch.setattr(wanted_turns, "_WITH_TEXTS", OF_ANOTHER)
        monkeypatch.setattr(wanted_turns, "_DIGEST", slice(0, 1))
        assert turns_of(memory) == right
