"""What a bundle shows is a boundary: references inside it are accepted, and only those."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from slicebase import Slicebase
from slicebase.graph.policy import SlicePolicyV1
from slicebase.mcp.calls import ServerEnvironment
from slicebase.mcp.tools import TOOLS, call_tool
from slicebase.verbs.shown import ShownTurns
from tests.codes import code_of
from tests.conversations import name, on_file, store, turn

KEY = b"a key of twenty bytes"
NEAR = SlicePolicyV1(max_radius=1)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path) as made:
        store(made.truth, [turn("a"), turn("b", "a"), turn("c", "b"), turn("d", "c")])
        made.runs.start("build", "Find out.", "Found.")
        yield made


@pytest.fixture
def bundle(memory: Slicebase) -> bytes:
    """Shows a and b, and neither c nor d."""
    return memory.graph.bundle(name("a"), NEAR).to_bytes()


def test_turns_are_inside_or_outside_in_every_spelling(memory: Slicebase, bundle: bytes) -> None:
    for shown, is_in in (("b", True), ("c", False)):
        whole = name(shown)
        refs = [f"turn:{whole}", whole, whole.upper(), f"turn:{whole[:8]}", whole[:8], whole[:13]]
        assert memory.graph.allowed(bundle, refs) == dict.fromkeys(refs, is_in)
    assert memory.graph.allowed(bundle, f"turn:{name('a')}") == {f"turn:{name('a')}": True}


def test_without_a_workspace_short_ids_are_those_of_the_bundle(bundle: bytes) -> None:
    shown = ShownTurns.in_bundle(bundle)
    assert shown.has(name("a")[:8])
    assert not shown.has(name("c")[:8])
    assert code_of(shown.has, name("a")[:7]) == "short-id"
    assert code_of(shown.has, f"ev_{'0' * 32}") == "no-workspace"


def test_evidence_is_inside_if_the_turn_that_it_quotes_is(memory: Slicebase, bundle: bytes) -> None:
    inside, outside = (memory.cite(name(each), span=(0, 4)).id for each in ("b", "d"))
    assert memory.graph.allowed(bundle, [inside, inside[:11], outside]) == {
        inside: True, inside[:11]: True, outside: False
    }  # fmt: skip
    assert code_of(memory.graph.allowed, bundle, [f"ev_{'0' * 32}"]) == "no-evidence"


def test_nothing_else_was_shown(memory: Slicebase, bundle: bytes) -> None:
    others = ["session:s", "run:build", "claim:build/c1", "file:01JZ", f"mf_{'0' * 32}", "mf_00000000", "row:log/1"]
    assert memory.graph.allowed(bundle, others) == dict.fromkeys(others, False)
    assert code_of(memory.graph.allowed, bundle, ["two words"]) == "bad-reference"


def test_a_bundle_that_is_broken_or_not_checked_bounds_nothing(memory: Slicebase, bundle: bytes) -> None:
    signed = memory.graph.bundle(name("a"), NEAR, key=KEY)
    assert code_of(memory.graph.allowed, signed.to_bytes(), []) == "no-key"
    assert memory.graph.allowed(signed.to_bytes(), [name("b")], key=KEY) == {name("b"): True}
    assert code_of(memory.graph.allowed, signed.to_bytes(), [], key=KEY + b"!") == "broken-bundle"
    changed = replace(signed, annotators=("other/1",), signature=None).to_bytes()
    assert code_of(memory.graph.allowed, changed, []) == "broken-bundle"


def test_a_citation_outside_the_bundle_is_refused_and_stores_nothing(memory: Slicebase, bundle: bytes) -> None:
    assert memory.cite(name("b"), "text of b", within=bundle).chunk_id == f"turn:{name('b')}"
    before = on_file(memory.truth).connection.total_changes()
    assert code_of(memory.cite, name("c"), "text of c", within=bundle) == "outside-bundle"
    assert code_of(memory.cite, "session:s", "text of c", within=bundle) == "outside-bundle"
    assert on_file(memory.truth).connection.total_changes() == before


def test_a_claim_cites_only_what_the_bundle_shows(memory: Slicebase, bundle: bytes) -> None:
    outside = memory.cite(name("d"), "text of d").id
    export = memory.graph.select(name("a"), "default").export
    events = len(list(memory.runs.events("build")))
    for cite in (outside, (name("d"), "text"), [(name("b"), "text of b"), outside]):
        assert code_of(memory.runs.claim, "build", "It is so.", cite=cite, within=bundle) == "outside-bundle"
    assert len(list(memory.runs.events("build"))) == events
    memory.runs.claim("build", "It is so.", status="verified", cite=(name("b"), "text of b"), within=bundle)
    memory.runs.claim("build", "It is so, too.", status="verified", cite=outside, within=ShownTurns.in_bundle(export))
    assert memory.runs.compact("build").snapshots


def test_the_agent_of_a_bounded_server_claims_and_logs_only_what_was_shown(memory: Slicebase, bundle: bytes) -> None:
    """Whatever pointers it sends: the boundary belongs to the server."""
    inside, outside = (memory.cite(name(each), span=(0, 4)) for each in ("b", "d"))
    environment = ServerEnvironment(memory.root, None, "s", within=ShownTurns.in_bundle(bundle))

    def call(verb: str, **arguments: object) -> object:
        return call_tool(environment, None, TOOLS["run"], {"run": "build", "action": verb, **arguments})

    assert call("claim", statement="So.", evidence=[{"ref": inside.id}])
    assert code_of(call, "claim", statement="So.", evidence=[{"ref": outside.id}]) == "outside-bundle"
    for pointer in ({"chunk_id": outside.chunk_id}, {"evidence_id": outside.id, "chunk_id": inside.chunk_id}):
        side = {"evidence_id": inside.id, "chunk_id": inside.chunk_id, "span": {"start": 0, "end": 4}}
        payload = {"description": "Two things.", "side_a": [side], "side_b": [{**side, **pointer}]}
        assert code_of(call, "log", events=[{"type": "NOTE", "payload": payload}]) == "outside-bundle"
    assert call("log", events=[{"type": "NOTE", "payload": {"side": [{"evidence_id": inside.id}]}}])
