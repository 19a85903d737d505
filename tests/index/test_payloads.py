"""Commands and pages agree about a pointer whose document has changed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from slicebase import Slicebase
from slicebase.index import payloads
from slicebase.library.check import validate
from slicebase.library.library import Library
from tests.web.conftest import client_of

TEXT = "year,height\n2025,182\n"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path) as made:
        (tmp_path / "heights.csv").write_text(TEXT)
        made.library.create("Heights", "Measured heights.", from_file=tmp_path / "heights.csv")
        yield made


def reasons(library: Library) -> list[str]:
    return [why.kind for each in library.stale() for why in each.reasons]


def rules(memory: Slicebase) -> list[str]:
    return [finding.rule for finding in validate([memory.workspace.library]).findings]


@pytest.mark.parametrize(
    ("now", "kind", "state", "rule"),
    [
        (TEXT, [], "same", []),
        (TEXT.replace("182", "185"), ["payload-changed"], "changed", ["payload-hash"]),
        (TEXT + "2026,185\n", ["payload-changed"], "changed", ["payload-size"]),
        (None, ["payload-missing"], "missing", ["payload-absent"]),
    ],
)
def test_whoever_is_asked_says_the_same_of_a_document(
    now: str | None, kind: list[str], state: str, rule: list[str], memory: Slicebase
) -> None:
    document, (pointer,) = memory.root / "heights.csv", memory.finder.list_files()
    assert reasons(memory.library) == []
    document.unlink() if now is None else document.write_text(now)
    assert reasons(memory.library) == kind
    assert memory.finder.info(pointer.id).entry.payload_state == state
    assert memory.status().stale == len(kind)
    assert rules(memory) == rule
    with client_of(memory.root) as client:
        page = client.get(f"/api/v1/files/{pointer.id}").json()
        assert (page["payload_state"], [why["reason"] for why in page["reasons"]]) == (state, kind)
        assert client.get("/api/v1/stale").json()["total"] == len(kind)
    if state == "changed":
        memory.library.refresh(pointer.id)
        assert reasons(memory.library) == []


def test_an_archived_pointer_says_what_its_document_was(memory: Slicebase) -> None:
    (pointer,) = memory.finder.list_files()
    (memory.root / "heights.csv").unlink()
    memory.library.forget(pointer.id)
    assert reasons(memory.library) == []
    assert memory.finder.info(pointer.id).entry.payload_state is None


def test_a_document_that_is_not_here_is_not_compared(memory: Slicebase) -> None:
    (memory.root / "heights.csv").rename(memory.root.parent / "heights.csv")
    (memory.root / "heights.csv").symlink_to(memory.root.parent / "heights.csv")
    (pointer,) = memory.finder.list_files()
    assert memory.finder.info(pointer.id).entry.payload_state is None  # validate says that it leads out
    assert rules(memory) == ["path-outside"]


def test_a_large_document_is_read_once_or_compared_by_its_size(
    memory: Slicebase, monkeypatch: pytest.MonkeyPatch
) -> None:
    (pointer,) = memory.finder.list_files()
    (memory.root / "heights.csv").write_text(TEXT.replace("182", "185"))
    root = memory.root
    assert payloads.with_payload_state(root, pointer).payload_state == "changed"
    assert payloads.with_payload_state(root, pointer, largest=3).payload_state == "same"
    monkeypatch.setattr(payloads, "is_certain", lambda stamp, tick: True)
    times, read = list[str](), payloads._read_digest

    def counted(path: str) -> str:
        times.append(path)
        return read(path)

    monkeypatch.setattr(payloads, "_read_digest", counted)
    for _ in range(3):
        assert payloads.with_payload_state(root, pointer).payload_state == "changed"
    assert len(times) <= 1
