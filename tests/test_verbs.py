"""One verb, one name: the faces are compared with the table."""

import click
import pytest

from slicebase.base import Graph, Slicebase
from slicebase.cli.main import tt
from slicebase.store.library import Library
from slicebase.verbs import VERBS

PARTS = {"graph": Graph, "library": Library}


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_is_there_in_python(name: str) -> None:
    part, _, method = VERBS[name].python.rpartition(".")
    assert callable(getattr(PARTS[part] if part else Slicebase, method))


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_is_a_command_of_the_same_name_with_a_help_text_and_json(name: str) -> None:
    command = tt.get_command(click.Context(tt), name)
    assert command is not None
    assert command.name == name
    assert command.help
    assert "--json" in {option for parameter in command.params for option in parameter.opts}
