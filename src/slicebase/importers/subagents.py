"""Which turn started which subagent (ruling 13)."""

from collections.abc import Iterable, Iterator
from typing import Any

from slicebase.core.hashing import digest
from slicebase.graph.turn import Edge
from slicebase.importers.blocks import as_text

Key = tuple[str, ...]


class Agents:
    """Joins the roots of agents' sessions with the turns that started them, whichever is read first."""

    def __init__(self, starters: Iterable[tuple[Key, str]] = (), waiting: Iterable[tuple[Key, list[str]]] = ()) -> None:
        self._starters: dict[Key, str] = dict(starters)
        self._waiting: dict[Key, list[str]] = dict(waiting)

    @property
    def known(self) -> tuple[list[tuple[Key, str]], list[tuple[Key, list[str]]]]:
        """What makes another one that goes on from here."""
        return list(self._starters.items()), list(self._waiting.items())

    def started(self, key: Key, turn: str) -> Iterator[Edge]:
        """A turn that started the agent, the run or the agent with a prompt that the key names."""
        self._starters[key] = turn
        roots = self._waiting.pop(key, [])
        for root in roots:
            yield Edge(turn, root, "reference")
        for waiting in self._waiting.values():
            waiting[:] = [root for root in waiting if root not in roots]

    def root(self, keys: list[Key], root: str) -> Iterator[Edge]:
        """The first turn of an agent's session, and the keys by which its starter may be known, surest first."""
        for key in keys:
            if key in self._starters:
                yield Edge(self._starters[key], root, "reference")
                return
        for key in keys:
            self._waiting.setdefault(key, []).append(root)


def prompt_key(session: str, prompt: Any) -> Key:
    return ("prompt", session, digest(as_text(prompt).strip().encode()))
