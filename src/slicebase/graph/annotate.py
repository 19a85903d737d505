"""The default annotator: computes phase, salience and trajectory fields of a turn without a model (ruling 17).

It is deterministic and causal. It reads the turn, its nearest ancestors and the number of siblings that came before it,
so that a session that grows never changes earlier annotations. A turn whose parent is missing is annotated as a root.

    depth            steps from the root
    sibling_order    siblings that came before it
    homogeneity      the share of words that it has in common with its parent; 0 for a root
    temporal         how soon it came after its parent: 1 at once, 1/2 an hour later; 0 for a root
    complexity       how much it holds: the bits of the number of its distinct words, and its calls and code, over 8

Everything is counted in integers and divided once, so that every machine gives the same bits.

Phase and salience come from `ANNOTATION_RULES`, tables that a person can read and a project can replace. A row applies
to a turn when the turn's role is one of the row's roles, the turn has all the row's marks, and the turn contains one of
the row's phrases, word for word. A field that a row leaves empty is not checked. The marks of a turn:

    call, result      it calls a tool; it is the result of a tool
    error             a tool, or the assistant's service, reports a failure
    tool-only         it holds only calls and results, no text and no thinking
    code              it holds code
    hidden            its source does not show it
    brief             it has only a few words
    question          it asks something
    figures           it holds a number
    root              it has no parent
    below-debugging   its parent's phase is debugging
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from operator import or_
from typing import Final, NamedTuple
from zlib import crc32

from msgspec import Struct

from slicebase.graph.binary32 import binary32
from slicebase.graph.turn import Annotation, Part, Phase, Role, Turn, part_text

# The rules


class TurnPattern(Struct, frozen=True):
    """The conditions that a turn must meet for a row to apply."""

    roles: tuple[Role, ...] = ()
    marks: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()


class PhaseRow(TurnPattern, frozen=True, kw_only=True):
    """A row of the phase table. The first row that applies gives the phase."""

    phase: Phase


class SalienceRow(TurnPattern, frozen=True, kw_only=True):
    """A row of the salience table. Every row that applies adds its hundredths."""

    adds: int


class Rules(Struct, frozen=True):
    """The tables of an annotator.

    Salience, in hundredths, is the sum of `base`, a share of `novelty` that depends on the number of new words, and
    what the rows add.
    """

    annotator: str  # name/version; different rules need a different name
    phases: tuple[PhaseRow, ...]
    otherwise: Phase
    base: int
    novelty: int  # for a turn with `full_novelty` new words; less for fewer
    full_novelty: int
    salience: tuple[SalienceRow, ...]


# Phrases that show that something was …
DECIDED: Final = (
    "decision", "decisions", "we decided", "i decided", "i've decided", "we agreed", "we have decided", "decided to",
    "decided on", "decided that", "let's go with", "let's use", "let's keep", "let's drop", "we'll use", "we will use",
    "we'll keep", "we should use", "we must use", "we will not", "we won't",
)  # fmt: skip
CORRECTED: Final = (
    "actually", "that's wrong", "that is wrong", "that's not", "not what", "you're right", "you are right",
    "my mistake", "i was wrong", "scratch that", "instead",
)  # fmt: skip
UNDERSTOOD: Final = (
    "root cause", "found the cause", "found the problem", "found the issue", "found the bug", "here's the problem",
    "here's the issue", "the cause is", "the cause was", "the reason is", "the problem is", "the problem was",
    "this means", "that means", "which means", "this explains", "that explains", "which explains", "turns out",
    "in other words", "key insight", "key idea", "key point", "key difference", "therefore", "i suggest", "i'd suggest",
    "i would suggest", "i recommend", "i'd recommend", "i would recommend", "trade off", "tradeoff", "in conclusion",
)  # fmt: skip
FAILED: Final = (
    "traceback", "exception", "exceptions", "stack trace", "stacktrace", "error", "errors", "failure", "failures",
    "fails", "failed", "failing", "flaky", "bug", "bugs", "broken", "crash", "crashes", "crashed", "crashing", "debug",
    "debugging", "doesn't work", "does not work", "not working", "reproduce", "reproduced", "regression",
)  # fmt: skip
PLANNED: Final = (
    "plan", "next step", "next steps", "todo", "todos", "to do list", "roadmap", "we should", "we need to", "milestone",
    "milestones", "requirement", "requirements", "proposal", "i propose",
)  # fmt: skip
SUMMED_UP: Final = (
    "in summary", "in short", "to sum up", "to summarize", "to summarise", "to recap", "summary of", "a summary",
    "updated summary", "an overview", "recap", "tldr", "tl dr", "here's what i", "what i did", "what i changed",
    "what we did",
)  # fmt: skip
_SPEAKERS: Final[tuple[Role, ...]] = ("user", "assistant")
ANNOTATION_RULES: Final = Rules(
    annotator="rules/1",
    phases=(
        PhaseRow(phase="consolidation", roles=("system",)),  # ruling 18
        PhaseRow(phase="debugging", marks=("error",)),
        PhaseRow(phase="debugging", marks=("tool-only", "below-debugging")),
        PhaseRow(phase="exploration", marks=("tool-only",)),
        PhaseRow(phase="planning", roles=("user",), marks=("root",)),  # it sets the goal
        PhaseRow(phase="consolidation", roles=("assistant",), phrases=SUMMED_UP),
        PhaseRow(phase="synthesis", roles=("assistant",), phrases=UNDERSTOOD),
        PhaseRow(phase="planning", roles=_SPEAKERS, phrases=DECIDED),
        PhaseRow(phase="debugging", roles=_SPEAKERS, phrases=FAILED),
        PhaseRow(phase="planning", roles=_SPEAKERS, phrases=PLANNED),
    ),
    otherwise="exploration",
    base=15,
    novelty=50,
    full_novelty=20,
    salience=(
        SalienceRow(adds=10, roles=("user",)),
        SalienceRow(adds=25, roles=_SPEAKERS, phrases=DECIDED),
        SalienceRow(adds=15, roles=("user",), phrases=CORRECTED),
        SalienceRow(adds=15, roles=("assistant",), phrases=UNDERSTOOD),
        SalienceRow(adds=10, roles=("user",), marks=("figures",)),
        SalienceRow(adds=10, marks=("error",)),
        SalienceRow(adds=-10, marks=("tool-only",)),
        SalienceRow(adds=-10, marks=("brief",)),
        SalienceRow(adds=-15, marks=("hidden",)),
    ),
)


# The annotator

ANCESTORS: Final = 16  # words of this many ancestors count as known
_HOUR: Final = 3_600_000
_SPOKEN_PARTS: Final = frozenset({"text", "code", "thinking"})


class Trace(NamedTuple):
    """What the annotation of a turn's children needs from the turn. `trace_of` rebuilds it from stored turns."""

    depth: int
    phase: Phase
    time: int
    sketches: tuple[int, ...]  # words of the turn and of its nearest ancestors, a bit for each word, nearest first


