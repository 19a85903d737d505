"""An import: inputs through their importers into the truth, with an account of what became of everything."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from slicebase.errors import SlicebaseError, Where
from slicebase.importers.formats import FORMATS, HEAD_BYTES, Import, reading_order, recognise
from slicebase.importers.values import Batch, Format, ImportSource, Options
from slicebase.store.account import Account
from slicebase.store.graph_import import FORMAT as GRAPH
from slicebase.store.graph_import import import_graph
from slicebase.store.inputs import Input
from slicebase.store.taking import take
from slicebase.store.truth import Truth
from slicebase.store.turns import Annotate

if TYPE_CHECKING:
    from slicebase.graph.turn import Edge

_INPUT_FAULTS = ("bad-zip", "no-input")

Progress = Callable[[str, int], None]  # an input's name, and how many of its bytes were read since the last call


class Recognised(NamedTuple):
    input: Input
    format: Format


def import_inputs(
    truth: Truth,
    found: Iterable[Input],
    options: Options,
    *,
    format_name: str | None = None,
    annotate: Annotate | None = None,
    progress: Progress = lambda name, count: None,
) -> Account:
    account = Account()
    if format_name == GRAPH:
        for each in found:
            import_graph(truth, b"".join(each.chunks()), each.name, account)
        return account
    run = Import(options)
    waiting: list[Edge] = []
    for recognised in _recognise_all(found, format_name, account):
        with _reading(recognised.input, account):
            batches = _batches(run, recognised, progress)
            take(truth, account, batches, waiting, name=recognised.input.name, annotate=annotate)
    account.waiting += len(waiting)
    return account


@contextmanager
def _reading(each: Input, account: Account) -> Iterator[None]:
    """An input that was named outright has to be readable; one found in a folder or a zip costs itself alone."""
    try:
        yield
    except SlicebaseError as error:
        if each.named or error.code not in _INPUT_FAULTS:
            raise
        account.unreadable.append(error)


def _recognise_all(found: Iterable[Input], format_name: str | None, account: Account) -> list[Recognised]:
    """Every input with its format, in reading order. One that was named outright must be recognised."""
    chosen = None if format_name is None else _format(format_name)
    recognised = []
    for each in found:
        with _reading(each, account):
            known = chosen or recognise(_head(each), each.name)
            if known is not None:
                recognised.append(Recognised(each, known))
                account.formats[known.name] = account.formats.get(known.name, 0) + 1
            elif each.named:
                raise SlicebaseError(
                    "unknown-format",
                    "no importer recognises this",
                    hint=f"say what it is with --format: {_names()}",
                    where=Where(each.name),
                )
            else:
                account.unrecognised.append(each.name)
    return sorted(recognised, key=lambda each: reading_order(each.input.name))


def _format(name: str) -> Format:
    for known in FORMATS:
        if known.name == name:
            return known
    raise SlicebaseError("unknown-format", f"there is no format {name!r}", hint=f"one of {_names()}")


def _names() -> str:
    return ", ".join((*(each.name for each in FORMATS), GRAPH))


def _head(each: Input) -> bytes:
    head = b""
    for chunk in each.chunks():
        head += chunk
        if len(head) >= HEAD_BYTES:
            break
    return head[:HEAD_BYTES]


def _batches(run: Import, recognised: Recognised, progress: Progress) -> Iterator[Batch]:
    name = recognised.input.name

    def chunks() -> Iterator[bytes]:
        for chunk in recognised.input.chunks():
            progress(name, len(chunk))
            yield chunk

    yield from run.read(ImportSource(name, chunks()), recognised.format)
