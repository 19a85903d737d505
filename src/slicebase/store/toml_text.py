"""Changing one value in a TOML text, and nothing else: comments, order and blank lines stay.

It knows tables and plain keys with values on one line, as settings have. Whoever calls it reads the result again and
compares what it says.
"""

import re
from typing import Final, NamedTuple

_TABLE: Final = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?$")
_ENTRY: Final = re.compile(
    r"""(?P<key>\s*(?P<name>[\w.\-" ]+?)\s*=\s*)(?P<value>"(?:\\.|[^"\\])*"|'[^']*'|[^\s\#]+)(?P<rest>\s*(?:\#.*)?)$"""
)


class _Line(NamedTuple):
    table: str  # the table that the line stands in; empty before the first
    name: str  # the dotted name of the value that it sets; empty where it sets none


def line_of(text: str, name: str) -> int | None:
    """The number of the line that sets a value, from 1."""
    return next((number for number, line in enumerate(_lines(text), 1) if line.name == name), None)


def with_value(text: str, name: str, literal: str) -> str:
    """The text with this value, in the line that has it, else in its table, else at the end."""
    lines = text.split("\n")
    known = _lines(text)
    at = line_of(text, name)
    if at is not None:
        match = _ENTRY.match(lines[at - 1])
        assert match is not None
        lines[at - 1] = f"{match['key']}{literal}{match['rest']}"
        return "\n".join(lines)
    table, _, key = name.rpartition(".")
    inside = [number for number, line in enumerate(known) if line.table == table and lines[number].strip()]
    if inside:
        lines.insert(inside[-1] + 1, f"{key} = {literal}")
        return "\n".join(lines)
    before = text if not text or text.endswith("\n") else text + "\n"
    return f"{before}{chr(10) if before else ''}[{table}]\n{key} = {literal}\n"


def without_value(text: str, name: str) -> str:
    at = line_of(text, name)
    lines = text.split("\n")
    return text if at is None else "\n".join(lines[: at - 1] + lines[at:])


def _lines(text: str) -> list[_Line]:
    table, lines = "", []
    for line in text.split("\n"):
        name = ""
        if header := _TABLE.match(line):
            table = _plain(header[1])
        elif entry := _ENTRY.match(line):
            name = ".".join(part for part in (table, _plain(entry["name"])) if part)
        lines.append(_Line(table, name))
    return lines


def _plain(dotted: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in dotted.split("."))
