"""A run cannot be made unreadable: whatever a caller or a stream sends, it can be listed, shown, compacted, proven."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase import Slicebase, SlicebaseError
from slicebase.core.times import to_text
from slicebase.runs.event import TYPES, EventDraft
from slicebase.truth.run_writer import FARTHEST_STEP
from tests.amounts import MORE
from tests.codes import code_of

COUNT = count()
RUN = "r"

numbers = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
words = st.sampled_from(["verified", "open", "closed", "resolved", "PASS", "c1", " ", ""]) | st.text(max_size=5)
any_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | numbers | st.sampled_from([2**53 - 1, 2.0**53, 1e17, -1e20, 1.7e308]) | words,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["evidence_id", "chunk_id", "span", "start", "end", "status"]) | words, inner, max_size=4
        )
    ),
    max_leaves=8,
)


def fields_of(type_: str) -> list[str]:
    record = TYPES[type_].payload if type_ in TYPES else None
    return [*(record.__struct_fields__ if record else ()), "cost", "watched", "text"]


@st.composite
def any_event(draw: st.DrawFn) -> dict[str, Any]:
    type_ = draw(st.sampled_from([*(name for name in TYPES if TYPES[name].agent), "RUN_STARTED", "X"]))
    payload = draw(st.dictionaries(st.sampled_from(fields_of(type_)), any_json, max_size=9))
    step = draw(st.integers(0, 5) | st.just(FARTHEST_STEP))
    return {"type": type_, "step": step, "payload": payload}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path_factory.mktemp("w")) as memory:
        memory.truth.database.connection.execute("PRAGMA synchronous = OFF")
        yield memory
        assert memory.verify().exit in (0, 6)  # 6: manifests that nobody knows


@settings(max_examples=40 * MORE, deadline=None)
@given(st.lists(any_event(), min_size=1, max_size=4))
def test_whatever_is_logged_the_run_can_be_listed_shown_and_compacted(
    shared: Slicebase, events: list[dict[str, Any]]
) -> None:
    run = f"r{next(COUNT)}"
    shared.runs.start(run, "Objective", "Done")
    shared.runs.log(run, events)
    assert shared.runs.list_runs()[0].terms is not None
    shared.runs.status(run)
    try:
        shared.runs.compact(run)
    except SlicebaseError as error:
        assert error.code == "gate-refused"
    assert shared.runs.status(run).events == len(shared.runs.events(run))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path) as opened:
        opened.runs.start(RUN, "Objective", "Done")
        yield opened


def test_a_double_that_looks_like_a_large_integer_is_stored_and_compacted(memory: Slicebase) -> None:
    """RFC 8785 prints 1e17 without a point; read as an integer, it would have no canonical form."""
    memory.runs.log(RUN, [{"type": "NOTE", "payload": {"n": [1e17, 2.0**53, -1e20, 1e21, 5]}}])
    read = memory.runs.events(RUN)[-1].payload["n"]
    assert read == [1e17, 2.0**53, -1e20, 1e21, 5]
    assert [type(number) for number in read] == [float, float, float, float, int]
    memory.runs.log(RUN, [{"type": "QUESTION", "payload": {"question": {"n": 1e17}}}])
    assert code_of(memory.runs.compact, RUN) == "gate-refused"
    assert memory.verify().status == "VERIFIED"


def test_costs_without_measure_stay_numbers(memory: Slicebase) -> None:
    memory.runs.log(RUN, [{"type": "NOTE", "payload": {"cost": 1.7e308}}] * 2)
    assert memory.runs.status(RUN).metrics.cost == 1e300
    assert memory.verify().status == "VERIFIED"


# Terms

long_texts = st.sampled_from(["audit_only", "x" * 2000, "x" * 2001, "y" * 70_000])
done_definitions = words | long_texts | st.dictionaries(words | long_texts | st.just("budgets"), any_json, max_size=3)


@settings(max_examples=30 * MORE, deadline=None)
@given(words | long_texts, done_definitions, words | long_texts)
def test_terms_are_refused_at_the_start_or_pass_the_gate(
    shared: Slicebase, objective: str, done: Any, mode: str
) -> None:
    run = f"t{next(COUNT)}"
    try:
        shared.runs.start(run, objective, done, provenance_mode=mode)
    except SlicebaseError as error:
        assert error.code in {"bad-run", "bad-run-budget", "payload-too-large"}
        return
    assert shared.runs.compact(run).snapshots
    shared.runs.fork(run, f"{run}-fork")
    assert shared.runs.compact(f"{run}-fork").snapshots


@pytest.mark.parametrize("done", [["a"], 5, {1: "a"}, "", "  ", {}, {"text": ""}, None, object()])
@pytest.mark.parametrize("budgets", [None, {"max_steps": 5}])
def test_terms_that_could_not_be_read_again_are_refused(memory: Slicebase, done: Any, budgets: Any) -> None:
    is_typed = isinstance(done, str) or (isinstance(done, dict) and all(isinstance(key, str) for key in done))
    refused = code_of(memory.runs.start, "bad", "Objective", done, budgets=budgets)
    assert refused == ("bad-run" if is_typed else "bad-arguments")
    assert [entry.id for entry in memory.runs.list_runs()] == [RUN]


def test_a_conversation_becomes_no_run_with_such_terms(memory: Slicebase, tmp_path: Path) -> None:
    path = tmp_path / "said.json"
    path.write_text('[{"role": "user", "content": "why?"}, {"role": "assistant", "content": "so"}]')
    for terms in ({"done": {"text": " "}}, {"objective": "  "}):
        assert code_of(memory.runs.from_file, path, "bad", **terms) == "bad-run"
    for wrong in ({"done": ["a"]}, {"objective": 5}):
        assert code_of(memory.runs.from_file, path, "bad", **wrong) == "bad-arguments"
    assert [entry.id for entry in memory.runs.list_runs()] == [RUN]


def store_badly(memory: Slicebase, run: str, payload: dict[str, Any]) -> None:
    """Starts a run past the verbs, as another program or an older version can."""
    with memory.truth.runs.log.appending(run, create=True) as appender:
        appender.append(EventDraft(type="RUN_STARTED", payload=payload), to_text(0))


def test_a_run_that_was_stored_in_a_bad_form_hides_no_other_run(memory: Slicebase) -> None:
    store_badly(memory, "bad", {"objective": "Objective", "done_definition": ["a"]})
    entries = {entry.id: entry for entry in memory.runs.list_runs()}
    assert entries[RUN].problem is None
    assert "done_definition" in str(entries["bad"].problem)
    assert entries["bad"].subject.startswith("(")
    assert code_of(memory.runs.status, "bad") == "broken-record"
    assert code_of(memory.runs.compact, "bad") == "broken-record"
    assert code_of(memory.runs.log, "bad", [{"type": "NOTE"}]) == "broken-record"
    assert [(each.status, each.check) for each in memory.verify().findings] == [("BROKEN", "run-start")]


# Ids and statements


@pytest.mark.parametrize("empty", ["", "  ", "\n\t"])
def test_empty_statements_and_ids_are_refused_at_the_door(memory: Slicebase, empty: str) -> None:
    runs = memory.runs
    assert code_of(runs.claim, RUN, empty) == "gate-would-refuse"
    assert code_of(runs.claim, RUN, "It is.", id=empty) in ("bad-reference", "gate-would-refuse")
    assert code_of(runs.question, RUN, empty) == "gate-would-refuse"
    assert code_of(runs.failure, RUN, "It failed.", id=empty) == "gate-would-refuse"
    assert code_of(runs.start, empty, "Objective", "Done") == "bad-run"
    log = memory.library.create("Log", "Rows.", type="jsonl").id
    row = memory.library.remember(log, "one and two").ref
    sides: dict[str, Any] = {"a": (row, "one"), "b": (row, "two")}
    assert code_of(runs.conflict, RUN, empty, **sides) == "gate-would-refuse"
    assert code_of(runs.conflict, RUN, "Which?", id=empty, **sides) == "gate-would-refuse"
    assert len(runs.events(RUN)) == 1


# What the gate knows of the workspace


def test_cited_text_that_has_changed_or_was_purged_passes_the_gate_marked(memory: Slicebase) -> None:
    """Rulings 44 and 46."""
    page = memory.library.create("Page", "Text.", body="# One\n\nThe lock is stale.\n\n# Two\n\nIt is not.\n").id
    section = next(iter(memory.context("lock stale").pieces)).ref
    memory.runs.claim(RUN, "It is stale.", status="verified", cite=(section, "The lock is stale."))
    memory.library.remember(page, "Another paragraph.")
    assert marks(memory) == {"evidence_ids_rederive": "has changed since"}
    memory.library.purge(page, reason="secret")
    memory.runs.claim(RUN, id="c1", status="candidate")
    assert marks(memory) == {"evidence_ids_rederive": "was purged"}
    assert memory.verify().exit == 0


def marks(memory: Slicebase) -> dict[str, str]:
    """Compacts the run, and returns what the checks that passed say."""
    memory.runs.compact(RUN)
    checks = memory.runs.snapshot(RUN)["validation"]["checks"]
    assert {check["status"] for check in checks} == {"PASS"}
    return {
        check["name"]: next(word for word in ("has changed since", "was purged") if word in check["message"])
        for check in checks
        if check["message"]
    }


def test_evidence_whose_quote_is_lost_fails_the_gate(memory: Slicebase) -> None:
    log = memory.library.create("Log", "Rows.", type="jsonl").id
    row = memory.library.remember(log, "one and two").ref
    memory.runs.claim(RUN, "One.", status="verified", cite=(row, "one"))
    connection = memory.truth.database.connection
    connection.execute("PRAGMA writable_schema = ON; DROP TRIGGER texts_keep")
    connection.execute("DELETE FROM texts WHERE owner LIKE 'file:%'")
    evidence = next(iter(memory.truth.ledger))
    assert code_of(memory.runs.claim, RUN, "One again.", cite=evidence) == "gate-would-refuse"
    assert code_of(memory.runs.compact, RUN) == "gate-refused"
    failed = [check for check in last_checks(memory) if check["status"] == "FAIL"]
    assert [check["name"] for check in failed] == ["evidence_ids_rederive"]


def last_checks(memory: Slicebase) -> list[dict[str, str]]:
    checks: list[dict[str, str]] = memory.runs.snapshot(RUN, 1)["validation"]["checks"]
    return checks


def test_a_manifest_that_is_not_stored_or_says_something_else_fails_the_gate(memory: Slicebase) -> None:
    """Ruling 54."""
    memory.library.create("Page", "Text.", body="# One\n\nThe lock is stale.\n")
    built = memory.context("lock stale")
    memory.runs.bind(RUN, built)
    bound = memory.runs.events(RUN)[-1].payload
    memory.runs.compact(RUN)
    changes: list[dict[str, Any]] = [{"manifest_id": "mf_" + "0" * 32}, {"candidates": 99}, {"filters": []}]
    for number, change in enumerate(changes):
        run = f"bad{number}"
        memory.runs.start(run, "Objective", "Done")
        memory.runs.log(run, [{"type": "MANIFEST", "payload": {**bound, **change}}])
        assert code_of(memory.runs.compact, run) == "gate-refused"
        checks = memory.runs.snapshot(run, 1)["validation"]["checks"]
        assert [check["name"] for check in checks if check["status"] == "FAIL"] == ["manifests_known"]
    assert {each.check for each in memory.verify().findings} == {"manifest-unknown"}


# Forks


def spend(memory: Slicebase, run: str, steps: int) -> None:
    for _ in range(steps):
        with memory.runs.step(run) as step:
            step.act("look", cost=0.5)


@pytest.mark.filterwarnings("ignore::slicebase.RunWarning")
def test_a_fork_inherits_what_was_spent_and_so_does_its_fork(tmp_path: Path) -> None:
    seconds = iter(range(1_767_225_600, 1_767_300_000))
    with Slicebase.init(tmp_path, clock=lambda: next(seconds)) as memory:
        memory.runs.start("a", "Objective", "Done", budgets={"max_steps": 10, "max_cost": 100, "max_seconds": 10_000})
        spend(memory, "a", 4)
        memory.runs.compact("a")
        spend(memory, "a", 3)  # after the snapshot, and spent nevertheless
        own = memory.runs.status("a").spent
        memory.runs.fork("a", "b")
        status = memory.runs.status("b")
        assert (status.spent, status.metrics.steps) == (own, 0)
        assert status.inherited is not None
        assert (status.inherited.run, status.inherited.steps, status.inherited.cost) == ("a", 7, 3.5)
        assert status.inherited.seconds > 0
        spend(memory, "b", 2)
        memory.runs.compact("b")
        memory.runs.fork("b", "c")
        assert memory.runs.status("c").spent.steps == 9
        spend(memory, "c", 1)
        assert code_of(spend, memory, "c", 1) == "budget-exceeded"
        assert memory.runs.status("c").stopped == "BUDGET_EXCEEDED"
        assert code_of(memory.runs.fork, "c", "d") == "budget-exceeded"
        assert "d" not in [entry.id for entry in memory.runs.list_runs()]
        assert memory.verify().status == "VERIFIED"


@pytest.mark.parametrize("change", [{"steps": 0}, {"cost": 0.0}, {"seconds": -1.0}, {"events": 2}, {"run": "b"}, None])
def test_verify_derives_again_what_a_fork_has_inherited(memory: Slicebase, change: dict[str, Any] | None) -> None:
    spend(memory, RUN, 2)
    memory.runs.compact(RUN)
    memory.runs.fork(RUN, "b")
    terms = memory.runs.events("b")[0].payload
    assert memory.verify().status == "VERIFIED"
    forged = {**terms, "inherited": {**terms["inherited"], **(change or {})}}
    if change is None:
        del forged["inherited"]
    store_badly(memory, "forged", forged)
    assert [(each.status, each.check) for each in memory.verify().findings] == [("BROKEN", "fork")]
