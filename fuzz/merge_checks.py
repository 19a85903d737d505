"""What holds for every merge of three versions of a slice file, whatever was done to them."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from fuzz.merges import FILE_NAME, Versions
from slicebase.errors import SlicebaseError
from slicebase.files.body.sections import lines_of_blocks, sections
from slicebase.files.merge import Outcome, merge_bytes
from slicebase.files.merge_comments import comments_of
from slicebase.files.merge_lines import MARKERS
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import same

_LINES: Final = {"jsonl", "conversation", "routine"}
_OWN: Final = {"updated_at", "updated_by", "archived", "purged"}  # where one of both sides is chosen


def check(given: Versions) -> Outcome:
    """Merges three versions and checks what holds for every merge. Returns the merged file."""
    base, ours, theirs = given
    merged, turned = merge_bytes(base, ours, theirs, FILE_NAME), merge_bytes(base, theirs, ours, FILE_NAME)
    files = [_read(data) for data in (base, ours, theirs)]
    assert sorted(merged.conflicts) == sorted(turned.conflicts), "who merges whom decides what is a conflict"
    if any(marker in data for data in given for marker in MARKERS):
        return merged  # markers of an earlier merge look like ours
    mine, yours = _resolved(merged.data)
    assert _resolved(turned.data) == (yours, mine), "who merges whom decides what is merged"
    assert (mine != yours) == bool(merged.conflicts), "a conflict has no markers, or markers have no conflict"
    _check_one_side(given, files)
    _check_lines(given, mine, yours, files)
    if mine == yours:
        _check_appended(given, mine, files)
    if files[1] and files[2] and (files[0] or not base):
        _check_places(files[0], files[1], files[2], mine)
        _check_places(files[0], files[2], files[1], yours)
        _check_files(files[0], files[1], files[2], mine, yours)
    return merged


def _read(data: bytes) -> SliceFile | None:
    try:
        return SliceFile.parse(data)
    except SlicebaseError:
        return None


def _is_purged(files: Sequence[SliceFile | None]) -> bool:
    """Returns whether a version is purged: its content does not come back, whatever the others say."""
    return any(file is not None and file.purged for file in files)


def _resolved(data: bytes) -> tuple[bytes, bytes]:
    """Returns both versions that the markers show."""
    sides: tuple[list[bytes], list[bytes]] = ([], [])
    into: tuple[int, ...] = (0, 1)
    for line in data.split(b"\n"):
        marker = line.removesuffix(b"\r")
        if marker in MARKERS:
            into = {MARKERS[0]: (0,), MARKERS[1]: (1,)}.get(marker, (0, 1))
            continue
        for side in into:
            sides[side].append(line)
    return b"\n".join(sides[0]), b"\n".join(sides[1])


def _check_one_side(given: Versions, files: Sequence[SliceFile | None]) -> None:
    base, side, _ = given
    assert merge_bytes(base, side, side, FILE_NAME) == (side, ()), "the same change twice is not that change"
    if not _is_purged(files):
        for sides in ((side, base), (base, side)):
            assert merge_bytes(base, *sides, FILE_NAME) == (side, ()), "one side alone is not taken as it is"


def _check_lines(given: Versions, mine: bytes, yours: bytes, files: Sequence[SliceFile | None]) -> None:
    """Checks that every line of a body that a side added is in its version. Without a body, all lines are one."""
    if _is_purged(files):
        return
    is_read = files[1] and files[2] and (files[0] or not given.base)
    base, *sides = ((file.body if file and is_read else data) for file, data in zip(files, given, strict=True))
    for side, version in zip(sides, (mine, yours), strict=True):
        lost = (_lines(side) - _lines(base)) - _lines(version)
        assert not lost, "a line of a side is gone"


def _check_appended(given: Versions, merged: bytes, files: Sequence[SliceFile | None]) -> None:
    """Checks what both sides only appended: it is all there, and once only where it is the same for certain."""
    base, ours, theirs = files
    if _is_purged(files) or ours is None or theirs is None or (base is None and given.base):
        return
    bodies = [file.body if file else b"" for file in (base, ours, theirs, _read(merged))]
    if any(b"\r" in body and re.search(rb"(?<!\r)\n|\r$", body) for body in bodies):
        return  # where line ends differ, they belong to the lines
    kept = bodies[0].rstrip(b"\n") + b"\n\n"
    if bodies[0].startswith(kept) and not all(body.startswith(kept) for body in bodies[1:3]):
        # A side inserts a line before the empty lines at the end of the base. What both append after these lines is at
        # the same place of the base, so that it counts once where it is equal, however different the lines above are.
        return
    before, one, other, found = map(_filled, bodies)
    size = len(before)
    types = {file.body_type for file in files if file}
    if one[:size] != before or other[:size] != before or len(types) > 1 or not types <= {*_LINES, "text", "markdown"}:
        return
    while size < min(len(one), len(other)) and one[size] == other[size]:
        size += 1
    mine, yours = (Counter(side[size:]) for side in (one, other))
    has_sections = "markdown" in types and any(_HEADING.match(line) for line in (*mine, *yours))
    same = Counter({line: count for line, count in (mine & yours).items() if has_sections or _NAMED.search(line)})
    expected = Counter(one[:size]) + mine + yours - same
    assert not expected - Counter(found), "a line that both sides appended is gone"
    if types <= _LINES:
        assert Counter(found) == expected, "a line is there twice"


# What may make equal lines one: a name of their own, or a section that both sides added.
_NAMED: Final = re.compile(rb'"(ts|created_at)": ?("[^"]*\d:\d\d:\d\d|[1-9])|"(call_id|_meta": ?\{"id)": ?"')
_HEADING: Final = re.compile(rb" {0,3}#{1,6}(\s|$)")


def _filled(data: bytes) -> list[bytes]:
    text = data.removeprefix(b"\xef\xbb\xbf")
    return [line.rstrip(b"\r") for line in text.split(b"\n") if line.strip()]


def _lines(data: bytes) -> Counter[bytes]:
    return Counter(_filled(data))


def _check_files(base: SliceFile | None, ours: SliceFile, theirs: SliceFile, mine: bytes, yours: bytes) -> None:
    """Checks that what is merged can be read, and has every change of its side."""
    if _is_purged((base, ours, theirs)):
        return
    for side, version in ((ours, mine), (theirs, yours)):
        file = SliceFile.parse(version)
        for path, value in _changes(base.frontmatter if base else {}, side.frontmatter):
            if len(path) < 2 or path[1] not in _OWN:
                assert _is_kept(value, _at(file.frontmatter, path)), f"a change of {'.'.join(path)} is gone"
        assert not {*comments_of(side)} - {*comments_of(base)} - {*comments_of(file)}, "a comment is gone"
        sides = _scalars(ours), _scalars(theirs)
        for key, source in _scalars(file).items():
            known = {each[key] for each in sides if key in each}
            assert source in known or "" in known, "a number or a quoted text is written differently"
    _check_comments(base, ours, theirs, mine, yours)


def _check_comments(base: SliceFile | None, ours: SliceFile, theirs: SliceFile, mine: bytes, yours: bytes) -> None:
    """Checks that no comment comes back that a side deleted. Only a side's own part of a conflict may have it."""
    before, one, other = (comments_of(file) for file in (base, ours, theirs))
    found, turned = (comments_of(SliceFile.parse(version)) for version in (mine, yours))
    for comment in {*found, *turned}:
        known, left, right = before[comment], one[comment], other[comment]
        most = min(left, right) if max(left, right) <= known else max(0, left + right - known)
        assert min(found[comment], turned[comment]) <= most, "a comment that a side deleted came back"
        assert found[comment] <= max(most, left), "a comment that a side deleted came back"
        assert turned[comment] <= max(most, right), "a comment that a side deleted came back"


