"""Merging Markdown: every line stays under its heading, and in code or outside of it, or else it is a conflict."""

import re

import pytest

from slicebase.files.merge import Outcome, merge_bytes

FIELDS = "id: 01JFILE0000000000000000001", "title: T", "summary: S", "body: {type: markdown}"
HEAD = "\n  ".join(("---\nslice:", 'v: "1"', *FIELDS)) + "\n---\n"
PAGE = "# Runbook\n\n## Staging\n\nDrop freely.\n\n## Production\n\nAsk Ann.\n\nAsk Bob.\n\n## Other\n\nLast.\n"


def outcome(base: str, one: str, other: str) -> Outcome:
    """Merges two bodies in both directions, which have the same conflicts, or give the same."""
    before, mine, yours = ((HEAD + body).encode() for body in (base, one, other))
    found, turned = merge_bytes(before, mine, yours, "x.slice"), merge_bytes(before, yours, mine, "x.slice")
    assert found.conflicts == turned.conflicts
    assert found.conflicts or found == turned
    return found


def merged(base: str, one: str, other: str) -> str:
    found = outcome(base, one, other)
    assert found.conflicts == ()
    return found.data.decode().removeprefix(HEAD)


def appended(*places: tuple[str, str], to: str = PAGE) -> str:
    for after, text in places:
        to = to.replace(f"{after}\n", f"{after}\n\n{text}\n")
    return to


NEW = "## Playground\n\nAnything goes."


@pytest.mark.parametrize("elsewhere", [(), (("Drop freely.", "And often."),), (("Last.", "Not least."),)])
def test_text_stays_in_its_section_and_a_new_section_follows_whatever_else_changed(
    elsewhere: tuple[tuple[str, str], ...],
) -> None:
    one, other = appended(*elsewhere, ("Ask Bob.", NEW)), appended(("Ask Bob.", "Never drop."))
    assert merged(PAGE, one, other) == appended(*elsewhere, ("Ask Bob.", f"Never drop.\n\n{NEW}"))
    deeper = "### Details\n\nAsk twice."
    assert merged(PAGE, one, appended(("Ask Bob.", deeper))) == appended(*elsewhere, ("Ask Bob.", f"{deeper}\n\n{NEW}"))


SECTION = "## Production\n\nAsk Ann.\n\nAsk Bob.\n\n"


@pytest.mark.parametrize("instead", ["", "## Playground\n\nAnything goes.\n\n", "Ask Ann.\n\nAsk Bob.\n\n"])
@pytest.mark.parametrize("text", ["Never drop.", "### Details\n\nAsk twice."])
def test_text_for_a_section_that_the_other_side_removed_or_replaced_is_a_conflict(instead: str, text: str) -> None:
    found = outcome(PAGE, PAGE.replace(SECTION, instead), appended(("Ask Bob.", text)))
    assert found.conflicts == ("body",)
    theirs = re.sub("<<<<<<< ours\n.*?=======\n(.*?)>>>>>>> theirs\n", r"\1", found.data.decode(), flags=re.DOTALL)
    assert theirs == HEAD + appended(("Ask Bob.", text))


@pytest.mark.parametrize("name", ["## In production", "# Production", "Production\n----------"])
def test_text_for_a_section_that_the_other_side_renamed_is_under_its_new_name(name: str) -> None:
    def renamed(text: str) -> str:
        return text.replace("## Production", name)

    for text in ("Never drop.", "### Details\n\nAsk twice."):
        assert merged(PAGE, renamed(PAGE), appended(("Ask Bob.", text))) == renamed(appended(("Ask Bob.", text)))


def test_a_new_title_above_everything_is_no_other_place() -> None:
    base = PAGE.removeprefix("# Runbook\n\n")
    assert merged(base, PAGE, appended(("Last.", NEW), to=base)) == appended(("Last.", NEW))


FENCE = "```sh\nmake build\n\nmake deploy\n```\n"


@pytest.mark.parametrize("text", ["Ask Ann first.", "## Before\n\nAsk Ann.", "~~~\nask Ann\n~~~", "<!--\nAnn\n\n-->"])
def test_nothing_is_put_into_code_that_the_other_side_added(text: str) -> None:
    base = "# T\n\nTODO\n\nend\n"
    assert outcome(base, f"# T\n\n{FENCE}", appended(("TODO", text), to=base)).conflicts == ("body",)
    added = merged(base, f"# T\n\n{FENCE}\nend\n", appended(("end", text), to=base))
    assert added == f"# T\n\n{FENCE}\nend\n\n{text}\n"


def changed(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        text = text.replace(old, new)
    return text


def test_changes_in_a_block_of_code_and_under_a_heading_are_merged_line_by_line() -> None:
    base = f"# T\n\n{FENCE}\n## Next\n\n- a\n- b\n- c\n- d\n"
    first, last = (("make build", "make all"), ("- a", "- A")), (("make deploy", "make ship"), ("- d", "- D"))
    one, other, both = (changed(base, *pairs) for pairs in (first, last, first + last))
    assert merged(base, one, other) == both
