"""The default annotator (ruling 17)."""

import re
import struct
from collections import Counter
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import convert, to_builtins

from slicebase.core.hashing import canonical
from slicebase.graph.annotate import ANCESTORS, ANNOTATION_RULES, Rules, Trace, annotate, trace_of, words_in
from slicebase.graph.record import content_bytes
from slicebase.graph.turn import PHASES, Annotation, Parent, Part, Role, Turn, content

HOUR = 3_600_000


def turn(number: int, *parts: Part | str, role: Role = "user", time: int = 0, parents: tuple[Parent, ...] = ()) -> Turn:
    pieces = tuple(Part("text", text=part) if isinstance(part, str) else part for part in parts)
    return Turn(f"00000000-0000-4000-8000-{number:012}", "s", role, pieces, time, parents, "sha256:0")


def of(given: Turn, above: Trace | None = None, order: int = 0) -> Annotation:
    return annotate(given, above, order)[0]


FAILURE = Part("tool_result", text="exit 1", error=True)
CALL = Part("tool_call", name="Bash", arguments={"command": "ls"})


@pytest.mark.parametrize(
    ("parts", "role", "phase"),
    [
        (("Conversation compacted",), "system", "consolidation"),
        ((FAILURE,), "tool", "debugging"),
        ((Part("tool_result", text="ok"),), "tool", "exploration"),
        (("We decided to keep both limits.",), "user", "planning"),
        (("Decision: the key is the event's id.",), "user", "planning"),
        (("The root cause is the clock.",), "assistant", "synthesis"),
        ((Part("thinking", text="Found the bug: the jitter."),), "assistant", "synthesis"),
        (("Here's a summary of the changes.",), "assistant", "consolidation"),
        (("The test fails once in ten runs.",), "assistant", "debugging"),
        (("Next steps: settings, then a test.",), "assistant", "planning"),
        (("Reading the file.",), "assistant", "exploration"),
    ],
)
def test_phases_come_from_the_first_row_that_applies(parts: tuple[Any, ...], role: Role, phase: str) -> None:
    above = annotate(turn(1, "hello"), None, 0)[1]
    assert of(turn(2, *parts, role=role), above).phase == phase


def test_a_users_first_turn_sets_the_goal() -> None:
    assert of(turn(1, "Bread, all about it.")).phase == "planning"


def test_calls_below_a_failure_stay_debugging_until_there_is_text() -> None:
    _, trace = annotate(turn(1, FAILURE, role="tool"), None, 0)
    called, trace = annotate(turn(2, CALL, role="assistant"), trace, 0)
    assert called.phase == "debugging"
    said, trace = annotate(turn(3, "Looks fine now.", role="assistant"), trace, 0)
    assert said.phase == "exploration"
    assert of(turn(4, CALL, role="assistant"), trace).phase == "exploration"


def test_phrases_are_found_word_for_word_in_any_case_and_punctuation() -> None:
    assert of(turn(1, "WE DECIDED; so be it", role="assistant")).phase == "planning"
    assert of(turn(1, "undecided toads", role="assistant")).phase == "exploration"


def test_trajectory_fields_come_from_the_tree() -> None:
    root, trace = annotate(turn(1, "rye wheat barley", time=HOUR), None, 0)
    assert (root.depth, root.sibling_order, root.homogeneity, root.temporal) == (0, 0, 0.0, 0.0)
    child = of(turn(2, "rye wheat oats", time=2 * HOUR), trace, 3)
    assert (child.depth, child.sibling_order, child.homogeneity, child.temporal) == (1, 3, 0.5, 0.5)
    assert of(turn(2, "x", time=HOUR), trace).temporal == 1.0
    assert of(turn(2, "x", time=0), trace).temporal == 1.0  # the clock ran backwards


def test_salience_falls_when_nothing_new_is_said() -> None:
    text = "the bakery at the corner opens at seven and sells rye bread, rolls, cakes and strong coffee to early birds"
    first, trace = annotate(turn(1, text), None, 0)
    assert of(turn(2, text), trace).salience < first.salience


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("We decided to keep rye.", "We thought of keeping rye."),
        ("Actually the oven was cold.", "Perhaps the oven was cold."),
        ("It opens at 7.", "It opens at seven."),
    ],
)
def test_decisions_corrections_and_figures_weigh_more(more: str, less: str) -> None:
    assert of(turn(1, more)).salience > of(turn(1, less)).salience


def test_complexity_grows_with_words_calls_and_code() -> None:
    plain = of(turn(1, "a few words")).complexity
    assert of(turn(1, " ".join(f"word{n}" for n in range(200)))).complexity > plain
    assert of(turn(1, "a few words", CALL)).complexity > plain
    assert of(turn(1, "a few words", Part("code", text="few"))).complexity > plain