def _scalars(file: SliceFile) -> dict[str, str]:
    """Returns the scalars of `meta` as they are written, with empty text for texts of several lines."""
    nodes = {key: node for key in file.meta if (node := file.node(("slice", "meta", key))) and node.is_scalar}
    sources = {key: file.header[node.start : node.end] for key, node in nodes.items()}
    several = {key for key, source in sources.items() if "\n" in source + str(file.meta[key]) or source[:1] in "|>"}
    return {key: "" if key in several else source for key, source in sources.items()}


class _Place(NamedTuple):
    headings: tuple[str, ...]  # from the highest to that of its section
    in_code: bool


_PlacesOfLines = dict[str, list[_Place]]


def _check_places(base: SliceFile | None, side: SliceFile, other: SliceFile, version: bytes) -> None:
    """Checks that a line that only one side has is under its heading, or under the name that the other gave to it."""
    types = {file.body_type for file in (base, side, other) if file}
    if types != {"markdown"} or _is_purged((base, side, other)):
        return
    bodies = base.body if base else b"", side.body, other.body, SliceFile.parse(version).body
    before, mine, yours, found = map(_places, bodies)
    for line, places in mine.items():
        if len(places) > 1 or line in before or line in yours or line.startswith("#"):
            continue
        assert line in found, "a line of a side is gone"
        assert len(found[line]) == 1, "a line of one side is there twice"
        old, now = places[0], found[line][0]
        assert now.in_code == old.in_code, "a line went into code, or out of it"
        if now.headings[-1] != old.headings[-1]:
            assert now.headings[-1] in _new_names(old.headings[-1], before, yours), "a line is under another heading"


