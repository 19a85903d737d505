"""Compactions of stored sessions: which turns each removed from the context, and which turns replaced them.

A model saw the path from the root to the summary, and what is beside that path. The path may begin in another session
that this one continues; references are not part of it.
"""

from collections.abc import Container, Iterable, Sequence
from itertools import takewhile
from typing import NamedTuple

from slicebase.context.lost.judged import CompactedTurns, is_boundary, without_summary
from slicebase.core.times import from_text, is_up_to, to_text
from slicebase.graph.session import COPY_FACT, fact
from slicebase.graph.turn import KEPT_TURN, Turn
from slicebase.history.paths import Paths, is_summary
from slicebase.truth.truth import Truth


def compacted_sessions(truth: Truth, last: int | None = None) -> list[str]:
    """Returns the sessions that were compacted, the one with the newest summary first; of those up to a time."""
    newest: dict[str, str] = {}
    marked: dict[str, str] = {}
    for record in truth.turns.system_turns():
        is_newer = record.time >= newest.get(record.session, "") and is_up_to(from_text(record.time), last)
        turn = truth.turn(record.id) if is_newer else None
        if is_summary(turn):
            newest[record.session] = record.time
        elif turn is not None and is_boundary(turn):
            marked[record.session] = record.time
    for session, time in marked.items():
        if time > newest.get(session, "") and (bare := _without_summary(Paths(truth).turns(session), last)):
            newest[session] = max(newest.get(session, ""), to_text(bare[-1].time))
    return sorted(newest, key=lambda session: (newest[session], session), reverse=True)


def judged_session(truth: Truth, session: str) -> str:
    """Returns the session whose compactions are those of a session: itself, or of a copy the one that has its turns."""
    return fact(truth.turns.session(session), COPY_FACT) or session


class CompactedSession(NamedTuple):
    """The compactions of a session, oldest first, and the turns since the newest one."""

    compactions: list[CompactedTurns]
    since: list[Turn]


def compactions(truth: Truth, session: str, last: int | None = None) -> CompactedSession:
    """Returns a session's compactions up to a time; if it has none, those of the sessions that it continues."""
    truth.turns.session(session)
    paths = Paths(truth)
    turns = paths.turns(session)
    known = [turn for turn in turns if is_up_to(turn.time, last)]
    bare = {turn.id for turn in _without_summary(turns, last)}
    summaries = [turn for turn in known if is_summary(turn) or turn.id in bare]
    if not summaries and known:
        summaries = [turn for turn in paths.up(known[-1]) if is_summary(turn) and is_up_to(turn.time, last)][::-1]
    found = [_compaction(paths, turn, bare) for turn in summaries]
    followed = {turn.id for each in found for turn in each.summary[:-1]}
    separate = [each for each in found if each.summary[-1].id not in followed]
    return CompactedSession(separate, _since(paths, turns, separate[-1].summary[-1]) if separate else [])


def _without_summary(turns: Iterable[Turn], last: int | None) -> list[Turn]:
    """Returns the marks of compactions up to a time that no summary follows."""
    return [turn for turn in without_summary(turns) if is_up_to(turn.time, last)]


def _since(paths: Paths, turns: Sequence[Turn], last: Turn) -> list[Turn]:
    """Returns the turns of a session after a summary, which may be in a session that it continues."""
    for place, turn in enumerate(turns):
        if turn.id == last.id:
            return list(turns[place + 1 :])
    path = list(takewhile(lambda turn: turn.id != last.id, paths.up(turns[-1])))
    return paths.seen(path[::-1], turns[-1])


def _compaction(paths: Paths, last: Turn, bare: Container[str]) -> CompactedTurns:
    """Returns the compaction that ends here. Summaries in a row are one; a `bare` mark stands for one that is missing.

    `before` starts after the previous one, with the turns that it kept, and has none that this one kept.
    """
    summary: list[Turn] = []
    before: list[Turn] = []
    path = paths.up(last)
    for turn in path:
        if not is_summary(turn) and turn.id not in bare:
            before.append(turn)
        elif not before:
            summary.append(turn)
        else:
            before += _kept(turn, path)
            break
    stayed = {turn.id for turn in _kept(last, before)}
    removed = [turn for turn in reversed(before) if turn.id not in stayed]
    return CompactedTurns(
        tuple(turn for turn in paths.seen(removed, last) if turn.id not in stayed), tuple(summary[::-1])
    )


def _kept(summary: Turn, turns: Iterable[Turn]) -> list[Turn]:
    """Returns those of some turns that stayed in the context beside a summary."""
    names = {part.name for part in summary.parts if part.type == KEPT_TURN}
    return [turn for turn in turns if turn.id in names] if names else []
