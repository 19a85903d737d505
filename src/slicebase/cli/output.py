"""What commands print: data on stdout, everything else on stderr; with `--json`, one object with `schema_version`.

Everything is printed here (ruling 48). A pipe or a file gets the exact bytes. On a terminal, recalled text could move
the cursor, hide a line or turn its letters around, so such characters are shown escaped.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TextIO, TypeVar

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
            name, command, rest = super().resolve_command(ctx, args)
        except click.UsageError:
            from difflib import get_close_matches  # imported here to keep start-up fast

            nearest = get_close_matches(args[0], self.list_commands(ctx), n=3, cutoff=_ALIKE)
            names = " or ".join(f"`{ctx.command_path} {name}`" for name in nearest)
            suggestion = f" Did you mean {names}?" if nearest else ""
            raise click.UsageError(f"No such command {args[0]!r}.{suggestion}", ctx) from None
        if command is None or isinstance(command, click.Group) or not any(each.startswith("-") for each in rest):
            return name, command, rest
        from slicebase.cli.arguments import arranged

        return name, command, arranged(ctx, command, rest)


def json_option(command: _Command) -> _Command:
    """Adds the option --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")(command)


class Styled(NamedTuple):
    """A text with a style of ours, which a terminal shows; in a pipe it is the text alone."""

    text: str
    style: str  # the parameters of an SGR sequence


RED, YELLOW, GREEN, CYAN, BOLD, DIM = "31", "33", "32", "36", "1", "2"
Shown = str | Styled

# Control characters other than tab and line end, marks that change the direction of a text, separators of lines and
# paragraphs, tags that nobody sees, and halves of surrogate pairs, which stand for bytes that are not UTF-8. Compiled
# on first use for a fast start: in a pipe nothing is escaped.
_HIDDEN = r"[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f\ud800-\udfff]"


def visible(text: str, *, json: bool = False) -> str:
    """Returns a text as a terminal shows it: what a terminal would obey is escaped; with `json`, as JSON does."""
    return re.sub(_HIDDEN, lambda match: _escape(match[0], json), text)


def _escape(letter: str, json: bool) -> str:
    code = ord(letter)
    if not json:
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    pair = letter.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{pair[at : at + 4]}" for at in range(0, len(pair), 4))


def print_text(*pieces: Shown, nl: bool = True, err: bool = False) -> None:
    """Prints pieces of text one after another, and a line end."""
    stream = sys.stderr if err else sys.stdout
    if stream.isatty():
        _write(stream, "".join(map(_on_terminal, pieces)) + "\n" * nl)
    else:
        _write(stream, "".join(piece if isinstance(piece, str) else piece.text for piece in pieces) + "\n" * nl)


def _on_terminal(piece: Shown) -> str:
    if isinstance(piece, str):
        return visible(piece)
    return visible(piece.text) if os.environ.get("NO_COLOR") else f"\x1b[{piece.style}m{visible(piece.text)}\x1b[0m"


def _write(stream: TextIO, text: str | bytes) -> None:
    """Writes the bytes of a text. What stderr does not take is lost; for stdout, it is an error."""
    try:
        _write_bytes(stream, text)
    except OSError as error:
        if isinstance(error, BrokenPipeError) and stream is not sys.stderr:
            raise  # the reader has enough
        discard(stream)
        if stream is not sys.stderr:
            raise _not_printed(error) from None


def discard(stream: TextIO) -> None:
    """Lets everything vanish that a stream still has and gets. Python flushes it once more when the process ends."""
    with suppress(OSError):  # a stream of a program that calls a command itself has no number
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _not_printed(error: OSError) -> SlicebaseError:
    """Returns the error for output that cannot be written. Nothing is undone: the command itself did not fail."""
    from slicebase.workspace.disk import is_full  # imported here to keep start-up fast

    return SlicebaseError(
        "disk-full" if is_full(error) else "cannot-write",
        f"only the output cannot be written: {error.strerror or error}",
        hint="what the command changed is stored: look before you run a command that writes again",
        where=Where("stdout"),
    )


def _write_bytes(stream: TextIO, text: str | bytes) -> None:
    """Writes the bytes of a text, whatever the stream would make of it."""
    buffer = getattr(stream, "buffer", None)
    if buffer is None:  # a stream of a program that calls a command itself
        stream.write(text if isinstance(text, str) else text.decode("utf-8", "surrogateescape"))
    else:
        stream.flush()  # what others wrote as text comes first
        buffer.write(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))
    stream.flush()


def print_json_text(text: str, *, err: bool = False, exact: bool = False) -> None:
    """Prints a line of JSON. On a terminal it is the same value; elsewhere, if `exact`, without a line end."""
    stream = sys.stderr if err else sys.stdout
    _write(stream, visible(text, json=True) + "\n" if stream.isatty() else text if exact else text + "\n")


def print_json_lines(lines: Iterable[bytes]) -> None:
    """Prints lines of JSON as UTF-8. On a terminal they are the same values."""
    if sys.stdout.isatty():
        for line in lines:
            print_json_text(line.decode("utf-8", "surrogateescape"))
    else:
        _write(sys.stdout, b"".join([part for line in lines for part in (line, b"\n")]))


def print_json(fields: Mapping[str, Any], default: Callable[[Any], Any] | None = None) -> None:
    """Prints one JSON object with these fields and `schema_version`."""
    import json  # imported here to keep start-up fast

    document = {"schema_version": OUTPUT_VERSION, **fields, **_replaced()}
    print_json_text(json.dumps(document, ensure_ascii=False, indent=2, default=default))


def print_progress(text: str) -> None:
    """Shows a text on stderr, which is a terminal, in place of the last one. An empty text ends that."""
    _write(sys.stderr, f"\r\x1b[K{visible(text)}")


# What was redacted, in every command that text enters through

REDACTED = "slicebase.redacted"
OPENED = "redaction"  # of the workspace that a command has opened, among the options of `tt`


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
    except BrokenPipeError:
        raise  # of the output: no file that is read has such an error
    except OSError as error:
        raise SlicebaseError("no-input", str(error.strerror), where=Where(path)) from None


def colour() -> bool | None:
    """Returns whether click uses colours: False with NO_COLOR; None lets it decide, which uses them on terminals."""
    return False if os.environ.get("NO_COLOR") else None


def print_error(error: SlicebaseError, as_json: bool) -> None:
    """Prints an error and its hint on stderr."""
    if as_json:
        import json

        document = {"schema_version": OUTPUT_VERSION, **error.as_json()}
        print_json_text(json.dumps(document, ensure_ascii=False), err=True)
        return
    print_text(Styled("error", f"{BOLD};{RED}"), f": {error} [{error.code}]", err=True)
    if error.hint:
        print_text(f"hint: {error.hint}", err=True)


def print_text_change(change: "TextChange", dry_run: bool, as_json: bool) -> None:
    """Prints how a file of the project changed; for a dry run, its complete new text."""
    if as_json:
        print_json({"dry_run": dry_run, **change._asdict()})
        return
    if dry_run and change.text is not None:
        print_text(change.text, nl=False)
    note(change.message(dry_run))


def printable(text: str) -> str:
    """Returns a text that is safe to show on a terminal: control characters are escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def counted(number: int, name: str) -> str:
    """Returns a number with its noun: `1 file`, `2 files`."""
    return f"{number} {name}{'' if number == 1 else 's'}"


def note(text: str) -> None:
    """Prints a message for the user on stderr."""
    print_text(text, err=True)
