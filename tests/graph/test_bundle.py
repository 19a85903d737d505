"""A bundle is enough to make its selection again, and every changed value of it is found."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slicebase.core.hashing import canonical, digest
from slicebase.errors import SlicebaseError
from slicebase.graph.bundle import AroundGraph, Bundle, graph_around, make_bundle, read_bundle, snapshot_hash
from slicebase.graph.export import read_export
from slicebase.graph.policy import FOCUSED, SlicePolicyV1
from slicebase.graph.proof import examine
from tests.amounts import MORE
from tests.codes import code_of
from tests.graph.graphs import Graph, golden_graph, graph, graphs, policies, tid, turn

KEY = b"a key of twenty bytes"
TIGHT = SlicePolicyV1(max_nodes=5, max_siblings_per_node=2)


def bundle_of(drawn: Graph, anchor: str, policy: SlicePolicyV1, key: bytes | None = None) -> Bundle:
    found = drawn.plain.context_slice(anchor, policy)
    contents = {each.id: digest(each.id.encode()) for each in drawn.turns}
    return make_bundle(found, graph_around(drawn.compact, found.contents, policy, contents), policy, key)


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    """A signed bundle with every part: several parents, and siblings that were looked at and not selected."""
    drawn = golden_graph("dag_100_quarter")
    made = (bundle_of(drawn, each.id, TIGHT, KEY) for each in drawn.turns)
    return next(each for each in made if each.graph.siblings and max(len(t.parents) for t in each.graph.turns) > 1)


def checks(data: bytes, key: bytes | None = KEY) -> list[str]:
    """Returns the names of failed checks, or the code of the refusal."""
    try:
        return [each.check for each in examine(data, key=key).findings]
    except SlicebaseError as error:
        return [error.code]


@settings(max_examples=60 * MORE)
@given(graphs(), policies(), st.data())
def test_the_selection_follows_from_the_bundle_of_any_graph(
    drawn: Graph, policy: SlicePolicyV1, data: st.DataObject
) -> None:
    anchor = data.draw(st.sampled_from(drawn.turns)).id
    made = bundle_of(drawn, anchor, policy)
    assert read_bundle(made.to_bytes()) == made
    assert examine(made.to_bytes()).proof().status == "CONSISTENT"
    assert made.export.encode() == drawn.plain.context_slice(anchor, policy).export
    assert len(made.graph.turns) + len(made.graph.siblings) <= policy.max_nodes * (1 + policy.max_siblings_per_node)


@settings(max_examples=20 * MORE)
@given(st.floats(0, 1, width=32), st.integers(2, 8), st.integers(1, 3))
def test_a_bundle_of_equal_siblings_is_consistent_whatever_their_salience(
    salience: float, children: int, limit: int
) -> None:
    """A salience is written as a decimal and means a binary32 number: else selected siblings differ from others."""
    turns = [turn(0), *(turn(number, "synthesis", salience) for number in range(1, children + 1))]
    family = graph(turns, *((0, number) for number in range(1, children + 1)))
    made = bundle_of(family, tid(children), SlicePolicyV1(max_nodes=2, max_siblings_per_node=limit))
    assert examine(made.to_bytes()).proof().status == "CONSISTENT"


def test_a_bundle_has_the_same_bytes_again_in_canonical_form(bundle: Bundle) -> None:
    assert canonical(json.loads(bundle.to_bytes())) == bundle.to_bytes()
    anchor = json.loads(bundle.export)["anchor_turn_id"]
    assert bundle_of(golden_graph("dag_100_quarter"), anchor, TIGHT, KEY).to_bytes() == bundle.to_bytes()


def test_a_family_of_a_bundle_is_ranked_once_however_many_of_its_turns_are_selected() -> None:
    """Whoever checks a bundle has not made it: its size is all that the check may take time for."""

    class Counted(AroundGraph):
        asked = 0

        def children(self, turn_id: str) -> list[str]:
            self.asked += 1
            return super().children(turn_id)

    drawn = graph([turn(n) for n in range(1, 60)], *((1, n) for n in range(2, 60)))
    made = bundle_of(drawn, tid(2), SlicePolicyV1(max_siblings_per_node=30))
    around = Counted(read_export(made.export.encode()), made.graph)
    for number in range(2, 60):
        for limit in (0, 7, None):
            assert list(around.siblings(tid(number), limit)) == list(drawn.plain.siblings(tid(number), limit))
    assert around.asked == 1


# Tampering


def changed(value: Any) -> Iterator[Any]:
    """Yields a JSON value with one change in it, for every value in it: another one, one less, or another order."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield {other: each for other, each in value.items() if other != name}
            yield from ({**value, name: each} for each in changed(inner))
        yield {**value, "further": 1}
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield [*value[:place], *value[place + 1 :]]
            yield from ([*value[:place], each, *value[place + 1 :]] for each in changed(inner))
        yield [*value, *(value[:1] or ["x"])]
        if value != value[::-1]:
            yield value[::-1]
    elif isinstance(value, str):
        flipped = value[:-1] + ("0" if value[-1:] != "0" else "1")
        yield from (flipped, value[:-1], value + "0", value.upper() if value != value.upper() else value.lower(), None)
    elif isinstance(value, bool) or value is None:
        yield not value
    else:
        yield from (value + 1, value / 2 + 0.015625, str(value))


