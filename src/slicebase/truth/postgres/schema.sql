-- The truth of Slicebase in PostgreSQL, version 15 or newer: many machines that share one memory.
--
-- `tt` runs this file once, in one transaction, where the user may create schemas; else an administrator does:
--   psql --single-transaction --file schema.sql
-- Each table has the columns that it has in SQLite (truth/schema.py says what they mean), and at its end the workspace
-- that a row belongs to. Row-level security shows a session only the rows of the workspace that it names, and gives new
-- rows that name; so no statement has to. `rowid` is the number with which a row has arrived, as SQLite has it by
-- itself. No trigger, notification or advisory lock is needed. Texts are compared byte by byte, as in SQLite.

CREATE SCHEMA slicebase;
SET LOCAL search_path = slicebase;
SET LOCAL slicebase.workspace = '';  -- asked for where a column is added

CREATE TABLE layout (version INTEGER NOT NULL);
INSERT INTO layout VALUES (1);

-- A transaction that writes begins with an update of this row. So there is one writer of a workspace at a time, and the
-- number tells all others that something has changed.
CREATE TABLE workspaces (
  workspace TEXT COLLATE "C" PRIMARY KEY DEFAULT current_setting('slicebase.workspace'), writes BIGINT NOT NULL
);

-- Chains. Rows are added, and never changed or removed: those who write have no right to do that.

CREATE TABLE sessions (
  session TEXT COLLATE "C" NOT NULL, seq BIGINT NOT NULL, record BYTEA NOT NULL, hash BYTEA NOT NULL
);
CREATE TABLE turns (
  session TEXT COLLATE "C" NOT NULL, seq BIGINT NOT NULL, turn BYTEA NOT NULL, record BYTEA NOT NULL,
  hash BYTEA NOT NULL, rowid BIGINT GENERATED ALWAYS AS IDENTITY
);
CREATE TABLE links (
  session TEXT COLLATE "C" NOT NULL, seq BIGINT NOT NULL, child BYTEA NOT NULL, record BYTEA NOT NULL,
  hash BYTEA NOT NULL, rowid BIGINT GENERATED ALWAYS AS IDENTITY
);
CREATE TABLE annotations (
  session TEXT COLLATE "C" NOT NULL, seq BIGINT NOT NULL, first BIGINT NOT NULL, last BIGINT NOT NULL,
  record BYTEA NOT NULL, hash BYTEA NOT NULL
);
CREATE TABLE events (
  run TEXT COLLATE "C" NOT NULL, seq BIGINT NOT NULL, payload BYTEA NOT NULL, record BYTEA NOT NULL,
  hash BYTEA NOT NULL
);
CREATE TABLE snapshots (
  run TEXT COLLATE "C" NOT NULL, seq BIGINT NOT NULL, snapshot TEXT COLLATE "C" NOT NULL, record BYTEA NOT NULL,
  hash BYTEA NOT NULL
);
CREATE TABLE blobs (
  seq BIGINT NOT NULL, run TEXT COLLATE "C" NOT NULL, text BYTEA NOT NULL, hash BYTEA NOT NULL
);
CREATE TABLE policies (
  seq BIGINT NOT NULL, policy TEXT COLLATE "C" NOT NULL, record BYTEA NOT NULL, hash BYTEA NOT NULL
);
CREATE TABLE policy_names (
  seq BIGINT NOT NULL, name TEXT COLLATE "C" NOT NULL, record BYTEA NOT NULL, hash BYTEA NOT NULL
);
CREATE TABLE manifests (
  seq BIGINT NOT NULL, manifest TEXT COLLATE "C" NOT NULL, recorded TEXT COLLATE "C" NOT NULL, text BYTEA NOT NULL,
  hash BYTEA NOT NULL
);
CREATE TABLE evidence (
  seq BIGINT NOT NULL, evidence TEXT COLLATE "C" NOT NULL, chunk TEXT COLLATE "C" NOT NULL, record BYTEA NOT NULL,
  hash BYTEA NOT NULL
);
CREATE TABLE acts (
  seq BIGINT NOT NULL, kind TEXT COLLATE "C" NOT NULL, record BYTEA NOT NULL, hash BYTEA NOT NULL,
  rowid BIGINT GENERATED ALWAYS AS IDENTITY
);
CREATE TABLE log (
  seq BIGINT NOT NULL, chain TEXT COLLATE "C" NOT NULL, count BIGINT NOT NULL, head BYTEA NOT NULL,
  hash BYTEA NOT NULL
);
CREATE TABLE texts (
  owner TEXT COLLATE "C" NOT NULL, hash BYTEA NOT NULL, bytes BYTEA, purged TEXT COLLATE "C",
  CHECK (bytes IS NOT NULL OR purged IS NOT NULL)
);

