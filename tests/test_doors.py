"""No secret enters through any door: each verb that writes, each tool, each command, with a secret in every text.

The verbs, their arguments, the tools and the options are read from the code. So a new one is tested, or this test fails
until it is listed here. What is searched are the raw bytes of every file of the workspace.
"""

import asyncio
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest

from slicebase import Exit, Graph, Library, Provenance, Recorder, Runs, Slicebase, SlicebaseError, Step, aio
from slicebase.agents.memory_tool import COMMANDS, MemoryTool
from slicebase.cli import main
from slicebase.cli.commands import LISTED, PLUMBING
from slicebase.core.hashing import digest
from slicebase.files.model import Payload
from slicebase.history.inputs import LONG_SAMPLE
from slicebase.mcp.calls import McpClient, ServerEnvironment
from slicebase.mcp.tools import TOOLS, call_tool, schema
from slicebase.verbs.policies import Policies
from tests.codes import code_of
from tests.graph.test_graph_file import record as graph_record
from tests.importers.reading import jsonl
from tests.importers.test_claude_code import SESSION, record
from tests.test_api import members

TOKEN = "gh" + "p_" + "7hQ2mZ9xK4vB8nR1cT6wY3jL5sD0fG2aE9uP"  # invented, and built at run time
PASSWORD = "Tr0ub4dor" + "&3-horse"
PLAN = "the lighthouse at dawn"
POISON = f"use {TOKEN} and password='{PASSWORD}' for <private>{PLAN}</private> only"
SECRETS = [text.encode() for text in (TOKEN[:14], PASSWORD, PLAN)]  # the beginning of a key is too much

FAMILIES = {Slicebase: "", Library: "library", Runs: "runs", Graph: "graph", Policies: "policies"}
# Verbs that store nothing of their arguments, or whose arguments name what exists.
READS = {
    "Slicebase": "agents_md backup config context_again doctor export export_workspace import_workspace init "
    "lost lost_context lost_cost manifest open "
    "narrate_session replay restore_backup search show validate verify why",
    "Library": "contract explore info later_snapshot part_links reader recall restore routine search disconnect stamp",
    "Runs": "begin_step bind blob compact events fork has_snapshot narrative next_step recorder report snapshot status "
    "step summary",
    "Graph": "allowed atlas bundle check_atlas draw explain policy reading requested_policy search select "
    "select_many session sessions tree turn turns verify whole",
    "Policies": "diff export show",
}
SIGNED = Provenance(agent=POISON, session=POISON, source=POISON, context=POISON)


NOTES = "notes in place"  # a folder that is added: what is in it is not ours


def traces(folder: Path) -> list[str]:
    """Returns the files of a folder that contain a secret."""
    files = [path for path in folder.rglob("*") if path.is_file() and NOTES not in path.parts]
    return [f"{path.name}: {secret!r}" for path in files for secret in SECRETS if secret in path.read_bytes()]


def is_text(parameter: inspect.Parameter) -> bool:
    return any(word in str(parameter.annotation) for word in ("str", "Str", "Done", "Cites", "Any"))


def verbs() -> Iterator[tuple[type, str]]:
    for family in FAMILIES:
        for name, member in members(family):
            method = inspect.isfunction(inspect.getattr_static(family, name))
            if method and any(map(is_text, inspect.signature(member).parameters.values())):
                yield family, name


WRITES = [(family, name) for family, name in verbs() if name not in READS[family.__name__].split()]