class _Features(NamedTuple):
    """The properties of a turn that rows are compared with."""

    role: Role
    marks: frozenset[str]
    words: frozenset[str]
    spoken: str  # its words, with a space around each


def annotate(turn: Turn, above: Trace | None, order: int, rules: Rules = ANNOTATION_RULES) -> tuple[Annotation, Trace]:
    """Returns the annotation of a turn, and its trace for the annotation of its children.

    `above` is the trace of the turn's parent (None for a root), `order` the number of siblings before the turn.
    """
    text = _excerpt(_texts(turn.parts))
    listed = words_in(text)
    words = frozenset(listed)
    sketch = _sketch(words)
    spoken = _spoken(turn.parts, listed)
    features = _Features(turn.role, _marks(turn.parts, text, words, above), words, f" {' '.join(spoken)} ")
    annotation = Annotation(
        turn=turn.id,
        annotator=rules.annotator,
        phase=_phase(features, rules),
        salience=_salience(features, _new_words(sketch, above), rules),
        depth=above.depth + 1 if above else 0,
        sibling_order=order,
        homogeneity=_ratio(*_common(sketch, above)) if above else 0.0,
        temporal=_ratio(_HOUR, _HOUR + max(turn.time - above.time, 0)) if above else 0.0,
        complexity=_complexity(len(words), turn.parts, features.marks),
    )
    known = above.sketches[: ANCESTORS - 1] if above else ()
    return annotation, Trace(annotation.depth, annotation.phase, turn.time, (sketch, *known))


