"""The words of a text for search, and the label at its beginning."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple


class Word(NamedTuple):
    """A word as the index reads it: its text in lower case without accents, its stem, and stems of its other forms."""

    text: str
    stem: str
    also: tuple[str, ...] = ()  # of other spellings, which the index has beside the word
    inflected: tuple[str, ...] = ()  # of what counts as the same word: `bought` for `buy`


_WIDE_CHARACTERS: Final = "\u3000\uff01-\uff5e"
# What few writers set, and readers of Hebrew and Arabic add: points, vowels, and the stroke that makes a word longer.
_UNWRITTEN: Final = "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u0652\u0670"
# Letters in other forms: kana of half width, ligatures, presentation forms of Hebrew and Arabic, letters of formulas,
# digraphs of one character, letters with a dot of scripts of India, and Han for compatibility.
_OTHER_FORMS: Final = (
    f"{_UNWRITTEN}"
    "\uff61-\uff9f\ufb00-\ufb06\ufb13-\ufb17\ufb1d-\ufb4f\ufb50-\ufbb1\ufbd3-\ufdfb\ufe80-\ufefc\U0001d400-\U0001d7ff"
    "\u0958-\u095f\u09dc\u09dd\u09df\u0a33\u0a36\u0a59-\u0a5b\u0a5e\u0b5c\u0b5d"
    "\u0132\u0133\u017f\u01c4-\u01cc\u01f1-\u01f3\uf900-\ufaff\U0002f800-\U0002fa1f"
)
# Letters that are written as several characters, which one character stands for (NFC): a letter before its accents or
# marks, and the parts of a Korean syllable. macOS writes the names of files so.
_ACCENTS: Final = "\u0300-\u036f\u0653-\u0655\u3099\u309a"
_IN_PARTS: Final = rf"\w[{_ACCENTS}]+|[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?"
# Scripts without spaces between words: Thai, Lao, Burmese, Khmer, kana, Han.
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)


# Letters outside of ASCII by their first bytes, and not signs, arrows and emoji, which most texts have: to compile the
# patterns of letters takes longer than to look for these in all texts that a search shows.
_FOREIGN: Final = rb"[\xc3-\xe1\xe3-\xee\xf1-\xf4]|\xe2\x84|\xef(?!\xb8\x8f)|\xf0[^\x9f]"


@cache
def _foreign() -> re.Pattern[bytes]:
    return re.compile(_FOREIGN)


_LONG: Final = 4_000  # characters: a long text may have any letters, and the patterns of these find them themselves


def has_foreign_letters(text: str) -> bool:
    """Returns whether a text may have letters, digits or accents outside of ASCII; some signs in circles are none."""
    if text.isascii():
        return False
    return len(text) > _LONG or _foreign().search(text.encode("utf-8", "surrogatepass")) is not None


@cache
def _unspaced() -> re.Pattern[str]:
    """Returns the pattern, compiled on first use: a command with only ASCII words does not need it."""
    return re.compile(f"[{_UNSPACED}]+")


@cache
def _has_unspaced_or_wide() -> re.Pattern[str]:
    """Returns a pattern that is searched for at once: most texts that are not ASCII have a dash or an arrow."""
    return re.compile(f"[{_UNSPACED}{_WIDE_CHARACTERS}{_OTHER_FORMS}{_ACCENTS}\u1100-\u1112]")


def in_characters_and_pairs(text: str) -> str:
    """Returns the text with scripts without spaces as single characters and as pairs."""
    if not has_foreign_letters(text) or not _has_unspaced_or_wide().search(text):
        return text
    return _unspaced().sub(_characters_and_pairs, simplified(text))


def for_question(text: str) -> str:
    """Returns the text as it is searched: scripts without spaces as pairs, which are more precise than characters.

    A character without neighbours is searched by itself.
    """
    return text if text.isascii() else _unspaced().sub(_pairs, simplified(text))


def without_unspaced(text: str) -> str:
    """Returns a text with spaces in place of scripts that have none."""
    return _unspaced().sub(" ", text)


def is_spaced(letter: str) -> bool:
    """Returns whether this is a letter or a digit of a script with spaces between words."""
    return letter.isalnum() and (letter.isascii() or not _unspaced().match(letter))


def _characters_and_pairs(match: re.Match[str]) -> str:
    run = match[0]
    return f" {' '.join(run)} {' '.join(map(''.join, pairwise(run)))} "


def _pairs(match: re.Match[str]) -> str:
    run = match[0]
    return f" {' '.join(map(''.join, pairwise(run))) or run} "


_WIDE: Final = {0x3000: 0x20} | {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}  # to the letters of ASCII


def simplified(text: str) -> str:
    """Returns a text with letters, digits and marks in their usual form: not of full or half width, and no ligatures.

    Points and vowels of Hebrew and Arabic are left out. A letter and its accents are one character, if there is one
    for them. The form of a letter may be longer or shorter than the letter: `in_usual_form` keeps the places.
    """
    if not has_foreign_letters(text) or not _has_other_form().search(text):
        return text
    return _other_form().sub(lambda match: _usual_form(match[0]), text.translate(_WIDE))


@cache
def _has_other_form() -> re.Pattern[str]:
    return re.compile(f"[{_WIDE_CHARACTERS}{_OTHER_FORMS}{_ACCENTS}\u1100-\u1112]")


@cache
def _other_form() -> re.Pattern[str]:
    """Returns the pattern of one letter with what belongs to it: a mark of half width, accents, a syllable's parts."""
    return re.compile(f"[{_OTHER_FORMS}][\uff9e\uff9f]?|{_IN_PARTS}")


