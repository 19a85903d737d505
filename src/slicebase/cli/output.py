"""What commands print: data on stdout, everything else on stderr; with `--json`, one object with `schema_version`."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from slicebase.errors import Exit, SlicebaseError, Where

if TYPE_CHECKING:
    from slicebase.agents.agent_files import TextChange

OUTPUT_VERSION = "1"

_Command = TypeVar("_Command", bound=Callable[..., Any])


_ALIKE = 0.7  # how much a command must be like what was typed to be suggested


class Group(click.Group):
    """A group of commands that suggests similar names for an unknown command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads the arguments. Without any, prints the help as a usage error; click 8.1 would exit with 0."""
        if not args and not ctx.resilient_parsing:
            note(ctx.get_help())
            ctx.exit(Exit.USAGE)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            from difflib import get_close_matches  # imported here to keep start-up fast

            nearest = get_close_matches(args[0], self.list_commands(ctx), n=3, cutoff=_ALIKE)
            names = " or ".join(f"`{ctx.command_path} {name}`" for name in nearest)
            suggestion = f" Did you mean {names}?" if nearest else ""
            raise click.UsageError(f"No such command {args[0]!r}.{suggestion}", ctx) from None


def json_option(command: _Command) -> _Command:
    """Adds the option --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")(command)


def print_json(fields: Mapping[str, Any], default: Callable[[Any], Any] | None = None) -> None:
    """Prints one JSON object with these fields and `schema_version`."""
    import json  # imported here to keep start-up fast

    document = {"schema_version": OUTPUT_VERSION, **fields, **_replaced()}
    click.echo(json.dumps(document, ensure_ascii=False, indent=2, default=default))


# What was redacted, in every command that text enters through

REDACTED = "slicebase.redacted"


def _replaced() -> dict[str, Any]:
    """Returns what was redacted, for the output of a command that text enters through."""
    context = click.get_current_context(silent=True)
    redacted = context.meta.get(REDACTED) if context else None
    return {"redacted": redacted()} if redacted else {}


def print_redacted(counts: Mapping[str, int]) -> None:
    """Says what was redacted, by rule, never the values; prints nothing if there was nothing."""
    if counts:
        note(f"redacted  {', '.join(f'{count} {rule}' for rule, count in counts.items())}")


@contextmanager
def read_input(path: str) -> Iterator[IO[bytes]]:
    """Opens a file that a command reads; `-` is stdin."""
    if path == "-":
        yield sys.stdin.buffer
        return
    try:
        with open(path, "rb") as stream:
            yield stream
    except OSError as error:
        raise SlicebaseError("no-input", str(error.strerror), where=Where(path)) from None


def colour() -> bool | None:
    """Returns whether to use colours: False with NO_COLOR; None lets click decide, which uses them on terminals."""
    return False if os.environ.get("NO_COLOR") else None


def print_error(error: SlicebaseError, as_json: bool) -> None:
    """Prints an error and its hint on stderr."""
    if as_json:
        import json

        click.echo(json.dumps({"schema_version": OUTPUT_VERSION, **error.as_json()}, ensure_ascii=False), err=True)
        return
    click.echo(f"{click.style('error', fg='red', bold=True)}: {error} [{error.code}]", err=True, color=colour())
    if error.hint:
        click.echo(f"hint: {error.hint}", err=True)


def print_text_change(change: "TextChange", dry_run: bool, as_json: bool) -> None:
    """Prints how a file of the project changed; for a dry run, its complete new text."""
    if as_json:
        print_json({"dry_run": dry_run, **change._asdict()})
        return
    if dry_run and change.text is not None:
        click.echo(change.text, nl=False)
    note(change.message(dry_run))


def printable(text: str) -> str:
    """Returns a text that is safe to show on a terminal: control characters are escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def counted(number: int, name: str) -> str:
    """Returns a number with its noun: `1 file`, `2 files`."""
    return f"{number} {name}{'' if number == 1 else 's'}"


def note(text: str) -> None:
    """Prints a message for the user on stderr."""
    click.echo(text, err=True)
