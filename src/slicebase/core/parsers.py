"""Bytes from outside as text, JSON and TOML. Whatever the bytes are, the result is a value or our own error.

The libraries that parse raise several other errors: for bytes that are not UTF-8, for numbers of thousands of digits,
for values that are nested too deeply. Each function here turns all of them into one, with the place if it is known.
"""

from collections.abc import Callable
from typing import IO, Any, Final

from slicebase.errors import SlicebaseError, Where

WHOLE_INPUT: Final = 64 << 20  # bytes of an input that is read whole
MOST_TOML: Final = 256 << 10  # bytes of a file in TOML
_MOST_DOTS: Final = 200  # in a line of TOML


def read_all(stream: IO[bytes], name: str, most: int = WHOLE_INPUT, hint: str = "") -> bytes:
    """Returns the bytes of a stream. Raises `too-large` for more than `most`, so that an endless one ends."""
    data = stream.read(most + 1)
    if len(data) > most:
        raise too_large(name, most, hint)
    return data


def too_large(name: str, most: int, hint: str = "") -> SlicebaseError:
    """Returns the error for an input of more than `most` bytes."""
    size = f"{most >> 20} MiB" if most >= 1 << 20 else f"{most >> 10} KiB"
    return SlicebaseError("too-large", f"the input is larger than {size}", hint=hint, where=Where(name))


def decode(data: bytes, first_line: int = 1, name: str | None = None) -> str:
    """Decodes UTF-8. Raises an error that names the first wrong byte, and its line and column."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line_start = data.rfind(b"\n", 0, error.start) + 1
        column = len(data[line_start : error.start].decode()) + 1
        raise SlicebaseError(
            "not-utf8",
            f"the byte 0x{data[error.start]:02X}, number {error.start - line_start + 1} of its line, is not UTF-8",
            hint="save the file as UTF-8",
            where=Where(name, data.count(b"\n", 0, error.start) + first_line, column),
        ) from None


def read_json(
    data: bytes | str, code: str = "bad-json", what: str = "the text", first_line: int = 1, *, unique: bool = False
) -> Any:
    """Returns the value of a JSON text. Raises an error with this code, line and column for one that is not JSON.

    With `unique`, a key that an object has twice is an error, because readers disagree on what it means.
    """
    import json  # imported here to keep start-up fast

    text = data if isinstance(data, str) else decode(data.removeprefix(b"\xef\xbb\xbf"), first_line)
    try:
        return json.loads(text, object_pairs_hook=unique_keys(code) if unique else None)
    except json.JSONDecodeError as error:
        where = Where(None, error.lineno + first_line - 1, error.colno)
        raise SlicebaseError(code, f"{what} is not JSON: {error.msg}", where=where) from None
    except ValueError as error:  # a number of thousands of digits
        raise SlicebaseError(code, f"{what} cannot be read: {error}") from None
    except RecursionError:
        raise SlicebaseError(code, f"{what} is nested too deeply") from None


def unique_keys(code: str) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """Returns a hook for `json.loads` that raises an error with this code for a key that an object has twice."""

    def hook(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise SlicebaseError(code, f"the key {key!r} occurs twice")
            found[key] = value
        return found

    return hook


def read_toml(text: str, code: str, what: str) -> dict[str, Any]:
    """Returns the table of a TOML text. Raises an error with this code for one that is not TOML, or nested deeply."""
    import json
    import tomllib  # imported here, because most workspaces have no file in this format

    _refuse_costly_toml(text, code, what)
    try:
        table = tomllib.loads(text)
        json.dumps(table, default=str)  # dotted keys build tables that are deeper than the parser goes
    except ValueError as error:  # also a number of thousands of digits
        raise SlicebaseError(code, f"{what} is not TOML: {error}") from None
    except RecursionError:
        raise SlicebaseError(code, f"{what} is nested too deeply") from None
    return table


def _refuse_costly_toml(text: str, code: str, what: str) -> None:
    """Refuses what would cost the parser much: it needs the square of the parts of a key, `a.b.c`, in memory.

    A key is on one line. Dots in strings and comments are counted, too: only a parser knows which these are.
    """
    if len(text) > MOST_TOML:
        raise SlicebaseError(code, f"{what} is larger than {MOST_TOML >> 10} KiB")
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > _MOST_DOTS:
            raise SlicebaseError(
                code,
                f"{what} has {line.count('.')} dots in one line: a key would be nested too deeply",
                hint=f"a line has at most {_MOST_DOTS}",
                where=Where(None, number),
            )
