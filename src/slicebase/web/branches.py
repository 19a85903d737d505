"""The branches of a session for a page without a server: each turn once, and the paths through them.

A server reads a branch in windows around a turn (`graph.reading`). Here are all of them: the path through a turn leads
from the root over the turn to the newest one below it, so that turns of one path share it below the fork.
"""

from itertools import dropwhile
from typing import TYPE_CHECKING, Any, Final

import msgspec

from slicebase.verbs.chat import MOST_TURNS

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from slicebase.base import Slicebase
    from slicebase.verbs.chat import TurnShown

_MOST_PATHS: Final = 200


def branches_of(memory: "Slicebase", turns: "Sequence[str]") -> dict[str, Any]:
    """Returns the turns by their ids, the paths as ids with whether a turn is beside it, and the path of each turn.

    After 200 paths, the turns of further ones are left out.
    """
    known = set(turns)
    shown: dict[str, Any] = {}
    paths: list[list[tuple[str, bool]]] = []
    path_of: dict[str, int] = {}
    for turn in turns:
        if turn in path_of:
            continue
        if len(paths) < _MOST_PATHS:
            window = _path(memory, turn, known)
            first = window[0].turn if window else turn
            above = _until(paths[path_of[first]], first) if first in path_of else []
            path = [*above, *((each.turn, each.beside) for each in window if each.turn in known)]
            paths.append(path)
            shown.update((each.turn, msgspec.to_builtins(each)) for each in window if each.turn in known)
            for each, beside in path[len(above) :]:
                if not beside:
                    path_of.setdefault(each, len(paths) - 1)
            path_of.setdefault(turn, len(paths) - 1)
    return {"turns": dict(sorted(shown.items())), "paths": paths, "path_of": dict(sorted(path_of.items()))}


def _path(memory: "Slicebase", turn: str, known: "Set[str]") -> "list[TurnShown]":
    """Returns the turn above a turn, the turn itself, and the path below it, as far as it is known."""
    window = memory.graph.reading(turn, 1, MOST_TURNS)
    found = list(dropwhile(lambda each: each.beside, window.turns))  # the path above has what is beside it
    while window.later:
        last = next(each for each in reversed(found) if not each.beside)
        if last.turn not in known:
            break
        window = memory.graph.reading(last.turn, 0, MOST_TURNS, alone=False)
        have = {each.turn for each in found}
        found += [each for each in window.turns if each.turn not in have]
    return found


def _until(path: "Sequence[tuple[str, bool]]", turn: str) -> list[tuple[str, bool]]:
    """Returns the part of a path that is above a turn."""
    names = [name for name, _ in path]
    return list(path[: names.index(turn)]) if turn in names else []
