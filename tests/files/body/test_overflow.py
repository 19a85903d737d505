"""Overflow: what moves out of a body that has grown too large, and what stays."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.core.times import to_text
from slicebase.files.body.overflow import (
    ARCHIVED,
    CONTINUED,
    Moved,
    joined,
    move_oldest,
    new_part,
    own_size,
    parts_of,
    whole_of,
)
from slicebase.files.body.rows import read_rows, row_line
from slicebase.files.create import new_file
from slicebase.files.model import Contract, Link
from slicebase.files.slice_file import SliceFile

NOTHING = Moved(b"", b"")


def file_of(body_type: str, body: bytes) -> SliceFile:
    return new_file(id="01A", title="T", summary="S.", body_type=body_type, body=body, name=".slices/01A.slice")


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 9), st.text("ab", max_size=30)), max_size=12), st.integers(0, 900))
def test_the_oldest_rows_leave_until_the_rest_is_small_enough(rows: list[tuple[int, str]], most: int) -> None:
    lines = [
        row_line({"id": f"r{number}", "created_at": to_text(time)}, {"text": text})
        for number, (time, text) in enumerate(rows)
    ]
    moved = move_oldest(file_of("jsonl", b"".join(lines)), most)
    if moved is None:
        assert len(b"".join(lines)) <= most
        return
    leaves, stays = moved[:2]
    assert sorted(leaves.splitlines(keepends=True) + stays.splitlines(keepends=True)) == sorted(lines)
    assert len(stays) <= most or not stays
    gone, kept = ([row.age_key for row in read_rows(part).rows] for part in (leaves, stays))
    assert not kept or max(gone) < min(kept)


@settings(max_examples=100)
@given(
    st.lists(st.sampled_from(["# A\n", "## B\n", "### C\n", "text\n", "\n"]), max_size=20).map("".join),
    st.integers(0, 80),
)
def test_sections_or_paragraphs_leave_in_one_piece_from_the_first_on(text: str, most: int) -> None:
    moved = move_oldest(file_of("markdown", text.encode()), most)
    if moved is not None:
        leaves, stays = moved.leaves.decode(), moved.stays.decode()
        text += "\n" * (len(leaves) + len(stays) - len(text))  # the blank line before the next paragraph
        assert any(
            text[:start] + text[start + len(leaves) :] == stays and text[start:].startswith(leaves)
            for start in range(len(text))
        )
        assert "#" in stays or "#" not in text
        assert leaves.startswith("#") or "#" not in leaves


def test_markdown_without_sections_loses_its_first_paragraphs_under_its_heading() -> None:
    fence = "```\na\n\nb\n```\n\n"
    text = f"# Only one\n\nfirst\n\n{fence}last\n"
    leaves, stays = (move_oldest(file_of("markdown", text.encode()), 25) or NOTHING)[:2]
    assert (leaves.decode(), stays.decode()) == (f"\nfirst\n\n{fence}", "# Only one\nlast\n")
    underlined = "Title\n=====\nfirst\n\nlast\n\nOther\n-----\nmore\n"
    leaves, stays = (move_oldest(file_of("markdown", underlined.encode()), 0) or NOTHING)[:2]
    assert (leaves.decode(), stays.decode()) == ("first\n\nlast\n\n", "Title\n=====\nOther\n-----\nmore\n")


@pytest.mark.parametrize(
    "block",
    [
        "````\na\n\n```\n\nb\n````\n",
        "- ```\n  a\n\n  b\n  ```\n",
        "```\n~~~\n\nb\n```\n",
        "<pre>\na\n\nb\n</pre>\n",
        "<!-- a\n\nb -->\n",
        "``` `no` fence\n",
    ],
)
def test_code_and_html_leave_or_stay_as_a_whole(block: str) -> None:
    text = f"first\n\n{block}\nlast\n"
    for most in range(len(text)):
        moved = move_oldest(file_of("markdown", text.encode()), most) or NOTHING
        leaves, stays = moved.leaves.decode(), moved.stays.decode()
        leaves = leaves if stays else leaves.removesuffix("\n")  # with the blank line before the next paragraph
        assert leaves + stays == text
        assert leaves in ("first\n\n", f"first\n\n{block}\n", text)


@pytest.mark.parametrize("body_type", ["text", "conversation", "routine"])
@settings(max_examples=60)
@given(
    lines=st.lists(st.sampled_from(["a\n", "bb\n", "\n", "c\r\n", " \n"]), max_size=12),
    end=st.booleans(),
    most=st.integers(0, 20),
)
def test_the_first_lines_or_paragraphs_leave_until_the_rest_is_small_enough(
    body_type: str, lines: list[str], end: bool, most: int
) -> None:
    body = ("".join(lines) + ("" if end else "last")).encode()
    moved = move_oldest(file_of(body_type, body), most)
    if moved is None:
        assert len(body) <= most or not body.strip()
        return
    assert (moved.leaves + moved.stays).startswith(body)
    assert not (moved.leaves + moved.stays)[len(body) :].strip(b"\r\n")
    assert len(moved.stays) <= most or not moved.stays.strip()
    assert moved.leaves.strip()


def test_a_part_and_its_file_link_to_each_other_with_a_label_that_says_why() -> None:
    file = new_file(
        id="01A", title="Log", summary="S.", body_type="jsonl", name=".slices/01A.slice",
        contract=Contract(purpose="P.", overflow="split"),
        links=[Link("routes_to", "01R", "other"), Link("has_part", "01M", "by hand")],
    )  # fmt: skip
    part = new_part(file, "01B")
    assert (part.name, part.title, whole_of(part)) == (".slices/01B.slice", "Log (part 2)", "01A")
    assert (part.contract.purpose, part.contract.overflow) == ("P.", "split")
    assert Link("routes_to", "01R", "other") in part.links
    both = joined(joined(file, "01B", CONTINUED), "01C", ARCHIVED)
    assert parts_of(both) == ["01B", "01C"]
    assert parts_of(both, CONTINUED) == ["01B"]
    assert new_part(both, "01D").title == "Log (part 3)"
    assert new_part(both, "01D", NOTHING).title == "Log (archive 2)"
    assert new_part(both, "01D", NOTHING).write_mode == "error"


LISTS = ["", "  links:\n  - rel: see_also\n    to: 01B\n", "  links: [{rel: see_also, to: 01B}]\n", "  links: []\n"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("links", LISTS)
def test_links_to_parts_do_not_count_for_the_size_of_a_file(links: str, end: str) -> None:
    """They would put every file with many parts over its limit, for ever."""
    head = f'---\nslice:\n  v: "1"\n  kind: context\n  id: 01A\n  title: T\n{links}  body: {{type: jsonl}}\n---\n'
    file = SliceFile.parse(head.replace("\n", end).encode())
    before = own_size(file)
    assert before == len(file.head)
    for number in range(3):
        file = joined(file, f"01P{number}", ARCHIVED)
        assert before - len("  links: []" + end) <= own_size(file) <= before
    assert own_size(file) == before or "[]" in links
