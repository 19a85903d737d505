"""Commands that write slice files: create, define, remember, connect, disconnect, refresh.

Commands that take slice files out of sight, bring them back, or take their content away for good.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slicebase.cli.options import (
    complete_ids,
    given_text,
    id_argument,
    now,
    open_base,
    print_change,
    provenance_options,
    stamp_for,
)
from slicebase.cli.output import json_option, note, print_json, read_input

if TYPE_CHECKING:
    from slicebase.verbs.purge import PurgedTurns

_if_version = click.option(
    "--if-version", metavar="HASH", help="Refuse to write if the file is no longer this version."
)
_dry_run = click.option("--dry-run", is_flag=True, help="Say what would happen, and write nothing.")


@click.command()
@click.option("--title", required=True, metavar="TEXT", help="A label for browsing.")
@click.option("--summary", required=True, metavar="TEXT", help="One or two sentences that say what is in it.")
@click.option("--kind", type=click.Choice(["context", "pointer"]), help="Whether the content is here or elsewhere.")
@click.option("--type", "body_type", metavar="TYPE", help="markdown (the default), jsonl, text, code, yaml, …")
@click.option("--body", metavar="TEXT", help="The body; `-` reads it from stdin.")
@click.option("--body-file", metavar="FILE", help="A file with the body; `-` is stdin.")
@click.option(
    "--contract", multiple=True, metavar="KEY=VALUE", help="purpose, exclude, format, cleanup, write, overflow."
)
@click.option(
    "--link", "links", multiple=True, metavar="REL:ID", help="A link; derived_from records the source's hash."
)
@click.option("--from", "from_file", type=click.Path(path_type=Path), metavar="FILE", help="Make a pointer to a file.")
@click.option("--copy", is_flag=True, help="With --from: keep a copy of the file in the library.")
@provenance_options
@json_option
@click.pass_context
def create(
    ctx: click.Context,
    title: str,
    summary: str,
    kind: str | None,
    body_type: str | None,
    body: str | None,
    body_file: str | None,
    contract: tuple[str, ...],
    links: tuple[str, ...],
    from_file: Path | None,
    copy: bool,
    as_json: bool,
) -> None:
    """Make a new slice file. Prints its id."""
    if body is not None and body_file is not None:
        raise click.UsageError("Give one of --body and --body-file.")
    if copy and not from_file:
        raise click.UsageError("--copy goes with --from.")
    base = open_base(ctx, create=True)
    change = base.library.create(
        title,
        summary,
        stamp_for(ctx, base),
        kind=kind,
        body_type=body_type,
        body=_body(body, body_file),
        contract=contract,
        links=[_link(link) for link in links],
        from_file=from_file,
        copy=copy,
    )
    if as_json:
        print_json(change.as_json())
    else:
        click.echo(change.id)


def _body(body: str | None, body_file: str | None) -> str:
    from slicebase.files.yaml.load import decode

    if body_file is None:
        return given_text(body or "")
    with read_input(body_file) as stream:
        return decode(stream.read(), name=body_file)


def _link(text: str) -> tuple[str, str]:
    rel, colon, to = text.partition(":")
    if not (rel and colon and to):
        raise click.UsageError(f"{text!r} is no REL:ID.")
    return rel, to


@click.command()
@id_argument
@click.argument("assignments", nargs=-1, required=True, metavar="KEY=VALUE…")
@_if_version
@provenance_options
@json_option
@click.pass_context
def define(
    ctx: click.Context, file_id: str, assignments: tuple[str, ...], if_version: str | None, as_json: bool
) -> None:
    """Set keys of the frontmatter, by dotted names: title=…, meta.author=…, contract.write=….

    `KEY=` takes a key away. Lists and mappings are written in brackets: meta.tags='[a, b]'.
    """
    base = open_base(ctx)
    print_change(base.library.define(file_id, assignments, stamp_for(ctx, base), if_version=if_version), as_json)


@click.command()
@id_argument
@click.argument("text", required=False, metavar="TEXT|-")
@click.option("--supersedes", multiple=True, metavar="ROW", help="A row of the log that this one replaces.")
@click.option("--section", metavar="HEADING", help="Write to the section under this heading.")
@click.option("--contract", "show_contract", is_flag=True, help="Show what belongs in the file, and write nothing.")
@_if_version
@provenance_options
@json_option
@click.pass_context
def remember(
    ctx: click.Context,
    file_id: str,
    text: str | None,
    supersedes: tuple[str, ...],
    section: str | None,
    show_contract: bool,
    if_version: str | None,
    as_json: bool,
) -> None:
    """Write a text to a file's body, as its contract says. Prints a reference to what was written.

    In a log a JSON object becomes the row, and other text becomes {"text": …}. `-` reads stdin.
    """
    base = open_base(ctx)
    if show_contract:
        _print_contract(base.library.contract(file_id), as_json)
        return
    if text is None:
        raise click.UsageError("Give a text, or - to read it from stdin.")
    change = base.library.remember(
        file_id,
        given_text(text),
        stamp_for(ctx, base),
        supersedes=[_row(row) for row in supersedes],
        section=section,
        if_version=if_version,
    )
    print_change(change, as_json, refs=True)


def _row(text: str) -> str:
    """A row's id, given as such or in a reference."""
    return text.rpartition("/")[2] if text.startswith("row:") else text


