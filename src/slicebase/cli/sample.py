"""The sample of `tt serve --sample`: transcripts, slice files, contexts and runs, so that every view has something."""

import json
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from slicebase.errors import SlicebaseError
from slicebase.files.body.rows import Provenance
from slicebase.history.inputs import LONG_SAMPLE, SAMPLE

if TYPE_CHECKING:
    from slicebase.base import Slicebase

_DECISION: Final = "turn:0961d9aa-a012-46c7-b376-16f70598151d"  # turns of the long sample
_RULE: Final = "turn:8e688000"
_TOLD: Final = "turn:c79117e2"
_FORGOTTEN: Final = "turn:10bb414c"  # after the compaction
_RUN: Final = "checkout"


class MadeSample(NamedTuple):
    """The ids of what the sample has: slice files by the type of their body, recorded contexts, snapshots, a claim."""

    files: dict[str, str]
    manifests: tuple[str, ...]
    snapshots: tuple[str, ...]
    claim: str


def fill_with_sample(memory: "Slicebase") -> MadeSample:
    """Fills a workspace with both sample transcripts, files of every type, two contexts, three runs and a seal."""
    memory.import_([SAMPLE, LONG_SAMPLE])
    files = _files(memory)
    first = memory.context("how are discount codes compared?", 800)
    claim, snapshots = _checkout(memory)
    _in_circles(memory)
    _refused(memory)
    second = memory.context("how are discount codes compared, and where are they stored?", 1200)
    memory.seal()
    return MadeSample(files, (first.id, second.id), snapshots, claim)


def _files(memory: "Slicebase") -> dict[str, str]:
    """Creates slice files of every type of body, with links. Returns their ids."""
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
    for source, relation, target in (
        (guide.id, "depends_on", code.id), (code.id, "part_of", terms.id), (routine.id, "depends_on", guide.id),
        (terms.id, "is_a", notes.id), (talk.id, "see_also", guide.id),
    ):  # fmt: skip
        library.connect(source, relation, target)
    made = {"jsonl": log, "markdown": guide, "yaml": terms, "code": code, "conversation": talk, "routine": routine}
    return {name: each.id for name, each in {**made, "text": notes}.items()}


def _checkout(memory: "Slicebase") -> tuple[str, tuple[str, ...]]:
    """Logs a run with everything that a run can have. Returns its first claim, and its snapshots."""
    runs = memory.runs
    runs.start(_RUN, "Bring discount codes into the checkout.", done="Codes are accepted, tested and cited.",
               budgets={"max_steps": 40})  # fmt: skip
    with runs.step(_RUN, compact=False) as step:
        step.plan("Find out how codes are compared.")
        step.context("how are codes compared?", 600)
        step.act("tt context", question="how are codes compared?")
        step.observe("The log says: upper case, without regard to case.")
        claim = step.claim("Codes are compared without regard to case.", status="verified",
                           cite=(_DECISION, "compared without regard to case"))  # fmt: skip
        step.ask("Do old orders have codes in lower case?")
    runs.compact(_RUN)
    first = str(runs.snapshot(_RUN)["snapshot_id"])
    with runs.step(_RUN, compact=False) as step:
        step.plan("Run the tests.")
        step.act("make test", command="make test")
        step.observe("1 failed, 211 passed")
        step.fail(
            "test_codes_upper fails: the fixture has a lower case code.", category="test", where="tests/test_codes.py"
        )
        step.claim("Money is kept in integer cents.", cite=(_RULE, "integer cents"))
        step.conflict("The user and the agent disagree about the midnight at which a code ends.",
                      (_TOLD, "Europe/Vienna, not UTC"), (_FORGOTTEN, "midnight UTC"))  # fmt: skip
    with runs.step(_RUN, compact=False) as step:
        step.plan("Correct the fixture.")
        step.act("edit", path="tests/fixtures/codes.json")
        step.observe("212 passed")
        step.close_question("Do old orders have codes in lower case?")
    runs.compact(_RUN)
    second = str(runs.snapshot(_RUN)["snapshot_id"])
    runs.narrative(_RUN)
    return f"claim:{_RUN}/{claim.id}", (first, second)


def _in_circles(memory: "Slicebase") -> None:
    """Logs a run that does the same again and again."""
    memory.runs.start("circles", "Find the flaky test.", done="It is stable.", guards={"loop": "warn"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the warning is what this run shows
        for _ in range(6):
            with memory.runs.step("circles", compact=False) as step:
                step.plan("Run the test again.")
                step.act("pytest -q", command="pytest -q")
                step.observe("1 failed")


def _refused(memory: "Slicebase") -> None:
    """Logs a run that the gate stops: a claim is verified without evidence."""
    claimed = {"claim_id": "c1", "statement": "Everything is fine.", "status": "verified", "evidence": []}
    memory.runs.start("refused", "Publish the report.", done="It is published.")
    events = [{"type": "PLAN_DONE", "step": 1, "payload": {}}, {"type": "CLAIM", "step": 1, "payload": claimed}]
    memory.runs.log("refused", events)
    with suppress(SlicebaseError):
        memory.runs.compact("refused")


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
