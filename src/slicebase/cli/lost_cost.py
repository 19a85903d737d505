"""`tt lost --cost`: what an agent looked up again after a compaction."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from slicebase.cli.output import BOLD, YELLOW, Styled, note, print_json, print_text, printable
from slicebase.core.times import known_time
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


def print_cost(base: "Slicebase", session: str | None, limit: int, as_json: bool) -> None:
    """Prints what was looked up again after each compaction of a session, with the places."""
    found = base.lost_cost(session)
    name = found[0].session
    if as_json:
        print_json({"session": name, "compactions": [_as_json(each, limit) for each in found]})
        return
    refs = {ref for each in found for again in each.dearest for ref in (again.first.ref, again.again.ref)}
    short = shortened(base, {*refs, f"session:{name}"})
    for each in found:
        print_text(f"{short[f'session:{name}']}, compaction at {known_time(each.summary.time) or 'an unknown time'}.")
        print_text(Styled(f"After it {sentence(each)}.", BOLD))
        if each.named:
            print_text(
                f"{_counted(each.named)}, too, although the summary names {'it' if len(each.named) == 1 else 'them'}."
            )
        again = each.dearest
        for one in again[:limit]:
            _print_one(one, short)
        if len(again) > limit:
            note(f"… and {len(again) - limit} more: --limit {len(again)} lists them all.")


def sentence(cost: "Cost") -> str:
    """Returns how much was looked up again that the summary does not name, as the rest of a sentence."""
    if not cost.repeated:
        return "nothing was looked up again that the summary does not name"
    about = f", about {_rounded(cost.tokens):,} tokens" if cost.tokens else ""
    return _counted(cost.repeated) + about


def _counted(found: "Sequence[Repeated]") -> str:
    counts = Counter(each.first.kind for each in found)
    return ", ".join(
        one if counts[kind] == 1 else many.format(counts[kind]) for kind, (one, many) in _COUNTS.items() if counts[kind]
    )


def _rounded(number: int) -> int:
    return number if number < 1000 else round(number, 1 - len(str(number)) + 1)


def _print_one(again: "Repeated", short: Mapping[str, str]) -> None:
    words = " ".join(again.first.what.split())
    words = printable(words if len(words) <= _WIDTH else "…" + words[1 - _WIDTH :])
    named = ", named in the summary" if again.in_summary else ""
    size = "1 token" if again.tokens == 1 else f"{again.tokens:,} tokens"
    print_text(Styled(again.first.kind, YELLOW), f", {size}{named}: {words}")
    print_text(f"    {short[again.first.ref]}, again {short[again.again.ref]}")


def _as_json(cost: "Cost", limit: int) -> dict[str, Any]:
    return {
        "summary": f"turn:{cost.summary.id}",
        "time": known_time(cost.summary.time),
        "counts": {kind: cost.count(kind) for kind in _COUNTS},
        "tokens": cost.tokens,
        "again": [
            {
                "kind": each.first.kind,
                "what": each.first.what,
                "tokens": each.tokens,
                "in_summary": each.in_summary,
                "ref": each.first.ref,
                "again": [each.again.ref],
            }
            for each in cost.dearest[:limit]
        ],
        "more": max(0, len(cost.repeated) + len(cost.named) - limit),
    }
