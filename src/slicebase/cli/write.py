"""Commands that write slice files: create, define, remember, connect, disconnect, refresh, forget, restore."""

from pathlib import Path
from typing import Any

import click

from slicebase.cli.file_options import complete_ids, id_argument
from slicebase.cli.options import given_text, open_base, print_change, provenance_of, provenance_options, redact_option
from slicebase.cli.output import json_option, print_json, print_text, read_input

_if_version = click.option("--if-version", metavar="HASH", help="Write only if the file still has this version.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would happen, and write nothing.")


@click.command()
@click.option("--title", required=True, metavar="TEXT", help="A label for browsing.")
@click.option("--summary", required=True, metavar="TEXT", help="One or two sentences about the content.")
@click.option("--kind", type=click.Choice(["context", "pointer"]), help="context holds its content, pointer names it.")
@click.option(
    "--type", "body_type", metavar="TYPE", help="The body type: markdown (default), jsonl, text, code, yaml, …"
)
@click.option("--body", metavar="TEXT", help="The body; `-` reads it from stdin.")
@click.option("--body-file", metavar="FILE", help="A file with the body; `-` is stdin.")
@click.option(
    "--contract", multiple=True, metavar="KEY=VALUE",
    help="A rule of the contract: purpose, exclude, format, cleanup, write or overflow.",
)  # fmt: skip
@click.option(
    "--link", "links", multiple=True, metavar="REL:ID", help="A link; derived_from also records the hash of the source."
)
@click.option("--from", "from_file", type=click.Path(path_type=Path), metavar="FILE",
              help="Create a pointer to this file.")  # fmt: skip
@click.option("--copy", is_flag=True, help="With --from: keep a copy of the file in the library.")
@provenance_options
@redact_option
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
    """Create a slice file. Prints its id."""
    if body is not None and body_file is not None:
        raise click.UsageError("Give one of --body and --body-file.")
    if copy and not from_file:
        raise click.UsageError("--copy goes with --from.")
    base = open_base(ctx, create=True)
    change = base.library.create(
        title,
        summary,
        kind=kind,
        type=body_type,
        body=_body(body, body_file),
        contract=contract,
        links=[_link(link) for link in links],
        from_file=from_file,
        copy=copy,
        provenance=provenance_of(ctx),
    )
    if as_json:
        print_json(change.as_json())
    else:
        print_text(change.id)


def _body(body: str | None, body_file: str | None) -> str:
    from slicebase.core.parsers import decode, read_all

    if body_file is None:
        return given_text(body or "")
    with read_input(body_file) as stream:
        return decode(read_all(stream, body_file), name=body_file)


def _link(text: str) -> tuple[str, str]:
    rel, colon, to = text.partition(":")
    if not (rel and colon and to):
        raise click.UsageError(f"{text!r} is not REL:ID.")
    return rel, to


@click.command()
@id_argument
@click.argument("assignments", nargs=-1, required=True, metavar="KEY=VALUE…")
@_if_version
@provenance_options
@redact_option
@json_option
@click.pass_context
def define(
    ctx: click.Context, file_id: str, assignments: tuple[str, ...], if_version: str | None, as_json: bool
) -> None:
    """Set keys of the metadata by dotted names: title=…, meta.author=…, contract.write=….

    `KEY=` removes a key. Write lists and mappings in brackets: meta.tags='[a, b]'.
    """
    change = open_base(ctx).library.define(file_id, assignments, if_version=if_version, provenance=provenance_of(ctx))
    print_change(change, as_json)


