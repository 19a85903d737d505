"""Texts that match a pattern, and texts that nearly do. None of them was ever a key: they are drawn with a seed."""

import random
import re

from slicebase.secrets.glance import RUN
from slicebase.secrets.pattern import OneOf, Sequence, Some, parsed
from slicebase.secrets.scan import IssuedRule
from slicebase.secrets.shape import looks_random

# Keys without a long run of token characters are rare, and are not found.
_RUN_WITH_DIGIT = re.compile(rf"(?=[\w~-]*\d)[\w~-]{{{RUN},}}", re.ASCII)


def drawn(items: Sequence, chance: random.Random, more: int = 3) -> str:
    """Returns a text that matches a pattern, with a few more repetitions than it needs."""
    found = []
    for item in items:
        if isinstance(item, OneOf):
            found.append(drawn(chance.choice(item.branches), chance, more))
        else:
            most = item.least + more if item.most is None else min(item.most, item.least + more)
            count = chance.randint(item.least, most)
            found.append("".join(chance.choices(sorted(item.characters), k=count)))
    return "".join(found)


def _cut(items: Sequence) -> tuple[Sequence, bool]:
    """Returns a pattern whose longest repetition is one character too short."""
    longest = max((item.least for item in items if isinstance(item, Some)), default=0)
    cut: list[Some | OneOf] = []
    done = False
    for item in items:
        if isinstance(item, Some) and item.least == longest and longest > 1 and not done:
            done = True
            cut.append(Some(item.characters, longest - 1, longest - 1))
        elif isinstance(item, OneOf) and not done and longest <= 1:
            branches = [_cut(branch) for branch in item.branches]
            done = all(short for _, short in branches)
            cut.append(OneOf(tuple(branch for branch, _ in branches), item.optional, item.secret))
        else:
            cut.append(item)
    return tuple(cut), done


def positive(rule: IssuedRule, seed: int = 0) -> str:
    """Returns a key of the shape of a rule."""
    chance = random.Random(f"{rule.label} {seed}")
    for _ in range(100):
        text = drawn(parsed(rule.source), chance)
        usual = rule.label == "huggingface-token" or _RUN_WITH_DIGIT.search(text)
        if usual and (looks_random(text) or not rule.mixed):
            return text
    raise AssertionError(f"{rule.label}: {text} never looks like a key")


def near_miss(rule: IssuedRule, seed: int = 0) -> str | None:
    """Returns a text that is one character too short to be a key of the shape."""
    items, done = _cut(parsed(rule.source))
    return drawn(items, random.Random(f"{rule.label} {seed}"), 0) if done else None
