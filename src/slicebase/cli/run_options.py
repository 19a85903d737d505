"""What the commands of runs read: run ids, done definitions, thresholds, streams of events."""

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

import click

from slicebase.core.parsers import WHOLE_INPUT, read_all, read_json, too_large
from slicebase.errors import SlicebaseError

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.runs.gate import Thresholds

run_argument = click.argument("run_id", metavar="RUN")


def run_name(text: str) -> str:
    """Returns the id of a run that is given as such or as `run:ID`."""
    from slicebase.core.refs import ref_of

    return ref_of("run", text).removeprefix("run:")


def done_definition(text: str) -> Any:
    """Returns a done definition: a text or an object."""
    return json_object(text, "--done") if text.lstrip().startswith("{") else text


def limits_of(option: str, given: tuple[str, ...]) -> dict[str, Any]:
    """Returns the limits that are given to an option as KEY=N."""
    return dict(_number(option, each) for each in given)


def thresholds_of(base: "Slicebase", given: tuple[str, ...] = ()) -> "Thresholds":
    """Returns the thresholds of the settings, overridden by those given as KEY=N."""
    import msgspec

    from slicebase.runs.gate import Thresholds

    defaults = {"counted_events": base.settings.compaction_events, "steps": base.settings.compaction_steps}
    values = defaults | limits_of("--threshold", given)
    try:
        thresholds = msgspec.convert(values, Thresholds)
    except msgspec.ValidationError as error:
        raise click.UsageError(f"--threshold: {error}") from None
    if min(thresholds.counted_events, thresholds.steps) < 1:
        raise click.UsageError("--threshold: a threshold must be at least 1")
    return thresholds


def _number(option: str, given: str) -> tuple[str, Any]:
    """Returns the name and the number of KEY=N."""
    name, _, text = given.partition("=")
    try:
        number = read_json(text)
    except SlicebaseError:
        number = None
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise click.UsageError(f"{option} {name}: {text!r} is not a number")
    return name, number


def json_object(text: str, option: str) -> dict[str, Any]:
    """Returns the JSON object that an option gives."""
    value = read_json(text, what=option)
    if not isinstance(value, dict):
        raise SlicebaseError("wrong-type", f"{option} takes a JSON object")
    return value


def whole_lines(stream: IO[bytes], name: str) -> list[bytes]:
    """Returns the lines of a file, which are stored together or not at all."""
    hint = f"`tt run log RUN --file - < {name}` stores it piece by piece"
    return [line + b"\n" for line in read_all(stream, name, hint=hint).split(b"\n")]


def line_batches(stream: IO[bytes]) -> Iterator[list[bytes]]:
    """Yields the lines of a stream as they arrive; lines that arrive together are one batch."""
    held: list[bytes] = []
    read = getattr(stream, "read1", stream.read)
    while data := read(1 << 16):
        ended, newline, rest = data.rpartition(b"\n")
        if newline:
            yield [line + b"\n" for line in b"".join((*held, ended)).split(b"\n")]
            held = []
        held.append(rest)
        if sum(map(len, held)) > WHOLE_INPUT:
            raise too_large("-", WHOLE_INPUT, "end each event with a line end")
    if (last := b"".join(held)).strip():
        yield [last]
