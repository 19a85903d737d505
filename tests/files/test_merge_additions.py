"""What both sides append: equal lines are one only if they are the same for certain."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.merge_checks import check
from fuzz.merges import Versions
from tests.amounts import MORE
from tests.files.test_merge import conflicts, file, merged

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


# Sections

LAST = ["Last.", "```\ncode\n\nmore\n```", "- a\n- b", "One."]
NEW = ["## B\n\nText.", "# B\n\nText.", "### B\n\nText.", "B\n===\n\nText.", "## A\n\nText.\n\n## C\n\nMore."]


@pytest.mark.parametrize("write", ["append", "replace"])
@settings(max_examples=60 * MORE)
@given(
    last=st.sampled_from(LAST),
    new=st.sampled_from(NEW),
    above=st.sampled_from(["", "# T\n\n", "Intro.\n\n## A\n\nOne.\n\n", "## A\n\n"]),
    below=st.sampled_from(["", "\n\n## Z\n\nThe end."]),
    end=st.sampled_from(["\n", "", "\n\n"]),
    left=st.sampled_from(["", "\n"]),
)
def test_a_section_that_one_side_adds_stays_when_the_other_removes_the_paragraph_above_it(
    write: str, last: str, new: str, above: str, below: str, end: str, left: str
) -> None:
    """Not only at the end of the page. Blank lines between them may go or stay."""
    rest = below if above.rstrip() else below.lstrip("\n")
    bodies = (
        above + last + below + end,
        above.rstrip("\n") + left + rest + end if (above + rest).strip() else "",
        f"{above}{last}\n\n{new}{below}{end}",
    )
    base, ours, theirs = (file(body, type="markdown", write=write) for body in bodies)
    found = merged(base, ours, theirs)
    assert [line for line in found.body.decode().split("\n") if line.strip()] == [
        line for line in f"{above}\n{new}\n{below}".split("\n") if line.strip()
    ]
    assert found == merged(base, theirs, ours)


@pytest.mark.parametrize(
    ("body_type", "write", "new"),
    [("text", "append", "Two.\n"), ("markdown", "append", "## B\n\nTwo.\n"), ("markdown", "replace", "## B\n\nTwo.\n")],
)
def test_a_page_does_not_begin_with_the_blank_line_after_a_paragraph_that_is_gone(
    body_type: str, write: str, new: str
) -> None:
    base, ours, theirs = (file(body, type=body_type, write=write) for body in ("One.\n", "", f"One.\n\n{new}"))
    assert merged(base, ours, theirs).body == merged(base, theirs, ours).body == new.encode()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("# T\n\nOther.\n", "# T\n\nOne.\n\n## B\n\nText.\n"),  # the text above it was replaced
        ("# T\n", "# T\n\nOne.\n\nAnother.\n"),  # what was added is no section
        ("", "# T\n\nOne.\n\n## B\n\nText.\n"),  # the heading above it is gone
    ],
)
def test_other_changes_beside_a_new_text_are_a_conflict_in_a_page_that_is_replaced(ours: str, theirs: str) -> None:
    sides = (file(body, type="markdown", write="replace") for body in ("# T\n\nOne.\n", ours, theirs))
    assert conflicts(*sides).conflicts == ("body",)
