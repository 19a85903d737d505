"""`tt policy`: the policies of slices, by their names."""

import sys
from typing import TYPE_CHECKING, Any

import click

from slicebase.cli.options import open_base
from slicebase.cli.output import Group, json_option, note, print_json, print_text, printable
from slicebase.core.parsers import read_all
from slicebase.errors import Exit
from slicebase.workspace.atomic import TEXT_FILE

if TYPE_CHECKING:
    from slicebase.verbs.policies import PolicyEntry

policy_argument = click.argument("name", metavar="NAME|HASH|FILE")


@click.group("policy", cls=Group)
def policy() -> None:
    """List, save, compare and copy the policies of slices.

    A policy is named by a preset (default, focused, broad), by the name that it was saved with, by its hash or at least
    eight characters of that, or as slice_policy_v1:HASH. A name never changes its meaning.
    """


@policy.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """List the presets, the saved policies, and those that contexts were built with."""
    entries = open_base(ctx).policies.list_policies()
    if as_json:
        print_json({"policies": [_fields(entry) for entry in entries]})
        return
    width = max(len(", ".join(entry.names)) for entry in entries)
    for entry in entries:
        print_text(f"{', '.join(entry.names) or '-':{width}}  {entry.policy.params_hash}  {_origin(entry)}")


@policy.command()
@policy_argument
@json_option
@click.pass_context
def show(ctx: click.Context, name: str, as_json: bool) -> None:
    """Show the parameters of a policy, its names, and where it comes from."""
    entry = open_base(ctx).policies.show(name)
    if as_json:
        print_json({**_fields(entry), "policy": entry.policy.as_json()})
        return
    print_text(f"policy  {entry.id}")
    print_text(f"names   {', '.join(entry.names) or '-'}")
    print_text(f"origin  {_origin(entry)}")
    for key, value in entry.policy.as_json().items():
        for inner, number in value.items() if isinstance(value, dict) else [("", value)]:
            print_text(f"  {key}{'.' if inner else ''}{inner} = {_value(number)}")


@policy.command()
@click.argument("name")
@click.option("--policy", "base", metavar="NAME|HASH|FILE", help="The policy to save (default: default).")
@click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Change one parameter of it.")
@json_option
@click.pass_context
def save(ctx: click.Context, name: str, base: str | None, assignments: tuple[str, ...], as_json: bool) -> None:
    """Give a policy a name, forever. Prints the policy as slices name it.

    If the name means these parameters already, nothing changes; if it means others, the command fails with status 5.
    """
    _print_saved(open_base(ctx).policies.save(name, base, assignments), as_json)


@policy.command("import")
@click.argument("file")
@click.option("--name", metavar="NAME", help="Save it with this name.")
@json_option
@click.pass_context
def import_(ctx: click.Context, file: str, name: str | None, as_json: bool) -> None:
    """Store the policy in a JSON file; `-` is stdin. Without --name, it is found by its hash."""
    policies = open_base(ctx).policies
    if file == "-":
        _print_saved(policies.import_("stdin", name, data=read_all(sys.stdin.buffer, "stdin", TEXT_FILE)), as_json)
    else:
        _print_saved(policies.import_(file, name), as_json)


@policy.command()
@policy_argument
@json_option
@click.pass_context
def export(ctx: click.Context, name: str, as_json: bool) -> None:
    """Print a policy as the JSON object that `tt policy import` and --policy read."""
    policies = open_base(ctx).policies
    if as_json:
        print_json({"policy": policies.show(name).policy.as_json()})
    else:
        print_text(policies.export(name), nl=False)


@policy.command()
@click.argument("one", metavar="NAME|HASH|FILE")
@click.argument("other", metavar="NAME|HASH|FILE")
@json_option
@click.pass_context
def diff(ctx: click.Context, one: str, other: str, as_json: bool) -> int:
    """Show the parameters in which two policies differ. Exit status 1 if there are any."""
    found = open_base(ctx).policies.diff(one, other)
    if as_json:
        print_json({"differences": [each._asdict() for each in found]})
    for parameter, before, after in () if as_json else found:
        print_text(f"{parameter}: {_value(before)} → {_value(after)}")
    return Exit.FINDINGS if found else Exit.DONE


def _print_saved(entry: "PolicyEntry", as_json: bool) -> None:
    if as_json:
        print_json(_fields(entry))
    else:
        print_text(entry.id)
        note(f"{', '.join(entry.names) or 'stored without a name'}: {_origin(entry)}")


def _fields(entry: "PolicyEntry") -> dict[str, Any]:
    hidden = {"policy": entry.id, "params_hash": entry.policy.params_hash, "names": list(entry.names)}
    return {**hidden, "origin": entry.origin, "saved": entry.saved, "by": entry.by, "source": entry.source}


def _origin(entry: "PolicyEntry") -> str:
    if entry.origin != "saved":
        return entry.origin
    return printable(f"saved {entry.saved} by {entry.by} from {entry.source}")


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
