"""Any text and any number as an argument of a verb works, or raises our error. No other error reaches a program."""

import inspect
import math
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from slicebase import Filters, Graph, Library, Runs, Slicebase, SlicebaseError
from slicebase.index import hints as index_hints
from tests.test_api import SHORT_SAMPLE, members

TEXTS = ("\ud800", "", "\x00", "x" * 10_000, "nope")
NUMBERS = (-1, 0, 2**70, math.nan, math.inf)
FAMILIES = {Slicebase: "", Library: "library", Runs: "runs", Graph: "graph"}
# They remove the workspace, or take a mapping or pairs of texts, which a type checker finds.
OTHERS = {"Slicebase.uninit", "Slicebase.config environment", "Slicebase.cite span", "Library.create links"}
OTHERS |= {"Runs.log blobs", "Runs.start budgets"}


class BadCall(NamedTuple):
    """A verb with one argument to replace."""

    family: type
    verb: str
    argument: str
    values: tuple[object, ...]

    def __str__(self) -> str:
        return f"{self.family.__name__}.{self.verb} {self.argument}"


def bad_calls() -> Iterator[BadCall]:
    for family in FAMILIES:
        for verb, member in members(family):
            if not inspect.isfunction(inspect.getattr_static(family, verb)) or f"{family.__name__}.{verb}" in OTHERS:
                continue
            for name, parameter in inspect.signature(member).parameters.items():
                form = str(parameter.annotation)
                texts = TEXTS if re.search(r"\bstr\b|StrPath|Moment|Which|Direction|Cites|DoneDef", form) else ()
                numbers = NUMBERS if re.search(r"\b(int|float|Moment)\b", form) else ()
                call = BadCall(family, verb, name, (*texts, *numbers))
                if call.values and name != "progress" and str(call) not in OTHERS:
                    yield call


CALLS = list(bad_calls())


class Wrong:
    """A value of a type that no verb knows."""


WRONG: tuple[object, ...] = (5, 0.5, b"x", None, Wrong(), [Wrong()], (5, 5), {5: Wrong()}, {"x": Wrong()}, {5}, len)


def wrong_calls() -> Iterator[BadCall]:
    """Yields every argument of every verb, to be replaced by values of other types."""
    for family in FAMILIES:
        for verb, member in members(family):
            if inspect.isfunction(inspect.getattr_static(family, verb)) and verb != "uninit":
                forms = inspect.signature(member).parameters
                for name in forms:
                    # A function that is called for progress may raise what it likes.
                    values = WRONG[:-1] if name == "progress" else WRONG
                    if name != "self" and forms[name].annotation is not bool:  # every value has a truth
                        yield BadCall(family, verb, name, values)


WRONG_CALLS = list(wrong_calls())


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Slicebase, dict[str, Any]]]:
    """A workspace, and a good value for every argument that a verb needs."""
    folder = tmp_path_factory.mktemp("filled")
    path = folder / "session.jsonl"
    shutil.copy(SHORT_SAMPLE, path)
    with Slicebase.init(folder) as memory:
        session = memory.import_(path).sessions[0]
        context = memory.context("why do retries fail?", 400)
        log = memory.library.create("Retries", "Why they fail.", type="jsonl")
        memory.runs.start("build", "Find out.", "Found.")
        memory.runs.compact("build")
        turn = memory.graph.turns(session)[0].ref
        yield memory, {
            "assignments": "title=Retries", "built": context, "context": context, "done": "Found.", "events": [],
            "bundle": memory.graph.bundle(turn).to_bytes(), "stored": b"{}",
            "file_id": log.id, "folder": folder, "manifest": context.id, "name": "name",
            "new_run_id": "other",
            "objective": "Find out.", "one": "default", "other": "broad", "policy": "focused",
            "path": path, "paths": path, "printed": b"{}", "query": "retries", "question": "retries?",
            "reason": "It is slow.", "reference": turn, "refs": log.ref, "rel": "see_also", "requests": [],
            "run_id": "build", "session": session, "snapshot_id": "sn_0", "summary": "s", "text": "text",
            "title": "title", "to": log.id,
            "transcript": path, "turn": turn, "value": "value", "words": "retries",
        }  # fmt: skip


