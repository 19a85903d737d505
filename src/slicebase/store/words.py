"""How the indexes read words: in lower case, without accents, by their stems, in any script."""

from typing import Final, cast

import apsw

from slicebase.context.snippets import Token

# Marks belong to words: without them the scripts of India fall into single letters.
UNICODE61: Final = ("remove_diacritics", "2", "categories", "L* N* Co Mc Mn")
TOKENIZER: Final = " ".join(("porter unicode61", *(f"'{option}'" for option in UNICODE61)))


class Reader:
    """Reads texts as FTS5 does when it takes them in."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._tokenizer = connection.fts5_tokenizer("porter", ["unicode61", *UNICODE61])

    def tokens(self, text: str) -> list[Token]:
        data = text.encode()
        found = self._tokenizer(data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False)
        tokens = cast("list[Token]", found)
        return tokens if text.isascii() else _in_characters(data, tokens)

    def stems(self, text: str) -> list[str]:
        return [stem for _, _, stem in self.tokens(text)]


def _in_characters(data: bytes, tokens: list[Token]) -> list[Token]:
    """FTS5 counts in bytes."""
    counted, place, at = [], 0, 0
    for start, end, stem in tokens:
        place += len(data[at:start].decode())
        length = len(data[start:end].decode())
        counted.append((place, place + length, stem))
        place, at = place + length, end
    return counted
