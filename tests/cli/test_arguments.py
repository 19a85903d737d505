"""Texts that begin with a dash are texts in every command, and a mistyped option is an error in every command."""

from collections.abc import Iterator
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.cli import main
from slicebase.cli.arguments import arranged
from slicebase.errors import Exit
from tests.cli.conftest import Tt

TEXTS = [
    "- a bullet",
    "-1 degree",
    "--- rule",
    "-x marks the spot",
    "-a",
    "---",
    "-5",
    "--force is dangerous",
    "-—",
    "--\nx",
]
OPTION_LIKE = {"-a"}  # a dash and a letter is an option, known or not


def commands(group: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name in group.list_commands(click.Context(group)) if isinstance(group, click.Group) else ():
        command = group.get_command(click.Context(group), name)  # type: ignore[attr-defined]
        assert command is not None
        yield from commands(command, (*path, name)) if isinstance(command, click.Group) else [((*path, name), command)]


COMMANDS = {" ".join(path): command for path, command in commands(main.tt)}


def parsed(command: click.Command, arguments: list[str]) -> dict[str, Any]:
    """Returns the values that click reads from the arguments of a command."""
    context = click.Context(main.tt, **main.tt.context_settings)
    return command.make_context("x", arranged(context, command, arguments), parent=context).params


def needed(command: click.Command) -> list[str]:
    """Returns the options that a command requires, each with a value that begins with a dash where it takes any."""
    required = [each for each in command.params if isinstance(each, click.Option) and each.required]
    return [word for each in required for word in (each.opts[0], value_of(each))]


def value_of(option: click.Option) -> str:
    return option.type.choices[0] if isinstance(option.type, click.Choice) else "- a value"


def takes_any_text(option: click.Option) -> bool:
    is_text = isinstance(option.type, click.types.StringParamType) and not isinstance(option.type, click.Choice)
    may_be_left_out = "--seal" in option.opts  # so that its value cannot begin with a dash
    return is_text and option.expose_value and option.nargs == 1 and not option.is_flag and not may_be_left_out


def places(command: click.Command) -> list[click.Argument]:
    return [each for each in command.params if isinstance(each, click.Argument)]


def takes_texts(command: click.Command) -> bool:
    return bool(places(command)) and not any(isinstance(each.type, click.Choice) for each in places(command))


WITH_TEXTS = [name for name, command in COMMANDS.items() if takes_texts(command)]


def as_given(value: Any) -> str:
    return str(value[0] if isinstance(value, tuple) else value)


@pytest.mark.parametrize("text", sorted(set(TEXTS) - OPTION_LIKE), ids=repr)
@pytest.mark.parametrize("name", WITH_TEXTS)
def test_a_text_that_begins_with_a_dash_is_a_text_wherever_a_command_takes_one(name: str, text: str) -> None:
    command = COMMANDS[name]
    given_texts = [text for _ in places(command)]
    for line in ([*needed(command), *given_texts], [*given_texts, *needed(command)]):
        values = parsed(command, line)
        assert {each.name: as_given(values[each.name or ""]) for each in places(command)} == {
            each.name: text for each in places(command)
        }


@pytest.mark.parametrize("name", COMMANDS)
def test_a_mistyped_option_is_an_error_in_every_command(name: str) -> None:
    command = COMMANDS[name]
    texts = ["x" for _ in places(command)]
    for option in {word for each in command.params for word in each.opts if word.startswith("--")}:
        mistyped = option[:-1] + ("q" if option[-1] != "q" else "w")
        for line in ([mistyped, "X"], [f"{mistyped}=X y"], [f"{mistyped} X y"], [f"{option} X y"]):
            # A hook says it on stderr, and ends with status 0: another one would stop the client.
            with pytest.raises(click.exceptions.Exit if name == "hook run" else click.UsageError):
                parsed(command, [*texts, *line])


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_read_with_their_values_whatever_text_stands_between_them(name: str) -> None:
    command = COMMANDS[name]
    options = [each for each in command.params if isinstance(each, click.Option) and takes_any_text(each)]
    texts = ["- t" for _ in places(command)]
    for option in options:
        values = parsed(command, [*texts[:1], option.opts[0], "-v", *texts[1:], *needed(command)])
        assert as_given(values[option.name or ""]) in ("-v", "- a value")


dashed = st.text(min_size=1).map(lambda text: f"-{text}")


@given(dashed)
def test_any_text_with_a_dash_is_read_as_it_is_or_is_an_error(text: str) -> None:
    command = COMMANDS["remember"]
    try:
        values = parsed(command, ["ID", text, "--section", "- s", "--json"])
    except click.exceptions.Exit:
        assert text in ("-h", "--help")
    except click.UsageError:
        assert not any(map(str.isspace, text)) or text.startswith("--")
    else:
        assert (values["file_id"], values["section"], values["as_json"]) == ("ID", "- s", True)
        assert values["text"] == text or text in ("--", "--json")


def test_after_two_dashes_everything_is_a_text() -> None:
    assert parsed(COMMANDS["remember"], ["ID", "--json", "--", "--section"])["text"] == "--section"
    assert parsed(COMMANDS["remember"], ["--", "ID", "--"])["text"] == "--"


def test_bullets_are_stored_as_they_are_written(tt: Tt) -> None:
    notes = tt("create", "--title", "- Notes", "--summary", "-1", "--body", "- first").out.strip()
    assert tt("remember", notes, "- second", "--source", "-s").exit == Exit.DONE
    assert tt("run", "start", "-o", "- o", "--done", "- d", "--id", "r").exit == Exit.DONE
    assert tt("run", "claim", "r", "--- statement").exit == Exit.DONE
    assert tt("run", "question", "r", "-5 or 5?").exit == Exit.DONE
    text = tt("recall", notes).out
    assert "- first" in text
    assert "- second" in text
    assert "-5 or 5?" in tt("run", "status", "r").out


def test_a_mistyped_option_is_named_with_the_one_that_is_meant(tt: Tt) -> None:
    notes = tt("create", "--title", "t", "--summary", "s").out.strip()
    failed = tt("remember", notes, "text", "--secton", "x", "--json")
    assert failed.exit == Exit.USAGE
    assert failed.error["code"] == "usage"
    assert "--section" in failed.error["message"]
    assert "`--`" in failed.error["hint"]
