"""One verb, one name: the faces are compared with the table."""

import click
import pytest

from slicebase.base import Slicebase
from slicebase.cli.commands import FACES, RUN_VERBS, VERBS
from slicebase.cli.main import tt
from slicebase.library.library import Library
from slicebase.verbs.graph import Graph
from slicebase.verbs.runs import RunVerbs

PARTS = {"graph": Graph, "library": Library, "runs": RunVerbs}
GROUPS = {"run", "hook"}


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_is_there_in_python(name: str) -> None:
    part, _, method = VERBS[name].python.rpartition(".")
    found = getattr(PARTS[part] if part else Slicebase, method)
    assert callable(found) or name in GROUPS


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_is_a_command_of_the_same_name_with_a_help_text_and_json(name: str) -> None:
    command = tt.get_command(click.Context(tt), name)
    assert command is not None
    assert command.name == name
    assert command.help
    assert name in GROUPS or "--json" in options_of(command)


def options_of(command: click.Command) -> set[str]:
    return {option for parameter in command.params for option in parameter.opts}


def test_the_verbs_of_runs_are_there_in_python_and_as_commands() -> None:
    group = tt.get_command(click.Context(tt), "run")
    assert isinstance(group, click.Group)
    assert set(group.commands) == set(RUN_VERBS)
    for name, place in RUN_VERBS.items():
        part, _, method = place.rpartition(".")
        assert callable(getattr(PARTS[part], method))
        assert group.commands[name].help
        assert "--json" in options_of(group.commands[name])


def test_a_face_is_a_listed_command_with_a_help_text_and_no_verb() -> None:
    assert not set(FACES) & set(VERBS)
    for name in FACES:
        command = tt.get_command(click.Context(tt), name)
        assert command
        assert command.help
        assert name in tt.list_commands(click.Context(tt))
