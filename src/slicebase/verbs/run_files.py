"""A file as a run: imports it as `tt import` does, and projects the conversation that it contains.

Another file with the same name must not become the run of the first one. So nothing is stored of a file whose records
differ from the stored ones, also where they name their session.
"""

from pathlib import Path
from typing import Final, NamedTuple, Self

from slicebase.errors import SlicebaseError, Where
from slicebase.history.account import Account
from slicebase.history.annotate import Annotator
from slicebase.history.imports import ImportProgress, import_inputs
from slicebase.history.inputs import inputs
from slicebase.history.namesakes import refuse_other_records
from slicebase.importers.subagents import is_subagent
from slicebase.importers.values import REASONS, Batch, Options
from slicebase.runs.records import StepAt
from slicebase.truth.run_writer import Logged
from slicebase.truth.turn_writer import AddedTurns
from slicebase.verbs.imports import index_new_turns
from slicebase.verbs.parts import Parts
from slicebase.verbs.session_runs import steps_of

_SHOWN: Final = 20  # sessions that an error names


class ImportedFile(NamedTuple):
    """A file with one conversation: its session, its last turn, what a step of it is, and the account of its import."""

    session: str
    last_turn: str
    step_at: StepAt
    account: Account


class FileRun(NamedTuple):
    """The run of a file: the session that holds its turns, the account of its import, and what was logged."""

    session: str
    account: Account
    logged: Logged


def import_one(parts: Parts, path: Path, *, session: str | None, progress: ImportProgress) -> ImportedFile:
    """Imports a file with one conversation, without secrets.

    `session` names the session of a file that names none. Raises `session-differs` if other records are stored there.
    """
    account = _FileAccount()
    found = list(inputs([path]))
    with parts.truth.database.writing():
        options = Options(session, redactor=parts.surroundings.redaction.redactor)
        annotate = Annotator(parts.truth)
        import_inputs(parts.truth, found, options, account=account, annotate=annotate, progress=progress)
        name = _only_session(account, path)
        refuse_other_records(parts.truth, account, account.turns, str(path))
    parts.surroundings.redaction.counts.update(account.report.redacted)
    index_new_turns(parts)
    last = account.last_turn(name)
    home = parts.truth.turns.get(last).record.session  # another one, if the turns were copied from there
    return ImportedFile(home, last, steps_of(account.format_of[name]), account)


class _FileAccount(Account):
    """The account of one file, which also knows its turns."""

    def __init__(self) -> None:
        super().__init__()
        self.turns: dict[str, dict[str, set[str]]] = {}  # by session and turn: the hashes of its records
        self.format_of: dict[str, str] = {}  # by session
        self._shown: dict[str, str] = {}  # by session: the last turn of the branch that the source shows

    def add(self, batch: Batch, added: AddedTurns, where: str) -> None:
        super().add(batch, added, where)
        for turn in batch.turns:
            self.turns.setdefault(turn.session, {}).setdefault(turn.id, set()).add(turn.source_hash)
        if batch.session:
            self.format_of[batch.session.id] = batch.session.format
            if "shown_last" in batch.session.facts:
                self._shown[batch.session.id] = batch.session.facts["shown_last"]

    def include(self, part: Self) -> None:
        super().include(part)
        self.turns |= part.turns
        self.format_of |= part.format_of
        self._shown |= part._shown

    def last_turn(self, session: str) -> str:
        """Returns the last turn of a session in the file, on the branch that the source shows."""
        turns, shown = self.turns[session], self._shown.get(session)
        return shown if shown in turns else next(reversed(turns))


def _only_session(account: _FileAccount, path: Path) -> str:
    """Returns the session of a file; sessions of subagents belong to the one that started them."""
    sessions = [name for name in account.turns if not is_subagent(name)] or list(account.turns)
    more = len(sessions) > _SHOWN
    if len(sessions) > 1:
        raise SlicebaseError(
            "bad-transcript",
            f"the file contains {len(sessions)} sessions: {', '.join(sessions[:_SHOWN])}{', …' * more}",
            hint="import it, then name one of them: `tt run from SESSION`",
            where=Where(str(path)),
        )
    if not sessions and account.unreadable:
        raise account.unreadable[0]
    if not sessions:
        skipped = [note for note in account.report.notes if note.action == "skipped"]
        why = f" ({skipped[0].where}: {REASONS[skipped[0].reason].meaning})" if skipped else ""
        raise SlicebaseError("bad-transcript", f"the file contains no turns{why}", where=Where(str(path)))
    return sessions[0]
