"""Bare ids, short ids and references work wherever an id does: in every verb, command and tool (ruling 53).

The verbs, commands and tools that take an id are read from the code: a new one is tested, or is listed here.
"""

import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click
import hypothesis
import pytest
from hypothesis import strategies as st

from slicebase import Exit, Graph, Library, Runs, Slicebase, SlicebaseError
from slicebase.cli import main
from slicebase.core.refs import parse
from slicebase.core.short_ids import SHORTEST_ID
from slicebase.mcp.calls import ServerEnvironment
from slicebase.mcp.tools import TOOLS, call_tool, schema
from slicebase.verbs.names import EVERYTHING, short_places, shortened
from tests.amounts import MORE
from tests.codes import code_of
from tests.graph.test_graph_file import record
from tests.test_api import SHORT_SAMPLE, members

# What the names of arguments, options and fields name.
KINDS = {
    "file_id": "file", "refs": "file", "to": "file", "seal": "file", "target": "file", "links": "file", "id": "file",
    "run_id": "run", "run": "run", "session": "session", "what": "session", "source": "session", "turn": "turn",
    "leaf": "turn", "reference": "turn", "ref": "turn", "manifest": "mf", "again": "mf", "diff": "mf", "cite": "ev",
    "a": "ev", "b": "ev", "evidence": "ev", "side_a": "ev", "side_b": "ev",
}  # fmt: skip
# Arguments of these names that name something new, a path, or how something is known.
OTHERS = {
    "Slicebase.import_ session", "Slicebase.export to", "Library.create id", "Runs.start run_id",
    "Runs.from_session run_id", "Runs.from_file run_id", "Runs.from_file session", "Runs.claim id", "Runs.conflict id",
    "Runs.failure id", "create file_id", "run start run_id", "run from run_id",
    "Graph.bundle to", "Graph.allowed refs",  # tests/verbs/test_shown.py has the forms of these
    "hook read session",  # the name that the client has for it, stored or not
}  # fmt: skip
FAMILIES = {Slicebase: "", Library: "library", Runs: "runs", Graph: "graph"}
NOT_UNDERSTOOD = {
    "no-file", "no-run", "no-session", "no-turn", "no-manifest", "no-evidence", "no-snapshot", "bad-reference",
    "bad-id", "short-id", "ambiguous-id", "usage", "bad-arguments",
}  # fmt: skip
FILE, RUN = "01JFYE00000000000000000001", "01JRVN00000000000000000001"
TWIN_TURN = "aaaaaaaa-0000-4000-8000-00000000000"


class World(NamedTuple):
    """A workspace with something of each kind, and two things of most kinds whose ids begin alike."""

    memory: Slicebase
    refs: dict[str, str]  # complete references, by kind
    good: dict[str, Any]  # for the other arguments of a verb

    def forms(self, kind: str) -> list[str]:
        """Returns what may be given of an id: the reference, the id alone, and short forms of both."""
        ref = parse(self.refs[kind])
        head = str(ref).removesuffix(ref.name)
        return [str(ref), ref.name, f"{head}{ref.name[:SHORTEST_ID]}", ref.name[:SHORTEST_ID]]


TWINS = {"file": "twin-file-", "run": "twin-run-", "session": "twin-session-", "turn": TWIN_TURN}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("names")
    memory = Slicebase.init(folder / "w")
    session = memory.import_(SHORT_SAMPLE).sessions[0]
    turns = memory.graph.turns(session)
    for letter in "ab":
        memory.library.create("Twin", "T.", id=f"twin-file-{letter}")
        memory.runs.start(f"twin-run-{letter}", "o", "d")
        chat = folder / f"twin-session-{letter}.json"
        chat.write_text(json.dumps([{"role": "user", "content": letter}]))
        memory.import_(chat)
    graph = folder / "graph.json"
    records = [record(1, id=f"{TWIN_TURN}{number}", session_id="g", content="c") for number in (1, 2)]
    graph.write_text(json.dumps({"turns": records, "edges": []}))
    memory.import_(graph, format="graph")
    source = memory.library.create("Source", "S.", body="One.", id="01JSRC00000000000000000001")
    derived: list[tuple[str, str]] = [("derived_from", source.id)]
    file = memory.library.create("A", "S.", body="x", id=FILE, contract=["write=replace"], links=derived)
    context = memory.context("why do retries fail?", 400)
    memory.runs.start(RUN, "Find out.", "Found.")
    memory.runs.compact(RUN)
    evidence = memory.cite(turns[0].ref, span=(0, 4))
    refs = {
        "file": file.ref, "session": f"session:{session}", "turn": turns[0].ref, "mf": context.id,
        "run": f"run:{RUN}", "ev": evidence.id,
        "sn": str(memory.runs.snapshot(RUN)["snapshot_id"]),
    }  # fmt: skip
    good = {
        "file_id": file.id, "assignments": "title=A", "rel": "see_also", "to": source.id, "text": "text",
        "refs": file.ref, "run_id": RUN, "new_run_id": "forked", "events": [], "statement": "It is.", "name": "x",
        "description": "Two sides.", "question": "why?", "session": session, "turn": turns[0].ref, "context": context,
        "manifest": context.id, "reference": turns[0].ref, "path": SHORT_SAMPLE, "title": "t", "summary": "s",
        "dry_run": True, "span": (0, 4), "reason": None, "resolve": False,
    }  # fmt: skip
    yield World(memory, refs, good)
    memory.close()