@click.command()
@id_argument
@click.argument("text", required=False, metavar="TEXT|-")
@click.option("--supersedes", multiple=True, metavar="ROW", help="A row that this one replaces, by its id.")
@click.option("--new", is_flag=True, help="This is another fact than the row about the same topic (mode supersede).")
@click.option("--section", metavar="HEADING", help="Write to the section with this heading.")
@click.option("--as-text", is_flag=True, help="Store the text as it is, also if it looks like JSON.")
@click.option("--contract", "show_contract", is_flag=True, help="Print the contract of the file, and write nothing.")
@_if_version
@provenance_options
@redact_option
@json_option
@click.pass_context
def remember(
    ctx: click.Context,
    file_id: str,
    text: str | None,
    supersedes: tuple[str, ...],
    new: bool,
    section: str | None,
    as_text: bool,
    show_contract: bool,
    if_version: str | None,
    as_json: bool,
) -> None:
    """Write text to the body of a file, as its contract allows. Prints a reference to what was written.

    In a log, a JSON object becomes the row, and other text becomes {"text": …}. Text that begins with { and is no JSON
    is refused, unless --as-text is given. `-` reads stdin.
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
        supersedes=supersedes,
        new=new,
        section=section,
        as_text=as_text,
        if_version=if_version,
        provenance=provenance_of(ctx),
    )
    print_change(change, as_json, refs=True)


def _print_contract(contract: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(contract)
        return
    for name in ("purpose", "format", "cleanup", "write", "overflow"):
        if contract[name]:
            print_text(f"{name:9} {contract[name]}")
    for excluded in contract["exclude"]:
        target = " ".join(word for word in (excluded["to"], excluded["title"] and f"({excluded['title']})") if word)
        print_text(f"{'exclude':9} {excluded['topic']}" + (f" → {target}" if target else ""))


@click.command()
@id_argument
@click.argument("rel", metavar="REL")
@click.argument("target", metavar="TARGET", shell_complete=complete_ids)
@click.option("--label", metavar="TEXT", help="A note about the link.")
@provenance_options
@redact_option
@json_option
@click.pass_context
def connect(ctx: click.Context, file_id: str, rel: str, target: str, label: str | None, as_json: bool) -> None:
    """Link a file to another file, a path or a reference, with the relationship REL."""
    change = open_base(ctx).library.connect(file_id, rel, target, label=label, provenance=provenance_of(ctx))
    print_change(change, as_json)


@click.command()
@id_argument
@click.argument("rel", metavar="REL")
@click.argument("target", metavar="TARGET", shell_complete=complete_ids)
@dry_run_option
@provenance_options
@json_option
@click.pass_context
def disconnect(ctx: click.Context, file_id: str, rel: str, target: str, dry_run: bool, as_json: bool) -> None:
    """Remove a link from a file."""
    library = open_base(ctx).library
    change = library.disconnect(file_id, rel, target, dry_run=dry_run, provenance=provenance_of(ctx))
    print_change(change, as_json, dry_run=dry_run)


@click.command()
@id_argument
@click.argument("text", metavar="TEXT|-")
@click.option("--source-hash", metavar="HASH", help="Write only if the source still has this hash.")
@_if_version
@dry_run_option
@provenance_options
@redact_option
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
    """Replace the body of a derived file and update the recorded hash of its source, in one step."""
    change = open_base(ctx).library.refresh(
        file_id,
        given_text(text),
        source_hash=source_hash,
        if_version=if_version,
        dry_run=dry_run,
        provenance=provenance_of(ctx),
    )
    print_change(change, as_json, dry_run=dry_run)


reason_option = click.option("--reason", metavar="TEXT", help="The reason, which is stored with the mark.")


@click.command()
@id_argument
@reason_option
@dry_run_option
@provenance_options
@redact_option
@json_option
@click.pass_context
def forget(ctx: click.Context, file_id: str, reason: str | None, dry_run: bool, as_json: bool) -> None:
    """Archive a file: search and listings leave it out. `tt restore` brings it back."""
    library = open_base(ctx).library
    change = library.forget(file_id, reason=reason, dry_run=dry_run, provenance=provenance_of(ctx))
    print_change(change, as_json, dry_run=dry_run)


@click.command()
@id_argument
@dry_run_option
@provenance_options
@json_option
@click.pass_context
def restore(ctx: click.Context, file_id: str, dry_run: bool, as_json: bool) -> None:
    """Bring an archived file back."""
    change = open_base(ctx).library.restore(file_id, dry_run=dry_run, provenance=provenance_of(ctx))
    print_change(change, as_json, dry_run=dry_run)
