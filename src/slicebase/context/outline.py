"""The outline of a session: its prompts, decisions and compactions in order, and the files that its calls name."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from slicebase.core.times import to_text
from slicebase.graph.contents import calls_in, kinds_of
from slicebase.graph.turn import Turn

_LONGEST: Final = 300  # characters of a step
_CHANGING: Final = ("edit", "write", "patch", "replace", "create", "delete", "move")  # in the names of tools
_DECISION: Final = re.compile(
    r"(?:^|(?<=[.!?]\s)|(?<=\n))[\s*_#>-]*(?:"
    r"(?:Decision|Decided)\b[*_]*\s*:"
    r"|(?:[Ww]e|I)(?:\s+have|'ve|’ve)?\s+(?:decided|agreed|chose|settled)\b"
    r"|[Ll]et['’]s\s+(?:go\s+with|use|keep|drop|stick)\b"
    r")[^\n]*"
)


def outline(turns: Iterable[Turn]) -> dict[str, Any]:
    """Returns the outline of a session, given its turns in order."""
    steps: list[dict[str, Any]] = []
    files: dict[str, list[int]] = {}
    summarised = False
    for turn in turns:
        kinds = kinds_of(turn.role, turn.parts)
        if "summary" not in kinds or not summarised:  # summaries in a row are one compaction
            steps += ({"ref": f"turn:{turn.id}", "time": to_text(turn.time), **step} for step in _steps(turn, kinds))
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


def _steps(turn: Turn, kinds: set[str]) -> Iterator[dict[str, str]]:
    spoken = "\n\n".join(part.text for part in turn.parts if part.type == "text" and part.text and not part.hidden)
    if "summary" in kinds:
        yield {"kind": "compaction", "text": spoken[:_LONGEST]}
    elif "prompt" in kinds:
        yield {"kind": "prompt", "text": spoken[:_LONGEST]}
    if "summary" not in kinds and kinds & {"prompt", "answer"}:
        for match in _DECISION.finditer(spoken):
            yield {"kind": "decision", "text": match[0].strip(" \n*_#>-")[:_LONGEST]}
