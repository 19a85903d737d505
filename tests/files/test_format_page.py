"""The tables of docs/format.md agree with the tables in the code."""

import re

from slicebase.files.check.header import WRITABLE
from slicebase.files.findings import FORMAT_RULES
from slicebase.files.freshness import label, staleness
from slicebase.files.links import RELATIONSHIPS
from slicebase.files.model import BODY_TYPES, WRITE_MODES
from tests.paths import PROJECT

PAGE = (PROJECT / "docs" / "format.md").read_text()


def table(heading: str) -> list[list[str]]:
    """Returns the rows of the table whose first column has this heading."""
    rows = re.search(rf"^\| {re.escape(heading)} \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    assert rows, heading
    return [[cell.strip() for cell in row.strip("|").split(" |")] for row in rows[1].splitlines()]


def test_the_page_lists_every_rule() -> None:
    assert table("rule") == [[f"`{rule.name}`", rule.severity, rule.checks] for rule in FORMAT_RULES.values()]


def test_the_page_lists_every_body_type() -> None:
    assert {row[0].strip("`") for row in table("type")} == set(BODY_TYPES)


def test_the_page_lists_every_write_mode_and_what_it_is_for() -> None:
    listed = {row[0].strip("`"): set(re.findall(r"\w+", row[2])) for row in table("`write`")}
    assert set(listed) == set(WRITE_MODES)
    for mode, types in WRITABLE.items():
        assert listed[mode] == types


def test_the_page_lists_every_relationship_with_its_properties() -> None:
    listed = table("relationship")
    assert set(re.findall(r"`(\w+)`", str(listed))) == set(RELATIONSHIPS)
    for names, converse, chains in listed:
        for name in re.findall(r"`(\w+)`", names):
            assert (RELATIONSHIPS[name].converse or "none") in converse
            assert RELATIONSHIPS[name].transitive == (chains == "yes")


def test_the_page_gives_the_ages_of_the_labels() -> None:
    for _, name, ages in table("staleness")[:-1]:
        days = int(re.findall(r"\d+", ages)[0])
        assert label(staleness(days - 0.01)) == name
        assert label(staleness(days + 1)) != name