def understood(call: Callable[[], object]) -> bool:
    """Returns whether a call knew what was named. It may still refuse to do something with it."""
    try:
        call()
    except SlicebaseError as error:
        assert error.code not in NOT_UNDERSTOOD, f"{error} [{error.code}]"
    return True


# Verbs


class Taken(NamedTuple):
    """An argument of a verb that takes an id."""

    family: type
    verb: str
    argument: str

    def __str__(self) -> str:
        return f"{self.family.__name__}.{self.verb} {self.argument}"


def taken() -> Iterator[Taken]:
    for family in FAMILIES:
        for verb, member in members(family):
            if inspect.isfunction(inspect.getattr_static(family, verb)):
                found = [Taken(family, verb, name) for name in inspect.signature(member).parameters if name in KINDS]
                yield from (each for each in found if str(each) not in OTHERS)


VERBS = list(taken())


def called(world: World, each: Taken, given: str, tmp_path: Path) -> Callable[[], object]:
    family = FAMILIES[each.family]
    verb = getattr(getattr(world.memory, family) if family else world.memory, each.verb)
    parameters = inspect.signature(verb).parameters
    special: dict[str, dict[str, Any]] = {
        "export": {"to": tmp_path / "out.slice"},
        "stop": {"reason": "HUMAN_REQUESTED"},
        "allow_loop": {"reason": "why", "steps": 1},
    }
    good = {**world.good, **special.get(each.verb, {})}
    needed = {
        name: good[name]
        for name, parameter in parameters.items()
        if name in good and (parameter.default is parameter.empty or name in ("dry_run", "span", "steps"))
    }
    value: Any = [("see_also", given)] if each.argument == "links" else given
    if each.argument in ("a", "b"):
        needed |= {"description": "d"}
    elif each.verb in ("claim", "conflict"):
        needed |= {"id": "x"}  # what is changed has an id
    return lambda: verb(**needed | {each.argument: value})


@pytest.mark.parametrize("each", VERBS, ids=str)
def test_a_verb_takes_a_reference_an_id_and_a_short_id(each: Taken, world: World, tmp_path: Path) -> None:
    for given in world.forms(KINDS[each.argument]):
        assert understood(called(world, each, given, tmp_path)), given


@pytest.mark.parametrize("each", [each for each in VERBS if KINDS[each.argument] in TWINS], ids=str)
def test_a_verb_refuses_an_id_that_is_ambiguous_or_too_short(each: Taken, world: World, tmp_path: Path) -> None:
    if each.verb in ("step", "recorder"):  # they look at nothing before they begin
        return
    twin = TWINS[KINDS[each.argument]]
    assert code_of(called(world, each, twin, tmp_path)) == "ambiguous-id"
    assert code_of(called(world, each, twin[: SHORTEST_ID - 1], tmp_path)) == "short-id"


@pytest.mark.parametrize("kind", ["file", "session", "turn", "mf", "run", "ev", "sn"])
def test_a_verb_that_takes_any_kind_finds_each_by_a_short_id_alone(kind: str, world: World) -> None:
    short = parse(world.refs[kind]).name[:SHORTEST_ID]
    assert world.memory.why(short, forward=True).ref == world.refs[kind]


def test_a_step_of_a_run_knows_its_complete_id(world: World) -> None:
    world.memory.runs.start("a-run-of-many-steps", "o", "d")
    with world.memory.runs.step("run:a-run-of", compact=False) as step:
        assert step.run_id == "a-run-of-many-steps"
    assert code_of(world.memory.runs.step("twin-run-").__enter__) == "ambiguous-id"


# What is printed

