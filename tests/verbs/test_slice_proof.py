"""A stored slice against a workspace: what is the same, what has grown since, and what contradicts it."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slicebase import Exit, Slicebase
from slicebase.graph.bundle import Bundle, snapshot_hash
from slicebase.graph.export import SliceExport, read_export
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.proof import SliceProof
from slicebase.graph.record import annotation_records
from slicebase.graph.turn import Edge, Phase
from slicebase.truth.truth import Truth
from slicebase.verbs.bundle import bundle_of
from slicebase.verbs.slice_proof import prove
from tests.amounts import MORE
from tests.codes import code_of
from tests.conversations import annotation, name, purge_text, salient, store, turn
from tests.graph.graphs import Graph, graphs, policies
from tests.truth.test_stored_graph import keep, renamed

OWN = SlicePolicyV1(max_nodes=3)
KEY = b"a key of twenty bytes"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path / "here") as made:
        store(made.truth, [turn("a", time=1000), turn("b", "a", time=2000), turn("c", "b", time=3000)])
        yield made


def forged(bundle: Bundle, export: SliceExport, **changes: Any) -> bytes:
    """Returns a bundle with another export, in which every hash was made again."""
    named = replace(export, slice_id=export.fingerprint)
    changed = replace(bundle, **changes, export=named.to_bytes().decode(), signature=None)
    return replace(changed, graph_snapshot_hash=snapshot_hash(named, changed.graph, changed.annotators)).to_bytes()


def changed_turn(proof: SliceProof, **fields: Any) -> SliceExport:
    first, *others = proof.export.turns
    return replace(proof.export, turns=(replace(first, **fields), *others))


def what(proof: SliceProof) -> list[str]:
    return [each.what for each in proof.drift]


def test_a_bundle_and_an_export_are_verified_where_they_were_made(memory: Slicebase) -> None:
    for policy in ("default", OWN):
        bundle = memory.graph.bundle(name("a"), policy, key=KEY)
        proof = memory.graph.verify(bundle.to_bytes(), key=KEY)
        assert (proof.status, proof.exit, proof.findings, proof.drift) == ("VERIFIED", Exit.DONE, (), ())
        assert bundle.export.encode() == memory.graph.select(name("a"), policy).export
    export = memory.graph.select(name("a"), OWN).export
    assert memory.graph.verify(export).status == "UNVERIFIABLE"  # nobody knows its policy
    assert memory.graph.verify(export, OWN).status == "VERIFIED"
    assert memory.graph.verify(export, "default").status == "BROKEN"


def test_a_workspace_without_its_turns_can_say_only_that_it_is_consistent(memory: Slicebase, tmp_path: Path) -> None:
    bundle = memory.graph.bundle(name("a")).to_bytes()
    with Slicebase.init(tmp_path / "elsewhere") as other:
        assert other.graph.verify(bundle).status == "CONSISTENT"
        store(other.truth, [turn("a", time=1000)])
        assert other.graph.verify(bundle).status == "UNVERIFIABLE"
        assert other.graph.verify(bundle).exit == Exit.UNVERIFIABLE


# Growth is drift


def test_a_graph_that_has_grown_is_drift_that_names_what_is_new(memory: Slicebase) -> None:
    stored = memory.graph.bundle(name("a")).to_bytes(), memory.graph.select(name("a")).export
    store(memory.truth, [turn("d", "c", time=4000)])
    for each in stored:
        proof = memory.graph.verify(each)
        assert (proof.status, proof.exit) == ("DRIFTED", Exit.DONE)
        assert [(drift.what, drift.refs) for drift in proof.drift] == [("new turns", (f"turn:{name('d')}",))]


def test_what_grows_outside_the_selection_changes_nothing(memory: Slicebase) -> None:
    bundle = memory.graph.bundle(name("a"), SlicePolicyV1(max_radius=1)).to_bytes()
    store(memory.truth, [turn("d", "c", time=4000)])
    assert memory.graph.verify(bundle).status == "VERIFIED"


def test_turns_that_were_annotated_again_are_drift(memory: Slicebase) -> None:
    stored = memory.graph.bundle(name("a")).to_bytes(), memory.graph.select(name("a")).export
    for record in annotation_records("s", [annotation(name("b"), salience=0.875)]):
        memory.truth.turns.annotate(record)
    for each in stored:
        assert memory.graph.verify(each).status == "DRIFTED"
        assert what(memory.graph.verify(each)) == ["new annotations"]


def test_an_edge_that_was_added_is_drift(memory: Slicebase) -> None:
    stored = memory.graph.bundle(name("a")).to_bytes(), memory.graph.select(name("a")).export
    memory.truth.turns.link([Edge(name("a"), name("c"), "reference")])
    for each in stored:
        assert memory.graph.verify(each).status == "DRIFTED"
        assert "new edges" in what(memory.graph.verify(each))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Truth]:
    truth = Truth(tmp_path_factory.mktemp("kept") / "slicebase.db", create=True)
    yield truth
    truth.close()


@settings(max_examples=25 * MORE)
@given(graphs(), policies(), st.data())
def test_no_growth_of_any_graph_is_called_broken(
    kept: Truth, drawn: Graph, policy: SlicePolicyV1, data: st.DataObject
) -> None:
    """Turns come in any order, in two parts. What was bundled after the first is verified then, and never broken."""
    graph = renamed(drawn)
    order = data.draw(st.permutations(range(len(graph.turns))))
    cut = data.draw(st.integers(1, len(order)))
    later = frozenset(data.draw(st.lists(st.sampled_from(graph.edges), max_size=2))) if graph.edges else frozenset()
    keep(kept, graph, [order[:cut]])
    anchor = graph.turns[data.draw(st.sampled_from(order[:cut]))].id
    bundle = bundle_of(kept, anchor, policy, KEY)
    export = bundle.export.encode()
    assert prove(kept, bundle.to_bytes(), key=KEY).status == "VERIFIED"
    keep(kept, graph, [order[cut:]] if cut < len(order) else [], later)
    proof = prove(kept, bundle.to_bytes(), key=KEY)
    assert proof.status in ("VERIFIED", "DRIFTED"), proof.findings
    bare = prove(kept, export, policy=policy)
    assert bare.status in ("VERIFIED", "DRIFTED"), bare.findings
    assert (proof.status == "VERIFIED") <= (kept.sessions.slice_around(anchor, policy).export == export)


def test_many_new_turns_that_push_out_the_old_ones_are_drift(memory: Slicebase) -> None:
    """A family grows: all its new members have a higher priority than the old ones."""
    policy = SlicePolicyV1(max_nodes=3)
    notes = [annotation(name(each), salience=0.0) for each in "abc"]
    for record in annotation_records("s", notes):
        memory.truth.turns.annotate(record)
    stored = memory.graph.bundle(name("a"), policy).to_bytes(), memory.graph.select(name("a"), policy).export
    new = [turn(f"n{each}", "a", time=9000) for each in range(12)]
    memory.truth.turns.add(
        memory.truth.turns.session("s"),
        new,
        lambda added: list(annotation_records("s", [annotation(each.id, salience=1.0) for each in added.turns])),
    )
    for each in stored:
        proof = memory.graph.verify(each, policy)
        assert (proof.status, what(proof)) == ("DRIFTED", ["new turns"])
        assert set(proof.drift[0].refs) <= {f"turn:{each.id}" for each in new}


# Contradictions


def test_what_the_records_contradict_is_broken_even_where_all_hashes_fit(memory: Slicebase) -> None:
    bundle = memory.graph.bundle(name("a"))
    proof = memory.graph.verify(bundle.to_bytes())
    for fields in ({"created_at": 7}, {"role": "tool"}, {"session_id": "t"}):
        assert memory.graph.verify(forged(bundle, changed_turn(proof, **fields))).status == "BROKEN"
    other = replace(bundle.graph.turns[0], content_hash=f"sha256:{'0' * 64}")
    around = replace(bundle.graph, turns=(other, *bundle.graph.turns[1:]))
    found = memory.graph.verify(forged(bundle, proof.export, graph=around))
    assert [each.check for each in found.findings] == ["content-hash"]


@settings(max_examples=25 * MORE)
@given(graphs(), policies(), st.data())
def test_what_is_forged_with_all_hashes_made_again_is_never_verified(
    kept: Truth, drawn: Graph, policy: SlicePolicyV1, data: st.DataObject
) -> None:
    """Without a signature: turns, edges, parents, siblings and contents are changed, and the result is some status."""
    graph = renamed(drawn)
    keep(kept, graph, [range(len(graph.turns))])
    bundle = bundle_of(kept, data.draw(st.sampled_from(graph.turns)).id, policy)
    export = prove(kept, bundle.to_bytes()).export
    left = {each.id for each in export.turns} - data.draw(st.sets(st.sampled_from([t.id for t in export.turns])))
    others = data.draw(st.lists(st.sampled_from([each.id for each in graph.turns]), max_size=2))
    turns = tuple(each for each in export.turns if each.id in left)
    given_turns = tuple(
        replace(each, parents=tuple(data.draw(st.sampled_from([each.parents, (), tuple(others)]))))
        for each in bundle.graph.turns
        if each.id in left
    )
    edges = tuple(each for each in export.edges if {each.parent, each.child} <= left and data.draw(st.booleans()))
    siblings = tuple(each for each in bundle.graph.siblings if data.draw(st.booleans()))
    around = replace(bundle.graph, turns=given_turns, siblings=siblings)
    found = replace(export, turns=turns, edges=edges)
    forgery = forged(bundle, found, graph=around)
    status = prove(kept, forgery).status
    named = replace(found, slice_id=found.fingerprint)
    bare = prove(kept, named.to_bytes(), policy=policy).status
    if forgery != bundle.to_bytes():
        assert status in ("DRIFTED", "BROKEN", "UNVERIFIABLE")
    if named != export:
        assert bare in ("DRIFTED", "BROKEN", "CONSISTENT", "UNVERIFIABLE") if turns else bare == "BROKEN"


@settings(max_examples=25 * MORE)
@given(graphs(), policies(), st.data())
def test_a_turn_that_was_taken_out_is_no_growth_unless_it_came_last(
    kept: Truth, drawn: Graph, policy: SlicePolicyV1, data: st.DataObject
) -> None:
    """All hashes are made again. Without a signature, only the order in which turns were stored tells it."""
    graph = renamed(drawn)
    keep(kept, graph, [range(len(graph.turns))])
    export = kept.sessions.slice_around(data.draw(st.sampled_from(graph.turns)).id, policy).contents
    places = {each.id: place for place, each in enumerate(graph.turns)}
    gone = data.draw(st.sampled_from(export.turns)).id
    left = tuple(each for each in export.turns if each.id != gone)
    edges = tuple(each for each in export.edges if gone not in (each.parent, each.child))
    found = replace(export, turns=left, edges=edges)
    status = prove(kept, replace(found, slice_id=found.fingerprint).to_bytes(), policy=policy).status
    if not left or gone == export.anchor_turn_id or places[gone] < max(places[each.id] for each in left):
        assert status in ("BROKEN", "UNVERIFIABLE", "CONSISTENT")
        assert (status == "CONSISTENT") <= (not left)


@settings(max_examples=25 * MORE)
@given(graphs(), policies(), st.data())
def test_a_parent_or_a_sibling_that_was_taken_out_of_a_bundle_is_no_growth_unless_it_came_last(
    kept: Truth, drawn: Graph, policy: SlicePolicyV1, data: st.DataObject
) -> None:
    graph = renamed(drawn)
    keep(kept, graph, [range(len(graph.turns))])
    bundle = bundle_of(kept, data.draw(st.sampled_from(graph.turns)).id, policy)
    export, around = prove(kept, bundle.to_bytes()).export, bundle.graph
    places, selected = {each.id: place for place, each in enumerate(graph.turns)}, {each.id for each in export.turns}
    others = {each.id for each in around.siblings} | {p for t in around.turns for p in t.parents if p not in selected}
    if not others:
        return
    gone = data.draw(st.sampled_from(sorted(others)))
    left = replace(
        around,
        turns=tuple(replace(t, parents=tuple(p for p in t.parents if p != gone)) for t in around.turns),
        siblings=tuple(
            replace(each, parents=tuple(p for p in each.parents if p != gone))
            for each in around.siblings
            if each.id != gone
        ),
    )
    status = prove(kept, forged(bundle, export, graph=left)).status
    if places[gone] < max(places[each] for each in selected):
        assert status in ("BROKEN", "UNVERIFIABLE")


def test_links_and_annotations_elsewhere_hide_no_turn_that_was_taken_out(memory: Slicebase) -> None:
    """What was added far from a slice changed nothing in it."""
    store(memory.truth, [turn("far", time=4000), turn("further", time=5000)])
    memory.truth.turns.link([Edge(name("far"), name("further"), "reference")])
    again = [annotation(name("far"), salience=0.875), annotation(name("c"), salience=salient(name("c")))]
    for record in annotation_records("s", again):
        memory.truth.turns.annotate(record)
    export = memory.graph.select(name("c")).contents
    left = tuple(each for each in export.turns if each.id != name("a"))
    edges = tuple(each for each in export.edges if name("a") != each.parent)
    found = replace(export, turns=left, edges=edges)
    assert memory.graph.verify(replace(found, slice_id=found.fingerprint).to_bytes()).status == "UNVERIFIABLE"
    bundle = memory.graph.bundle(name("c"))
    turns = tuple(
        replace(each, parents=tuple(above for above in each.parents if above != name("a")))
        for each in bundle.graph.turns
        if each.id != name("a")
    )
    data = forged(bundle, found, graph=replace(bundle.graph, turns=turns))
    assert memory.graph.verify(data).status in ("UNVERIFIABLE", "BROKEN")


@pytest.mark.parametrize("salience", [0.25, 0.5])
def test_a_sibling_that_came_after_many_others_is_no_sign_of_a_turn_that_was_taken_out(
    memory: Slicebase, salience: float
) -> None:
    """Whatever came between the last turn of a slice and the last sibling that it looked at changed nothing."""

    def add(many: Iterable[str], phase: Phase, score: float) -> None:
        new = [turn(each, "b", time=9000) for each in many]
        notes = [annotation(each.id, phase=phase, salience=score) for each in new]
        memory.truth.turns.add(memory.truth.turns.session("s"), new, lambda _: list(annotation_records("s", notes)))

    add(["y"], "planning", 0.5)
    add(["x"], "planning", 0.5)
    between = sorted((f"n{each}" for each in range(400)), key=name)
    add([each for each in between if name(each) > name("y")][:80], "debugging", salience)
    add(["late"], "exploration", 1.0)
    weights = replace(SlicePolicyV1().phase_weights, exploration=0.0)
    policy = SlicePolicyV1(phase_weights=weights, max_nodes=2, max_siblings_per_node=1)
    stored = memory.graph.bundle(name("x"), policy), memory.graph.select(name("x"), policy).export
    assert {each.id for each in stored[0].graph.siblings} == {name("late")}
    add(["later"], "planning", 1.0)
    for each in (stored[0].to_bytes(), stored[1]):
        proof = memory.graph.verify(each, policy)
        assert (proof.status, what(proof)) == ("DRIFTED", ["new turns"])


def test_an_annotation_that_never_was_is_broken(memory: Slicebase) -> None:
    bundle = memory.graph.bundle(name("a"))
    proof = memory.graph.verify(bundle.to_bytes())
    for fields in ({"salience": 0.125}, {"trajectory_depth": 7}, {"phase": "debugging"}):
        export = changed_turn(proof, **fields)
        named = replace(export, slice_id=export.fingerprint)
        for data in (forged(bundle, export), named.to_bytes()):
            assert [each.check for each in memory.graph.verify(data).findings] == ["annotation"]
    elsewhere = forged(bundle, changed_turn(proof, salience=0.125), annotators=("other/1",))
    assert memory.graph.verify(elsewhere).status == "UNVERIFIABLE"


def test_an_annotator_that_the_values_are_not_from_is_broken(memory: Slicebase) -> None:
    before = memory.graph.bundle(name("a"))
    again = replace(annotation(name("b"), salience=0.875), annotator="other/1")
    for record in annotation_records("s", [again]):
        memory.truth.turns.annotate(record)
    bundle = memory.graph.bundle(name("a"))
    assert len(bundle.annotators) == 2
    assert memory.graph.verify(before.to_bytes()).status == "DRIFTED"
    for made, annotators in ((before, bundle.annotators), (bundle, before.annotators), (before, ("other/1",))):
        export = read_export(made.export.encode())
        assert memory.graph.verify(forged(made, export, annotators=annotators)).status == "BROKEN"


def test_the_same_values_by_another_annotator_and_a_new_sibling_are_drift_that_names_them(memory: Slicebase) -> None:
    stored = memory.graph.bundle(name("a")).to_bytes()
    same = replace(annotation(name("b"), salience=salient(name("b"))), annotator="other/1")
    for record in annotation_records("s", [same]):
        memory.truth.turns.annotate(record)
    proof = memory.graph.verify(stored)
    drift = [(each.what, each.refs) for each in proof.drift]
    assert (proof.status, drift) == ("DRIFTED", [("new annotations", (f"turn:{name('b')}",))])
    store(memory.truth, [turn(each, "a", time=9000) for each in ("x", "y")])
    policy = SlicePolicyV1(max_nodes=1, max_siblings_per_node=4)
    beside = memory.graph.bundle(name("x"), policy).to_bytes()
    store(memory.truth, [turn("z", "a", time=9000)])
    proof = memory.graph.verify(beside)
    assert [(each.what, each.refs) for each in proof.drift] == [("new turns", (f"turn:{name('z')}",))]
    again = annotation(name("y"), salience=0.875)
    for record in annotation_records("s", [again]):
        memory.truth.turns.annotate(record)
    assert "new annotations" in what(memory.graph.verify(beside))


@pytest.mark.parametrize("column", ["salience = 0.015625", "kind = kind + 1", "annotator = 'x'"])
def test_a_table_that_contradicts_the_records_is_no_growth(memory: Slicebase, column: str) -> None:
    """Slices are read from tables that are made from the chains: `tt verify` compares those, row by row."""
    bundle, export = memory.graph.bundle(name("a")).to_bytes(), memory.graph.select(name("a")).export
    with memory.truth.database.writing() as connection:
        connection.execute(f"UPDATE nodes SET {column}")
    with Slicebase.open(memory.root) as again:
        assert again.graph.verify(bundle).status == "BROKEN"
        assert again.graph.verify(export).status == ("VERIFIED" if "annotator" in column else "BROKEN")


@pytest.mark.parametrize("rows", ["nodes", "nodes WHERE seq = 1", "shapes"])
def test_a_slice_whose_turns_lack_their_derived_rows_is_broken(memory: Slicebase, rows: str) -> None:
    bundle, export = memory.graph.bundle(name("a")).to_bytes(), memory.graph.select(name("a")).export
    with memory.truth.database.writing() as connection:
        connection.execute(f"DELETE FROM {rows}")
    with Slicebase.open(memory.root) as again:
        assert [again.graph.verify(each).status for each in (bundle, export)] == ["BROKEN", "BROKEN"]


def test_edges_that_were_removed_or_invented_are_broken(memory: Slicebase) -> None:
    export = memory.graph.select(name("a")).contents
    fewer = replace(export, edges=export.edges[1:])
    invented = Edge(export.turns[0].id, export.turns[1].id, "branch")
    more = replace(export, edges=tuple(sorted({*export.edges, invented})))
    for each in (fewer, more):
        proof = memory.graph.verify(replace(each, slice_id=each.fingerprint).to_bytes())
        assert "edges" in [finding.check for finding in proof.findings]
        assert (proof.status, proof.exit) == ("BROKEN", Exit.FINDINGS)


def test_a_selection_that_no_growth_explains_is_broken(memory: Slicebase) -> None:
    """The slice of a larger policy in the name of a smaller one, whose budget it keeps."""
    wide = memory.graph.select(name("a"), SlicePolicyV1(max_radius=2)).contents
    claimed = SlicePolicyV1(max_radius=1)
    named = replace(wide, policy_params_hash=claimed.params_hash)
    data = replace(named, slice_id=named.fingerprint).to_bytes()
    assert "selection" in [each.check for each in memory.graph.verify(data, claimed).findings]


def test_a_sibling_that_is_not_as_the_bundle_says_is_broken(memory: Slicebase) -> None:
    """A sibling that was looked at and not selected decides which others are."""
    store(memory.truth, [turn(each, "a", time=9000) for each in ("x", "y", "z")])
    policy = SlicePolicyV1(max_nodes=2, max_siblings_per_node=2)
    bundle = memory.graph.bundle(name("x"), policy)
    proof = memory.graph.verify(bundle.to_bytes())
    assert (proof.status, len(bundle.graph.siblings)) == ("VERIFIED", 2)
    first, *others = bundle.graph.siblings
    for changed in (replace(first, salience="0.125"), replace(first, parents=(*first.parents, name("c")))):
        around = replace(bundle.graph, siblings=(changed, *others))
        assert memory.graph.verify(forged(bundle, proof.export, graph=around)).status == "BROKEN"
    store(memory.truth, [turn("w", session="t")])
    away = replace(first, id=name("w"))
    around = replace(bundle.graph, siblings=tuple(sorted((*others, away), key=lambda each: each.id)))
    assert "graph" in [each.check for each in memory.graph.verify(forged(bundle, proof.export, graph=around)).findings]
    unknown = replace(first, id="f" * 8 + first.id[8:])
    around = replace(bundle.graph, siblings=tuple(sorted((*others, unknown), key=lambda each: each.id)))
    assert memory.graph.verify(forged(bundle, proof.export, graph=around)).status == "UNVERIFIABLE"


def test_a_slice_of_two_sessions_is_broken(memory: Slicebase) -> None:
    store(memory.truth, [turn("w", session="t")])
    here, there = (memory.graph.select(name(each)).contents for each in ("a", "w"))
    turns = sorted((*here.turns, *there.turns), key=lambda each: each.id)
    both = replace(here, turns=tuple(turns))
    proof = memory.graph.verify(replace(both, slice_id=both.fingerprint).to_bytes())
    assert [each.check for each in proof.findings] == ["session"]


def test_contents_that_were_purged_are_said_so(memory: Slicebase) -> None:
    bundle = memory.graph.bundle(name("a")).to_bytes()
    record = memory.truth.turns.get(name("b")).record
    purge_text(memory.truth, "session:s", record.content_hash)
    proof = memory.graph.verify(bundle)
    assert (proof.status, proof.exit, proof.findings) == ("PURGED", Exit.UNVERIFIABLE, ())


# The published kernel


def test_a_tie_that_the_kernel_breaks_otherwise_explains_its_slice(memory: Slicebase) -> None:
    children = sorted(name(each) for each in ("x", "y"))
    store(memory.truth, [turn("r", session="t")])
    memory.truth.turns.add(
        memory.truth.turns.session("t"),
        [turn(each, "r", session="t") for each in ("x", "y")],
        lambda added: list(annotation_records("t", [annotation(each.id) for each in added.turns])),
    )
    policy = SlicePolicyV1(max_nodes=2)
    export = json.loads(memory.graph.select(name("r"), policy).export)
    assert children[0] in [each["id"] for each in export["turns"]]
    text = json.dumps(export).replace(children[0], children[1]).replace('"user"', '"User"')
    named = json.loads(text)
    named["turns"].sort(key=lambda each: each["id"])
    ours = json.loads(text.replace('"User"', '"user"'))
    ours["turns"].sort(key=lambda each: each["id"])
    named["slice_id"] = ours["slice_id"] = read_export(json.dumps(ours).encode()).fingerprint
    proof = memory.graph.verify(json.dumps(named).encode(), policy)
    assert (proof.status, proof.explained, proof.findings) == ("VERIFIED", ("ties",), ())
    drifted = memory.graph.verify(json.dumps(ours).encode(), policy)
    assert drifted.explained == ()


# Files


def test_a_bundle_is_written_to_a_new_file_and_never_over_another(memory: Slicebase, tmp_path: Path) -> None:
    file = tmp_path / "slice.bundle"
    bundle = memory.graph.bundle(name("a"), to=file)
    assert file.read_bytes() == bundle.to_bytes()
    memory.graph.bundle(name("a"), to=file)  # the same bytes
    assert code_of(memory.graph.bundle, name("b"), to=file) == "file-exists"
    for other in (b"", bundle.to_bytes()[:-1], bundle.to_bytes() + b"\n", bytes(100_000)):
        file.write_bytes(other)
        assert code_of(memory.graph.bundle, name("a"), to=file) == "file-exists"
        assert file.read_bytes() == other
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "away")
    assert code_of(memory.graph.bundle, name("b"), to=link) == "file-exists"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["here", "link", "slice.bundle"]
