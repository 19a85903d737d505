"""Notes of hooks: what one process changes in a note, another one at the same moment does not undo."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec.structs import replace

from slicebase.history.notes import Compacted, CompactedNotes, ContextNotes, SessionContext


def test_changes_at_the_same_moment_are_all_kept(tmp_path: Path) -> None:
    """Eight hooks each note a file of one session."""

    def add(number: int) -> None:
        def changed(note: SessionContext | None) -> SessionContext:
            kept = note or SessionContext()
            return replace(kept, files={**kept.files, str(number): "version"})

        ContextNotes(tmp_path / "cache").change("s1", changed)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    note = ContextNotes(tmp_path / "cache").get("s1")
    assert note is not None
    assert len(note.files) == 40


def test_a_hook_keeps_what_others_added_to_its_note(tmp_path: Path) -> None:
    notes = CompactedNotes(tmp_path / "cache")
    held = Compacted(worker=7)
    notes.put("s1", replace(held))
    notes.narrated("s1", "a-narrative", 7)
    other = notes.get("s1")
    assert other is not None
    other.ended = True
    notes.keep("s1", other)
    held.lost = True
    notes.keep("s1", held)
    now = notes.get("s1")
    assert now is not None
    assert (now.narrative, now.worker, now.ended, now.lost) == ("a-narrative", None, True, True)


def test_a_narrative_leaves_what_a_prompt_has_noted_meanwhile(tmp_path: Path) -> None:
    notes = CompactedNotes(tmp_path / "cache")
    notes.put("s1", Compacted(worker=7, lost=True))
    notes.narrated("s1", None, 8)
    assert notes.get("s1") is not None, "the process of another compaction"
    notes.narrated("s1", "a-narrative", 7)
    now = notes.get("s1")
    assert now is not None
    assert (now.narrative, now.lost) == ("a-narrative", True)
    notes.drop("s1")
    notes.narrated("s1", "a-narrative", 7)
    assert notes.get("s1") is None


def test_the_note_of_the_next_compaction_is_not_replaced_by_an_older_one(tmp_path: Path) -> None:
    notes = CompactedNotes(tmp_path / "cache")
    before = Compacted(made=1)
    notes.put("s1", before)
    notes.put("s1", Compacted(made=2, before=3))
    before.reported = True
    notes.keep("s1", before)
    now = notes.get("s1")
    assert now is not None
    assert (now.made, now.before, now.reported) == (2, 3, False)
