"""Links subagents to the turns that started them, also where they come in different imports (ruling 13).

What cannot be linked yet is kept in facts of the sessions that it is about: `started` has the turns of a session that
started agents which have not come, and `waits` the first turn of an agent's session, each by the keys of the agent.
"""

from collections.abc import Iterator
from typing import Any

from slicebase.graph.session import STARTED_FACT, WAITS_FACT
from slicebase.graph.turn import Session
from slicebase.history.account import Account, link_edges
from slicebase.importers.subagents import SUBAGENT, Agents, base_of
from slicebase.importers.values import KnownAgents, StarterKey
from slicebase.truth.truth import Truth


def link_agents(truth: Truth, account: Account, known: KnownAgents) -> None:
    """Links what was read about agents to what earlier imports left, and keeps what is not linked now."""
    bases = {key[1] for key, _ in (*known.starters, *known.waiting)}
    if not bases:
        return
    with truth.database.writing():
        sessions = [session for base in sorted(bases) for session in _family(truth, base)]
        agents = Agents()
        edges = [edge for each in (*map(_stored, sessions), known) for edge in agents.merge(each)]
        link_edges(truth, account, edges)
        pending = _without_linked(truth, agents.pending)
        _keep(truth, sessions, pending)
    account.waiting += len(_roots(known) & _roots(pending))


def _without_linked(truth: Truth, pending: KnownAgents) -> KnownAgents:
    """Returns what is pending without the first turns that were linked before, as by the progress of the agent."""
    linked = {root for root in _roots(pending) if any(kind == "reference" for _, kind in truth.turns.parents_of(root))}
    waiting = [(key, [root for root in roots if root not in linked]) for key, roots in pending.waiting]
    return pending._replace(waiting=waiting)


def _roots(known: KnownAgents) -> set[str]:
    return {root for _, roots in known.waiting for root in roots}


def _family(truth: Truth, base: str) -> Iterator[Session]:
    """Yields a session and those of its agents, as far as they are stored."""
    names = [base] if truth.turns.newest_record(base) else []
    return map(truth.turns.session, [*names, *truth.turns.names(base + SUBAGENT)])


def _stored(session: Session) -> KnownAgents:
    base = base_of(session.id)
    starters = [(_key(code, base), turn) for code, turn in _fact(session, STARTED_FACT).items()]
    return KnownAgents(starters, [(_key(code, base), [root]) for code, root in _fact(session, WAITS_FACT).items()])


def _fact(session: Session, name: str) -> dict[str, Any]:
    fact = session.facts.get(name)
    return fact if isinstance(fact, dict) else {}


def _keep(truth: Truth, sessions: list[Session], pending: KnownAgents) -> None:
    """Keeps what is pending in the facts of the sessions in which these turns are.

    A turn that was copied is in another session. Then it is kept in the session of the user that has the copy.
    """
    roots = [(key, root) for key, each in pending.waiting for root in each]
    homes = truth.turns.find({turn for _, turn in (*pending.starters, *roots)})
    facts: dict[str, dict[str, dict[str, str]]] = {each.id: {STARTED_FACT: {}, WAITS_FACT: {}} for each in sessions}
    for name, pairs in ((STARTED_FACT, pending.starters), (WAITS_FACT, roots)):
        for key, turn in pairs:
            home = homes[turn].record.session if turn in homes else ""
            kept = facts.get(home if base_of(home) == key[1] else key[1])
            if home and kept is not None:
                kept[name][_code(key)] = turn
    for session in sessions:
        changed = {name: fact for name, fact in facts[session.id].items() if fact != _fact(session, name)}
        if changed:
            truth.turns.add(Session(session.id, session.format, facts=changed), ())


def _code(key: StarterKey) -> str:
    kind, _, name = key
    return f"{kind} {name}"


def _key(code: str, base: str) -> StarterKey:
    kind, _, name = code.partition(" ")
    return kind, base, name