PARTS = st.builds(
    Part,
    type=st.sampled_from(["text", "thinking", "code", "tool_call", "tool_result", "pointer"]),
    text=st.none()
    | st.text(max_size=40)
    | st.sampled_from(["We decided to fix the bug", "root cause", "in summary 7"]),
    name=st.none() | st.just("f"),
    arguments=st.none() | st.just({"a": 1}),
    error=st.booleans(),
    hidden=st.booleans(),
)
TURNS = st.lists(
    st.tuples(
        st.sampled_from(["user", "assistant", "system", "tool"]),
        st.lists(PARTS, max_size=3),
        st.integers(-(10**12), 10**13),
        st.integers(0, 30),
    ),
    min_size=1,
    max_size=8,
)


def is_binary32(value: float) -> bool:
    return bool(struct.unpack("<f", struct.pack("<f", value))[0] == value)


def session(given: list[tuple[Role, list[Part], int, int]]) -> list[Turn]:
    """Returns a tree: each turn is a child of an earlier one."""
    turns: list[Turn] = []
    for number, (role, parts, time, above) in enumerate(given):
        parents = (Parent(turns[above % number].id),) if number else ()
        turns.append(turn(number, *parts, role=role, time=time, parents=parents))
    return turns


def annotated(turns: list[Turn]) -> dict[str, tuple[Annotation, Trace]]:
    known: dict[str, tuple[Annotation, Trace]] = {}
    children: Counter[str | None] = Counter()
    for each in turns:
        parent = each.tree_parent
        above = known[parent][1] if parent in known else None
        known[each.id] = annotate(each, above, children[parent])
        children[parent] += 1
    return known


@settings(max_examples=100, deadline=None)
@given(TURNS)
def test_every_value_is_one_that_a_graph_may_hold(given: list[Any]) -> None:
    """Ruling 14; fractions are binary32."""
    for annotation, _ in annotated(session(given)).values():
        assert annotation.phase in PHASES
        assert 0 <= annotation.salience <= 1
        assert 0 <= annotation.homogeneity <= 1
        assert 0 <= annotation.temporal <= 1
        assert annotation.complexity >= 0
        for value in (annotation.salience, annotation.homogeneity, annotation.temporal, annotation.complexity):
            assert is_binary32(value)


@settings(max_examples=100, deadline=None)
@given(TURNS, st.integers(1, 8))
def test_a_session_that_grows_never_changes_what_was(given: list[Any], cut: int) -> None:
    turns = session(given)
    whole, part = annotated(turns), annotated(turns[:cut])
    assert all(whole[turn_id] == known for turn_id, known in part.items())


@settings(max_examples=60, deadline=None)
@given(TURNS)
def test_a_trace_can_be_made_anew_from_stored_turns(given: list[Any]) -> None:
    turns = session(given)
    by_id = {each.id: each for each in turns}
    for turn_id, (annotation, trace) in annotated(turns).items():
        chain = [by_id[turn_id]]
        while (parent := chain[-1].tree_parent) is not None:
            chain.append(by_id[parent])
        assert trace_of(chain, annotation) == trace


def test_words_farther_back_than_the_window_are_new_again() -> None:
    trace = annotate(turn(0, "rye wheat barley"), None, 0)[1]
    for number in range(1, ANCESTORS + 1):
        trace = annotate(turn(number, "oats"), trace, 0)[1]
        assert len(trace.sketches) <= ANCESTORS
    fresh = of(turn(99, "rye wheat barley"), trace)
    assert fresh.salience > of(turn(99, "oats"), trace).salience


def test_a_reference_is_not_a_parent_in_the_tree() -> None:
    parents = (Parent("a", "reference"), Parent("b", "branch"))
    assert turn(1, "x", parents=parents).tree_parent == "b"
    assert turn(1, "x", parents=parents[:1]).tree_parent is None


def test_rules_are_plain_data_that_a_project_can_replace() -> None:
    own = convert(
        {**to_builtins(ANNOTATION_RULES), "annotator": "ours/1", "otherwise": "planning", "phases": []}, Rules
    )
    annotation, _ = annotate(turn(1, "hello", role="assistant"), None, 0, own)
    assert (annotation.annotator, annotation.phase) == ("ours/1", "planning")
    assert convert(to_builtins(ANNOTATION_RULES), Rules) == ANNOTATION_RULES


# Quick ways, beside the plain ones that define them


def plain_sketch(words: frozenset[str]) -> int:
    sketch = 0
    for word in words:
        sketch |= 1 << (crc32(word.encode("utf-8", "surrogatepass")) % 4096)
    return sketch


@given(st.text(st.one_of(st.characters(), st.sampled_from("aB1_ →é日ß\u2003\x1c\x85")), max_size=40))
def test_words_and_sketches_are_what_the_plain_ways_give(text: str) -> None:
    words = words_in(text)
    assert words == re.findall(r"[^\W_\u3040-\u9fff]+|[\u3040-\u9fff]", text.lower())
    assert annotate(turn(1, text), None, 0)[1].sketches[0] == plain_sketch(frozenset(words))


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e20, 1e20) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.tuples(st.text(max_size=8), values), max_size=3))
def test_the_bytes_of_a_content_are_canonical_json(given: list[tuple[str, Any]]) -> None:
    parts = tuple(Part("tool_call", text=text or None, name="x", arguments=arguments) for text, arguments in given)
    assert content_bytes("assistant", parts) == canonical(content("assistant", parts))