@pytest.mark.parametrize("call", [*CALLS, *WRONG_CALLS], ids=str)
def test_a_bad_argument_works_or_raises_our_error(
    call: BadCall, filled: tuple[Slicebase, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, good = filled
    monkeypatch.chdir(tmp_path)
    family = FAMILIES[call.family]
    verb = getattr(getattr(memory, family) if family else memory, call.verb)
    parameters = inspect.signature(verb).parameters.values()
    needed = {each.name: good[each.name] for each in parameters if each.default is each.empty}
    for value in call.values:
        try:
            verb(**needed | {call.argument: value})
        except SlicebaseError as error:
            assert str(error).encode()


@pytest.mark.parametrize("text", ["", "\x00", "\ud800", "x" * 300])
def test_a_path_that_nothing_can_have_opens_nothing(text: str) -> None:
    for verb in (Slicebase.open, Slicebase.init):
        with pytest.raises(SlicebaseError) as caught:
            verb(text)
        assert caught.value.code in ("no-workspace", "cannot-write")


@pytest.mark.parametrize("path", [5, None, b"x", object()])
def test_what_is_no_path_opens_nothing(path: Any) -> None:
    for verb in (Slicebase.open, Slicebase.init):
        with pytest.raises(SlicebaseError) as caught:
            verb(path)
        assert caught.value.code == "bad-arguments"


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "library.recall": ({"rows": "nope"}, "unknown-value"),
    "library.explore": ({"direction": "up"}, "unknown-value"),
    "library.stale": ({"half_life": -1}, "out-of-range"),
    "library.search": ({"limit": -1}, "out-of-range"),
    "graph.search": ({"limit": 0}, "out-of-range"),
    "project_context": ({"tokens": -1}, "out-of-range"),
    "replay": ({"manifest": ""}, "bad-reference"),
    "lost": ({"session": ""}, "bad-reference"),
    "verify": ({"seal": ""}, "bad-id"),
    "set": ({"name": "nope", "value": None}, "bad-setting"),
    "graph.turns": ({"session": "\ud800"}, "lone-surrogate"),
    "library.remember": ({"text": 5}, "bad-arguments"),
    "library.create": ({"title": None}, "bad-arguments"),
    "library.refresh": ({"text": b"x"}, "bad-arguments"),
    "library.define": ({"assignments": 5}, "bad-arguments"),
    "library.connect": ({"to": None}, "bad-arguments"),
    "library.list_files": ({"filters": {"kind": "context"}}, "bad-arguments"),
    "search": ({"query": 5}, "bad-arguments"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_meaning_is_refused(name: str, filled: tuple[Slicebase, dict[str, Any]]) -> None:
    memory, good = filled
    given, code = REFUSED[name]
    family, _, verb = name.rpartition(".")
    called = getattr(getattr(memory, family) if family else memory, verb)
    parameters = inspect.signature(called).parameters.values()
    needed = {each.name: good[each.name] for each in parameters if each.default is each.empty}
    with pytest.raises(SlicebaseError) as caught:
        called(**needed | given)
    assert caught.value.code == code


def test_stale_refuses_what_is_not_a_number(filled: tuple[Slicebase, dict[str, Any]]) -> None:
    with pytest.raises(SlicebaseError) as caught:
        filled[0].library.stale(math.nan)
    assert caught.value.code == "out-of-range"


def test_a_long_word_is_not_compared_with_its_typing_errors(
    filled: tuple[Slicebase, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    def errors(word: str) -> list[str]:
        tried.append(len(word))
        return []

    monkeypatch.setattr(index_hints, "_typing_errors", errors)
    assert not filled[0].library.search("x" * 5000)
    assert not filled[0].library.search("retriez")
    assert tried == [len("retriez")]


def test_meta_is_filtered_by_a_mapping_as_by_pairs(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        memory.library.create("Other", "s")
        found = memory.library.create("One", "s")
        memory.library.define(found.id, "meta.team=checkout")
        for meta in ({"team": "checkout"}, [("team", "checkout")]):
            assert [each.id for each in memory.library.list_files(Filters(meta=meta))] == [found.id]


def test_a_folder_is_not_a_workspace_by_itself(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"Slicebase\.open\(folder\)"):
        Slicebase(tmp_path)  # type: ignore[arg-type]
