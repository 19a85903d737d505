"""The block in AGENTS.md is added once, kept up to date, and removed again."""

import re
import shutil
from pathlib import Path

import click
import pytest

from slicebase.agents.agent_files import AGENT_FILES, BEGIN, BLOCK, END
from slicebase.base import Slicebase
from slicebase.cli.commands import LISTED
from slicebase.cli.workspace import agents_md
from slicebase.mcp.tools import TOOLS
from tests.codes import code_of

TEXTS = [
    None, "\n", "# Rules\n", "# Rules", "# Rules\r\n\r\nBe kind.\r\n", "# Rules\n\n\n", "a\r\nb", "\ufeff", "a\rb\r",
    f"Not `{END}`\n",
]  # fmt: skip


@pytest.fixture
def base(tmp_path: Path) -> Slicebase:
    return Slicebase.init(tmp_path)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("file", AGENT_FILES)
def test_the_block_is_added_once_and_removed_without_a_trace(file: str, text: str | None, base: Slicebase) -> None:
    path = base.workspace.root / AGENT_FILES[file].path
    if text is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    assert base.agents_md(file).changed
    written = path.read_bytes().decode()
    assert written.startswith(text or "")
    assert BLOCK in written.replace("\r\n", "\n")
    assert not base.agents_md(file).changed
    assert base.agents_md(file, remove=True).changed
    assert (path.read_bytes().decode() if path.exists() else None) == text
    assert (base.workspace.root / ".cursor").exists() == bool(text and file == ".cursor/rules")
    assert not base.agents_md(file, remove=True).changed


def test_an_empty_file_stays(base: Slicebase) -> None:
    path = base.workspace.root / "AGENTS.md"
    path.touch()
    base.agents_md()
    base.agents_md(remove=True)
    assert path.read_bytes() == b""


def test_the_block_fits_on_a_screen_and_names_commands_that_exist() -> None:
    assert BLOCK.count("\n") <= 24
    assert max(map(len, BLOCK.splitlines())) <= 120
    named = set(re.findall(r"`tt ([a-z-]+)", BLOCK))
    assert {"search", "recall", "context", "lost", "create", "remember", "forget", "why"} < named
    assert named <= LISTED.keys()
    assert named - {"agents-md"} <= set(TOOLS)  # as the last lines say


def test_the_command_takes_every_file_and_no_other(base: Slicebase) -> None:
    (argument,) = [each for each in agents_md.params if each.name == "file"]
    assert isinstance(argument.type, click.Choice)
    assert list(argument.type.choices) == list(AGENT_FILES)
    assert code_of(base.agents_md, "README.md") == "bad-arguments"


def test_a_rule_for_cursor_keeps_its_head_when_somebody_has_written_to_it(base: Slicebase) -> None:
    path = base.workspace.root / ".cursor" / "rules" / "slicebase.mdc"
    base.agents_md(".cursor/rules")
    assert path.read_text().startswith("---\n")
    assert "alwaysApply: true\n" in path.read_text()
    path.write_text(path.read_text() + "Mine.\n")
    base.agents_md(".cursor/rules", remove=True)
    assert path.read_text() == f"{AGENT_FILES['.cursor/rules'].head}Mine.\n"


def test_an_old_block_is_updated_where_it_is(base: Slicebase) -> None:
    path = base.workspace.root / "AGENTS.md"
    path.write_text(f"before\n\n<!-- slicebase:begin (older words) -->\nold\n{END}\nafter\n")
    base.agents_md()
    assert path.read_text() == f"before\n\n{BLOCK}after\n"
    base.agents_md(remove=True)
    assert path.read_text() == "before\n\nafter\n"


def test_a_dry_run_writes_nothing(base: Slicebase) -> None:
    local = base.workspace.root / ".slicebase"
    shutil.rmtree(local, ignore_errors=True)
    assert base.agents_md(dry_run=True).text == BLOCK
    assert not (base.workspace.root / "AGENTS.md").exists()
    assert not local.exists()


def test_uninit_removes_every_block_and_leaves_marks_that_are_no_pair(base: Slicebase) -> None:
    root = base.workspace.root
    (root / "CLAUDE.md").write_text("Mine.\n")
    for file in ("AGENTS.md", "CLAUDE.md", ".cursor/rules"):
        base.agents_md(file)
    (root / "GEMINI.md").write_text(BEGIN)
    expected = [f"the block in {file}" for file in ("AGENTS.md", "CLAUDE.md", ".cursor/rules")]
    assert [each for each in base.uninit(dry_run=True) if "block" in each] == expected
    assert [each for each in base.uninit() if "block" in each] == expected
    assert sorted(path.name for path in root.iterdir() if path.name in ("AGENTS.md", ".cursor")) == []
    assert (root / "CLAUDE.md").read_text() == "Mine.\n"
    assert (root / "GEMINI.md").read_text() == BEGIN


@pytest.mark.parametrize("text", [BEGIN, END, f"{END}\n{BEGIN}", f"{BLOCK}{BLOCK}"])
def test_marks_that_are_not_a_pair_are_refused(text: str, base: Slicebase) -> None:
    (base.workspace.root / "AGENTS.md").write_text(text)
    assert code_of(base.agents_md) == "bad-marks"


def test_a_link_to_another_file_of_the_project_stays_and_its_target_has_the_block(
    base: Slicebase, tmp_path: Path
) -> None:
    (tmp_path / "CLAUDE.md").write_text("x\n")
    (tmp_path / "AGENTS.md").symlink_to("CLAUDE.md")
    assert base.agents_md().changed
    assert (tmp_path / "AGENTS.md").readlink() == Path("CLAUDE.md")
    assert (tmp_path / "CLAUDE.md").read_text() == f"x\n\n{BLOCK}"
    assert not base.agents_md().changed


def test_a_link_out_of_the_project_is_refused(base: Slicebase, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside.md"
    outside.write_text("x")
    (tmp_path / "AGENTS.md").symlink_to(outside)
    assert code_of(base.agents_md) == "outside-workspace"
    assert outside.read_text() == "x"
