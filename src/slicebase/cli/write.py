"""Commands that write slice files: create, define, remember, connect, disconnect, refresh, forget, restore."""

from typing import TYPE_CHECKING, Any

import click

from slicebase.cli.file_options import complete_ids, id_argument
from slicebase.cli.notes import print_report
from slicebase.cli.options import (
    contract_assignments,
    contract_options,
    dry_run_option,
    given_text,
    open_base,
    print_change,
    provenance_of,
    provenance_options,
    reason_option,
    redact_option,
)
from slicebase.cli.output import json_option, print_json, print_text
from slicebase.errors import Exit

if TYPE_CHECKING:
    from slicebase.base import Slicebase

_if_version = click.option("--if-version", metavar="HASH", help="Write only if the file still has this version.")


@click.command()
@id_argument
@click.argument("assignments", nargs=-1, metavar="[KEY=VALUE]…")
@contract_options
@_if_version
@provenance_options
@redact_option
@json_option
@click.pass_context
def define(
    ctx: click.Context,
    /,
    file_id: str,
    assignments: tuple[str, ...],
    if_version: str | None,
    as_json: bool,
    **contract: str | tuple[str, ...] | None,
) -> None:
    """Set keys of the metadata by dotted names: title=…, meta.author=…, contract.write=….

    `KEY=` removes a key. Write lists and mappings in brackets: meta.tags='[a, b]'. The rules of the contract have
    options, too.
    """
    assignments += tuple(contract_assignments(contract))
    if not assignments:
        raise click.UsageError("Give KEY=VALUE, or an option of the contract.")
    change = open_base(ctx).library.define(file_id, assignments, if_version=if_version, provenance=provenance_of(ctx))
    print_change(change, as_json)


@click.command()
@id_argument
@click.argument("text", required=False, metavar="TEXT|-")
@click.option("--supersedes", multiple=True, metavar="ROW", help="A row that this one replaces, by its id.")
@click.option("--new", is_flag=True, help="This is another fact than the row about the same topic (mode supersede).")
@click.option("--section", metavar="HEADING", help="Write to the section with this heading.")
@click.option("--as-text", is_flag=True, help="Store the text as it is, also if it looks like JSON.")
@click.option("--replace", nargs=2, metavar="OLD NEW", help="Replace the only occurrence of OLD in the body by NEW.")
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
    replace: tuple[str, str] | None,
    show_contract: bool,
    if_version: str | None,
    as_json: bool,
) -> None:
    """Write text to the body of a file, as its contract allows. Prints a reference to what was written.

    In a log, a JSON object becomes the row, and other text becomes {"text": …}. Text that begins with { and is no JSON
    is refused, unless --as-text is given. `-` reads stdin. --replace edits a passage, if the write mode is replace.
    """
    base = open_base(ctx)
    if show_contract:
        _print_contract(base.library.contract(file_id), as_json)
        return
    if replace is not None and (text is not None or supersedes or section is not None or new or as_text):
        raise click.UsageError("--replace takes OLD and NEW, and no other text or option about rows and sections.")
    given = replace[1] if replace is not None else text
    if given is None:
        raise click.UsageError("Give a text, or - to read it from stdin.")
    change = base.library.remember(
        file_id,
        given_text(given),
        replace=replace[0] if replace is not None else None,
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


def _in_order(base: "Slicebase", rel: str, target: str) -> tuple[str, str]:
    """Returns the relationship and the target, which may be given in the other order.

    They are exchanged only if that is certain: the second is a relationship, and no file, and the first is none.
    """
    from slicebase.files.links import RELATIONSHIPS

    if rel in RELATIONSHIPS or target not in RELATIONSHIPS:
        return rel, target
    return (rel, target) if base.folder.get(target) else (target, rel)


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
    """Link a file to another file, a path or a reference, with the relationship REL.

    `tt connect ID TARGET REL` means the same, if only the last word is a relationship.
    """
    base = open_base(ctx)
    rel, target = _in_order(base, rel, target)
    change = base.library.connect(file_id, rel, target, label=label, provenance=provenance_of(ctx))
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
    """Remove a link from a file. `tt disconnect ID TARGET REL` means the same."""
    base = open_base(ctx)
    rel, target = _in_order(base, rel, target)
    change = base.library.disconnect(file_id, rel, target, dry_run=dry_run, provenance=provenance_of(ctx))
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


@click.command()
@id_argument
@reason_option
@click.option("--permanent", is_flag=True, help="Purge the file instead, as `tt purge` does.")
@click.option("--yes", is_flag=True, help="With --permanent: do not ask first.")
@dry_run_option
@provenance_options
@redact_option
@json_option
@click.pass_context
def forget(
    ctx: click.Context, file_id: str, reason: str | None, permanent: bool, yes: bool, dry_run: bool, as_json: bool
) -> None:
    """Archive a file: search and listings leave it out. `tt restore` brings it back."""
    if yes and not permanent:
        raise click.UsageError("--yes goes with --permanent.")
    if permanent:
        from slicebase.cli.purge import purge_asking  # imported here to keep start-up fast

        purge_asking(ctx, f"file:{file_id.removeprefix('file:')}", reason, yes=yes, dry_run=dry_run, as_json=as_json)
        return
    library = open_base(ctx).library
    change = library.forget(file_id, reason=reason, dry_run=dry_run, provenance=provenance_of(ctx))
    print_change(change, as_json, dry_run=dry_run)
