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

from bench._lost_labels import Compaction, Corpus, Label, corpus, matching
from slicebase.context.lost import JudgedItem, Loss, judge
from slicebase.context.lost_points import MOST
from slicebase.context.lost_speech import CLIENT_PROMPT
from slicebase.context.rediscovery import naming, repeated, things
from slicebase.core.hashing import tokens
from slicebase.graph.turn import Turn, turn_text
from slicebase.verbs.lost import render_lost
from tools.lost_weights import labelled, weights_from

FIRST = 20
TOKENS = 2_000


class Score(NamedTuple):
    found: int
    of: int

    def __str__(self) -> str:
        return f"{self.found / max(1, self.of):.2f} ({self.found} of {self.of})"


def run() -> None:
    """Prints both yardsticks."""
    known = corpus()
    if known is None:
        print("lost: skipped, ../shared/data/claude-code/lost is absent")
        return
    weights = _left_out(known)
    for same_command, how in ((False, "by quote"), (True, "by quote or the same command")):
        precise, recalled = on_labels(known, weights, same_command=same_command)
        print(f"lost, labels {how}, one session left out: R-precision {precise}, recall in {FIRST} {recalled}")
    for name, (precision, recall) in on_rediscovery(known, weights).items():
        print(f"lost, rediscovery in {TOKENS} tokens, {name:28} precision {precision}, recall {recall}")


def _left_out(known: Corpus) -> dict[str, dict[str, float]]:
    """Returns the weights for each session, learned from the labels of the others."""
    seen = {each.session: labelled(each) for each in known.labelled}
    sessions = {each.session for each in known.compactions}
    return {session: weights_from(rows for other, rows in seen.items() if other != session) for session in sessions}


def on_labels(known: Corpus, weights: Mapping[str, Mapping[str, float]], *, same_command: bool) -> tuple[Score, Score]:
    def matched(item: JudgedItem, each: Compaction) -> list[Label]:
        right = [label for label in each.labels if label.right]
        return matching(item, each.turns.before, right, same_command=same_command)

    hits = found = total = 0
    for each in known.labelled:
        right = [label for label in each.labels if label.right]
        listed = judge(each.turns, weights[each.session]).items
        hits += sum(bool(matched(item, each)) for item in listed[: len(right)])
        top = {label for item in listed[:FIRST] for label in matched(item, each)}
        found += len(top)
        total += len(right)
    return Score(hits, total), Score(found, total)


# Rediscovery


def on_rediscovery(known: Corpus, weights: Mapping[str, Mapping[str, float]]) -> dict[str, tuple[Score, Score]]:
    sums: dict[str, Counter[str]] = {}
    for each in known.compactions:
        before = things(each.turns.before)
        said = naming(each.turns.said, before.values())
        absent = [thing for thing in before.values() if not said(thing)]
        again = {each.first for each in repeated(each.turns.before, each.turns.said, each.after) if not each.in_summary}
        for name, text in _contexts(known, each, weights[each.session]):
            names = naming(text, before.values())
            named = {thing for thing in absent if names(thing)}
            sums.setdefault(name, Counter()).update(right=len(named & again), named=len(named), again=len(again))
    return {name: (Score(n["right"], n["named"]), Score(n["right"], n["again"])) for name, n in sums.items()}


def _contexts(known: Corpus, each: Compaction, weights: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    loss = judge(each.turns, weights)
    prompt = _next_prompt(each.after)
    yield "--tokens", _rendered(known, each, loss, None)
    yield "--for the next prompt", _rendered(known, each, loss, prompt)
    yield "the last messages", _filled(reversed(each.turns.before))
    yield "BM25 of the next prompt", _filled(_bm25(prompt, each.turns.before))


def _rendered(known: Corpus, each: Compaction, loss: Loss, prompt: str | None) -> str:
    return render_lost(known.base.truth, each.session, [(each.turns, loss)], TOKENS, 0, prompt).text


def _next_prompt(after: Iterable[Turn]) -> str:
    texts = (turn_text(turn.parts) for turn in after if turn.role == "user")
    return next((text for text in texts if text.strip() and not CLIENT_PROMPT.match(text)), "continue")


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
