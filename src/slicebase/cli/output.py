"""What commands print: data on stdout, everything else on stderr; `--json` is one object with `schema_version`."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from slicebase.errors import SlicebaseError, Where

if TYPE_CHECKING:
    from slicebase.agents.agent_files import TextChange

SCHEMA_VERSION = "1"

_Command = TypeVar("_Command", bound=Callable[..., Any])


class Group(click.Group):
    """A group of commands that suggests the nearest one where a name is mistyped."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            from difflib import get_close_matches  # start-up counts

            nearest = get_close_matches(args[0], self.list_commands(ctx), n=3)
            names = " or ".join(f"`{ctx.command_path} {name}`" for name in nearest)
            suggestion = f" Did you mean {names}?" if nearest else ""
            raise click.UsageError(f"No such command {args[0]!r}.{suggestion}", ctx) from None


def json_option(command: _Command) -> _Command:
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")(command)


def print_json(fields: Mapping[str, Any], default: Callable[[Any], Any] | None = None) -> None:
    import json  # start-up counts

    told = {"schema_version": SCHEMA_VERSION, **fields}
    click.echo(json.dumps(told, ensure_ascii=False, indent=2, default=default))


@contextmanager
def read_input(path: str) -> Iterator[IO[bytes]]:
    """A file that a command reads, or stdin for `-`."""
    if path == "-":
        yield sys.stdin.buffer
        return
    try:
        with open(path, "rb") as stream:
            yield stream
    except OSError as error:
        raise SlicebaseError("no-input", str(error.strerror), where=Where(path)) from None


def colour() -> bool | None:
    """Whether to colour what is printed: never with NO_COLOR; None leaves it to click, which colours terminals."""
    return False if os.environ.get("NO_COLOR") else None


def print_error(error: SlicebaseError, as_json: bool) -> None:
    if as_json:
        import json

        click.echo(json.dumps({"schema_version": SCHEMA_VERSION, **error.as_json()}, ensure_ascii=False), err=True)
        return
    click.echo(f"{click.style('error', fg='red', bold=True)}: {error} [{error.code}]", err=True, color=colour())
    if error.hint:
        click.echo(f"hint: {error.hint}", err=True)


def print_text_change(change: "TextChange", dry_run: bool, as_json: bool) -> None:
    """What became of a file of the project; of a dry run, the whole text."""
    if as_json:
        print_json({"dry_run": dry_run, **change._asdict()})
        return
    if dry_run and change.text is not None:
        click.echo(change.text, nl=False)
    note(change.said(dry_run))


def printable(text: str) -> str:
    """Text from a file as a terminal may show it: control characters, which could steer it, are written out."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def counted(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"


def note(text: str) -> None:
    """A word to the person at the terminal that is no data."""
    click.echo(text, err=True)
