"""The hooks as the client calls them: a process with the documented JSON on stdin, and JSON on stdout."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from slicebase.agents.clients import CLIENTS
from slicebase.agents.hook_failures import HookFailure, HookFailures
from slicebase.base import Slicebase
from slicebase.cli import hooks
from slicebase.core.hashing import tokens
from slicebase.history.inputs import SAMPLE
from slicebase.history.notes import Compacted
from slicebase.workspace.settings import Settings
from tests.cli.conftest import Tt
from tests.context.rendered import pieces_in
from tests.context.transcripts import Transcript
from tests.paths import PROJECT, SHARED
from tests.warm import warm_programs

COMPACTED = SHARED / "data" / "claude-code" / "compacted"
EVENTS = CLIENTS["claude-code"].events
needs_data = pytest.mark.skipif(not COMPACTED.exists(), reason="the shared transcripts are not here")


class Answer(NamedTuple):
    exit: int
    out: str
    err: str

    @property
    def context(self) -> str:
        result = json.loads(self.out)["hookSpecificOutput"]
        assert set(result) == {"hookEventName", "additionalContext"}
        return str(result["additionalContext"])


def call(event: str, given: object, *options: str, cwd: Path = PROJECT) -> Answer:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SLICEBASE", "CLAUDE"))}
    done = subprocess.run(
        [warm_programs() / "tt", "hook", "run", event, *options],
        input=given if isinstance(given, bytes) else json.dumps(given).encode(),
        capture_output=True,
        cwd=cwd,
        env=environment,
        check=False,
    )
    return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "a pro'ject"
    folder.mkdir()
    Slicebase.init(folder)
    return folder


def given(project: Path, transcript: Path, session: str, **more: str) -> dict[str, Any]:
    return {"session_id": session, "transcript_path": str(transcript), "cwd": str(project), **more}


def turns(project: Path, session: str) -> int:
    with Slicebase.open(project) as base:
        return {each.id: each.turns for each in base.graph.sessions()}.get(session, 0)


def test_the_narrative_after_a_compaction_has_its_end_however_long_it_is(project: Path) -> None:
    made = Transcript()
    wrong = "Part {0} drops the last line of its input because the buffer of reader_{0} is too small."
    made.user("What is wrong with the parts?")
    made.say("\n\n".join(map(wrong.format, range(60))))
    made.user("Which of them is the worst?")
    transcript = project / "long.jsonl"
    transcript.write_text(made.as_claude_code("s"))
    asked = given(project, transcript, "s")
    assert call("PreCompact", asked, "--wait") == Answer(0, "", "")
    context = call("SessionStart", {**asked, "source": "compact"}).context
    assert "1. Answer the prompt: Which of them is the worst?" in context
    assert tokens(context) <= Settings().hooks_tokens


def until_boundary(data: bytes) -> int:
    """Returns the size of the transcript when the client began to compact."""
    return data.rindex(b"\n", 0, data.index(b'"compact_boundary"')) + 1


@needs_data
@pytest.mark.parametrize("original", sorted(COMPACTED.glob("*.jsonl")), ids=lambda path: path.stem[:8])
def test_a_compaction_of_a_real_session(original: Path, project: Path) -> None:
    """Before the compaction the transcript is imported and narrated; after it the agent gets the narrative once."""
    data, session = original.read_bytes(), original.stem
    transcript = project / "with space" / original.name
    transcript.parent.mkdir()
    transcript.write_bytes(data[: until_boundary(data)])
    asked = given(project, transcript, session)
    before = call("PreCompact", {**asked, "hook_event_name": "PreCompact", "trigger": "auto"}, "--wait")
    assert before == Answer(0, "", "")
    imported = turns(project, session)
    assert imported > 0
    transcript.write_bytes(data)
    started = call("SessionStart", {**asked, "hook_event_name": "SessionStart", "source": "compact"})
    assert started.err == ""
    assert "file:" in started.context
    assert "snapshot 1" in started.context
    assert "## Next actions" in started.context, "its end is not cut off"
    assert tokens(started.context) <= Settings().hooks_tokens
    with Slicebase.open(project) as base:
        narratives = [entry for entry in base.library.list_files() if entry.source and entry.source.startswith("sn_")]
        assert len(narratives) == 1
        assert f"file:{narratives[0].id}" in started.context
    assert call("SessionStart", {**asked, "source": "compact"}).out == ""
    prompt = call("UserPromptSubmit", {**asked, "prompt": "go on"})
    assert prompt.err == ""
    assert "lost" in prompt.context
    assert list(pieces_in(prompt.context))
    assert turns(project, session) > imported
    assert call("UserPromptSubmit", {**asked, "prompt": "go on"}) == Answer(0, "", "")
    assert call("SessionEnd", {**asked, "reason": "exit"}) == Answer(0, "", "")
    with Slicebase.open(project) as base:
        assert not base.verify().findings


@pytest.mark.parametrize("prompt", ["write the migration for the staging tables", "paste " * 5000])
def test_the_prompt_decides_what_of_the_lost_comes_first(prompt: str, project: Path) -> None:
    original = PROJECT / "src" / "slicebase" / "samples" / "long-session.jsonl"
    session = "c41f0a52-6b7d-4c1e-9f58-7d0e2a93b610"
    with Slicebase.open(project) as base:
        base.compacted_notes.put(session, Compacted())
    asked = given(project, original, session, prompt=prompt)
    context = call("UserPromptSubmit", asked).context
    assert f"was compacted, for: {prompt[:20]}" in context
    assert "Do not drop tables on staging" in context


@needs_data
def test_a_second_compaction_continues_the_same_run(project: Path) -> None:
    original = sorted(COMPACTED.glob("*.jsonl"))[0]
    data = original.read_bytes()
    transcript = project / original.name
    asked = given(project, transcript, original.stem)
    for end in (until_boundary(data), len(data)):
        transcript.write_bytes(data[:end])
        assert call("PreCompact", asked, "--wait").err == ""
    with Slicebase.open(project) as base:
        assert len(base.runs.list_runs()) == 1
        assert base.runs.snapshot(f"from-{original.stem}")["sequence"] == 2


def test_a_session_starts_with_the_files_of_the_library_within_the_budget(project: Path, tt: Tt) -> None:
    for name in ("one", "two"):
        done = tt(
            "--root", project, "create", "--title", f"File {name}", "--summary", "A word.", "--body", f"{name} " * 2000
        )
        assert done.exit == 0, done.err
    assert tt("--root", project, "config", "hooks.tokens", 600).exit == 0
    result = call("SessionStart", given(project, project / "none.jsonl", "s", source="startup"))
    assert result.err == ""
    assert "File two" in result.context
    assert len(result.context) < 600 * 4
    with Slicebase.open(project) as base:
        (manifest,) = (row[0] for row in base.truth.database.connection.execute("SELECT manifest FROM manifests"))
        assert base.replay(str(manifest)).text == result.context


@pytest.fixture
def narrative(project: Path) -> Path:
    """The file of a narrative that the hooks have not shown yet, of the compacted session `s`."""
    with Slicebase.open(project) as base:
        written = base.library.create(title="What was done", summary="A narrative.", body="The pump was replaced.")
        base.compacted_notes.put("s", Compacted(written.id))
        return project / ".slices" / f"{written.id}.slice"


def test_a_narrative_that_could_not_be_read_is_shown_after_the_next_compaction(project: Path, narrative: Path) -> None:
    asked, data = given(project, project / "none.jsonl", "s", source="compact"), narrative.read_bytes()
    narrative.write_text("not a slice file")
    failed = call("SessionStart", asked)
    assert (failed.exit, failed.out) == (0, "")
    assert "[no-frontmatter]" in failed.err
    narrative.write_bytes(data)
    assert "The pump was replaced." in call("SessionStart", asked).context
    assert call("SessionStart", asked) == Answer(0, "", "")


def test_a_prompt_whose_import_failed_is_followed_by_one_that_shows_the_narrative(
    project: Path, narrative: Path
) -> None:
    asked = given(project, project / "t.jsonl", "s", prompt="go on")
    failed = call("UserPromptSubmit", asked)
    assert (failed.exit, failed.out) == (0, "")
    assert "[no-input]" in failed.err
    line = {"type": "user", "sessionId": "s", "uuid": "6ff81a9f-0000-4000-8000-000000000001", "parentUuid": None}
    message = {"message": {"role": "user", "content": "go on"}, "timestamp": "2026-01-31T12:00:00Z"}
    (project / "t.jsonl").write_text(json.dumps({**line, **message}) + "\n")
    shown = call("UserPromptSubmit", asked)
    assert shown.err == ""
    assert "The pump was replaced." in shown.context
    assert call("UserPromptSubmit", asked) == Answer(0, "", "")
    narrative.unlink()
    with Slicebase.open(project) as base:
        base.compacted_notes.put("s", Compacted(narrative.stem))
    assert call("UserPromptSubmit", asked) == Answer(0, "", "")


def test_an_empty_library_prints_nothing(project: Path) -> None:
    assert call("SessionStart", given(project, project / "none.jsonl", "s", source="startup")) == Answer(0, "", "")


@pytest.mark.parametrize("stdin", [b"", b"{", b"[]", b'{"session_id": 7}', b"\xff", b"[" * 100_000])
def test_bad_input_on_stdin_does_not_stop_the_agent(stdin: bytes, project: Path) -> None:
    result = call("PreCompact", stdin, cwd=project)
    assert (result.exit, result.out) == (0, "")
    assert result.err


@pytest.mark.parametrize("event", [*EVENTS, "Stop"])
def test_an_event_without_its_call_or_an_unknown_event_does_not_stop_the_agent(event: str, project: Path) -> None:
    result = call(event, b"{}", cwd=project)
    assert (result.exit, result.out) == (0, "")
    assert "[bad-request]" in result.err


def test_a_missing_transcript_and_a_missing_workspace_do_not_stop_the_agent(project: Path, tmp_path: Path) -> None:
    for folder in (project, tmp_path):
        result = call("SessionEnd", given(folder, tmp_path / "none.jsonl", "s"))
        assert (result.exit, result.out) == (0, "")
        assert "[no-" in result.err


def test_a_hook_ends_for_a_file_or_a_call_without_an_end(project: Path) -> None:
    os.mkfifo(project / "pipe.jsonl")
    for transcript in (project / "pipe.jsonl", Path("/dev/zero")):
        answer = call("SessionEnd", given(project, transcript, "s"))
        assert (answer.exit, answer.out) == (0, "")
        assert "[no-input]" in answer.err
    assert "[too-large]" in call("SessionEnd", b" " * (17 << 20), cwd=project).err
    assert "[bad-request]" in call("SessionEnd", b"[" * 100_000, cwd=project).err


def test_a_hook_says_what_it_could_not_read(project: Path) -> None:
    path = project / "t.jsonl"
    path.write_text('{"type":"user"}\nnonsense\n')
    answer = call("SessionEnd", given(project, path, "s"))
    assert (answer.exit, answer.err.count("2 records of")) == (0, 1)


@pytest.mark.parametrize(("error", "code"), [(MemoryError(), "no-memory"), (OSError(28, "full"), "disk-full")])
def test_a_limit_of_the_machine_is_our_error_in_a_hook_too(
    tt: Tt, monkeypatch: pytest.MonkeyPatch, error: Exception, code: str
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(hooks, "_response", fails)
    done = tt("hook", "run", "SessionStart")
    assert (done.exit, done.out, f"[{code}]" in done.err) == (0, "", True)


@pytest.mark.parametrize("arguments", [(), ("UserPromptSubmit", "--of-a-newer-version"), ("X", "--scope", "all")])
def test_a_wrong_command_does_not_stop_the_client(tt: Tt, arguments: tuple[str, ...]) -> None:
    tt("init")
    done = tt("hook", "run", *arguments)  # Claude Code refuses the prompt at exit status 2
    assert (done.exit, done.out) == (0, "")
    assert "slicebase: " in done.err
    assert "[usage]" in tt("doctor").out


def test_a_failure_is_kept_without_secrets_until_the_hook_succeeds(project: Path, tt: Tt) -> None:
    secret = "AKIA" + "Q7XBN2LMPR4ST6UV"
    failed = call("SessionEnd", given(project, project / f"{secret}.jsonl", "s"), "--client", "codex")
    assert (failed.exit, failed.out) == (0, "")
    told = tt("--root", project, "doctor")
    assert told.exit == 1
    assert "hooks codex SessionEnd: the hook failed at" in told.out
    assert "[no-input]" in told.out
    assert secret.encode() not in (project / ".slicebase" / "hook-failures.json").read_bytes()
    assert secret not in failed.err
    (project / "rollout-1.jsonl").write_text('{"timestamp":1,"type":"session_meta","payload":{"id":"s"}}\n')
    assert call("SessionEnd", given(project, project / "rollout-1.jsonl", "s"), "--client", "codex").err == ""
    assert tt("--root", project, "doctor").exit == 0


def test_output_that_nobody_reads_does_not_stop_the_agent(tt: Tt, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(hooks, "_response", lambda *_: "text")
    monkeypatch.setattr(hooks, "print_text", fails)
    assert tt("hook", "run", "SessionStart").exit == 0


@pytest.mark.parametrize("home_is_project", [False, True])
@pytest.mark.parametrize("installed", [(), ("user",), ("project",), ("project", "user")])
def test_one_hook_answers_wherever_they_are_installed(
    installed: tuple[str, ...], home_is_project: bool, project: Path, tt: Tt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client calls the hooks of the project, those of the user, and those of its plugins."""
    monkeypatch.setattr(Path, "home", lambda: project if home_is_project else project.parent)
    for name in ("CLAUDE_CONFIG_DIR", "XDG_STATE_HOME", "CLAUDE_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    with Slicebase.open(project) as base:
        base.library.create("Webhooks", "Their limits.", body="An event lives 600 s.")
    monkeypatch.chdir(project)
    for scope in installed:
        assert tt("hook", "install", "claude-code", "--scope", scope).exit == 0
    files = {"user": Path.home(), "project": project}
    texts = [(folder / ".claude" / "settings.json").read_text() for folder in {files[scope] for scope in installed}]
    commands = re.findall("tt hook run SessionStart ([^#]*)#", "".join(texts))
    assert bool(commands) == bool(installed)
    answers = []
    for options in (*commands, "--scope plugin"):
        stdin = SimpleNamespace(buffer=io.BytesIO(json.dumps({"session_id": "s", "cwd": str(project)}).encode()))
        monkeypatch.setattr(sys, "stdin", stdin)
        done = tt("hook", "run", "SessionStart", *options.split())
        assert (done.exit, done.err) == (0, "")
        answers += [done.out] if done.out else []
    assert len(answers) == 1
    assert "Webhooks" in answers[0]


def test_what_reads_a_long_transcript_says_nothing_about_the_hook_that_began_it(tt: Tt, tmp_path: Path) -> None:
    """The hook failed, because it could write no note, and the reader succeeds."""
    assert tt("init").exit == 0
    with Slicebase.open(tmp_path) as memory:
        failures, now = HookFailures(memory.workspace), memory.surroundings.now()
        failures.add(HookFailure(now, "claude-code", "PreCompact", "locked", "no note"))
    assert tt("hook", "read", "s", SAMPLE, "--event", "PreCompact").exit == 0
    assert [each.event for each in failures.recent(now)] == ["PreCompact"]