HEX_FILES = ("0a0a0a0a", "0a0a0a0a0123456789ABCDEFGH", "0B0B0B0B0123456789ABCDEFGH", "01JRVN11000000000000000001")
HEX_TURNS = [f"{first}-{last}000-4000-8000-000000000001" for first in ("0a0a0a0a", "0b0b0b0b") for last in "12"]
HEX_OTHERS = ("01JRVN11000000000000000002", "01234567-a-name", "0c0c0c0c-2000-4000-8000-000000000001")


@hypothesis.settings(max_examples=6 * MORE, deadline=None)
@hypothesis.given(
    files=st.sets(st.sampled_from((*HEX_FILES, "0c0c0c0c-notes", "01234567012345678900000000"))),
    turns=st.sets(st.sampled_from((*HEX_TURNS, "0c0c0c0c-1000-4000-8000-000000000001")), min_size=1),
    runs=st.sets(st.sampled_from(HEX_OTHERS)),
)
def test_what_is_printed_short_names_one_thing_whatever_else_there_is(
    tmp_path_factory: pytest.TempPathFactory, files: set[str], turns: set[str], runs: set[str]
) -> None:
    """Every kind of thing counts that a verb finds by a bare id: a context says only the ids of its turns.

    Of sections and rows, a context shows the beginning of their file's id.
    """
    folder = tmp_path_factory.mktemp("short")
    with Slicebase.init(folder) as memory:
        for file in files:
            memory.library.create("Deploys", "S.", id=file, body="Deploys.")
        log = memory.library.create("Log", "S.", type="jsonl")
        memory.library.remember(log.id, "deploys")
        for run in runs:
            memory.runs.start(run, "o", "d")
        records = [record(1, id=turn, session_id="s", content=f"deploys {turn}") for turn in turns]
        (folder / "graph.json").write_text(json.dumps({"turns": records, "edges": []}))
        memory.import_(folder / "graph.json", format="graph")
        pieces = memory.context("deploys", 4000).manifest.pieces
        printed = [(piece.shown, piece.ref) for piece in pieces]
        assert len([ref for _, ref in printed if ref.startswith("turn:")]) == len(turns)
        printed += [(short, f"file:{file}") for file, short in short_places(memory, files).items()]
        for short, whole in printed:
            assert str(memory.names.ref(short, EVERYTHING)) == whole


@hypothesis.settings(max_examples=6 * MORE, deadline=None)
@hypothesis.given(
    turns=st.sets(st.sampled_from(HEX_TURNS), min_size=1),
    later_turns=st.sets(st.sampled_from((*HEX_TURNS, "01234567-1000-4000-8000-000000000001"))),
    files=st.sets(st.sampled_from((*HEX_FILES, "01234567", "0b0b0b0b"))),
    runs=st.sets(st.sampled_from((*HEX_OTHERS, "0a0a0a0a", "0b0b0b0b-1", "01234567"))),
)
@hypothesis.example(turns=set(HEX_TURNS[:1]), later_turns=set(), files={"0a0a0a0a"}, runs=set())
@hypothesis.example(turns=set(HEX_TURNS[:1]), later_turns=set(HEX_TURNS[2:3]), files={"0b0b0b0b"}, runs=set())
def test_what_was_printed_short_never_names_another_thing_that_came_later(
    tmp_path_factory: pytest.TempPathFactory, turns: set[str], later_turns: set[str], files: set[str], runs: set[str]
) -> None:
    """A person may choose a name that is the short id of a turn in a context of yesterday, or the other way round."""
    folder = tmp_path_factory.mktemp("later")
    with Slicebase.init(folder) as memory:
        import_turns(memory, turns)
        pieces = memory.context("deploys", 4000).manifest.pieces
        printed = [(piece.shown, piece.ref) for piece in pieces]
        for file in sorted(files):
            memory.library.create("Rotation", "S.", id=file)
            printed += [(short, f"file:{whole}") for whole, short in short_places(memory, [file]).items()]
        for run in runs:
            memory.runs.start(run, "o", "d")
        if later_turns - turns:
            import_turns(memory, later_turns - turns)
        for short, whole in printed:
            try:
                assert str(memory.names.ref(short, EVERYTHING)) == whole
            except SlicebaseError as error:
                assert error.code == "ambiguous-id"
            assert str(memory.names.ref(whole, EVERYTHING)) == whole


def import_turns(memory: Slicebase, turns: set[str]) -> None:
    records = [record(1, id=turn, session_id=f"of-{turn}", content=f"deploys {turn}") for turn in turns]
    graph = memory.root / "graph.json"
    graph.write_text(json.dumps({"turns": records, "edges": []}))
    memory.import_(graph, format="graph")


# Commands


