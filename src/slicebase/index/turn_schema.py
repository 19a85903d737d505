"""The tables of the turn index, and what is added to them. It is rebuilt when their version changes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from slicebase.index.disposable import DatabaseLayout
from slicebase.index.schema import FTS_TOKENIZER, NAME_TOKENIZER

if TYPE_CHECKING:
    from slicebase.graph.contents import CallMade

_SCHEMA: Final = f"""
-- vectors: of which model every turn has vectors; empty if not every turn has them
CREATE TABLE state (turns INTEGER NOT NULL, size INTEGER NOT NULL, mark TEXT NOT NULL, vectors TEXT NOT NULL);
INSERT INTO state VALUES (0, 0, '', '');
-- threaded: at least one turn names a parent; else its turns follow each other in time, or as they were stored
CREATE TABLE session (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, threaded INTEGER NOT NULL);
CREATE TABLE turn (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, session INTEGER NOT NULL, time INTEGER NOT NULL,
  size INTEGER NOT NULL, label TEXT NOT NULL, role TEXT NOT NULL, kinds INTEGER NOT NULL,
  rules INTEGER NOT NULL, -- 1 if the user says in it what always holds
  asks INTEGER NOT NULL, -- how many tenths of it are questions, if it has a label
  place INTEGER NOT NULL -- its number in its session: the order of turns with equal times, or without any
);
CREATE INDEX turn_by_session ON turn (session, time, place, id);
CREATE INDEX turn_by_time ON turn (time, size); -- size: what exists as of a time is counted in the index alone
-- the parents that turns name: they may not be in the index yet
CREATE TABLE given (child INTEGER NOT NULL, parent TEXT NOT NULL, PRIMARY KEY (child, parent)) WITHOUT ROWID;
CREATE INDEX given_by_parent ON given (parent);
-- which turn follows which, among the turns in the index
CREATE TABLE link (child INTEGER NOT NULL, parent INTEGER NOT NULL, PRIMARY KEY (child, parent)) WITHOUT ROWID;
CREATE INDEX link_by_parent ON link (parent, child);
-- tool calls, the files that their arguments name, and the calls whose results a turn has
CREATE TABLE called (turn INTEGER NOT NULL, tool TEXT NOT NULL, call TEXT NOT NULL);
CREATE INDEX called_by_turn ON called (turn);
CREATE TABLE touched (turn INTEGER NOT NULL, path TEXT NOT NULL, call TEXT NOT NULL);
CREATE INDEX touched_by_turn ON touched (turn);
CREATE TABLE answered (turn INTEGER NOT NULL, call TEXT NOT NULL);
CREATE INDEX answered_by_turn ON answered (turn);
CREATE INDEX answered_by_call ON answered (call, turn);
-- the vectors of the passages of a turn, if a model is in use
CREATE TABLE meaning (turn INTEGER PRIMARY KEY, vectors BLOB NOT NULL);
-- what is not in the index, because its record or its text cannot be read: a row of a table of the truth
CREATE TABLE unreadable (session TEXT NOT NULL, source TEXT NOT NULL, row INTEGER NOT NULL);
CREATE VIRTUAL TABLE words USING fts5 (
  text, content = '', contentless_delete = 1, tokenize = "{FTS_TOKENIZER}"
);
-- identifiers, whole
CREATE VIRTUAL TABLE names USING fts5 (
  text, content = '', contentless_delete = 1, detail = none, tokenize = "{NAME_TOKENIZER}"
);
CREATE VIRTUAL TABLE known_names USING fts5vocab (names, row);
CREATE VIRTUAL TABLE naming USING fts5vocab (names, instance);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, row);
CREATE VIRTUAL TABLE occurrence USING fts5vocab (words, instance);
"""
TURNS_LAYOUT: Final = DatabaseLayout(application=0x534C4349, version=13, schema=_SCHEMA)  # "SLCI"
CHUNKS_LAYOUT: Final = DatabaseLayout(application=0x534C4343, version=13, schema=_SCHEMA)  # "SLCC"

CHOSEN: Final = "(SELECT value FROM json_each(?))"


class UnreadableRow(NamedTuple):
    """A row of the truth that is not in the index, because it cannot be read: its session, its table and its number."""

    session: str
    source: str
    row: int


class IndexedTurn(NamedTuple):
    """A turn as it is added to the index."""

    id: str
    session: str
    time: int
    parents: tuple[str, ...]
    text: str
    role: str = ""
    kinds: int = 0  # as bits
    calls: "Sequence[CallMade]" = ()
    answered: Sequence[str] = ()  # the ids of the calls whose results it has
    rules: bool = False  # whether the user says in it what always holds
    place: int = 0  # its number in its session


class ReadyTurn(NamedTuple):
    """A turn with what the index keeps of its text."""

    turn: IndexedTurn
    size: int  # in tokens
    label: str
    asked: int  # tenths of the text that are questions, of a turn with a label
    words: str
    names: str  # the identifiers in the text, whole
