"""Staleness: by age and by hash, why and since when (§ Staleness)."""

from slicebase.core.times import to_text
from slicebase.index.entries import Filters
from slicebase.index.staleness import freshness_counts, stale_files
from slicebase.library.finder import Finder
from slicebase.workspace.surroundings import Surroundings
from slicebase.workspace.workspace import Workspace
from tests.library.samples import DAY, NOW, put, queries, rows


def changed(days: float) -> str:
    return to_text(NOW - round(days * DAY))


def at_now(workspace: Workspace) -> Finder:
    return Finder(workspace, Surroundings(workspace, lambda: NOW / 1000))


def reasons(workspace: Workspace, half_life: float = 90) -> dict[str, list[tuple[str, int | None]]]:
    found = at_now(workspace).stale(half_life)
    return {each.entry.id: [(why.kind, why.since) for why in each.reasons] for each in found}


def test_a_file_is_stale_from_its_half_life_on(workspace: Workspace) -> None:
    """Ruling 26: 0.5 is STALE."""
    put(workspace, "young", updated_at=changed(89.9))
    put(workspace, "due", updated_at=changed(90))
    put(workspace, "old", updated_at=changed(400))
    assert reasons(workspace) == {"old": [("age", NOW - 400 * DAY)], "due": [("age", NOW - 90 * DAY)]}
    assert set(reasons(workspace, half_life=30)) == {"young", "due", "old"}


def test_the_age_of_a_file_that_states_when_it_was_created_is_counted_from_then(workspace: Workspace) -> None:
    """Ruling 26: the tools of others write `created_at`, and the ids of their files need not be ULIDs."""
    put(workspace, "a", created_at=changed(100))
    put(workspace, "b", created_at=changed(100), updated_at=changed(1))
    put(workspace, "c", rows({"id": "r", "text": "x", "at": changed(1)}), type="jsonl", created_at=changed(400))
    assert reasons(workspace) == {"a": [("age", NOW - 100 * DAY)]}


def test_the_newest_row_counts(workspace: Workspace) -> None:
    put(workspace, "a", rows({"id": "r", "text": "x", "at": changed(1)}), type="jsonl", updated_at=changed(400))
    assert reasons(workspace) == {}


def test_a_derived_file_is_stale_when_its_source_has_another_hash(workspace: Workspace) -> None:
    put(workspace, "source", "one", updated_at=changed(5))
    current = Finder(workspace).info("source").entry.hash
    put(workspace, "summary", derived_from={"id": "source", "hash": current}, updated_at=changed(3))
    assert reasons(workspace) == {}
    put(workspace, "source", "two", updated_at=changed(2))
    assert reasons(workspace) == {"summary": [("source-changed", NOW - 2 * DAY)]}


def test_a_pointer_is_compared_by_the_hash_of_its_payload(workspace: Workspace) -> None:
    """Ruling 24."""
    payload = {"uri": "./x", "size": 1, "hash": "sha256:" + "1" * 64}
    put(workspace, "source", kind="pointer", type="none", payload=payload, updated_at=changed(1))
    put(workspace, "same", derived_from={"id": "source", "hash": payload["hash"]}, updated_at=changed(1))
    put(workspace, "other", derived_from={"id": "source", "hash": "sha256:" + "2" * 64}, updated_at=changed(1))
    assert {name: [kind for kind, _ in why] for name, why in reasons(workspace).items()} == {
        "other": ["source-changed"],
        "source": ["payload-missing"],
    }


def test_a_missing_source_is_reported(workspace: Workspace) -> None:
    put(workspace, "a", derived_from={"id": "gone", "hash": "sha256:" + "1" * 64}, updated_at=changed(1))
    assert reasons(workspace) == {"a": [("source-missing", None)]}


def test_a_narrative_is_compared_with_its_run(workspace: Workspace) -> None:
    """Ruling 41."""
    put(workspace, "a", derived_from={"id": "sn_" + "0" * 32, "hash": "sha256:" + "1" * 64}, updated_at=changed(1))
    assert reasons(workspace) == {}


def test_a_file_that_is_due_to_be_summarized_is_reported(workspace: Workspace) -> None:
    """Ruling 32."""
    put(workspace, "a", due="summarize", updated_at=changed(1))
    assert reasons(workspace) == {"a": [("due", None)]}


def test_archived_files_are_not_stale_unless_asked_for(workspace: Workspace) -> None:
    put(workspace, "a", updated_at=changed(400), archived={"at": changed(1)})
    assert reasons(workspace) == {}
    assert [each.entry.id for each in at_now(workspace).stale(90, Filters(archived=True))] == ["a"]


def test_a_log_with_parts_is_as_old_as_its_newest_part(workspace: Workspace) -> None:
    """Ruling 32: they are one log."""
    put(workspace, "log", updated_at=changed(400), links=[{"rel": "has_part", "to": "part", "label": "overflow"}])
    part_of = [{"rel": "part_of", "to": "log", "label": "overflow"}]
    put(workspace, "part", updated_at=changed(3), links=part_of)
    assert reasons(workspace) == {}
    put(workspace, "part", updated_at=changed(100), links=part_of)
    assert reasons(workspace) == {"log": [("age", NOW - 100 * DAY)]}


def test_files_are_counted_by_the_labels_that_their_ages_give_them(workspace: Workspace) -> None:
    for number, days in enumerate((0, 37, 38, 89, 90, 179, 181, 400)):
        put(workspace, f"f{number}", updated_at=changed(days))
    put(workspace, "archived", updated_at=changed(1), archived={"at": changed(0)})
    finder = at_now(workspace)
    counts = finder.index.ask(lambda connection: freshness_counts(connection, NOW, 90))
    assert counts == {"FRESH": 2, "AGING": 2, "STALE": 2, "DECAYED": 2}
    labels = [entry.as_json(NOW, 90)["freshness"]["label"] for entry in finder.list_files()]
    assert counts == {label: labels.count(label) for label in counts}


def test_stale_files_take_a_number_of_queries_that_does_not_grow_with_them(workspace: Workspace) -> None:
    counts = []
    put(workspace, "source", "one", updated_at=changed(1))
    for number in range(40):
        put(workspace, f"old{number}", updated_at=changed(400))
        put(workspace, f"derived{number}", derived_from={"id": "source", "hash": "sha256:0"}, updated_at=changed(1))
        put(workspace, f"lost{number}", derived_from={"id": "none", "hash": "sha256:0"}, updated_at=changed(1))
        if number in (0, 39):
            counts.append(queries(at_now(workspace), lambda connection: stale_files(connection, Filters(), NOW, 90)))
    assert len(reasons(workspace)) == 120
    assert counts[0] == counts[1]
