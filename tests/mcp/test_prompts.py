"""Prompts for the start of a session and its end, and routines."""

from mcp_types import TextContent

from tests.mcp.conftest import Agent

STEPS = '{"instruction": "Run the tests."}\n{"run": "make release", "note": "Only from main."}\n'


def prompt(agent: Agent, name: str, **arguments: str) -> str:
    (message,) = agent.ask(lambda client: client.get_prompt(name, arguments)).messages
    assert isinstance(message.content, TextContent)
    return message.content.text


def test_a_session_begins_with_what_changed_last_and_open_runs(agent: Agent) -> None:
    made = agent.result("create", title="Gateway", summary="About it.")
    agent.result("run", action="start", run="r", objective="Fix it.", done="Tests pass.")
    text = prompt(agent, "start_session")
    assert f"```text\nfile:{made['id']} Gateway: About it.\nrun:r open: Fix it.\n```" in text


def test_a_session_about_a_topic_begins_with_a_context(agent: Agent) -> None:
    agent.result("create", title="Gateway", summary="About it.", body="The gateway answers in ten seconds.")
    assert "# Context for: gateway" in prompt(agent, "start_session", topic="gateway")


def test_handing_over_a_run_includes_its_last_snapshot(agent: Agent) -> None:
    agent.result("run", action="start", run="r", objective="Fix the gateway.", done="Tests pass.")
    agent.result("run", action="compact", run="r")
    assert "Fix the gateway." in prompt(agent, "hand_over", run="r")
    assert "Fix the gateway." not in prompt(agent, "hand_over")


def test_a_routine_is_a_prompt(agent: Agent) -> None:
    made = agent.result("create", title="Release", summary="How to release.", type="routine", body=STEPS)
    listed = agent.ask(lambda client: client.list_prompts()).prompts
    assert [each.name for each in listed] == ["start_session", "hand_over", f"routine:{made['id']}"]
    assert listed[-1].title == "Release"
    assert "Run the tests." in prompt(agent, f"routine:{made['id']}")


def test_an_unknown_prompt_or_argument_is_refused_with_our_code(agent: Agent) -> None:
    def code(name: str, **arguments: str) -> str:
        return str(agent.protocol_error(lambda client: client.get_prompt(name, arguments))["code"])

    assert code("dance") == "bad-arguments"
    assert code("start_session", colour="red") == "bad-arguments"
    assert code("routine:nowhere") == "no-file"
    assert code("hand_over", run="nowhere") == "no-run"


def test_the_parts_of_a_routine_are_one_prompt(one_agent: Agent) -> None:
    made = one_agent.result("create", title="Release", summary="S.", type="routine", contract=["overflow=split"])
    for number in range(2):
        one_agent.result("remember", id=made["id"], text=f"Step {number}. " + "words " * 8000)
    names = [each.name for each in one_agent.ask(lambda client: client.list_prompts()).prompts]
    assert [name for name in names if name.startswith("routine:")] == [f"routine:{made['id']}"]
    text = prompt(one_agent, f"routine:{made['id']}")
    assert "1. Step 0." in text
    assert "2. Step 1." in text
