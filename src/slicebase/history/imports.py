"""Imports inputs into the truth through their importers, with an account of what happened to every record.

An input that cannot be imported does not affect the others. A graph file is imported completely or not at all.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from slicebase.errors import SlicebaseError, Where
from slicebase.graph.turn import Edge
from slicebase.history.account import Account, report_orphans
from slicebase.history.agents import link_agents
from slicebase.history.annotate import Annotator
from slicebase.history.graph_files import import_graph
from slicebase.history.inputs import Input
from slicebase.history.namesakes import INPUT_FAULTS, store_input
from slicebase.history.readers import FileProgress, Recognised, reading
from slicebase.history.unchanged import SeenInput, SeenInputs, count, enter
from slicebase.importers.formats import FORMATS, GRAPH_FORMAT, Import, is_graph, reading_order, recognise
from slicebase.importers.values import Batch, Format, ImportSource, NoteAction, Options
from slicebase.truth.truth import Truth

ImportProgress = FileProgress


def import_inputs(
    truth: Truth,
    found: Iterable[Input],
    options: Options,
    *,
    format_name: str | None = None,
    account: Account | None = None,
    annotate: Annotator | None = None,
    progress: ImportProgress = lambda name, count: None,
    seen: SeenInputs | None = None,
) -> Account:
    """Imports inputs, each in the format that is named or recognised. Returns the account.

    An input that is unchanged since it was `seen` is entered in the account, and not read. An input that cannot be read
    or recognised, or that is not the conversation stored under its name, is entered in the account, and does not affect
    the others. Raises its error only if the user named all inputs and none could be imported.
    """
    account, given = account or Account(), list(found)
    work = ImportWork(truth, account, options, format_name, annotate, progress, seen)
    graphs = given if format_name == GRAPH_FORMAT else _import_conversations(work, given)
    for each in graphs:
        import_graph(truth, each, account, options)
    if given and len(account.unreadable) == len(given) and all(each.named for each in given) and not account.added:
        raise _all_failed(account.unreadable)
    return account


class ImportWork(NamedTuple):
    """What an import works with."""

    truth: Truth
    account: Account
    options: Options
    format_name: str | None
    annotate: Annotator | None
    progress: ImportProgress
    seen: SeenInputs | None


def _import_conversations(work: ImportWork, given: list[Input]) -> list[Input]:
    """Imports everything but graph files, and returns those."""
    run, account, seen = Import(work.options), work.account, work.seen
    unchanged = seen.unchanged(given) if seen else {}
    for name, entry in unchanged.items():
        enter(entry, account, name)
    changed = [each for each in given if each.name not in unchanged]
    # Before the first byte is read, here or in another process: what is written from now on is for the next import.
    begun = {each.name: seen.begin(each) for each in changed} if seen else {}
    done = {each.given for each in given if each.name in unchanged and unchanged[each.name].format}
    waiting: list[Edge] = []
    graphs = [each for each in changed if work.format_name is None and _is_graph(each)]
    done |= {each.given for each in graphs}
    passed_over = {each.name for each in graphs}
    recognised = _recognise_all([each for each in changed if each.name not in passed_over], work, begun, done)
    with reading(recognised, work.options, work.progress) as batches_of:
        for each in recognised:
            batches = map(run.joined, batches_of(each))
            _import_conversation(work, each, batches, waiting, begun.get(each.input.name))
    account.waiting += len(waiting)
    link_agents(work.truth, account, run.agents.known)
    report_orphans(work.truth, account)
    return graphs


def _import_conversation(
    work: ImportWork, recognised: Recognised, batches: Iterator[Batch], waiting: list[Edge], entry: SeenInput | None
) -> None:
    """Stores one input, and keeps what was seen of it if nothing was left out and nothing waits."""
    account, name = work.account, recognised.input.name
    before, reasons, edges = _understood(account), account.report.reasons.copy(), len(waiting)
    left_out = account.content_left_out
    with _without_faults(account, *INPUT_FAULTS):
        store_input(work.truth, account, _counted(batches, entry), waiting, name=name, annotate=work.annotate)
        if work.format_name is not None and _understood(account) == before:
            raise _not_in_format(name, work.format_name, account.report.reasons - reasons)
        account.complete.append(name)
    is_whole = account.content_left_out == left_out and _skipped(account.report.reasons) == _skipped(reasons)
    if work.seen and entry and is_whole and len(waiting) <= edges:
        entry.format = recognised.format.name
        work.seen.keep(recognised.input, entry)


def _counted(batches: Iterator[Batch], entry: SeenInput | None) -> Iterator[Batch]:
    for batch in batches:
        if entry is not None:
            count(entry, batch)
        yield batch


def _skipped(reasons: Counter[tuple[NoteAction, str]]) -> int:
    return sum(number for (action, _), number in reasons.items() if action == "skipped")


def _not_in_format(name: str, format_name: str, reasons: Counter[tuple[NoteAction, str]]) -> SlicebaseError:
    why = ", ".join(f"{count} × {reason}" for (_, reason), count in reasons.most_common(3))
    message = f"nothing in it is {format_name}{f' ({why})' if why else ''}"
    return SlicebaseError("unknown-format", message, where=Where(name))


def _understood(account: Account) -> int:
    """Returns how many records had the form that their format describes."""
    return account.report.turns + account.report.others.total()


@contextmanager
def _without_faults(account: Account, *codes: str) -> Iterator[None]:
    """Enters an error with one of these codes in the account: it costs only the input that is read inside."""
    try:
        yield
    except SlicebaseError as error:
        if error.code not in codes:
            raise
        account.unreadable.append(error)


def _all_failed(errors: Sequence[SlicebaseError]) -> SlicebaseError:
    """Returns the first error; its message also names the other inputs."""
    first, *others = errors
    if not others:
        return first
    message = f"{first.message}; nor could these be imported: {', '.join(map(str, others))}"
    return SlicebaseError(first.code, message, hint=first.hint, where=first.where)


def _recognise_all(
    found: Sequence[Input], work: ImportWork, begun: Mapping[str, SeenInput | None], done: set[str]
) -> list[Recognised]:
    """Returns every input with its format, in reading order. An input that the user named must be recognised.

    `begun` are entries for these inputs, and `done` the paths in which something was recognised already.
    """
    chosen = None if work.format_name is None else _format(work.format_name)
    account, recognised = work.account, []
    for each in found:
        with _without_faults(account, *INPUT_FAULTS):
            known = chosen or recognise(ImportSource(each.name, each.chunks()))
            if known is not None:
                recognised.append(Recognised(each, known))
                account.formats[known.name] = account.formats.get(known.name, 0) + 1
            elif each.named:
                raise SlicebaseError(
                    "unknown-format",
                    "no importer recognises this input",
                    hint=f"`tt import --format NAME` reads it as {_names()}",
                    where=Where(each.name),
                )
            else:
                account.unrecognised.append(each.name)
                if work.seen and (entry := begun[each.name]):
                    work.seen.keep(each, entry)
    known_paths = {each.input.given for each in recognised} | done
    account.unreadable += _without_conversations(found, known_paths, account)
    return sorted(recognised, key=lambda each: reading_order(each.input.name))


_SHOWN = 20  # files that an error names


def _without_conversations(found: Sequence[Input], known: set[str], account: Account) -> Iterator[SlicebaseError]:
    """Yields an error for each folder and zip that the user named and in which no file is recognised."""
    unrecognised = set(account.unrecognised)
    for given in dict.fromkeys(each.given for each in found if not each.named):
        names = [each.name for each in found if each.given == given and each.name in unrecognised]
        if names and given not in known:
            listed = f"{', '.join(names[:_SHOWN])}{', …' * (len(names) > _SHOWN)}"
            message = f"no importer recognises a file in it: {listed}"
            yield SlicebaseError("unknown-format", message, where=Where(given))


def _format(name: str) -> Format:
    for known in FORMATS:
        if known.name == name:
            return known
    raise SlicebaseError("unknown-format", f"there is no format {name!r}", hint=f"formats are {_names()}")


def _names() -> str:
    return ", ".join((*(each.name for each in FORMATS), GRAPH_FORMAT))


def _is_graph(each: Input) -> bool:
    try:
        return is_graph(ImportSource(each.name, each.chunks()))
    except SlicebaseError:
        return False  # where the input is read, the error is raised again, and entered in the account