-- Derived tables, which can be filled again from the chains.

CREATE TABLE waiting (parent BYTEA NOT NULL, child BYTEA NOT NULL);
CREATE TABLE shapes (
  number BIGINT GENERATED ALWAYS AS IDENTITY, session TEXT COLLATE "C" NOT NULL, turns BIGINT NOT NULL
);
CREATE TABLE nodes (
  session BIGINT NOT NULL, seq BIGINT NOT NULL, turn BYTEA NOT NULL, time BIGINT NOT NULL, kind INTEGER NOT NULL,
  salience DOUBLE PRECISION, fields BYTEA, annotator TEXT COLLATE "C", parents BYTEA NOT NULL
);
CREATE TABLE families (
  session BIGINT NOT NULL, parent BIGINT NOT NULL, phase INTEGER NOT NULL, negated DOUBLE PRECISION NOT NULL,
  turn BYTEA NOT NULL, seq BIGINT NOT NULL, time BIGINT NOT NULL
);
CREATE TABLE runs (
  run TEXT COLLATE "C" NOT NULL, seq BIGINT NOT NULL, hash BYTEA NOT NULL, started TEXT COLLATE "C" NOT NULL,
  updated TEXT COLLATE "C" NOT NULL, sequence BIGINT NOT NULL, compacted BIGINT NOT NULL, counted BIGINT NOT NULL,
  steps BIGINT NOT NULL, all_steps BIGINT NOT NULL, cost DOUBLE PRECISION NOT NULL, stopped TEXT COLLATE "C"
);
CREATE TABLE steps (
  run TEXT COLLATE "C" NOT NULL, step BIGINT NOT NULL, last BIGINT NOT NULL, begun BIGINT NOT NULL,
  logged INTEGER NOT NULL
);
CREATE TABLE items (
  run TEXT COLLATE "C" NOT NULL, type TEXT COLLATE "C" NOT NULL, key BYTEA NOT NULL, number BIGINT NOT NULL,
  stated BIGINT NOT NULL, changed BIGINT NOT NULL
);

-- What all of them have, the rights to them, and their keys.

DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'slicebase_writer') THEN
    CREATE ROLE slicebase_writer NOLOGIN;  -- reads, and adds; a user who may write is a member of it
  END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'slicebase_purger') THEN
    CREATE ROLE slicebase_purger NOLOGIN;  -- also replaces texts by tombstones
  END IF;
END $$;
GRANT slicebase_writer TO slicebase_purger;
GRANT USAGE ON SCHEMA slicebase TO slicebase_writer;
GRANT SELECT ON layout TO slicebase_writer;

DO $$
DECLARE name TEXT;
BEGIN
  FOR name IN SELECT table_name FROM information_schema.tables WHERE table_schema = 'slicebase' LOOP
    CONTINUE WHEN name = 'layout';
    IF name <> 'workspaces' THEN
      EXECUTE format('ALTER TABLE %I ADD workspace TEXT COLLATE "C" NOT NULL DEFAULT current_setting(%L)', name,
        'slicebase.workspace');
    END IF;
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY own ON %I USING (workspace = current_setting(%L))', name, 'slicebase.workspace');
    EXECUTE format('GRANT SELECT, INSERT ON %I TO slicebase_writer', name);
    IF name IN ('waiting', 'shapes', 'nodes', 'families', 'runs', 'steps', 'items') THEN
      EXECUTE format('GRANT UPDATE, DELETE ON %I TO slicebase_writer', name);
    END IF;
  END LOOP;
  IF current_setting('server_version_num')::INTEGER >= 170000 THEN
    GRANT MAINTAIN ON texts TO slicebase_purger;  -- may clear away what a purge has replaced
  END IF;
