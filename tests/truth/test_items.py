"""The items of a run are read one by one, and are what the fold of the complete log says."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slicebase import Slicebase
from slicebase.core.hashing import digest
from slicebase.core.times import from_text
from slicebase.errors import SlicebaseError
from slicebase.runs.event import EventDraft
from slicebase.runs.gate import Thresholds
from slicebase.runs.items import ItemPlaces
from slicebase.runs.state import ITEMS, Json, key_of
from slicebase.runs.values import same
from slicebase.truth.acts import PurgedText, PurgeRecord
from slicebase.truth.erasure import PassageSearch
from slicebase.truth.truth import Truth
from tests.amounts import MORE
from tests.conversations import on_file
from tests.runs.made import LEDGER, MANIFESTS, NOW, STARTED, claim, conflict, failure, question

MOMENT = from_text(NOW)
SECRET = "an id that is long enough to be a passage that a purge looks for"
SOON = Thresholds(counted_events=2, steps=2)

# Events about items, good and bad: a log may contain anything (ruling 35).
ids = st.sampled_from(["c1", "c2", "x1", "f1", "", SECRET, f"{SECRET} 2"])
scalars: list[Json] = [None, 5.5, 0, 1, False, True, "open", "closed"]  # to Python, some of these are equal
anything: st.SearchStrategy[Json] = st.sampled_from([*scalars, [], {}, {"a": [1]}, {"a": [True]}]) | ids
names = st.sampled_from(["claim_id", "conflict_id", "failure_id", "question", "status", "statement", "evidence_refs"])
bad = st.builds(
    lambda type_, payload: EventDraft(type=type_, payload=payload),
    st.sampled_from([*ITEMS, "QUESTION", "SOURCE", "NOTED"]),
    st.dictionaries(names, anything, max_size=3),
)
status_only = st.builds(
    lambda type_, name, status: EventDraft(type=type_, payload={ITEMS[type_].id: name, **status}),
    st.sampled_from(list(ITEMS)),
    ids,
    st.sampled_from([{}, {"status": "retracted"}, {"status": "resolved"}, {"status": "verified"}]),
)
good = st.one_of(
    st.builds(claim, ids.filter(bool), st.sampled_from(["verified", "candidate", "retracted"])),
    st.builds(conflict, ids.filter(bool)),
    st.builds(failure, ids.filter(bool)),
    st.builds(question, ids.filter(bool), st.sampled_from(["open", "closed"])),
    st.builds(EventDraft, type=st.just("PLAN_DONE"), step=st.integers(1, 3)),
)
drafts = st.lists(good | status_only, max_size=6) | st.lists(good | status_only | bad, max_size=6)
acts = st.lists(
    st.tuples(st.just("append"), drafts)
    | st.tuples(st.just("appended and compacted"), st.lists(good, max_size=6))
    | st.tuples(st.sampled_from(["compact", "fork", "purge"]), st.just([])),
    max_size=8,
)


def purge(truth: Truth, run: str, string: str) -> None:
    """Takes a string out of the texts of a run, as a purge does."""
    search = PassageSearch([string])
    left = {(f"run:{run}", name): search.left_of(data) or b"{}" for name, data in truth.texts.of(f"run:{run}")}
    changed = {key: data for key, data in left.items() if digest(data) != key[1]}
    texts = tuple(PurgedText(*key, digest(data)) for key, data in sorted(changed.items()))
    truth.purge(PurgeRecord("", texts, NOW, f"run:{run}"), changed)


def apply(truth: Truth, run: str, act: str, events: list[EventDraft]) -> None:
    runs = truth.runs
    verbs: dict[str, Callable[[], Any]] = {
        "append": lambda: runs.append(run, events, MOMENT),
        "appended and compacted": lambda: runs.append(run, events, MOMENT, SOON),
        "compact": lambda: runs.compact(run, MOMENT),
        "fork": lambda: runs.fork(run, f"{run}+", MOMENT),
        "purge": lambda: purge(truth, run, SECRET),
    }
    verbs[act]()


def without_moments(item: Json) -> Json:
    """Returns an item without the numbers of the snapshots that first had and last changed it."""
    return {name: value for name, value in item.items() if name not in ("since", "changed")}


def check_items(truth: Truth, run: str) -> None:
    state, items = truth.runs.state(run), truth.runs.items(run)
    events = list(truth.runs.events(run))
    keys = {(event.type, key) for event in events if (key := key_of(event)) is not None}
    keys |= {(type_, name) for type_ in ITEMS for name in ("c1", "c2", "c3")}
    for type_, kind in ITEMS.items():
        assert items.count(type_) == len(getattr(state, kind.collection))
    for type_, key in keys:
        if type_ == "QUESTION":
            assert (key in items.state(type_, key).open_questions) == (key in state.open_questions)
            continue
        collection = ITEMS[type_].collection
        known, found = getattr(state, collection).get(key), getattr(items.state(type_, key), collection).get(key)
        assert items.has(type_, key) == (known is not None)
        assert same(found and without_moments(found), known and without_moments(known))
    derived = ItemPlaces()
    for event in events:
        derived.add(event)
    assert truth.runs.log.items.of(run) == derived.places


def check_acknowledged(truth: Truth, run: str, before: int) -> None:
    """Checks that no item is stored as a tombstone right after it was accepted."""
    for stored in truth.runs.log.events(run, before):
        assert stored.purged is None or key_of(stored.event) is None


@given(acts=acts)
@settings(max_examples=60 * MORE, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_items_that_are_read_one_by_one_are_those_of_the_state(
    acts: list[tuple[str, list[EventDraft]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    truth = Truth(tmp_path_factory.mktemp("items") / "slicebase.db", create=True)
    truth.database.connection.execute("PRAGMA synchronous = OFF")
    truth.runs.manifests = MANIFESTS
    for record in LEDGER.values():
        truth.ledger.keep(record)
    truth.runs.start("r", STARTED, MOMENT)
    try:
        for act, events in acts:
            for run in ("r", "r+"):
                try:
                    before = truth.runs.log.tally(run).seq if truth.runs.log.exists(run) else 0
                    apply(truth, run, act, events)
                    check_acknowledged(truth, run, before)
                except SlicebaseError as error:
                    assert error.code in {"gate-refused", "run-closed", "no-run", "no-snapshot", "run-exists", "purged"}
        for tally in list(truth.runs.log.tallies()):
            check_items(truth, tally.run_id)
    finally:
        truth.close()


# What it costs


def steps_of(memory: Slicebase, call: Callable[[], object]) -> int:
    """Returns how many instructions SQLite runs for a call: every row that is read costs some."""
    count = 0

    def counted() -> bool:
        nonlocal count
        count += 1
        return False

    connection = on_file(memory.truth).connection
    memory.truth.database.log()  # the log of the heads is written with every 32nd transaction
    connection.set_progress_handler(counted, 1)
    try:
        call()
    finally:
        connection.set_progress_handler(None)
    return count


def test_a_claim_and_the_like_read_as_much_in_a_long_log_as_in_a_short_one(tmp_path: Path) -> None:
    costs: list[list[int]] = []
    with Slicebase.init(tmp_path) as memory:
        for run, length in (("short", 5), ("long", 1000)):
            memory.runs.start(run, "Objective", "Done")
            old = [draft for n in range(length) for draft in (failure(f"old-{n}"), question(f"Old {n}?"))]
            memory.runs.log(run, [claim("mine", "candidate", []), question("Why?"), *old])
            verbs: list[Callable[[], object]] = [
                partial(memory.runs.claim, run, "It is so."),
                partial(memory.runs.claim, run, id="mine", status="retracted"),
                partial(memory.runs.failure, run, "It broke."),
                partial(memory.runs.failure, run, id="old-3", resolve=True),
                partial(memory.runs.question, run, "Why not?"),
                partial(memory.runs.question, run, "Why?", close=True),
            ]
            costs.append([steps_of(memory, verb) for verb in verbs])
    short, long = costs
    assert long == pytest.approx(short, rel=0.02)


def test_a_claim_does_not_read_the_last_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Slicebase.init(tmp_path) as memory:
        memory.runs.start("r", "Objective", "Done")
        memory.runs.claim("r", "It is so.")
        memory.runs.compact("r")
    with Slicebase.open(tmp_path) as memory:
        monkeypatch.setattr(memory.truth.runs.snapshots, "get", None)
        assert memory.runs.claim("r", "It is so, too.").id == "c2"


def test_an_item_whose_event_is_gone_is_a_broken_record(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        memory.runs.start("r", "Objective", "Done")
        memory.runs.claim("r", "It is so.")
        memory.truth.database.connection.execute("UPDATE items SET stated = 1000")
        with pytest.raises(SlicebaseError) as raised:
            memory.runs.claim("r", id="c1", status="retracted")
    assert raised.value.code == "broken-record"
