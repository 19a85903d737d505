"""Excerpts of long texts: the part that has the most words of a question."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from slicebase.context.forms import respelled
from slicebase.context.words import Word, character_start, folded, in_usual_form, next_character, without_unspaced
from slicebase.core.hashing import BYTES_PER_TOKEN, tokens

_BREAKS: Final = ("\n\n", "\n", " ")
_LEAST_STEM: Final = 4  # letters: shorter ones begin too many other words
_ALIKE: Final = 5  # letters that forms of one word begin with
_BEGINNING: Final = r"(?:(?<![^\W_])|(?-i:(?<=[a-z0-9])(?=[A-Z])))"  # of a word, or of one in a name
_END: Final = r"(?![^\W_])"


def forms_of(words: Iterable[Word]) -> re.Pattern[str] | None:
    """Returns a pattern for the words of a question in any form: what begins with the stem of one.

    In scripts without spaces, words begin anywhere.
    """
    forms = sorted({form for word in words for form in _written(word) if form}, key=len)
    spaced = [form for form in reversed(forms) if without_unspaced(form).strip()]
    heads = "|".join(re.escape(form) + (_END if len(form) < _LEAST_STEM else "") for form in spaced)
    patterns = [re.escape(form) for form in forms if form not in spaced]
    if heads:
        patterns.append(f"{_BEGINNING}(?:{heads})")
    return re.compile("|".join(patterns), re.IGNORECASE) if patterns else None


def _written(word: Word) -> Iterator[str]:
    """Yields how the forms of a word begin. The stem of `buy` is `bui`, which nobody writes."""
    yield from (word.text, word.stem, *word.also, *word.inflected)
    yield from (f"{stem[:-1]}y" for stem in word.inflected if stem.endswith("i"))


def excerpt(text: str, asked: re.Pattern[str] | None, limit: int) -> tuple[int, int]:
    """Returns a span of at most `limit` tokens.

    It is the complete text if that fits. Else it is the window with the most distinct words of the question, the
    earliest of equal ones; but the beginning, where most texts say what they are about, if it has half as many.
    """
    if tokens(text) <= limit:
        return 0, len(text)
    width = max(1, limit * BYTES_PER_TOKEN * len(text) // len(text.encode("utf-8", "surrogatepass")))
    start = _densest_start(text, asked, width) if asked else 0
    end = min(len(text), start + width)
    while tokens(text[start:end]) > limit:
        end -= 1 + (tokens(text[start:end]) - limit) // 2
    return _tidy(text, start, end)


def _densest_start(text: str, asked: re.Pattern[str], width: int) -> int:
    usual = in_usual_form(text)
    as_indexed = text if text.isascii() else folded(usual.text)
    found = ((match.span(), match[0]) for match in asked.finditer(as_indexed))
    hits = [(usual.span(*span)[0], word.casefold()[:_ALIKE]) for span, word in found]
    there = {position for position, _ in hits}
    respelt = ((usual.span(start, end)[0], form) for start, end, form in respelled(usual.text))
    other = ((at, match) for at, form in respelt if at not in there and (match := asked.match(folded(form))))
    hits = sorted(hits + [(at, match[0].casefold()[:_ALIKE]) for at, match in other])
    most, middle, first = 0, 0, 0
    inside: Counter[str] = Counter()
    for position, word in hits:
        inside[word] += 1
        while hits[first][0] < position - width * 3 // 4:
            old = hits[first][1]
            inside[old] -= 1
            if not inside[old]:
                del inside[old]
            first += 1
        if len(inside) > most:
            most, middle = len(inside), (hits[first][0] + position) // 2
    if 2 * len({word for position, word in hits if position < width}) >= most:
        return 0
    return max(0, min(middle - width // 2, len(text) - width))


def _tidy(text: str, start: int, end: int) -> tuple[int, int]:
    """Moves both ends inwards to a break, if one is near."""
    near = (end - start) // 8
    if start > 0:
        start = next((at + len(mark) for mark in _BREAKS if (at := text.find(mark, start, start + near)) >= 0), start)
    if end < len(text):
        end = next((at for mark in _BREAKS if (at := text.rfind(mark, end - near, end)) > start), end)
    start = next_character(text, start)
    return start, max(start, character_start(text, end))