def _new_names(heading: str, base: _PlacesOfLines, side: _PlacesOfLines) -> set[str]:
    """Returns what a side may call a section of the base: the headings above its text, or above its subsections."""
    own = {line for line, places in base.items() if any(place.headings[-1] == heading for place in places)}
    if any(not line.startswith("#") for line in own):
        return {place.headings[-1] for line in own for place in side.get(line, [])}
    below = {line for line, places in base.items() if any(heading in place.headings for place in places)}
    return {name for line in below for place in side.get(line, []) for name in place.headings}


def _places(body: bytes) -> _PlacesOfLines:
    """Returns the places of each line of a Markdown text."""
    text = body.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    text = re.sub("\r$", "", text, flags=re.MULTILINE)
    code, starts = lines_of_blocks(text), {section.line: section for section in sections(text)}
    found: _PlacesOfLines = {}
    above = [(0, "")]
    for number, line in enumerate(text.split("\n"), 1):
        if (section := starts.get(number)) and section.level:
            above = [*(each for each in above if each[0] < section.level), (section.level, section.title)]
        if line.strip():
            found.setdefault(line, []).append(_Place(tuple(title for _, title in above), number in code))
    return found


_GONE: Final = object()


def _changes(base: Any, side: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields the values that differ from the base, those of links by their targets."""
    base, side = (_by_target(each) if path == ("slice", "links") else each for each in (base, side))
    items, others = _by_item(base), _by_item(side)
    if items is not None and others is not None and (items.keys() <= others.keys() or others.keys() <= items.keys()):
        base, side = items, others
    if isinstance(side, dict) and (isinstance(base, dict) or side):
        base = base if isinstance(base, dict) else {}
        for key in {**base, **side}:
            yield from _changes(base.get(key, _GONE), side.get(key, _GONE), (*path, key))
    elif not same(base, side):
        yield path, side


def _is_kept(value: Any, found: Any) -> bool:
    """Returns whether a value is there: of an empty mapping anything may be made, and links have no order."""
    if value == {}:
        return isinstance(found, dict)
    if isinstance(value, list) and isinstance(found, list) and all(isinstance(each, dict) for each in (*value, *found)):
        return same(sorted(value, key=repr), sorted(found, key=repr))
    return same(value, found)


def _at(values: Any, path: tuple[str, ...]) -> Any:
    for at in range(len(path) + 1):
        if path[:at] == ("slice", "links"):
            values = _by_target(values)
        if at < len(path):
            values = _by_item(values) if isinstance(values, list) else values
            values = values.get(path[at], _GONE) if isinstance(values, dict) else _GONE
    return values


def _by_item(values: Any) -> dict[str, Any] | None:
    """Returns the items of a list of different scalars, None for anything else."""
    if not isinstance(values, list) or any(isinstance(value, dict | list) for value in values):
        return None
    found = {f"{type(value).__name__} {value}": value for value in values}
    return found if len(found) == len(values) else None


def _by_target(links: Any) -> Any:
    if links is _GONE or not isinstance(links, list) or not all(isinstance(link, dict) for link in links):
        return {} if links in (_GONE, None) else links
    found = {f"{link.get('rel')} {link.get('to')}": link for link in links}
    return found if len(found) == len(links) else links
