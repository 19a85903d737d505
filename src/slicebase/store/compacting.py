"""What a coding agent's compaction leaves to do before it: a snapshot of the session as a run, and its narrative."""

from typing import Final

from slicebase.errors import SlicebaseError
from slicebase.runs.narrative import Narrative
from slicebase.store.running import Running

# The conversation was rewound, or its run stopped: it goes on as another run.
_OTHERWISE: Final = frozenset({"run-differs", "run-closed", "gate-refused"})


def run_of(session: str) -> str:
    """The run that a session is projected to, unless another is named."""
    return "from-" + "-".join(session.replace("/", "-").split())


def narrate_session(runs: Running, session: str, leaf: str | None, now: int) -> Narrative:
    """A session as a run, compacted and told. Where its run cannot go on, another begins, named by the leaf too."""
    name = run_of(session)
    try:
        return _narrated(runs, session, name, now)
    except SlicebaseError as error:
        if error.code not in _OTHERWISE or leaf is None:
            raise
        return _narrated(runs, session, f"{name}-{leaf[:8]}", now)


def _narrated(runs: Running, session: str, run_id: str, now: int) -> Narrative:
    logged = runs.from_session(session, run_id, now=now, open_end=True)
    if logged.last >= logged.first or not runs.remembered(run_id):
        runs.compact(run_id, now=now)
    return runs.narrative(run_id)[0]
