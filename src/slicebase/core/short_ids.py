"""Short ids: a prefix of at least eight characters that names one thing (ruling 53). They are never stored."""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from slicebase.errors import SlicebaseError

SHORTEST_ID: Final = 8  # characters; those of a prefix such as `mf_` do not count
_MOST_SHOWN: Final = 5  # ids in a hint

# Ids that a program made: a ULID, a UUID or the digits of a hash. A name that a person chose is shown whole.
_MADE: Final = re.compile(
    r"(from-|ev_|mf_|sn_|)"
    r"(?:[0-7][0-9A-HJKMNP-TV-Z]{25}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32})"
)
_BEGUN: Final = re.compile(r"(?:from-)?(?:[0-7][0-9A-HJKMNP-TV-Z]{7,24}|[0-9a-f]{8}[0-9a-f-]{0,27})")


def is_made(name: str) -> bool:
    """Returns whether a program made this id, so that it is shown short."""
    return _MADE.fullmatch(name) is not None


def may_be_short(name: str) -> bool:
    """Returns whether this could be the short form of an id that a program made."""
    return _BEGUN.fullmatch(name) is not None and not is_made(name)


def shared(one: str, other: str) -> int:
    """Returns how many characters at the beginning of two texts are the same."""
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return at
    return min(len(one), len(other))


def short_id(whole: str, neighbours: Iterable[str | None]) -> str:
    """Returns the shortest prefix of an id that names it alone.

    `neighbours` are the ids before and after it in the order of text, if there are any: no other id shares a longer
    beginning with it.
    """
    return _cut(whole, max((shared(whole, other) for other in neighbours if other not in (None, whole)), default=0))


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """Returns the short forms of all ids of a kind."""
    ordered = sorted(set(ids))
    alike = [0, *(shared(one, other) for one, other in pairwise(ordered)), 0]
    return {whole: _cut(whole, max(alike[at : at + 2])) for at, whole in enumerate(ordered)}


def _cut(whole: str, alike: int) -> str:
    """Returns the beginning of an id, of which another one has so many characters, too."""
    made = _MADE.fullmatch(whole)
    if not made:
        return whole
    end = max(made.end(1) + SHORTEST_ID, alike + 1)
    return whole[: end + 1] if whole[end - 1 : end] == "-" else whole[:end]


def the_only(given: str, found: Iterable[str], what: str, head: int = 0) -> str | None:
    """Returns the only id that begins with what was given; None if none does.

    `what` names the kind, in the plural. `head` is the length of a prefix such as `mf_` in what was given. Raises
    `ambiguous-id` for several, and `short-id` for a prefix that is too short to be relied on tomorrow.
    """
    ids = sorted(set(found))
    if not ids:
        return None
    shown = ", ".join(ids[:_MOST_SHOWN]) + (", …" if len(ids) > _MOST_SHOWN else "")
    if len(given) - head < SHORTEST_ID:
        message = f"{given} is too short: give at least {SHORTEST_ID} characters of an id"
        raise SlicebaseError("short-id", message, hint=f"it may be {shown}")
    if len(ids) > 1:
        raise SlicebaseError("ambiguous-id", f"{len(ids)} {what} have an id that begins with {given}", hint=shown)
    return ids[0]
