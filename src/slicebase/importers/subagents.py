"""Links between subagents and the turns that started them (ruling 13)."""

from collections.abc import Iterator
from typing import Any, Final

from slicebase.core.hashing import digest
from slicebase.graph.turn import Edge
from slicebase.importers.blocks import as_text
from slicebase.importers.values import KnownAgents, StarterKey

SUBAGENT: Final = "#agent-"  # between the name of a session and the id of an agent that it started


_RELIABLE: Final = ("agent", "run", "prompt")  # kinds of keys, most reliable first


class Agents:
    """Links the first turns of agents' sessions to the turns that started them, in whichever order they are read."""

    def __init__(self, known: KnownAgents | None = None) -> None:
        self._starters: dict[StarterKey, str] = dict(known.starters if known else ())
        self._waiting: dict[StarterKey, list[str]] = dict(known.waiting if known else ())

    @property
    def known(self) -> KnownAgents:
        """What is known: the state from which another object can continue."""
        return KnownAgents(list(self._starters.items()), list(self._waiting.items()))

    def merge(self, known: KnownAgents) -> Iterator[Edge]:
        """Adds what was read from one file, and yields the edges between its agents and those of other files."""
        keys_of: dict[str, list[StarterKey]] = {}
        for key, roots in known.waiting:
            for root in roots:
                keys_of.setdefault(root, []).append(key)
        for key, turn in known.starters:
            yield from self.started(key, turn)
        for root, keys in keys_of.items():
            yield from self.root(sorted(keys, key=lambda key: _RELIABLE.index(key[0])), root)

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
