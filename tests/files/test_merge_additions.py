"""What both sides append: equal lines are one only if they are the same for certain."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.merge_checks import check
from fuzz.merges import Versions
from tests.files.test_merge import MORE, file, merged

QUESTION = '{"role":"user","content":"And?"}\n'


def said(**fields: Any) -> str:
    return json.dumps({"role": "assistant", "content": "yes", **fields}) + "\n"


SURE = [
    said(ts="2026-01-01T00:00:08Z"),
    said(ts="2026-01-01 00:00:08.5"),
    said(ts=1767225608),
    said(call_id="c1"),
    said(_meta={"created_at": "2026-01-01T00:00:08Z"}),
    said(_meta={"id": "r1"}),
    said(ts="2026-01-01T00:00:08Z").replace("}", ""),
    " # mine" + said(ts=1767225608),
]
UNSURE = [
    said(),
    said(ts=None),
    said(ts=True),
    said(ts=0),
    said(ts="2026-01-01"),
    said(ts="2026-01-01T00:00Z"),
    said(ts="at 10:15:08"),
    said(_meta={"created_at": "2026-01-01"}),
    said(ts="2026-01-01").replace("}", ""),
    said(args={"ts": "2026-01-01T00:00:08Z"}),
]


@pytest.mark.parametrize("number", range(len(SURE) + len(UNSURE)))
def test_a_line_of_both_sides_is_there_once_if_it_has_an_id_or_the_second_of_its_writing(number: int) -> None:
    """The same word on the same day may be an answer to two questions. A line may state its time and be no JSON."""
    line, count = [*SURE, *UNSURE][number], 1 if number < len(SURE) else 2
    base, ours, theirs = (file(body, type="conversation") for body in ("", QUESTION + line, line))
    assert merged(base, ours, theirs).body.decode().count(line) == count
    assert merged(base, theirs, ours) == merged(base, ours, theirs)


LINES = st.lists(st.sampled_from([*SURE[:3], *SURE[-2:], *UNSURE[:5], QUESTION, "\n"]), max_size=5)


@settings(max_examples=80 * MORE)
@given(base=LINES, both=LINES, ours=LINES, theirs=LINES, created=st.booleans(), ends=st.tuples(*[st.booleans()] * 3))
def test_every_line_that_both_sides_append_is_there_as_often_as_it_should(
    base: list[str], both: list[str], ours: list[str], theirs: list[str], created: bool, ends: tuple[bool, bool, bool]
) -> None:
    bodies = ([], [*both, *ours], theirs) if created else (base, [*base, *both, *ours], [*base, *theirs])
    texts = (file("".join(lines), type="conversation").to_bytes() for lines in bodies)
    found = [text.replace(b"\n", b"\r\n") if crlf else text for text, crlf in zip(texts, ends, strict=True)]
    check(Versions(b"" if created else found[0], *found[1:]))
