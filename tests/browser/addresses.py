"""The addresses of all views, on a workspace of the tests."""

from typing import Final
from urllib.parse import quote, urlencode

from tests.browser.memories import ANCHOR, COMPACTION, LONG, Shown

_BODIES: Final = ("markdown", "jsonl", "conversation", "routine", "code", "yaml", "text", "pointer")
# The views of the navigation, and those behind them. Each is opened by every check.
VIEWS: Final = (
    "home", "sessions", "session", "slice", "turn", "context", "asked", "recorded", "compared", "runs", "run",
    "snapshot", "snapshots compared", "library", "found", *(f"file {each}" for each in _BODIES), "proof", "why",
)  # fmt: skip


def _at(path: str, **query: str) -> str:
    return path + (f"?{urlencode(query)}" if query else "")


def address_of(view: str, shown: Shown, *, session: str = LONG, anchor: str = ANCHOR, words: str = "codes") -> str:
    """Returns the address of a view."""
    kind, _, name = view.partition(" ")
    if kind == "file":
        return f"/file/{shown.files[name]}"
    question = f"how are {words} compared?"
    return {
        "home": "/",
        "sessions": "/sessions",
        "session": f"/session/{quote(session, safe='')}",
        "slice": _at(f"/session/{quote(session, safe='')}", turn=anchor, anchor=anchor),
        "turn": f"/turn/{anchor}",
        "context": "/context",
        "asked": _at("/context", q=question),
        "recorded": f"/context/{shown.manifests[0]}",
        "compared": _at(f"/context/{shown.manifests[0]}", **{"with": shown.manifests[-1]}),
        "runs": "/runs",
        "run": f"/run/{quote(shown.run, safe='')}",
        "snapshot": f"/snapshot/{shown.snapshots[-1]}",
        "snapshots compared": _at(f"/snapshot/{shown.snapshots[-1]}", **{"with": shown.snapshots[0]}),
        "library": "/library",
        "found": _at("/library", q=words),
        "compaction": _at(f"/session/{quote(session, safe='')}", turn=COMPACTION),
        "links": _at(f"/file/{shown.files['markdown']}", show="links", depth="2"),
        "proof": "/proof",
        "why": _at("/proof/why", ref=shown.claim),
    }[view]
