"""What `tt lost` lists and brings back, on two yardsticks (docs/lost.md).

**Labels.** Of ten real compactions, 73 labelled items are right: worth 2 or more and not in the summary. R-precision is
the share of right items among the first n listed, n the number of right labels of the compaction; recall is the share
of right labels among the first 20 listed. Both are over all compactions together. An item without a label counts as
wrong. The weights for a session are learned from the other nine. Which features there are, and a few settings, were
chosen by a person who saw these figures, so they flatter: sessions that nobody looked at are the judge.

**Rediscovery.** Things that an agent looked up before a compaction (files, searches, commands, questions) and that the
summary does not name; those that are looked up again after it are rediscovered, except files that are read right before
an edit of them. Of a context of 2,000 tokens, precision is the share of rediscovered things among those that it names,
recall the share of the rediscovered things that it names. `--for` gets the next real prompt. The last messages before
the compaction and a plain BM25 of the prompt over the turns get as many tokens.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log
from typing import NamedTuple

from slicebase.context.lost.judged import DescribedItem, JudgedCompactions, describe, weigh
from slicebase.context.lost.points import MOST
from slicebase.context.lost.speech import said_by_user
from slicebase.context.rediscovery import naming, repeated, things
from slicebase.core.hashing import tokens
from slicebase.graph.turn import Turn, turn_text
from slicebase.verbs.lost import render_lost
from tools.lost_labels import Compaction, Corpus, corpus, matching
from tools.lost_weights import labelled, weights_from

FIRST = 20
TOKENS = 2_000


class Score(NamedTuple):
    found: int
    of: int

    def __str__(self) -> str:
        return f"{self.found / max(1, self.of):.2f} ({self.found} of {self.of})"


class Seen(NamedTuple):
    """A compaction, its items, and the weights that the labels of the other sessions teach."""

    compaction: Compaction
    items: list[DescribedItem]
    weights: Mapping[str, float]

    def judged(self) -> JudgedCompactions:
        return weigh([self.compaction.turns], self.items, self.weights)


def run() -> None:
    """Prints both yardsticks."""
    known = corpus()
    if known is None:
        print("lost: skipped, ../shared/data/claude-code/lost is absent")
        return
    seen = left_out(known)
    for same_command, how in ((False, "by quote"), (True, "by quote or the same command")):
        precise, recalled = on_labels(seen, same_command=same_command)
        print(f"lost, labels {how}, one session left out: R-precision {precise}, recall in {FIRST} {recalled}")
    for what, (precise, recalled) in on_rediscovery(known, seen).items():
        print(f"lost, rediscovery in {TOKENS} tokens, {what:50} precision {precise}, recall {recalled}")


def left_out(known: Corpus) -> list[Seen]:
    """Returns the compactions, each with the weights that are learned from the labels of the other sessions."""
    items = [describe([each.turns]) for each in known.compactions]
    rows = {
        each.session: labelled(each, found) for each, found in zip(known.compactions, items, strict=True) if each.labels
    }
    weights: dict[str, dict[str, float]] = {}
    for session in {each.session for each in known.compactions}:
        left = session if session in rows else ""
        if left not in weights:
            weights[left] = weights_from(row for other, row in rows.items() if other != left)
        weights[session] = weights[left]
    return [Seen(each, found, weights[each.session]) for each, found in zip(known.compactions, items, strict=True)]


def on_labels(seen: Sequence[Seen], *, same_command: bool) -> tuple[Score, Score]:
    hits = found = total = 0
    for each in seen:
        right = [label for label in each.compaction.labels if label.right]
        turns = {turn.id: turn for turn in each.compaction.turns.before}
        matched = [
            matching(one.item, turns[one.item.turn], right, same_command=same_command)
            for one in each.judged().items[: max(FIRST, len(right))]
        ]
        hits += sum(map(bool, matched[: len(right)]))
        found += len({label for labels in matched[:FIRST] for label in labels})
        total += len(right)
    return Score(hits, total), Score(found, total)


# Rediscovery

KINDS = {"all": ("file", "search", "command", "question"), "without commands": ("file", "search", "question")}


def on_rediscovery(known: Corpus, seen: Sequence[Seen]) -> dict[str, tuple[Score, Score]]:
    sums: dict[str, Counter[str]] = {}
    for each in seen:
        turns = each.compaction.turns
        before = things(turns.before)
        said = naming(turns.said, before.values())
        absent = [thing for thing in before.values() if not said(thing)]
        found = repeated(turns.before, turns.said, each.compaction.after)
        again = {one.first for one in found if not one.in_summary}
        for name, text in _contexts(known, each):
            names = naming(text, before.values())
            for what, kinds in KINDS.items():
                named = {thing for thing in absent if thing.kind in kinds and names(thing)}
                sought = {thing for thing in again if thing.kind in kinds}
                sums.setdefault(f"{name}, {what}", Counter()).update(
                    right=len(named & sought), named=len(named), again=len(sought)
                )
    return {name: (Score(n["right"], n["named"]), Score(n["right"], n["again"])) for name, n in sums.items()}


def _contexts(known: Corpus, each: Seen) -> Iterator[tuple[str, str]]:
    judged = each.judged()
    turns = each.compaction.turns
    prompt = _next_prompt(each.compaction.after)
    yield "--tokens", _rendered(known, each.compaction, judged, None)
    yield "--for the next prompt", _rendered(known, each.compaction, judged, prompt)
    yield "the last messages", _filled(reversed(turns.before))
    yield "BM25 of the next prompt", _filled(_bm25(prompt, turns.before))


def _rendered(known: Corpus, each: Compaction, judged: JudgedCompactions, prompt: str | None) -> str:
    truth, index = known.base.truth, known.base.turn_index
    return render_lost(truth, index, each.session, [each.turns], judged, TOKENS, 0, prompt).text


def _next_prompt(after: Iterable[Turn]) -> str:
    texts = (said_by_user(turn_text(turn.parts)).strip() for turn in after if turn.role == "user")
    return next(filter(None, texts), "continue")


def _filled(turns: Iterable[Turn]) -> str:
    """Returns the beginnings of turns up to the budget, each as long as an item may be: longer ones find less."""
    room = TOKENS
    chosen = []
    for turn in turns:
        text = turn_text(turn.parts)[:MOST]
        room -= tokens(text)
        if room < 0:
            break
        chosen.append(text)
    return "\n\n".join(chosen)


def _bm25(prompt: str, turns: Sequence[Turn]) -> list[Turn]:
    def words(text: str) -> list[str]:
        return "".join(letter.lower() if letter.isalnum() else " " for letter in text).split()

    texts = [Counter(words(turn_text(turn.parts))) for turn in turns]
    mean = sum(map(Counter.total, texts)) / max(1, len(texts))
    having = Counter(word for text in texts for word in text)

    def rank(text: Counter[str]) -> float:
        length = 1.2 * (0.25 + 0.75 * text.total() / (mean or 1))
        return sum(
            log(1 + (len(texts) - having[word] + 0.5) / (having[word] + 0.5)) * text[word] * 2.2 / (text[word] + length)
            for word in dict.fromkeys(words(prompt))
        )

    order = sorted(range(len(turns)), key=lambda at: (-rank(texts[at]), at))
    return [turns[at] for at in order]
