"""Learns the weights of lost items from the labelled transcripts, and writes `context/lost_weights.py`.

    python -m tools.lost_weights

Logistic regression with a strong prior towards zero, by plain gradient steps: no chance, so the same data gives the same
weights. An item that matches a right label counts 1; one that matches a label of some worth that the summary has only in
substance, or of little worth, 0.4; every other 0. An item without a label counts half, since it may be right. The items
are those that could be listed: not in the summary, not done.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import exp, sqrt
from pathlib import Path
from typing import NamedTuple

from bench._lost_labels import Compaction, corpus, matching
from slicebase.context.lost import judge
from slicebase.context.lost_follow import items
from slicebase.context.lost_score import Surroundings, features
from slicebase.context.lost_words import Passages

WRITTEN = Path(__file__).resolve().parents[1] / "src" / "slicebase" / "context" / "lost_weights.py"
PRIOR = 3.0
STEPS = 80
PACE = 0.5
PARTLY = 0.4
UNLABELLED = 0.5


class Example(NamedTuple):
    features: Mapping[str, float]
    target: float
    weight: float


def examples(compaction: Compaction) -> list[Example]:
    """Returns an example for each item of a labelled compaction that could be listed."""
    removed = compaction.turns
    found = items(removed.before)
    around = Surroundings(removed.before, Passages(removed.said), found)
    turns = {turn.id: turn for turn in removed.before}
    made = []
    for each in judge(removed, {}).judged:
        if each.needed and not each.kept:
            labels = matching(each, [turns[each.item.turn]], compaction.labels)
            partly = any(label.in_summary != "yes" and label.worth for label in labels)
            target = 1.0 if any(label.right for label in labels) else PARTLY if partly else 0.0
            made.append(Example(features(each.item, around), target, 1.0 if labels else UNLABELLED))
    return made


def learn(given: Iterable[Sequence[Example]]) -> dict[str, float]:
    """Returns the weights that fit the examples, rounded to hundredths."""
    rows = [each for some in given for each in some]
    names = sorted({name for row in rows for name in row.features})
    place = {name: at for at, name in enumerate(names)}
    inputs = [[(place[name], value) for name, value in sorted(row.features.items())] for row in rows]
    weights = [0.0] * len(names)
    steepness = [1e-8] * (len(names) + 1)
    offset = 0.0
    for _ in range(STEPS):
        slope = [*(PRIOR * weight for weight in weights), 0.0]
        for values, row in zip(inputs, rows, strict=True):
            predicted = 1 / (1 + exp(-offset - sum(weights[at] * value for at, value in values)))
            error = (predicted - row.target) * row.weight
            slope[-1] += error
            for at, value in values:
                slope[at] += error * value
        steepness = [old + each * each for old, each in zip(steepness, slope, strict=True)]
        steps = [PACE * each / sqrt(old) for each, old in zip(slope, steepness, strict=True)]
        weights = [weight - step for weight, step in zip(weights, steps[:-1], strict=True)]
        offset -= steps[-1]
    return {name: round(weight, 2) for name, weight in zip(names, weights, strict=True) if round(weight, 2)}


def main() -> None:
    known = corpus()
    if known is None:
        raise SystemExit("the labelled transcripts are not here: nothing is written")
    weights = learn(examples(each) for each in known.labelled)
    lines = [f'    "{name}": {weight},' for name, weight in sorted(weights.items(), key=lambda each: (-each[1], each[0]))]
    head = (
        '"""The weights of the features of lost items, learned by `tools/lost_weights.py`; `lost_score` says what each is.\n'
        '\n'
        'They are reviewed data: after a change of the features, learn them again and read the difference.\n'
        '"""\n\n'
        "from collections.abc import Mapping\nfrom typing import Final\n\n"
        "WEIGHTS: Final[Mapping[str, float]] = {\n"
    )
    WRITTEN.write_text(head + "\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
