"""`tt lost --cost`: what an agent looked up again after a compaction."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from slicebase.cli.output import BOLD, YELLOW, Styled, note, print_json, print_text, printable
from slicebase.core.times import to_text
from slicebase.verbs.names import shortened

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.context.rediscovery import LookupKind, Repeated
    from slicebase.verbs.lost import Cost

_COUNTS: "Final[Mapping[LookupKind, tuple[str, str]]]" = {
    "file": ("1 file was read again", "{} files were read again"),
    "search": ("1 search was repeated", "{} searches were repeated"),
    "command": ("1 command was run again", "{} commands were run again"),
    "question": ("1 question was asked again", "{} questions were asked again"),
}
_WIDTH: Final = 120


def print_cost(base: "Slicebase", session: str, limit: int, as_json: bool) -> None:
    """Prints what was looked up again after each compaction of a session, with the places."""
    found = base.lost_cost(session)
    if as_json:
        print_json({"session": session, "compactions": [_as_json(each, limit) for each in found]})
        return
    refs = {ref for each in found for again in each.repeated for ref in (again.first.ref, again.again[0].ref)}
    short = shortened(base, {*refs, f"session:{session}"})
    for each in found:
        print_text(f"{short[f'session:{session}']}, compaction at {to_text(each.summary.time)}.")
        print_text(Styled(f"After it {sentence(each)}.", BOLD))
        for again in _dearest(each)[:limit]:
            _print_one(again, short)
        if len(each.repeated) > limit:
            note(f"… and {len(each.repeated) - limit} more: --limit {len(each.repeated)} lists them all.")


def sentence(cost: "Cost") -> str:
    """Returns how much was looked up again, as the rest of a sentence."""
    counts = [
        one if count == 1 else many.format(count)
        for kind, (one, many) in _COUNTS.items()
        if (count := cost.count(kind))
    ]
    if not counts:
        return "nothing was looked up again"
    about = f", about {_rounded(cost.tokens):,} tokens" if cost.tokens else ""
    return ", ".join(counts) + about


def _rounded(number: int) -> int:
    return number if number < 1000 else round(number, 1 - len(str(number)) + 1)


def _dearest(cost: "Cost") -> "list[Repeated]":
    return sorted(cost.repeated, key=lambda each: (-each.tokens, each.first.kind, each.first.what))


def _print_one(again: "Repeated", short: Mapping[str, str]) -> None:
    words = " ".join(again.first.what.split())
    words = printable(words if len(words) <= _WIDTH else "…" + words[1 - _WIDTH :])
    named = "" if again.in_summary else ", not in the summary"
    print_text(Styled(again.first.kind, YELLOW), f", {again.tokens:,} tokens{named}: {words}")
    print_text(f"    {short[again.first.ref]}, again {short[again.again[0].ref]}")


def _as_json(cost: "Cost", limit: int) -> dict[str, Any]:
    return {
        "summary": f"turn:{cost.summary.id}",
        "time": to_text(cost.summary.time),
        "counts": {kind: cost.count(kind) for kind in _COUNTS},
        "tokens": cost.tokens,
        "again": [
            {
                "kind": each.first.kind,
                "what": each.first.what,
                "tokens": each.tokens,
                "in_summary": each.in_summary,
                "ref": each.first.ref,
                "again": [one.ref for one in each.again],
            }
            for each in _dearest(cost)[:limit]
        ],
        "more": max(0, len(cost.repeated) - limit),
    }
