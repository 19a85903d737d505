"""Who writes: what the environment tells about the agent, the session and the place of a write (§ Provenance).

`SIGNS` lists the variables that coding agents, build services and editors set for the programs that they start. Those
of Claude Code 2.1, Codex 0.166 and Gemini CLI 0.61 were read from these clients, in their shells and their MCP servers.

The person is the account of the operating system. It is always there, costs no process, and no repository can set it.
git's `user.name` is none of that (Gemini CLI even hides it from commands), and git keeps it with the commit anyway.
"""

import os
import pwd
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, Literal, NamedTuple

from slicebase.files.body.rows import Provenance

_Kind = Literal["agent", "job", "editor"]


class Sign(NamedTuple):
    """A variable that says what runs a command, and the variables that say more."""

    kind: _Kind
    variable: str
    title: str  # as `context` names it
    agent: str = ""  # as `agent` names it; empty where the variable holds the name
    value: str = ""  # of the variable; empty for any value that does not mean no
    session: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    user: str = ""  # who started the job


# The first sign of each kind counts. Amp also sets the variable of Claude Code, and Cursor that of VS Code.
SIGNS: Final = (
    Sign("agent", "AMP_CURRENT_THREAD_ID", "Amp", "amp", session=("AMP_CURRENT_THREAD_ID",)),
    Sign("agent", "CLAUDECODE", "Claude Code", "claude-code", session=("CLAUDE_CODE_SESSION_ID",)),
    Sign("agent", "CODEX_THREAD_ID", "Codex", "codex", session=("CODEX_THREAD_ID",), details=("CODEX_VERSION",)),
    Sign("agent", "CODEX_SANDBOX", "Codex", "codex", session=("CODEX_SESSION_ID",)),
    Sign("agent", "GEMINI_CLI", "Gemini CLI", "gemini-cli"),
    Sign("agent", "CURSOR_AGENT", "Cursor", "cursor", session=("CURSOR_TRACE_ID",)),
    Sign("agent", "AI_AGENT", "an agent"),
    Sign(
        "job", "GITHUB_ACTIONS", "GitHub Actions", "github-actions", session=("GITHUB_RUN_ID",),
        details=("GITHUB_WORKFLOW", "GITHUB_REPOSITORY"), user="GITHUB_ACTOR",
    ),
    Sign(
        "job", "GITLAB_CI", "GitLab CI", "gitlab-ci", session=("CI_JOB_ID",),
        details=("CI_JOB_NAME", "CI_PROJECT_PATH"), user="GITLAB_USER_LOGIN",
    ),
    Sign(
        "job", "CIRCLECI", "CircleCI", "circleci", session=("CIRCLE_WORKFLOW_ID", "CIRCLE_BUILD_NUM"),
        details=("CIRCLE_JOB", "CIRCLE_PROJECT_REPONAME"), user="CIRCLE_USERNAME",
    ),
    Sign(
        "job", "BUILDKITE", "Buildkite", "buildkite", session=("BUILDKITE_BUILD_ID",),
        details=("BUILDKITE_PIPELINE_SLUG",), user="BUILDKITE_BUILD_CREATOR",
    ),
    Sign(
        "job", "TF_BUILD", "Azure Pipelines", "azure-pipelines", session=("BUILD_BUILDID",),
        details=("BUILD_DEFINITIONNAME",), user="BUILD_REQUESTEDFOR",
    ),
    Sign("job", "JENKINS_URL", "Jenkins", "jenkins", session=("BUILD_TAG", "BUILD_ID"), details=("JOB_NAME",)),
    Sign(
        "job", "BITBUCKET_BUILD_NUMBER", "Bitbucket Pipelines", "bitbucket-pipelines",
        session=("BITBUCKET_BUILD_NUMBER",), details=("BITBUCKET_REPO_FULL_NAME",),
    ),
    Sign("job", "TRAVIS", "Travis CI", "travis-ci", session=("TRAVIS_BUILD_ID",), details=("TRAVIS_REPO_SLUG",)),
    Sign("job", "CI", "a build service", "ci"),
    Sign("editor", "CURSOR_TRACE_ID", "Cursor"),
    Sign("editor", "TERM_PROGRAM", "VS Code", value="vscode"),
)  # fmt: skip

