"""Redaction: how many known shapes it replaces, what it replaces by mistake, and how fast it is.

Coverage is measured with samples of every rule of a public list (gitleaks.toml in ../shared/data/secrets, or the file
that SLICEBASE_SECRETS names). The samples are generated with a seed. A seeded half of the rules was used while our
rules were written; the other half was not. `bench.secrets_aside` has shapes of a third kind, from documentation. A
sample counts only when no half of the secret is left in the output.
"""

import os
import random
import re
import string
import tomllib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

PUBLIC = Path(os.environ.get("SLICEBASE_SECRETS", "../shared/data/secrets/gitleaks.toml"))
SEED = 12
SAMPLES = 8  # of each rule
MOST = 12  # further repetitions of a part without an upper bound
WORDS = string.ascii_letters + string.digits + "_"
OPERATOR = "(?:=|>|:{1,3}=|"  # what every rule for an assignment has

_parser: Any = import_module("re._parser")


class Sample(NamedTuple):
    """A text with a secret in it."""

    rule: str
    text: str
    secret: str


# --- samples


def python_pattern(pattern: str) -> str:
    """Returns a pattern in Go's syntax as one in Python's: a flag in the middle lasts to the end of its group."""
    pattern = pattern.replace(r"\z", r"\Z").replace("[[:alnum:]]", "[A-Za-z0-9]")
    if pattern.startswith("(?i)"):
        return "(?i)" + pattern.replace("(?i)", "")
    head, flag, tail = pattern.partition("(?i)")
    if not flag:
        return pattern
    depth, cuts, end = 0, [0], len(tail)
    for at, character in enumerate(tail):  # no class of the list contains a parenthesis after a flag
        depth += (character == "(") - (character == ")")
        if depth < 0:
            end = at
            break
        if depth == 0 and character == "|":
            cuts += [at, at + 1]
    cuts.append(end)
    branches = (tail[start:stop].replace("(?i)", "") for start, stop in zip(cuts[::2], cuts[1::2], strict=True))
    return head + "|".join(f"(?i:{branch})" for branch in branches) + python_pattern(tail[end:])


class Generator:
    """Draws texts that match a pattern, each choice with the same chance."""

    def __init__(self, seed: str) -> None:
        self._chance = random.Random(seed)

    def text(self, pattern: str) -> str:
        tree = _parser.parse(pattern)
        return self._sequence(tree, bool(tree.state.flags & re.IGNORECASE))

    def _sequence(self, items: Any, fold: bool) -> str:
        return "".join(self._item(str(kind), value, fold) for kind, value in items)

    def _item(self, kind: str, value: Any, fold: bool) -> str:
        match kind:
            case "LITERAL":
                return chr(value)
            case "ANY":
                return "."  # the dot of a host name that the list did not escape
            case "NOT_LITERAL":
                return self._chance.choice([each for each in WORDS if each != chr(value)])
            case "IN":
                found = self._chance.choice(sorted(members(value)))
                return self._chance.choice((found.lower(), found.upper())) if fold and found.isalpha() else found
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, inner = value
                if str(inner[0][0]) == "ANY":
                    inner = _parser.parse("[a-zA-Z0-9!#-]")
                count = self._chance.randint(least, min(int(most), least + MOST))
                return "".join(self._sequence(inner, fold) for _ in range(count))
            case "BRANCH":
                return self._sequence(self._chance.choice(value[1]), fold)
            case "SUBPATTERN":
                _, added, removed, inner = value
                return self._sequence(inner, bool((fold or added & re.IGNORECASE) and not removed & re.IGNORECASE))
            case "AT":
                return ""
        raise NotImplementedError(kind)


def members(items: Any) -> set[str]:
    """Returns the printable characters of a class, with the space."""
    found: set[str] = set()
    for kind, value in items:
        match str(kind):
            case "LITERAL":
                found.add(chr(value))
            case "RANGE":
                found |= {chr(code) for code in range(value[0], value[1] + 1)}
            case "CATEGORY":
                name = str(value)
                known = {"DIGIT": string.digits, "WORD": WORDS, "NOT_SPACE": WORDS + "-.+/", "SPACE": " "}
                found |= set(known[name.removeprefix("CATEGORY_")])
            case "NEGATE":
                rest = members(items[1:])
                return {each for each in WORDS + "-.+/" if each not in rest}
    return found & set(string.printable)


def samples(rule: dict[str, Any]) -> Iterator[Sample]:
    """Yields samples of a rule of the public list."""
    pattern = python_pattern(rule["regex"])
    generator = Generator(f"{SEED} {rule['id']}")
    frame = "{}\n" if OPERATOR in pattern else "we saw {} there\n"
    for _ in range(SAMPLES):
        drawn = generator.text(pattern)
        found = re.search(pattern, drawn)
        if found is None:  # a border of a word that the drawn text does not have
            continue
        groups = [group for group in found.groups() if group]
        secret = found[rule["secretGroup"]] if "secretGroup" in rule else groups[0] if groups else found[0]
        if secret:
            yield Sample(rule["id"], frame.format(drawn), secret)


def halves() -> dict[str, list[dict[str, Any]]]:
    """Returns the rules of the public list by class and half."""
    rules = [rule for rule in tomllib.loads(PUBLIC.read_text())["rules"] if "regex" in rule]
    chance = random.Random(SEED)
    found: dict[str, list[dict[str, Any]]] = {}
    for name, of_a_kind in (
        ("prefix shapes", [rule for rule in rules if OPERATOR not in rule["regex"]]),
        ("keyword contexts", [rule for rule in rules if OPERATOR in rule["regex"]]),
    ):
        ordered = chance.sample(of_a_kind, len(of_a_kind))
        middle = len(ordered) // 2
        found[f"{name}, tuned on"], found[f"{name}, not looked at"] = ordered[:middle], ordered[middle:]
    return found


def is_gone(sample: Sample, output: str) -> bool:
    """Returns whether no half of the secret is left."""
    size = max(6, len(sample.secret) // 2)
    pieces = {sample.secret[start : start + size] for start in range(max(1, len(sample.secret) - size + 1))}
    return not any(piece in output for piece in pieces)
