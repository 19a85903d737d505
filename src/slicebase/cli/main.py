"""`tt`: finds the command, runs it, and turns errors into messages and exit statuses."""

import importlib
import sys
from typing import TYPE_CHECKING, Any

import click

from slicebase import __version__
from slicebase.cli.commands import GROUPS, LISTED, PLUMBING
from slicebase.cli.output import Group, colour, discard, print_error, print_text
from slicebase.errors import Exit, SlicebaseError
from slicebase.workspace.server import user_folder

if TYPE_CHECKING:  # keeps start-up fast
    from click.shell_completion import CompletionItem


class LazyGroup(Group):
    """A group that knows the names and summaries of its commands, and imports a command only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(LISTED)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        known = LISTED.get(cmd_name) or PLUMBING.get(cmd_name)
        if known is None:
            return None
        module, _, function = known.place.partition(":")
        command: click.Command = getattr(importlib.import_module(f"slicebase.cli.{module}"), function)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command. A reader that closes the pipe (`tt … | head`) is not an error; click would exit with 1."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            discard(sys.stdout)
            return Exit.DONE

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Completes the names of commands without importing them."""
        from click.shell_completion import CompletionItem

        names = [name for name in LISTED if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(name, help=LISTED[name].summary) for name in names] + options

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, LISTED))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), command.summary) for name, command in commands.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 done, 1 findings or no match, 2 usage, 3 refused, 4 not found, 5 conflict, 6 unverifiable.",
)
@click.version_option(__version__, "--version", prog_name="slicebase", message="%(prog)s %(version)s")
@click.option("--root", metavar="FOLDER", help="Use the workspace in this folder instead of the nearest one above.")
@click.option("--global", "use_global", is_flag=True, help="Use your own workspace, which belongs to no project.")
@click.pass_context
def tt(ctx: click.Context, root: str | None, use_global: bool) -> None:
    """Verifiable memory for long-running AI agents."""
    if root and use_global:
        raise click.UsageError("Give one of --root and --global.")
    ctx.color = colour()
    ctx.ensure_object(dict)["root"] = user_folder() if use_global else root


def run(argv: list[str]) -> int:
    """Runs a command and returns its exit status; an error is printed on stderr."""
    options: dict[str, Any] = {}
    try:
        result: Any = tt.main(argv, prog_name="tt", standalone_mode=False, obj=options)
        return result if isinstance(result, int) else Exit.DONE
    except click.Abort:
        print_text("Stopped.", err=True)
        return 130
    except Exception as error:
        ours = _as_our_error(error)
        if ours is None:
            raise
        from slicebase.cli.failures import without_secrets

        print_error(without_secrets(ours, options, enabled="--no-redact" not in argv), "--json" in argv)
        return ours.exit


def _as_our_error(error: Exception) -> SlicebaseError | None:
    if isinstance(error, SlicebaseError):
        return error
    if isinstance(error, click.UsageError):
        return SlicebaseError("usage", error.format_message(), hint=_help_hint(error))
    from slicebase.cli.failures import as_our_error

    return as_our_error(error)


def _help_hint(error: click.UsageError) -> str:
    command = error.ctx.command_path if error.ctx else "tt"
    of_text = "; a text that begins like an option goes after `--`" if isinstance(error, click.NoSuchOption) else ""
    return f"see `{command} --help`{of_text}"
