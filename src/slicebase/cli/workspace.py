"""Commands about the workspace: init, uninit, status, config, doctor, agents-md, demo."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slicebase.cli.options import created, named_root, open_base
from slicebase.cli.output import (
    DIM,
    GREEN,
    RED,
    Styled,
    counted,
    json_option,
    note,
    print_json,
    print_text,
    print_text_change,
    printable,
)
from slicebase.errors import Exit, SlicebaseError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicebase.verbs.status import Overview


@click.command()
@click.argument("folder", required=False)
@click.option("--adopt", is_flag=True, help="Accept a database that came with the repository as your own.")
@click.option("--join", metavar="ID", help="Share this memory, which is on the server that SLICEBASE_URL names.")
@json_option
@click.pass_context
def init(ctx: click.Context, folder: str | None, adopt: bool, join: str | None, as_json: bool) -> None:
    """Make FOLDER (by default this folder) a workspace. A second call changes nothing.

    In a git repository this also sets up a merge driver: a line in .gitattributes, which should be committed, and a
    command in the configuration of the repository.
    """
    from slicebase.base import Slicebase
    from slicebase.workspace.git import merge_command

    chosen = created(Path(folder) if folder else named_root(ctx) or Path.cwd())
    base = Slicebase.init(chosen, merge_command(), adopt=adopt, join=join)
    places: dict[str, Any] = {
        "root": str(base.workspace.root),
        "library": str(base.workspace.library),
        "database": base.workspace.place,
        "cache": str(base.workspace.cache),
    }
    if base.workspace.url:
        places["memory"] = base.truth.identity.database  # a new one, if the workspace has none yet
    if as_json:
        print_json(places)
    else:
        print_text("\n".join(f"{name:9} {place}" for name, place in places.items()))


@click.command()
@click.option("--delete-data", is_flag=True, help="Delete the database too: turns, runs and manifests.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
@json_option
@click.pass_context
def uninit(ctx: click.Context, delete_data: bool, dry_run: bool, as_json: bool) -> None:
    """Remove what was set up: the merge driver, hooks, blocks in AGENTS.md and its like, and the cache.

    Slice files and settings stay.
    """
    removed = open_base(ctx).uninit(delete_data=delete_data, dry_run=dry_run)
    if as_json:
        print_json({"dry_run": dry_run, "removed": removed})
    else:
        for what in removed:
            print_text(f"{'would remove' if dry_run else 'removed'} {what}")


@click.command()
@json_option
@click.pass_context
def status(ctx: click.Context, as_json: bool) -> None:
    """Show which workspace this is, what is in it, and what is wrong with it."""
    found = open_base(ctx).status()
    if as_json:
        print_json(found.as_json())
    else:
        print_status(found)


def print_status(found: "Overview") -> None:
    """Prints what a workspace holds, line by line."""
    files = ", ".join(f"{count} {name}" for name, count in found.files.items())
    rows = {
        "workspace": found.root,
        "git": _git_status(found) if found.repository else "",
        "library": counted(sum(found.files.values()), "file") + (f" ({files})" if files else ""),
        "": f"{counted(found.rows, 'row')}, {counted(found.links, 'link')}, {found.archived} forgotten",
        "history": ""
        if found.turns is None
        else f"{counted(found.turns, 'turn')} in {counted(found.sessions or 0, 'session')}",
        "contexts": f"{counted(found.contexts, 'context')} recorded, {_kilobytes(found.context_bytes or 0)}"
        if found.contexts
        else "",
        "stale": f"{counted(found.stale, 'file')}: `tt stale` says why" if found.stale else "",
        "broken": f"{counted(len(found.broken), 'file')} cannot be read: `tt doctor` says why" if found.broken else "",
    }
    for name, text in rows.items():
        if text:
            print_text(f"{name:9} {text}")


def _kilobytes(size: int) -> str:
    return f"{size / 1000:,.1f} kB"


def _git_status(found: "Overview") -> str:
    driver = "merges slice files by rows and keys" if found.merge_driver else "no merge driver yet: `tt init`"
    return f"{f'branch {found.branch}' if found.branch else 'no branch'}, {driver}"


@click.command()
@click.argument("name", required=False, metavar="[KEY]")
@click.argument("value", required=False, metavar="[VALUE]")
@click.option("--unset", is_flag=True, help="Remove the setting from the file, so that its default applies.")
@json_option
@click.pass_context
def config(ctx: click.Context, name: str | None, value: str | None, unset: bool, as_json: bool) -> None:
    """Show the settings and their sources, or one of them (KEY); or set one in slicebase.toml (KEY VALUE).

    The rest of the file stays as it is, including comments.
    """
    if unset and (name is None or value is not None):
        raise click.UsageError("--unset takes a KEY and no VALUE.")
    base = open_base(ctx)
    if name is not None and (unset or value is not None):
        base.set(name, value)
    settings = [setting for setting in base.config(os.environ) if name in (None, setting.name)]
    if not settings:
        raise SlicebaseError("bad-setting", f"there is no setting {name}", hint="`tt config` lists them")
    if as_json:
        print_json({"settings": [setting._asdict() for setting in settings]})
        return
    for setting in settings:
        print_text(f"{setting.name:24} {_shown(setting.value):12} {setting.source:20} {setting.about}")


def _shown(value: Any) -> str:
    return "-" if value is None else value if isinstance(value, str) else json.dumps(value)


@click.command()
@click.option("--fix", is_flag=True, help="Fix what needs no decision by a person.")
@json_option
@click.pass_context
def doctor(ctx: click.Context, fix: bool, as_json: bool) -> int:
    """Show what is wrong with this workspace, and how to fix it. Slice files that cannot be read are never rewritten.

    It also says which version selects context slices: the compiled one where it was built, else the plain one. Both
    select the same. SLICEBASE_KERNEL=plain or =native chooses.

    Exit status 1 if something is wrong and was not fixed.
    """
    folder = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    left, fixed = open_base(ctx).doctor(fix=fix, home=folder)
    kernel = _kernel()
    if as_json:
        rows = {"complaints": [each.as_json() for each in left], "fixed": [each.as_json() for each in fixed]}
        print_json({**rows, "kernel": kernel})
        return Exit.FINDINGS if left else Exit.DONE
    for each in fixed:
        print_text(Styled("fixed", GREEN), f" {each.check} {printable(each.place)}: {printable(each.message)}")
    for each in left:
        print_text(Styled("wrong", RED), f" {each.check} {printable(each.place)}: {printable(each.message)}")
        if each.hint:
            print_text(Styled(f"    {each.hint}", DIM))
    if kernel:
        note(f"context slices: the {'compiled' if kernel == 'native' else 'plain'} version selects them")
    fixable = sum(each.fix is not None for each in left)
    note(
        "all is well" if not left else counted(len(left), "complaint") + (f", --fix fixes {fixable}" if fixable else "")
    )
    return Exit.FINDINGS if left else Exit.DONE


def _kernel() -> str | None:
    """Returns the version that selects slices; None if the environment asks for one that is not there."""
    from slicebase.truth.sessions import chosen_kernel

    try:
        return chosen_kernel()
    except SlicebaseError:
        return None


@click.command("agents-md")
@click.argument(
    "file", type=click.Choice(["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursor/rules"]), default="AGENTS.md"
)
@click.option("--remove", "remove", is_flag=True, help="Remove the block.")
@click.option("--dry-run", is_flag=True, help="Print the new text of the file, and write nothing.")
@json_option
@click.pass_context
def agents_md(ctx: click.Context, file: str, remove: bool, dry_run: bool, as_json: bool) -> None:
    """Keep a marked block in AGENTS.md, or another file that agents read, that says how to use the memory here.

    Text outside the marks is not changed. A second call changes nothing. In .cursor/rules the file is slicebase.mdc.
    """
    change = open_base(ctx).agents_md(file, remove=remove, dry_run=dry_run)
    print_text_change(change, dry_run, as_json)


_SCRIPT = Path(__file__).parent.parent / "samples" / "demo.sh"


@click.command()
def demo() -> int:
    """Run real commands on a sample, in a temporary folder: what a compaction forgot, and how Slicebase proves it."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("SLICEBASE_", "TT_"))}
    look = " && ".join(commands_to_look())
    return subprocess.run(["sh", str(_SCRIPT), look], env={**variables, "PATH": path}, check=False).returncode


def commands_to_look() -> "Iterator[str]":
    """Yields the commands that show a sample in a browser, as a user can type them here."""
    from importlib.util import find_spec  # imported here for a fast start of the other commands

    folder = Path(sys.executable).parent
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        yield f"{_typed(folder / 'python')} -m pip install 'slicebase[serve]'"
    yield f"{_typed(folder / 'tt')} serve --sample"


def _typed(program: Path) -> str:
    """Returns a program as it is typed: by its name, if that finds it."""
    found = shutil.which(program.name)
    return program.name if found and Path(found) == program else os.path.relpath(program)