def _print_contract(told: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(told)
        return
    for name in ("purpose", "format", "cleanup", "write", "overflow"):
        if told[name]:
            click.echo(f"{name:9} {told[name]}")
    for excluded in told["exclude"]:
        goes = " ".join(word for word in (excluded["to"], excluded["title"] and f"({excluded['title']})") if word)
        click.echo(f"{'exclude':9} {excluded['topic']}" + (f" → {goes}" if goes else ""))


@click.command()
@id_argument
@click.argument("rel", metavar="REL")
@click.argument("target", metavar="TARGET", shell_complete=complete_ids)
@click.option("--label", metavar="TEXT", help="What the link is about.")
@provenance_options
@json_option
@click.pass_context
def connect(ctx: click.Context, file_id: str, rel: str, target: str, label: str | None, as_json: bool) -> None:
    """Link a file to another file, a path or a reference, by one of the relationships."""
    base = open_base(ctx)
    print_change(base.library.connect(file_id, rel, target, stamp_for(ctx, base), label=label), as_json)


@click.command()
@id_argument
@click.argument("rel", metavar="REL")
@click.argument("target", metavar="TARGET", shell_complete=complete_ids)
@_dry_run
@provenance_options
@json_option
@click.pass_context
def disconnect(ctx: click.Context, file_id: str, rel: str, target: str, dry_run: bool, as_json: bool) -> None:
    """Take a link away."""
    base = open_base(ctx)
    change = base.library.disconnect(file_id, rel, target, stamp_for(ctx, base), dry_run=dry_run)
    print_change(change, as_json, dry_run=dry_run)


@click.command()
@id_argument
@click.argument("text", metavar="TEXT|-")
@click.option("--source-hash", metavar="HASH", help="Refuse to write if the source is no longer this version.")
@_if_version
@_dry_run
@provenance_options
@json_option
@click.pass_context
def refresh(
    ctx: click.Context,
    file_id: str,
    text: str,
    source_hash: str | None,
    if_version: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Replace the body of a derived file, and the recorded hash of its source, in one step."""
    base = open_base(ctx)
    change = base.library.refresh(
        file_id,
        given_text(text),
        stamp_for(ctx, base),
        source_hash=source_hash,
        if_version=if_version,
        dry_run=dry_run,
    )
    print_change(change, as_json, dry_run=dry_run)


_reason = click.option("--reason", metavar="TEXT", help="Why; it is kept with the mark.")


@click.command()
@id_argument
@_reason
@_dry_run
@provenance_options
@json_option
@click.pass_context
def forget(ctx: click.Context, file_id: str, reason: str | None, dry_run: bool, as_json: bool) -> None:
    """Archive a file: it leaves search and listings, and `tt restore` brings it back."""
    base = open_base(ctx)
    change = base.library.forget(file_id, stamp_for(ctx, base), reason=reason, dry_run=dry_run)
    print_change(change, as_json, dry_run=dry_run)


@click.command()
@id_argument
@_dry_run
@provenance_options
@json_option
@click.pass_context
def restore(ctx: click.Context, file_id: str, dry_run: bool, as_json: bool) -> None:
    """Bring back a file that was forgotten."""
    base = open_base(ctx)
    print_change(base.library.restore(file_id, stamp_for(ctx, base), dry_run=dry_run), as_json, dry_run=dry_run)


@click.command()
@click.argument("reference", metavar="ID|turn:…|session:…|run:…", shell_complete=complete_ids)
@_reason
@_dry_run
@provenance_options
@json_option
@click.pass_context
def purge(ctx: click.Context, reference: str, reason: str | None, dry_run: bool, as_json: bool) -> None:
    """Take the content of a slice file, a turn, a session or a run away for good.

    A tombstone keeps hashes and sizes: verify and replay say PURGED. Copies in manifests, in the index and in the
    library's payloads go too; what git has committed is git's to forget.
    """
    base = open_base(ctx)
    if reference.startswith(("turn:", "session:", "run:")):
        gone = base.purge(reference, now=now(), reason=reason or "", dry_run=dry_run)
        _print_purged_turns(gone, as_json, dry_run)
        return
    change = base.library.purge(reference, stamp_for(ctx, base), reason=reason, dry_run=dry_run)
    print_change(change, as_json, dry_run=dry_run)
    if change.changed and not dry_run and not as_json:
        note("Older versions may still stand in git's history.")


def _print_purged_turns(gone: "PurgedTurns", as_json: bool, dry_run: bool) -> None:
    if as_json:
        print_json({"dry_run": dry_run, "texts": gone.texts, "turns": [f"turn:{turn}" for turn in gone.turns]})
    else:
        done = "would purge" if dry_run else "purged"
        click.echo(f"{done} {gone.texts} texts" + (f" of {len(gone.turns)} turns" if gone.turns else ""))
