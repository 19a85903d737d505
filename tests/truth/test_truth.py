"""Policies by name, by hash and by file."""

import json
from pathlib import Path

import pytest

from slicebase.graph.policy import PRESETS, SlicePolicyV1
from slicebase.truth.chains import Chain
from slicebase.truth.truth import Truth
from tests.codes import code_of

OTHER = {**PRESETS.find("focused").as_json(), "max_nodes": 7}


@pytest.mark.parametrize("name", ["focused", "mine", PRESETS.find("focused").params_hash])
def test_a_file_named_like_a_policy_is_not_that_policy(
    truth: Truth, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(json.dumps(OTHER))
    if name == "mine":  # no policy has this name
        assert truth.policies.named(name).max_nodes == 7
    else:
        assert truth.policies.named(name) == PRESETS.find("focused")
    assert truth.policies.named(f"./{name}").max_nodes == 7


def test_what_is_neither_a_name_nor_a_file_is_no_policy(truth: Truth) -> None:
    for text in ("none", "./none", "", "\0"):
        assert code_of(truth.policies.named, text) == "unknown-policy"


def test_a_hash_is_found_as_it_is_printed_and_by_its_beginning(truth: Truth) -> None:
    """Ruling 53."""
    own = SlicePolicyV1(max_nodes=7)
    truth.policies.keep(own)
    for policy in (own, PRESETS.find("broad")):
        for given in (policy.params_hash, policy.params_hash[:8], policy.params_hash[:15]):
            assert truth.policies.find(given) == policy
            assert truth.policies.find(f"slice_policy_v1:{given}") == policy
    assert code_of(truth.policies.find, own.params_hash[:7]) == "unknown-policy"
    assert code_of(truth.policies.find, "0" * 8) == "unknown-policy"


def test_a_beginning_that_two_hashes_have_names_none_of_them(truth: Truth) -> None:
    with truth.database.writing():
        rows = [(f"12345678{end * 8}", b"{}") for end in "ab"]
        truth.database.append(Chain("policies"), rows)
    assert code_of(truth.policies.find, "12345678") == "ambiguous-id"
