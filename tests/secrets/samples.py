"""Texts that match a pattern, and texts that nearly do. None of them was ever a key: they are drawn with a seed."""

import random

from slicebase.secrets.pattern import OneOf, Sequence, Some, parsed
from slicebase.secrets.scan import IssuedRule
from slicebase.secrets.shape import is_placeholder, looks_random


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
    while True:
        text = drawn(parsed(rule.source), chance)
        if not is_placeholder(text[-16:]) and (looks_random(text) or not rule.mixed):
            return text


def near_miss(rule: IssuedRule, seed: int = 0) -> str | None:
    """Returns a text that is one character too short to be a key of the shape."""
    items, done = _cut(parsed(rule.source))
    return drawn(items, random.Random(f"{rule.label} {seed}"), 0) if done else None
