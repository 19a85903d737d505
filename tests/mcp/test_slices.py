"""Context slices over MCP: those of the library, and why."""

from slicebase.mcp.tools import TOOLS, call_tool
from tests.mcp.conftest import Agent, tree


def test_a_slice_is_the_one_that_the_library_selects(one_agent: Agent) -> None:
    with one_agent.environment.open() as base:
        anchor = base.graph.turns(base.graph.sessions()[0].id)[5]
        known = base.graph.select(anchor.id, "focused")
    found = one_agent.result("slice", turn=anchor.ref, policy="focused", limit=200)
    assert {each["ref"] for each in found["turns"]} == {f"turn:{turn.id}" for turn in known.contents.turns}
    assert (found["slice_id"], found["export_hash"]) == (known.slice_id, known.export_hash)
    assert found["policy"] == known.policy_params_hash
    assert f"{anchor.ref} {anchor.role}" in found["text"]
    assert "(the anchor)" in found["text"]


def test_it_is_explained_why_a_turn_is_selected_or_left_out(one_agent: Agent) -> None:
    with one_agent.environment.open() as base:
        anchor = base.graph.turns(base.graph.sessions()[0].id)[5]
        known = base.graph.explain(anchor.id, base.graph.requested_policy({"max_nodes": 4}))
    found = one_agent.result("slice", turn=anchor.ref, policy={"max_nodes": 4}, explain=True)
    assert [each["ref"] for each in found["turns"] if "left_out" not in each] == [
        f"turn:{each.turn_id}" for each in known.selected
    ]
    assert [each["left_out"] for each in found["turns"] if "left_out" in each] == [each[1] for each in known.left_out]
    assert found["turns"][0]["reached"] == "anchor"


def test_a_server_that_only_reads_keeps_no_policy(one_agent: Agent) -> None:
    with one_agent.environment.open() as base:
        anchor = base.graph.turns(base.graph.sessions()[0].id)[5]
    before = tree(one_agent.environment.start)
    reader = one_agent.environment._replace(read_only=True)
    given = {"turn": anchor.id[:8], "policy": {"max_nodes": 3}}
    found = call_tool(reader, None, TOOLS["slice"], given).structured
    assert found["total"] == 3
    assert tree(one_agent.environment.start) == before
    assert one_agent.result("slice", **given)["slice_id"] == found["slice_id"]


def test_an_unknown_turn_or_policy_or_a_file_is_refused(one_agent: Agent) -> None:
    with one_agent.environment.open() as base:
        anchor = base.graph.turns(base.graph.sessions()[0].id)[5].ref
    assert one_agent.refusal("slice", turn="00000000-0000-4000-8000-000000000000") == "no-turn"
    assert one_agent.refusal("slice", turn=anchor, policy="./policy.json") == "unknown-policy"
    assert one_agent.refusal("slice", turn=anchor, policy={"max_nodes": "many"}) == "wrong-type"
