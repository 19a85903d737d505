"""Hints of errors name tools: an agent that has only tools can do what they say."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slicebase.errors import SlicebaseError, Where
from slicebase.mcp.calls import ServerEnvironment
from slicebase.mcp.refusals import COMMANDS_AS_CALLS, FOR_PEOPLE, for_agents, refusal_text, with_tools
from slicebase.mcp.runs import ACTIONS
from slicebase.mcp.tools import TOOLS, call_tool, schema
from tests.paths import PROJECT


def unmarked(text: str) -> list[str]:
    """Returns the commands and options in a text that are not marked as left to people."""
    for_people = text.replace(f" {FOR_PEOPLE}", "\0")
    commands = re.findall(r"`tt [^`]*`(?!\0)", for_people)
    return commands + re.findall(r"(?<![\w-])--[a-z][a-z-]*(?!\0)\b(?!\0)", re.sub(r"`tt [^`]*`", "", for_people))


def hints() -> Iterator[str]:
    """Yields every text that names a command, outside the command line and what is written for agents that have it."""
    for path in sorted((PROJECT / "src" / "slicebase").rglob("*.py")):
        text = path.read_text()
        if path.parent.name not in ("cli", "agents") and path.name != "refusals.py" and "`tt " in text:
            yield from _texts(ast.parse(text))


def _texts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "x1" for part in node.values]
        texts = ["".join(map(str, parts))]
    else:
        texts = [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []
        yield from (text for child in ast.iter_child_nodes(node) for text in _texts(child))
    yield from (text for text in texts if "`tt " in text)


def test_every_command_that_a_hint_names_is_a_tool_or_is_left_to_people() -> None:
    texts = list(hints())
    assert len(texts) > 50
    assert {text: left for text in texts if (left := unmarked(with_tools(text)))} == {}


@pytest.mark.parametrize("command", COMMANDS_AS_CALLS)
def test_a_command_becomes_a_call_that_the_tool_takes(command: str) -> None:
    known = COMMANDS_AS_CALLS[command]
    arguments = schema(TOOLS[known.tool].takes)["properties"]
    assert {*known.takes, *known.options.values(), *known.arguments.split()[:1]} <= arguments.keys()
    if known.tool == "run":
        assert known.arguments.split()[1] in ACTIONS


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        ("`tt list` and `tt turns` show ids", "`list` and `list` with of sessions show ids"),
        ("`tt turns SESSION` lists them", "`list` with session lists them"),
        ("bring it back with `tt restore 01J`", "bring it back with `forget` with restore true, id 01J"),
        ("`tt run fork r` continues", "`run` with action fork, run r continues"),
        ("--supersedes 01J replaces it", "`supersedes` 01J replaces it"),
        ("`tt remember --as-text` stores it", "`remember` with as_text stores it"),
        ("`tt create --from x.md` creates it", "`tt create --from x.md` (for a person to run) creates it"),
        ("`tt doctor --fix` or --root", "`tt doctor --fix` (for a person to run) or --root (for a person to run)"),
        ("a well-known -- dash", "a well-known -- dash"),
    ],
)
def test_a_hint_is_said_with_tools(hint: str, said: str) -> None:
    assert with_tools(hint) == said


GOOD: dict[str, dict[str, Any]] = {
    "search": {"query": "x"},
    "recall": {"refs": ["log"]},
    "create": {"title": "t", "summary": "s"},
    "remember": {"id": "log", "text": "x"},
    "forget": {"id": "notes"},
    "connect": {"id": "log", "rel": "see_also", "to": "notes"},
    "explore": {"id": "log"},
    "context": {"question": "x"},
    "slice": {"turn": "00000000-0000-4000-8000-000000000000"},
    "why": {"ref": "file:log"},
}
BAD = ["nowhere", "turn:00000000-0000-4000-8000-000000000000", -1]


def bad_calls() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, tool in TOOLS.items():
        fields = msgspec.structs.fields(tool.takes)
        if name == "run":
            given = {"run": "r", "objective": "o", "done": "d", "events": [{"type": "CLIENT"}], "statement": "s"}
            yield from ((name, {"action": each, **given, "reason": "NO_EVIDENCE"}) for each in ACTIONS)
            yield from ((name, {"action": each, "run": bad}) for each in ACTIONS for bad in BAD[:1])
        yield from ((name, {**GOOD.get(name, {}), each.name: bad}) for each in fields for bad in BAD)


def test_no_error_of_a_tool_names_a_command_unless_it_is_for_a_person(folder: Path) -> None:
    environment = ServerEnvironment(folder, None, "s")
    with environment.open() as base:
        base.library.create("Log", "Rows.", type="jsonl", contract=["write=supersede"], id="log")
        base.library.create("Notes", "Text.", contract=["write=error"], id="notes")
    codes = set()
    for name, arguments in bad_calls():
        try:
            call_tool(environment, None, TOOLS[name], arguments)
        except SlicebaseError as raised:
            error = environment.shown(raised)
            codes.add(error.code)
            assert not unmarked(f"{error.message} {error.hint}"), (name, arguments)
    assert len(codes) > 10


def test_a_message_is_one_short_line_in_a_fence() -> None:
    where = Where("a\nb")
    error = for_agents(SlicebaseError("no-file", "```\x1b\nx\u202e" + "y" * 9000, hint="see `tt list`", where=where))
    assert error.message.isprintable()
    assert len(error.message) <= 1000
    text = refusal_text(error)
    assert text.startswith("Refused: no-file.")
    assert "\n````text\na b: ``` x y" in text
    assert text.endswith("\nhint: see `list`\n````\n")
