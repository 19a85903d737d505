"""The points that a text makes: statements of at most 300 characters, each with its title (docs/lost.md).

A heading, a bold line or a lead-in ("The causes are:") is the title of what follows it. Short entries of a list and
short rows of a table are one point together, as far as they fit; a long paragraph is divided at its sentences.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from slicebase.context.lost.phrases import is_agreement, is_narration
from slicebase.context.lost.speech import BlockForm, TextBlock, blocks
from slicebase.context.lost.words import Sentence, content_stems, sentences

MOST: Final = 300  # characters of a point
_NAMES: Final = re.compile(r"`[^`\n]+`|\*\*[^*\n]+\*\*")
_TITLE_NAMES: Final = re.compile(r"`[^`\n]+`|\b[\w./-]+\.\w{1,5}(?::[\d-]+)?|\d+")
_LEAST_WORDS: Final = 4  # of a title that says something
_TITLED: Final = re.compile(r"(?:\d{1,3}[.)]\s*)?(?:\*\*|__)[^*\n]{2,100}(?:\*\*|__)")
_CONTINUED: Final = re.compile(
    r"(?:\*\*)?(?:Fix|Impact|Evidence|Reason|Why|Note|Result|Effect|Cause|Solution)\b[^.]{0,20}:", re.IGNORECASE
)


_GOES_ON: Final = re.compile(
    r"\W*(?:(?:this|that|it|these|those|they|its|their|such|so|which|otherwise|hence|therefore|then|also|both|"
    r"for example|e\.g\.|i\.e\.|in other words|as a result|because|but|however|and|or)\b|"
    r"(?:Fix|Impact|Evidence|Reason|Why|Note|Result|Effect|Cause|Solution)\b[^.]{0,20}:)",
    re.IGNORECASE,
)
_WORD: Final = 12  # characters of a sentence that says nothing by itself


class Point(NamedTuple):
    """A statement: its words on one line, its span in the text, the form of its first block, the headings above it."""

    text: str
    start: int
    end: int
    form: BlockForm
    above: str


def points(text: str) -> Iterator[Point]:
    """Yields the points of a text, in order. Fenced code and quotations make none."""
    packed: list[TextBlock] = []
    for block in _pieces(blocks(text)):
        if packed and not _joins(packed, block):
            yield from _point(packed)
            packed = []
        if block.form in ("code", "quotation"):
            continue
        packed.append(block)
    yield from _point(packed)


def pieces(text: str) -> list[TextBlock]:
    """Returns what a point says, each by itself: entries of a list, rows of a table, sentences of a paragraph.

    A title belongs to what follows it, and a sentence that goes on with the one before ("This costs …", "Fix: …") to
    that one.
    """
    found: list[TextBlock] = []
    title: TextBlock | None = None
    for block in blocks(text):
        if block.form == "heading":
            title = title or block
        elif block.form == "paragraph" and not (title and _TITLED.match(title.text)) and not _TITLED.match(block.text):
            for sentence in sentences(block.text):
                piece = _part(block, [sentence])
                if found and (_GOES_ON.match(piece.text) and found[-1].form != "entry"):
                    piece = piece._replace(start=found[-1].start, text=text[found.pop().start : piece.end])
                found.append(_below(title, piece, text))
                title = None
        elif block.form not in ("code", "quotation"):
            found.append(_below(title, block, text))
            title = None
    return found


def _below(title: TextBlock | None, piece: TextBlock, text: str) -> TextBlock:
    return piece._replace(start=title.start, text=text[title.start : piece.end]) if title else piece


def _pieces(given: Iterable[TextBlock]) -> Iterator[TextBlock]:
    """Yields blocks; one that is too long is divided at its sentences."""
    for block in given:
        if len(block.text) <= MOST or block.form in ("code", "quotation"):
            yield block
            continue
        run: list[Sentence] = []
        for sentence in sentences(block.text):
            if run and sentence.end - run[0].start > MOST:
                yield _part(block, run)
                run = []
            run.append(sentence)
        if run:
            yield _part(block, run)


def _part(block: TextBlock, run: Sequence[Sentence]) -> TextBlock:
    start, end = run[0].start, run[-1].end
    return TextBlock(block.text[start:end], block.start + start, block.start + end, block.form, block.above)


def _joins(packed: Sequence[TextBlock], block: TextBlock) -> bool:
    last = packed[-1]
    if block.form in ("code", "quotation", "heading") or block.end - packed[0].start > MOST:
        return False
    if last.form == "heading" or _names_only(last.text):
        return not (last.text.startswith("#") and _TITLED.match(block.text))
    if _CONTINUED.match(block.text):
        return True
    if _TITLED.match(block.text) and block.form != "row":
        return False
    if block.form in ("entry", "row"):
        return last.form == block.form or _TITLED.match(last.text) is not None
    return False


def _names_only(text: str) -> bool:
    """Returns whether a block is hardly more than names in bold or in backticks: it says where, not what."""
    return len(_NAMES.sub("", text).strip()) <= 25


def _point(packed: Sequence[TextBlock]) -> Iterator[Point]:
    if packed and not (all(block.form == "heading" for block in packed) and _is_title(packed[-1].text)):
        first = packed[0]
        body = next((block for block in packed if block.form != "heading"), first)
        words = " ".join(" ".join(block.text.split()) for block in packed)
        yield Point(words, first.start, packed[-1].end, body.form, first.above)


def _is_title(text: str) -> bool:
    """Returns whether a heading only names something. One with several words besides names is a statement.

    A name is searched from each of its parts on, so only the beginning of a heading is looked at.
    """
    return text.rstrip().endswith(":") or len(content_stems(_TITLE_NAMES.sub(" ", text[:MOST]))) < _LEAST_WORDS


def without_narration(point: Point, text: str) -> Point | None:
    """Returns a point without the sentences that only agree or announce the next step; None if there are no others."""
    body = text[point.start : point.end]
    found = list(sentences(body))
    if point.form in ("row", "entry") and found and not is_narration(found[0].text):
        return point
    told = [each for each in found if not is_narration(each.text) and not is_agreement(each.text)]
    while told and len(told[0].text) <= _WORD and not told[0].text.startswith(("#", "*", "`")):
        del told[0]  # "Good."
    if not told or (len(told) == 1 and told[0].text.endswith(":") and not told[0].text.startswith("#")):
        return None
    start, end = told[0].start, told[-1].end
    if not re.search(r"[^\W\d_]", body[:start]):
        start = 0  # with the marks and the number of a list or a title
    return point._replace(text=" ".join(body[start:end].split()), start=point.start + start, end=point.start + end)
