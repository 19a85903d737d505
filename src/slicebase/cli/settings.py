"""`tt config`: the settings, where each comes from, and setting one."""

import json
import os
from typing import Any

import click

from slicebase.cli.output import json_option, print_json
from slicebase.cli.workspace import open_base
from slicebase.errors import SlicebaseError


@click.command()
@click.argument("name", required=False, metavar="[KEY]")
@click.argument("value", required=False, metavar="[VALUE]")
@click.option("--unset", is_flag=True, help="Take the setting out of the file, so that its default holds.")
@json_option
@click.pass_context
def config(ctx: click.Context, name: str | None, value: str | None, unset: bool, as_json: bool) -> None:
    """Show the settings and where each comes from; with KEY that one; with KEY VALUE, set it in slicebase.toml.

    The rest of the file stays as it is, comments included.
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
        click.echo(f"{setting.name:24} {_shown(setting.value):12} {setting.source:20} {setting.about}")


def _shown(value: Any) -> str:
    return "-" if value is None else value if isinstance(value, str) else json.dumps(value)