def commands(group: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Parameter]]:
    for name in group.list_commands(click.Context(group)) if isinstance(group, click.Group) else ():
        command = group.get_command(click.Context(group), name)  # type: ignore[attr-defined]
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
            continue
        full = " ".join((*path, name))
        for each in command.params:
            is_named = each.name in KINDS and each.expose_value and f"{full} {each.name}" not in OTHERS
            if is_named and not (each.name in ("session", "source", "to") and isinstance(each, click.Option)):
                yield full, each


TAKEN = list(commands(main.tt))
# What a command needs besides, so that it comes to look for the thing that is named.
BESIDES: dict[str, list[str]] = {
    "cite": ["--span", "0-4"],
    "forget": ["--dry-run"],
    "purge": ["--dry-run"],
    "run failure": ["--category", "c", "--where", "w", "--why", "y"],
    "run allow-loop": ["--reason", "why", "--steps", "1"],
    "run stop": ["--reason", "HUMAN_REQUESTED"],
    "run start": ["--objective", "o", "--done", "d"],
    "create": ["--title", "t", "--summary", "s"],
}
WORDS = {
    "assignments": "title=A", "rel": "see_also", "text": "text", "event_type": "NOTE", "statement": "It is.",
    "description": "Two.",
}  # fmt: skip


def line_of(world: World, name: str, given: str, each: click.Parameter, tmp_path: Path) -> list[str]:
    command: Any = main.tt
    for word in name.split():
        command = command.get_command(click.Context(command), word)
    line = []
    for argument in command.params:
        if not isinstance(argument, click.Argument):
            continue
        if argument is each or argument.name == each.name:
            line.append(given)
        elif argument.required or WORDS.get(argument.name):
            other = WORDS.get(argument.name) or (world.good["to"] if argument.name == "target" else None)
            line.append(other or parse(world.refs[KINDS[argument.name]]).id)
    if isinstance(each, click.Option):
        line += [each.opts[0], *([f"see_also:{given}"] if each.name == "links" else [given] * each.nargs)]
    if name == "context" and each.name == "run":
        line.append("why?")
    if name == "export":
        line += ["--html", "--to", str(tmp_path / "out.html")]  # takes every kind of reference
    return ["--root", str(world.memory.root), *name.split(), *line, *BESIDES.get(name, ()), "--json"]


def code_printed(capfd: pytest.CaptureFixture[str], line: list[str]) -> str | None:
    capfd.readouterr()
    main.run(line)
    printed = capfd.readouterr().err.splitlines()
    return json.loads(printed[-1])["code"] if printed and printed[-1].startswith("{") else None


