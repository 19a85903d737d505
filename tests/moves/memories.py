"""Workspaces with everything that a real one has, for tests of moves."""

from pathlib import Path
from typing import Any

from slicebase import Slicebase
from slicebase.moves.restoration import Restored
from tests.paths import PROJECT

SAMPLES = PROJECT / "src" / "slicebase" / "samples"
SHORT = "claude-code-session.jsonl"
LONG = "long-session.jsonl"


def filled(root: Path) -> Slicebase:
    """Returns an open workspace with sessions, runs, contexts, evidence, purges, policies and slice files."""
    memory = Slicebase.init(root)
    memory.import_([SAMPLES / SHORT, SAMPLES / LONG])
    log = memory.library.create("Decisions", "What was decided.", type="jsonl").id
    for number in range(3):
        memory.library.remember(log, f"Decision {number} stands.")
    memory.library.forget(memory.library.create("Old", "Forgotten.", body="a page").id)
    document = root / "notes.txt"
    document.write_text("A document that can be cited, with a few words in it.\n")
    memory.add(document, copy=True)
    memory.context("how are codes compared?", tokens=800)
    sessions = [session.id for session, _ in memory.truth.turns.sessions()]
    for session in sessions:
        memory.narrate_session(session)
    turn = memory.truth.turns.last_of(sessions[0])
    evidence = memory.cite(f"turn:{turn}", span=(0, 20))
    memory.runs.start("own", "Find it.", "It is found.")
    memory.runs.claim("own", "It is there.", cite=[evidence.evidence_id])
    memory.runs.log("own", [{"type": "OBSERVE_DONE", "step": 1, "payload": {"text": "x" * 70_000}}])
    memory.runs.compact("own")
    memory.policies.save("mine", "focused", ["max_nodes=7"])
    memory.seal()
    return memory


def restored(source: Path, folder: Path) -> Restored:
    """Restores a backup in a folder."""
    folder.mkdir(exist_ok=True)
    with Slicebase.open(folder, folder) as memory:
        return memory.restore_backup(source)


def purge_something(memory: Slicebase) -> None:
    """Purges a turn, a run and a slice file."""
    turns = [stored.record.id for stored in memory.truth.turns.of_session(first_session(memory))]
    memory.purge(f"turn:{turns[3]}", reason="a test")
    memory.runs.start("gone", "Something private.", "It is gone.")
    memory.purge("run:gone")


def first_session(memory: Slicebase) -> str:
    return min(session.id for session, _ in memory.truth.turns.sessions())


def everything(memory: Slicebase) -> dict[str, Any]:
    """Returns all rows of the truth but for acts and the log, by table."""
    connection = memory.truth.database.connection
    tables = (
        "sessions", "turns", "links", "annotations", "events", "snapshots", "blobs", "policies", "policy_names",
        "manifests", "evidence", "texts", "waiting", "runs", "steps", "items",
    )  # fmt: skip
    return {table: sorted(map(repr, connection.execute(f"SELECT * FROM {table}"))) for table in tables}


def library(memory: Slicebase) -> dict[str, bytes]:
    """Returns the files of the library by their paths."""
    root = memory.workspace.library
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
