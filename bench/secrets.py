"""Redaction: how many known shapes it replaces, what it replaces by mistake, and how fast it is.

Coverage is measured with samples of every rule of a public list (gitleaks.toml in ../shared/data/secrets, or the file
that SLICEBASE_SECRETS names). The samples are generated with a seed. A seeded half of the rules was used while our
rules were written; the other half was not. `bench._secrets_aside` has shapes of a third kind, from documentation. A
sample counts only when no half of the secret is left in the output.
"""

import json
import os
import random
import re
import string
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from bench._secrets_aside import FIRST_ALONE, FIRST_PASTED, SECOND_ALONE, SECOND_PASTED
from bench.importers import sample as sample_turns
from slicebase.importers.formats import Import, recognise
from slicebase.importers.values import ImportSource, Options
from slicebase.secrets.redact import built_in, redact

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


# --- what is measured

FRAMES = (
    '{0}_API_KEY="{1}"', "{0}_token: {1}", '"{0}Secret": "{1}"', "--{0}-token {1}", "{0}.key = '{1}'",
    "export {0}_SECRET={1}", '{{\\"{0}_key\\":\\"{1}\\"}}', "<{0}Key>{1}</{0}Key>", "client = {0}.Client('{1}')",
)  # fmt: skip


def as_written(rule: dict[str, Any]) -> Iterator[Sample]:
    """Yields the secrets of a rule for assignments, in lines as people write them."""
    for frame, sample in zip(FRAMES, samples(rule), strict=False):
        yield Sample(rule["id"], frame.format(rule["keywords"][0].strip("-_"), sample.secret), sample.secret)


def documented() -> dict[str, list[list[Sample]]]:
    """Returns the samples of the shapes from documentation. No rule was written for a shape of the second set."""
    found: dict[str, list[list[Sample]]] = {}
    for name, alone, pasted in (("first", FIRST_ALONE, FIRST_PASTED), ("kept aside", SECOND_ALONE, SECOND_PASTED)):
        shapes = [(f"documented, {name}, alone", "we saw {} there", pattern) for pattern in alone.values()]
        shapes += [(f"documented, {name}, pasted", frame, pattern) for frame, pattern in pasted.items()]
        for kind, frame, pattern in shapes:
            generator = Generator(f"{SEED} {frame} {pattern}")
            drawn = [generator.text(pattern) for _ in range(SAMPLES)]
            found.setdefault(kind, []).append([Sample(frame, frame.format(secret), secret) for secret in drawn])
    return found


def coverage() -> Iterator[tuple[str, int, int, float]]:
    """Yields a class, its number of rules, those of which every sample is replaced, and the share of samples."""
    groups = documented()
    if PUBLIC.exists():
        for name, rules in halves().items():
            groups[name] = [list(samples(rule)) for rule in rules]
            if name.startswith("keyword"):
                groups[f"{name}, as written"] = [list(as_written(rule)) for rule in rules]
    else:
        print(f"  {PUBLIC} is absent: only documented shapes are measured")
    for name in sorted(groups):
        hits = [[is_gone(sample, redact(sample.text).text) for sample in group] for group in groups[name] if group]
        yield name, len(hits), sum(map(all, hits)), sum(sum(each) / len(each) for each in hits) / len(hits)


def ordinary() -> Iterator[tuple[str, str]]:
    """Yields texts without secrets, with their kind: code of Python's library and ours, and texts of transcripts."""
    for folder in (Path(os.__file__).parent, Path(__file__).parent.parent / "src"):
        for path in sorted(folder.rglob("*.py")):
            if "site-packages" not in path.parts:
                yield "code", path.read_text(errors="replace")
    for path in sorted(PUBLIC.parent.parent.rglob("*.json*")):
        data = path.read_bytes()
        known = recognise(ImportSource(path.name, [data]))
        if known is not None:
            for batch in Import(Options(redact=False)).read(ImportSource(path.name, [data]), known):
                for part in (part for turn in batch.turns for part in turn.parts):
                    yield from (("turns", text) for text in texts([part.text, part.name, part.arguments, part.uri]))
        elif path.suffix == ".json":
            yield from (("other conversations", text) for text in texts(json.loads(data)))


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)


def seconds(work: Callable[[str], object], found: list[str]) -> float:
    best = float("inf")
    for _ in range(3):
        start = process_time()
        for text in found:
            work(text)
        best = min(best, process_time() - start)
    return best


def run() -> None:
    print(
        f"redaction: {SAMPLES} samples of each shape, seed {SEED}; shapes with every sample replaced; samples replaced"
    )
    for name, count, complete, share in coverage():
        print(f"  {name:<46} {complete:3} of {count:3}   {share:6.1%}")
    by_kind: dict[str, list[str]] = {}
    for kind, text in ordinary():
        by_kind.setdefault(kind, []).append(text)
    turns = sample_turns(4_000_000)
    by_kind["generated turns"] = [part.text for turn in turns for part in turn.parts if part.text]
    redactor = built_in()
    letters = re.compile("[qQ][^u]")
    table = bytes(range(256))
    for kind, found in by_kind.items():
        size = sum(len(text) for text in found) / 1e6
        counts: Counter[str] = Counter()
        for text in found:
            counts.update(redact(text).counts)
        own = seconds(partial(redactor.text, counts=Counter()), found)
        translate = seconds(lambda text: text.encode("ascii", "replace").translate(table), found)
        search = seconds(letters.findall, found)
        print(
            f"  {kind}: {size:.1f} MB, {counts.total()} replaced {dict(counts)}, {size / own:.0f} MB/s: "
            f"{own / translate:.1f} × one translate, {own / search:.2f} × one search for two characters"
        )