# How a writer knows what it writes, unless it says so itself.
_SOURCES: Final[Mapping[_Kind, str]] = {"agent": "inference", "job": "observation"}
_STATED: Final = "user-statement"

_NO: Final = frozenset({"", "0", "false", "no", "off"})
_LONGEST: Final[Mapping[str, int]] = {"agent": 100, "session": 200, "context": 400}


class Writer(NamedTuple):
    """What is known about a writer that does not say it itself."""

    agent: str | None  # an agent or a job; None for a person
    user: str
    session: str | None
    source: str
    context: str

    def signed(self, given: Provenance, unnamed: str | None) -> Provenance:
        """Returns the provenance of a write: what was given, completed. `unnamed` is the setting for unnamed writers.

        How something is known belongs to the writer: where another one is named, it stays open.
        """
        named = given.agent or (unnamed if self.agent is None else None)
        return Provenance(
            agent=named or self.agent or self.user,
            session=given.session or self.session,
            source=given.source or (None if named else self.source),
            confidence=given.confidence,
            context=given.context or self.context,
        )


def writer(
    environment: Mapping[str, str], folder: str, redacted: Callable[[str], str], client: str | None = None
) -> Writer:
    """Returns who writes in a folder, according to the environment. `client` is the name of an MCP client.

    Whatever a variable holds becomes one short line without secrets.
    """

    @cache
    def read(name: str) -> str:
        return one_line(redacted(environment[name])) if environment.get(name) else ""

    found = {sign.kind: sign for sign in reversed(SIGNS) if _is_set(read(sign.variable), sign)}
    agent, job, editor = found.get("agent"), found.get("job"), found.get("editor")
    user = (read(job.user) if job and job.user else "") or _account()
    session = next((read(name) for sign in (agent, job) if sign for name in sign.session if read(name)), None)
    words = [f"{one_line(redacted(client))} over MCP for {user}"] if client else []
    words += [f"{_described(agent, read)} for {user}"] if agent and not client else []
    words += [f"in {_described(job, read)}" if words else f"{_described(job, read)} for {user}"] if job else []
    words += [f"in {editor.title}"] if editor and not words else []
    words.append(f"in the folder {one_line(folder)}")
    named = next((sign.agent or read(sign.variable) for sign in (agent, job) if sign), None)
    source = _SOURCES["agent"] if client else next((_SOURCES[sign.kind] for sign in (agent, job) if sign), _STATED)

    def kept(field: str, text: str | None) -> str | None:
        return _cut(redacted(text), _LONGEST[field]) if text else None

    return Writer(
        kept("agent", named),
        kept("agent", user) or "",
        kept("session", session),
        source,
        kept("context", ", ".join(words)) or "",
    )


def session_of(environment: Mapping[str, str]) -> str | None:
    """Returns the session of the agent or the job that runs this process, where its environment tells."""
    return writer(environment, "", lambda text: text).session


def one_line(text: str) -> str:
    """Returns a text without control characters and broken bytes, on one line."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def client_name(text: str, redacted: Callable[[str], str]) -> str:
    """Returns what an MCP client calls itself as a short line without secrets, as which it signs.

    It is cut after redaction: half a secret would not be recognised.
    """
    return _cut(redacted(one_line(redacted(text))), _LONGEST["agent"])


def _is_set(value: str, sign: Sign) -> bool:
    return value.lower() == sign.value if sign.value else value.lower() not in _NO


def _described(sign: Sign, read: Callable[[str], str]) -> str:
    details = [value for name in sign.details if (value := read(name))]
    details += [read(sign.variable)] if not sign.agent and sign.kind == "agent" else []
    return sign.title + (f" ({', '.join(details)})" if details else "")


def _account() -> str:
    """Returns the name of the account, or its number in a container that has no name for it."""
    try:
        return one_line(pwd.getpwuid(os.getuid()).pw_name)
    except KeyError:
        return f"uid {os.getuid()}"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
