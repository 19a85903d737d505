"""The quality of the default annotator's labels: do the turns that matter get the higher numbers?

Two kinds of real conversations show which turns mattered. In LoCoMo, people marked the turns that answer a question. In
a compacted Claude Code session, the summary shows what was worth keeping: a turn mattered if it shares rare words with
the summary. The figure is the probability that a turn that mattered ranks above one that did not (0.5 is chance). Then
each row of the table is left out, one at a time: a row that does not improve the figure should be removed.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from slicebase.core.ids import turn_id
from slicebase.graph.annotate import ANNOTATION_RULES, Rules, Trace, annotate
from slicebase.graph.policy import DEFAULT
from slicebase.graph.turn import PHASES, Annotation, Parent, Part, Turn, turn_text
from slicebase.importers.formats import Import, recognise
from slicebase.importers.values import ImportSource, Options

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
RARE = 6  # a word is rare if at most this many turns of the session have it
_RARE_WORD = re.compile(r"[A-Za-z_][\w./-]{3,}")
_DIALOGUE = re.compile(r"D\d+:\d+")


class Marked(NamedTuple):
    """The turns of a session in order, the turns that are compared, and those of them that mattered."""

    turns: list[Turn]
    compared: set[str]
    mattered: set[str]


def annotated(turns: list[Turn], rules: Rules = ANNOTATION_RULES) -> dict[str, Annotation]:
    traces: dict[str, Trace] = {}
    children: Counter[str | None] = Counter()
    found = {}
    for turn in turns:
        parent = turn.tree_parent
        found[turn.id], traces[turn.id] = annotate(turn, traces.get(parent or ""), children[parent], rules)
        children[parent] += 1
    return found


# --- conversations whose turns are marked


def locomo() -> Iterator[Marked]:
    for sample in json.loads((DATA / "locomo" / "locomo10.json").read_text()):
        turns: list[Turn] = []
        ids: dict[str, str] = {}
        for day, messages in enumerate(_sessions(sample["conversation"])):
            for number, message in enumerate(messages):
                own = turn_id("locomo", sample["sample_id"], message["dia_id"])
                text = f"{message['text']} {message.get('blip_caption', '')}"
                parents = (Parent(turns[-1].id),) if turns else ()
                time = day * 86_400_000 + number * 30_000
                turns.append(Turn(own, sample["sample_id"], "user", (Part("text", text=text),), time, parents, ""))
                ids[message["dia_id"]] = own
        evidence = [each for qa in sample["qa"] if qa["category"] != 5 for each in qa.get("evidence", ())]
        mattered = {ids[found] for each in evidence for found in _DIALOGUE.findall(each) if found in ids}
        yield Marked(turns, set(ids.values()), mattered)


def _sessions(conversation: dict[str, Any]) -> list[list[dict[str, Any]]]:
    names = [name for name in conversation if re.fullmatch(r"session_\d+", name)]
    return [conversation[name] for name in sorted(names, key=lambda name: int(name.split("_")[1]))]


def compacted() -> Iterator[Marked]:
    for path in sorted((DATA / "claude-code" / "compacted").glob("*.jsonl")):
        turns = read(path)
        summary = next(
            at for at, turn in enumerate(turns) if turn.role == "system" and len(turn_text(turn.parts)) > 500
        )
        kept = set(_RARE_WORD.findall(turn_text(turns[summary].parts)))
        before = turns[: summary - 1]
        spread = Counter(word for turn in before for word in set(_RARE_WORD.findall(turn_text(turn.parts))))
        said = {turn.id: words for turn in before if (words := set(_RARE_WORD.findall(_said(turn))))}
        mattered = {own for own, words in said.items() if sum(spread[word] <= RARE for word in words & kept) >= 2}
        yield Marked(turns, set(said), mattered)


def _said(turn: Turn) -> str:
    return " ".join(part.text or "" for part in turn.parts if part.type in ("text", "thinking"))


def read(path: Path) -> list[Turn]:
    data = path.read_bytes()
    known = recognise(ImportSource(path.name, [data]))
    assert known is not None
    return [turn for batch in Import(Options()).read(ImportSource(path.name, [data]), known) for turn in batch.turns]


def real_turns() -> Iterator[tuple[str, list[Turn]]]:
    """Yields the turns that the importers read, by folder."""
    for folder in ("claude-code", "chatgpt", "oasst"):
        paths = [path for path in sorted((DATA / folder).rglob("*.json*")) if _recognised(path)]
        yield folder, [turn for path in paths for turn in read(path)]


def _recognised(path: Path) -> bool:
    return recognise(ImportSource(path.name, [path.read_bytes()])) is not None


# --- figures


def _print_labels(folder: str, turns: list[Turn]) -> None:
    found = annotated(turns).values()
    phases = Counter(each.phase for each in found)
    ranked = sorted(each.salience for each in found)
    shares = "  ".join(f"{phase} {phases[phase] / len(ranked):4.0%}" for phase in PHASES)
    quarters = " ".join(f"{ranked[len(ranked) * quarter // 4]:.2f}" for quarter in (1, 2, 3))
    print(f"  {folder:<12} {len(ranked):5,} turns  {shares}  salience quartiles {quarters}")


def score(sessions: list[Marked], rules: Rules = ANNOTATION_RULES) -> tuple[float, float]:
    """Returns the probability that a turn that mattered ranks higher.

    First by salience, then by the priority of SlicePolicy at equal distance.
    """
    mattered: list[Annotation] = []
    others: list[Annotation] = []
    for session in sessions:
        for own, annotation in annotated(session.turns, rules).items():
            if own in session.compared:
                (mattered if own in session.mattered else others).append(annotation)
    by_salience, by_priority = (
        _chance([of(each) for each in mattered], [of(each) for each in others]) for of in (_salience, _priority)
    )
    return by_salience, by_priority


def _salience(annotation: Annotation) -> float:
    return annotation.salience


def _priority(annotation: Annotation) -> float:
    weight: float = getattr(DEFAULT.phase_weights, annotation.phase)
    return weight + annotation.salience * DEFAULT.salience_weight


def _chance(higher: list[float], lower: list[float]) -> float:
    lower.sort()
    wins = sum(bisect_left(lower, value) + bisect_right(lower, value) for value in higher) / 2
    return wins / len(higher) / len(lower)


def run() -> None:
    if not DATA.is_dir():
        print("annotation: ../shared/data is not here")
        return
    named = {"LoCoMo": list(locomo()), "compacted": list(compacted())}
    print("annotation: labels on real conversations")
    for folder, turns in real_turns():
        _print_labels(folder, turns)
    print("annotation: chance that a turn that mattered ranks higher, by salience and by priority")
    for name, sessions in named.items():
        print(f"  {name:<10} {_shown(score(sessions))}  of {sum(len(each.mattered) for each in sessions)} turns")
    for at, row in enumerate(ANNOTATION_RULES.salience):
        rules = replace(ANNOTATION_RULES, salience=ANNOTATION_RULES.salience[:at] + ANNOTATION_RULES.salience[at + 1 :])
        _print_without(f"{row.adds:+d} {_asked(row)}", named, rules)
    for at, phase_row in enumerate(ANNOTATION_RULES.phases):
        rules = replace(ANNOTATION_RULES, phases=ANNOTATION_RULES.phases[:at] + ANNOTATION_RULES.phases[at + 1 :])
        _print_without(f"{phase_row.phase} {_asked(phase_row)}", named, rules)


def _print_without(what: str, named: dict[str, list[Marked]], rules: Rules) -> None:
    print(f"  without {what:<58} {'   '.join(_shown(score(sessions, rules)) for sessions in named.values())}")


def _asked(row: Any) -> str:
    return " ".join((*row.roles, *row.marks, *row.phrases[:2]))


def _shown(scores: tuple[float, float]) -> str:
    return " ".join(f"{score:.3f}" for score in scores)
