"""Learns the weights of lost items from the labelled transcripts, and writes `context/lost/weights.py`.

    python -m tools.lost_weights

There are two steps, both logistic regressions with a prior towards zero, by plain gradient steps: nothing depends on
chance, so the same data gives the same weights.

1. What is worth keeping, whether the summary has it or not: all labels teach this. The target of an item is 1 if it
   matches a label worth 2 or more, 0.4 for 1, else 0. An item without a label counts half, since it may be worth much.
2. What of it is lost and right, among the items that could be listed: from the result of step 1, how much of the item
   is absent, and a few features that summaries treat differently: they keep what the user said, what was done, and
   what was said last or is about the current work. What is older is as much worth, and is lost.

Both are sums, so the weights of the second, times those of the first, are the weights of one sum.

Three weights are judgement: the summaries of the labelled sessions repeat every message of the user and every open
entry of a list of tasks, so the labels cannot teach what it costs to lose them. To break a rule or to forget a task
does harm, so each counts one more. A rule that says by itself what it is about counts one more again: "don't set it"
may be about a matter of the moment.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import exp, sqrt
from pathlib import Path
from typing import NamedTuple

from slicebase.context.lost.follow import OVER
from slicebase.context.lost.judged import DescribedItem, describe
from tools.lost_labels import Compaction, Label, corpus, matching

WRITTEN = Path(__file__).resolve().parents[1] / "src" / "slicebase" / "context" / "lost" / "weights.py"
PRIORS = (2.0, 1.0)
STEPS = 80
PACE = 0.5
PARTLY = 0.4
UNLABELLED = 0.5
ABSENT = frozenset({"absent", "names absent"})
TREATED_DIFFERENTLY = frozenset({"command", "instruction", "done sign", "report", "recent", "names current"})
BY_JUDGEMENT = {"instruction, rule": 1.0, "rule by itself": 1.0, "task, on the list": 1.0}
_WORTH = "worth"


class Example(NamedTuple):
    features: Mapping[str, float]
    target: float
    weight: float


class Labelled(NamedTuple):
    """An item with its features and its labels."""

    features: Mapping[str, float]
    labels: Sequence[Label]
    could_be_listed: bool


def labelled(compaction: Compaction, described: Iterable[DescribedItem]) -> list[Labelled]:
    """Returns the items of a labelled compaction, with their labels."""
    turns = {turn.id: turn for turn in compaction.turns.before}
    return [
        Labelled(
            each.features,
            matching(each.item, turns[each.item.turn], compaction.labels),
            each.item.state not in OVER and not each.kept,
        )
        for each in described
    ]


def weights_from(given: Iterable[Sequence[Labelled]]) -> dict[str, float]:
    """Returns the weights that the labels teach."""
    rows = [each for some in given for each in some]
    worth = learn([_worth_example(each) for each in rows], PRIORS[0])
    right = learn([_right_example(each, worth) for each in rows if each.could_be_listed], PRIORS[1])
    names = {*worth, *right, *BY_JUDGEMENT} - {_WORTH}
    summed = {
        name: worth.get(name, 0.0) * right[_WORTH] + right.get(name, 0.0) + BY_JUDGEMENT.get(name, 0.0)
        for name in sorted(names)
    }
    return {name: round(weight, 2) for name, weight in summed.items() if round(weight, 2)}


def _worth_example(each: Labelled) -> Example:
    most = max((label.worth for label in each.labels), default=0)
    inner = {name: value for name, value in each.features.items() if name not in ABSENT}
    return Example(inner, 1.0 if most >= 2 else PARTLY if most else 0.0, 1.0 if each.labels else UNLABELLED)


def _right_example(each: Labelled, worth: Mapping[str, float]) -> Example:
    total = sum(value * worth.get(name, 0.0) for name, value in each.features.items())
    kept = {name: each.features.get(name, 0.0) for name in sorted(ABSENT | TREATED_DIFFERENTLY)}
    partly = any(label.in_summary != "yes" and label.worth for label in each.labels)
    target = 1.0 if any(label.right for label in each.labels) else PARTLY if partly else 0.0
    return Example({_WORTH: total, **kept}, target, 1.0 if each.labels else UNLABELLED)


def learn(rows: Sequence[Example], prior: float) -> dict[str, float]:
    """Returns the weights that fit the examples."""
    names = sorted({name for row in rows for name in row.features})
    place = {name: at for at, name in enumerate(names)}
    inputs = [[(place[name], value) for name, value in sorted(row.features.items())] for row in rows]
    weights = [0.0] * len(names)
    steepness = [1e-8] * (len(names) + 1)
    offset = 0.0
    for _ in range(STEPS):
        slope = [*(prior * weight for weight in weights), 0.0]
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
    return dict(zip(names, weights, strict=True))


def written(weights: Mapping[str, float]) -> str:
    """Returns the module with these weights."""
    lines = [
        f'    "{name}": {weight},' for name, weight in sorted(weights.items(), key=lambda each: (-each[1], each[0]))
    ]
    return (
        '"""The weights of the features of lost items (`score.py`), learned by `tools/lost_weights.py`.\n'
        "\n"
        "They are reviewed data: after a change of the features, learn them again and read the difference.\n"
        '"""\n\n'
        "from collections.abc import Mapping\nfrom typing import Final\n\n"
        "WEIGHTS: Final[Mapping[str, float]] = {\n" + "\n".join(lines) + "\n}\n"
    )


def learned() -> str | None:
    """Returns the module as the labelled transcripts teach it; None where they are absent."""
    if (known := corpus(only_labelled=True)) is None:
        return None
    return written(weights_from(labelled(each, describe([each.turns])) for each in known.labelled))


def main() -> None:
    text = learned()
    if text is None:
        raise SystemExit("the labelled transcripts are not here: nothing is written")
    WRITTEN.write_text(text)


if __name__ == "__main__":
    main()