@pytest.mark.parametrize(("name", "each"), TAKEN, ids=lambda each: getattr(each, "name", each))
def test_a_command_takes_a_short_id_and_refuses_an_ambiguous_one(
    name: str, each: click.Parameter, world: World, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    kind = KINDS[each.name or ""]
    ref = parse(world.refs[kind])
    short = short_of(ref)
    assert code_printed(capfd, line_of(world, name, short, each, tmp_path)) not in NOT_UNDERSTOOD
    if kind in TWINS:
        assert code_printed(capfd, line_of(world, name, TWINS[kind], each, tmp_path)) == "ambiguous-id"


def short_of(ref: Any) -> str:
    return str(ref.id)[: len(ref.id) - len(ref.name) + SHORTEST_ID]


# Tools


def fields() -> Iterator[tuple[str, str]]:
    for name, tool in TOOLS.items():
        names = [field for field in schema(tool.takes)["properties"] if field in KINDS and field != "source"]
        yield from ((name, field) for field in names)


GIVEN: dict[str, dict[str, Any]] = {
    "remember": {"text": "x"},
    "connect": {"rel": "see_also"},
    "create": {"title": "t", "summary": "s"},
    "context": {"question": "why?"},
    "run": {"action": "claim", "run": "01JRVN00", "statement": "It is."},
}


@pytest.mark.parametrize(("name", "field"), list(fields()))
def test_a_tool_takes_a_short_id_and_refuses_an_ambiguous_one(name: str, field: str, world: World) -> None:
    kind = KINDS[field]

    def called(given: str) -> Callable[[], object]:
        shapes: dict[str, Any] = {
            "refs": [given],
            "links": [{"rel": "see_also", "to": given}],
            "evidence": [{"ref": given}],
        }
        others = {"id": world.good["file_id"], "to": world.good["to"]} if name == "connect" else {}
        arguments = {**others, **GIVEN.get(name, {}), field: shapes.get(field, given)}
        return lambda: call_tool(ServerEnvironment(world.memory.root, None, "s"), None, TOOLS[name], arguments)

    assert understood(called(short_of(parse(world.refs[kind]))))
    if kind in TWINS:
        assert code_of(called(TWINS[kind])) == "ambiguous-id"


# What is stored, and what is printed


def test_a_link_that_is_given_short_is_stored_with_the_complete_id(world: World) -> None:
    library = world.memory.library
    log = library.create("Log", "Rows.", type="jsonl")
    row = library.remember(log.id, "A row.").ref
    linking = library.create("Links", "To all kinds.").id
    for kind in ("turn", "session", "run", "mf", "sn", "ev"):
        library.connect(linking, "see_also", short_of(parse(world.refs[kind])))
    library.connect(linking, "see_also", row[: row.index("/") + 1 + 20])
    library.connect(linking, "see_also", row.split("/")[1])
    stored = [link.to for link in library.folder.find(linking).links]
    assert stored == [*(world.refs[kind] for kind in ("turn", "session", "run", "mf", "sn", "ev")), row]
    for to in stored:
        library.disconnect(linking, "see_also", to or "")
    assert library.folder.find(linking).links == ()


def test_what_is_printed_short_names_one_thing(world: World) -> None:
    """Everything that is stored, shortened together: each short form leads back to its own."""
    memory = world.memory
    log = memory.library.create("Log", "Rows.", type="jsonl")
    rows = memory.library.remember(log.id, "\n".join('{"text": "row"}' for _ in range(20))).refs
    files = [f"file:{entry.id}" for entry in memory.library.list_files()]
    turns = [turn.ref for session in memory.graph.sessions() for turn in memory.graph.turns(session.id)]
    runs = [f"run:{entry.tally.run_id}" for entry in memory.runs.list_runs()]
    whole = [*files, *rows, *turns, *runs, *world.refs.values(), f"claim:{RUN}/c1"]
    short = shortened(memory, whole)
    assert {each: str(memory.names.ref(short[each], ())) for each in whole} == {each: each for each in whole}
    assert len(short[world.refs["turn"]]) == len("turn:") + SHORTEST_ID
    assert shortened(memory, ["file:01JGONE0000000000000000000", "no reference"]) == {
        "file:01JGONE0000000000000000000": "file:01JGONE0000000000000000000", "no reference": "no reference"
    }  # fmt: skip


# Ids that nothing has, in the form that ids of the kind have; a verb that takes any kind takes any word.
ABSENT = {
    "file": ["nosuch", "01JFYE0000000000000000000Z"], "run": ["nosuch", "01JFYE0000000000000000000Z"],
    "session": ["nosuch"], "turn": ["eeeeeeee", "eeeeeeee-0000-4000-8000-000000000000"],
    "mf": ["eeeeeeee", "mf_" + "e" * 32], "ev": ["eeeeeeee", "ev_" + "e" * 32],
}  # fmt: skip
ANY_KIND = {"reference", "ref", "refs"}


@pytest.mark.parametrize(("name", "each"), TAKEN, ids=lambda each: getattr(each, "name", each))
def test_a_command_that_finds_nothing_with_an_id_ends_with_the_status_for_that(
    name: str, each: click.Parameter, world: World, tmp_path: Path
) -> None:
    world.memory.runs.start(tmp_path.name, "o", "d")  # another may have stopped by now
    world = world._replace(refs={**world.refs, "run": f"run:{tmp_path.name}"})
    for given in [*ABSENT[KINDS[each.name or ""]], *(["nosuch", "eeeeeeee"] if each.name in ANY_KIND else [])]:
        assert main.run(line_of(world, name, given, each, tmp_path)) == Exit.NOT_FOUND, given


@hypothesis.settings(max_examples=40, deadline=None)
@hypothesis.given(
    name=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
    | st.sampled_from([" a", "a\n", "\n"])
)
def test_a_session_has_a_reference_whatever_its_source_calls_it(name: str) -> None:
    """It is shown, becomes a run, and above all is purged by that."""
    log = [{"id": name, "messages": [{"role": "user", "content": "Use port 80."}]}]
    with TemporaryDirectory() as folder, Slicebase.init(folder) as memory:
        memory.import_("-", stdin=[json.dumps(log).encode()], format="messages")
        (listed,) = memory.graph.sessions()
        assert memory.show(listed.ref)["turns"] == 1
        assert memory.runs.from_session(listed.ref).last > 0
        assert [turn.text for turn in memory.graph.turns(listed.ref)] == ["Use port 80."]
        memory.purge(listed.ref)
        assert [turn.text for turn in memory.graph.turns(listed.ref)] == [None]
        assert memory.verify().status == "VERIFIED"
