"""Files that mention a word are read again when they have changed, and only then."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase import Slicebase
from slicebase.files.slice_file import SliceFile
from slicebase.library import mentions
from slicebase.library.mentions import Mentions


def title(file: SliceFile) -> str | None:
    return None if file.archived else str(file.title)


def test_a_file_is_read_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Slicebase.init(tmp_path) as memory:
        made = []
        found = Mentions(memory.library.folder, "webhooks", lambda file: made.append(file.id) or title(file))  # type: ignore[func-returns-value]
        for name in ("A", "B"):
            memory.library.create(f"{name} webhooks", "Limits.")
        memory.library.create("Codes", "Case.")
        assert sorted(found.all()) == sorted(found.all()) == ["A webhooks", "B webhooks"]
        assert len(made) == 4  # changed within the last tick
        monkeypatch.setattr(mentions, "_TICK", -1_000_000_000)
        found.all()
        made.clear()
        assert len(found.all()) == 2
        assert made == []
        entry = memory.library.list_files()[0]
        path = memory.library.folder.path / f"{entry.id}.slice"
        path.write_bytes(path.read_bytes().replace(b"webhooks", b"webhookz"))
        os.utime(path, ns=(1, 1))
        assert len(found.all()) == (2 if entry.title == "Codes" else 1)


CHANGES = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["create", "reword", "remove", "damage"])), max_size=12)


@settings(max_examples=15)
@given(CHANGES)
def test_what_is_found_is_what_is_there(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, str]]
) -> None:
    with Slicebase.init(tmp_path_factory.mktemp("w")) as memory:
        folder = memory.library.folder
        found = Mentions(folder, "webhooks", title)
        for number, change in changes:
            files = sorted(folder.path.glob("*.slice"))
            if change == "create" or not files:
                memory.library.create(f"{number} webhooks", "Limits.")
            elif change == "reword" and b"webhooks" in (data := files[number % len(files)].read_bytes()):
                files[number % len(files)].write_bytes(data.replace(b"webhooks", b"webhooky"))
            elif change == "remove":
                files[number % len(files)].unlink()
            else:
                files[number % len(files)].write_bytes(b"nothing")
            expected = [made for file in folder.mentioning(b"webhooks") if (made := title(file))]
            assert found.all() == expected
