"""Files with the same name: a file continues the session that is named after it only if it is the same conversation.

The records of some formats name no session. Their session is named after the file, or by the user, so that two files
can claim the same one. Such a file is stored whole or not at all.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Final

from slicebase.errors import SlicebaseError, Where
from slicebase.history.account import Account, store_batches
from slicebase.importers.values import Batch
from slicebase.truth.truth import Truth

if TYPE_CHECKING:
    from slicebase.graph.turn import Edge
    from slicebase.history.annotate import Annotator

# Errors that cost only the input in which they occur.
INPUT_FAULTS: Final = ("bad-zip", "no-input", "unknown-format", "session-differs", "holds-secret")

# By session and turn: the hashes of the records that an input has of it.
RecordsOfTurns = Mapping[str, Mapping[str, set[str]]]


def store_input(
    truth: Truth,
    account: Account,
    batches: Iterator[Batch],
    waiting: "list[Edge]",
    *,
    name: str,
    annotate: "Annotator | None",
) -> None:
    """Stores an input batch by batch; from the first session on that it does not name, in one transaction.

    Raises `session-differs` if another conversation is stored under the name of such a session.
    """
    for batch in batches:
        if not batch.unnamed:
            store_batches(truth, account, [batch], waiting, name=name, annotate=annotate)
            continue
        part, edges, fault = account.part(), list(waiting), None
        try:
            with truth.database.writing():
                try:
                    store_batches(truth, part, chain([batch], batches), edges, name=name, annotate=annotate)
                except SlicebaseError as error:  # what could be read of the input stays
                    if error.code not in INPUT_FAULTS:
                        raise
                    fault = error
                refuse_namesake(truth, part, name)
        except SlicebaseError:
            if annotate is not None:
                annotate.forget()
            raise
        account.include(part)
        waiting[:] = edges
        if fault is not None:
            raise fault


def refuse_namesake(truth: Truth, part: Account, name: str) -> None:
    """Raises `session-differs` if an input is not the conversation that is stored under the name of its session."""
    refuse_other_records(truth, part, part.unnamed, name)
    for session, turns in part.unnamed.items():
        before = {stored.record.id for stored in truth.turns.of_session(session)} - part.new_unnamed
        if before and before.isdisjoint(turns):
            raise _differs(name, session)


def refuse_other_records(truth: Truth, part: Account, records: RecordsOfTurns, name: str) -> None:
    """Raises `session-differs` if a turn is stored from a record that is not in the input (ruling 15)."""
    conflicts = truth.turns.find(dict.fromkeys(conflict.turn for conflict in part.conflicts))
    for turns in records.values():
        for turn in turns.keys() & conflicts.keys():
            if conflicts[turn].record.source_hash not in turns[turn]:
                raise _differs(name, conflicts[turn].record.session)


def _differs(name: str, session: str) -> SlicebaseError:
    return SlicebaseError(
        "session-differs",
        f"this is not the conversation that is stored as session:{session}",
        hint="--session NAME stores it as another session, if its records name none",
        where=Where(name),
    )
