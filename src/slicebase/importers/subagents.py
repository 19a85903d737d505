"""Links between subagents and the turns that started them (ruling 13)."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from slicebase.core.hashing import digest
from slicebase.graph.turn import Edge
from slicebase.importers.blocks import as_text

StarterKey = tuple[str, ...]
SUBAGENT: Final = "#agent-"  # between the name of a session and the id of an agent that it started


class Agents:
    """Links the first turns of agents' sessions to the turns that started them, in whichever order they are read."""

    def __init__(
        self, starters: Iterable[tuple[StarterKey, str]] = (), waiting: Iterable[tuple[StarterKey, list[str]]] = ()
    ) -> None:
        self._starters: dict[StarterKey, str] = dict(starters)
        self._waiting: dict[StarterKey, list[str]] = dict(waiting)

    @property
    def known(self) -> tuple[list[tuple[StarterKey, str]], list[tuple[StarterKey, list[str]]]]:
        """The state from which another object can continue: its arguments."""
        return list(self._starters.items()), list(self._waiting.items())

    def started(self, key: StarterKey, turn: str) -> Iterator[Edge]:
        """Adds a turn that started an agent, and yields the edges to the agent's first turns.

        The key names the agent, its run or its prompt.
        """
        self._starters[key] = turn
        roots = self._waiting.pop(key, [])
        for root in roots:
            yield Edge(turn, root, "reference")
        for waiting in self._waiting.values():
            waiting[:] = [root for root in waiting if root not in roots]

    def root(self, keys: list[StarterKey], root: str) -> Iterator[Edge]:
        """Adds the first turn of an agent's session, and yields the edge from the turn that started it.

        The keys are those under which that turn may be known, most reliable first.
        """
        for key in keys:
            if key in self._starters:
                yield Edge(self._starters[key], root, "reference")
                return
        for key in keys:
            self._waiting.setdefault(key, []).append(root)


def is_subagent(session: str) -> bool:
    """Returns whether a session is that of a subagent."""
    return SUBAGENT in session


def prompt_key(session: str, prompt: Any) -> StarterKey:
    """Returns the key of an agent that is known only by its prompt."""
    return ("prompt", session, digest(as_text(prompt).strip().encode()))
