"""The fuzzer: every door holds for a few damaged inputs here, and for many in `make fuzz`."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from fuzz import worker
from fuzz.__main__ import STATEFUL
from fuzz.doors import Door, pure_doors
from fuzz.mutations import mutated
from fuzz.seeds import seeds
from fuzz.stateful import Doors
from slicebase.errors import SlicebaseError

PURE = dict(pure_doors())
FEW = 12


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Door]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("fuzz"))
        opened = Doors(Path.cwd())
        yield dict(opened.all())
        opened.check()


@pytest.mark.parametrize("name", [*PURE, *STATEFUL])
def test_a_door_accepts_or_refuses_what_is_damaged(name: str, doors: dict[str, Door]) -> None:
    found = seeds(name)
    random = Random(name)
    for data in [found[0][:20_000], *(mutated(random, found) for _ in range(FEW))]:
        try:
            (PURE.get(name) or doors[name])(data)
        except SlicebaseError as error:
            assert str(error)


def test_every_door_of_a_workspace_is_listed(doors: dict[str, Door]) -> None:
    assert tuple(doors) == STATEFUL


def test_the_same_numbers_give_the_same_inputs() -> None:
    one, other = ([mutated(Random(seed), seeds("policy")) for seed in range(20)] for _ in range(2))
    assert one == other


def test_a_crash_is_made_smaller_and_kept_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "CRASHES", tmp_path / "crashes")

    def door(data: bytes) -> None:
        if b"bad" in data:
            raise KeyError("surprise")

    trial = worker.Trial("door", door, tmp_path / "current")
    for data in (b"fine", b"x" * 300 + b"bad" + b"y" * 300, b"also bad"):
        trial.run(data)
    assert len(trial.crashes) == 1
    (kept,) = (tmp_path / "crashes").glob("*.bin")
    assert kept.read_bytes() == b"bad"
    assert (tmp_path / "current").read_bytes() == b"also bad"
