"""What texts mean, as vectors: the optional word vectors that rank turns which share no word with a question.

The vectors come with a package (`slicebase[semantic]`), and nothing is downloaded. All sums are of integers, so that
the same texts have the same vectors, and the same likeness to a question, on every machine (ruling 43).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import islice
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from numpy import ndarray

_PACKAGE: Final = "wordllama"
_WEIGHTS: Final = "weights/l2_supercat_256.safetensors"
_TOKENIZER: Final = "tokenizers/l2_supercat_tokenizer_config.json"
_NEEDED: Final = (_PACKAGE, "numpy", "safetensors", "tokenizers")
_WIDTH: Final = 128  # numbers of a vector: the model is made so that its first numbers say most
_EXACT: Final = 1 << 16  # weights are counted in these parts, so that their sums are exact
# The numbers of a vector of length 256 are mostly below 64; in eight bits, a sum of their products is exact in floats.
_LENGTH: Final = 256
_MOST: Final = 127

_PASSAGE: Final = 500  # characters
_MOST_PASSAGES: Final = 40  # of a text: what comes after them is mostly the output of a tool
_BREAK: Final = re.compile(r"(?<=[.!?。！？])\s+|\n+")


def installed() -> bool:
    """Returns whether the packages with the vectors are installed."""
    return all(find_spec(package) for package in _NEEDED)


def word_vectors() -> "WordVectors | None":
    """Returns the vectors of words, or None if they are not installed or cannot be read."""
    return _loaded()[0]


def why_none() -> str:
    """Returns why there are no vectors, as the end of a sentence; an empty text if there are some."""
    return _loaded()[1]


@cache
def _loaded() -> "tuple[WordVectors | None, str]":
    if not installed():
        return None, "are not installed"
    try:
        return WordVectors(), ""
    except Exception as error:  # damaged, or a version with other files: their packages have no error of their own
        return None, f"cannot be read ({type(error).__name__}: {error})"


class WordVectors:
    """Vectors of words: a text's vector is the sum of those of its words, and similar texts have similar vectors."""

    def __init__(self) -> None:
        from hashlib import sha256
        from importlib.metadata import version

        import numpy
        from safetensors.numpy import load
        from tokenizers import Tokenizer

        folder = _folder()
        weights = (folder / _WEIGHTS).read_bytes()
        self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        (table,) = load(weights).values()
        if table.ndim != 2 or table.shape[1] < _WIDTH:
            raise ValueError(f"the weights have the shape {table.shape}")
        self._table: ndarray[Any, Any] = numpy.rint(table[:, :_WIDTH].astype("f4") * _EXACT).astype("i4")
        self.name = f"{_PACKAGE}/{version(_PACKAGE)} sha256:{sha256(weights).hexdigest()}"

    def of_passages(self, texts: Sequence[str]) -> list[bytes]:
        """Returns for each text the vectors of its passages, one after the other, a byte for each number."""
        parts = [list(islice(passages(text), _MOST_PASSAGES)) for text in texts]
        vectors = iter(self._vectors([part for each in parts for part in each]))
        return [b"".join(islice(vectors, len(each))) for each in parts]

    def likeness(self, question: str, stored: Sequence[bytes]) -> list[int]:
        """Returns for each text the likeness of its most similar passage to a question, in parts of the square of 256.

        A text without vectors has the likeness 0.
        """
        import numpy

        counts = numpy.fromiter((len(each) // _WIDTH for each in stored), "i8", len(stored))
        matrix = numpy.frombuffer(b"".join(stored), "i1").reshape(-1, _WIDTH).astype("f4")
        asked = numpy.frombuffer(self._vectors([question])[0], "i1").astype("f4")
        products = (matrix @ asked).astype("i8")  # exact: each sum is an integer below 2 ** 24
        best = numpy.zeros(len(stored), "i8")
        has = counts > 0
        if len(products):
            best[has] = numpy.maximum.reduceat(products, (numpy.cumsum(counts) - counts)[has])
        return [int(each) for each in best]

    def _vectors(self, texts: Sequence[str]) -> list[bytes]:
        known = [text.encode("utf-8", "replace").decode() for text in texts]  # without lone surrogates
        return [self._vector(found.ids) for found in self._tokenizer.encode_batch_fast(known, add_special_tokens=False)]

    def _vector(self, numbers: Sequence[int]) -> bytes:
        import numpy

        total = self._table[numbers].sum(axis=0, dtype="i8")
        length = sqrt(sum(each * each for each in total.tolist())) or 1.0  # of a long text, too large for 64 bits
        return bytes(numpy.clip(numpy.rint(total * (_LENGTH / length)), -_MOST, _MOST).astype("i1"))


def _folder() -> Path:
    """Returns the folder of the package. It is not imported: that takes long, and its own loader may download."""
    found = find_spec(_PACKAGE)
    assert found is not None
    assert found.submodule_search_locations is not None
    return Path(found.submodule_search_locations[0])


def passages(text: str) -> Iterator[str]:
    """Yields a text in passages of at most 500 characters: sentences and lines, as many as fit."""
    passage = ""
    for sentence in _sentences(text):
        if passage and len(passage) + 1 + len(sentence) > _PASSAGE:
            yield passage
            passage = ""
        passage = f"{passage} {sentence}" if passage else sentence
    if passage:
        yield passage


def _sentences(text: str) -> Iterable[str]:
    for sentence in _BREAK.split(text):
        for start in range(0, len(sentence), _PASSAGE):
            if part := sentence[start : start + _PASSAGE].strip():
                yield part
