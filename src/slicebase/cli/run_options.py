"""What the commands of runs read: run ids, done definitions, thresholds, streams of events."""

import json
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

import click

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


def limits_of(given: tuple[str, ...]) -> dict[str, Any]:
    """Returns the budgets that are given as KEY=N."""
    return {name: _number(value) for name, _, value in (each.partition("=") for each in given)}


def thresholds_of(base: "Slicebase", given: tuple[str, ...] = ()) -> "Thresholds":
    """Returns the thresholds of the settings, overridden by those given as KEY=N."""
    import msgspec

    from slicebase.runs.gate import Thresholds

    defaults = {"counted_events": base.settings.compaction_events, "steps": base.settings.compaction_steps}
    values = defaults | limits_of(given)
    try:
        thresholds = msgspec.convert(values, Thresholds)
    except msgspec.ValidationError as error:
        raise click.UsageError(f"--threshold: {error}") from None
    if min(thresholds.counted_events, thresholds.steps) < 1:
        raise click.UsageError("--threshold: a threshold must be at least 1")
    return thresholds


def _number(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def json_object(text: str, option: str) -> dict[str, Any]:
    """Returns the JSON object that an option gives."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise SlicebaseError("bad-json", f"{option} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise SlicebaseError("wrong-type", f"{option} takes a JSON object")
    return value


def line_batches(stream: IO[bytes]) -> Iterator[list[bytes]]:
    """Yields the lines of a stream as they arrive; lines that arrive together are one batch."""
    rest = b""
    read = getattr(stream, "read1", stream.read)
    while data := read(1 << 16):
        *lines, rest = (rest + data).split(b"\n")
        if lines:
            yield [line + b"\n" for line in lines]
    if rest.strip():
        yield [rest]
