"""The slice files as one look at them shows them: the same as without it, and each is read once."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase import Slicebase
from slicebase.errors import SlicebaseError
from slicebase.files.body.sections import section_ref
from slicebase.files.slice_file import SliceFile
from slicebase.index import files as file_index
from slicebase.library import log_rows, logs, names, recall, views
from slicebase.library.folder import SliceFolder
from slicebase.library.logs import Logs
from slicebase.library.names import Names
from slicebase.library.recall import Recall
from slicebase.library.views import FolderView
from tests.amounts import MORE
from tests.library.samples import put, rows
from tests.library.scratch import NOON, ScratchLibrary

WORDS = ["retry", "limit", "window", "cache", "token", "branch", "merge", "review"]


def plain(library: ScratchLibrary) -> Recall:
    """Returns a reader that looks at the folder for each piece."""
    folder = library.folder
    named = Names(library.workspace, library.surroundings, folder, library._stored_names)
    reader = library.reader(as_of=NOON / 1000)
    return reader._replace(folder=folder, logs=Logs(folder, library.part_links), names=named)


def fill(library: ScratchLibrary, chance: Random) -> list[str]:
    """Writes a library of every kind of file that can be joined, derived, forgotten or damaged. Returns references."""

    def words() -> str:
        return " ".join(chance.choices(WORDS, k=4))

    whole = [f"file{number}" for number in range(chance.randint(2, 7))]
    refs = [*whole, "01NOTHING", "file:01NOTHING", "row:file0/absent"]
    for at, name in enumerate(whole):
        kind = chance.choice(["jsonl", "jsonl", "markdown", "text"])
        links: list[dict[str, str]] = []
        if at and chance.random() < 0.6:
            rel = chance.choice(["part_of", "has_part", "about"])
            label = {"label": chance.choice(["overflow", "archive"])} if chance.random() < 0.5 else {}
            links = [{"rel": rel, "to": chance.choice(whole[:at]), **label}]
        body = f"# {words()}\n\n{words()}\n\n## {words()}\n\n{words()}\n"
        if kind == "jsonl":
            ids = [chance.choice(["a", "b", "long-name-1", "long-name-2", f"own{at}"]) for _ in range(4)]
            body = rows(*({"id": row, "text": words(), "supersedes": chance.sample(ids, 1)} for row in ids))
            refs += [f"row:{name}/{row}" for row in ids] + [f"row:{name}/long-name"]
        put(library.workspace, name, body, type=kind, links=links)
        if kind == "markdown":
            refs += _sections(library, name)
    with suppress(SlicebaseError):  # a log with an id twice is refused
        library.forget(chance.choice(whole))
    if chance.random() < 0.3:
        library.path(chance.choice(whole)).write_text("damaged")
    return refs


def _sections(library: ScratchLibrary, name: str) -> Iterator[str]:
    _, digest, found = library.reader().sections(name)
    return (str(section_ref(name, digest, section)) for section in found)


def result(call: Callable[[Any], object], given: Any) -> object:
    try:
        return call(given)
    except SlicebaseError as error:
        return error.code, error.message, error.hint


@settings(max_examples=5 * MORE)
@given(st.integers(0, 2**32))
@pytest.mark.parametrize("most", [1, views._MOST])
def test_a_view_shows_what_the_folder_shows(tmp_path_factory: pytest.TempPathFactory, most: int, seed: int) -> None:
    library = ScratchLibrary(tmp_path_factory.mktemp("library"))
    chance = Random(seed)
    refs = fill(library, chance)
    chance.shuffle(refs)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(views, "_MOST", most)
        one = library.reader(as_of=NOON / 1000)
        for ref in [*refs, *refs]:
            each = plain(library)
            assert result(one.own, ref) == result(each.own, ref)
            assert result(one.is_elsewhere, ref) == result(each.is_elsewhere, ref)
            assert result(one.pieces, [ref]) == result(each.pieces, [ref])


def test_a_view_is_of_one_moment(tmp_path: Path) -> None:
    library = ScratchLibrary(tmp_path)
    put(library.workspace, "page", "before", type="text")
    view = FolderView(library.folder)
    assert view.find("page").body == b"before"
    assert view.names() == ["page.slice"]
    put(library.workspace, "page", "after", type="text")
    put(library.workspace, "other", "after", type="text")
    assert view.find("page").body == b"before"
    assert view.names() == ["page.slice"]
    assert library.folder.find("page").body == b"after"


@pytest.mark.parametrize("row_id", ["01M7QHEX{:018d}", "fact{}", "same"])
def test_a_context_lists_the_folder_and_reads_a_log_as_often_for_many_rows_as_for_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row_id: str
) -> None:
    """A log of 100,000 rows takes seconds to read, and a library of 10,000 files takes a tenth to list."""
    counts: Counter[str] = Counter()

    def counted(owner: Any, name: str, *, size: Callable[..., int] = lambda *given: 1) -> None:
        called = getattr(owner, name)

        def call(*given: Any, **more: Any) -> Any:
            counts[name] += size(*given)
            return called(*given, **more)

        monkeypatch.setattr(owner, name, call)

    counted(file_index, "listing")
    counted(SliceFolder, "read")
    for module in (log_rows, logs, names, recall):
        counted(module, "read_rows", size=lambda body, *more: body.count(b"\n") // 8)  # of more than a few rows

    def asked(many: int) -> Counter[str]:
        with Slicebase.init(tmp_path / str(many)) as memory:
            body = rows(*({"id": row_id.format(at), "text": f"the retry limit is {at}"} for at in range(64)))
            put(memory.workspace, "log", body, type="jsonl")
            for at in range(4):
                put(memory.workspace, f"page{at}", "# One\n\nA page.\n", links=[{"rel": "part_of", "to": "page0"}])
            chunks, now = memory.library_chunks, memory.surroundings.now()
            found = [each for each in chunks.ranked("retry limit", 64, now) if each.turn.startswith("row:")]
            log_rows._kept.clear()
            counts.clear()
            assert len(chunks.candidates(found[:many], now)) == min(many, len(found))
            return counts.copy()

    assert asked(2) == asked(64)


def test_no_file_is_kept_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = ScratchLibrary(tmp_path)
    for at in range(9):
        put(library.workspace, f"page{at}", "x" * 100, type="text")
    monkeypatch.setattr(views, "_LARGEST", 350)
    view = FolderView(library.folder)
    files: list[SliceFile] = [view.find(f"page{at}") for at in range(9)]
    assert len({file.name for file in files}) == 9
    assert sum(isinstance(each, SliceFile) for each in view._kept.values()) <= 3
