"""The tables of the truth.

A truth table holds records as the canonical bytes that were hashed, beside the keys that find them. Keys begin
with the session (or the run, or the manifest) that everything hangs on. Rows of one owner are numbered without
gaps, so that a removed row is missed, and triggers let nothing be changed or removed but a purged text.
Derived tables can be filled again from the truth tables; verify compares them.
"""

VERSION = 1

# The tables whose rows are numbered, and the owner within which they are.
_NUMBERED = {
    "sessions": "session",
    "turns": "session",
    "links": "session",
    "annotations": "session",
    "events": "run",
    "snapshots": "run",
}
_KEYED = {
    "texts": ("owner", "hash"),
    "policies": ("hash",),
    "manifests": ("manifest",),
    "evidence": ("evidence",),
}

_TABLES = """
CREATE TABLE sessions (
  session TEXT NOT NULL, seq INTEGER NOT NULL, record BLOB NOT NULL, hash BLOB NOT NULL,
  PRIMARY KEY (session, seq)
);
CREATE TABLE turns (
  session TEXT NOT NULL, seq INTEGER NOT NULL, turn BLOB NOT NULL, record BLOB NOT NULL, hash BLOB NOT NULL,
  PRIMARY KEY (session, seq)
);
CREATE INDEX turns_by_id ON turns (turn);
CREATE TABLE links (
  session TEXT NOT NULL, seq INTEGER NOT NULL, child BLOB NOT NULL, record BLOB NOT NULL, hash BLOB NOT NULL,
  PRIMARY KEY (session, seq)
);
CREATE INDEX links_by_child ON links (child);
-- a record annotates several turns, whose numbers in the session lie between first and last
CREATE TABLE annotations (
  session TEXT NOT NULL, seq INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  record BLOB NOT NULL, hash BLOB NOT NULL,
  PRIMARY KEY (session, seq)
);
CREATE INDEX annotations_by_turn ON annotations (session, last, first);
CREATE TABLE texts (
  owner TEXT NOT NULL, hash BLOB NOT NULL, bytes BLOB, purged TEXT,
  PRIMARY KEY (owner, hash),
  CHECK ((bytes IS NULL) = (purged IS NOT NULL))
);
CREATE INDEX texts_purged ON texts (owner) WHERE purged IS NOT NULL;
CREATE TABLE policies (hash TEXT PRIMARY KEY, record BLOB NOT NULL);
-- a manifest's id is made from its record; the hash covers the id and the time of recording
CREATE TABLE manifests (manifest TEXT PRIMARY KEY, recorded TEXT NOT NULL, record BLOB NOT NULL, hash BLOB NOT NULL);
-- what a run's chain covers; payloads are texts of the run
CREATE TABLE events (
  run TEXT NOT NULL, seq INTEGER NOT NULL, payload BLOB NOT NULL, record BLOB NOT NULL, hash BLOB NOT NULL,
  PRIMARY KEY (run, seq)
) STRICT;
-- a record names the text of the run that holds the snapshot, whole or as what it adds to the one before
CREATE TABLE snapshots (
  run TEXT NOT NULL, seq INTEGER NOT NULL, snapshot TEXT NOT NULL, record BLOB NOT NULL, hash BLOB NOT NULL,
  PRIMARY KEY (run, seq)
) STRICT;
CREATE INDEX snapshots_by_id ON snapshots (snapshot);
-- evidence is named by the hash of its record; its quote is a text of the corpus that it was cut from
CREATE TABLE evidence (evidence TEXT PRIMARY KEY, chunk TEXT NOT NULL, record BLOB NOT NULL) STRICT;
CREATE INDEX evidence_by_chunk ON evidence (chunk);

-- derived: a parent that has not arrived yet, and the turns that wait for it
CREATE TABLE waiting (parent BLOB NOT NULL, child BLOB NOT NULL, PRIMARY KEY (parent, child)) WITHOUT ROWID;
-- derived: how large a session is, and how many turns of it have two parents
CREATE TABLE shapes (session TEXT PRIMARY KEY, turns INTEGER NOT NULL, joins INTEGER NOT NULL) WITHOUT ROWID;
-- derived, for large sessions: where a turn stands in its tree, so that a slice reads only a window of it
CREATE TABLE places (
  session TEXT NOT NULL, root BLOB NOT NULL, depth INTEGER NOT NULL, seq INTEGER NOT NULL,
  PRIMARY KEY (session, root, depth, seq)
) WITHOUT ROWID;
CREATE INDEX places_by_seq ON places (session, seq);
-- derived: where each run stands, and the last event of each of its steps
CREATE TABLE runs (
  run TEXT PRIMARY KEY, seq INTEGER NOT NULL, hash BLOB NOT NULL, started TEXT NOT NULL, updated TEXT NOT NULL,
  sequence INTEGER NOT NULL, compacted INTEGER NOT NULL, counted INTEGER NOT NULL, steps INTEGER NOT NULL,
  all_steps INTEGER NOT NULL, cost REAL NOT NULL, stopped TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE steps (
  run TEXT NOT NULL, step INTEGER NOT NULL, last INTEGER NOT NULL, PRIMARY KEY (run, step)
) STRICT, WITHOUT ROWID;
"""


def _append_only(table: str) -> str:
    change = "NEW.bytes IS NULL AND NEW.owner IS OLD.owner AND NEW.hash IS OLD.hash" if table == "texts" else "0"
    return f"""
CREATE TRIGGER {table}_keep BEFORE DELETE ON {table}
BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END;
CREATE TRIGGER {table}_fixed BEFORE UPDATE ON {table} WHEN NOT ({change})
BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END;
"""


def _numbered(table: str, owner: str) -> str:
    """Also stops INSERT OR REPLACE, which would pass the other triggers on a foreign connection."""
    return f"""
CREATE TRIGGER {table}_next BEFORE INSERT ON {table}
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM {table} WHERE {owner} = NEW.{owner})
BEGIN SELECT RAISE(ABORT, '{table} is numbered without gaps'); END;
"""


def _keyed(table: str, columns: tuple[str, ...]) -> str:
    """What has its key already stays as it is, whatever kind of INSERT comes: the second of two equals adds nothing."""
    same = " AND ".join(f"{column} = NEW.{column}" for column in columns)
    return f"""
CREATE TRIGGER {table}_once BEFORE INSERT ON {table} WHEN EXISTS (SELECT 1 FROM {table} WHERE {same})
BEGIN SELECT RAISE(IGNORE); END;
"""


SCHEMA = (
    _TABLES
    + "".join(map(_append_only, (*_NUMBERED, *_KEYED)))
    + "".join(_numbered(table, owner) for table, owner in _NUMBERED.items())
    + "".join(_keyed(table, columns) for table, columns in _KEYED.items())
)