def trace_of(chain: Sequence[Turn], annotation: Annotation) -> Trace:
    """Returns the trace of a stored turn.

    `chain` is the turn itself and its nearest ancestors (up to `ANCESTORS`), nearest first.
    """
    sketches = (_sketch(frozenset(words_in(_excerpt(_texts(turn.parts))))) for turn in chain[:ANCESTORS])
    return Trace(annotation.depth, annotation.phase, chain[0].time, tuple(sketches))


# Words

_SKETCH_BITS: Final = 4096
_HEAD, _TAIL = 8000, 2000  # the characters of a long text that are read
_WORD: Final = re.compile(r"[^\W_\u3040-\u9fff]+|[\u3040-\u9fff]")  # in Chinese and Japanese each character is a word


def _texts(parts: Iterable[Part]) -> Iterable[str]:
    return (text for part in parts if (text := part_text(part)))


# In ASCII, everything but letters and digits separates words. Capitals become small letters.
_SEPARATED: Final = bytes(
    code if code >= 128 else ord(chr(code).lower()) if chr(code).isalnum() else 32 for code in range(256)
)
_ARROW: Final = "→".encode()  # agents read files with an arrow after the number of each line


def words_in(text: str) -> list[str]:
    """Returns the words of a text, in lower case: what `_WORD` finds, which searches only where it is not ASCII."""
    if text.isascii():
        return text.encode().translate(_SEPARATED).decode().split()
    data = text.lower().encode("utf-8", "surrogatepass").translate(_SEPARATED).replace(_ARROW, b" ")
    pieces = data.decode("utf-8", "surrogatepass").split()
    return [word for piece in pieces for word in ((piece,) if piece.isascii() else _WORD.findall(piece))]


def _spoken(parts: Sequence[Part], listed: list[str]) -> list[str]:
    """Returns the words that were spoken; `listed` are all words of the turn, which are the same in most turns."""
    speech = [part for part in parts if part.type in _SPOKEN_PARTS]
    if len(speech) == len(parts) and not any(part.name or part.uri for part in parts):
        return listed
    return words_in(_excerpt(part.text or "" for part in speech)) if speech else []


def _excerpt(texts: Iterable[str]) -> str:
    text = "\n\n".join(texts)
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"


class _Bits(dict[str, int]):
    """The bit of each word that was looked up, as a number. It is emptied before it becomes large."""

    def __missing__(self, word: str) -> int:
        if len(self) >= _MOST_BITS:
            self.clear()
        bit = self[word] = _POWERS[crc32(word.encode("utf-8", "surrogatepass")) % _SKETCH_BITS]
        return bit


_MOST_BITS: Final = 100_000
_POWERS: Final = tuple(1 << bit for bit in range(_SKETCH_BITS))  # which words share
_bit_of: Final = _Bits().__getitem__


def _sketch(words: frozenset[str]) -> int:
    """Returns a set of words as a number: one bit for each word, chosen by a hash that is the same everywhere."""
    return reduce(or_, map(_bit_of, words), 0)


def _common(sketch: int, above: Trace | None) -> tuple[int, int]:
    """Returns how many words a turn shares with its parent, and how many the two have together."""
    other = above.sketches[0] if above else 0
    return (sketch & other).bit_count(), (sketch | other).bit_count()


