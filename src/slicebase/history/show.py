"""Shows what is stored under a reference as plain values, for people and programs.

A session can also be exported as a conversation slice file that imports to the same ids and branches.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import msgspec

from slicebase.core.refs import parse
from slicebase.core.times import known_time
from slicebase.errors import SlicebaseError
from slicebase.files.create import new_file
from slicebase.files.model import Conversation
from slicebase.files.slice_file import SliceFile
from slicebase.graph.binary32 import shortest
from slicebase.graph.record import read_parts
from slicebase.graph.session import copy_hint, fact, resume_command
from slicebase.graph.turn import Edge, Turn, turn_text
from slicebase.importers.conversation import export_conversation
from slicebase.truth.truth import Truth


def _turn(truth: Truth, name: str) -> dict[str, Any]:
    seq, record = truth.turns.get(name)
    stored = truth.texts.get(f"session:{record.session}", record.content_hash)
    with truth.sessions.around(name) as graph:
        shown, children = graph.get_turn(name), graph.children(name)
    return {
        "session": record.session,
        "number": seq,
        "role": record.role,
        "time": known_time(record.time),
        "phase": shown.phase,
        "salience": float(shortest(shown.salience)),
        "parents": sorted(f"{kind} turn:{parent}" for parent, kind in truth.turns.parents_of(name)),
        "children": [f"turn:{child}" for child in children],
        "content_hash": record.content_hash,
        "source_hash": record.source_hash,
        "purged": stored.purged if stored else None,
        "text": turn_text(read_parts(stored.data)) if stored and stored.data is not None else None,
    }


def _session(truth: Truth, name: str) -> dict[str, Any]:
    from slicebase.context.outline import outline  # imported here for a fast start: it needs the rules of `tt lost`

    session = truth.turns.session(name)
    turns = [truth.with_content(stored.record) for stored in truth.turns.of_session(name)]
    return {
        "format": session.format,
        "title": session.title,
        "model": fact(session, "model"),
        "resume": resume_command(session),
        "turns": len(turns),
        "facts": session.facts,
        "outline": outline(turns),
    }


def _manifest(truth: Truth, name: str) -> dict[str, Any]:
    recorded = truth.manifests.get(f"mf_{name}")
    manifest: dict[str, Any] = msgspec.to_builtins(recorded.manifest)
    return {"recorded": recorded.time, **manifest}


def _evidence(truth: Truth, name: str) -> dict[str, Any]:
    record = truth.ledger.get(f"ev_{name}")
    if record is None:
        raise SlicebaseError("no-evidence", f"the ledger has no ev_{name}", hint="`tt cite` adds evidence to it")
    evidence: dict[str, Any] = msgspec.to_builtins(record)
    quote = evidence.pop("quote")
    return {**evidence, "text": quote}


def _run(truth: Truth, name: str) -> dict[str, Any]:
    tally, terms = truth.runs.log.tally(name), truth.runs.log.started(name)
    counts = {"events": tally.seq, "snapshots": tally.sequence, "updated": tally.updated, "stopped": tally.stopped}
    return {**counts, **msgspec.to_builtins(terms)}


def _claim(truth: Truth, name: str) -> dict[str, Any]:
    run_id, _, claim_id = name.partition("/")
    claim = truth.runs.state(run_id).claims.get(claim_id)
    if claim is None:
        raise SlicebaseError("no-item", f"run:{run_id} has no claim {claim_id}", hint="`tt run status` lists them")
    return {**deepcopy(claim), "text": claim.get("statement")}  # the state keeps its own


def _snapshot(truth: Truth, name: str) -> dict[str, Any]:
    return truth.runs.snapshots.find(f"sn_{name}").snapshot


SHOWN: Mapping[str, Callable[[Truth, str], dict[str, Any]]] = {
    "turn": _turn,
    "session": _session,
    "mf": _manifest,
    "ev": _evidence,
    "run": _run,
    "claim": _claim,
    "sn": _snapshot,
}


def show(truth: Truth, reference: str) -> dict[str, Any]:
    """Returns what a reference names, as plain values."""
    ref = parse(reference)
    if ref.kind not in SHOWN:
        raise SlicebaseError(
            "bad-reference", f"{reference!r} cannot be shown", hint="`tt recall` shows files, rows and sections"
        )
    return {"ref": str(ref), **SHOWN[ref.kind](truth, ref.name)}


def export_session(truth: Truth, session: str, file_id: str) -> SliceFile:
    """Returns a session as a slice file. Refuses a session with purged texts: they cannot be exported."""
    described, turns = truth.turns.session(session), list[Turn]()
    for stored in truth.turns.of_session(session):
        text = truth.texts.get(f"session:{session}", stored.record.content_hash)
        turn = truth.turn(stored.record.id)
        if turn is None or text is None or text.data is None:
            raise SlicebaseError("purged", f"the text of turn:{stored.record.id} was purged")
        turns.append(turn)
    if not turns:
        raise SlicebaseError("no-turn", f"session:{session} has no turns of its own", hint=copy_hint(described))
    links = [Edge(link.parent, link.child, link.type) for link in truth.turns.links_of(session)]
    header, lines = export_conversation(described, turns, links)
    return new_file(
        id=file_id,
        title=header["title"],
        summary=header["summary"],
        body_type="conversation",
        conversation=Conversation(**header["body"]["conversation"]),
        meta=header["meta"],
        body=b"".join(lines),
    )
