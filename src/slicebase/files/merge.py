"""Merges slice files three-way: keys by name, links as a set, rows by id, other bodies by lines (docs/workspace.md).

The merge works on what a file means: two people who add rows, change different keys or add links have no conflict.
What both sides changed differently is a conflict. It is marked as git marks one, and keeps the content of both sides.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from math import inf
from typing import Any, Final, NamedTuple

from slicebase.errors import SlicebaseError
from slicebase.files.body.lines import read_lines, read_time
from slicebase.files.body.rows import read_rows
from slicebase.files.merge_lines import Merged, decide, lines_of, marked, merge_lines
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import append_item, delete_key, remove_item, same, set_key

# Files


class Outcome(NamedTuple):
    """A merged file, and what both sides changed differently."""

    data: bytes
    conflicts: tuple[str, ...]  # keys and rows, or `body`; empty if everything is merged


def merge_bytes(base: bytes, ours: bytes, theirs: bytes, name: str) -> Outcome:
    """Merges the bytes of three files. If one is not a readable slice file, they are merged by lines, as git does."""
    try:
        before = SliceFile.parse(base, name) if base else None
        return merge(before, SliceFile.parse(ours, name), SliceFile.parse(theirs, name))
    except SlicebaseError:
        one, other = (b"".join(side) for side in merge_lines(lines_of(base), lines_of(ours), lines_of(theirs)))
        return Outcome(marked(one, other), () if one == other else ("text",))


def merge(base: SliceFile | None, ours: SliceFile, theirs: SliceFile) -> Outcome:
    """Merges two versions of a file. Without a base, both sides created the file."""
    if (ours.purged is None) != (theirs.purged is None):  # purged content does not come back (ruling 31)
        return Outcome((ours if ours.purged else theirs).to_bytes(), ())
    keys = _Keys(ours, theirs)
    values = keys.merged(base.frontmatter if base else {}, ours.frontmatter, theirs.frontmatter, ())
    bodies, conflicts = merge_bodies(base, ours, theirs)
    try:
        mine = _headed(base, ours, theirs, values.ours)
        other = _edited(mine, values.theirs)
        if _comments(theirs) - _comments(base) - _comments(mine):
            other = _headed(base, theirs, ours, values.theirs)
            keys.conflicts.append("comments")
    except SlicebaseError:  # no edit can change the difference, such as different ids
        return Outcome(marked(ours.to_bytes(), theirs.to_bytes()), ("slice",))
    versions = mine.with_body(bodies.ours).to_bytes(), other.with_body(bodies.theirs).to_bytes()
    return Outcome(marked(*versions), (*keys.conflicts, *conflicts))


# Values

MergePath = tuple[str, ...]
_LINKS: Final = ("slice", "links")


class _Absent:
    """The value of a key that a side does not have."""


_ABSENT: Final = _Absent()


class _Keys:
    """Merges two frontmatters and collects the keys that both sides changed differently."""

    def __init__(self, ours: SliceFile, theirs: SliceFile) -> None:
        self.conflicts: list[str] = []
        self._ours_is_newer = _moment(ours.updated_at) >= _moment(theirs.updated_at)

    def merged(self, base: Any, ours: Any, theirs: Any, path: MergePath) -> Merged[Any]:
        plain = decide(base, ours, theirs, same)
        if same(plain.ours, plain.theirs):
            return plain
        own = _OWN_RULES[path](self, base, ours, theirs) if path in _OWN_RULES else None
        if own:
            return own
        if isinstance(ours, dict) and isinstance(theirs, dict):
            return self._mapping(base if isinstance(base, dict) else {}, ours, theirs, path)
        self.conflicts.append(".".join(path))
        return plain

    def _mapping(
        self, base: Mapping[str, Any], ours: Mapping[str, Any], theirs: Mapping[str, Any], path: MergePath
    ) -> Merged[Any]:
        one: dict[str, Any] = {}
        other: dict[str, Any] = {}
        for key in {**ours, **theirs}:
            before, one_side, other_side = (side.get(key, _ABSENT) for side in (base, ours, theirs))
            mine, yours = self.merged(before, one_side, other_side, (*path, key))
            one |= {} if mine is _ABSENT else {key: mine}
            other |= {} if yours is _ABSENT else {key: yours}
        return Merged(one, other)

    def links(self, base: Any, ours: Any, theirs: Any) -> Merged[Any] | None:
        """Merges links as a set: what either side added is in it, what either side removed is not (§ Links)."""
        known, one, other = (_by_target(side) for side in (base, ours, theirs))
        if known is None or one is None or other is None:
            return None
        mine, yours = [], []
        for target in {**one, **other}:
            before, one_side, other_side = (side.get(target, _ABSENT) for side in (known, one, other))
            chosen = decide(before, one_side, other_side, same)
            if not same(chosen.ours, chosen.theirs):
                self.conflicts.append(".".join(("slice", "links", *target)))
            mine += [] if chosen.ours is _ABSENT else [chosen.ours]
            yours += [] if chosen.theirs is _ABSENT else [chosen.theirs]
        return Merged(mine, yours)

    def newer(self, base: Any, ours: Any, theirs: Any) -> Merged[Any]:
        """Returns the value of the side that changed last (ruling 26)."""
        newer = ours if self._ours_is_newer else theirs
        return Merged(newer, newer)

    def first(self, base: Any, ours: Any, theirs: Any) -> Merged[Any] | None:
        """Returns the earlier of two marks, for a file that both sides archived or purged."""
        if not isinstance(ours, dict) or not isinstance(theirs, dict):
            return None
        first = min(ours, theirs, key=lambda mark: _moment(mark.get("at")))
        return Merged(first, first)

    def last(self, base: Any, ours: Any, theirs: Any) -> Merged[Any] | None:
        """Returns the later of two marks, for work that both sides did."""
        if not isinstance(ours, dict) or not isinstance(theirs, dict):
            return None
        last = max(ours, theirs, key=lambda mark: (_moment(mark.get("at")), str(mark)))
        return Merged(last, last)


_OWN_RULES: Final[Mapping[MergePath, Callable[[_Keys, Any, Any, Any], Merged[Any] | None]]] = {
    _LINKS: _Keys.links,
    ("slice", "updated_at"): _Keys.newer,
    ("slice", "updated_by"): _Keys.newer,
    ("slice", "done"): _Keys.last,
    ("slice", "archived"): _Keys.first,
    ("slice", "purged"): _Keys.first,
}


def _moment(time: Any) -> float:
    found = read_time(time)
    return -inf if found is None else found


def _by_target(links: Any) -> dict[tuple[str, str], Any] | None:
    """Returns the links by relationship and target, None if these do not distinguish all of them."""
    if links is _ABSENT or links is None:
        return {}
    if not isinstance(links, list) or not all(isinstance(link, dict) for link in links):
        return None
    found = {(str(link.get("rel")), str(link.get("to"))): link for link in links}
    return found if len(found) == len(links) else None


# The header's text

_COMMENT: Final = re.compile(r"(?:^|\s)#.*$", re.MULTILINE)


def _headed(base: SliceFile | None, ours: SliceFile, theirs: SliceFile, wanted: Any) -> SliceFile:
    """Returns a file whose header has the wanted values.

    The header is merged from the lines of both sides if possible, so that the comments of both stay. Otherwise the
    values are set in our header.
    """
    lines = merge_lines(*(lines_of(file.head if file else b"") for file in (base, ours, theirs)))
    try:
        file = SliceFile.parse(b"".join(lines.ours), ours.name)
        return _edited(file, wanted) if not file.body else _edited(ours, wanted)
    except SlicebaseError:
        return _edited(ours, wanted)


def _comments(file: SliceFile | None) -> set[str]:
    """Returns everything that looks like a comment in a header.

    It may include a text that only looks like a comment; such a text is also compared with the values.
    """
    return {match[0].strip() for match in _COMMENT.finditer(file.header)} if file else set()


def _edited(file: SliceFile, wanted: Mapping[str, Any]) -> SliceFile:
    """Returns the file with this frontmatter. Everything that does not change stays as it is written."""
    links = _links(wanted)
    if links and _links(file.frontmatter):
        for position in reversed(range(len(_links(file.frontmatter)))):
            if not any(same(_links(file.frontmatter)[position], link) for link in links):
                file = remove_item(file, _LINKS, position)
        for link in links:
            if not any(same(link, there) for there in _links(file.frontmatter)):
                file = append_item(file, _LINKS, link)
        wanted = {**wanted, "slice": {**wanted["slice"], "links": _links(file.frontmatter)}}
    for key, value in wanted.items():
        file = set_key(file, (key,), value)
    for key in file.frontmatter.keys() - wanted.keys():
        file = delete_key(file, (key,))
    return file


def _links(frontmatter: Mapping[str, Any]) -> list[Any]:
    fields = frontmatter.get("slice")
    links = fields.get("links") if isinstance(fields, dict) else None
    return links if isinstance(links, list) else []


# Bodies


class MergedBody(NamedTuple):
    """A merged body, and the rows in which there is a conflict."""

    bodies: Merged[bytes]
    conflicts: tuple[str, ...] = ()


def merge_bodies(base: SliceFile | None, ours: SliceFile, theirs: SliceFile) -> MergedBody:
    """Merges the bodies of two files by rows, by appended lines or paragraphs, or else by lines of text."""
    before = base.body if base else b""
    plain = decide(before, ours.body, theirs.body)
    if plain.ours == plain.theirs:
        return MergedBody(plain)
    if ours.body_type == theirs.body_type:
        merged = _merge_rows(before, ours, theirs) or _merge_appended(before, ours, theirs)
        if merged:
            return merged
    one, other = merge_lines(lines_of(before), lines_of(ours.body), lines_of(theirs.body))
    text = Merged(b"".join(one), b"".join(other))
    return MergedBody(text, () if text.ours == text.theirs else ("body",))


# Rows


def _merge_rows(before: bytes, ours: SliceFile, theirs: SliceFile) -> MergedBody | None:
    """Merges rows by id. Rows are ordered by age only, so added rows go to the end, by age (ruling 27).

    Returns None if the bodies are not jsonl, or if a line is not a row with an id of its own.
    """
    known, one, other = _rows(before), _rows(ours.body), _rows(theirs.body)
    if ours.body_type != "jsonl" or known is None or one is None or other is None:
        return None
    chosen = {row: decide(known.get(row), one.get(row), other.get(row)) for row in {**known, **one, **other}}
    conflicts = tuple(f"row {row}" for row, (mine, yours) in chosen.items() if mine != yours)
    added = {row: chosen[row] for row in chosen if row not in known}
    order = [*known, *_by_age(added)]
    versions = Merged(
        _body(ours.body, [line for row in order if (line := chosen[row].ours) is not None]),
        _body(ours.body, [line for row in order if (line := chosen[row].theirs) is not None]),
    )
    return MergedBody(versions, conflicts)


def _rows(body: bytes) -> dict[str, bytes] | None:
    """Returns the lines by the ids of their rows, None if that would leave out a line."""
    rows = read_rows(body).rows
    lines = {row.id: row.line.raw for row in rows}
    filled = sum(1 for line in body.split(b"\n") if line.strip())
    return lines if len(lines) == filled else None


def _by_age(added: Mapping[str, Merged[bytes | None]]) -> list[str]:
    lines = [line for versions in added.values() for line in {*versions} if line is not None]
    return list(dict.fromkeys(row.id for row in sorted(read_rows(b"\n".join(lines)).rows, key=lambda row: row.age_key)))


# Lines and paragraphs

_LINES: Final = frozenset({"jsonl", "conversation", "routine"})


def _merge_appended(before: bytes, ours: SliceFile, theirs: SliceFile) -> MergedBody | None:
    """Merges what both sides appended, one after the other, if the file is written by appending (ruling 26).

    Returns None if it is not, or if a side changed more than that.
    """
    if ours.body_type not in _LINES and not ours.contract.write == theirs.contract.write == "append":
        return None
    old, one, other = (
        body.rstrip(b"\r\n").split(b"\n") if body.strip() else [] for body in (before, ours.body, theirs.body)
    )
    if one[: len(old)] != old or other[: len(old)] != old:
        return None
    one, other = one[len(old) :], other[len(old) :]
    common = [line for line, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))]
    while common and not common[-1].strip():
        common.pop()  # the blank line before a paragraph belongs to it
    added = _in_order(ours, one[len(common) :], theirs, other[len(common) :])
    body = _body(ours.body, [*old, *common, *added])
    return MergedBody(Merged(body, body))


def _in_order(ours: SliceFile, one: list[bytes], theirs: SliceFile, other: list[bytes]) -> list[bytes]:
    """Returns the added lines in an order that does not depend on which side merges: by time where there is one."""
    if ours.body_type == "conversation":
        times = {line.raw: read_time(line.value.get("ts")) for line in read_lines(b"\n".join(one + other)).lines}
        if None not in times.values() and len(times) == len({*one, *other}):
            return sorted(one + other, key=lambda line: (times[line], line))
    earlier, later = sorted(((ours.updated_at or "", one), (theirs.updated_at or "", other)))
    return earlier[1] + later[1]


def _body(like: bytes, lines: Sequence[bytes]) -> bytes:
    """Returns the lines as a body, with the line ends of the body `like`."""
    end = b"\r\n" if like[: like.find(b"\n") + 1].endswith(b"\r\n") else b"\n"
    return b"".join(line.removesuffix(b"\r") + end for line in lines)
