"""Commands that write slice files: create, define, remember, connect, disconnect, refresh, forget, restore."""

from pathlib import Path
from typing import Any

import click

from slicebase.cli.file_options import complete_ids, id_argument
from slicebase.cli.notes import glob_option, is_folder, print_report, refuse_together
from slicebase.cli.numbers import CountingNumber
from slicebase.cli.options import (
    dry_run_option,
    given_text,
    note_warnings,
    open_base,
    print_change,
    provenance_of,
    provenance_options,
    redact_option,
)
from slicebase.cli.output import json_option, print_json, print_text, read_input
from slicebase.errors import Exit

_if_version = click.option("--if-version", metavar="HASH", help="Write only if the file still has this version.")


@click.command()
@click.option("--title", metavar="TEXT", help="A label for browsing.")
@click.option("--summary", metavar="TEXT", help="One or two sentences about the content.")
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
@click.option("--from", "from_file", type=click.Path(path_type=Path), metavar="FILE|FOLDER",
              help="Create a pointer to this file, or slice files of the notes in this folder.")  # fmt: skip
@glob_option
@click.option("--copy", is_flag=True, help="With --from: keep a copy of the file in the library.")
@click.option("--uri", metavar="URI", help="Create a pointer to this URI, which is never fetched.")
@click.option("--hash", "hash_", metavar="HASH", help="With --uri: the hash of its content, sha256:….")
@click.option("--size", type=CountingNumber(0), metavar="BYTES", help="With --uri: the size of its content.")
@provenance_options
@redact_option
@json_option
@click.pass_context
def create(
    ctx: click.Context,
    title: str | None,
    summary: str | None,
    kind: str | None,
    body_type: str | None,
    body: str | None,
    body_file: str | None,
    contract: tuple[str, ...],
    links: tuple[str, ...],
    from_file: Path | None,
    globs: tuple[str, ...],
    copy: bool,
    uri: str | None,
    hash_: str | None,
    size: int | None,
    as_json: bool,
) -> int:
    """Create a slice file. Prints its id. Or create one of each note in a folder, with --from."""
    from slicebase.files.model import Payload

    if from_file is not None and is_folder(from_file):
        refuse_together(
            title=title, summary=summary, kind=kind, type=body_type, body=body, body_file=body_file, contract=contract,
            link=links, copy=copy, uri=uri,
        )  # fmt: skip
        library = open_base(ctx, create=True).library
        return print_report(library.create_from(from_file, glob=globs, provenance=provenance_of(ctx)), as_json)
    if title is None or summary is None or globs:
        raise click.UsageError("Give --title and --summary, and --glob only with a folder.")
    if body is not None and body_file is not None:
        raise click.UsageError("Give one of --body and --body-file.")
    if copy and not from_file:
        raise click.UsageError("--copy goes with --from.")
    if uri is None and (hash_ is not None or size is not None):
        raise click.UsageError("--hash and --size go with --uri.")
    if uri is not None and (from_file or kind == "context"):
        raise click.UsageError("--uri makes a pointer, and goes neither with --from nor with --kind context.")
    base = open_base(ctx, create=True)
    change = base.library.create(
        title,
        summary,
        kind=kind,
        type=body_type,
        body=_body(body, body_file),
        contract=contract,
        links=[_link(link) for link in links],
        payload=Payload(uri, hash_, size) if uri is not None else None,
        from_file=from_file,
        copy=copy,
        provenance=provenance_of(ctx),
    )
    if as_json:
        print_json(change.as_json())
    else:
        note_warnings(change)
        print_text(change.id)
    return Exit.DONE


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
@click.option("--supersedes", multiple=True, metavar="ROW", help="A row of the log that this one replaces.")
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
@click.argument("file_id", required=False, metavar="ID", shell_complete=complete_ids)
@click.argument("text", required=False, metavar="TEXT|-")
@click.option("--all", "everything", is_flag=True, help="Follow all notes that `tt add` added.")
@click.option("--source-hash", metavar="HASH", help="Write only if the source still has this hash.")
@_if_version
@dry_run_option
@provenance_options
@redact_option
@json_option
@click.pass_context
def refresh(
    ctx: click.Context,
    file_id: str | None,
    text: str | None,
    everything: bool,
    source_hash: str | None,
    if_version: str | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Replace the body of a derived file and update the recorded hash of its source, in one step.

    Without a text, measure the local payload of a pointer again: if it changed, what is derived from it is stale.
    --all follows the notes that `tt add FOLDER` added: those that changed, moved or went.
    """
    if everything:
        if file_id is not None or source_hash or if_version:
            raise click.UsageError("--all takes no file.")
        library = open_base(ctx).library
        return print_report(
            library.refresh_all(dry_run=dry_run, provenance=provenance_of(ctx)), as_json, dry_run=dry_run
        )
    if file_id is None:
        raise click.UsageError("Give a file, or --all.")
    change = open_base(ctx).library.refresh(
        file_id,
        None if text is None else given_text(text),
        source_hash=source_hash,
        if_version=if_version,
        dry_run=dry_run,
        provenance=provenance_of(ctx),
    )
    print_change(change, as_json, dry_run=dry_run)
    return Exit.DONE


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
