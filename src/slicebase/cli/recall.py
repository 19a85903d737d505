"""Commands that show memory to a model (recall, routine), and commands about evidence (add, cite, why, seal)."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slicebase.cli.file_options import complete_ids, id_argument
from slicebase.cli.notes import glob_option, is_folder, print_report, refuse_together
from slicebase.cli.numbers import CountingNumber
from slicebase.cli.options import dry_run_option, open_base, provenance_of, provenance_options, redact_option
from slicebase.cli.output import json_option, note, print_json, print_text, printable
from slicebase.cli.slice_bundle import within_options
from slicebase.errors import Exit
from slicebase.verbs.names import shortened

if TYPE_CHECKING:
    from slicebase.verbs.evidence import AddedDocument
    from slicebase.verbs.shown import ShownTurns
    from slicebase.verbs.why import Reason


@click.command()
@click.argument("refs", nargs=-1, required=True, metavar="REF…", shell_complete=complete_ids)
@click.option("--rows", type=click.Choice(["active", "all"]), default="active", show_default=True,
              help="Print the active rows of a log, or superseded rows too.")  # fmt: skip
@click.option("--tokens", type=CountingNumber(1), metavar="N", help="The maximum size of a page.")
@click.option(
    "--page",
    type=CountingNumber(1),
    default=1,
    show_default=True,
    metavar="N",
    help="With --tokens: the page to print.",
)
@json_option
@click.pass_context
def recall(ctx: click.Context, refs: tuple[str, ...], rows: Any, tokens: int | None, page: int, as_json: bool) -> None:
    """Print files, rows, sections and turns as a model should see them: fenced, and labelled with their sources.

    REF is an id, file:ID, row:ID/ROW, sec:ID@HASH#HEADING or turn:UUID. Nothing is cut silently: with --tokens, text
    that does not fit is on the next page.
    """
    found = open_base(ctx).library.recall(refs, rows=rows, tokens=tokens, page=page)
    if as_json:
        print_json(found.as_json())
    else:
        print_text(found.text, nl=False)


@click.command()
@id_argument
@json_option
@click.pass_context
def routine(ctx: click.Context, file_id: str, as_json: bool) -> None:
    """Compile a routine into Markdown with steps to follow. Nothing is executed."""
    text = open_base(ctx).library.routine(file_id)
    if as_json:
        print_json({"text": text})
    else:
        print_text(text, nl=False)


@click.command()
@click.argument("path", type=click.Path(path_type=Path), metavar="FILE|FOLDER")
@glob_option
@click.option("--title", metavar="TEXT", help="With a file: the pointer's title (default: the file's name).")
@click.option("--copy", is_flag=True, help="With a file: keep a copy of it in the library.")
@dry_run_option
@provenance_options
@redact_option
@json_option
@click.pass_context
def add(
    ctx: click.Context, path: Path, globs: tuple[str, ...], title: str | None, copy: bool, dry_run: bool, as_json: bool
) -> int:
    """Add the notes of a folder in place, or make one text document citable.

    Each Markdown or text file of a FOLDER gets a pointer, and is searched, recalled and cited by its sections. Nothing
    is written in the folder. Called again, it adds what is new and follows what changed, moved or went.

    A FILE gets a pointer and stable chunks of about 800 tokens, whose references are printed. An edit of the document
    changes only the chunks around it.
    """
    if is_folder(path):
        refuse_together(title=title, copy=copy)
        library = open_base(ctx, create=True).library
        return print_report(
            library.add(path, glob=globs, dry_run=dry_run, provenance=provenance_of(ctx)), as_json, dry_run=dry_run
        )
    if globs or dry_run:
        raise click.UsageError("--glob and --dry-run go with a folder.")
    base = open_base(ctx, create=True)
    added = base.add(path, title=title, copy=copy, provenance=provenance_of(ctx))
    _print_document(added, base.surroundings.redaction.uncounted, as_json)
    return Exit.DONE


def _print_document(added: "AddedDocument", redact: Callable[[str], str], as_json: bool) -> None:
    if as_json:
        chunks = [{"ref": chunk.chunk_id, "start": chunk.start, "end": chunk.end} for chunk in added.chunks]
        print_json({"id": added.file.id, "new": added.is_new, "chunks": chunks})
        return
    from slicebase.verbs.evidence import previews

    for chunk, text in zip(added.chunks, previews(added.chunks, redact), strict=True):
        print_text(f"{chunk.chunk_id}  {printable(' '.join(text[:200].split()))[:60]}".rstrip())
    note(f"file:{added.file.id}" + ("" if added.is_new else " exists already"))


@click.command()
@click.argument("reference", metavar="REF")
@click.option("--quote", "-q", metavar="TEXT", help="The text to cite, word for word.")
@click.option("--span", metavar="START-END", help="Its position in characters; required if the quote occurs twice.")
@within_options
@redact_option
@json_option
@click.pass_context
def cite(
    ctx: click.Context, reference: str, quote: str | None, span: str | None, within: "ShownTurns | None", as_json: bool
) -> None:
    """Add a piece of text to the evidence ledger. Prints the id of the evidence.

    REF is a turn, a row, a section or a span of a document. It can also be a session or a file if exactly one of its
    chunks contains the quote.
    """
    import msgspec

    place = _span(span) if span else None
    evidence = open_base(ctx).cite(reference, quote=quote, span=place, within=within)
    if as_json:
        print_json({**msgspec.to_builtins(evidence), "pointer": msgspec.to_builtins(evidence.pointer)})
    else:
        print_text(evidence.evidence_id)


_MOST_DIGITS = 16  # of a place in a text


def _span(text: str) -> tuple[int, int]:
    start, _, end = text.partition("-")
    if not all(each.isascii() and each.isdigit() and len(each) <= _MOST_DIGITS for each in (start, end)):
        raise click.UsageError("--span takes two numbers, like 12-40.")
    return int(start), int(end)


@click.command()
@click.argument("reference", metavar="REF")
@click.option("--forward", is_flag=True, help="Show what rests on REF instead.")
@click.option("--mermaid", is_flag=True, help="Print a Mermaid graph.")
@json_option
@click.pass_context
def why(ctx: click.Context, reference: str, forward: bool, mermaid: bool, as_json: bool) -> None:
    """Show what a claim, a file or a context rests on, down to the quoted text.

    REF is claim:<run>/<id>, run:…, file:…, ev_…, sn_…, mf_… or a chunk; with --forward, also session:….
    """
    base = open_base(ctx)
    found = base.why(reference, forward=forward)
    if as_json:
        print_json(found.as_json())
        return
    short = shortened(base, set(_refs(found)))
    for line in _mermaid(found) if mermaid else _lines(found, short):
        print_text(line)


def _refs(reason: "Reason") -> Iterator[str]:
    yield reason.ref
    for child in reason.children:
        yield from _refs(child)


def _lines(reason: "Reason", short: Mapping[str, str], depth: int = 0) -> Iterator[str]:
    pad = "  " * depth
    yield f"{pad}{short[reason.ref]}" + (f"  ({printable(reason.note)})" if reason.note else "")
    if reason.text:
        words = printable(" ".join(reason.text.split()))
        yield f"{pad}  “{words}”" if reason.kind in ("evidence", "chunk") else f"{pad}  {words}"
    for child in reason.children:
        yield from _lines(child, short, depth + 1)


def _mermaid(reason: "Reason") -> Iterator[str]:
    yield "graph TD"
    yield from _nodes(reason, {})


def _nodes(reason: "Reason", names: dict[str, str]) -> Iterator[str]:
    known = reason.ref in names
    name = names.setdefault(reason.ref, f"n{len(names)}")
    if not known:
        words = " ".join(f"{reason.ref} {reason.text}".split())[:80]
        yield f'  {name}["{_escaped(words)}"]'
    for child in reason.children:
        yield from _nodes(child, names)
        yield f"  {name} --> {names[child.ref]}"


def _escaped(words: str) -> str:
    return "".join(f"#{ord(letter)};" if letter in '"#<>[]{}|`' else letter for letter in printable(words))


@click.command()
@json_option
@click.pass_context
def seal(ctx: click.Context, as_json: bool) -> None:
    """Write the heads of all runs and sessions, and the versions of all files, into a slice file for git.

    Prints the id of the file. `tt verify --seal` compares with it, and so also finds a log that was cut or rewritten.
    """
    sealed = open_base(ctx).seal()
    if as_json:
        counts = {"runs": sealed.runs, "sessions": sealed.sessions, "files": sealed.files}
        print_json({"id": sealed.file.id, "file": sealed.file.name, **counts})
    else:
        print_text(str(sealed.file.id))
        note(f"{sealed.runs} runs, {sealed.sessions} sessions, {sealed.files} files; commit {sealed.file.name}")
