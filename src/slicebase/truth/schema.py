"""The tables of the truth, and their triggers.

A truth table holds records as the canonical bytes that were hashed, next to the keys that find them. The rows of a
chain are numbered without gaps, and the hash of each covers the row and the hash before it. A session has one chain in
each of its tables, a run one of events and one of snapshots, and each other table is one chain. The log is the chain of
all these chains: which head each of them had when (ruling 45). Texts are in a table of their own, so that they can be
purged while the chains stay provable (ruling 19). Triggers forbid every other change and removal.

Derived tables can be filled again from the truth tables, and `verify` compares them.
"""

from collections.abc import Mapping
from typing import Final

# The chains: each table, and the column with the owner of a chain; None if the table is one chain. The columns of a row
# are the owner, its number, its keys, its record and its hash, in this order.
CHAINS: Final[Mapping[str, str | None]] = {
    "sessions": "session",
    "turns": "session",
    "links": "session",
    "annotations": "session",
    "events": "run",
    "snapshots": "run",
    "blobs": None,
    "policies": None,
    "policy_names": None,
    "manifests": None,
    "evidence": None,
    "acts": None,
    "log": None,
}
# The columns of each table between the number of a row and its hash: its keys and its record.
ROW_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "sessions": ("record",),
    "turns": ("turn", "record"),
    "links": ("child", "record"),
    "annotations": ("first", "last", "record"),
    "events": ("payload", "record"),
    "snapshots": ("snapshot", "record"),
    "blobs": ("run", "text"),
    "policies": ("policy", "record"),
    "policy_names": ("name", "record"),
    "manifests": ("manifest", "recorded", "text"),
    "evidence": ("evidence", "chunk", "record"),
    "acts": ("kind", "record"),
    "log": ("chain", "count", "head"),
}
CHAIN_COLUMNS: Final[Mapping[str, str]] = {
    table: ", ".join([*([owner] if owner else []), "seq", *ROW_COLUMNS[table], "hash"])
    for table, owner in CHAINS.items()
}
# Tables in which the second insert of a key adds nothing, each with the columns of its key.
_KEYED: Final[Mapping[str, tuple[str, ...]]] = {
    "texts": ("owner", "hash"),
    "blobs": ("run", "text"),
    "policies": ("policy",),
    "policy_names": ("name",),
    "manifests": ("manifest",),
    "evidence": ("evidence",),
}

