"""Figures of the sessions in the turn index: how many turns they have, when they were held, how often compacted."""

from typing import Any, Final, NamedTuple

import apsw

from slicebase.core.times import LAST_UNDATED
from slicebase.graph.contents import kind_bits
from slicebase.index.narrow import TurnFilters, conditions

_SUMMARY: Final = kind_bits(["summary"])


class SessionFigures(NamedTuple):
    """The figures of one session. Times are in milliseconds since 1970."""

    id: str
    turns: int
    size: int  # tokens
    started: int | None  # None where its source has no times
    ended: int | None
    compactions: int


_DATED: Final = f"CASE WHEN time NOT BETWEEN 0 AND {LAST_UNDATED} THEN time END"
# Summaries in a row are one compaction.
_FIGURES: Final = f"""
SELECT session.id, count(*), sum(size), min({_DATED}), max({_DATED}),
count(nullif(kinds & {_SUMMARY} AND NOT EXISTS (
  SELECT 1 FROM link JOIN turn AS above ON above.number = link.parent
  WHERE link.child = turn.number AND above.kinds & {_SUMMARY}
), 0))
FROM turn JOIN session ON session.number = turn.session
WHERE {{where}}
GROUP BY turn.session ORDER BY max(time) DESC, session.id
"""
FIRST_PROMPTS: Final = f"""
SELECT turn.id FROM turn JOIN session ON session.number = turn.session
WHERE session.id = ? AND kinds & {kind_bits(["prompt"])} ORDER BY time, place LIMIT ?
"""


def session_figures(connection: apsw.Connection, wanted: TurnFilters) -> list[SessionFigures]:
    """Returns the sessions that have a turn that passes the filters, the newest first."""
    where, values = conditions(wanted)
    if wanted != TurnFilters(sessions=wanted.sessions):  # else every turn of a session passes, or none
        where = f"turn.session IN (SELECT session FROM turn WHERE {where})"
    rows: Any = connection.execute(_FIGURES.format(where=where), values)
    return [SessionFigures._make(row) for row in rows]
