"""Runs at their limits: what was accepted once can be changed, forked, compacted and stopped."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest

from slicebase import Slicebase
from slicebase.core.hashing import LARGEST_INTEGER, canonical
from slicebase.errors import SlicebaseError
from slicebase.runs.event import MAX_PAYLOAD
from slicebase.runs.items import free_id
from slicebase.runs.records import ClaimStatus
from slicebase.runs.state import ItemKey, RunState
from slicebase.truth.run_writer import FARTHEST_STEP
from tests.conversations import name, store, turn
from tests.verbs.test_verify import without_triggers


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path) as memory:
        store(memory.truth, [turn("a", text="the lock file is stale")])
        yield memory


def code_of(call: Callable[[], Any]) -> str:
    with pytest.raises(SlicebaseError) as caught:
        call()
    return caught.value.code


# The largest payloads


def padded(payload: dict[str, Any], pad: str, size: int) -> dict[str, Any]:
    """Returns a payload of this size, with long lists of pointers, since texts have at most 2,000 characters."""
    return {**payload, pad: "x" * (size - len(canonical({**payload, pad: ""})))}


def pointers(base: Slicebase, quote: str, bytes_: int) -> list[Any]:
    evidence = base.cite(f"turn:{name('a')}", quote)
    pointer = {
        "evidence_id": evidence.evidence_id,
        "chunk_id": evidence.chunk_id,
        "span": {"start": evidence.span.start, "end": evidence.span.end},
    }
    return [pointer] * (bytes_ // (len(canonical(pointer)) + 1))


def test_a_claim_that_passed_can_be_forked_and_changed_whatever_its_size(base: Slicebase) -> None:
    refs = pointers(base, "stale", MAX_PAYLOAD - 1000)
    for size in (MAX_PAYLOAD - 22, MAX_PAYLOAD - 21, MAX_PAYLOAD - 20, MAX_PAYLOAD):
        run = f"r{size}"
        base.runs.start(run, "o", "d")
        event = {"type": "CLAIM", "payload": padded({"claim_id": "c1", "evidence_refs": refs}, "statement", size)}
        if size + len('"status":"retracted",') > MAX_PAYLOAD:
            assert code_of(partial(base.runs.log, run, [event])) == "payload-too-large"
            continue
        base.runs.log(run, [event])
        base.runs.compact(run)
        base.runs.fork(run, f"fork-of-{run}")
        base.runs.compact(f"fork-of-{run}")
        for each in (run, f"fork-of-{run}"):
            for status in get_args(ClaimStatus):
                base.runs.claim(each, id="c1", status=status)
        base.runs.compact(run)
        base.runs.fork(run, f"other-fork-of-{run}")


def test_terms_that_were_accepted_can_be_forked_whatever_their_size(base: Slicebase) -> None:
    accepted = 0
    for size in range(MAX_PAYLOAD - 1200, MAX_PAYLOAD, 40):
        run = "\U0001f4be" * 120 + str(size)
        try:
            base.runs.start(run, "o" * size, "d")
        except SlicebaseError as error:
            assert error.code == "payload-too-large"
            continue
        accepted += 1
        base.runs.compact(run)
        base.runs.fork(run, f"fork-{size}")
        base.runs.compact(f"fork-{size}")
        base.runs.fork(f"fork-{size}", f"fork-of-fork-{size}")
    assert 0 < accepted < 30


# Damaged evidence


@pytest.mark.parametrize("record", [b'["session:x"]', b"junk", b"{}", b"\xff\xfe", b"[" * 9999])
@pytest.mark.parametrize("status", ["candidate", "verified"])
def test_a_claim_on_a_record_that_cannot_be_read_fails_the_gate(tmp_path: Path, status: Any, record: bytes) -> None:
    with Slicebase.init(tmp_path) as memory:
        store(memory.truth, [turn("a", text="the lock file is stale")])
        evidence = memory.cite(f"turn:{name('a')}", span=(0, 1)).evidence_id
        for run in ("compacted", "stopped"):
            memory.runs.start(run, "o", "d")
            memory.runs.claim(run, "It is.", status=status, cite=evidence)
    with without_triggers(tmp_path / ".slicebase" / "slicebase.db") as connection:
        connection.execute("UPDATE evidence SET record = ?", (record,))
    with Slicebase.open(tmp_path) as memory:
        assert code_of(lambda: memory.runs.compact("compacted")) == "gate-refused"
        assert code_of(lambda: memory.runs.stop("stopped")) == "gate-refused"
        for run in ("compacted", "stopped"):
            assert memory.runs.status(run).stopped == "SYSTEM_ERROR"
            checks = memory.runs.snapshot(run, 1)["validation"]["checks"]
            expected = "verified_claims_in_ledger" if status == "verified" else "evidence_ids_rederive"
            assert [check["name"] for check in checks if check["status"] == "FAIL"] == [expected]
        assert memory.verify().status == "BROKEN"


# Free ids


class Numbered:
    """Items with these ids, that count how often somebody looks."""

    def __init__(self, ids: set[str]) -> None:
        self.ids = ids
        self.looks = 0

    def count(self, type_: str) -> int:
        return len(self.ids)

    def has(self, type_: str, key: ItemKey) -> bool:
        self.looks += 1
        return key in self.ids

    def state(self, type_: str, key: ItemKey | None) -> RunState:
        return RunState("r")


def test_the_next_number_is_the_id_while_it_is_free() -> None:
    assert free_id(Numbered(set()), "CLAIM", "c") == "c1"
    assert free_id(Numbered({"c1", "other"}), "CLAIM", "c") == "c3"


@pytest.mark.parametrize("count", [15, 1500, 15_000])
def test_a_free_id_is_found_with_few_looks_whatever_numbers_are_taken(count: int) -> None:
    items = Numbered({f"c{count + number}" for number in range(1, count + 1)})
    for _ in range(50):
        items.looks = 0
        found = free_id(items, "CLAIM", "c")
        assert found not in items.ids
        assert items.looks <= count.bit_length() + 2
        items.ids.add(found)


# Steps


def test_a_run_always_has_a_next_step(base: Slicebase) -> None:
    base.runs.start("r", "o", "d")
    for type_ in ("PLAN_DONE", "NOTE", "CLAIM"):
        for step in (FARTHEST_STEP + 1, LARGEST_INTEGER):
            event = {"type": type_, "step": step, "payload": {"claim_id": "c1", "statement": "It is."}}
            assert code_of(partial(base.runs.log, "r", [event])) == "bad-event"
    base.runs.log("r", [{"type": "PLAN_DONE", "step": FARTHEST_STEP}])
    for number in range(FARTHEST_STEP + 1, FARTHEST_STEP + 4):
        with base.runs.step("r") as taken:
            taken.plan("look")
            taken.claim("It is.")
            assert taken.number == number
    begun = base.runs.begin_step("r")
    base.runs.log("r", [{"type": "ACT_DONE", "step": begun}])
    base.runs.compact("r")
    assert base.verify().status == "VERIFIED"


# Budgets of forks


@pytest.mark.parametrize(
    ("budgets", "is_left"),
    [
        ({"max_steps": 2}, False),
        ({"max_steps": 3}, True),
        ({"max_cost": 4}, False),
        ({"max_cost": 4.5}, True),
        ({"max_steps": 3, "max_cost": 4}, False),
        ({"max_seconds": 1_000_000}, True),
    ],
)
def test_a_run_that_has_used_up_a_budget_has_no_fork(
    base: Slicebase, budgets: dict[str, float], *, is_left: bool
) -> None:
    base.runs.start("r", "o", "d", budgets=budgets)
    base.runs.log("r", [{"type": "PLAN_DONE", "step": step, "payload": {"cost": 2}} for step in (1, 2)])
    base.runs.compact("r")
    if is_left:
        base.runs.fork("r", "f")
    else:
        assert code_of(lambda: base.runs.fork("r", "f")) == "budget-exceeded"


def test_a_budget_of_zero_of_which_nothing_was_spent_is_not_used_up(base: Slicebase) -> None:
    base.runs.start("r", "o", "d", budgets={"max_cost": 0})
    base.runs.compact("r")
    base.runs.fork("r", "f")