_TABLES: Final = """
-- a record names the text with the title and the facts of the session
CREATE TABLE sessions (
  session TEXT NOT NULL, seq INTEGER NOT NULL, record BLOB NOT NULL, hash BLOB NOT NULL,
  PRIMARY KEY (session, seq)
) STRICT;
CREATE TABLE turns (
  session TEXT NOT NULL, seq INTEGER NOT NULL, turn BLOB NOT NULL, record BLOB NOT NULL, hash BLOB NOT NULL,
  PRIMARY KEY (session, seq)
) STRICT;
CREATE INDEX turns_by_id ON turns (turn);
CREATE TABLE links (
  session TEXT NOT NULL, seq INTEGER NOT NULL, child BLOB NOT NULL, record BLOB NOT NULL, hash BLOB NOT NULL,
  PRIMARY KEY (session, seq)
) STRICT;
CREATE INDEX links_by_child ON links (child);
-- a record annotates several turns, whose numbers in the session lie between first and last
CREATE TABLE annotations (
  session TEXT NOT NULL, seq INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  record BLOB NOT NULL, hash BLOB NOT NULL,
  PRIMARY KEY (session, seq)
) STRICT;
CREATE INDEX annotations_by_turn ON annotations (session, last, first);
-- what a run's chain covers (ruling 33); payloads are texts of the run
CREATE TABLE events (
  run TEXT NOT NULL, seq INTEGER NOT NULL, payload BLOB NOT NULL, record BLOB NOT NULL, hash BLOB NOT NULL,
  PRIMARY KEY (run, seq)
) STRICT;
-- a record names the text of the run that holds the snapshot, complete or as what it adds to the one before
CREATE TABLE snapshots (
  run TEXT NOT NULL, seq INTEGER NOT NULL, snapshot TEXT NOT NULL, record BLOB NOT NULL, hash BLOB NOT NULL,
  PRIMARY KEY (run, seq)
) STRICT;
CREATE INDEX snapshots_by_id ON snapshots (snapshot);
-- content of a run that is too large for a payload; the text is one of the run
CREATE TABLE blobs (
  seq INTEGER PRIMARY KEY, run TEXT NOT NULL, text BLOB NOT NULL, hash BLOB NOT NULL, UNIQUE (run, text)
) STRICT;
CREATE TABLE policies (
  seq INTEGER PRIMARY KEY, policy TEXT NOT NULL UNIQUE, record BLOB NOT NULL, hash BLOB NOT NULL
) STRICT;
-- the name of a policy, forever: a record has the hash of the policy, and who gave the name, when, and from what
CREATE TABLE policy_names (
  seq INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, record BLOB NOT NULL, hash BLOB NOT NULL
) STRICT;
-- a manifest's id is made from its bytes, which are a text of the manifest
CREATE TABLE manifests (
  seq INTEGER PRIMARY KEY, manifest TEXT NOT NULL UNIQUE, recorded TEXT NOT NULL, text BLOB NOT NULL,
  hash BLOB NOT NULL
) STRICT;
-- evidence is named by the hash of its record; its quote is a text of the corpus that it was cut from
CREATE TABLE evidence (
  seq INTEGER PRIMARY KEY, evidence TEXT NOT NULL UNIQUE, chunk TEXT NOT NULL, record BLOB NOT NULL,
  hash BLOB NOT NULL
) STRICT;
CREATE INDEX evidence_by_chunk ON evidence (chunk);
-- what was done to the database itself: its creation, its adoptions and restorations, and every purge
CREATE TABLE acts (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, record BLOB NOT NULL, hash BLOB NOT NULL) STRICT;
CREATE INDEX acts_by_kind ON acts (kind);
-- the heads of all other chains, as they were seen after each was written
CREATE TABLE log (
  seq INTEGER PRIMARY KEY, chain TEXT NOT NULL, count INTEGER NOT NULL, head BLOB NOT NULL, hash BLOB NOT NULL
) STRICT;
CREATE INDEX log_by_chain ON log (chain, count);

-- of a purged text, nothing is left, or what remains when purged strings are taken out of it; an act records it
CREATE TABLE texts (
  owner TEXT NOT NULL, hash BLOB NOT NULL, bytes BLOB, purged TEXT,
  PRIMARY KEY (owner, hash),
  CHECK (bytes IS NOT NULL OR purged IS NOT NULL)
) STRICT;
CREATE INDEX texts_purged ON texts (owner) WHERE purged IS NOT NULL;

-- derived: a parent that has not arrived yet, and the turns that wait for it
CREATE TABLE waiting (parent BLOB NOT NULL, child BLOB NOT NULL, PRIMARY KEY (parent, child)) STRICT, WITHOUT ROWID;
-- derived: how large a session is, and the number that stands for it in the next two tables
CREATE TABLE shapes (number INTEGER PRIMARY KEY, session TEXT NOT NULL UNIQUE, turns INTEGER NOT NULL) STRICT;
-- derived: what a slice reads of a turn: its newest annotation, and its parents in the session
CREATE TABLE nodes (
  session INTEGER NOT NULL, seq INTEGER NOT NULL, turn BLOB NOT NULL, time INTEGER NOT NULL, kind INTEGER NOT NULL,
  salience REAL, fields BLOB, annotator TEXT, parents BLOB NOT NULL, PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
-- derived: the children of a turn by phase, highest salience first (the number is negated), then by id
CREATE TABLE families (
  session INTEGER NOT NULL, parent INTEGER NOT NULL, phase INTEGER NOT NULL, negated REAL NOT NULL, turn BLOB NOT NULL,
  seq INTEGER NOT NULL, time INTEGER NOT NULL, PRIMARY KEY (session, parent, phase, negated, turn)
) STRICT, WITHOUT ROWID;
-- derived: the head and the counts of each run, and the last event of each of its steps
CREATE TABLE runs (
  run TEXT PRIMARY KEY, seq INTEGER NOT NULL, hash BLOB NOT NULL, started TEXT NOT NULL, updated TEXT NOT NULL,
  sequence INTEGER NOT NULL, compacted INTEGER NOT NULL, counted INTEGER NOT NULL, steps INTEGER NOT NULL,
  all_steps INTEGER NOT NULL, cost REAL NOT NULL, stopped TEXT
) STRICT, WITHOUT ROWID;
-- derived: the last terminal event of each step, and the event that began one that has not ended, 0 for no event; of
-- such a step, logged has a bit for each type of terminal event since then
CREATE TABLE steps (
  run TEXT NOT NULL, step INTEGER NOT NULL, last INTEGER NOT NULL, begun INTEGER NOT NULL, logged INTEGER NOT NULL,
  PRIMARY KEY (run, step)
) STRICT, WITHOUT ROWID;
CREATE INDEX steps_open ON steps (run, step, begun) WHERE begun > 0;
-- derived: the events that say what a claim, a conflict, a failure or a question is; key is a digest, of an id mostly
CREATE TABLE items (
  run TEXT NOT NULL, type TEXT NOT NULL, key BLOB NOT NULL, number INTEGER NOT NULL, stated INTEGER NOT NULL,
  changed INTEGER NOT NULL, PRIMARY KEY (run, type, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX items_by_number ON items (run, type, number);
"""


def _append_only(table: str) -> str:
    """Returns the triggers that forbid changes and removals. Of a text, the bytes can be purged."""
    purge = "NEW.purged IS NOT NULL AND NEW.owner IS OLD.owner AND NEW.hash IS OLD.hash"
    return f"""
CREATE TRIGGER {table}_keep BEFORE DELETE ON {table}
BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END;
CREATE TRIGGER {table}_fixed BEFORE UPDATE ON {table} WHEN NOT ({purge if table == "texts" else "0"})
BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END;
"""


def _numbered(table: str, owner: str | None) -> str:
    """Returns the trigger that numbers the rows of a chain without gaps.

    It also stops INSERT OR REPLACE, which would pass the other triggers on a connection of another program.
    """
    chain = f"WHERE {owner} = NEW.{owner}" if owner else ""
    return f"""
CREATE TRIGGER {table}_next BEFORE INSERT ON {table}
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM {table} {chain})
BEGIN SELECT RAISE(ABORT, '{table} is numbered without gaps'); END;
"""


def _keyed(table: str, columns: tuple[str, ...]) -> str:
    """Returns the trigger that keeps the first row of a key: any kind of INSERT with the same key adds nothing."""
    same = " AND ".join(f"{column} = NEW.{column}" for column in columns)
    return f"""
CREATE TRIGGER {table}_once BEFORE INSERT ON {table} WHEN EXISTS (SELECT 1 FROM {table} WHERE {same})
BEGIN SELECT RAISE(IGNORE); END;
"""


SCHEMA: Final = (
    _TABLES
    + "".join(map(_append_only, (*CHAINS, "texts")))
    + "".join(_numbered(table, owner) for table, owner in CHAINS.items())
    + "".join(_keyed(table, columns) for table, columns in _KEYED.items())
)
