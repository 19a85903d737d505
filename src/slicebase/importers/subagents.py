"""Links between subagents and the turns that started them (ruling 13).

A turn that starts an agent, and the first turn of the agent, have keys in common: the agent's id, the id of its run, or
its prompt. They may be in one file, in two, or in files of different imports. Keys hold digests only.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from slicebase.core.hashing import digest
from slicebase.graph.turn import Edge, Part
from slicebase.importers.blocks import as_name, as_text
from slicebase.importers.values import KnownAgents, StarterKey

SUBAGENT: Final = "#agent-"  # between the name of a session and the id of an agent that it started
_AGENT_TOOLS: Final = frozenset({"Agent", "Task"})
_STARTING: Final = _AGENT_TOOLS | {"Skill"}  # tools whose calls an agent's progress may name
_OWN_NAME: Final = "session"  # the kind of the keys of an agent whose session has a name of its own
_RELIABLE: Final = (_OWN_NAME, "agent", "run", "prompt")  # kinds of keys, most reliable first


def agent_key(kind: str, session: str, name: Any) -> StarterKey:
    """Returns the key of an agent in a session: by its id, by its run, or by its prompt."""
    return (kind, session, digest(as_text(name).strip().encode("utf-8", "replace"))[-32:])


def session_keys(parent: str, agent: str) -> list[StarterKey]:
    """Returns the keys of an agent whose session has a name of its own: in the session that started it, and in its own.

    Either session may be stored first, and keeps one of them.
    """
    return [(_OWN_NAME, parent, agent), (_OWN_NAME, agent, agent)]


def is_subagent(session: str) -> bool:
    """Returns whether a session is that of a subagent."""
    return SUBAGENT in session


def base_of(session: str) -> str:
    """Returns the session of the user in which an agent was started, by another agent or not."""
    return session.partition(SUBAGENT)[0]


class Agents:
    """Links the first turns of agents' sessions to the turns that started them, in whichever order they are read."""

    def __init__(self, known: KnownAgents | None = None) -> None:
        self._starters: dict[StarterKey, str] = {}
        self._linked: dict[StarterKey, None] = {}  # the starters whose agents were found
        self._waiting: dict[StarterKey, dict[str, None]] = {}
        self._keys: dict[str, list[StarterKey]] = {}  # of each first turn that waits
        if known is not None:
            self._starters.update(known.starters)
            self._linked.update(dict.fromkeys(known.linked))
            for key, roots in known.waiting:
                for root in roots:
                    self._wait(key, root)

    @property
    def known(self) -> KnownAgents:
        """What is known: the state from which another object can continue."""
        waiting = [(key, list(roots)) for key, roots in self._waiting.items()]
        return KnownAgents(list(self._starters.items()), waiting, tuple(self._linked))

    @property
    def pending(self) -> KnownAgents:
        """What is not linked. A run has any number of agents, so what started one is always part of it.

        The prompt of a call does not count once the call is known by the id of its agent.
        """
        named = {turn for (kind, _, _), turn in self._starters.items() if kind != "prompt"}
        sessions = {name for kind, _, name in self._linked if kind == _OWN_NAME}  # each has two keys
        starters = [
            (key, turn)
            for key, turn in self._starters.items()
            if (key[0] == "run" or key not in self._linked)
            and not (key[0] == "prompt" and turn in named)
            and not (key[0] == _OWN_NAME and key[2] in sessions)
        ]
        return self.known._replace(starters=starters, linked=())

    def merge(self, known: KnownAgents) -> Iterator[Edge]:
        """Adds what was read elsewhere, and yields the edges between its agents and those known here."""
        keys_of: dict[str, list[StarterKey]] = {}
        for key, roots in known.waiting:
            for root in roots:
                keys_of.setdefault(root, []).append(key)
        for key, turn in known.starters:
            yield from self.started(key, turn)
        self._linked.update(dict.fromkeys(known.linked))
        for root, keys in keys_of.items():
            yield from self.root(sorted(keys, key=lambda key: _RELIABLE.index(key[0])), root)

    def started(self, key: StarterKey, turn: str) -> Iterator[Edge]:
        """Adds a turn that started an agent, and yields the edges to the agent's first turns.

        A later turn with the same id resumed the agent; one with the same prompt started another agent.
        """
        if key[0] != "prompt":
            turn = self._starters.setdefault(key, turn)
        elif self._starters.get(key) != turn:
            self._starters[key] = turn
            self._linked.pop(key, None)
        for root in tuple(self._waiting.get(key, ())):
            self._linked[key] = None
            for other in self._keys.pop(root):
                del self._waiting[other][root]
                if not self._waiting[other]:
                    del self._waiting[other]
            yield Edge(turn, root, "reference")

    def root(self, keys: list[StarterKey], root: str) -> Iterator[Edge]:
        """Adds the first turn of an agent's session, and yields the edge from the turn that started it.

        The keys are those under which that turn may be known, most reliable first.
        """
        for key in keys:
            if key in self._starters:
                self._linked[key] = None
                yield Edge(self._starters[key], root, "reference")
                return
        for key in keys:
            self._wait(key, root)

    def _wait(self, key: StarterKey, root: str) -> None:
        if root not in self._waiting.setdefault(key, {}):
            self._waiting[key][root] = None
            self._keys.setdefault(root, []).append(key)


class AgentCalls:
    """The calls in one file that start agents. A call is known by its prompt until the agent's id is."""

    def __init__(
        self,
        agents: Agents,
        prompts: dict[str, tuple[StarterKey, str]] | None = None,
        turns: dict[str, str] | None = None,
    ) -> None:
        self.agents = agents
        self.prompts = {} if prompts is None else prompts  # of calls whose agents' ids are not known
        self.turns = {} if turns is None else turns  # of all calls: the progress of an agent may come after its result

    def called(self, parts: Iterable[Part], session: str, turn: str) -> None:
        """Adds the calls of a turn."""
        for part in parts:
            if part.type != "tool_call" or part.name not in _STARTING:
                continue
            self.turns[part.call_id or turn] = turn
            if part.name in _AGENT_TOOLS and isinstance(part.arguments, dict):
                prompt = agent_key("prompt", session, part.arguments.get("prompt"))
                self.prompts[part.call_id or turn] = prompt, turn

    def returned(self, result: Any, calls: Iterable[str], turns: list[str], session: str) -> Iterator[Edge]:
        """Adds the result of calls that stand in these turns. It names the agent or its run; or the prompt counts."""
        prompts = [self.prompts.pop(call) for call in calls if call in self.prompts]
        names = [(kind, as_name(result.get(field))) for field, kind in _NAMED] if isinstance(result, dict) else []
        keys = [agent_key(kind, session, name) for kind, name in names if name is not None and turns]
        for key, turn in [(key, turns[0]) for key in keys] or prompts:
            yield from self.agents.started(key, turn)

    def progressed(self, agent: str, call: str, turn: str, session: str) -> Iterator[Edge]:
        """Adds the progress of an agent, which names the call that started it."""
        self.prompts.pop(call, None)
        yield from self.agents.started(agent_key("agent", session, agent), turn)

    def end(self) -> Iterator[Edge]:
        """Starts the agents of calls that have no result at the end of the file."""
        while self.prompts:
            yield from self.agents.started(*self.prompts.pop(next(iter(self.prompts))))


_NAMED: Final = (("agentId", "agent"), ("runId", "run"))  # fields of a result, and the kinds of keys in them