def _new_words(sketch: int, above: Trace | None) -> int:
    """Returns how many words of a turn are in none of its nearest ancestors."""
    known = 0
    for other in above.sketches if above else ():
        known |= other
    return (sketch & ~known).bit_count()


# Marks and rows

_BRIEF_WORDS: Final = 8
_QUESTION: Final = re.compile(r"\?(?:\s|$)")
_FIGURE: Final = re.compile(r"\d")


def _marks(parts: Sequence[Part], text: str, words: frozenset[str], above: Trace | None) -> frozenset[str]:
    kinds = {part.type for part in parts}
    has_speech = any(part.type in _SPOKEN_PARTS and part.text for part in parts)
    found = {
        "call": "tool_call" in kinds,
        "result": "tool_result" in kinds,
        "error": any(part.error for part in parts),
        "tool-only": bool(parts) and not has_speech,
        "code": "code" in kinds or "```" in text,
        "hidden": bool(parts) and all(part.hidden for part in parts),
        "brief": len(words) <= _BRIEF_WORDS,
        "question": _QUESTION.search(text) is not None,
        "figures": _FIGURE.search(text) is not None,
        "root": above is None,
        "below-debugging": above is not None and above.phase == "debugging",
    }
    return frozenset(mark for mark, holds in found.items() if holds)


class _RowsOfRole(NamedTuple):
    """The rows of some rules that can apply to a turn with one role."""

    rules: Rules
    phases: tuple[PhaseRow, ...]
    salience: tuple[SalienceRow, ...]


_rows: Final[dict[tuple[int, Role], _RowsOfRole]] = {}  # by the identity of rules, which an entry keeps alive


def _rows_of(rules: Rules, role: Role) -> _RowsOfRole:
    key = id(rules), role
    if key not in _rows:
        phases = tuple(row for row in rules.phases if not row.roles or role in row.roles)
        salience = tuple(row for row in rules.salience if not row.roles or role in row.roles)
        _rows[key] = _RowsOfRole(rules, phases, salience)
    return _rows[key]


def _phase(features: _Features, rules: Rules) -> Phase:
    for row in _rows_of(rules, features.role).phases:
        if _applies(row, features):
            return row.phase
    return rules.otherwise


def _salience(features: _Features, new_words: int, rules: Rules) -> float:
    adds = sum([row.adds for row in _rows_of(rules, features.role).salience if _applies(row, features)])
    hundredths = rules.base + adds + rules.novelty * min(new_words, rules.full_novelty) // rules.full_novelty
    return _ratio(min(max(hundredths, 0), 100), 100)


def _applies(row: TurnPattern, features: _Features) -> bool:
    return features.marks.issuperset(row.marks) and (not row.phrases or _says(row.phrases, features))


def _says(phrases: tuple[str, ...], features: _Features) -> bool:
    """Returns whether one of the phrases was spoken. Most turns have no first word of any."""
    table = _by_first_word(phrases)
    if features.words.isdisjoint(table):
        return False
    begun = table.keys() & features.words
    return any(phrase in features.spoken for first in begun for phrase in table[first])


@lru_cache(maxsize=256)
def _by_first_word(phrases: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    table: dict[str, tuple[str, ...]] = {}
    for first, phrase in phrase_patterns(phrases):
        table[first] = (*table.get(first, ()), phrase)
    return table


@lru_cache(maxsize=256)
def phrase_patterns(phrases: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Returns, for each phrase, its first word, and its words with a space around each."""
    split = [words_in(phrase) for phrase in phrases]
    return tuple((words[0], f" {' '.join(words)} ") for words in split if words)


# Numbers


def _complexity(words: int, parts: Sequence[Part], marks: frozenset[str]) -> float:
    calls = sum(part.type == "tool_call" for part in parts)
    return _ratio(words.bit_length() + min(calls, 8) + 2 * ("code" in marks), 8)


def _ratio(part: int, whole: int) -> float:
    return binary32(part / whole) if whole else 0.0
