"""Compactions of stored sessions: which turns each removed from the context."""

from msgspec.structs import replace

from slicebase.graph.turn import Edge, Parent, Part, Session, Turn
from slicebase.history.compactions import compacted_sessions, compactions
from slicebase.truth.truth import Truth
from tests.conversations import name, purge_text, store
from tests.history.test_paths import ids, node, parallel


def summary(of: int, parent: int, session: str = "s") -> Turn:
    return node(of, parent, "system", Part("text", text=f"summary {of}", summary=True), session=session)


def before(truth: Truth, session: str = "s") -> list[list[str]]:
    return [[each.id for each in found.before] for found in compactions(truth, session).compactions]


def test_each_compaction_reaches_back_to_the_previous_one(truth: Truth) -> None:
    store(truth, [node(0, None), node(1, 0), summary(2, 1), node(3, 2), node(4, 3), summary(5, 4), node(6, 5)])
    assert before(truth) == [ids(0, 1), ids(3, 4)]
    assert compacted_sessions(truth) == ["s"]


def test_a_session_without_a_compaction_has_none(truth: Truth) -> None:
    store(truth, [node(0, None), node(1, 0, "system", Part("text", text="Compacted"))])
    assert before(truth) == []
    assert compacted_sessions(truth) == []


def boundary(of: int, parent: int) -> Turn:
    return node(of, parent, "system", Part("text", text="Conversation compacted"))


def test_a_boundary_without_a_summary_is_a_compaction_that_kept_nothing(truth: Truth) -> None:
    store(truth, [node(0, None), node(1, 0), boundary(2, 1), node(3, 2), node(4, 3), boundary(5, 4), summary(6, 5)])
    first, second = compactions(truth, "s").compactions
    assert [each.id for each in first.before] == ids(0, 1)
    assert [each.id for each in first.summary] == ids(2)
    assert (first.said, first.readable) == ("", False)
    assert [each.id for each in second.before] == ids(3, 4, 5)
    assert compacted_sessions(truth) == ["s"]


def test_a_boundary_waits_for_its_summary_until_somebody_speaks(truth: Truth) -> None:
    store(truth, [node(0, None), boundary(1, 0)])
    assert compactions(truth, "s").compactions == []
    assert compacted_sessions(truth) == []
    store(truth, [node(2, 1, "user", Part("text", text="go on"))])
    assert before(truth) == [ids(0)]
    assert compacted_sessions(truth) == ["s"]


def test_the_model_did_not_see_an_abandoned_branch(truth: Truth) -> None:
    store(truth, [node(0, None), node(1, 0), node(2, 0), summary(3, 2)])
    assert before(truth) == [ids(0, 2)]


def test_calls_and_results_beside_the_path_count(truth: Truth) -> None:
    store(truth, [node(0, None), *parallel(1, 0), summary(6, 5)])
    assert before(truth) == [ids(0, 1, 2, 3, 4, 5)]


def test_summaries_that_follow_one_another_are_one(truth: Truth) -> None:
    store(truth, [node(0, None), summary(1, 0), summary(2, 1), node(3, 2)])
    (found,) = compactions(truth, "s").compactions
    assert [each.id for each in found.summary] == ids(1, 2)
    assert [each.id for each in found.before] == ids(0)


def test_a_session_that_continues_another_sees_the_turns_of_that_one(truth: Truth) -> None:
    store(truth, [node(0, None), node(1, 0, session="t"), summary(2, 1, session="t"), node(3, 2, session="u")])
    assert before(truth, "t") == [ids(0, 1)]
    assert before(truth, "u") == [ids(0, 1)]


def test_a_reference_is_not_part_of_the_path(truth: Truth) -> None:
    agent = replace(node(1, None, session="t"), parents=(Parent(name(0), "reference"),))
    store(truth, [node(0, None), agent, summary(2, 1, session="t")])
    assert before(truth, "t") == [ids(1)]


def test_the_session_that_was_compacted_last_comes_first(truth: Truth) -> None:
    store(truth, [node(0, None), node(1, None, session="t"), summary(2, 1, session="t"), summary(3, 0)])
    assert compacted_sessions(truth) == ["s", "t"]


def test_a_purged_turn_is_empty(truth: Truth) -> None:
    store(truth, [node(0, None), node(1, 0), summary(2, 1)])
    purge_text(truth, "session:s", truth.turns.get(name(1)).record.content_hash)
    (found,) = compactions(truth, "s").compactions
    assert [bool(each.parts) for each in found.before] == [True, False]


def test_an_empty_session_has_no_compaction(truth: Truth) -> None:
    truth.turns.add(Session("empty", "test"), [])
    assert before(truth, "empty") == []


def test_of_several_links_the_parent_with_the_lowest_id_counts(truth: Truth) -> None:
    """As for the parents in a record; the order in which links arrived does not matter."""
    store(truth, [node(0, None), node(1, 0), node(2, 0), node(3, None), summary(4, 3)])
    lowest, other = sorted((1, 2), key=name)
    for parent in (lowest, other):
        truth.turns.link([Edge(name(parent), name(3), "reply")])
    assert before(truth) == [ids(0, lowest, 3)]
