"""Splits a slice file into frontmatter and body, and loads YAML quickly where that is safe.

The scanner defines what a YAML text means. yaml-rs reads the same text about twenty times faster, without positions,
but it accepts some things that we refuse, and reads some differently (ruling 22). So yaml-rs reads the texts that
have no sign of these, and the scanner reads the others. `tests/files/yaml/test_load.py` checks that both agree.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from slicebase.errors import SlicebaseError, Where
from slicebase.files.yaml.scalars import MAX_NESTING

# Frontmatter and body (§ File Structure, ruling 20)

MAX_HEADER: Final = 64 * 1024
BOM: Final = b"\xef\xbb\xbf"

_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*(?:\r?\n|\Z)")
_CLOSING = re.compile(rb"\n---[ \t]*(?:\r?\n|\r?\Z)")


class FrontmatterSpan(NamedTuple):
    """Offsets into a file: the YAML text between the markers, and the body after them."""

    start: int
    end: int
    body: int


def split(data: bytes, name: str | None = None) -> FrontmatterSpan:
    """Finds the markers of the frontmatter. The time depends on the size of the header only, not of the body."""
    opening = _OPENING.match(data)
    if not opening:
        raise SlicebaseError(
            "no-frontmatter",
            f"the file starts with {data[:20]!r}, not with a `---` line" if data else "the file is empty",
            hint="a slice file starts with a line `---`, its metadata and another `---`",
            where=Where(name, 1, 1),
        )
    start = opening.end()
    closing = _CLOSING.search(data, start - 1)
    if closing is None:
        raise SlicebaseError(
            "frontmatter-open",
            "no second `---` line ends the frontmatter",
            hint="end it with a line `---`",
            where=Where(name, data.count(b"\n") + 1, 1),
        )
    end = closing.start() + 1
    if end - start > MAX_HEADER:
        raise SlicebaseError(
            "frontmatter-size",
            f"the frontmatter is {end - start} bytes long, more than {MAX_HEADER}",
            hint="move long texts into the body",
            where=Where(name, data.count(b"\n", 0, start + MAX_HEADER) + 1, 1),
        )
    return FrontmatterSpan(start, end, closing.end())


# Loading YAML

# Most texts consist of these bytes only.
_USUAL: Final = bytes({10, *range(32, 127)} - set(b"&*!?%"))
# Control characters, tabs, a byte order mark, a carriage return that does not end a line.
# They are listed one by one: a class of all other characters would take ten times as long to compile.
_FOREIGN = re.compile("[\\x00-\\t\\x0b-\\x1f\\x7f-\\x9f\\ud800-\\udfff\\ufeff\\ufffe\\uffff]")
# An anchor, alias, tag, explicit key or directive where a token may start: after a line break or an indicator.
_INDICATOR = re.compile(r"[&*!?%](?:(?<=[\n\[{,:].)|(?<=[\n\[{,:?\-] .)|(?<=  .))")
# Nesting that could overflow the stack of yaml-rs: a dash or a colon opens a level, a column of a line at most two.
_DEEP = re.compile(rf"\n[ -]{{{MAX_NESTING}}}")
# Everything that yaml-rs could read as a number, where a value may start: not after a word of a text …
_NUMERIC = re.compile(
    r"[-+.0-9_](?:(?<=[\n\[{,].)|(?<=[\n\[{,:?\-] .)|(?<=  .))"
    r"(?:[0-9_.a-dA-DfFxXoO]|[eE][-+]?|[iInN]\w*)*+(?= *[\n,\]}#:])"
)
# … or where the colon of a quoted key touches it …
_TOUCHED = re.compile("[\"']:[-+.0-9_]")
# … and the numbers on which all readers agree.
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?")
_NUMBERS: Final = {int, float}
_UNSURE: Final = object
# Inside a flow collection, yaml-rs reads the indicators of block scalars as text, …
_BARS: Final = ("|", ">")
# … and it adds a line break to a block scalar without content at the end of the text.
_HOLLOW = re.compile(r"\n.*[|>][-+0-9]* *(?:#.*)?\n")


def load(text: str, first_line: int = 1) -> Any:
    """Returns the value of a YAML text. `first_line` is the number of its first line if it is part of a file."""
    lines = "\n" + (text.replace("\r\n", "\n") if "\r" in text else text)
    if not lines.endswith("\n"):
        lines += "\n"
    if not _is_odd(lines):
        import yaml_rs  # by the first use, not by an import: `load_for_threads` says why

        try:
            value = yaml_rs.loads(lines, parse_datetime=False)
        except (ValueError, TypeError):
            pass  # the scanner reports what is wrong, and where
        else:
            if _is_ours(value, lines):
                return value
    return load_plainly(text, first_line)


def load_plainly(text: str, first_line: int = 1) -> Any:
    """Returns the value of a YAML text, read by the scanner only."""
    from slicebase.files.yaml.scan import scan  # most headers never need it

    return scan(text, first_line).value


def _is_odd(lines: str) -> bool:
    """Returns whether yaml-rs might read something that the scanner refuses, or read it differently."""
    unusual = lines.encode("utf-8", "surrogatepass").translate(None, _USUAL)
    if unusual and (_FOREIGN.search(lines) or _INDICATOR.search(lines)):
        return True
    if "\n---" in lines or "\n..." in lines:
        return True
    if lines.count("-") + lines.count(":") > 3 * MAX_NESTING and _DEEP.search(lines):
        return True
    return _has_bars(lines) and _HOLLOW.match(lines, lines.rstrip().rfind("\n")) is not None


def _is_ours(value: Any, lines: str) -> bool:
    """Returns whether the scanner is certain to return this value too."""
    if type(value) is not dict and type(value) is not list:
        return False
    kinds = _kinds(value)
    if _UNSURE in kinds or (_NUMBERS & kinds and _has_odd_number(lines)):
        return False
    in_flow = ("[" in lines or "{" in lines) and _has_bars(lines)
    return not (in_flow and any(text.startswith(_BARS) for text in _texts(value)))


def _has_bars(lines: str) -> bool:
    return "|" in lines or ">" in lines


def _has_odd_number(lines: str) -> bool:
    if _TOUCHED.search(lines):
        return True
    return any(not _DECIMAL.fullmatch(token) for token in _NUMERIC.findall(lines))


def _kinds(value: Any) -> set[type]:
    """Returns the types of everything in a collection; `_UNSURE` for a key that is not text, or for deep nesting."""
    kinds: set[type] = set()
    level = [value]
    for _ in range(MAX_NESTING):
        below: list[Any] = []
        for collection in level:
            if type(collection) is list:
                below += collection
                continue
            for key in collection:
                if type(key) is not str:
                    return {_UNSURE}
            below += collection.values()
        kinds.update(map(type, below))
        level = [item for item in below if type(item) is dict or type(item) is list]
        if not level:
            return kinds
    return {_UNSURE}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
