"""What the index keeps of a text does not depend on how fast it is found: it is what the plain definitions give."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slicebase.context import identifiers
from slicebase.context.identifiers import Named, as_written, humps_in, is_identifier, named_in, runs_of, trimmed
from slicebase.context.words import simplified, without_unspaced

NAMES = ["parseArgs", "HTTPServer2", "C++", "x.Name", "plain", "bC", "äB", "ＡＢc", "getIDs", "URLsIn"]
PIECES = st.sampled_from([*NAMES, *"aBÉß1_-./:@#+~ \n\x1c→・漢한ｆ１\u3000\u00a0\ud800İ²"])
TEXTS = st.lists(PIECES, max_size=24).map("".join)
LONG = st.just("Ab" * 300)

# Before a capital letter: after a small one, or where a small one follows that is not the `s` of a plural.
HUMP = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?:[^\W\d_A-Zs]|s[^\W\d_A-Z]))")


def plain_runs(text: str) -> set[str]:
    return set(re.findall(r"[\w\-./:@#+~]+", without_unspaced(simplified(text))))


def plain_named(text: str) -> Named:
    found = Named(set(), set())
    for run in plain_runs(text):
        whole = trimmed(run)
        names = {whole, whole.strip(".-/:@~+#")}
        if re.search("[/:@#]", whole):
            names |= {*map(trimmed, re.split("[/:@#]+", whole)), *whole.split(":")}
        names = {name for name in names if 0 < len(name) <= 512 and is_identifier(name)}
        found.whole.update(
            map(as_written, names), ("\ue001" + name.lower() for name in names if name != as_written(name))
        )
        for word in re.split(r"[\W_]+", run) if names else ():
            humps = HUMP.split(word)
            found.humps.update(humps if len(humps) > 1 else ())
    return found


@given(st.lists(PIECES | LONG, max_size=24).map("".join))
@example("a・parseArgs→GIT_INDEX_FILE，ｘ１ 漢字x.Name")
def test_runs_and_names_are_what_the_plain_definitions_give(text: str) -> None:
    assert runs_of(text) == plain_runs(text)
    assert named_in(text) == plain_named(text)
    assert named_in(text) == plain_named(text)  # remembered now


@given(TEXTS | st.text(max_size=30))
def test_the_parts_of_names_are_those_of_every_word_that_has_a_capital_inside(text: str) -> None:
    """Said plainly: each word by itself, split before each capital that begins a part."""
    words = re.findall(r"[^\W_]+", without_unspaced(simplified(text)))
    assert humps_in(text) == {part for word in words if HUMP.search(word) for part in HUMP.split(word)}
    assert humps_in(text) == named_in(text).humps


def test_parts_of_long_data_are_found_and_not_kept_in_memory() -> None:
    assert humps_in("x" * 5000 + "Y") == {"x" * 5000, "Y"}


def test_what_is_remembered_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identifiers, "_MOST_KNOWN", 10)
    known: dict[str, tuple[str, tuple[str, ...]]] = {}
    plain: set[str] = set()
    monkeypatch.setattr(identifiers, "_known", known)
    monkeypatch.setattr(identifiers, "_plain", plain)
    named_in(f"{'a1' * 300} short1 word")
    assert set(known) == {"short1"}
    assert plain == {"word"}
    named_in(" ".join(f"name{number} {'ab' * number}" for number in range(1, 25)))
    assert len(known) + len(plain) <= 10
    assert named_in("name7 parseArgs") == Named({"name7", "parse\ue000args", "\ue001parseargs"}, {"parse", "Args"})


def test_a_capital_letter_is_marked() -> None:
    assert as_written("parseURL-1") == "parse\ue000u\ue000r\ue000l-1"
    assert as_written("Édith1") == "\ue000édith1"
    assert as_written("plain_1") == "plain_1"
