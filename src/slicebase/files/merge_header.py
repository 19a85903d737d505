"""Merges the frontmatters of two slice files: values by key, links and lists as sets, the text around them by lines.

The values are merged first. The text of the header is then merged line by line; it is accepted if it has these values
and the comments of both sides, without those that one of them deleted. Otherwise the values are set in the text of one
side, and written as on the side that has them. Where even that would lose a comment or bring one back, or write a
number or quotes differently, the text is a conflict.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from math import inf
from typing import Any, Final, NamedTuple

from slicebase.errors import SlicebaseError
from slicebase.files.body.lines import read_time
from slicebase.files.body.origin import add_marks, is_sum
from slicebase.files.merge_comments import Comments, comments_in, comments_of
from slicebase.files.merge_lines import Hunk, Merged, comparable, decide, merge_lines
from slicebase.files.merge_scalars import Spelling
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import append_item, delete_key, remove_item, same, set_key


class MergedHeader(NamedTuple):
    """A merged header as files without a body, and the keys that both sides changed differently."""

    heads: Merged[SliceFile]
    conflicts: tuple[str, ...]


def merge_headers(base: SliceFile | None, ours: SliceFile, theirs: SliceFile) -> MergedHeader:
    """Merges the headers of two versions of a file. Without a base, both sides created the file."""
    keys = _Keys(ours, theirs)
    values = keys.merged(base.frontmatter if base else {}, ours.frontmatter, theirs.frontmatter, ())
    text = _HeaderText(base, ours, theirs)
    found = text.merged(values.ours)
    if found and not keys.conflicts:
        return MergedHeader(Merged(found, found), ())
    lost = "frontmatter"  # no edit can make this change
    versions: list[Merged[SliceFile]] = []
    for start, turned in text.starts(found, bool(keys.conflicts)):
        with suppress(SlicebaseError):
            version = text.edited(start, values, turned=turned)
            lost = "comments"
            if all(map(_has, version, values)) and text.keeps_everything(version):
                versions.append(version)
    if versions:
        return MergedHeader(max(versions, key=text.own_comments), tuple(keys.conflicts))
    return MergedHeader(text.as_they_are(), (*keys.conflicts, lost))


def moment(time: Any) -> float:
    """Returns a time as a number, for the order of two changes. What is not a time is before all others."""
    found = read_time(time)
    return -inf if found is None else found


# Values

MergePath = tuple[str, ...]
_LINKS: Final = ("slice", "links")
_MOVED: Final = ("slice", "moved")
_ORDERED: Final = frozenset({("slice", "body", "code", "args")})  # lists in which the order has a meaning


class _Absent:
    """The value of a key that a side does not have."""


_ABSENT: Final = _Absent()


class _Keys:
    """Merges two frontmatters and collects the keys that both sides changed differently."""

    def __init__(self, ours: SliceFile, theirs: SliceFile) -> None:
        self.conflicts: list[str] = []
        self._ours_is_newer = moment(ours.updated_at) >= moment(theirs.updated_at)

    def merged(self, base: Any, ours: Any, theirs: Any, path: MergePath) -> Merged[Any]:
        plain = decide(base, ours, theirs, same)
        if same(plain.ours, plain.theirs) and not (path == _MOVED and same(ours, theirs) and is_sum(ours)):
            return plain
        own = _OWN_RULES[path](self, base, ours, theirs) if path in _OWN_RULES else None
        if own:
            return own
        if isinstance(ours, dict) and isinstance(theirs, dict):
            return self._mapping(base if isinstance(base, dict) else {}, ours, theirs, path)
        together = _set_of_both(base, ours, theirs) if path not in _ORDERED else None
        if together is not None:
            return Merged(together, together)
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

    def added(self, base: Any, ours: Any, theirs: Any) -> Merged[Any] | None:
        """Returns the sum of what both sides added to a sum of marks, also where they added the same."""
        if not is_sum(ours) or not is_sum(theirs):
            return None
        total = add_marks(ours, theirs, subtract=base)
        return Merged(total, total)

    def first(self, base: Any, ours: Any, theirs: Any) -> Merged[Any] | None:
        """Returns the earlier of two marks, for a file that both sides archived or purged."""
        if not isinstance(ours, dict) or not isinstance(theirs, dict):
            return None
        first = min(ours, theirs, key=lambda mark: moment(mark.get("at")))
        return Merged(first, first)

    def last(self, base: Any, ours: Any, theirs: Any) -> Merged[Any] | None:
        """Returns the later of two marks, for work that both sides did."""
        if not isinstance(ours, dict) or not isinstance(theirs, dict):
            return None
        last = max(ours, theirs, key=lambda mark: moment(mark.get("at")))
        return Merged(last, last)


_OWN_RULES: Final[Mapping[MergePath, Callable[[_Keys, Any, Any, Any], Merged[Any] | None]]] = {
    _LINKS: _Keys.links,
    ("slice", "updated_at"): _Keys.newer,
    ("slice", "updated_by"): _Keys.newer,
    ("slice", "done"): _Keys.last,
    _MOVED: _Keys.added,
    ("slice", "merged"): _Keys.newer,  # a new mark follows
    ("slice", "archived"): _Keys.first,
    ("slice", "purged"): _Keys.first,
}


def _set_of_both(base: Any, ours: Any, theirs: Any) -> list[Any] | None:
    """Returns a list with the items that either side added, without those that either side removed.

    Returns None where that may not be what was meant: if an item is not a scalar or is there twice, if the base has no
    such list, and if a side moved items, or removed some and added others, as in a pair of numbers.
    """
    known, one, other = _items(base), _items(ours), _items(theirs)
    if known is None or one is None or other is None:
        return None
    old, sides = list(known), (list(one), list(other))
    if not all(_is_within(old, side) or _is_within(side, old) for side in sides):
        return None
    mine, yours = (side if len(side) > len(old) else old for side in sides)
    order = merge_lines(old, mine, yours, lambda hunk: (*hunk.ours, *hunk.theirs)).ours
    values = {**known, **one, **other}
    return [values[name] for name in dict.fromkeys(order) if name not in known or (name in one and name in other)]


def _items(values: Any) -> dict[bytes, Any] | None:
    """Returns the items of a list by how they are compared, None if it is no list of different scalars."""
    if not isinstance(values, list) or any(isinstance(value, dict | list) for value in values):
        return None
    found = {f"{type(value).__name__} {value!r}".encode("utf-8", "surrogatepass"): value for value in values}
    return found if len(found) == len(values) else None


def _is_within(some: Sequence[bytes], all_of_them: Sequence[bytes]) -> bool:
    """Returns whether a list has all items of another in their order."""
    rest = iter(all_of_them)
    return all(item in rest for item in some)


def _by_target(links: Any) -> dict[tuple[str, str], Any] | None:
    """Returns the links by relationship and target, None if these do not distinguish all of them."""
    if links is _ABSENT or links is None:
        return {}
    if not isinstance(links, list) or not all(isinstance(link, dict) for link in links):
        return None
    found = {(str(link.get("rel")), str(link.get("to"))): link for link in links}
    return found if len(found) == len(links) else None


# Text


class _HeaderText:
    """The lines of three headers."""

    def __init__(self, base: SliceFile | None, ours: SliceFile, theirs: SliceFile) -> None:
        self._files = base, ours, theirs
        self._texts = comparable(base.head if base else None, ours.head, theirs.head)

    def merged(self, wanted: Mapping[str, Any]) -> SliceFile | None:
        """Returns a header made of lines of both sides, None if there is none with these values and all comments."""
        base, ours, theirs, _ = self._texts
        for rule in (_both, _below_one_key, _neither):
            lines = merge_lines(base, ours, theirs, rule).ours
            file = self._read(lines)
            if file and same(file.frontmatter, wanted) and self._keeps_comments(file, file):
                if not (Counter(ours) | Counter(theirs)) - (Counter(base) | Counter(lines)):
                    return file  # every changed line is there, as it was written
                file = self.respelled(file)
                if self._spelling.is_kept(file):
                    return file
        return None

    def starts(self, found: SliceFile | None, in_conflict: bool) -> Iterator[tuple[SliceFile, bool]]:
        """Yields headers in which values can be set, and whether the values of their side are set first.

        Where there is a conflict, the lines of each side are tried: what is written there may be of one side only.
        """
        base, ours, theirs, _ = self._texts
        apart = self.as_they_are()
        yield found or self._read(merge_lines(base, ours, theirs, _with_comments).ours) or apart.ours, False
        if in_conflict:
            lines = merge_lines(base, ours, theirs)
            yield self._read(lines.ours) or apart.ours, False
            yield self._read(lines.theirs) or apart.theirs, True

    def edited(self, start: SliceFile, values: Merged[Mapping[str, Any]], *, turned: bool) -> Merged[SliceFile]:
        """Returns both versions of a header: one made of the start, and the other of that one."""
        first, second = reversed(values) if turned else values
        one = self.respelled(_edited(start, first))
        other = self.respelled(_edited(one, second))
        return Merged(other, one) if turned else Merged(one, other)

    def respelled(self, file: SliceFile) -> SliceFile:
        """Returns a header with numbers and quotes as they are written on the sides."""
        return self._spelling.restored(file)

    def as_they_are(self) -> Merged[SliceFile]:
        """Returns both headers unmerged, with the same line ends."""
        name, form = self._files[1].name, self._texts.form
        return Merged(*(SliceFile.parse(form.text(lines), name) for lines in (self._texts.ours, self._texts.theirs)))

    def keeps_everything(self, versions: Merged[SliceFile]) -> bool:
        """Returns whether comments are as they should be, and everything is written as on a side (ruling 21)."""
        return self._keeps_comments(*versions) and all(map(self._spelling.is_kept, versions))

    def own_comments(self, versions: Merged[SliceFile]) -> int:
        """Returns how many comments of each side are in its version."""
        sides = zip(self._files[1:], versions, strict=True)
        return sum((comments_of(side) & comments_of(file)).total() for side, file in sides)

    @cached_property
    def _spelling(self) -> Spelling:
        return Spelling(*self._files)

    def _read(self, lines: Sequence[bytes]) -> SliceFile | None:
        try:
            file = SliceFile.parse(self._texts.form.text(lines), self._files[1].name)
        except SlicebaseError:
            return None
        return None if file.body else file

    def _keeps_comments(self, mine: SliceFile, other: SliceFile) -> bool:
        return Comments(*map(comments_of, self._files)).are_in(comments_of(mine), comments_of(other))


def _both(hunk: Hunk) -> Sequence[bytes] | None:
    """Merges lines of a header that both sides changed: each line by itself, or the new lines of both.

    The result is only tried: it must have the merged values.
    """
    if not hunk.base:
        return (*hunk.ours, *hunk.theirs)
    if len(hunk.base) == len(hunk.ours) == len(hunk.theirs):
        return [decide(*lines).ours for lines in zip(hunk.base, hunk.ours, hunk.theirs, strict=True)]
    return None


def _below_one_key(hunk: Hunk) -> Sequence[bytes] | None:
    """Merges new lines of both sides that start with the same key, such as `meta:`."""
    if hunk.base or hunk.ours[:1] != hunk.theirs[:1]:
        return _both(hunk)
    return (*hunk.ours, *hunk.theirs[1:])


def _neither(hunk: Hunk) -> None:
    """Leaves what both sides changed to be decided for our side."""


def _with_comments(hunk: Hunk) -> Sequence[bytes] | None:
    """Chooses the side that has the comments of both, without those that one of them deleted."""
    texts = (b"\n".join(lines).decode("utf-8", "surrogateescape") for lines in (hunk.base, hunk.ours, hunk.theirs))
    comments = Comments(*map(comments_in, texts))
    has_all = [comments.are_in(found, found) for found in (comments.ours, comments.theirs)]
    return hunk.theirs if has_all == [False, True] else None


# Edits

_FEW: Final = 25  # items that are added and removed one by one; more are written as a new list


def _edited(file: SliceFile, wanted: Mapping[str, Any]) -> SliceFile:
    """Returns the file with this frontmatter. Everything that does not change stays as it is written."""
    if same(file.frontmatter, wanted):
        return file
    for path, items in list(_lists(wanted)):
        file = _with_items(file, path, items)
    links = _links(file.frontmatter)
    if links and same(_sorted(links), _sorted(_links(wanted))):  # their order does not matter
        wanted = {**wanted, "slice": {**wanted["slice"], "links": links}}
    for key, value in wanted.items():
        file = set_key(file, (key,), value)
    for key in [key for key in file.frontmatter if key not in wanted]:
        file = delete_key(file, (key,))
    return file


def _lists(values: Mapping[str, Any], path: MergePath = ()) -> Iterator[tuple[MergePath, list[Any]]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _lists(value, (*path, key))
        elif isinstance(value, list) and value:
            yield (*path, key), value


def _with_items(file: SliceFile, path: MergePath, wanted: Sequence[Any]) -> SliceFile:
    """Returns the file with these items in a list that it has, and the others as they are written."""
    node = file.node(path)
    there = node.value if node and isinstance(node.value, list) else []
    gone = [position for position, item in enumerate(there) if not _is_in(item, wanted)]
    new = [item for item in wanted if not _is_in(item, there)]
    if not there or len(gone) == len(there) or len(gone) + len(new) > _FEW:  # each edit reads the header again
        return file
    for position in reversed(gone):
        file = remove_item(file, path, position)
    for item in new:
        file = append_item(file, path, item)
    return file


def _is_in(item: Any, items: Sequence[Any]) -> bool:
    return any(same(item, each) for each in items)


def _has(file: SliceFile, wanted: Mapping[str, Any]) -> bool:
    """Returns whether the file has these values. The order of links does not matter."""
    return same(_with_sorted_links(file.frontmatter), _with_sorted_links(wanted))


def _with_sorted_links(frontmatter: Mapping[str, Any]) -> Mapping[str, Any]:
    links = _links(frontmatter)
    return {**frontmatter, "slice": {**frontmatter["slice"], "links": _sorted(links)}} if links else frontmatter


def _sorted(links: Sequence[Any]) -> list[Any]:
    return sorted(links, key=repr)


def _links(frontmatter: Mapping[str, Any]) -> list[Any]:
    fields = frontmatter.get("slice")
    links = fields.get("links") if isinstance(fields, dict) else None
    return links if isinstance(links, list) else []
