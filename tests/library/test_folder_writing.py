"""One way to write: every verb works with every file that can be read, and leaves a file that can be read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slicebase.agents.memory_tool import MemoryTool
from slicebase.files.check.version import read_back
from slicebase.files.slice_file import SliceFile
from slicebase.library.check import validate
from slicebase.library.folder import FileWrite
from tests.codes import code_of
from tests.library.samples import text_of
from tests.library.scratch import ScratchLibrary

LOG, TEXT, STEPS, TALK, MEMORY, OTHER = "01LOG", "01TEXT", "01STEPS", "01TALK", "01MEMORY", "01OTHER"
TYPES = {LOG: "jsonl", TEXT: "markdown", STEPS: "routine", TALK: "conversation", MEMORY: "text", OTHER: "text"}

# Files as editors and other programs leave them: each ends with its closing marker, or is unusual in another way.
FORMS: dict[str, Callable[[str], bytes]] = {
    "no line end": lambda text: text.removesuffix("\n").encode(),
    "spaces": lambda text: (text.removesuffix("\n") + "  ").encode(),
    "spaces and a line end": lambda text: (text.removesuffix("\n") + " \t\n").encode(),
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "CRLF without the last": lambda text: text.removesuffix("\n").replace("\n", "\r\n").encode(),
    "half a line end": lambda text: text.removesuffix("\n").encode() + b"\r",
    "BOM": lambda text: b"\xef\xbb\xbf" + text.removesuffix("\n").encode(),
}


@pytest.fixture(params=FORMS)
def scratch(tmp_path: Path, request: pytest.FixtureRequest) -> ScratchLibrary:
    library = ScratchLibrary(tmp_path)
    for file_id, body_type in TYPES.items():
        fields: dict[str, Any] = {"meta": {"memory_path": "/memories/a"}} if file_id == MEMORY else {}
        fields |= {"derived_from": {"id": OTHER, "hash": "sha256:" + "0" * 64}} if file_id == TEXT else {}
        text = text_of(file_id, type=body_type, **fields)
        library.path(file_id).write_bytes(FORMS[request.param](text))
    return library


VERBS: dict[str, Callable[[ScratchLibrary], object]] = {
    "row": lambda library: library.remember(LOG, "A fact."),
    "rows": lambda library: library.remember(LOG, '{"text": "One."}\n{"text": "Two."}'),
    "paragraph": lambda library: library.remember(TEXT, "A paragraph."),
    "step": lambda library: library.remember(STEPS, "Do it."),
    "line": lambda library: library.remember(TALK, '{"role": "user", "content": "Hello."}'),
    "define": lambda library: library.define(LOG, ["meta.owner=platform", "title=Another"]),
    "connect": lambda library: library.connect(LOG, "see_also", TEXT),
    "forget": lambda library: library.forget(LOG),
    "refresh": lambda library: library.refresh(TEXT, "A digest."),
    "purge": lambda library: library.purge(TALK),
    "insert": lambda library: MemoryTool(library).execute(
        {"command": "insert", "path": "/memories/a", "insert_line": 0, "insert_text": "note"}
    ),
    "rename": lambda library: MemoryTool(library).execute(
        {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/b"}
    ),
}


def test_every_verb_writes_to_a_file_that_ends_with_its_marker(scratch: ScratchLibrary) -> None:
    before = {path: path.read_bytes() for path in scratch.folder.path.glob("*.slice")}
    for verb, write in VERBS.items():
        for path, data in before.items():
            path.write_bytes(data)
        write(scratch)
        after = {path: path.read_bytes() for path in before}
        assert after != before, verb
        assert all(read_back(SliceFile.parse(data)) == data for data in after.values()), verb
        assert not validate([scratch.folder.path], scratch.workspace.root).counts["error"], verb


def test_forget_and_restore_leave_the_bytes_of_such_a_file(scratch: ScratchLibrary) -> None:
    """Ruling 20: a metadata edit leaves everything else as it was."""
    before = scratch.path(LOG).read_bytes()
    scratch.forget(LOG)
    scratch.restore(LOG)
    assert scratch.path(LOG).read_bytes() == before


def test_of_several_files_none_is_written_if_one_does_not_pass(tmp_path: Path) -> None:
    library = ScratchLibrary(tmp_path)
    one, other = library.file(library.new("text", "One.")), library.file(library.new("text", "Other."))
    one, other = library.folder.find(one.id or ""), library.folder.find(other.id or "")
    damaged = SliceFile(other.name, other.head.rstrip(b"\n"), b"text", other.header, other.frontmatter)
    with library.folder.writing() as writer:
        writes = FileWrite(one, one.with_body(b"New.\n")), FileWrite(other, damaged)
        assert code_of(writer.write, *writes) == "write-differs"
    assert (library.body(one.id or ""), library.body(other.id or "")) == ("One.\n", "Other.\n")