END $$;
GRANT UPDATE (writes) ON workspaces TO slicebase_writer;
GRANT UPDATE (bytes, purged) ON texts TO slicebase_purger;

ALTER TABLE sessions ADD PRIMARY KEY (workspace, session, seq);
ALTER TABLE turns ADD PRIMARY KEY (workspace, session, seq);
ALTER TABLE links ADD PRIMARY KEY (workspace, session, seq);
ALTER TABLE annotations ADD PRIMARY KEY (workspace, session, seq);
ALTER TABLE events ADD PRIMARY KEY (workspace, run, seq);
ALTER TABLE snapshots ADD PRIMARY KEY (workspace, run, seq);
ALTER TABLE blobs ADD PRIMARY KEY (workspace, seq), ADD UNIQUE (workspace, run, text);
ALTER TABLE policies ADD PRIMARY KEY (workspace, seq), ADD UNIQUE (workspace, policy);
ALTER TABLE policy_names ADD PRIMARY KEY (workspace, seq), ADD UNIQUE (workspace, name);
ALTER TABLE manifests ADD PRIMARY KEY (workspace, seq), ADD UNIQUE (workspace, manifest);
ALTER TABLE evidence ADD PRIMARY KEY (workspace, seq), ADD UNIQUE (workspace, evidence);
ALTER TABLE acts ADD PRIMARY KEY (workspace, seq);
ALTER TABLE log ADD PRIMARY KEY (workspace, seq);
ALTER TABLE texts ADD PRIMARY KEY (workspace, owner, hash);
ALTER TABLE waiting ADD PRIMARY KEY (workspace, parent, child);
ALTER TABLE shapes ADD PRIMARY KEY (workspace, session), ADD UNIQUE (workspace, number);
ALTER TABLE nodes ADD PRIMARY KEY (workspace, session, seq);
ALTER TABLE families ADD PRIMARY KEY (workspace, session, parent, phase, negated, turn);
ALTER TABLE runs ADD PRIMARY KEY (workspace, run);
ALTER TABLE steps ADD PRIMARY KEY (workspace, run, step);
ALTER TABLE items ADD PRIMARY KEY (workspace, run, type, key);

CREATE INDEX turns_by_id ON turns (workspace, turn);
CREATE INDEX turns_by_arrival ON turns (workspace, rowid);
CREATE INDEX links_by_child ON links (workspace, child);
CREATE INDEX links_by_arrival ON links (workspace, rowid);
CREATE INDEX annotations_by_turn ON annotations (workspace, session, last, first);
CREATE INDEX snapshots_by_id ON snapshots (workspace, snapshot);
CREATE INDEX evidence_by_chunk ON evidence (workspace, chunk);
CREATE INDEX acts_by_kind ON acts (workspace, kind);
CREATE INDEX log_by_chain ON log (workspace, chain, count);
CREATE INDEX texts_purged ON texts (workspace, owner) WHERE purged IS NOT NULL;
CREATE INDEX steps_open ON steps (workspace, run, step, begun) WHERE begun > 0;
CREATE INDEX items_by_number ON items (workspace, run, type, number);

-- Functions that SQLite has, and that statements for both databases use.

CREATE FUNCTION instr(bytea, bytea) RETURNS INTEGER LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN position($2 IN $1);
CREATE FUNCTION unhex(bytea) RETURNS BYTEA LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN decode(convert_from($1, 'UTF8'), 'hex');
CREATE FUNCTION unhex(text, text) RETURNS BYTEA LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN decode(translate($1, $2, ''), 'hex');
-- A field of the JSON object in some bytes, which may be no JSON.
CREATE FUNCTION json_field(bytea, text) RETURNS TEXT LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN convert_from($1, 'UTF8')::json ->> $2;
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END $$;
