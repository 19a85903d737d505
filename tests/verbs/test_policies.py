"""Policies with names: a name never changes its meaning, and is taken wherever a policy is."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from slicebase import Slicebase
from slicebase.graph.policy import FOCUSED, SlicePolicyV1
from tests.codes import code_of
from tests.conversations import name, on_file, store, turn

OWN = SlicePolicyV1(max_nodes=2)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path, clock=lambda: 1_700_000_000.0) as made:
        store(made.truth, [turn("a"), turn("b", "a"), turn("c", "b")])
        yield made


def test_a_saved_policy_is_found_by_name_hash_and_printed_form_everywhere(memory: Slicebase) -> None:
    saved = memory.policies.save("mine", assignments=["max_nodes=2"])
    assert (saved.policy, saved.names, saved.origin) == (OWN, ("mine",), "saved")
    for given in ("mine", OWN.params_hash, OWN.params_hash[:8], saved.id, f"slice_policy_v1:{OWN.params_hash[:9]}"):
        assert memory.graph.policy(given) == OWN
        assert memory.graph.requested_policy(given) == OWN
        assert memory.policies.show(given) == saved
        assert len(memory.graph.select(name("a"), given).contents.turns) == 2
    assert memory.context("text of a", policy="mine").policy == OWN


def test_a_name_says_who_gave_it_when_and_from_what(memory: Slicebase, tmp_path: Path) -> None:
    saved = memory.policies.save("mine", "focused", ["max_nodes=9"])
    assert (saved.saved, saved.source) == ("2023-11-14T22:13:20.000Z", "focused max_nodes=9")
    assert saved.by
    file = tmp_path / "own.json"
    file.write_text('{"max_nodes": 3}')
    assert memory.policies.import_(file, "theirs").source == "file own.json"
    assert memory.policies.import_(file).names == ("theirs",)


def test_a_name_never_changes_its_meaning(memory: Slicebase) -> None:
    memory.policies.save("mine", OWN)
    before = on_file(memory.truth).connection.total_changes()
    assert memory.policies.save("mine", OWN).names == ("mine",)
    assert memory.policies.save("focused", FOCUSED).origin == "preset"
    assert on_file(memory.truth).connection.total_changes() == before
    for taken in ("mine", "default", "focused", "broad"):
        assert code_of(memory.policies.save, taken, SlicePolicyV1(max_nodes=5)) == "policy-name"
    assert memory.policies.show("mine").policy == OWN


@pytest.mark.parametrize(
    "bad", ["", "9lives", "two words", "a/b", "-x", "é", "deadbeef", "a" * 16, "x:y", "x.json", "n" * 65]
)
def test_what_cannot_be_told_from_a_hash_or_a_path_or_fills_the_lists_is_no_name(memory: Slicebase, bad: str) -> None:
    assert code_of(memory.policies.save, bad, OWN) == "bad-policy"
    assert memory.policies.list_policies()[3:] == []


def test_all_policies_are_listed_once(memory: Slicebase) -> None:
    memory.policies.save("zebra", OWN)
    memory.policies.save("ant", OWN)
    memory.policies.save("tight", FOCUSED)
    memory.truth.policies.keep(SlicePolicyV1(max_nodes=4))
    listed = [(entry.names, entry.origin) for entry in memory.policies.list_policies()]
    presets = [(("default",), "preset"), (("focused", "tight"), "preset"), (("broad",), "preset")]
    assert listed == [*presets, (("ant", "zebra"), "saved"), ((), "stored")]


def test_an_exported_policy_is_imported_elsewhere_with_the_same_hash(memory: Slicebase, tmp_path: Path) -> None:
    memory.policies.save("mine", assignments=["max_nodes=2", "phase_weights.planning=0.8"])
    file = tmp_path / "mine.json"
    file.write_text(memory.policies.export("mine"))
    with Slicebase.init(tmp_path / "elsewhere") as other:
        assert other.policies.import_(file, "mine").id == memory.policies.show("mine").id


def test_a_difference_names_the_parameter(memory: Slicebase) -> None:
    memory.policies.save("mine", assignments=["max_nodes=2", "phase_weights.planning=0.8"])
    found = [tuple(each) for each in memory.policies.diff("default", "mine")]
    assert found == [("max_nodes", 256, 2), ("phase_weights.planning", 0.9, 0.8)]
    assert memory.policies.diff("mine", "mine") == []


def test_names_are_verified_like_everything_stored(memory: Slicebase) -> None:
    memory.policies.save("mine", OWN)
    verdict = memory.verify()
    assert (verdict.status, verdict.checked["policy_names"]) == ("VERIFIED", 1)
    connection = apsw.Connection(str(memory.truth.database.path))
    connection.execute("DROP TRIGGER policy_names_fixed")
    connection.execute("UPDATE policy_names SET name = 'yours'")
    connection.close()
    broken = {finding.check for finding in memory.verify().findings if finding.status == "BROKEN"}
    assert {"row-hash", "policy-name"} <= broken