@cache
def _usual_form(letter: str) -> str:
    from unicodedata import normalize  # imported here for a fast start

    return re.sub(f"[{_UNWRITTEN}]", "", normalize("NFKC", letter))


class Usual(NamedTuple):
    """A text in its usual form, and for each of its characters where the one that it stands for begins and ends."""

    text: str
    starts: Sequence[int] | None = None  # None where every character keeps its place
    ends: Sequence[int] = ()

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Returns the span in the text as it was written."""
        if self.starts is None:
            return start, end
        first = self.starts[start] if start < len(self.starts) else self.ends[-1]
        return first, max(first, self.ends[end - 1] if end else 0)


def in_usual_form(text: str) -> Usual:
    """Returns what `simplified` does, with the places in the text."""
    usual = simplified(text)
    if usual is text or not _other_form().search(text):
        return Usual(usual)
    starts: list[int] = []
    ends: list[int] = []
    place = 0
    for match in _other_form().finditer(text):
        starts += range(place, match.start())
        ends += range(place + 1, match.start() + 1)
        length = len(_usual_form(match[0]))
        starts += [match.start()] * length
        ends += [match.end()] * length
        place = match.end()
    starts += range(place, len(text))
    ends += range(place + 1, len(text) + 1)
    return Usual(usual, starts, ends)


def unaccented(text: str) -> str:
    """Returns a text with Latin letters without accents, as the index reads them."""
    return text if text.isascii() else "".join(map(_without_accent, text))


def folded(text: str) -> str:
    """Returns a text without accents and strokes in which every character has its place."""
    return "".join([_in_one_letter(letter) for letter in text])


@cache
def _without_accent(letter: str) -> str:
    from unicodedata import normalize  # imported here for a fast start

    base = normalize("NFD", letter)[0]
    return base if base.isascii() else "" if "\u0300" <= letter <= "\u036f" else letter


@cache
def _in_one_letter(letter: str) -> str:
    other = plain(letter)
    return _without_accent(other if len(other) == 1 else letter) or letter


# Letters that are not made of another one and an accent, and how they are written on keyboards without them; Russian
# and Greek ones with accents, which many writers leave out, and the sigma that ends a word, which is no capital letter.
_PLAIN_LETTERS: Final = {
    "æ": "ae", "œ": "oe", "ß": "ss", "þ": "th", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "ı": "i", "ŋ": "n", "ħ": "h",
    "ŧ": "t",
    "ё": "е", "ά": "α", "έ": "ε", "ή": "η", "ί": "ι", "ϊ": "ι", "ΐ": "ι", "ό": "ο", "ύ": "υ", "ϋ": "υ", "ΰ": "υ",
    "ώ": "ω", "ς": "σ",
}  # fmt: skip
_IN_TITLES: Final = {"ẞ": "SS"} | {
    letter.upper(): plain.title() for letter, plain in _PLAIN_LETTERS.items() if letter not in "ßıΐΰς"
}
UNDECOMPOSED: Final = "".join((*_PLAIN_LETTERS, *_IN_TITLES))
_TO_PLAIN: Final = str.maketrans(_PLAIN_LETTERS | _IN_TITLES)


def plain(text: str) -> str:
    """Returns a text in which such letters are written with those of ASCII: `Thor` for `Þor`."""
    return text if text.isascii() else text.translate(_TO_PLAIN)


# What a reader sees as one character may be several: a letter with its accents, a flag, a family of emoji

_JOINER: Final = "\u200d"
_MOST_PARTS: Final = 32  # of one character: no text is searched for where it begins


def character_start(text: str, at: int) -> int:
    """Returns where the character begins that is at a place of a text: there, or some places before."""
    return next((start for start in range(at, max(-1, at - _MOST_PARTS), -1) if not _is_inside(text, start)), at)


def next_character(text: str, at: int) -> int:
    """Returns the first place, from this one on, at which a character begins."""
    return next((start for start in range(at, min(len(text), at + _MOST_PARTS)) if not _is_inside(text, start)), at)


def _is_inside(text: str, at: int) -> bool:
    """Returns whether a place is inside of what is seen as one character."""
    if not 0 < at < len(text) or (text[at].isascii() and text[at - 1].isascii()):
        return text[max(0, at - 1) : at + 1] == "\r\n"
    if text[at] in _FLAG_LETTERS:  # each two are a flag
        before = text[max(0, at - _MOST_FLAG_LETTERS) : at]
        return (len(before) - len(before.rstrip(_FLAG_LETTERS))) % 2 == 1
    return text[at - 1] == _JOINER or _continues(text[at])


_FLAG_LETTERS: Final = "".join(map(chr, range(0x1F1E6, 0x1F200)))
_MOST_FLAG_LETTERS: Final = 4_096  # in a row
# Letters that belong to the one before: joiners, Thai and Lao vowels, Japanese marks of half width, the second and
# third parts of a Korean syllable, colours of skin, and the tags of a flag such as that of Wales.
_CONTINUING: Final = (
    "[\u200c\u200d\u0e33\u0eb3\uff9e\uff9f\u1160-\u11ff\ud7b0-\ud7fb\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
)


@cache
def _continues(letter: str) -> bool:
    """Returns whether a letter belongs to the one before it: an accent, a variation, or one of those above."""
    from unicodedata import category  # imported here for a fast start

    return category(letter)[0] == "M" or re.match(_CONTINUING, letter) is not None


# Labels

# Accents as characters of their own, signs of vowels, and what joins letters: they are part of names in many scripts.
_MARKS_IN_NAMES: Final = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0dff\u0e31-\u0e4e\u0eb1-\u0ecd\u0f35-\u0fbc"
    "\u102b-\u109d\u17b4-\u17d3\u200c\u200d"
)
_LABEL_WORD = rf"[^\W_][\w.'’{_MARKS_IN_NAMES}-]{{0,30}}"
_LABEL = rf"[\s*_#>\[(<]*((?!\d){_LABEL_WORD}(?: {_LABEL_WORD}){{0,2}})[*_\])>]*(?::(?=[\s*_]|\Z)|：)"


def label(text: str) -> str:
    """Returns the label of a text: one to three words before a colon at its beginning.

    It says who speaks, or what follows ("Decision: …").
    """
    match = re.match(_LABEL, text) if ":" in text or "：" in text else None
    return match[1] if match else ""


_MOST_READ: Final = 4_000  # characters
_ENDS: Final = ".!?…。！？؟"
_ASKS: Final = "?？؟"
_SENTENCE: Final = rf"[^{_ENDS}\n]+[{_ENDS}]*"


def tenths_asked(text: str) -> int:
    """Returns how many tenths of a text are questions, after its label."""
    said = text[:_MOST_READ]
    if not any(sign in said for sign in _ASKS):
        return 0
    after = re.match(_LABEL, said)
    asked = whole = 0
    for match in re.finditer(_SENTENCE, said[after.end() if after else 0 :]):
        sentence = match[0].strip()
        whole += len(sentence)
        asked += len(sentence) if any(sign in sentence for sign in _ASKS) else 0
    return round(10 * asked / max(1, whole))


# What a user wants in general: "always use tabs", "when I ask for code, …", "I'd prefer short answers". In English.
_RULE: Final = (
    r"\b(?:always|never|from now on|when(?:ever)? i ask|whenever you|i(?:['’]d| would)? (?:really )?prefer"
    r"|please (?:avoid|do not|don['’]t))\b"
)
_IN_RULES: Final = ("always", "never", "from now on", " i ask", "whenever you", "prefer", "please ")


def states_rule(text: str) -> bool:
    """Returns whether a text says what holds in general: what is always, or never, to be done, or is preferred."""
    said = text[:_MOST_READ].lower()
    return any(each in said for each in _IN_RULES) and re.search(_RULE, said) is not None


def runs(text: str) -> Iterator[tuple[str, bool]]:
    """Yields the text in pieces, each with whether it is in a script without spaces."""
    place = 0
    for match in _unspaced().finditer(text) if has_foreign_letters(text) else ():
        yield text[place : match.start()], False
        yield match[0], True
        place = match.end()
    yield text[place:], False


# English words that only ask or join. In other languages such words have little weight, since they are frequent.
ASKING: Final = frozenset(
    """
    a about also an and any are as at be been but by can could d did do does doing ever for from had has have he her
    hers him his how i if in into is it its like ll m many may me might more most much my no not of on or other our re
    s she should so some such t than that the their them then there these they this to ve was we were what when where
    which who whom whose why will with would you your
    """.split()  # noqa: SIM905 - as a list it would take ninety lines
)
