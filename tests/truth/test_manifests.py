"""Manifests in the truth: stored once, found by id, the last one by its time, and their texts."""

import pytest

from slicebase.context import manifest as module
from slicebase.context.assemble import Candidate, assemble
from slicebase.context.manifest import Budget, Manifest, PinnedPiece, manifest_bytes
from slicebase.core.hashing import raw_digest
from slicebase.errors import SlicebaseError
from slicebase.truth.manifests import owner
from slicebase.truth.truth import Truth
from tests.conversations import purge_text, store, turn

EARLY, LATE = "2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"
TEXT = "the text of a row"


def manifest(question: str, corpus: str = "file:f") -> Manifest:
    candidate = Candidate("row:f/r", corpus, TEXT, "label", "group", (0, ""), 1, {})
    return assemble(question, EARLY, Budget(1000), [candidate], terms=(), ranker="r/1", filters={}).manifest


def record(truth: Truth, question: str, time: str = EARLY) -> str:
    return truth.manifests.record(manifest(question), time, {raw_digest(TEXT.encode()): TEXT.encode()})


def code_of(truth: Truth, name: str) -> str:
    with pytest.raises(SlicebaseError) as caught:
        truth.manifests.get(name)
    return caught.value.code


def test_a_manifest_is_stored_once_with_the_time_at_which_it_was_first_recorded(truth: Truth) -> None:
    name = record(truth, "why?")
    assert record(truth, "why?", LATE) == name
    assert truth.manifests.names() == [name]
    assert truth.manifests.get(name) == (manifest("why?"), EARLY)
    assert [each for each, _ in truth.manifests.readable()] == [name]


def test_the_newest_manifest_is_the_last_by_time_and_at_one_time_the_last_that_was_recorded(truth: Truth) -> None:
    with pytest.raises(SlicebaseError) as caught:
        truth.manifests.newest()
    assert caught.value.code == "no-manifest"
    late = record(truth, "late", LATE)
    record(truth, "early")
    assert truth.manifests.newest() == late
    also = record(truth, "also late", LATE)
    assert truth.manifests.newest() == also


@pytest.mark.sqlite
def test_a_manifest_that_is_unknown_purged_or_has_lost_its_text_says_so(truth: Truth) -> None:
    name, lost = record(truth, "why?"), record(truth, "lost")
    assert code_of(truth, "mf_0") == "no-manifest"
    connection = truth.database.connection
    (text,) = [row[0] for row in connection.execute("SELECT text FROM manifests WHERE manifest = ?", (name,))]
    purge_text(truth, owner(name), f"sha256:{text.hex()}")
    assert code_of(truth, name) == "purged"
    for (trigger,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {trigger}")
    connection.execute("DELETE FROM texts WHERE owner = ?", (owner(lost),))
    assert code_of(truth, lost) == "broken-record"
    assert list(truth.manifests.readable()) == []


@pytest.mark.sqlite
def test_a_manifest_that_is_not_the_one_that_was_recorded_is_not_replayed(truth: Truth) -> None:
    """Its rendered hash could be that of another text, which a replay would call identical."""
    name = record(truth, "why?")
    truth.database.connection.execute("DROP TRIGGER texts_fixed")
    truth.database.connection.execute(
        "UPDATE texts SET bytes = ? WHERE owner = ?", (manifest_bytes(manifest("how?")), owner(name))
    )
    assert code_of(truth, name) == "broken-record"
    assert [each for each, _ in truth.manifests.readable()] == [name]


def test_texts_of_a_file_are_those_that_manifests_keep_of_it(truth: Truth) -> None:
    name = record(truth, "why?")
    (piece,) = truth.manifests.get(name).manifest.pieces
    assert list(truth.manifests.texts_from("file:f")) == [(owner(name), piece.text_hash)]
    assert list(truth.manifests.texts_from("file:g")) == []


def test_texts_are_cut_from_what_is_stored_and_problems_say_what_happened(truth: Truth) -> None:
    name = record(truth, "why?")
    stored = truth.manifests.get(name).manifest
    (piece,) = stored.pieces
    assert truth.manifests.texts_of(name, stored) == ({piece.text_hash: TEXT}, [])
    other: PinnedPiece = manifest("why?", "session:s").pieces[0]
    texts, problems = truth.manifests.texts_of("mf_0", stored)
    assert (texts, [(each.status, each.found) for each in problems]) == ({}, [("BROKEN", "no text")])
    assert [each.source for each in problems] == [(owner("mf_0"), piece.text_hash)]
    assert other.corpus == "session:s"
    purge_text(truth, owner(name), piece.text_hash)
    texts, problems = truth.manifests.texts_of(name, stored)
    assert (texts, [each.status for each in problems]) == ({}, ["PURGED"])


def test_a_context_whose_turn_is_not_stored_here_cannot_be_recorded(truth: Truth) -> None:
    store(truth, [turn("a")])
    for each, is_known in ((turn("a"), True), (turn("b"), False)):
        candidate = Candidate(f"turn:{each.id}", "session:s", "text of a", "l", "g", (0, ""), 1, {})
        built = assemble("q", EARLY, Budget(1000), [candidate], terms=(), ranker="r/1", filters={})
        if is_known:
            truth.manifests.keep(built, 0)
            assert truth.manifests.get(built.id).time == "1970-01-01T00:00:00.000Z"
        else:
            with pytest.raises(SlicebaseError) as caught:
                truth.manifests.keep(built, 0)
            assert caught.value.code == "no-turn"


def test_a_context_of_many_turns_is_named_as_often_as_one_of_a_single_turn(
    truth: Truth, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its id is made from all its pieces: to make it for each of them takes the square of the time."""
    turns = [turn(f"t{number}") for number in range(5)]
    store(truth, turns)
    made: list[Manifest] = []

    def counted(given: Manifest) -> bytes:
        made.append(given)
        return manifest_bytes(given)

    monkeypatch.setattr(module, "manifest_bytes", counted)
    counts = []
    for some in (turns[:1], turns):
        offered = [Candidate(f"turn:{each.id}", "session:s", each.id, "l", "g", (0, ""), 1, {}) for each in some]
        built = assemble("q", EARLY, Budget(1000), offered, terms=(), ranker="r/1", filters={})
        assert len(built.manifest.pieces) == len(some)
        made.clear()
        truth.manifests.keep(built, 0)
        counts.append(len(made))
    assert counts[0] == counts[1] > 0
