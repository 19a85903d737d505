"""Checks a YAML stream: the body of a `yaml` file may have anchors, aliases, tags and several documents (ruling 22).

The scanner reads a text without these, and knows the place of every mistake. What it refuses because a frontmatter may
not have it, yaml-rs reads. Only a mistake that yaml-rs can place is an error. Everything else stays as it is: a tag
that nobody knows, aliases that would make a huge value, nesting that is too deep to be read. The values are dropped,
no tag creates an object, and aliases are followed a limited number of times.
"""

import re
from typing import Final

from slicebase.errors import SlicebaseError, Where
from slicebase.files.yaml.load import load

_OF_FRONTMATTER: Final = frozenset({"yaml-anchor", "yaml-tag", "yaml-key", "yaml-documents", "yaml-nesting"})
_BOM: Final = "\ufeff"
# Nesting that could overflow the stack of yaml-rs: a column of a line opens at most two levels, a bracket one more, and
# yaml-rs itself counts the brackets.
_DEEP: Final = re.compile(r"(?:^|\n)[ \t?:-]{200}")
_MOST_EVENTS: Final = 100_000  # that aliases may repeat
_PLACE: Final = re.compile(r"YAML parse error at line (\d+), column (\d+)")
_TOO_DEEP: Final = "recursion limit exceeded"
_DUPLICATE: Final = "duplicate mapping key"


def check_stream(text: str, first_line: int = 1) -> None:
    """Raises the error of a text that is not a YAML stream, with its place. `first_line` is its line in the file."""
    text = text.removeprefix(_BOM)
    try:
        load(text, first_line)
    except SlicebaseError as error:
        if error.code not in _OF_FRONTMATTER:
            raise
        if not _DEEP.search(text):
            _read(text, first_line)


def _read(text: str, first_line: int) -> None:
    import yaml_rs  # by the first use, not by an import: `load_for_threads` says why

    limits = yaml_rs.AliasLimits(max_total_replayed_events=_MOST_EVENTS)
    try:
        yaml_rs.loads(text, parse_datetime=False, alias_limits=limits)
    except (ValueError, TypeError) as error:
        message = str(error)
        if (place := _PLACE.match(message)) and not message.endswith(_TOO_DEEP):
            where = Where(None, first_line + int(place[1]) - 1, int(place[2]))
            raise SlicebaseError("yaml-syntax", message.rpartition("\n")[2], where=where) from None
        if message.startswith(_DUPLICATE):
            raise SlicebaseError("yaml-duplicate-key", message, where=Where(None, first_line, 1)) from None
