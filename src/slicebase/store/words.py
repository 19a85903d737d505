"""How the indexes read words: in lower case, without accents, by their stems, in any script."""

from typing import Final, cast

import apsw

from slicebase.context.marking import Token

_PARTS: Final = ["unicode61", "remove_diacritics", "2", "categories", "L* N* Co Mc Mn"]
TOKENIZER: Final = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mc Mn'"


class Reader:
    """Reads texts as FTS5 does when it takes them in."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._tokenizer = connection.fts5_tokenizer("porter", _PARTS)

    def tokens(self, text: str) -> list[Token]:
        data = text.encode()
        found = self._tokenizer(data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False)
        tokens = [Token(*token) for token in cast("list[tuple[int, int, str]]", found)]
        return tokens if text.isascii() else _in_characters(data, tokens)

    def stems(self, text: str) -> list[str]:
        return [token.stem for token in self.tokens(text)]


def _in_characters(data: bytes, tokens: list[Token]) -> list[Token]:
    """FTS5 counts in bytes."""
    counted, place, at = [], 0, 0
    for start, end, stem in tokens:
        place += len(data[at:start].decode())
        length = len(data[start:end].decode())
        counted.append(Token(place, place + length, stem))
        place, at = place + length, end
    return counted