def test_every_changed_value_of_a_bundle_is_found(bundle: Bundle) -> None:
    """Also inside the export, which is a text of its own; with the key, whatever else was changed to fit."""
    whole = json.loads(bundle.to_bytes())
    for each in changed(whole):
        if each != whole:
            assert checks(canonical(each)), each
    export = json.loads(bundle.export)
    for each in changed(export):
        text = json.dumps(each, separators=(",", ":"))
        if text != bundle.export:
            assert checks(canonical({**whole, "export": text}), None), each


@settings(max_examples=60 * MORE)
@given(st.data())
def test_every_changed_byte_of_a_bundle_is_found(bundle: Bundle, data: st.DataObject) -> None:
    good = bundle.to_bytes()
    at = data.draw(st.integers(0, len(good) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda each: each != good[at]))
    assert checks(good[:at] + bytes([byte]) + good[at + 1 :])
    assert checks(good[:at])
    assert checks(good + bytes([byte]))
    assert checks(good + b"\n")


def test_a_bundle_without_a_signature_is_found_by_its_hashes(bundle: Bundle) -> None:
    whole = json.loads(replace(bundle, signature=None).to_bytes())
    assert checks(canonical(whole), None) == []
    for name in ("annotators", "graph", "graph_snapshot_hash", "policy"):
        for each in changed(whole[name]):
            if each != whole[name]:
                assert checks(canonical({**whole, name: each}), None), (name, each)


def test_another_policy_and_another_selection_are_found_even_where_the_hashes_fit(bundle: Bundle) -> None:
    """Who changes a bundle that is not signed can make its hashes again, but not the selection."""
    export = examine(bundle.to_bytes(), key=KEY).export
    less = [each for each in export.turns if each.id != export.anchor_turn_id][-1].id
    fewer = replace(
        export,
        turns=tuple(each for each in export.turns if each.id != less),
        edges=tuple(each for each in export.edges if less not in (each.parent, each.child)),
    )
    named = replace(fewer, slice_id=fewer.fingerprint)
    around = replace(bundle.graph, turns=tuple(each for each in bundle.graph.turns if each.id != less))
    forged = replace(
        bundle,
        export=named.to_bytes().decode(),
        graph=around,
        graph_snapshot_hash=snapshot_hash(named, around, bundle.annotators),
        signature=None,
    )
    assert "selection" in checks(forged.to_bytes(), None) or "edges" in checks(forged.to_bytes(), None)
    other = replace(bundle, policy=FOCUSED.as_json(), signature=None)
    assert "policy-params-hash" in checks(other.to_bytes(), None)


def test_what_no_slice_has_is_found_even_where_the_hashes_fit(bundle: Bundle) -> None:
    """Another schema, annotators or parents in another order, and a sibling more than the selection looked at."""
    export, around = examine(bundle.to_bytes(), key=KEY).export, bundle.graph
    first = next(each for each in around.turns if each.parents)
    twice = tuple(replace(each, parents=each.parents * 2) if each == first else each for each in around.turns)
    more = replace(around.siblings[0], id="f" * 8 + around.siblings[0].id[8:], parents=())
    changes: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("schema-version", {"schema_version": "2.0.0"}, {}),
        ("annotators", {}, {"annotators": ()}),
        ("annotators", {}, {"annotators": (*bundle.annotators, *bundle.annotators)}),
        ("graph", {}, {"graph": replace(around, turns=twice)}),
        ("graph", {}, {"graph": replace(around, siblings=(*around.siblings, more))}),
    ]
    for check, of_export, of_bundle in changes:
        other = replace(export, **of_export)
        named = replace(other, slice_id=other.fingerprint)
        made = replace(bundle, **of_bundle, export=named.to_bytes().decode(), signature=None)
        hashed = replace(made, graph_snapshot_hash=snapshot_hash(named, made.graph, made.annotators))
        assert checks(hashed.to_bytes(), None) == [check]


# Signatures


def test_a_signature_is_checked_with_its_key(bundle: Bundle) -> None:
    data, unsigned = bundle.to_bytes(), replace(bundle, signature=None).to_bytes()
    assert checks(data) == []
    assert checks(data, KEY + b"!") == ["signature"]
    assert checks(unsigned) == ["signature"], "who gives a key wants a signature"
    assert examine(data).proof().status == "UNVERIFIABLE"
    assert examine(unsigned).proof().status == "CONSISTENT"


@pytest.mark.parametrize("key", [b"", b"short", b"x" * 15])
def test_a_key_that_is_too_short_signs_nothing(key: bytes) -> None:
    assert code_of(bundle_of, graph([turn(1)]), tid(1), TIGHT, key) == "weak-key"
