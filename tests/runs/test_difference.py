"""What differs between two snapshots: added, changed and gone, for each kind."""

from typing import Any

from slicebase.runs.difference import QUESTIONS, items_differ
from tests.runs.made import claim, compacted, conflict, cycle, failure, question


def test_nothing_differs_between_a_snapshot_and_itself() -> None:
    made = compacted(*cycle(1), claim(), conflict(), failure(), question()).snapshot
    for collection in ("claims", "conflicts", "failures", QUESTIONS):
        found = items_differ(made, made, collection)
        assert (found.added, found.changed, found.gone, found.same) == ((), (), (), 1), collection


def test_a_claim_that_is_new_one_that_changed_and_the_others() -> None:
    before = compacted(claim("c1"), claim("c2", "candidate")).snapshot
    after = compacted(claim("c1"), claim("c2", "verified", statement="It is older."), claim("c3")).snapshot
    found = items_differ(before, after, "claims")
    assert [item["claim_id"] for item in found.added] == ["c3"]
    ((old, new, fields),) = found.changed
    assert (old["status"], new["status"], fields) == ("candidate", "verified", ("status", "statement"))
    assert found.same == 1


def test_the_numbers_of_snapshots_are_no_difference() -> None:
    made = compacted(claim()).snapshot
    later: dict[str, Any] = {
        **made,
        "state": {**made["state"], "claims": [{**made["state"]["claims"][0], "changed": 7}]},
    }
    assert items_differ(made, later, "claims").same == 1


def test_a_question_that_was_closed_is_gone() -> None:
    before = compacted(question("Who?"), question("When?")).snapshot
    after = compacted(question("Who?"), question("When?"), question("Who?", "closed"), question("Why?")).snapshot
    found = items_differ(before, after, QUESTIONS)
    assert (found.added, found.gone, found.same) == (("Why?",), ("Who?",), 1)