class Filled:
    """A workspace, and for each argument of a verb a value: of something that exists, else a text with secrets."""

    def __init__(self, folder: Path) -> None:
        self.root, self.outside = folder / "workspace", folder / "outside"
        self.outside.mkdir()
        self.memory = Slicebase.init(self.root)
        memory = self.memory
        self.transcript = self.outside / "session.jsonl"
        self.transcript.write_bytes(
            jsonl([record(1, None, content=POISON), {"type": "custom-title", "sessionId": "s", "customTitle": POISON}])
        )
        # A file that was imported and has not changed is not read again.
        self.copy = self.outside / "copy.jsonl"
        self.copy.write_bytes(self.transcript.read_bytes())
        self.document = self.outside / "document.md"
        self.document.write_text(f"# Keys\n\n{POISON}\n")
        self.notes = self.root / NOTES
        self.notes.mkdir()
        (self.notes / "note.md").write_text(f"---\naliases: [{POISON}]\n---\n# Keys {POISON}\n\n{POISON} [[{TOKEN}]]\n")
        memory.import_(LONG_SAMPLE)
        self.turn = memory.graph.turns(memory.graph.sessions()[0].id)[0].ref
        self.evidence = [memory.cite(self.turn, span=span).id for span in ((0, 4), (4, 8))]
        self.log = memory.library.create("Log", "Rows.", type="jsonl").id
        source = memory.library.create("Source", "Body.", body="# One\n\nText.\n")
        derived = memory.library.create("Derived", "Short.", body="Short.", links=[("derived_from", source.id)]).id
        for run in ("build", "stopped", "ended", "purged"):
            memory.runs.start(run, "Find out.", "Found.")
        self.known: dict[str, Any] = {
            "file_id": self.log, "run_id": "build", "transcript": self.transcript, "paths": self.transcript,
            "path": self.document, "folder": self.notes, "glob": "*.md",
            "rel": "see_also", "to": source.id, "reference": self.turn, "done": POISON,
            "assignments": [f"meta.note={POISON}", f"meta.list=[a, {TOKEN}]", f"title={POISON}"], "provenance": SIGNED,
            "contract": [f"purpose={POISON}", f"exclude=[{TOKEN}]"], "session": None, "id": None, "links": (),
            "replace": None, "meta": [f"note={POISON}"],
            "supersedes": (), "section": None, "if_version": None, "source_hash": None, "policy": None, "run": None,
            "leaf": None, "cite": (), "within": None,
            "a": (), "b": (), "blobs": {}, "budgets": None, "guards": None, "as_of": None,
            "kind": None, "type": None, "from_file": None, "payload": None, "format": None, "copy": True,
            "compact": False,
            "events": [{"type": "ACT_DONE", "step": 1, "payload": {"text": POISON, "deep": [{"x": POISON}]}}],
        }  # fmt: skip
        self.of_verb: dict[str, dict[str, Any]] = {
            "refresh": {"file_id": derived},
            "purge": {"file_id": source.id, "reference": "run:purged"},
            "forget": {"file_id": source.id},
            "from_session": {"run_id": "projected", "session": memory.graph.sessions()[0].id},
            "from_file": {"run_id": "filed", "path": self.transcript},
            "lost_in": {"paths": self.copy},
            "start": {"run_id": "begun"},
            "stop": {"run_id": "stopped", "reason": "HUMAN_REQUESTED"},
            "allow_loop": {"steps": 1},
            "set": {"name": "provenance.agent"},
            "cite": {"span": None},
        }

    def arguments(self, name: str, verb: Callable[..., Any]) -> dict[str, Any]:
        found = {}
        for parameter in inspect.signature(verb).parameters.values():
            known = self.known | self.of_verb.get(name, {})
            if parameter.name in known:
                found[parameter.name] = known[parameter.name]
            elif is_text(parameter) and parameter.name != "progress":
                found[parameter.name] = POISON
        return found


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    made = Filled(tmp_path_factory.mktemp("doors"))
    yield made
    made.memory.close()


# What refuses a text with secrets instead of replacing them: a setting, a quote that is nowhere, two empty sides.
REFUSES = {
    "Slicebase.set": "holds-secret", "Slicebase.cite": "quote-not-found", "Runs.conflict": "gate-would-refuse",
    "Policies.save": "holds-secret", "Policies.import_": "holds-secret",
}  # fmt: skip


@pytest.mark.parametrize(("family", "name"), WRITES, ids=lambda each: getattr(each, "__name__", each))
def test_no_secret_in_any_text_of_a_verb_is_stored(family: type, name: str, filled: Filled) -> None:
    owner = getattr(filled.memory, FAMILIES[family]) if FAMILIES[family] else filled.memory
    verb = getattr(owner, name)
    before = sum(filled.memory.redacted.values())
    if refusal := REFUSES.get(f"{family.__name__}.{name}"):
        assert code_of(verb, **filled.arguments(name, verb)) == refusal
    else:
        verb(**filled.arguments(name, verb))
        assert sum(filled.memory.redacted.values()) > before
    assert traces(filled.root) == []


