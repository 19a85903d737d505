"""The tables of the index of slice files, and the tokenizer of both indexes.

The tables contain nothing that the files, and the notes that they point to, do not state. Words are indexed in lower
case, without accents, by their stems, in any script.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import Final, cast

import apsw

from slicebase.context.snippets import Token
from slicebase.context.words import in_usual_form, runs
from slicebase.index.disposable import DatabaseLayout

# Words

# Marks are parts of words: without them, words in Indian scripts are split into single letters.
UNICODE61: Final = ("remove_diacritics", "2", "categories", "L* N* Co Mc Mn")
FTS_TOKENIZER: Final = " ".join(("porter unicode61", *(f"'{option}'" for option in UNICODE61)))
# Identifiers are given one by one: every character that they can have is a part of them.
NAME_TOKENIZER: Final = "unicode61 remove_diacritics 0 categories 'L* N* Co Mc Mn' tokenchars '_-./:@#+~'"


class Tokenizer:
    """Splits texts into words as FTS5 does when it indexes them."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._tokenizer = connection.fts5_tokenizer("porter", ["unicode61", *UNICODE61])

    @classmethod
    def apart(cls) -> "Tokenizer":
        """Returns a tokenizer that needs no index."""
        return cls(apsw.Connection(":memory:"))

    def tokens(self, text: str) -> list[Token]:
        """Returns the words of a text: start, end and stem of each."""
        usual = in_usual_form(text)
        pieces = [piece for piece, _ in runs(usual.text)]
        tokens = self._in_one(pieces[0]) if len(pieces) == 1 else list(self._by_piece(pieces))
        return [(*usual.span(start, end), stem) for start, end, stem in tokens] if usual.starts else tokens

    def _in_one(self, text: str) -> list[Token]:
        data = text.encode()
        found = self._tokenizer(data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False)
        tokens = cast("list[Token]", found)
        return tokens if text.isascii() else _in_characters(data, tokens)

    def _by_piece(self, pieces: Iterable[str]) -> Iterator[Token]:
        """Yields the words of a text in pieces: a script without spaces begins and ends words, as in `Python代码`."""
        place = 0
        for piece in pieces:
            yield from ((place + start, place + end, stem) for start, end, stem in self._in_one(piece))
            place += len(piece)

    def stems(self, text: str) -> list[str]:
        """Returns the stems of the words of a text."""
        return [stem for _, _, stem in self.tokens(text)]


_BEGINS_CHARACTER: Final = bytes(byte & 0xC0 != 0x80 for byte in range(256))  # by byte: 0 for those that continue one


def _in_characters(data: bytes, tokens: list[Token]) -> list[Token]:
    """Returns the tokens with positions in characters: FTS5 counts in bytes."""
    places = list(accumulate(data.translate(_BEGINS_CHARACTER), initial=0))  # the characters before each byte
    return [(places[start], places[end], stem) for start, end, stem in tokens]


# Tables

PASSAGE_BREAK: Final = "\x1e"  # between the passages of a body
MANY_FILES: Final = 2_000  # that take a second or more to read
# Called with the number of files that were read, and of all that have to be read.
ReadProgress = Callable[[int, int], None]

_SCHEMA: Final = f"""
-- the listings of the folder and of the notes at the last update; empty where they are not certain;
-- cleaned: how secrets were replaced in the texts of notes
CREATE TABLE state (listing TEXT NOT NULL, notes TEXT NOT NULL, cleaned TEXT NOT NULL);
INSERT INTO state VALUES ('', '', '');
CREATE TABLE files (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  stamp TEXT NOT NULL, -- size, times and inode; empty where they might not show a later change
  version BLOB NOT NULL,
  log BLOB, -- fingerprint of the log, where rows of other files decide which rows hold
  problem TEXT, -- the error for a file that cannot be read, as JSON
  disk_time INTEGER, size INTEGER NOT NULL, -- milliseconds since 1970, bytes
  id TEXT, title TEXT NOT NULL, summary TEXT NOT NULL, kind TEXT NOT NULL, type TEXT NOT NULL,
  hash TEXT, source TEXT, source_hash TEXT,
  changed INTEGER, -- milliseconds since 1970, as the file states it
  due TEXT,
  archived INTEGER NOT NULL, purged INTEGER NOT NULL, rows INTEGER NOT NULL,
  whole TEXT, -- the hash of a file with its parts; empty where a part cannot be read, NULL for a file without parts
  parts BLOB, -- fingerprint of the files that this hash was made from
  repeated INTEGER NOT NULL -- whether other files that belong to it have the same rows, or what it has
);
CREATE INDEX files_by_id ON files (id, name);
CREATE INDEX unreadable_files ON files (name) WHERE problem IS NOT NULL;
CREATE INDEX repeated_files ON files (id) WHERE repeated;
CREATE INDEX archived_files ON files (number) WHERE archived;
-- the text of the words: passages separated by U+001E, and the line and row of each
CREATE TABLE bodies (
  file INTEGER PRIMARY KEY,
  passages TEXT NOT NULL, places TEXT NOT NULL,
  former TEXT NOT NULL, former_places TEXT NOT NULL
);
-- node: the id, path, reference or URI that the target names; name: the slice file of the library whose path it is
CREATE TABLE links (
  file INTEGER NOT NULL, position INTEGER NOT NULL, row TEXT NOT NULL, active INTEGER NOT NULL,
  rel TEXT NOT NULL, target TEXT NOT NULL, label TEXT, node TEXT NOT NULL, name TEXT,
  PRIMARY KEY (file, position)
) WITHOUT ROWID;
CREATE INDEX links_by_node ON links (node);
CREATE INDEX overflow_links ON links (file)
WHERE rel IN ('part_of', 'has_part') AND label IN ('overflow', 'archive') AND row = '';
CREATE INDEX links_by_name ON links (name) WHERE name IS NOT NULL;
CREATE TABLE meta (file INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL);
CREATE INDEX meta_by_file ON meta (file, key, value);
-- the notes that pointers name: their paths from the workspace, and what they are now
CREATE TABLE notes (
  file INTEGER PRIMARY KEY,
  path TEXT NOT NULL, folder TEXT NOT NULL, gone INTEGER NOT NULL, -- gone: archived because the note was gone
  stamp TEXT NOT NULL, -- as in `files`
  digest TEXT, -- of the bytes; NULL where they cannot be read
  problem TEXT, -- why the note has no text
  said TEXT NOT NULL -- its aliases and links, as JSON
);
-- rows of other files that a file's rows supersede
CREATE TABLE elsewhere (file INTEGER NOT NULL, row TEXT NOT NULL);
CREATE INDEX elsewhere_by_file ON elsewhere (file);
CREATE VIRTUAL TABLE words USING fts5 (
  title, summary, passages, former, content = '', contentless_delete = 1, tokenize = "{FTS_TOKENIZER}"
);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, row);
CREATE VIRTUAL TABLE occurrence USING fts5vocab (words, instance);
"""

FILES_LAYOUT: Final = DatabaseLayout(application=0x534C4346, version=7, schema=_SCHEMA)  # "SLCF"
