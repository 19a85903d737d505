"""Secrets in what an import reads. None of these was ever a key: they are invented, and built at run time."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.graph.turn import Part, Session, Turn
from slicebase.importers.redaction import redact
from slicebase.importers.values import Batch, Note, Options
from slicebase.secrets.redact import Redactor, built_in, private_only
from slicebase.secrets.rule_file import read_rules
from tests.importers.reading import jsonl, take
from tests.importers.test_claude_code import call, record
from tests.secrets.test_redact import TEXTS

ALNUM = "aZ0bY1cX2dW3eV4fU5gT6hS7iR8jQ9kP0lO1mN2nM3oL4pK5qJ6rI7sH8tG9uF0vE1wD2xC3yB4zA5"
# Built from parts, so that no scanner of repositories reports these lines as keys.
GITHUB = "gh" + "p_" + ALNUM[:36]
NPM = "np" + "m_" + ALNUM[:36]
SLACK = "xo" + "xb-1234567890-" + ALNUM[:24]


def test_every_text_of_a_turn_and_of_its_session_is_redacted() -> None:
    parts = (
        Part("text", text=GITHUB),
        Part("tool_call", name="f", arguments={GITHUB: [{"deep": f"x {GITHUB}"}]}),
        Part("pointer", uri=f"https://example.org/?t={GITHUB}"),
    )
    turn = Turn("00000000-0000-4000-8000-000000000001", "s", "user", parts, 0, (), "sha256:0")
    note = Note("skipped", "media", "x:1", GITHUB)
    batch = redact(Batch(Session("s", "f", GITHUB, {"summaries": {"x": GITHUB}}), (turn,), notes=(note,)), built_in())
    assert GITHUB not in repr(batch)
    assert batch.redacted == {"github-token": 4}
    assert batch.turns[0].source_hash == turn.source_hash


def test_what_a_source_calls_its_records_is_cut_after_its_secrets_are_replaced() -> None:
    """Half a secret would not be recognised."""
    for size in (90, 195):
        long = "x" * size + GITHUB
        batch = redact(
            Batch(None, notes=(Note("skipped", "unknown-record", "x:1", long),), others={long: 2}), built_in()
        )
        assert GITHUB[:4] not in repr(batch)
        assert list(batch.others.values()) == [2]
        assert len(batch.notes[0].detail) <= 200
    read = take(("x.jsonl", jsonl([record(1, None), {"type": "x" * 90 + GITHUB, "uuid": "u", "content": "y"}])))
    assert GITHUB[:4] not in repr(read.report.notes)


def test_a_batch_without_secrets_keeps_its_turns() -> None:
    turn = Turn("00000000-0000-4000-8000-000000000001", "s", "user", (Part("text", text="hello"),), 0, (), "sha256:0")
    batch = Batch(Session("s", "f", "title", {}), (turn,))
    assert redact(batch, built_in()) == batch
    assert redact(batch, built_in()).turns is batch.turns


def test_an_import_redacts_unless_its_options_say_otherwise() -> None:
    """Ruling 15: the source hash covers the unredacted record, so that both imports give the same turn."""
    data = jsonl([record(1, None, content=SLACK), call(2, 1, "c", token=NPM)])
    kept, marked = take(("x.jsonl", data), options=Options(redact=False)), take(("x.jsonl", data))
    assert marked.report.redacted == {"slack-token": 1, "npm-token": 1}
    assert marked.turns[1].parts[0].arguments == {"token": "[redacted:npm-token]"}
    assert kept.turns[0].parts[0].text == SLACK
    assert [turn.source_hash for turn in kept.turns] == [turn.source_hash for turn in marked.turns]
    assert [turn.content_hash for turn in kept.turns] != [turn.content_hash for turn in marked.turns]


def test_what_is_private_is_not_imported() -> None:
    taken = take(("x.jsonl", jsonl([record(1, None, content="keep <private>my\nname</private> this")])))
    assert taken.turns[0].parts[0].text == "keep [redacted:private] this"
    assert taken.report.redacted == {"private": 1}


def test_the_names_of_arguments_are_context() -> None:
    taken = take(("x.jsonl", jsonl([record(1, None), call(2, 1, "c", password="hunter" + "2!x")])))
    assert taken.turns[1].parts[0].arguments == {"password": "[redacted:password]"}


def test_the_rules_of_the_user_are_used() -> None:
    rules = read_rules("[[rule]]\nname = 'pin'\npattern = 'pin-\\d{4}'")
    taken = take(("x.jsonl", jsonl([record(1, None, content="pin-1234")])), options=Options(redactor=Redactor(rules)))
    assert taken.turns[0].parts[0].text == "[redacted:pin]"


OWN_RULES = Redactor(read_rules('[[rule]]\nname = "ticket"\npattern = "ZX-[0-9]{4}"\n'))
PARTS = st.one_of(
    st.one_of(TEXTS, st.sampled_from(["plain words", "ZX-1234", f"x {GITHUB}", "\\", "u0041", ""])).map(
        lambda text: Part("text", text=text)
    ),
    TEXTS.map(lambda text: Part("tool_call", name="f", arguments={"password": text})),
)


@pytest.mark.parametrize("redactor", [built_in(), private_only(), OWN_RULES], ids=["built-in", "private", "own"])
@settings(max_examples=150, deadline=None)
@given(turns=st.lists(st.lists(PARTS, max_size=2), max_size=40))
def test_turns_that_are_looked_at_together_are_redacted_like_each_alone(
    redactor: Redactor, turns: list[list[Part]]
) -> None:
    given_turns = tuple(
        Turn(f"00000000-0000-4000-8000-{number:012}", "s", "user", tuple(parts), 0, (), "sha256:0")
        for number, parts in enumerate(turns)
    )
    together = redact(Batch(None, given_turns), redactor)
    alone = [redact(Batch(None, (turn,)), redactor) for turn in given_turns]
    plain = [[redactor.value(part.text, Counter()) for part in turn.parts] for turn in given_turns]
    assert list(together.turns) == [batch.turns[0] for batch in alone]
    assert [[part.text for part in turn.parts] for turn in together.turns] == plain
    assert Counter(together.redacted) == sum((Counter(batch.redacted) for batch in alone), Counter())
