"""Commands that show the conversations that are stored: turns, show."""

import json
from typing import TYPE_CHECKING, Any

import click
import msgspec

from slicebase.cli.arguments import as_filters
from slicebase.cli.numbers import CountingNumber
from slicebase.cli.options import open_base
from slicebase.cli.output import counted, json_option, note, print_json, print_text, printable
from slicebase.core.refs import as_words
from slicebase.errors import Exit
from slicebase.verbs.names import shortened

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.verbs.found import TurnView
    from slicebase.verbs.sessions import SessionEntry


@click.command()
@click.argument("query", nargs=-1, metavar="[SESSION] [QUERY]…")
@click.option("--search", "-s", "words", metavar="WORDS", help="List turns that contain the words, best first.")
@click.option(
    "--limit", type=CountingNumber(1), default=50, show_default=True, metavar="N", help="The maximum number of lines."
)
@json_option
@click.pass_context
def turns(ctx: click.Context, query: tuple[str, ...], words: str | None, limit: int, as_json: bool) -> int:
    """List the stored sessions, the newest first, the turns of SESSION, or the turns that contain some words.

    A session is listed with its date, project, first prompt, turns, compactions, model and size. A query narrows: the
    filters of `tt search` (-word, session:, role:, tool:, file:, project:, before:, after:, kind:), quoted text, and,
    after SESSION, words. Exit status 1 if there is nothing, 3 if a session cannot be read: the others are listed.
    """
    from slicebase.context.query import read  # imported here for a fast start
    from slicebase.index.asked import refuse_unsearchable

    session, narrowed = _session_and_query(query)
    base = open_base(ctx)
    if session is None and words is None:
        return _print_sessions(base, base.graph.sessions(narrowed, limit), as_json)
    if words is None:
        found = base.graph.turns(str(session), narrowed)[:limit]
    else:
        refuse_unsearchable(read(words))
        where = f'session:"{session}"' if session else ""
        found = base.graph.search(f"{words} {narrowed} {where}", limit)
    rows = [_turn_row(view) for view in found]
    if as_json:
        print_json({"rows": rows})
    else:
        short = shortened(base, [row["ref"] for row in rows])
        for row in rows:
            details = [short[row["ref"]], row["time"] or "undated", row["role"]]
            print_text("  ".join([*map(printable, details), one_line(row["text"])]))
        for match, said in _LESS.items():
            if found and all(view.match is not None and view.match.name == match for view in found):
                note(said)
    return Exit.DONE if rows else Exit.FINDINGS


# What is said of turns that match less well than the query asks.
_LESS = {
    "SOME": "no turn has all words: these have some of them",
    "PARTS": "no turn has the identifier as it is: these have its parts",
}


def _session_and_query(given: tuple[str, ...]) -> tuple[str | None, str]:
    """Returns the session that is named, and the query of its turns.

    One `session:` names it, else the first argument with words, unless it is quoted text.
    """
    from slicebase.context.query import read

    narrowed = as_filters(given)
    sessions = read(narrowed).values("session")
    if len(sessions) == 1:
        return sessions[0], narrowed
    terms = [read(as_filters([each])).terms for each in given]
    name = next((place for place, words in enumerate(terms) if words), None)
    if name is None or any(word.quoted for word in terms[name]):
        return None, narrowed
    return given[name], as_filters([*given[:name], *given[name + 1 :]])


def _print_sessions(base: "Slicebase", found: "list[SessionEntry]", as_json: bool) -> int:
    if as_json:
        from slicebase.verbs.sessions import session_row

        print_json({"rows": [msgspec.to_builtins(session_row(each)) for each in found]})
        return _status_of(found)
    short = shortened(base, [f"session:{name}" for each in found for name in (each.id, each.copy_of) if name])
    for each in found:
        counts = [counted(each.turns, "turn"), counted(each.compactions, "compaction") if each.compactions else ""]
        details = [*counts, f"{_thousands(each.size)} tokens", each.model, each.session.format]
        place = f"{each.project} ({each.branch})" if each.branch else each.project
        name = short[f"session:{each.id}"].removeprefix("session:")
        first = [name, _when(each), ", ".join(filter(None, details)), place]
        print_text("  ".join(printable(as_words(word)) for word in first if word))
        if words := each.title or each.prompt:
            print_text(f"    {one_line(words, 100)}")
        if each.copy_of:
            has = "had" if each.is_purged else "has"
            print_text(f"    a copy of {printable(short[f'session:{each.copy_of}'])}, which {has} all of its turns")
    return _status_of(found)


def _status_of(found: "list[SessionEntry]") -> int:
    """Names the sessions that cannot be read, and returns the exit status of the list."""
    broken = [each for each in found if each.problem is not None]
    for each in broken:
        note(f"{printable(each.ref)}: {each.problem}; `tt verify` says more")
    return Exit.REFUSED if broken else Exit.DONE if found else Exit.FINDINGS


def _when(each: "SessionEntry") -> str:
    """Returns when the last turn of a session was; of one without a time, why there is none."""
    without = "purged" if each.is_purged else "undated" if each.turns else "copy"
    return each.ended[:16].replace("T", " ") if each.ended else without


def _thousands(number: int) -> str:
    return str(number) if number < 1000 else f"{number / 1000:.1f}k" if number < 10_000 else f"{number // 1000}k"


def _turn_row(view: "TurnView") -> dict[str, Any]:
    return {"ref": view.ref, "time": view.time, "role": view.role, "text": view.text}


def one_line(text: str | None, width: int = 60) -> str:
    """Returns the beginning of a text on one line; a text that is None was purged."""
    words = "(purged)" if text is None else " ".join(text[: 4 * width].split())
    return printable(words if len(words) <= width else words[: width - 1] + "…")


@click.command()
@click.argument("reference")
@json_option
@click.pass_context
def show(ctx: click.Context, reference: str, as_json: bool) -> int:
    """Show what a reference names: a turn, a session, a manifest, a run, a claim, a snapshot or evidence."""
    base = open_base(ctx)
    shown = base.show(reference)
    if as_json:
        print_json(shown)
        return Exit.DONE
    text, outline = shown.pop("text", None), shown.pop("outline", None)
    for name, value in shown.items():
        print_text(f"{name:13} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    if text is not None:
        print_text(f"\n{text}")
    if outline is not None:
        _print_outline(base, outline)
    return Exit.DONE


_MOST_FILES = 20


def _print_outline(base: "Slicebase", outline: dict[str, Any]) -> None:
    """Prints the prompts, decisions and compactions of a session in their order, and its files."""
    print_text()
    short = shortened(base, [each["ref"] for each in outline["steps"]])
    for each in outline["steps"]:
        time = (each["time"] or "undated")[:16].replace("T", " ")
        print_text(f"{time}  {each['kind']:10}  {one_line(each['text'], 100)}")
        print_text(f"    {short[each['ref']]}")
    files = outline["files"]
    if files:
        print_text("\nfiles")
    for each in files[:_MOST_FILES]:
        print_text(
            f"    {printable(each['path'])}  ({counted(each['changes'], 'change')}, {counted(each['calls'], 'call')})"
        )
    if len(files) > _MOST_FILES:
        note(f"{_MOST_FILES} of {len(files)} files; --json lists all")
