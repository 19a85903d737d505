"""Numbers on the command line: each is stored exactly, or refused as a usage error."""

from collections.abc import Iterator

import click
import pytest

from slicebase.cli.commands import PLUMBING
from slicebase.cli.main import run, tt

HUGE = ("99999999999999999999999", "-99999999999999999999999", "9223372036854775808", "9007199254740992", "1" * 5000)


def commands(command: click.Command, *names: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yields every command with the names that call it."""
    if not isinstance(command, click.Group):
        yield names, command
        return
    context = click.Context(command)
    for name in (*command.list_commands(context), *(PLUMBING if not names else ())):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from commands(inner, *names, name)


def number_options() -> Iterator[list[str]]:
    """Yields the beginning of a call for every option that takes a number; its value comes next."""
    for names, command in commands(tt):
        needed = [each for each in command.params if each.required]
        options = [f"{each.opts[0]}=x" for each in needed if isinstance(each, click.Option)]
        arguments = ["x" for each in needed if isinstance(each, click.Argument)]
        for each in command.params:
            if isinstance(each.type, click.types.IntParamType | click.types.FloatParamType):
                yield [*names, *arguments, *options, each.opts[0]]


CALLS = list(number_options())


def test_every_command_with_a_number_is_found() -> None:
    assert len(CALLS) > 15
    assert ["run", "log", "x", "--step"] in CALLS


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_a_number_that_cannot_be_stored_is_a_usage_error(call: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    for value in (*HUGE, "nan", "-inf"):
        if call[-1] == "--half-life" and value in HUGE and not value.startswith("-"):
            continue  # a decimal; the verb refuses it
        assert run([*call, value]) == 2, value
        assert len(capfd.readouterr().err) < 400