# The names that verbs give to new things.
NAMES: dict[str, dict[str, Any]] = {
    "library.create": {"title": "t", "summary": "s", "id": TOKEN},
    "library.connect": {"rel": "see_also", "to": f"./{TOKEN}.md"},
    "policies.save": {"name": TOKEN},
    "runs.start": {"run_id": TOKEN, "objective": "o", "done": "d"},
    "runs.fork": {"run_id": "build", "new_run_id": TOKEN},
    "runs.claim": {"run_id": "build", "statement": "s", "id": TOKEN},
    "runs.conflict": {"run_id": "build", "description": "s", "id": TOKEN},
    "runs.failure": {"run_id": "build", "why": "s", "id": TOKEN},
    "runs.from_session": {"session": "s", "run_id": TOKEN},
    "runs.log": {"run_id": "build", "events": [], "blobs": {digest(TOKEN.encode()): TOKEN.encode()}},
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_or_a_content_that_cannot_be_changed_is_refused_with_a_secret(name: str, filled: Filled) -> None:
    family, _, verb = name.partition(".")
    given = {**({"file_id": filled.log} if verb == "connect" else {}), **NAMES[name]}
    with pytest.raises(SlicebaseError) as caught:
        getattr(getattr(filled.memory, family), verb)(**given)
    assert caught.value.code == "holds-secret"
    assert TOKEN not in f"{caught.value} {caught.value.hint}"
    assert traces(filled.root) == []


def test_no_secret_of_a_step_is_stored(filled: Filled) -> None:
    texts = {name for name, _ in members(Step)} - {"cite", "claim", "conflict", "context", "bind", "log", "fail"}
    error = ValueError("x" * 480 + POISON)  # a failure keeps the first characters of the message
    step = filled.memory.runs.step("build", compact=False).__enter__()
    for name in sorted(texts):
        getattr(step, name)(POISON)
    step.log("NOTE", text=POISON, password=PASSWORD)
    step.fail(POISON, category=POISON, where=POISON)
    step.claim(POISON)
    step.context(POISON)
    step.__exit__(ValueError, error, None)
    assert traces(filled.root) == []


@pytest.mark.parametrize("result", [POISON, {"out": POISON, "password": PASSWORD}, b"\xff" + POISON.encode(), b"\0"])
def test_no_secret_of_a_recorded_call_is_stored(result: object, filled: Filled) -> None:
    recorder: Recorder = filled.memory.runs.recorder("build", compact=False)
    blob = recorder.ended(recorder.started(POISON, {"text": POISON, "more": "x" * 20_000}, plan=POISON), result)
    recorder.failed(recorder.started("tool", token=POISON), POISON)
    assert digest(filled.memory.runs.blob("build", blob)) == blob
    assert traces(filled.root) == []


def test_no_secret_of_the_memory_tool_is_stored(filled: Filled) -> None:
    tool: MemoryTool = filled.memory.memory_tool
    path = "/memories/keys.md"
    tool.execute({"command": "create", "path": path, "file_text": f"{POISON}\nline\n"}, provenance=SIGNED)
    tool.execute({"command": "str_replace", "path": path, "old_str": "line", "new_str": POISON})
    tool.execute({"command": "str_replace", "path": path, "old_str": f"{POISON}\n{POISON}", "new_str": TOKEN[:20]})
    tool.execute({"command": "str_replace", "path": path, "old_str": TOKEN[:20], "new_str": TOKEN})
    tool.execute({"command": "insert", "path": path, "insert_line": 0, "insert_text": POISON})
    for command in ("create", "rename"):
        given = dict.fromkeys(COMMANDS[command].takes, f"/memories/{TOKEN}") | {"command": command}
        assert code_of(tool.execute, given) == "holds-secret"
    assert traces(filled.root) == []


def test_no_secret_of_a_graph_file_a_trajectory_or_an_export_is_stored(filled: Filled) -> None:
    graph = filled.outside / "graph.json"
    graph.write_text(json.dumps({"turns": [graph_record(1, content=POISON)], "edges": []}))
    trajectory = filled.outside / "run.traj"
    steps = [{"action": POISON, "observation": POISON, "thought": POISON, "response": POISON}]
    history = [{"role": "user", "content": POISON}, {"role": "assistant", "content": POISON}]
    trajectory.write_text(json.dumps({"trajectory": steps, "history": history, "info": {"x": POISON}}))
    with Slicebase.init(filled.outside / "other", redact=False) as other:
        other.import_(filled.transcript)
        export = other.export(other.graph.sessions()[0].id, filled.outside / "export.slice")
    filled.memory.import_(graph, format="graph")
    filled.memory.runs.from_file(trajectory, "trajectory")
    filled.memory.import_(export)
    assert traces(filled.root) == []


def test_a_session_whose_name_holds_a_secret_is_left_out(filled: Filled) -> None:
    path = filled.outside / f"{TOKEN}.json"
    path.write_text(json.dumps([{"role": "user", "content": "hello"}]))
    assert code_of(filled.memory.import_, path) == "holds-secret"
    assert traces(filled.root) == []


def test_a_payload_is_copied_without_secrets_and_its_hash_is_that_of_the_copy(filled: Filled, tmp_path: Path) -> None:
    added = filled.memory.add(filled.document, title="Another title", copy=True)
    assert added.file.payload
    copy = (filled.memory.workspace.library / (added.file.payload.uri or "")).read_bytes()
    assert digest(copy) == added.file.payload.hash
    assert str(filled.memory.cite(added.ref, f"{POISON}\n").quote) in copy.decode()
    pointer = Payload(f"https://user:{PASSWORD}@example.org/x", digest(b"x"), 1)
    assert filled.memory.library.create("Remote", "There.", payload=pointer).redacted == {"password-in-url": 1}
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\0" + POISON.encode())
    assert code_of(filled.memory.library.create, "Bytes", "x", from_file=binary, copy=True) == "holds-secret"
    binary.write_bytes(b"\xff\0 nothing")
    assert filled.memory.library.create("Bytes", "x", from_file=binary, copy=True).redacted == {}
    assert traces(filled.root) == []


def test_a_quote_with_a_secret_finds_the_text_as_it_is_stored(filled: Filled) -> None:
    log = filled.memory.library.create("Quotes", "Rows.", type="jsonl").id
    row = filled.memory.library.remember(log, POISON).refs[0]
    evidence = filled.memory.cite(row, POISON)
    assert (
        evidence.quote == "use [redacted:github-token] and password='[redacted:password]' for [redacted:private] only"
    )
    assert filled.memory.cite(f"file:{log}", POISON) == evidence
    filled.memory.runs.claim("build", "The key is named.", cite=(row, POISON), status="verified")


def test_a_quote_from_a_file_that_somebody_edited_is_refused_if_it_holds_a_secret(
    filled: Filled, tmp_path: Path
) -> None:
    document = filled.root / "edited.md"
    document.write_text(f"# Keys\n\nThe {TOKEN} is here.\n")
    added = filled.memory.add(document)
    assert code_of(filled.memory.cite, added.ref, f"The {TOKEN} is") == "holds-secret"
    assert filled.memory.cite(added.ref, "is here.").quote == "is here."
    document.unlink()
    assert traces(filled.root) == []


# Without redaction


def test_without_redaction_secrets_stay_and_what_is_private_does_not(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path / "plain", redact=False) as memory:
        change = memory.library.create("Keys", POISON, body=POISON)
        memory.import_(LONG_SAMPLE)
        memory.runs.start("build", POISON, "d")
        assert change.redacted == {"private": 2}
        assert memory.redacted == {"private": 3}
        assert f"use {TOKEN} and password='{PASSWORD}' for [redacted:private] only" in (change.file.summary or "")
        assert not any(PLAN.encode() in path.read_bytes() for path in memory.root.rglob("*") if path.is_file())


def test_the_awaited_verbs_redact_too(tmp_path: Path) -> None:
    async def used() -> Mapping[str, int]:
        async with aio.Slicebase.init(tmp_path / "aio") as memory:
            await memory.library.create(POISON, POISON)
            return memory.redacted

    assert asyncio.run(used()) == {"github-token": 2, "password": 2, "private": 2}
    assert traces(tmp_path) == []


def test_settings_name_rules_inside_the_workspace_and_do_not_turn_redaction_off(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text("[[rule]]\nname = 'badge'\npattern = 'badge-[0-9]{4}'\n")
    with Slicebase.init(tmp_path / "w") as memory:
        assert code_of(memory.set, "redaction.enabled", False) == "bad-setting"
        memory.set("redaction.rules", "rules.toml")
        assert code_of(memory.library.create, "Badges", "badge-1234") == "bad-setting"  # there is no such file
        (memory.root / "rules.toml").write_bytes((tmp_path / "rules.toml").read_bytes())
        assert memory.library.create("Badges", "badge-1234").redacted == {"badge": 1}
        assert memory.runs.start("r", "See badge-1234.", "d")
        assert memory.redacted == {"badge": 2}
        assert memory.runs.claim("r", "It is badge-1234.").redacted == {"badge": 1}
        assert code_of(memory.set, "redaction.rules", "../rules.toml") == "bad-setting"
        (memory.root / "slicebase.toml").write_text("[redaction]\nenabled = false\n")
        assert code_of(memory.library.create, "Badges", "badge-1234") == "bad-setting"


# Tools


STORING = sorted(name for name, tool in TOOLS.items() if tool.writes or tool.records)


@pytest.mark.parametrize("name", [name for name in STORING if name != "slice"])  # which records numbers, and no text
def test_no_secret_in_any_text_of_a_tool_is_stored(name: str, filled: Filled) -> None:
    known: dict[str, Any] = {
        "id": filled.log, "rel": "see_also", "to": filled.turn, "links": [], "supersedes": [], "type": "markdown",
        "section": None, "if_version": None, "replace": None, "source": None, "as_of": None, "run": None,
        "contract": [f"purpose={POISON}"], "events": [{"type": "NOTE", "payload": {"text": POISON}}], "evidence": [],
        "claim_id": None, "status": None, "session": None, "tokens": 500, "fork": None,
    }  # fmt: skip
    properties = schema(TOOLS[name].takes)["properties"]
    texts = {key: POISON for key, form in properties.items() if form.get("type") == "string"}
    given = {key: value for key, value in (texts | known).items() if key in properties and value is not None}
    calls: list[dict[str, Any]] = [given]
    if name == "run":
        calls = [{**given, "action": action, "run": "served"} for action in ("start", "log", "claim")]
        calls.append({"action": "stop", "run": "served", "reason": "HUMAN_REQUESTED", "message": POISON})
    if name == "forget":
        given["id"] = filled.of_verb["forget"]["file_id"]
    for each in calls:
        output = call_tool(ServerEnvironment(filled.root, None, POISON), McpClient(POISON, POISON), TOOLS[name], each)
        assert "Redacted: " in output.text
        assert not any(secret.decode() in output.text for secret in SECRETS)
    assert traces(filled.root) == []


# Commands


def commands(group: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context) if isinstance(group, click.Group) else ():
        command = group.get_command(context, name)  # type: ignore[attr-defined]
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


DOORS = {
    " ".join(path): command
    for path, command in commands(main.tt)
    if any("--no-redact" in parameter.opts for parameter in command.params)
}
# Commands through which no text enters that is kept: they name what exists, or write no memory.
NO_DOORS = {
    "agents-md", "atlas", "backup", "config", "demo", "disconnect", "doctor", "due", "explore", "export", "hook find",
    "hook install", "hook list", "hook narrate", "hook read", "hook run", "hook status", "hook uninstall", "info",
    "init", "list", "merge-driver", "policy diff", "policy export", "policy import", "policy list", "policy save",
    "policy show", "recall", "replay", "restore", "routine", "run compact", "run fork", "run list", "run narrative",
    "run report", "run snapshot", "run status", "seal", "search", "show", "slice", "stale", "status", "turns", "uninit",
    "validate", "verify", "why",
}  # fmt: skip


def test_every_command_is_a_door_or_is_known_not_to_be_one() -> None:
    assert {" ".join(path) for path, _ in commands(main.tt)} | PLUMBING.keys() == DOORS.keys() | NO_DOORS | {"mcp"}
    assert LISTED.keys() <= {name.partition(" ")[0] for name in DOORS.keys() | NO_DOORS | {"mcp"}}


def lines_of(filled: Filled, name: str) -> list[str]:
    """Returns a command line with a secret in every text that a command takes."""
    of_name: dict[str, list[str]] = {
        "create": ["--body", POISON, "--contract", f"purpose={POISON}"],
        "define": [filled.log, f"meta.note={POISON}", f"summary={POISON}"],
        "remember": [filled.log, json.dumps({"text": POISON, "password": PASSWORD})],
        "connect": [filled.log, "see_also", filled.turn],
        "refresh": [filled.of_verb["refresh"]["file_id"], POISON],
        "forget": [filled.of_verb["forget"]["file_id"]],
        "purge": ["run:purged"],
        "import": [str(filled.transcript), "--session", "named"],
        "context": [POISON, "--tokens", "400"],
        "lost": [str(filled.transcript)],
        "add": [str(filled.document), "--copy"],
        "cite": [filled.turn, "--span", "0-4"],
        "run start": ["--id", "commanded"],
        "run log": ["build", "NOTE", "--payload", json.dumps({"text": POISON})],
        "run from": [str(filled.transcript), "--id", "from-command", "--session", "named"],
        "run claim": ["build", POISON],
        "run conflict": ["build", POISON, "-a", filled.evidence[0], "-b", filled.evidence[1]],
        "run question": ["build", POISON],
        "run failure": ["build"],
        "run allow-loop": ["build", "--steps", "1"],
        "run stop": ["ended", "--reason", "HUMAN_REQUESTED"],
        "mcp": [],
    }
    given = [*name.split(), *of_name[name]]
    for option in DOORS[name].params:
        texts = {"title", "summary", "label", "reason", "objective", "done", "category", "where", "why", "message"}
        signs = {"agent", "session", "context", "source"} if "--confidence" in str(DOORS[name].params) else set()
        text = option.name in texts | signs or (name != "import" and option.name in ("agent", "source"))
        if isinstance(option, click.Option) and text and not isinstance(option.type, click.Choice):
            given += [option.opts[0], POISON]
    return given


@pytest.mark.parametrize("name", sorted(DOORS.keys() - {"mcp", "serve"}))
def test_no_secret_in_any_text_of_a_command_is_stored(
    name: str, filled: Filled, capfd: pytest.CaptureFixture[str]
) -> None:
    line = ["--root", str(filled.root), *lines_of(filled, name)]
    for given in (line, [*line, "--json"]):
        status = main.run(given)
        printed = capfd.readouterr()
        assert status in (Exit.DONE, Exit.FINDINGS) or given is not line  # the second call may meet the first
        assert not any(secret.decode() in printed.out + printed.err for secret in SECRETS if name != "cite"), name
        assert "Usage" not in printed.err
        assert traces(filled.root) == []


# What is printed

# `init` and `demo` create a folder with the name that they are given; the others wait for a client, or for git.
_NOT_TRIED = {"init", "demo", "mcp", "serve", "hook run", "merge-driver"}


@pytest.mark.parametrize("name", sorted({" ".join(path) for path, _ in commands(main.tt)} - _NOT_TRIED))
def test_no_command_prints_a_secret_that_it_is_given_where_it_fails(
    name: str, filled: Filled, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever an error repeats: an argument, an option, a name, a path, a reference, the value of an option."""
    monkeypatch.chdir(filled.root)
    names = [option for each in dict(commands(main.tt))[tuple(name.split())].params for option in each.opts]
    values = [[option, POISON] for option in names if option[:2] == "--" and option != "--no-redact"]
    for given in (
        [POISON],
        [TOKEN] * 3,
        [f"--{TOKEN}"],
        [f"turn:{TOKEN}", POISON],
        [f"{TOKEN}/{TOKEN}.md"],
        *values,
    ):
        for more in ([], ["--json"]):
            monkeypatch.setattr("sys.stdin", open_text(""))
            main.run([*name.split(), *given, *more])
            printed = capfd.readouterr()
            assert not [each for each in SECRETS if each.decode() in printed.out + printed.err], (given, printed)


@pytest.mark.parametrize(
    "line", [[TOKEN], [f"--{TOKEN}"], ["--root", TOKEN, "list"], ["run", TOKEN], ["--root", POISON, "list"]]
)
def test_no_error_before_a_command_prints_a_secret(
    line: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main.run(line) in (2, 4)
    printed = capfd.readouterr()
    assert "[redacted:github-token]" in printed.err
    assert not [each for each in SECRETS if each.decode() in printed.out + printed.err]
    monkeypatch.setenv("SLICEBASE_REDACT", "off")
    main.run(line)
    assert TOKEN in capfd.readouterr().err


def test_rules_of_the_user_count_for_errors_too(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rules.toml").write_text("[[rule]]\nname = 'badge'\npattern = 'badge-[0-9]{4}'\n")
    with Slicebase.init(tmp_path) as memory:
        memory.set("redaction.rules", "rules.toml")
    assert main.run(["--root", str(tmp_path), "recall", "badge-1234"]) == 4
    assert "[redacted:badge]" in capfd.readouterr().err


def test_an_error_about_files_and_ids_of_ours_loads_no_rules(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Slicebase.init(tmp_path).close()
    monkeypatch.setattr("slicebase.secrets.redact.built_in", None)  # fails if it is called
    monkeypatch.chdir(tmp_path)
    for line in (
        ["recall", "file:01M7JBD1WDP9GJHW14VT9YP0AA"],
        ["lisst"],
        ["list", "--what"],
        ["run", "status", "none"],
    ):
        assert main.run(line) in (2, 4)
    assert "01M7JBD1WDP9GJHW14VT9YP0AA" in capfd.readouterr().err


@pytest.mark.parametrize("take", ["add", "create_from"])
def test_the_report_about_notes_does_not_repeat_the_secret_in_a_name(tmp_path: Path, take: str) -> None:
    notes = tmp_path / "notes"
    (notes / TOKEN).mkdir(parents=True)
    (notes / TOKEN / "a.md").write_text("A note.")
    (notes / f"a {TOKEN}.md").write_text("A note.")
    with Slicebase.init(tmp_path) as memory:
        report = getattr(memory.library, take)(notes)
    assert len(report.skipped) == 2
    assert TOKEN not in str(report.as_json())


def test_the_chunks_of_a_document_are_shown_without_secrets(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").write_text(f"# Keys\n\n{POISON}\n\n" + "More words.\n\n" * 1000)
    (tmp_path / "b.md").write_text("# Keys\n\n<private>\n\n" + f"{PLAN}\n\n" * 1000 + "</private>\n")
    for name in ("a.md", "b.md"):
        assert main.run(["add", name]) == 0
        printed = capfd.readouterr()
        assert printed.out.count("doc:") > 1
        assert not [each for each in SECRETS if each.decode() in printed.out]
        assert ("[redacted:github-token]" in printed.out) == (name == "a.md")


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_no_tool_returns_a_secret_in_an_error(name: str, filled: Filled) -> None:
    environment = ServerEnvironment(filled.root, None, "s")
    for given in ({TOKEN: POISON}, {"ref": f"turn:{TOKEN}"}, {"id": TOKEN, "text": POISON}):
        try:
            call_tool(environment, None, TOOLS[name], given)
        except SlicebaseError as error:
            assert not [each for each in SECRETS if each.decode() in json.dumps(environment.shown(error).as_json())]


def test_a_command_says_what_it_replaced_and_option_and_environment_turn_it_off(
    filled: Filled, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    create = ["--root", str(tmp_path), "create", "--title", "t", "--summary", POISON]
    main.run(create)
    assert capfd.readouterr().err.splitlines()[-1] == "redacted  1 github-token, 1 password, 1 private"
    main.run([*create, "--json"])
    assert json.loads(capfd.readouterr().out)["redacted"] == {"github-token": 1, "password": 1, "private": 1}
    main.run([*create, "--json", "--no-redact"])
    assert json.loads(capfd.readouterr().out)["redacted"] == {"private": 1}
    monkeypatch.setenv("SLICEBASE_REDACT", "off")
    main.run([*create, "--json"])
    assert json.loads(capfd.readouterr().out)["redacted"] == {"private": 1}
    main.run(["--root", str(tmp_path), "config", "redaction.enabled"])
    assert "SLICEBASE_REDACT" in capfd.readouterr().out


def test_a_hook_stores_no_secret_and_says_what_it_replaced(
    filled: Filled, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = filled.outside / "hooked.jsonl"
    lines = [record(2, None, content=POISON), {"type": "summary", "leafUuid": "x", "summary": POISON}]
    path.write_bytes(jsonl(lines))
    call = json.dumps({"session_id": SESSION, "transcript_path": str(path), "cwd": str(filled.root), "prompt": POISON})
    for event in ("SessionStart", "PreCompact", "UserPromptSubmit", "SessionEnd"):
        monkeypatch.setattr("sys.stdin", open_text(call))
        main.run(["hook", "run", event, "--wait"])
        assert traces(filled.root) == []
    assert "redacted  1 github-token" in capfd.readouterr().err


def open_text(text: str) -> Any:
    import io

    return io.TextIOWrapper(io.BytesIO(text.encode()))
