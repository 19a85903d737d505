"""Every command of the memory tool as it is documented, and paths that try to leave its folder."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.agents.memory_tool import COMMANDS
from slicebase.base import Slicebase
from slicebase.errors import SlicebaseError
from slicebase.files.body.overflow import parts_of
from tests.codes import code_of

NOTES = "/memories/notes.txt"


class Tool:
    """Calls the tool as a client does."""

    def __init__(self, folder: Path) -> None:
        self.base = Slicebase.init(folder)

    def __call__(self, command: str, **arguments: Any) -> str:
        return self.base.memory_tool.execute({"command": command, **arguments})

    def code(self, command: str, **arguments: Any) -> str:
        return code_of(self.base.memory_tool.execute, {"command": command, **arguments})


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    tool = Tool(tmp_path)
    tool("create", path=NOTES, file_text="one\ntwo\nthree\n")
    return tool


def test_a_file_is_created_and_viewed_with_numbered_lines(tool: Tool) -> None:
    assert tool("view", path=NOTES) == (
        f"Here's the content of {NOTES} with line numbers:\n     1\tone\n     2\ttwo\n     3\tthree\n     4\t"
    )
    assert tool("view", path=NOTES, view_range=[2, 3]).endswith(":\n     2\ttwo\n     3\tthree")
    assert tool("view", path=NOTES, view_range=[3, -1]).endswith(":\n     3\tthree\n     4\t")


def test_what_is_created_is_a_slice_file_like_any_other(tool: Tool) -> None:
    (entry,) = tool.base.library.list_files()
    assert entry.title == "notes.txt"
    assert not tool.base.validate().findings
    assert tool.base.search("three").files.hits[0].entry.id == entry.id


def test_a_folder_is_viewed_two_levels_deep_without_hidden_items(tool: Tool) -> None:
    for name in ("a/b.md", "a/b/c/d.md", ".hidden", "node_modules/x"):
        tool("create", path=f"/memories/{name}", file_text="x" * 2048)
    heading, *lines = tool("view", path="/memories").split("\n")
    assert "2 levels deep in /memories," in heading
    assert [line.split("\t") for line in lines] == [
        ["4K", "/memories"],
        ["4K", "/memories/a/"],
        ["4K", "/memories/a/b/"],
        ["2K", "/memories/a/b.md"],
        ["4K", "/memories/node_modules/"],
        ["2K", "/memories/node_modules/x"],
        ["14B", "/memories/notes.txt"],
    ]


def test_an_empty_memory_can_be_viewed(tmp_path: Path) -> None:
    assert Tool(tmp_path)("view", path="/memories").endswith("\n4K\t/memories")


def test_a_text_that_occurs_once_is_replaced(tool: Tool) -> None:
    assert tool("str_replace", path=NOTES, old_str="two", new_str="2\n2½").startswith(
        "The memory file has been edited."
    )
    assert "     2\t2\n     3\t2½\n     4\tthree" in tool("view", path=NOTES)
    assert tool.code("str_replace", path=NOTES, old_str="e", new_str="E") == "edit-refused"
    assert tool.code("str_replace", path=NOTES, old_str="four", new_str="") == "edit-refused"
    assert tool.code("str_replace", path=NOTES, old_str="", new_str="x") == "edit-refused"
    assert tool.code("str_replace", path="/memories", old_str="two", new_str="x") == "no-file"


@pytest.mark.parametrize(
    ("line", "lines"), [(0, "new|one|two|three|"), (1, "one|new|two|three|"), (3, "one|two|three|new|")]
)
def test_a_text_is_inserted_after_a_line(tool: Tool, line: int, lines: str) -> None:
    assert tool("insert", path=NOTES, insert_line=line, insert_text="new") == f"The file {NOTES} has been edited."
    shown = tool("view", path=NOTES).split("\n")[1:]
    assert "|".join(each.split("\t")[1] for each in shown) == lines
    assert tool.code("insert", path=NOTES, insert_line=9, insert_text="x") == "edit-refused"
    assert tool.code("insert", path=NOTES, insert_line=-1, insert_text="x") == "edit-refused"


def test_lines_are_those_that_view_numbers(tool: Tool) -> None:
    tool("create", path="/memories/x", file_text="a\fb\u2028c\x85d\ne")
    tool("insert", path="/memories/x", insert_line=1, insert_text="new")
    assert tool("view", path="/memories/x").endswith("1\ta\fb\u2028c\x85d\n     2\tnew\n     3\te\n     4\t")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_get_the_line_ends_of_the_file(tool: Tool, end: str) -> None:
    tool("create", path="/memories/ends.md", file_text=f"one{end}two{end}")
    path = next(path for path in tool.base.library.folder.path.iterdir() if b"/memories/ends.md" in path.read_bytes())
    tool("str_replace", path="/memories/ends.md", old_str="one\ntwo", new_str="1\r\n2\n3")
    tool("insert", path="/memories/ends.md", insert_line=1, insert_text="a\r\nb")
    assert path.read_bytes().decode().endswith("---\n" + end.join(["1", "a", "b", "2", "3", ""]))


def test_a_deleted_file_is_hidden_and_can_be_restored(tool: Tool) -> None:
    (entry,) = tool.base.library.list_files()
    assert tool("delete", path=NOTES) == f"Successfully deleted {NOTES}"
    assert tool.code("view", path=NOTES) == "no-file"
    assert tool.base.library.list_files() == []
    tool.base.library.restore(entry.id)
    assert "three" in tool("view", path=NOTES)


def test_a_folder_is_deleted_with_what_is_in_it_and_the_root_stays(tool: Tool) -> None:
    tool("create", path="/memories/a/b", file_text="")
    tool("create", path="/memories/ab", file_text="")
    tool("delete", path="/memories/a")
    assert tool.code("view", path="/memories/a/b") == "no-file"
    assert "ab" in tool("view", path="/memories")
    assert tool.code("delete", path="/memories") == "edit-refused"


def test_files_and_folders_are_renamed(tool: Tool) -> None:
    tool("rename", old_path=NOTES, new_path="/memories/a/n.txt")
    tool("rename", old_path="/memories/a", new_path="/memories/b")
    assert "three" in tool("view", path="/memories/b/n.txt")
    tool("create", path="/memories/c", file_text="")
    assert tool.code("rename", old_path="/memories/c", new_path="/memories/b") == "file-exists"
    assert tool.code("rename", old_path="/memories/b", new_path="/memories/b/c") == "edit-refused"
    assert tool.code("rename", old_path="/memories", new_path="/memories/d") == "edit-refused"


def test_a_path_that_is_in_use_is_not_created(tool: Tool) -> None:
    assert tool.code("create", path=NOTES, file_text="") == "file-exists"
    assert tool.code("create", path=f"{NOTES}/below", file_text="") == "file-exists"
    assert tool.code("create", path="/memories", file_text="") == "file-exists"


@pytest.mark.parametrize(
    "given",
    [
        {"command": "list"},
        {},
        {"command": "view"},
        {"command": "view", "path": 7},
        {"command": "view", "path": NOTES, "more": 1},
        {"command": "view", "path": NOTES, "view_range": [True, 2]},
        {"command": "insert", "path": NOTES, "insert_line": True, "insert_text": ""},
    ],
)
def test_a_call_of_another_form_is_refused(given: dict[str, Any], tool: Tool) -> None:
    assert code_of(tool.base.memory_tool.execute, given) == "bad-command"


ESCAPES = [
    "/memories/../../etc/passwd",
    "/memories/..",
    "/memories/./x",
    "/memories//x",
    "../x",
    "x",
    "",
    "/",
    "/etc/passwd",
    "/memoriesx/y",
    "/memories/..\\..\\x",
    "/memories/%2e%2e/%2e%2e/x",
    "/memories/%2E%2e%2fx",
    "/memories/%252e%252e/x",
    "/memories/a\0b",
    "/memories/a\nb",
    "/memories/ ",
    "//memories/x",
    "file:///memories/x",
]


@pytest.mark.parametrize("path", ESCAPES)
@pytest.mark.parametrize("command", COMMANDS)
def test_no_path_leads_out_of_the_memory(command: str, path: str, tool: Tool) -> None:
    texts = {"file_text": "x", "old_str": "x", "new_str": "y", "insert_text": "x", "insert_line": 0}
    takes = COMMANDS[command].takes
    arguments = {name: path if name.endswith("path") else texts[name] for name in takes}
    assert tool.code(command, **arguments) == "outside-workspace"
    if command == "rename":
        assert tool.code(command, old_path=NOTES, new_path=path) == "outside-workspace"


def test_symbolic_links_are_not_followed(tool: Tool, tmp_path: Path) -> None:
    (file,) = tool.base.workspace.library.iterdir()
    outside = tmp_path.parent / f"{tmp_path.name}-outside.slice"
    outside.write_bytes(file.read_bytes())
    file.unlink()
    file.symlink_to(outside)
    assert tool.code("view", path=NOTES) == "no-file"
    assert tool.code("str_replace", path=NOTES, old_str="two", new_str="2") == "no-file"


def test_slice_files_that_are_not_memory_files_are_not_seen(tool: Tool) -> None:
    tool.base.library.create("Other", "With a memory_path in its text.", body="memory_path: /memories/x")
    assert tool.code("view", path="/memories/x") == "no-file"
    assert tool("view", path="/memories").count("\n") == 2


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\r"), max_size=60))
def test_any_text_comes_back_as_it_was(text: str) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as name:
        tool = Tool(Path(name))
        tool("create", path=NOTES, file_text=text)
        shown = tool("view", path=NOTES).split("\n", 1)[1]
        assert [line.split("\t", 1)[1] for line in shown.split("\n")] == text.split("\n")


def divided(tool: Tool, overflow: str) -> tuple[str, str]:
    """Returns the id of a memory file that overflow divided, and its undivided text."""
    root = tool.base.workspace.root
    (root / "slicebase.toml").write_text("[overflow]\nbytes = 900\n")
    tool.base = Slicebase.open(root)
    tool("create", path="/memories/big", file_text="first é\n")
    (file_id,) = [entry.id for entry in tool.base.library.list_files() if entry.title == "big"]
    tool.base.library.define(file_id, ["contract.write=append", f"contract.overflow={overflow}"])
    for number in range(8):
        tool.base.library.remember(file_id, f"par {number}\n{'x' * 100}")
    assert len(tool.base.library.list_files()) > 2
    return file_id, "first é\n" + "".join(f"\npar {number}\n{'x' * 100}\n" for number in range(8))


@pytest.mark.parametrize("overflow", ["archive", "split"])
def test_a_divided_file_is_viewed_whole_and_deleted_and_restored_with_its_parts(tool: Tool, overflow: str) -> None:
    file_id, text = divided(tool, overflow)
    shown = tool("view", path="/memories/big").split("\n")[1:]
    assert [line.partition("\t")[2] for line in shown] == text.split("\n")
    assert f"{len(text.encode())}B\t/memories/big" in tool("view", path="/memories")
    tool("delete", path="/memories/big")
    assert [entry.title for entry in tool.base.library.list_files()] == ["notes.txt"]
    tool.base.library.restore(file_id)
    assert tool("view", path="/memories/big").split("\n")[1:] == shown


@pytest.mark.parametrize("overflow", ["archive", "split"])
def test_an_edit_of_a_divided_file_goes_to_the_part_that_has_the_place(tool: Tool, overflow: str) -> None:
    file_id, text = divided(tool, overflow)
    for number in range(8):
        old, new = f"par {number}", f"PAR {number}"
        is_archived = overflow == "archive" and old not in tool.base.library.folder.find(file_id).text_for_model()
        if is_archived:
            assert tool.code("str_replace", path="/memories/big", old_str=old, new_str=new) == "edit-refused"
        else:
            line = text.count("\n", 0, text.index(old)) + 1
            assert f"{line:6}\t{new}" in tool("str_replace", path="/memories/big", old_str=old, new_str=new)
            tool("insert", path="/memories/big", insert_line=line, insert_text=f"after {number}")
            text = text.replace(old, f"{new}\nafter {number}")
    if overflow == "archive":
        assert tool.code("insert", path="/memories/big", insert_line=0, insert_text="a") == "edit-refused"
    shown = tool("view", path="/memories/big").split("\n")[1:]
    assert [line.partition("\t")[2] for line in shown] == text.split("\n")


@pytest.mark.parametrize("overflow", ["archive", "split"])
def test_an_edit_that_is_done_gives_the_text_that_was_asked_for(tool: Tool, overflow: str) -> None:
    """At every line of a Markdown file of which sections from the middle were moved away: else it is refused."""
    root = tool.base.workspace.root
    (root / "slicebase.toml").write_text("[overflow]\nbytes = 900\n")
    tool.base = Slicebase.open(root)
    library = tool.base.library
    meta = ["memory_path=/memories/a.md"]
    body = "# Title\n\nintro\n"
    note = library.create("T", "s", type="markdown", body=body, contract=[f"overflow={overflow}"], meta=meta).id
    for letter in "ABCD":
        library.remember(note, f"## {letter}\n\n{'some words of it ' * 10}{letter}")
    library.remember(note, "more", section="Title")
    assert len(library.list_files()) > 2

    def shown() -> list[str]:
        return [line.partition("\t")[2] for line in tool("view", path="/memories/a.md").split("\n")[1:]]

    done, line = 0, 0
    while line < len(lines := shown()) - 1:
        text = f"at {line} ééé"
        try:
            tool("insert", path="/memories/a.md", insert_line=line, insert_text=text)
        except SlicebaseError as error:
            assert error.code == "edit-refused"
            assert shown() == lines
        else:
            done += 1
            assert shown() == [*lines[:line], text, *lines[line:]]
            line += 1
        line += 1
    assert 6 < done < len(shown())


def test_an_old_archive_is_never_shown_behind_newer_text(tool: Tool) -> None:
    """The heading that followed it moved to an archive that is forgotten, and is written again at the end."""
    root = tool.base.workspace.root
    (root / "slicebase.toml").write_text("[overflow]\nbytes = 900\n")
    tool.base = Slicebase.open(root)
    library = tool.base.library
    meta = ["memory_path=/memories/a.md"]
    note = library.create("T", "s", type="markdown", contract=["overflow=archive"], meta=meta).id
    for day in ("one", "two", "three", "four"):
        library.remember(note, f"# Day {day}\n\n{'some words of it ' * 15}{day}")
    second = parts_of(library.folder.find(note))[1]
    assert library.folder.find(second).body.startswith(b"# Day two\n")
    library.forget(second)
    library.remember(note, "# Day two\n\nanother")

    def headings() -> list[str]:
        shown = tool("view", path="/memories/a.md").split("\n")
        return [line.partition("\t# ")[2] for line in shown if "\t# " in line]

    assert headings() == ["Day one", "Day three", "Day four", "Day two"]
    library.remember(note, "## Deeper\n\nmore", section="Day one")
    library.remember(note, "even more", section="Deeper")
    assert headings() == ["Day one", "Day three", "Day four", "Day two", "Day one"]
    library.restore(second)
    assert headings() == ["Day one", "Day two", "Day three", "Day four", "Day two", "Day one"]


@pytest.mark.parametrize("ends", [("\r\n", "\n"), ("\n", "\r\n")])
def test_an_edit_of_a_divided_file_has_the_line_ends_of_the_part(tool: Tool, ends: tuple[str, str]) -> None:
    file_id, _ = divided(tool, "split")
    folder = tool.base.library.folder
    part_id = parts_of(folder.find(file_id))[0]
    for name, end in zip((file_id, part_id), ends, strict=True):
        path = folder.path / f"{name}.slice"
        path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", end.encode()))
    words = [folder.find(name).text_for_model().split()[-2:] for name in (file_id, part_id)]
    for last in words:
        number = last[0]
        tool("str_replace", path="/memories/big", old_str=f"par {number}\nxx", new_str=f"PAR {number}\nnew\nxx")
    lines = [line.partition("\t")[2] for line in tool("view", path="/memories/big").split("\n")[1:]]
    for number, _ in words:
        at = [line.strip() for line in lines].index(f"PAR {number}")
        tool("insert", path="/memories/big", insert_line=at + 1, insert_text="one\ntwo")
        lines[at + 1 : at + 1] = ["one", "two"]
    for name, end, (number, _) in zip((file_id, part_id), ends, words, strict=True):
        text = folder.find(name).body.decode()
        assert text.count("\n") == text.count(end)
        assert text.count("\r") == end.count("\r") * text.count("\n")
        assert end.join([f"PAR {number}", "one", "two", "new", "xx"]) in text
