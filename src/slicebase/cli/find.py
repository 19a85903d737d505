"""Commands that find slice files and show them: search, list, stale, info."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from slicebase.cli.arguments import as_query
from slicebase.cli.file_options import chosen, complete_ids, filter_options, headline
from slicebase.cli.numbers import CountingNumber, Decimal
from slicebase.cli.options import open_base
from slicebase.cli.output import BOLD, DIM, Shown, Styled, counted, json_option, note, print_json, print_text, printable
from slicebase.core.refs import as_words
from slicebase.errors import Exit
from slicebase.verbs.found import search_json
from slicebase.verbs.names import short_places, short_texts, shortened

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.context.snippets import Snippet
    from slicebase.index.entries import FileEntry
    from slicebase.index.info import Info
    from slicebase.verbs.found import SearchResults


@click.command()
@click.argument("query", nargs=-1, required=True)
@filter_options
@click.option("--rows", type=click.Choice(["active", "all"]), default="active", show_default=True,
              help="Search active rows only, or superseded rows too.")  # fmt: skip
@click.option("--any", "either", is_flag=True, help="Match any of the words instead of all of them.")
@click.option("--flat", is_flag=True, help="List turns one by one, not by session.")
@click.option("--limit", type=CountingNumber(1), default=10, show_default=True, metavar="N",
              help="The maximum number of results.")  # fmt: skip
@json_option
@click.pass_context
def search(
    ctx: click.Context,
    /,
    query: tuple[str, ...],
    rows: str,
    either: bool,
    flat: bool,
    limit: int,
    as_json: bool,
    **filters: Any,
) -> int:
    """Find slice files and turns by their words, best first.

    All words must match, in any form (retry finds retries); after these, or where there are none, the best with some
    follow. An identifier (parse_args, go-humanize, src/app.py) matches whole, text in quotation marks exactly ('"git
    status"': the shell takes the outer ones), and retr* words that begin with retr. Leave out with -word, and narrow
    with session:, role:, tool:, file:, project:, before:, after: and kind:. Exit status 1 if nothing is found.
    """
    base = open_base(ctx)
    moment = base.surroundings.now()
    wanted = chosen(base, moment, **filters)
    found = base.search(as_query(query), wanted, former_rows=rows == "all", either=either, limit=limit)
    if as_json:
        print_json(search_json(found, moment, _half_life(base, found)))
    else:
        _print_search(base, found, moment, flat)
    note_unreadable(base)
    return Exit.DONE if len(found) else Exit.FINDINGS


def _print_search(base: "Slicebase", found: "SearchResults", moment: int, flat: bool) -> None:
    _print_found(base, found, moment, flat)
    if found.rest:
        print_text(Styled("Only some of the words:", DIM))
        _print_found(base, found.rest, moment, flat)
    if found.partial:
        note("nothing has all words: these have some of them")
    if found.by_parts:
        note("nothing has the identifier as it is: these have its parts")
    for hint in found.hints:
        note(f"hint: {hint}")
    if not len(found):
        note("nothing found")


def _print_found(base: "Slicebase", found: "SearchResults", moment: int, flat: bool) -> None:
    half_life = _half_life(base, found)
    short = shortened(base, [each.ref for hit in found.files.hits for each in hit.found])
    ids = short_files(base, [hit.entry for hit in found.files.hits])
    for hit in found.files.hits:
        print_text(*headline(hit.entry, ids, moment, half_life, _title(hit.title)))
        for each in hit.found:
            place = short[each.ref] if each.line is None else f"{short[each.ref]}, line {each.line}"
            print_text("    ", *_marked(each.snippet), "\n    ", Styled(printable(place), DIM))
        if hit.more:
            print_text(f"    and {hit.more} more like these")
    if found.turns:
        _print_turns(base, found, flat)
    if found.files.total > len(found.files.hits):
        note(f"{len(found.files.hits)} of {found.files.total} files; --limit shows more")


def _print_turns(base: "Slicebase", found: "SearchResults", flat: bool) -> None:
    """Prints the turns that were found, one by one or by session."""
    turns = found.turns if flat else [turn for each in found.sessions for turn in each.turns]
    sessions = {each.id: each for each in found.sessions}
    short = shortened(base, [*(turn.ref for turn in turns), *(f"session:{turn.session}" for turn in turns)])
    for turn in turns if flat else ():
        project = sessions[turn.session].project if turn.session in sessions else ""
        where = [short[f"session:{turn.session}"], *([as_words(project)] if project else [])]
        print_text("  ".join([short[turn.ref], turn.time or "undated", turn.role, *map(printable, where)]))
        print_text("    ", *_marked(turn.snippet))
    for each in () if flat else found.sessions:
        branch = f"({each.branch})" if each.branch else ""
        place = [printable(as_words(word)) for word in (each.project, branch, each.title or "") if word]
        print_text("  ".join([printable(short[each.ref]), each.date or "undated", *place]))
        for turn in each.turns:
            print_text("    ", *_marked(turn.snippet), "\n    ", Styled(f"{short[turn.ref]}, {turn.role}", DIM))
        if each.more:
            print_text(f"    and {'' if found.is_exact else 'at least '}{counted(each.more, 'more turn')}")
        if each.resume:
            print_text("    ", Styled(printable(each.resume), DIM))
    shown = len(turns) if flat else sum(len(each.turns) + each.more for each in found.sessions)
    if shown < found.total_turns or not found.is_exact:
        listed = counted(len(turns), "turn") if flat else counted(len(found.sessions), "session")
        least = "" if found.is_exact else "at least "
        note(f"the best {listed}; {least}{counted(found.total_turns, 'turn')} match; --limit shows more")


def _title(snippet: "Snippet") -> list[Shown]:
    """Returns a title with its matches; without them if it has something that could be read as a reference."""
    words = as_words(snippet.text)
    return _marked(snippet) if words == snippet.text else [printable(words)]


def _marked(snippet: "Snippet | None") -> list[Shown]:
    """Returns a snippet with its matches in bold on a terminal, **like this** in a pipe."""
    if snippet is None:
        return []
    mark = "" if sys.stdout.isatty() else "**"
    pieces: list[Shown] = []
    place = 0
    for start, end in snippet.marks:
        found = f"{mark}{printable(snippet.text[start:end])}{mark}"
        pieces += [printable(snippet.text[place:start]), Styled(found, BOLD)]
        place = end
    return [*pieces, printable(snippet.text[place:])]


def _half_life(base: "Slicebase", found: "SearchResults") -> float:
    """Returns the days after which a file is half stale; 0 where none was found: most workspaces have no settings."""
    return base.settings.freshness_half_life_days if found.files.hits else 0


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
        print_json({"files": [entry.as_json(moment, half_life) for entry in entries]})
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
    """List files that should be checked again, with the reason and since when.

    A file is listed for its age, for a source that changed, or for a document that it points to and that changed.

    Exit status 1 if there are any.
    """
    from slicebase.core.times import to_text

    base = open_base(ctx)
    moment = base.surroundings.now()
    days = half_life or base.settings.freshness_half_life_days
    found = base.finder.stale(days, chosen(base, moment, **filters))
    if as_json:
        print_json({"half_life_days": days, "files": [each.as_json(moment, days) for each in found]})
    else:
        short = short_files(base, [each.entry for each in found])
        details = short_texts(base, {why.detail for each in found for why in each.reasons})
        for each in found:
            print_text(*headline(each.entry, short, moment, days))
            for why in each.reasons:
                since = f" (since {to_text(why.since)[:10]})" if why.since is not None else ""
                print_text(f"    {printable(details[why.detail])}{since}")
    note_unreadable(base)
    return Exit.FINDINGS if found else Exit.DONE


@click.command()
@click.argument("file_id", metavar="[ID]", required=False, shell_complete=complete_ids)
@json_option
@click.pass_context
def info(ctx: click.Context, file_id: str | None, as_json: bool) -> int:
    """Show everything that is known about a file. Exit status 1 if something is wrong with it; a hint is not.

    A source, document or note that is not what it was is wrong. Without ID, show the workspace and the files that
    changed last.
    """
    if file_id is None:
        return _overview(ctx, as_json)
    base = open_base(ctx)
    moment = base.surroundings.now()
    found = base.finder.info(file_id)
    half_life = base.settings.freshness_half_life_days
    if as_json:
        print_json(found.as_json(moment, half_life))
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
        print_json({**status.as_json(), "newest": [entry.as_json(moment, half_life) for entry in newest]})
        return Exit.DONE
    print_status(status)
    short = short_files(base, newest)
    for entry in newest:
        print_text(*headline(entry, short, moment, half_life))
    if len(entries) > len(newest):
        note(f"{len(newest)} of {len(entries)} files; `tt list` shows all")
    return Exit.DONE


def _print_info(base: "Slicebase", found: "Info", first: Iterable[Shown]) -> None:
    file, entry = found.file, found.entry
    gone = {"changed": ", changed since it was measured", "missing": ", cannot be read"}.get(
        entry.payload_state or "", ""
    )
    fields = {
        "summary": entry.summary,
        "kind": f"{entry.kind}, {entry.body_type}" + (f", {entry.rows} rows" if entry.body_type == "jsonl" else ""),
        "file": f"{file.name}, {entry.size} bytes",
        "hash": entry.hash or "",
        "version": found.version,
        "payload": f"{file.payload.uri or 'nowhere'}, {file.payload.size} bytes{gone}" if file.payload else "",
        "note": {"changed": "changed since it was added", "missing": "cannot be read"}.get(entry.note_state or "", ""),
        "source": (entry.source or "") + (f" ({entry.derivation})" if entry.derivation else ""),
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
