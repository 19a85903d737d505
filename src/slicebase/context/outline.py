"""The outline of a session: its prompts, decisions and compactions in order, and the files that its calls name."""

from collections.abc import Iterable
from typing import Any, Final

from slicebase.context.lost.follow import items
from slicebase.context.lost.judged import without_summary
from slicebase.context.lost.speech import said_by_user
from slicebase.core.times import known_time
from slicebase.graph.contents import calls_in, kinds_of
from slicebase.graph.turn import Turn, part_text

_LONGEST: Final = 300  # characters of a step
_CHANGING: Final = ("edit", "write", "patch", "replace", "create", "delete", "move")  # in the names of tools


def outline(turns: Iterable[Turn]) -> dict[str, Any]:
    """Returns the outline of a session, given its turns in order. Decisions are those that `tt lost` knows."""
    listed = list(turns)
    decisions: dict[int, list[str]] = {}
    for item in items(listed):
        if item.kind == "decision" and item.state == "standing":
            decisions.setdefault(item.order, []).append(item.text)
    steps: list[dict[str, Any]] = []
    files: dict[str, list[int]] = {}
    bare = {turn.id for turn in without_summary(listed)}
    summarised = False
    for order, turn in enumerate(listed):
        kinds = {"summary"} if turn.id in bare else kinds_of(turn.role, turn.parts)
        if "summary" not in kinds or not summarised:  # summaries in a row are one compaction
            steps += (_step(turn, kind, text) for kind, text in _steps(turn, kinds, decisions.get(order, ())))
        summarised = "summary" in kinds
        for call in calls_in(turn.parts):
            changes = any(word in call.tool.lower() for word in _CHANGING)
            for path in call.files:
                counts = files.setdefault(path, [0, 0])
                counts[0] += changes
                counts[1] += 1
    ordered = sorted(files.items(), key=lambda each: (-each[1][0], -each[1][1], each[0]))
    named = [{"path": path, "changes": changes, "calls": calls} for path, (changes, calls) in ordered]
    return {"steps": steps, "files": named}


def _step(turn: Turn, kind: str, text: str) -> dict[str, Any]:
    return {"ref": f"turn:{turn.id}", "time": known_time(turn.time), "kind": kind, "text": text[:_LONGEST]}


def _steps(turn: Turn, kinds: set[str], decisions: Iterable[str]) -> list[tuple[str, str]]:
    """Returns the steps of a turn, each as kind and text. What the client wrote as the user is no prompt."""
    parts = [part for part in turn.parts if part.type == "text" and part.text and not part.hidden]
    spoken = "\n\n".join(map(part_text, parts))
    if "summary" in kinds:
        return [("compaction", spoken)]
    typed = said_by_user("\n\n".join(part.text or "" for part in parts)).strip()
    prompts = [("prompt", spoken)] if "prompt" in kinds and typed else []
    return [*prompts, *(("decision", text) for text in decisions)]
