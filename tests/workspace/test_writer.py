"""Who writes, as the environment tells: agents, sessions, jobs and editors (§ Provenance)."""

import os
import pwd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.files.body.rows import Provenance
from slicebase.workspace.writer import SIGNS, Sign, Writer, client_name, session_of, writer

ME = pwd.getpwuid(os.getuid()).pw_name


def found(client: str | None = None, **environment: str) -> Writer:
    return writer(environment, "shop", lambda text: text.replace("hunter2", "[secret]"), client)


def test_a_person_is_known_by_the_account() -> None:
    assert found(HOME="/root", CLAUDECODE="", CI="false") == Writer(
        None, ME, None, "user-statement", "in the folder shop"
    )


def test_a_process_without_an_account_is_known_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)
    assert found().user == f"uid {2**31 - 7}"


@pytest.mark.parametrize("sign", SIGNS, ids=[sign.variable for sign in SIGNS])
def test_every_row_of_the_table_is_recognised_with_what_it_tells(sign: Sign) -> None:
    told = {name: f"the {name}" for name in (*sign.session[:1], *sign.details, *filter(None, [sign.user]))}
    environment = {**told, sign.variable: told.get(sign.variable) or sign.value or "true"}
    got = found(**environment)
    assert got.agent == (None if sign.kind == "editor" else sign.agent or "true")
    assert got.session == (environment[sign.session[0]] if sign.session else None)
    assert got.source == {"agent": "inference", "job": "observation", "editor": "user-statement"}[sign.kind]
    assert all(word in got.context for word in (sign.title, "in the folder shop", *map(told.get, sign.details)) if word)
    assert got.user == (told[sign.user] if sign.user else ME)
    assert found(**{**environment, sign.variable: "0" if not sign.value else "xterm"}).agent is None or sign.session


# What the clients set for the commands that they run, and for their MCP servers: read from Claude Code 2.1.325, Codex
# 0.166.0 and Gemini CLI 0.61.0.
CLAUDE = {
    "AI_AGENT": "claude-code_2-1-325_agent", "CLAUDECODE": "1", "CLAUDE_CODE_CHILD_SESSION": "1",
    "CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ID": "ee6417c5-5fd9-44b3-babf-9008733b74f9",
}  # fmt: skip
CODEX = {
    "CODEX_CI": "1", "CODEX_SESSION_ID": "01a1e3f6-2a61-7473-bbf3-69e1db24e4a8", "CODEX_VERSION": "0.166.0",
    "CODEX_THREAD_ID": "01a1e3f6-2a61-7473-bbf3-69e1db24e4a8", "CODEX_TOOL_CALL_ID": "call_1_0", "PAGER": "cat",
}  # fmt: skip
GEMINI = {"GEMINI_CLI": "1", "GEMINI_CLI_NO_RELAUNCH": "true", "GIT_CONFIG_GLOBAL": "/dev/null", "PAGER": "cat"}


@pytest.mark.parametrize(
    ("environment", "agent", "session", "context"),
    [
        (CLAUDE, "claude-code", CLAUDE["CLAUDE_CODE_SESSION_ID"], f"Claude Code for {ME}, in the folder shop"),
        (CODEX, "codex", CODEX["CODEX_THREAD_ID"], f"Codex (0.166.0) for {ME}, in the folder shop"),
        (GEMINI, "gemini-cli", None, f"Gemini CLI for {ME}, in the folder shop"),
        (
            {**CLAUDE, "TERM_PROGRAM": "vscode", "CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "7",
             "GITHUB_WORKFLOW": "Test", "GITHUB_REPOSITORY": "a/b", "GITHUB_ACTOR": "mona"},
            "claude-code",
            CLAUDE["CLAUDE_CODE_SESSION_ID"],
            "Claude Code for mona, in GitHub Actions (Test, a/b), in the folder shop",
        ),
    ],
)  # fmt: skip
def test_real_clients_are_recognised(
    environment: dict[str, str], agent: str, session: str | None, context: str
) -> None:
    assert found(**environment)[:3] == (agent, found(**environment).user, session)
    assert found(**environment).context == context
    assert session_of(environment) == session


def test_an_mcp_client_is_named_whatever_the_environment_tells() -> None:
    got = found("codex-mcp-client 0.166.0", TERM_PROGRAM="vscode")
    assert (got.source, got.context) == ("inference", f"codex-mcp-client 0.166.0 over MCP for {ME}, in the folder shop")


def test_what_is_given_wins_and_a_named_writer_says_itself_how_it_knows() -> None:
    person, agent = found(), found(**CLAUDE)
    assert person.signed(Provenance(), None) == Provenance(ME, None, "user-statement", None, "in the folder shop")
    assert person.signed(Provenance(), "the team").agent == "the team"
    assert agent.signed(Provenance(), "the team").agent == "claude-code", "the setting is for unnamed writers"
    assert agent.signed(Provenance("dom", "s", "observation", 0.5, "c"), None) == Provenance(
        "dom", "s", "observation", 0.5, "c"
    )
    assert agent.signed(Provenance(agent="reviewer"), None).source is None
    assert person.signed(Provenance(), "the team").source is None


_hostile = st.text(st.characters(max_codepoint=0x3000) | st.sampled_from("\x00\x1b\x07\u202e\udc80\n")) | st.just(
    "x" * 9000
)


@given(st.dictionaries(st.sampled_from([name for sign in SIGNS for name in (sign.variable, *sign.session)]), _hostile))
def test_whatever_variables_hold_becomes_short_lines(environment: dict[str, str]) -> None:
    got = found(**environment)
    for text, longest in ((got.agent, 100), (got.session, 200), (got.context, 400)):
        assert text is None or (text.isprintable() and len(text) <= longest and text == text.strip())


def test_a_secret_in_a_variable_is_not_kept() -> None:
    got = found(AI_AGENT="bot-hunter2", GITHUB_ACTIONS="true", GITHUB_RUN_ID="hunter2", GITHUB_WORKFLOW="hunter2")
    assert "hunter2" not in str(got)
    assert got.agent == "bot-[secret]"


@pytest.mark.parametrize("before", ["x" * 96, "x" * 194, "x" * 390, " " * 4090, "\n" * 9000])
def test_a_text_is_cut_after_its_secrets_are_replaced(before: str) -> None:
    """Half a secret would not be recognised."""
    told = before + "hunter2"
    got = found(told, AI_AGENT=told, CODEX_THREAD_ID=told, GITHUB_ACTIONS="true", GITHUB_WORKFLOW=told)
    assert "hu" not in str(got._replace(user=""))
    assert "hu" not in client_name(told, lambda text: text.replace("hunter2", "[secret]"))
