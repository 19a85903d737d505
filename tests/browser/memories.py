"""Workspaces to look at: one as people have them, with everything that a view can show, and one with hostile texts.

Their clock and their random bytes are fixed, so that the same pictures can be taken again.
"""

import json
import random
import warnings
from contextlib import suppress
from importlib.resources import as_file, files
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple

from slicebase import Provenance, Slicebase, SlicebaseError

LONG: Final = "c41f0a52-6b7d-4c1e-9f58-7d0e2a93b610"  # the session of the long sample
SHORT: Final = "5b0c7c1e-3d52-4f0e-9a86-2f7b1d0c64aa"
TEAM: Final = "7a52c0de-11aa-4c3e-8b1d-5c2f9e6a7b01"  # a session that starts an agent
ANCHOR: Final = "0961d9aa-a012-46c7-b376-16f70598151d"
COMPACTION: Final = "c66abe5b-ca2e-41eb-973f-b55b081fa69e"  # the summary in the long sample
RUN: Final = "checkout"
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
    """Creates a workspace with both samples, a subagent, files of every type, contexts, runs and a seal."""
    with opened(root, NOW - 200 * 86_400) as memory:
        decayed = memory.library.create(
            "Old deployment notes", "How releases were made before the pipeline.", body="# Steps\n\nAsk for the key.\n"
        ).id
    with opened(root) as memory:
        with as_file(files("slicebase") / "samples") as samples:
            memory.import_([samples / "claude-code-session.jsonl", samples / "long-session.jsonl"])
        memory.import_(_team(root))
        found = {"decayed": decayed, **_files(memory)}
        first = memory.context("how are discount codes compared?", 800)
        claim, snapshots = _runs(memory)
        second = memory.context("how are discount codes compared, and where are they stored?", 1200)
        memory.seal()
    return Shown(root, found, (first.id, second.id), snapshots, claim)


def _files(memory: Slicebase) -> dict[str, str]:
    library, review = memory.library, Provenance(agent="reviewer", source="code review", confidence=0.9)
    log = library.create(
        "Decisions", "What was decided in the checkout, and why.", type="jsonl",
        contract=["purpose=Decisions with their reasons.", "exclude=Guesses."],
    )  # fmt: skip
    old = library.remember(log.id, "Codes are lower case.")
    library.remember(log.id, "Codes are upper case.", supersedes=old.ref, provenance=review)
    library.remember(log.id, '{"text": "A code has at most 32 characters.", "rationale": "The column has 32."}')
    guide = library.create(
        "Checkout guide", "How an order is paid, step by step.", links=[("derived_from", log.id)],
        body=_GUIDE,
    )  # fmt: skip
    library.remember(log.id, "The total is rounded once, at the end.")  # the guide is stale now
    terms = library.create("Terms", "Words of the shop.", type="yaml", body="code: a discount code\ntotal: in cents\n")
    code = library.create("Rounding", "How a total is rounded.", type="code", body=_CODE, links=[("see_also", log.id)])
    talk = library.create("Stand-up", "What was said on Monday.", type="conversation")
    for role, text in (("user", "Who looks at the export?"), ("assistant", "I do, after the **codes** are merged.")):
        library.remember(talk.id, json.dumps({"role": role, "content": text}))
    routine = library.create("Release", "What to do before a release.", type="routine")
    for step in ({"instruction": "Read the changelog."}, {"read": log.id}, {"run": "make test", "note": "all of it"}):
        library.remember(routine.id, json.dumps(step))
    notes = library.create("Plain notes", "Notes without form.", type="text", body="Ask about the vouchers.\n")
    (memory.root / "prices.csv").write_text("item,cents\nbook,1250\n")
    pointer = library.create("Prices", "The list of prices, as a file.", from_file=memory.root / "prices.csv")
    for source, relation, target in (
        (guide.id, "depends_on", code.id), (code.id, "part_of", terms.id), (routine.id, "depends_on", guide.id),
        (terms.id, "is_a", notes.id), (talk.id, "see_also", guide.id),
    ):  # fmt: skip
        library.connect(source, relation, target)
    made = {"jsonl": log, "markdown": guide, "yaml": terms, "code": code, "conversation": talk, "routine": routine}
    return {name: each.id for name, each in {**made, "text": notes, "pointer": pointer}.items()}


