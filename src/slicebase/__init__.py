"""Verifiable memory for long-running AI agents.

    from slicebase import Slicebase

    with Slicebase.open(".") as memory:
        memory.import_("session.jsonl")
        context = memory.context("how are codes compared?", tokens=800)
        assert memory.replay(context.id).identical

An application holds one object, `Slicebase`. The other names here are its error and the values that it returns.
docs/python.md describes them and says what stays stable. `slicebase.aio` has the same verbs to await.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slicebase import aio as aio
    from slicebase.base import Slicebase
    from slicebase.context.assemble import Context, Piece
    from slicebase.context.manifest import Manifest, Replayed
    from slicebase.errors import Exit, RunWarning, SlicebaseError
    from slicebase.files.body.rows import Provenance
    from slicebase.graph.bundle import Bundle
    from slicebase.graph.export import ContextSlice
    from slicebase.graph.proof import SliceProof
    from slicebase.history.account import Account
    from slicebase.index.entries import Filters
    from slicebase.library.change import Change
    from slicebase.library.library import Library
    from slicebase.library.notes import NotesReport
    from slicebase.runs.evidence import Evidence
    from slicebase.runs.narrative import Narrative
    from slicebase.runs.report import RunReport
    from slicebase.runs.status import RunStatus
    from slicebase.truth.run_writer import Logged
    from slicebase.verbs.atlas import Atlas
    from slicebase.verbs.found import SearchResults
    from slicebase.verbs.graph import Graph
    from slicebase.verbs.lost import Losses
    from slicebase.verbs.policies import Policies
    from slicebase.verbs.recorder import Recorder
    from slicebase.verbs.runs import Runs
    from slicebase.verbs.shown import ShownTurns
    from slicebase.verbs.step import Step
    from slicebase.verbs.verify import Verdict
    from slicebase.verbs.why import Reason

__version__ = "0.1.0"

__all__ = [
    "Account",
    "Atlas",
    "Bundle",
    "Change",
    "Context",
    "ContextSlice",
    "Evidence",
    "Exit",
    "Filters",
    "Graph",
    "Library",
    "Logged",
    "Losses",
    "Manifest",
    "Narrative",
    "NotesReport",
    "Piece",
    "Policies",
    "Provenance",
    "Reason",
    "Recorder",
    "Replayed",
    "RunReport",
    "RunStatus",
    "RunWarning",
    "Runs",
    "SearchResults",
    "ShownTurns",
    "SliceProof",
    "Slicebase",
    "SlicebaseError",
    "Step",
    "Verdict",
]

# Where a name is defined. It is imported when it is first used: a command of `tt` starts fast, since it needs few.
_PLACES = {
    "base": ("Slicebase",),
    "context.assemble": ("Context", "Piece"),
    "context.manifest": ("Manifest", "Replayed"),
    "errors": ("Exit", "RunWarning", "SlicebaseError"),
    "files.body.rows": ("Provenance",),
    "graph.bundle": ("Bundle",),
    "graph.export": ("ContextSlice",),
    "graph.proof": ("SliceProof",),
    "history.account": ("Account",),
    "index.entries": ("Filters",),
    "library.change": ("Change",),
    "library.library": ("Library",),
    "library.notes": ("NotesReport",),
    "runs.evidence": ("Evidence",),
    "runs.narrative": ("Narrative",),
    "runs.report": ("RunReport",),
    "runs.status": ("RunStatus",),
    "truth.run_writer": ("Logged",),
    "verbs.atlas": ("Atlas",),
    "verbs.graph": ("Graph",),
    "verbs.lost": ("Losses",),
    "verbs.policies": ("Policies",),
    "verbs.recorder": ("Recorder",),
    "verbs.runs": ("Runs",),
    "verbs.found": ("SearchResults",),
    "verbs.shown": ("ShownTurns",),
    "verbs.step": ("Step",),
    "verbs.verify": ("Verdict",),
    "verbs.why": ("Reason",),
}


if not TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name == "aio":
            return import_module(f"{__name__}.aio")
        for place, names in _PLACES.items():
            if name in names:
                found = globals()[name] = getattr(import_module(f"{__name__}.{place}"), name)
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__", "aio"]
