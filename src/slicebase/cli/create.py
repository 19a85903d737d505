"""The command that creates slice files: one, a pointer, or one of each note in a folder."""

from pathlib import Path

import click

from slicebase.cli.notes import glob_option, is_folder, print_report, refuse_together
from slicebase.cli.numbers import CountingNumber
from slicebase.cli.options import given_text, note_warnings, open_base, provenance_of, provenance_options, redact_option
from slicebase.cli.output import json_option, print_json, print_text, read_input
from slicebase.errors import Exit


@click.command()
@click.argument("texts", nargs=-1, metavar="[TITLE] [SUMMARY]")
@click.option("--title", metavar="TEXT", help="A label for browsing.")
@click.option("--summary", metavar="TEXT", help="One or two sentences about the content.")
@click.option("--id", "file_id", metavar="ID", help="The id (default: a new ULID).")
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
@click.option("--meta", multiple=True, metavar="KEY=VALUE", help="A key of your own in meta (dotted keys).")
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
    texts: tuple[str, ...],
    title: str | None,
    summary: str | None,
    file_id: str | None,
    kind: str | None,
    body_type: str | None,
    body: str | None,
    body_file: str | None,
    contract: tuple[str, ...],
    meta: tuple[str, ...],
    links: tuple[str, ...],
    from_file: Path | None,
    globs: tuple[str, ...],
    copy: bool,
    uri: str | None,
    hash_: str | None,
    size: int | None,
    as_json: bool,
) -> int:
    """Create a slice file. Prints its id. Or create one of each note in a folder, with --from.

    The title and the summary are arguments or options.
    """
    from slicebase.files.model import Payload

    if from_file is not None and is_folder(from_file):
        refuse_together(
            title=title or texts, summary=summary, id=file_id, meta=meta, kind=kind, type=body_type, body=body,
            body_file=body_file, contract=contract, link=links, copy=copy, uri=uri,
        )  # fmt: skip
        library = open_base(ctx, create=True).library
        return print_report(library.create_from(from_file, glob=globs, provenance=provenance_of(ctx)), as_json)
    if globs:
        raise click.UsageError("--glob goes with a folder.")
    title, summary = _title_and_summary(texts, title, summary)
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
        id=file_id,
        kind=kind,
        type=body_type,
        body=_body(body, body_file),
        contract=contract,
        meta=meta,
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


def _title_and_summary(texts: tuple[str, ...], title: str | None, summary: str | None) -> tuple[str, str]:
    """Returns the title and the summary: what no option gives is taken from the arguments, in this order."""
    given = {"title": title, "summary": summary}
    missing = [name for name, text in given.items() if text is None]
    if len(texts) != len(missing):
        wrong = "too many texts" if len(texts) > len(missing) else f"the {' and the '.join(missing[len(texts) :])}"
        needed = "is missing" if len(texts) < len(missing) else "are given"
        raise click.UsageError(f"Give a title and a summary: {wrong} {needed}.")
    found = {**given, **dict(zip(missing, texts, strict=True))}
    return str(found["title"]), str(found["summary"])


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
