"""Slice files, snapshots and manifests as resources."""

import json

from mcp_types import TextResourceContents

from slicebase.mcp.resources import PAGE
from slicebase.runs.snapshot import snapshot_id
from tests.mcp.conftest import Agent


def read(agent: Agent, uri: str) -> TextResourceContents:
    (content,) = agent.ask(lambda client: client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content


def test_a_file_is_read_fenced_and_labelled(agent: Agent) -> None:
    made = agent.result("create", title="Gateway", summary="About it.", body="It answers.")
    uri = f"slicebase://file/{made['id']}"
    (found,) = agent.ask(lambda client: client.list_resources()).resources
    assert (found.uri, found.mime_type) == (uri, "text/markdown")
    assert (found.name, found.title) == (f"file/{made['id']}", "Stored title: 'Gateway'")
    text = read(agent, uri).text
    assert text.startswith("Stored data")
    assert "```text\nIt answers.\n```" in text


def fenced(text: str) -> str:
    """Returns what is in the fence of a labelled text."""
    _, fence, rest = text.partition("```text\n")
    assert fence
    return rest.rpartition("\n```")[0]


def test_a_snapshot_is_read_as_the_json_that_its_id_proves(agent: Agent) -> None:
    agent.result("run", action="start", run="r", objective="Fix it.", done="Tests pass.")
    (name,) = agent.result("run", action="compact", run="r")["snapshots"]
    uri = f"slicebase://snapshot/{name}"
    assert uri in [each.uri for each in agent.ask(lambda client: client.list_resources()).resources]
    content = read(agent, uri)
    assert content.mime_type == "text/markdown"
    assert snapshot_id(json.loads(fenced(content.text))) == name


def test_a_purged_run_does_not_stop_the_listing(one_agent: Agent) -> None:
    made = one_agent.result("create", title="Gateway", summary="About it.")
    one_agent.result("run", action="start", run="r", objective="Fix it.", done="Tests pass.")
    (name,) = one_agent.result("run", action="compact", run="r")["snapshots"]
    with one_agent.environment.open() as base:
        base.purge("run:r")
    listed = one_agent.ask(lambda client: client.list_resources()).resources
    assert [each.uri for each in listed] == [f"slicebase://file/{made['id']}", f"slicebase://snapshot/{name}"]
    assert refused(one_agent, f"slicebase://snapshot/{name}") == "purged"


def test_a_manifest_shows_what_was_left_out(one_agent: Agent) -> None:
    built = one_agent.result("context", question="What did the tests say?", tokens=200)
    manifest = json.loads(fenced(read(one_agent, f"slicebase://manifest/{built['manifest_id']}").text))
    assert manifest["left_out"]["count"] == built["left_out"]


def test_there_is_a_template_for_each_kind(agent: Agent) -> None:
    templates = agent.ask(lambda client: client.list_resource_templates()).resource_templates
    assert {each.uri_template for each in templates} == {
        f"slicebase://{kind}/{{id}}" for kind in ("file", "snapshot", "manifest")
    }


def test_many_files_are_listed_in_pages(one_agent: Agent) -> None:
    environment = one_agent.environment
    with environment.open() as base:
        made = {base.library.create(f"File {n}", "One of many.").id for n in range(PAGE + 5)}
    first = one_agent.ask(lambda client: client.list_resources())
    assert len(first.resources) == PAGE
    second = one_agent.ask(lambda client: client.list_resources(cursor=first.next_cursor))
    assert second.next_cursor is None
    listed = [each.uri.removeprefix("slicebase://file/") for each in (*first.resources, *second.resources)]
    assert len(listed) == len(made)
    assert set(listed) == made


def refused(agent: Agent, uri: str) -> str:
    return str(agent.protocol_error(lambda client: client.read_resource(uri))["code"])


def test_a_missing_resource_is_an_error_of_the_protocol_with_our_code(agent: Agent) -> None:
    for uri, code in (
        ("slicebase://file/nowhere", "no-file"),
        ("slicebase://file/..%2F..%2Fetc", "bad-id"),
        ("slicebase://snapshot/nowhere", "bad-reference"),
        ("slicebase://snapshot/sn_" + "0" * 32, "no-snapshot"),
        ("slicebase://manifest/mf_" + "0" * 32, "no-manifest"),
        ("slicebase://cellar/1", "bad-reference"),
        ("file:///etc/passwd", "bad-reference"),
    ):
        assert refused(agent, uri) == code
