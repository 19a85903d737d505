"""Three versions of a slice file, as two writers leave them.

Everything is decided by the random numbers that are passed in, so that a seed gives the same versions again.
"""

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple

from fuzz.mutations import mutated
from slicebase.errors import SlicebaseError
from slicebase.files.body.text import append_in_section, append_lines, append_paragraph
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import append_item, delete_key, remove_item, set_key


class Versions(NamedTuple):
    """A base, and what two sides made of it. An empty base is none: both sides created the file."""

    base: bytes
    ours: bytes
    theirs: bytes


# Files

_ID: Final = "01JFA3E0000000000000000001"
FILE_NAME: Final = f"{_ID}.slice"
_WORDS: Final = ("heron", "queue", "lease", "retry", "Über", "日本", "cache # not", "a: b", "- dash", "x" * 90)
_SCALARS: Final = (
    *("one", "two words", "'it''s'", "[a, b]", "12") * 4,
    "one", "'it''s'", '"two words"', "1", "1.50", "1.5", "31", "1234e56", "0x1F", "true", "~", "", "2026-01-31",
    "[a, b]", "{k: 1, l: [2]}", ">-\n      folded\n      text", "|\n      literal\n\n      text",
)  # fmt: skip
_TYPES: Final = (
    "jsonl", "jsonl", "conversation", "routine", "markdown", "markdown", "markdown", "markdown", "text", "yaml", "code",
)  # fmt: skip
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
        lines += random.choice(([], ["    labels: [a, 1]"], ["    labels:", "      - a", "      - 1"]))
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
    if random.randrange(3) == 0:  # what many writers say, without a time
        return json.dumps({"role": "assistant", "content": random.choice(("yes", "no"))})
    said: dict[str, Any] = {"role": random.choice(("user", "assistant")), "content": _words(random)}
    time = random.choice(
        (None, None, _time(random), _time(random), _time(random), _time(random), 1767225600, "2026-01-01")
    )
    line = json.dumps(said | ({"ts": time} if time else {}), ensure_ascii=False)
    return line if random.randrange(30) else line[:-1]  # rarely, a line that is no JSON


def _step(random: Random) -> str:
    what = "run the tests" if random.randrange(3) == 0 else _words(random)
    return json.dumps({"instruction": what}, ensure_ascii=False)


def _paragraph(random: Random) -> str:
    return random.choice(
        (
            _words(random),
            random.choice(("Yes.", "No.", "***")),
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
        return append_lines(file.body, _LINES[file.body_type](random).encode() + b"\n", file.newline)
    if file.body_type == "markdown" and random.randrange(2):
        return append_in_section(file.body, f"Section {random.randrange(3)}", _paragraph(random))
    return append_paragraph(file.body, _paragraph(random), file.newline)


def _append_more(random: Random, file: SliceFile) -> SliceFile:
    return _append(random, _append(random, _append(random, file)))


def _label(random: Random, file: SliceFile) -> SliceFile:
    return append_item(file, "slice.meta.labels", random.choice(("a", "b", "c", 1, 2.5, "1", True)))


def _unlabel(random: Random, file: SliceFile) -> SliceFile:
    labels = file.meta.get("labels")
    return remove_item(file, "slice.meta.labels", random.randrange(len(labels))) if labels else file


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


def _uncomment(random: Random, file: SliceFile) -> SliceFile:
    """Deletes a comment of the header, and nothing else of its line."""
    found = [match.span() for match in re.finditer(rb"(?:^|[ ]+)#[^\r\n]*", file.head, re.MULTILINE)]
    if not found:
        return file
    start, end = random.choice(found)
    return SliceFile.parse(file.head[:start] + file.head[end:] + file.body)


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


def _sections(random: Random, file: SliceFile) -> SliceFile:
    """Edits the sections of a page as people do: each text that is added is different from all others."""
    if file.body_type != "markdown" or not file.head.endswith(b"\n"):
        return file
    body = file.body.decode("utf-8", "surrogateescape")
    parts = re.split(r"^(?=#)", body.replace("\r\n", "\n"), flags=re.MULTILINE)
    at = random.randrange(len(parts))
    heading, _, text = parts[at].partition("\n\n")
    name = f"{random.randrange(1 << 30):x}"
    new = random.choice((f"Text {name}.", f"```\ncode {name}\n\nmore {name}\n```", f"~~~\ncode {name}\n~~~"))
    level = "#" * random.randrange(1, 4)
    match random.randrange(8):
        case 0 | 1:
            parts[at] = f"{parts[at].rstrip()}\n\n{new}\n\n"
        case 2:
            parts[at] = f"{heading}\n\n{new}\n\n{text}"
        case 3 | 4:
            parts.insert(at + 1, f"{level} New {name}\n\n{new}\n\n")
        case 5:
            del parts[at]
        case 6:
            parts[at] = f"{level} Renamed {name}\n\n{text}"
        case _:
            parts[at] = f"{level} Replaced {name}\n\n{new}\n\n"
    text = "".join(parts).replace("\n", "\r\n" if "\r\n" in body else "\n")
    return file.with_body(text.encode("utf-8", "surrogateescape"))


def _form(random: Random, file: SliceFile) -> SliceFile:
    return SliceFile.parse(_any_form(random, file.to_bytes()))


_EDITS: Final[tuple[_Edit, ...]] = (
    _append, _append, _append, _append_more, _label, _label, _unlabel, _update,
    _set_meta, _set_meta, _set_field, _delete, _link, _link, _unlink,
    _forget, _line_of_head, _line_of_head, _uncomment, _line_of_body, _line_of_body, _form,
)  # fmt: skip
_EDITS_OF_PAGES: Final[tuple[_Edit, ...]] = (*_EDITS, *(_sections for _ in _EDITS))


def _edited(random: Random, data: bytes) -> bytes:
    for _ in range(random.choice((1, 1, 2, 2, 3, 5))):
        try:
            file = SliceFile.parse(data)
            edits = _EDITS_OF_PAGES if file.body_type == "markdown" else _EDITS
            data = random.choice(edits)(random, file).to_bytes()
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
