"""Three versions of a slice file, as two writers leave them, and what holds for every merge of them.

Everything is decided by the random numbers that are passed in, so that a seed gives the same versions again.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from fuzz.mutations import mutated
from slicebase.errors import SlicebaseError
from slicebase.files.body.text import append_in_section, append_lines, append_paragraph
from slicebase.files.merge import Outcome, merge_bytes
from slicebase.files.merge_lines import MARKERS
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import append_item, delete_key, remove_item, same, set_key


class Versions(NamedTuple):
    """A base, and what two sides made of it. An empty base is none: both sides created the file."""

    base: bytes
    ours: bytes
    theirs: bytes


# Files

_ID: Final = "01JFA3E0000000000000000001"
_NAME: Final = f"{_ID}.slice"
_WORDS: Final = ("heron", "queue", "lease", "retry", "Über", "日本", "cache # not", "a: b", "- dash", "x" * 90)
_SCALARS: Final = (
    *("one", "two words", "'it''s'", "[a, b]", "12") * 4,
    "one", "'it''s'", '"two words"', "1", "1.50", "1234e56", "0x1F", "true", "~", "", "2026-01-31", "[a, b]",
    "{k: 1, l: [2]}", ">-\n      folded\n      text", "|\n      literal\n\n      text",
)  # fmt: skip
_TYPES: Final = ("jsonl", "jsonl", "conversation", "routine", "markdown", "markdown", "text", "yaml", "code")
_MODES: Final = ("append", "append", "replace", "supersede", None)
_KEYS: Final = ("owner", "state", "tags", "note", "commit", "'quoted key'")
_TARGETS: Final = ("01JA", "01JB", "./c.slice", "01JD")
_RELS: Final = ("see_also", "is_a", "depends_on")


def _words(random: Random) -> str:
    return " ".join(random.choice(_WORDS) for _ in range(random.randrange(1, 4)))


def _header(random: Random, body_type: str) -> str:
    def comment() -> str:
        return random.choice(("", "", "", " # why", "  # since May"))

    lines = ["slice:" + comment(), '  v: "1"', f"  id: {_ID}", f"  title: Title{comment()}", "  summary: A summary."]
    lines += ["  body:", f"    type: {body_type}{comment()}"]
    if mode := random.choice(_MODES):
        lines += ["  contract:", f"    write: {mode}"]
    if random.randrange(2):
        lines += ["  links:" + comment()]
        for at in range(random.randrange(1, 4)):
            lines += [f"    - rel: {random.choice(_RELS)}", f"      to: {_TARGETS[at]}{comment()}"]
    if random.randrange(3):
        lines += ["  meta:" + comment(), f"    base: 1{comment()}"]
        lines += [f"    {key}: {random.choice(_SCALARS)}" for key in random.sample(_KEYS, random.randrange(4))]
    if random.randrange(2):
        lines += [f"  updated_at: {_time(random)}"]
    if random.randrange(4) == 0:
        lines += ["# the end"]
    return "\n".join(lines) + "\n"


def _time(random: Random) -> str:
    return f"2026-01-01T00:00:{random.randrange(20):02}.000Z"


def _row(random: Random) -> str:
    meta = {"id": f"r{random.randrange(1 << 20)}", "created_at": _time(random)}
    return json.dumps({"_meta": meta, "text": _words(random)}, ensure_ascii=False)


def _message(random: Random) -> str:
    said: dict[str, Any] = {"role": random.choice(("user", "assistant")), "content": _words(random)}
    return json.dumps(said | ({"ts": _time(random)} if random.randrange(3) else {}), ensure_ascii=False)


def _step(random: Random) -> str:
    return json.dumps({"instruction": _words(random)}, ensure_ascii=False)


def _paragraph(random: Random) -> str:
    return random.choice(
        (
            _words(random),
            f"{_words(random)}\n{_words(random)}",
            f"- {_words(random)}\n- {_words(random)}",
            f"```\n{_words(random)}\n\n{_words(random)}\n```",
            f"## {random.choice(('Risks', 'Notes'))}\n\n{_words(random)}",
            f"### Deeper\n\n{_words(random)}",
        )
    )


_LINES: Final[dict[str, Callable[[Random], str]]] = {"jsonl": _row, "conversation": _message, "routine": _step}


def _body(random: Random, body_type: str) -> str:
    if body_type in _LINES:
        return "".join(_LINES[body_type](random) + "\n" for _ in range(random.randrange(6)))
    if body_type == "markdown":
        parts = [f"## Section {at}\n\n{_paragraph(random)}" for at in range(random.randrange(4))]
        return "\n\n".join([_paragraph(random), *parts]) + "\n" if random.randrange(5) else ""
    return "".join(f"key{at}: {random.randrange(9)}\n" for at in range(random.randrange(6)))


def _file(random: Random) -> bytes:
    body_type = random.choice(_TYPES)
    closing = random.choice(("---", "---", "---", "---  "))
    body = _body(random, body_type)
    data = f"---\n{_header(random, body_type)}{closing}\n{body}".encode()
    return _any_form(random, data) if random.randrange(3) == 0 else data


def _any_form(random: Random, data: bytes) -> bytes:
    """Returns the file with other line ends, with a byte order mark, or without its last line end."""
    return random.choice(_FORMS)(data)


_FORMS: Final[tuple[Callable[[bytes], bytes], ...]] = (
    lambda data: data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
    lambda data: data.replace(b"\r\n", b"\n"),
    lambda data: data if data.startswith(b"\xef\xbb\xbf") else b"\xef\xbb\xbf" + data,
    lambda data: data.removesuffix(b"\n").removesuffix(b"\r"),
    lambda data: data + b"\n",
)


# Edits: what the verbs write, and what people do with an editor

_Edit = Callable[[Random, SliceFile], SliceFile]


def _append(random: Random, file: SliceFile) -> SliceFile:
    return file.with_body(_appended(random, file)) if file.head.endswith(b"\n") else file


def _appended(random: Random, file: SliceFile) -> bytes:
    if file.body_type in _LINES:
        return append_lines(file.body, _LINES[file.body_type](random).encode() + b"\n")
    if file.body_type == "markdown" and random.randrange(2):
        return append_in_section(file.body, f"Section {random.randrange(3)}", _paragraph(random))
    return append_paragraph(file.body, _paragraph(random))


def _update(random: Random, file: SliceFile) -> SliceFile:
    return set_key(file, "slice.updated_at", _time(random))


def _set_meta(random: Random, file: SliceFile) -> SliceFile:
    value = random.choice(("x", 1, 2.5, True, None, ["a", "b"], {"k": "v"}, "two\nlines\n"))
    return set_key(file, ("slice", "meta", random.choice(("owner", "state", "new", "base"))), value)


def _set_field(random: Random, file: SliceFile) -> SliceFile:
    return set_key(file, ("slice", random.choice(("title", "summary"))), _words(random))


def _delete(random: Random, file: SliceFile) -> SliceFile:
    return delete_key(file, ("slice", "meta", random.choice(list(file.meta)))) if file.meta else file


def _link(random: Random, file: SliceFile) -> SliceFile:
    return append_item(file, "slice.links", {"rel": random.choice(_RELS), "to": random.choice(_TARGETS)})


def _unlink(random: Random, file: SliceFile) -> SliceFile:
    return remove_item(file, "slice.links", random.randrange(len(file.links))) if file.links else file


def _forget(random: Random, file: SliceFile) -> SliceFile:
    return set_key(file, "slice.archived", {"at": _time(random), "reason": _words(random)})


def _line_of_head(random: Random, file: SliceFile) -> SliceFile:
    """Edits a line of the header by hand: another comment, another value, a new key, or none."""
    lines = file.head.split(b"\n")
    at = random.randrange(1, len(lines))
    new = f"    {random.choice(_KEYS)}: {random.choice(_SCALARS)}".encode()
    match random.randrange(4):
        case 0:
            lines[at] = lines[at].removesuffix(b"\r") + random.choice((b" # mine", b" # theirs"))
        case 1:
            lines.insert(at, new)
        case 2:
            lines[at : at + 1] = []
        case _:
            lines.insert(at, b"# by hand")
    return SliceFile.parse(b"\n".join(lines) + file.body)


def _line_of_body(random: Random, file: SliceFile) -> SliceFile:
    """Edits a line of the body by hand."""
    lines = file.body.split(b"\n")
    at = random.randrange(len(lines))
    new = _LINES.get(file.body_type or "", _words)(random).encode()
    match random.randrange(5):
        case 0:
            lines[at] = new
        case 1:
            lines.insert(at, new)
        case 2:
            del lines[at]
        case 3:
            lines[at : at + 1] = [lines[at], lines[at]]
        case _:
            other = random.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
    return file.with_body(b"\n".join(lines)) if file.head.endswith(b"\n") else file


def _form(random: Random, file: SliceFile) -> SliceFile:
    return SliceFile.parse(_any_form(random, file.to_bytes()))


_EDITS: Final[tuple[_Edit, ...]] = (
    _append, _append, _append, _append, _update, _set_meta, _set_meta, _set_field, _delete, _link, _link, _unlink,
    _forget, _line_of_head, _line_of_head, _line_of_body, _line_of_body, _form,
)  # fmt: skip


def _edited(random: Random, data: bytes) -> bytes:
    for _ in range(random.choice((1, 1, 2, 2, 3, 5))):
        try:
            data = random.choice(_EDITS)(random, SliceFile.parse(data)).to_bytes()
        except SlicebaseError:
            continue  # the edit does not fit this file
    return data


def versions(random: Random) -> Versions:
    """Returns a file, and what two sides made of it: each a few edits, rarely an accident."""
    base = _file(random)
    ours, theirs = _edited(random, base), _edited(random, base)
    if random.randrange(8) == 0:  # a change that both made, by a cherry-pick for example
        ours = _edited(random, theirs)
    if random.randrange(10) == 0:
        base = b""
    found = [base, ours, theirs]
    if random.randrange(12) == 0:
        at = random.randrange(3)
        found[at] = mutated(random, [found[at]])
    return Versions(*found)


# What holds

_OWN: Final = {"updated_at", "updated_by", "archived", "purged"}  # where one of both sides is chosen


def check(given: Versions) -> Outcome:
    """Merges three versions and checks what holds for every merge. Returns the merged file."""
    base, ours, theirs = given
    merged, turned = merge_bytes(base, ours, theirs, _NAME), merge_bytes(base, theirs, ours, _NAME)
    files = [_read(data) for data in (base, ours, theirs)]
    assert sorted(merged.conflicts) == sorted(turned.conflicts), "who merges whom decides what is a conflict"
    if any(marker in data for data in given for marker in MARKERS):
        return merged  # markers of an earlier merge look like ours
    mine, yours = _resolved(merged.data)
    assert _resolved(turned.data) == (yours, mine), "who merges whom decides what is merged"
    assert (mine != yours) == bool(merged.conflicts), "a conflict has no markers, or markers have no conflict"
    _check_one_side(given, files)
    _check_lines(given, mine, yours, files)
    if files[1] and files[2] and (files[0] or not base):
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
    assert merge_bytes(base, side, side, _NAME) == (side, ()), "the same change twice is not that change"
    if not _is_purged(files):
        for sides in ((side, base), (base, side)):
            assert merge_bytes(base, *sides, _NAME) == (side, ()), "one side alone is not taken as it is"


def _check_lines(given: Versions, mine: bytes, yours: bytes, files: Sequence[SliceFile | None]) -> None:
    """Checks that every line of a body that a side added is in its version. Without a body, all lines are one."""
    if _is_purged(files):
        return
    is_read = files[1] and files[2] and (files[0] or not given.base)
    base, *sides = ((file.body if file and is_read else data) for file, data in zip(files, given, strict=True))
    for side, version in zip(sides, (mine, yours), strict=True):
        lost = (_lines(side) - _lines(base)) - _lines(version)
        assert not lost, "a line of a side is gone"


def _lines(data: bytes) -> Counter[bytes]:
    text = data.removeprefix(b"\xef\xbb\xbf")
    return Counter(line.rstrip(b"\r") for line in text.split(b"\n") if line.strip())


def _check_files(base: SliceFile | None, ours: SliceFile, theirs: SliceFile, mine: bytes, yours: bytes) -> None:
    """Checks that what is merged can be read, and has every change of its side."""
    if _is_purged((base, ours, theirs)):
        return
    for side, version in ((ours, mine), (theirs, yours)):
        file = SliceFile.parse(version)
        for path, value in _changes(base.frontmatter if base else {}, side.frontmatter):
            if len(path) < 2 or path[1] not in _OWN:
                assert _is_kept(value, _at(file.frontmatter, path)), f"a change of {'.'.join(path)} is gone"
        assert not _comments(side) - _comments(base) - _comments(file), "a comment is gone"


_GONE: Final = object()


def _changes(base: Any, side: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields the values that differ from the base, those of links by their targets."""
    base, side = (_by_target(each) if path == ("slice", "links") else each for each in (base, side))
    if isinstance(side, dict) and (isinstance(base, dict) or (base is _GONE and side)):
        base = {} if base is _GONE else base
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
            values = values.get(path[at], _GONE) if isinstance(values, dict) else _GONE
    return values


def _by_target(links: Any) -> Any:
    if links is _GONE or not isinstance(links, list) or not all(isinstance(link, dict) for link in links):
        return {} if links in (_GONE, None) else links
    found = {f"{link.get('rel')} {link.get('to')}": link for link in links}
    return found if len(found) == len(links) else links


def _comments(file: SliceFile | None) -> set[str]:
    """Returns the comments on lines of their own, and after plain values."""
    lines = file.header.splitlines() if file else []
    return {line.rpartition("#")[2].strip() for line in lines if " # " in line or line.startswith("#")}