def _runs(memory: Slicebase) -> tuple[str, tuple[str, ...]]:
    """Logs a run with everything that a run can have, one that goes in circles, and one that is refused."""
    runs, snapshots = memory.runs, []
    runs.start(RUN, "Bring discount codes into the checkout.", done="Codes are accepted, tested and cited.",
               budgets={"max_steps": 40})  # fmt: skip
    with runs.step(RUN, compact=False) as step:
        step.plan("Find out how codes are compared.")
        context = step.context("how are codes compared?", 600)
        cited = next(each.ref for each in context.pieces if each.ref.startswith("turn:"))
        step.act("tt context", question="how are codes compared?")
        step.observe("The log says: upper case, without regard to case.")
        claim = step.claim("Codes are compared without regard to case.", status="verified",
                           cite=(f"turn:{ANCHOR}", "compared without regard to case"))  # fmt: skip
        step.ask("Do old orders have codes in lower case?")
    assert cited
    runs.compact(RUN)
    snapshots.append(str(runs.snapshot(RUN)["snapshot_id"]))
    with runs.step(RUN, compact=False) as step:
        step.plan("Run the tests.")
        step.act("make test", command="make test")
        step.observe("1 failed, 211 passed")
        step.fail(
            "test_codes_upper fails: the fixture has a lower case code.", category="test", where="tests/test_codes.py"
        )
        step.claim("Money is kept in integer cents.", cite=("turn:8e688000", "integer cents"))
        step.conflict("The log and the fixture disagree about the case of codes.",
                      (f"turn:{ANCHOR}", "upper case"), ("turn:8e688000", "never floats"))  # fmt: skip
    with runs.step(RUN, compact=False) as step:
        step.plan("Correct the fixture.")
        step.act("edit", path="tests/fixtures/codes.json")
        step.observe("212 passed")
        step.close_question("Do old orders have codes in lower case?")
    runs.compact(RUN)
    snapshots.append(str(runs.snapshot(RUN)["snapshot_id"]))
    runs.narrative(RUN)
    runs.start("circles", "Find the flaky test.", done="It is stable.", guards={"loop": "warn"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it goes in circles is what this run shows
        for _ in range(6):
            with runs.step("circles", compact=False) as step:
                step.plan("Run the test again.")
                step.act("pytest -q", command="pytest -q")
                step.observe("1 failed")
    runs.start("refused", "Publish the report.", done="It is published.")
    claimed = {"claim_id": "c1", "statement": "Everything is fine.", "status": "verified", "evidence": []}
    runs.log(
        "refused", [{"type": "PLAN_DONE", "step": 1, "payload": {}}, {"type": "CLAIM", "step": 1, "payload": claimed}]
    )
    with suppress(SlicebaseError):  # a verified claim needs evidence
        runs.compact("refused")
    return f"claim:{RUN}/{claim.id}", tuple(snapshots)


_GUIDE: Final = """# Checkout

An order is paid in three steps: **cart**, *code*, payment.

## Codes

1. The buyer types a code.
2. `normalise()` makes it upper case:

```python
def normalise(code: str) -> str:
    return code.strip().upper()  # compared without regard to case
```

| field | meaning |
|---|---|
| code | at most 32 characters |
| percent | 0 to 100 |

> Money stays in integer cents.

See [the shop](https://shop.example/codes) for the texts.
"""
_CODE: Final = '''def total(lines: list[tuple[int, int]], percent: int = 0) -> int:
    """Returns the total of an order in cents; it is rounded once."""
    whole = sum(cents * amount for cents, amount in lines)
    return whole - whole * percent // 100
'''


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
