"""The memory tool answers as the package's own implementation does, command by command and word for word."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase import Provenance, Slicebase, aio
from slicebase.adapters.anthropic import AsyncSlicebaseMemoryTool, SlicebaseMemoryTool

Call = dict[str, Any]

FILES = [f"/memories/{name}" for name in ("a.txt", "b", ".hidden", "d/a.txt", "d/e/b.md", "d/e/f/c", "node_modules/x")]
FOLDERS = ["/memories", "/memories/", "/memories/d", "/memories/d/", "/memories/d/e", "/memories/missing"]
OUTSIDE = ["/elsewhere/x", "x", "", "/memories/../x", "/memories/d/../../x", "/memories/.."]
paths = st.sampled_from(FILES * 4 + FOLDERS + OUTSIDE)
words = st.sampled_from(["one", "two", "aa", "aaa", "é 🎈", "\t", "", "x" * 3000, " ", "a\u2028b", "\f", "\ufeff"])
lines = st.lists(words, max_size=5).map("\n".join)
texts = st.tuples(lines, st.sampled_from(["", "\n", "\n\n"])).map("".join)
numbers = st.integers(-3, 9)
ranges = st.none() | st.lists(numbers, min_size=2, max_size=2) | st.lists(numbers, max_size=3)
commands = st.one_of(
    st.fixed_dictionaries({"command": st.just("view"), "path": paths, "view_range": ranges}),
    st.fixed_dictionaries({"command": st.just("create"), "path": paths, "file_text": texts}),
    st.fixed_dictionaries({"command": st.just("create"), "path": paths, "file_text": texts}),
    st.fixed_dictionaries({"command": st.just("str_replace"), "path": paths, "old_str": lines, "new_str": texts}),
    st.fixed_dictionaries({"command": st.just("insert"), "path": paths, "insert_line": numbers, "insert_text": texts}),
    st.fixed_dictionaries({"command": st.just("delete"), "path": paths}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": paths, "new_path": paths}),
)


class LocalFiles:
    """The package's implementation, without what only a file system has: folders with nothing in them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.call = BetaLocalFilesystemMemoryTool(str(folder)).call

    def answer(self, call: Call) -> str | None:
        """Returns the answer or the message; None for an error of Python's own, which has no wording."""
        try:
            answer = said(self.call, call)
        except (OSError, ValueError):
            answer = None
        for path in sorted(self.folder.glob("memories/**/*"), reverse=True):
            if path.is_dir() and not list(path.iterdir()):
                path.rmdir()
        if answer is not None and answer.startswith("Here're"):  # the size of a folder differs between file systems
            heading, first, *rest = answer.split("\n")
            shown = [re.sub(r"^\S+(\t.*/)$", r"4K\1", line) for line in rest]
            answer = "\n".join([heading, re.sub(r"^\S+", "4K", first), *shown])
        return answer


def said(call: Callable[[object], Any], given: Call) -> str:
    try:
        return str(call(given))
    except ToolError as error:
        return f"refused: {error.content}"


@settings(max_examples=60)
@given(st.lists(commands, min_size=1, max_size=14))
def test_any_commands_are_answered_as_the_package_answers_them(calls: list[Call]) -> None:
    with TemporaryDirectory() as name, Slicebase.init(Path(name, "ours")) as memory:
        theirs, ours = LocalFiles(Path(name, "theirs")), SlicebaseMemoryTool(memory)
        looks = [{"command": "view", "path": path} for path in ("/memories", *FILES)]
        for call in [*calls, *looks]:
            expected, answer = theirs.answer(call), said(ours.call, call)
            if expected is None:
                assert answer.startswith("refused: "), call
            else:
                assert answer == expected, call


@pytest.mark.filterwarnings("error")
def test_what_a_command_does_not_have_is_ignored_and_a_wrong_type_is_refused(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path / "ours") as memory:
        theirs, ours = LocalFiles(tmp_path / "theirs"), SlicebaseMemoryTool(memory)
        known: list[Call] = [
            {"command": "create", "path": "/memories/a", "file_text": "one", "overwrite": True},
            {"command": "view", "path": "/memories/a", "file_text": None, "encoding": "utf-8"},
        ]
        for call in known:
            assert said(ours.call, call) == theirs.answer(call)
        wrong: list[Call] = [
            {"command": "create", "path": "/memories/b", "file_text": ["one"]},
            {"command": "view", "path": 5},
            {"command": "view"},
            {"command": "move", "path": "/memories/a"},
            {},
        ]
        for call in wrong:
            assert said(ours.call, call).startswith("refused: "), call


def test_every_file_can_be_forgotten_at_once_and_restored(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        tool = SlicebaseMemoryTool(memory, provenance=Provenance(agent="claude"))
        tool.call({"command": "create", "path": "/memories/a", "file_text": "one"})
        (entry,) = memory.library.list_files()
        assert b"agent: claude\n" in (memory.library.folder.path / f"{entry.id}.slice").read_bytes()
        assert tool.clear_all_memory() == "All memory cleared"
        assert memory.library.list_files() == []
        memory.library.restore(entry.id)
        assert "one" in str(tool.call({"command": "view", "path": "/memories/a"}))


def test_the_asynchronous_tool_gives_the_same_answers(tmp_path: Path) -> None:
    async def answers() -> list[str]:
        async with aio.Slicebase.init(tmp_path) as memory:
            tool = AsyncSlicebaseMemoryTool(memory)
            assert tool.to_dict() == {"type": "memory_20250818", "name": "memory"}
            try:
                await tool.call({"command": "view", "path": "/memories/a"})
            except ToolError as error:
                missing = str(error.content)
            made = await tool.call({"command": "create", "path": "/memories/a", "file_text": "one"})
            return [missing, str(made), str(await tool.clear_all_memory())]

    assert asyncio.run(answers()) == [
        "The path /memories/a does not exist. Please provide a valid path.",
        "File created successfully at: /memories/a",
        "All memory cleared",
    ]
