"""The reference of commands, exit statuses and error codes, made from the program itself.

`python -m slicebase.cli.reference` prints docs/reference.md; a test keeps that file up to date.
"""

from collections.abc import Iterator

import click

from slicebase.cli.main import tt
from slicebase.errors import CODES, Exit

_WIDTH = 96  # whatever the terminal is
_EXITS = {
    Exit.DONE: "done",
    Exit.FINDINGS: "findings, or no match",
    Exit.USAGE: "the command line is not understood",
    Exit.REFUSED: "refused: bad input, or a broken rule",
    Exit.NOT_FOUND: "not found",
    Exit.CONFLICT: "conflict, or locked by another process",
    Exit.UNVERIFIABLE: "unverifiable: sources are missing or purged",
}


def reference() -> str:
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# Reference"
    yield ""
    yield "Made by `make docs` from the program itself."
    yield ""
    yield "Every command takes `--json` and then prints one object with `schema_version`. Data goes to stdout, all"
    yield "else to stderr. With `--json` an error is one object on stderr: `{code, message, hint, where}`."
    yield ""
    yield "## Exit statuses"
    yield ""
    yield "| status | meaning |"
    yield "|---|---|"
    for status, meaning in _EXITS.items():
        yield f"| {status.value} | {meaning} |"
    yield ""
    yield "## Commands"
    context = click.Context(
        tt, info_name="tt", terminal_width=_WIDTH, help_option_names=tt.context_settings["help_option_names"]
    )
    for name in tt.list_commands(context):
        command = tt.get_command(context, name)
        assert command is not None
        yield from _command(command, click.Context(command, info_name=name, parent=context, terminal_width=_WIDTH))
    yield ""
    yield "## Error codes"
    yield ""
    yield "| code | exit | meaning |"
    yield "|---|---|---|"
    for code, kind in sorted(CODES.items()):
        yield f"| `{code}` | {kind.exit.value} | {kind.meaning} |"


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    yield ""
    yield f"### {context.command_path}"
    yield ""
    yield "```"
    yield from command.get_help(context).splitlines()
    yield "```"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _command(inner, click.Context(inner, info_name=name, parent=context, terminal_width=_WIDTH))


if __name__ == "__main__":
    click.echo(reference(), nl=False)
