"""Batches of slices: lines are answered in their order, as they come, and in little memory."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.cli.slice_batch import _blocks, _portions, _Request
from slicebase.errors import SlicebaseError
from slicebase.graph.policy import SlicePolicyV1
from tests.cli.conftest import Tt
from tests.paths import PROJECT

SAMPLE = PROJECT / "src" / "slicebase" / "samples" / "claude-code-session.jsonl"


class Arriving(io.BytesIO):
    """A stream whose bytes arrive in pieces."""

    def __init__(self, pieces: list[bytes]) -> None:
        super().__init__()
        self._pieces = iter(pieces)

    def read1(self, size: int | None = -1, /) -> bytes:
        return next(self._pieces, b"")


@given(st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r\n", b"  ", b"d\ne", b"\n\nf"])))
def test_lines_are_the_same_however_they_arrive(pieces: list[bytes]) -> None:
    blocks = list(_blocks(Arriving([piece for piece in pieces if piece]), "requests"))
    whole = enumerate(b"".join(pieces).split(b"\n"), 1)
    assert [line for block in blocks for line in block] == [(n, line) for n, line in whole if line.strip()]


def test_a_line_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slicebase.cli.slice_batch._LONGEST", 100)

    def endless() -> Iterator[bytes]:
        while True:
            yield b"x" * 64

    stream = Arriving([])
    stream._pieces = endless()
    with pytest.raises(SlicebaseError) as caught:
        list(_blocks(stream, "requests"))
    assert caught.value.code == "too-large"


@given(st.lists(st.sampled_from([1, 256, 100_000, 2**53 - 1])))
def test_what_is_selected_together_takes_little_memory(sizes: list[int]) -> None:
    items = [(n, _Request("x", SlicePolicyV1(max_nodes=size))) for n, size in enumerate(sizes)]
    portions = list(_portions(items))
    assert [item for portion in portions for item in portion] == items
    for portion in portions:
        assert len(portion) == 1 or sum(sizes[number] for number, _ in portion) * 400 <= 64 << 20


def test_a_request_is_answered_before_the_next_one_is_written(tt: Tt, tmp_path: Path) -> None:
    """A program can keep a batch open and ask when it needs a slice."""
    tt("import", SAMPLE)
    session = tt("turns", "--json").json["rows"][0]["session"]
    turns = [row["ref"].removeprefix("turn:") for row in tt("turns", session, "--json").json["rows"]]
    command = [sys.executable, "-m", "slicebase", "--root", str(tmp_path), "slice", "--batch", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        for turn in turns[:3]:
            process.stdin.write(json.dumps({"anchor_turn_id": turn}).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["anchor_turn_id"] == turn
        process.stdin.close()
        assert process.wait() == 0


def test_a_reader_that_closes_the_pipe_has_enough(tt: Tt, tmp_path: Path) -> None:
    """What cannot be written is no fault of the file with the requests."""
    tt("import", SAMPLE)
    (tmp_path / "requests").write_text('{"anchor_turn_id": "turn"}\n')
    command = [sys.executable, "-m", "slicebase", "--root", str(tmp_path), "slice", "--batch", f"{tmp_path}/requests"]
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, check=False)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (0, b"")
