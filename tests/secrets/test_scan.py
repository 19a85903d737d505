"""Keys of known shapes: each rule has keys that it finds, and texts that it nearly finds."""

import random
import re
from base64 import b64encode
from itertools import product
from time import process_time
from typing import cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from slicebase.secrets.glance import RUN, kinds_of
from slicebase.secrets.issuers import ISSUED
from slicebase.secrets.pattern import Rejections, heads, parsed
from slicebase.secrets.regions import SecretSpan
from slicebase.secrets.scan import IssuedRule, Scanner, _inside_of_words, _starts, table
from tests.amounts import EXPLORE
from tests.secrets.samples import near_miss, positive

RULES = list(table(ISSUED))
ALL = Scanner(RULES)
each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.label}-{rule.source[:12]}")


def labels(text: str, scanner: Scanner) -> dict[str, str]:
    return {text[span.start : span.end]: span.label for span in scanner.spans(text, text.encode("ascii", "replace"))}


@each_rule
def test_a_key_is_found_wherever_it_stands(rule: IssuedRule) -> None:
    scanner = Scanner([rule])
    frames = ["{}", "we saw {} there", "é `{}`.", '{{"a":"{}"}}', "x-{} y", "é\n{}\n"]
    for frame, seed in product(frames, range(3)):
        key = positive(rule, seed)
        if "-{}" in frame and (rule.whole or not any(map(str.isdigit, key))):
            continue
        found = labels(frame.format(key), scanner)
        assert list(found.values()) == [rule.label], key
        assert next(iter(found)) in key
        assert len(next(iter(found))) * 2 >= len(key) or "secret" in rule.source


@each_rule
def test_a_key_that_is_one_character_short_is_none(rule: IssuedRule) -> None:
    text = near_miss(rule)
    if text is not None:
        assert rule.label not in labels(f"we saw {text} there", Scanner([rule])).values()


@pytest.mark.parametrize(
    "text",
    [
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "00000000-0000-4000-8000-000000000001",
        "sk-learn is a library, task-oriented-programming-interfaces are not keys",
        "the class AbstractSingletonProxyFactoryBean of an enterprise",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "def test_a_long_name_of_a_test_with_a_number_2_in_it(): ...",
        "mykeyAKIA2345ABCD6789EFGHx",
    ],
)
def test_text_that_is_not_a_key_is_kept(text: str) -> None:
    assert not labels(text, ALL)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.alone], ids=lambda rule: rule.label)
def test_a_part_of_base64_is_no_key(rule: IssuedRule) -> None:
    scanner = Scanner([rule])
    for frame in ["AGFzbQE/{}", "AGFzbQE+{}", "{}/AGFzbQE", "{}+AGFzbQE", "{}=="]:
        assert not labels(frame.format(positive(rule)), scanner)


def test_silence_in_base64_is_no_key() -> None:
    """Zero bytes are a run of `A`, with which the tokens of one issuer begin."""
    chance = random.Random(1)
    for _ in range(10):
        sound = b"".join(chance.randbytes(300) + bytes(chance.randrange(20, 400)) for _ in range(50))
        assert not labels(f"data:audio/wav;base64,{b64encode(sound).decode()}", ALL)
    assert not labels(f"data:audio/wav;base64,{'A' * 1000}", ALL)


def test_several_keys_of_one_run_are_found() -> None:
    rule = next(rule for rule in RULES if rule.label == "github-token")
    first, second = positive(rule, 1), positive(rule, 2)
    assert len(labels(f"{first}-{second}", Scanner([rule]))) == 2


def plain_spans(text: str) -> list[SecretSpan]:
    """The plain twin of a scanner: tries every rule at every place where a word begins."""
    found, done = [], 0
    runs = [run.span() for run in re.finditer(rf"[\w~-]{{{RUN},}}", text, re.ASCII) if re.search("[0-9]", run[0])]
    for at in range(len(text)):
        if at < done or (at and (text[at - 1].isalnum() or text[at - 1] == "_")) or not text[at].isascii():
            continue
        for rule in RULES:
            span = None if rule.whole and text[at - 1 : at] == "-" else ALL.match(text, at, rule)
            if span and any(start < span.end and at < end for start, end in runs):
                found.append(span)
                done = span.end
                break
    return found


LABELS = {rule.label for rule in RULES}
WORDS = st.sampled_from(
    ["a", "the", "word", "é", "x1", "(", ")", "https://example.org/a", "3f786850e387550fdab836ed7e6dc881"]
)
SOME_KEYS = st.sampled_from(RULES).map(positive)


PREFIXES = st.sampled_from(RULES).map(lambda rule: next(iter(sorted(heads(parsed(rule.source), 4) or {"eyJ"}))))
PARTS = st.one_of(PREFIXES, PREFIXES, SOME_KEYS, st.sampled_from(["a" * 30, "your-", "x" * 30, "1", "aa_", "+"]))
CROWDED = st.tuples(st.lists(PARTS, min_size=1, max_size=8), st.sampled_from("-./:"), st.integers(1, 3)).map(
    lambda drawn: drawn[1].join(drawn[0] * drawn[2])
)


