"""Commands that find slice files and show them: search, list, stale, info."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from slicebase.cli.file_options import chosen, complete_ids, file_json, filter_options, headline
from slicebase.cli.numbers import CountingNumber, Decimal
from slicebase.cli.options import open_base
from slicebase.cli.output import BOLD, DIM, Shown, Styled, counted, json_option, note, print_json, print_text, printable
from slicebase.core.refs import as_words
from slicebase.errors import Exit
from slicebase.verbs.names import short_places, shortened

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.context.snippets import Snippet
    from slicebase.files.explore import Stated
    from slicebase.index.entries import FileEntry
    from slicebase.index.info import Info
    from slicebase.index.search import Hit
    from slicebase.verbs.search import SearchResults


@click.command()
@click.argument("query", nargs=-1, required=True)
@filter_options
@click.option("--rows", type=click.Choice(["active", "all"]), default="active", show_default=True,
              help="Search active rows only, or superseded rows too.")  # fmt: skip
@click.option("--any", "either", is_flag=True, help="Match any of the words instead of all of them.")
@click.option("--limit", type=CountingNumber(1), default=10, show_default=True, metavar="N",
              help="The maximum number of results.")  # fmt: skip
@json_option
@click.pass_context
def search(
    ctx: click.Context, /, query: tuple[str, ...], rows: str, either: bool, limit: int, as_json: bool, **filters: Any
) -> int:
    """Find slice files and turns by their words, best first.

    The words of a file are those of its title, summary, body and rows. All words must match, in any form (retry finds
    retries). "Words in quotation marks" match as a phrase, and retr* matches words that begin with retr. A word in the
    title counts most. Exit status 1 if nothing is found.
    """
    base = open_base(ctx)
    moment = base.surroundings.now()
    wanted = chosen(base, moment, **filters)
    typed = " ".join(query)
    found = base.search(typed, wanted, former_rows=rows == "all", either=either, limit=limit)
    if as_json:
        print_json(_search_json(found, moment, base.settings.freshness_half_life_days))
    else:
        _print_search(base, found, moment)
    note_unreadable(base)
    return Exit.DONE if found.files.hits or found.turns else Exit.FINDINGS


def _print_search(base: "Slicebase", found: "SearchResults", moment: int) -> None:
    half_life = base.settings.freshness_half_life_days
    turns = [f"turn:{view.record.id}" for view in found.turns]
    short = shortened(base, [*(each.ref for hit in found.files.hits for each in hit.found), *turns])
    ids = short_files(base, [hit.entry for hit in found.files.hits])
    for hit in found.files.hits:
        print_text(*headline(hit.entry, ids, moment, half_life, _title(hit.title)))
        for each in hit.found:
            place = short[each.ref] if each.line is None else f"{short[each.ref]}, line {each.line}"
            print_text("    ", *_marked(each.snippet), "\n    ", Styled(printable(place), DIM))
        if hit.more:
            print_text(f"    and {hit.more} more like these")
    for view in found.turns:
        from slicebase.cli.history import one_line

        ref = short[f"turn:{view.record.id}"]
        print_text(f"{ref}  {view.record.time}  {view.record.role}\n    {one_line(view.text, 160)}")
    if found.files.total > len(found.files.hits):
        note(f"{len(found.files.hits)} of {found.files.total} files; --limit shows more")
    for hint in () if found.turns else found.files.hints:
        note(f"hint: {hint}")
    if not found.files.hits and not found.turns:
        note("nothing found")


def _title(snippet: "Snippet") -> list[Shown]:
    """Returns a title with its matches; without them if it has something that could be read as a reference."""
    words = as_words(snippet.text)
    return _marked(snippet) if words == snippet.text else [printable(words)]


def _marked(snippet: "Snippet") -> list[Shown]:
    """Returns a snippet with its matches in bold on a terminal, **like this** in a pipe."""
    mark = "" if sys.stdout.isatty() else "**"
    pieces: list[Shown] = []
    place = 0
    for start, end in snippet.marks:
        found = f"{mark}{printable(snippet.text[start:end])}{mark}"
        pieces += [printable(snippet.text[place:start]), Styled(found, BOLD)]
        place = end
    return [*pieces, printable(snippet.text[place:])]


def _search_json(found: "SearchResults", moment: int, half_life: float) -> dict[str, Any]:
    return {
        "total": found.files.total,
        "files": [_hit_json(hit, moment, half_life) for hit in found.files.hits],
        "turns": [
            {"ref": f"turn:{view.record.id}", "time": view.record.time, "role": view.record.role, "text": view.text}
            for view in found.turns
        ],
        "hints": list(found.files.hints),
    }


def _hit_json(hit: "Hit", moment: int, half_life: float) -> dict[str, Any]:
    passages = [
        {"ref": each.ref, "line": each.line, "text": each.snippet.text, "marks": each.snippet.marks}
        for each in hit.found
    ]
    return {**file_json(hit.entry, moment, half_life), "score": hit.score, "passages": passages, "more": hit.more}


def short_files(base: "Slicebase", entries: Iterable["FileEntry"]) -> dict[str, str]:
    """Returns the short ids of files that are listed."""
    return short_places(base, [entry.id for entry in entries])


def note_unreadable(base: "Slicebase") -> None:
    """Prints how many files cannot be read; they are left out of every result."""
    if base.finder.index.unreadable:
        note(f"{counted(base.finder.index.unreadable, 'file')} cannot be read: `tt doctor` says why")


@click.command("list")
@filter_options
@json_option
@click.pass_context
def list_files(ctx: click.Context, /, as_json: bool, **filters: Any) -> int:
    """List slice files, the last changed first. Exit status 1 if there are none."""
    base = open_base(ctx)
    moment = base.surroundings.now()
    half_life = base.settings.freshness_half_life_days
    entries = base.finder.list_files(chosen(base, moment, **filters))
    if as_json:
        print_json({"files": [file_json(entry, moment, half_life) for entry in entries]})
    else:
        short = short_files(base, entries)
        for entry in entries:
            print_text(*headline(entry, short, moment, half_life))
    note_unreadable(base)
    return Exit.DONE if entries else Exit.FINDINGS


@click.command()
@click.option("--half-life", type=Decimal(0, min_open=True), metavar="DAYS",
              help="Use this half-life instead of the setting.")  # fmt: skip
@filter_options
@json_option
@click.pass_context
def stale(ctx: click.Context, /, half_life: float | None, as_json: bool, **filters: Any) -> int:
    """List files that should be checked again, with the reason and since when: their age, or a source that changed.

    Exit status 1 if there are any.
    """
    from slicebase.core.times import to_text

    base = open_base(ctx)
    moment = base.surroundings.now()
    days = half_life or base.settings.freshness_half_life_days
    found = base.finder.stale(days, chosen(base, moment, **filters))
    if as_json:
        files = [
            {
                **file_json(each.entry, moment, days),
                "reasons": [
                    {"reason": why.kind, "since": why.since and to_text(why.since), "detail": why.detail}
                    for why in each.reasons
                ],
            }
            for each in found
        ]
        print_json({"half_life_days": days, "files": files})
    else:
        short = short_files(base, [each.entry for each in found])
        for each in found:
            print_text(*headline(each.entry, short, moment, days))
            for why in each.reasons:
                since = f" (since {to_text(why.since)[:10]})" if why.since is not None else ""
                print_text(f"    {printable(why.detail)}{since}")
    note_unreadable(base)
    return Exit.FINDINGS if found else Exit.DONE


@click.command()
@click.argument("file_id", metavar="[ID]", required=False, shell_complete=complete_ids)
@json_option
@click.pass_context
def info(ctx: click.Context, file_id: str | None, as_json: bool) -> int:
    """Show everything that is known about a file. Exit status 1 if something is wrong with it; a hint is not.

    Without ID, show the workspace and the files that changed last.
    """
    import msgspec

    if file_id is None:
        return _overview(ctx, as_json)
    base = open_base(ctx)
    moment = base.surroundings.now()
    found = base.finder.info(file_id)
    half_life = base.settings.freshness_half_life_days
    if as_json:
        fields = {"contract": found.file.contract, "meta": dict(found.file.meta), "payload": found.file.payload,
                  "derived_from": found.file.derived_from, "version": found.version}  # fmt: skip
        print_json({**file_json(found.entry, moment, half_life), **msgspec.to_builtins(fields), **_links_json(found)})
    else:
        _print_info(base, found, headline(found.entry, {}, moment, half_life))
    return Exit.FINDINGS if found.is_wrong else Exit.DONE


_NEWEST = 10  # files in an overview


def _overview(ctx: click.Context, as_json: bool) -> int:
    """Prints what `tt status` prints, and the files that changed last."""
    from slicebase.cli.workspace import print_status

    base = open_base(ctx)
    status, entries = base.status(), base.finder.list_files()
    moment, half_life = base.surroundings.now(), base.settings.freshness_half_life_days
    newest = entries[:_NEWEST]
    if as_json:
        print_json({**status.as_json(), "newest": [file_json(entry, moment, half_life) for entry in newest]})
        return Exit.DONE
    print_status(status)
    short = short_files(base, newest)
    for entry in newest:
        print_text(*headline(entry, short, moment, half_life))
    if len(entries) > len(newest):
        note(f"{len(newest)} of {len(entries)} files; `tt list` shows all")
    return Exit.DONE


def _links_json(found: "Info") -> dict[str, Any]:
    def fields(each: "Stated") -> dict[str, Any]:
        return {**each.edge._asdict(), "label": each.label, "row": each.row or None}

    return {
        "links": {"out": [fields(each) for each in found.links_out], "in": [fields(each) for each in found.links_in]},
        "findings": [
            {"rule": each.rule, "line": each.line, "column": each.column, "message": each.message, "hint": each.hint}
            for each in found.findings
        ],
    }


def _print_info(base: "Slicebase", found: "Info", first: Iterable[Shown]) -> None:
    file, entry = found.file, found.entry
    fields = {
        "summary": entry.summary,
        "kind": f"{entry.kind}, {entry.body_type}" + (f", {entry.rows} rows" if entry.body_type == "jsonl" else ""),
        "file": f"{file.name}, {entry.size} bytes",
        "hash": entry.hash or "",
        "version": found.version,
        "payload": f"{file.payload.uri or 'nowhere'}, {file.payload.size} bytes" if file.payload else "",
        "note": {"changed": "changed since it was added", "missing": "cannot be read"}.get(entry.note_state or "", ""),
        "source": f"{entry.source} ({entry.derivation})" if entry.source else "",
        "write": file.contract.write or "",
        "purpose": file.contract.purpose or "",
        "meta": ", ".join(f"{key} {value}" for key, value in file.meta.items()),
    }
    print_text(*first)
    for name, value in fields.items():
        if value:
            print_text(f"{name:9} {printable(value)}")
    short = short_places(base, [each.edge.target for each in found.links_out])
    short |= short_places(base, [each.edge.source for each in found.links_in])
    for each in found.links_out:
        print_text(f"{'→':9} {each.edge.rel} {printable(short[each.edge.target])}")
    for each in found.links_in:
        print_text(f"{'←':9} {printable(short[each.edge.source])} {each.edge.rel}")
    for finding in found.findings:
        note(f"{finding.file}:{finding.line}:{finding.column} {finding.rule} {finding.message}")
