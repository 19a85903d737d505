"""Findings repeat what a file has where nobody looks for secrets: never a secret that somebody typed there."""

import json
from pathlib import Path

import pytest

from slicebase import Slicebase
from tests.cli.conftest import Tt
from tests.web.conftest import client_of
from tests.web.test_app import SECRET

HEADS = {
    "kind": "id: f\n  kind: {}",
    "contract": "id: f\n  kind: context\n  contract:\n    write: {}",
    "rel": "id: f\n  kind: context\n  links:\n    - rel: {}\n      to: file:x",
    "id": "id: {}\n  kind: context",
    "time": "id: f\n  kind: context\n  created_at: {}",
    "type": "id: f\n  kind: context\n  body:\n    type: {}",
    "long": "id: f\n  kind: " + "x" * 45 + " {}",
}


@pytest.mark.parametrize("head", HEADS)
def test_no_finding_repeats_a_secret(tt: Tt, tmp_path: Path, head: str) -> None:
    Slicebase.init(tmp_path).close()
    text = f"---\nslice:\n  title: T\n  summary: S\n  {HEADS[head].format(SECRET)}\n---\nText.\n"
    (tmp_path / ".slices/f.slice").write_text(text)
    for command in ("validate", "validate --json", "validate --format sarif", "doctor", "validate .slices/f.slice"):
        done = tt(*command.split())
        assert done.out
        assert SECRET[:12] not in done.out + done.err, command
    if head != "id":
        assert SECRET[:12] not in json.dumps(tt("info", "f", "--json").json["findings"])
    with client_of(tmp_path) as client:
        for path in ("validate", "doctor", "files/f/findings"):
            assert SECRET[:12] not in client.get(f"/api/v1/{path}").text, path
    with Slicebase.open(tmp_path, redact=False) as memory:  # which was asked for
        assert any(SECRET in each.message for each in memory.validate().findings) or head == "long"  # that is cut