@settings(max_examples=60, deadline=None)
@given(CROWDED)
def test_what_is_not_tried_again_would_be_rejected_again(text: str) -> None:
    """A scanner that remembers what it rejected finds what one that forgets finds."""

    class Forgetful(Scanner):
        def match(self, text: str, at: int, rule: IssuedRule, rejected: Rejections | None = None) -> SecretSpan | None:
            return super().match(text, at, rule)

    data = text.encode()
    assert ALL.spans(text, data) == Forgetful(RULES).spans(text, data)


RUNS = st.lists(st.sampled_from(["a", "a1" * 7, "_" * 16, "-", " ", "\n", "?", "a" * 15, "AKIA", "ghp_", "eyJ", "a~"]))


@given(RUNS.map("".join))
def test_runs_from_right_to_left_are_those_from_left_to_right(text: str) -> None:
    data = text.encode()
    starts = [run.start() for run in re.finditer(rb"[\w~-]{%d,}+" % RUN, data)]
    assert _starts(kinds_of(data))[::-1] == starts


@given(RUNS.map("".join))
def test_prefixes_inside_of_words_are_those_after_a_letter(text: str) -> None:
    prefixes = {b"AKIA", b"eyJ", b"ghp_", b"aa1", b"_a"}
    plain = [
        at
        for at in range(1, len(text))
        if re.match(r"\w", text[at - 1]) and text[at:].startswith(tuple(each.decode() for each in prefixes))
    ]
    assert [place.start() for place in _inside_of_words(prefixes).finditer(text.encode())] == plain


@settings(max_examples=60, deadline=None)
@example(positive(next(rule for rule in RULES if rule.label == "k3s-token")))  # its secret alone has no long run
@given(st.lists(st.one_of(WORDS, SOME_KEYS), max_size=6).map(" ".join))
def test_the_fast_way_and_the_plain_one_agree(text: str) -> None:
    fast = [span for span in ALL.spans(text, text.encode("ascii", "replace")) if span.label in LABELS]
    covered = [
        {place for span in spans for place in range(span.start, span.end)} for spans in (fast, plain_spans(text))
    ]
    assert covered[0] == covered[1]


def seconds(scanner: Scanner, text: str) -> float:
    data = text.encode("ascii", "replace")
    best = float("inf")
    for _ in range(3):
        start = process_time()
        scanner.spans(text, data)
        best = min(best, process_time() - start)
    return best


@pytest.mark.growth
@each_rule
def test_the_time_of_a_rule_grows_like_its_text(rule: IssuedRule) -> None:
    """Four times the text takes about four times as long: a quadratic rule would take sixteen times as long."""
    scanner = Scanner([rule])
    key = positive(rule)
    for unit in (key[:4], f"-{key[:5]}", key[:-1], f"{key}-", f"{key[:12]}."):
        short, long = unit * (12_000 // len(unit)), unit * (48_000 // len(unit))
        allowed = 10 * max(seconds(scanner, short), 0.0005)
        assert min(seconds(scanner, long) for _ in range(2)) < allowed, unit


class Reading:
    """Counts the characters of the matches of a pattern."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern, self.groupindex, self.count = pattern, pattern.groupindex, 0

    def match(self, text: str, at: int) -> re.Match[str] | None:
        found = self.pattern.match(text, at)
        self.count += found.end() - at if found else 0
        return found


UNITS = [f"{separator}{{}}" for separator in ("-", "_", ".", "/", ":", "x", "-a1", ".aaaaaaaaaaaaaaa")]
ENDS = [
    "",
    "1",
    "!",
    "é1",
    "_é1",
    "a",
    "+a1",
    "=1_a",
    "-your-1",
    "_your_1",
    "x" * 8 + "1",
    "1" + "x" * 8,
    "." + "x" * 9,
]


@each_rule
def test_a_rejected_key_is_not_read_again_from_each_of_its_prefixes(rule: IssuedRule) -> None:
    """The matches of a text have few more characters than the text, whatever separates and ends its prefixes."""
    scanner = Scanner([rule])
    reading = Reading(scanner._compiled(rule).pattern)
    scanner._patterns[rule.source] = scanner._compiled(rule)._replace(pattern=cast("re.Pattern[str]", reading))
    beginnings = [positive(rule)[:size] for size in (4, 5, 6, 7, 8, 9, 11, 12, 16, 20)]
    cases = list(product(beginnings, UNITS, ENDS))
    usual = [(positive(rule)[:size], UNITS[0], end) for size in (5, 7, 9, 11, 13) for end in ENDS[:3]]
    for beginning, unit, end in [*usual, *random.Random(rule.source).sample(cases, 40 if EXPLORE else 8)]:
        text = unit.format(beginning)
        text = "x " + text * (1_500 // len(text)) + end
        reading.count = 0
        scanner.spans(text, text.encode("ascii", "replace"))
        assert reading.count < 20 * len(text), (beginning, unit, end)
