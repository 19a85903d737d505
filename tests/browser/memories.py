"""Workspaces to look at: one as people have them, with everything that a view can show, and one with hostile texts.

Their clock and their random bytes are fixed, so that the same pictures can be taken again.
"""

import json
import random
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple

from slicebase import Slicebase
from slicebase.cli.sample import fill_with_sample

LONG: Final = "c41f0a52-6b7d-4c1e-9f58-7d0e2a93b610"  # the session of the long sample
SHORT: Final = "5b0c7c1e-3d52-4f0e-9a86-2f7b1d0c64aa"
TEAM: Final = "7a52c0de-11aa-4c3e-8b1d-5c2f9e6a7b01"  # a session that starts an agent
ANCHOR: Final = "0961d9aa-a012-46c7-b376-16f70598151d"
COMPACTION: Final = "c66abe5b-ca2e-41eb-973f-b55b081fa69e"  # the summary in the long sample
NOW: Final = 1_789_500_000  # 15 September 2026, after the long sample
_STEP: Final = 60


class Shown(NamedTuple):
    """A workspace, and the ids of what its pages show."""

    root: Path
    files: dict[str, str]
    manifests: tuple[str, ...] = ()
    snapshots: tuple[str, ...] = ()
    claim: str = ""
    run: str = "checkout"


def opened(root: Path, start: int = NOW) -> Slicebase:
    """Opens or creates a workspace whose clock starts at a time and goes on by a minute with each look."""
    seconds, chance = count(start, _STEP), random.Random(start)
    return Slicebase.open(root, root, clock=lambda: next(seconds), entropy=chance.randbytes)


def at_rest(root: Path) -> Slicebase:
    """Opens a workspace whose clock stands still, a day after everything in it."""
    return Slicebase.open(root, root, create=False, clock=lambda: NOW + 86_400)


# As people have them


def demo(root: Path) -> Shown:
    """Creates a workspace with the sample of `tt serve`, a subagent, an old file, and one that points to a list."""
    with opened(root, NOW - 200 * 86_400) as memory:
        decayed = memory.library.create(
            "Old deployment notes", "How releases were made before the pipeline.", body="# Steps\n\nAsk for the key.\n"
        ).id
    with opened(root) as memory:
        memory.import_(_team(root))
        (root / "prices.csv").write_text("item,cents\nbook,1250\n")
        pointer = memory.library.create("Prices", "The list of prices, as a file.", from_file=root / "prices.csv").id
        made = fill_with_sample(memory)
    found = {"decayed": decayed, "pointer": pointer, **made.files}
    return Shown(root, found, made.manifests, made.snapshots, made.claim)


# Conversations


def record(
    number: int, parent: int | None, kind: str, content: Any, *, session: str = TEAM, **more: Any
) -> dict[str, Any]:
    """Returns a record of a Claude Code transcript."""
    message = {"role": kind, "content": content, **({"model": "claude-sonnet-4-5"} if kind == "assistant" else {})}
    return {
        "parentUuid": None if parent is None else turn_id(number=parent, session=session),
        "sessionId": session, "type": kind, "uuid": turn_id(number=number, session=session), "message": message,
        "isSidechain": False, "userType": "external", "cwd": "/repo", "version": "2.1.30", "gitBranch": "main",
        "timestamp": f"2026-09-14T10:{number // 60 % 60:02}:{number % 60:02}.000Z", **more,
    }  # fmt: skip


def turn_id(number: int, session: str = TEAM) -> str:
    return f"{session[:8]}-0000-4000-8000-{number:012x}"


def transcript(path: Path, records: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records))
    return path


def _team(root: Path) -> Path:
    """Writes a session that starts an agent, with a branch and a difference."""
    folder = root / "transcripts"
    prompt = {"prompt": "Count the uses of Code.", "subagent_type": "explorer"}
    use = {"type": "tool_use", "id": "t1", "name": "Task", "input": prompt}
    answer = [{"type": "text", "text": "Code is used in 3 files."}]
    done = {"type": "tool_result", "tool_use_id": "t1", "content": answer}
    lines = {"old_string": "    return code\n", "new_string": "    return code.upper()\n"}
    edit = {"type": "tool_use", "id": "t2", "name": "Edit", "input": {"file_path": "/repo/shop/codes.py", **lines}}
    edited = {"type": "tool_result", "tool_use_id": "t2", "content": "The file /repo/shop/codes.py has been updated."}
    main = [
        record(1, None, "user", "Where are discount codes used? Let an agent look."),
        record(2, 1, "assistant", [{"type": "thinking", "thinking": "A search is enough for this.", "signature": ""}]),
        record(3, 2, "assistant", [use]),
        record(4, 3, "user", [done], toolUseResult={"agentId": "a77", "status": "completed"}),
        record(5, 4, "assistant", "They are used in three files: `codes.py`, `cart.py` and `export.py`."),
        record(6, 5, "user", "Make them upper case."),
        record(7, 6, "assistant", [edit]),
        record(8, 7, "user", [edited]),
        record(9, 8, "assistant", "Done: codes are upper case now."),
        record(10, 5, "user", "Show me the one in the export first."),
        record(11, 10, "assistant", "It writes what the buyer typed:\n\n```python\nrow.append(order.code)\n```"),
    ]
    agent: dict[str, Any] = {"isSidechain": True, "agentId": "a77"}
    own = [
        record(30, None, "user", "Count the uses of Code.", **agent),
        record(31, 30, "assistant", "Code is used in 3 files.", **agent),
    ]
    transcript(folder / TEAM / "subagents" / "agent-a77.jsonl", own)
    transcript(folder / f"{TEAM}.jsonl", main)
    return folder


def growing(path: Path, turns: range) -> Path:
    """Writes a transcript whose turns are one chain: a longer one has the same beginning."""
    roles = ("user", "assistant")
    parents = [None, *(100 + number for number in turns)]
    records = [
        record(
            100 + number, parents[number], roles[number % 2], f"Line {number} of a talk that grows.", session=GROWING
        )
        for number in turns
    ]
    return transcript(path, records)


GROWING: Final = "90a1e5ce-2222-4c3e-8b1d-5c2f9e6a7b02"
