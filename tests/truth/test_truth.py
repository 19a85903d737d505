"""Policies by name, by hash and by file."""

import json
from pathlib import Path

import pytest

from slicebase.graph.policy import PRESETS
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
