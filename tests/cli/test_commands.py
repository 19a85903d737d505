"""One verb, one name: Python, the command line and MCP are compared with the table of commands."""

from collections.abc import Mapping

import click
import pytest

from slicebase.base import Slicebase
from slicebase.cli.commands import GROUPS, LISTED, POLICY_VERBS, RUN_VERBS
from slicebase.cli.main import run, tt
from slicebase.errors import Exit
from slicebase.library.library import Library
from slicebase.verbs.graph import Graph
from slicebase.verbs.policies import Policies
from slicebase.verbs.runs import Runs

PARTS = {"graph": Graph, "library": Library, "policies": Policies, "runs": Runs}
FAMILIES = {"run", "hook", "policy"}  # commands with subcommands
VERBS = {name: command.python for name, command in LISTED.items() if command.python}
FACES = [name for name, command in LISTED.items() if command.python is None]


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_exists_in_python(name: str) -> None:
    part, _, method = VERBS[name].rpartition(".")
    found = getattr(PARTS[part] if part else Slicebase, method)
    assert callable(found) or name in FAMILIES


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_is_a_command_of_the_same_name_with_a_help_text_and_json(name: str) -> None:
    command = tt.get_command(click.Context(tt), name)
    assert command is not None
    assert command.name == name
    assert command.help
    assert name in FAMILIES or "--json" in options_of(command)


def options_of(command: click.Command) -> set[str]:
    return {option for parameter in command.params for option in parameter.opts}


@pytest.mark.parametrize(("family", "verbs"), [("run", RUN_VERBS), ("policy", POLICY_VERBS)])
def test_the_verbs_of_a_family_exist_in_python_and_as_commands(family: str, verbs: Mapping[str, str]) -> None:
    group = tt.get_command(click.Context(tt), family)
    assert isinstance(group, click.Group)
    assert set(group.commands) == set(verbs)
    for name, place in verbs.items():
        part, _, method = place.rpartition(".")
        assert callable(getattr(PARTS[part], method))
        assert group.commands[name].help
        assert "--json" in options_of(group.commands[name])


def test_an_interface_is_a_listed_command_with_a_help_text_and_no_verb() -> None:
    assert not set(FACES) & set(VERBS)
    for name in FACES:
        command = tt.get_command(click.Context(tt), name)
        assert command
        assert command.help
        assert name in tt.list_commands(click.Context(tt))


def test_a_command_is_in_one_group_and_in_the_help_below_its_title() -> None:
    assert len(LISTED) == sum(len(group) for group in GROUPS.values())
    text = tt.get_help(click.Context(tt))
    places = [text.index(f"\n{title}:\n") for title in GROUPS]
    assert places == sorted(places)
    for title, place, after in zip(GROUPS, places, [*places[1:], len(text)], strict=True):
        named = [line.split()[0] for line in text[place:after].splitlines()[2:] if line.startswith("  ")]
        assert set(GROUPS[title]) <= set(named), title


@pytest.mark.parametrize(
    ("arguments", "meant"), [(["serach"], "search"), (["run", "stauts"], "status"), (["hook", "instal"], "install")]
)
def test_a_mistyped_command_gets_a_suggestion(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == Exit.USAGE
    assert f"{meant}`" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["xyzzy", "save", "chat", "", "ß" * 10_000], ids=lambda word: word[:8])
def test_a_word_that_resembles_no_command_gets_no_suggestion(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([word]) == Exit.USAGE
    assert "mean" not in capsys.readouterr().err
