"""Notes: Markdown and text files that people keep themselves, and the pointers that make them part of the library.

A pointer is a note's pointer if its `meta.notes` names the folder that was added, and its payload is a file in that
folder (docs/notes.md). The note stays what it is. What is read from it here is total: any text has a title, a summary
that is not empty, and links.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from slicebase.errors import SlicebaseError
from slicebase.files.body.sections import UNDERLINE, Section, headings, outside_code, sections
from slicebase.files.check.between import LIBRARY
from slicebase.files.links import resolve
from slicebase.files.note_links import NoteLink, note_links
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.load import MAX_HEADER, load

NOTES_KEY: Final = "notes"  # of `meta`: the folder that was added, from the workspace
NOTE_GONE: Final = "the note is gone"  # why a pointer is archived; it is restored when the note is back
LARGEST_NOTE: Final = 4 << 20  # bytes
_LONGEST_TITLE: Final = 200  # characters
_LONGEST_SUMMARY: Final = 240
_LOOKED_AT: Final = 4000  # characters of a paragraph that a summary is cut from


# The pointer of a note


class NotePlace(NamedTuple):
    """Where the note of a pointer is, from the workspace."""

    path: str
    folder: str  # that was added
    is_gone: bool  # whether the pointer was archived because the note was gone


def note_place(file: SliceFile) -> NotePlace | None:
    """Returns where the note is that a pointer names; None if it is not a note's pointer.

    A hidden file or folder is never a note: a repository of somebody else must not bring what is in `.git` into search.
    """
    folder = file.meta.get(NOTES_KEY)
    uri = file.payload.uri if file.payload else None
    if file.kind != "pointer" or file.purged or not isinstance(folder, str) or not uri or "\0" in uri:
        return None
    path = resolve(LIBRARY, uri)
    if path is None or not is_below(folder, path) or is_hidden(path):
        return None
    return NotePlace(path, folder, file.archived is not None and file.archived.reason == NOTE_GONE)


def is_below(folder: str, path: str) -> bool:
    """Returns whether a path is in a folder or below it, both from the workspace; `.` is the workspace itself."""
    return folder == "." or path.startswith(f"{folder}/")


def is_hidden(path: str) -> bool:
    """Returns whether a name on a path begins with a dot."""
    return any(name.startswith(".") for name in path.split("/"))


# The text of a note


def note_text(data: bytes) -> str:
    """Returns the text of a note, without a byte order mark. Raises an error for bytes that are not text."""
    if len(data) > LARGEST_NOTE:
        raise SlicebaseError("too-large", f"it has more than {LARGEST_NOTE >> 20} MiB")
    if b"\0" in data:
        raise SlicebaseError("not-utf8", "it is not text")
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise SlicebaseError("not-utf8", f"it is not UTF-8: byte {error.start} begins no character") from None


_FRONTMATTER: Final = re.compile(r"---[ \t]*\r?\n(?:.*\n)*?(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)")
_NO_LINE_END: Final = re.compile(r"[^\n]")


def frontmatter_end(text: str) -> int:
    """Returns where the frontmatter of a note ends; 0 for a note that has none."""
    found = _FRONTMATTER.match(text, 0, MAX_HEADER)
    return found.end() if found else 0


def note_sections(text: str) -> tuple[Section, ...]:
    """Returns the sections of a note. Its frontmatter has no headings: it is in the section before the first."""
    return sections(without_frontmatter(text))


def without_frontmatter(text: str) -> str:
    """Returns a text of the same length with spaces where the frontmatter was."""
    end = frontmatter_end(text)
    return _NO_LINE_END.sub(" ", text[:end]) + text[end:] if end else text


# What a note says about itself


class NoteContent(NamedTuple):
    """What a pointer takes from its note."""

    title: str
    summary: str
    targets: "NoteTargets"


def read_note(text: str, name: str) -> NoteContent:
    """Reads a note. `name` is the name of its file, which is the title of a note without another one."""
    header = _Header(text[: frontmatter_end(text)])
    body = without_frontmatter(text)
    titles = (plain(heading.title) for heading in headings(body))
    stem = _line(name.rpartition(".")[0] or name, _LONGEST_TITLE)
    title = _line(header.title, _LONGEST_TITLE) or _line(next(filter(None, titles), ""), _LONGEST_TITLE)
    return NoteContent(title or stem or "Untitled", _summary(body), NoteTargets(header.aliases, note_links(body)))


class NoteTargets(NamedTuple):
    """What links between notes need: the other names of a note, and its own links."""

    aliases: tuple[str, ...]
    links: tuple[NoteLink, ...]


def note_targets(text: str) -> NoteTargets:
    """Reads from a note what links need. It is a part of what `read_note` returns."""
    return NoteTargets(_Header(text[: frontmatter_end(text)]).aliases, note_links(without_frontmatter(text)))


class _Header:
    """The frontmatter of a note, where it can be read: people write much that is not YAML."""

    def __init__(self, text: str) -> None:
        lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
        self._lines = lines[1:-1]  # between the two marks
        self._values: Any = {}
        if self._lines:
            try:
                self._values = load("\n".join(self._lines))
            except SlicebaseError:
                self._values = None

    @property
    def title(self) -> str:
        """The title as it is written: a number stays what it looks like."""
        found = self._values.get("title") if isinstance(self._values, dict) else None
        if isinstance(found, str):
            return found
        written = next((line[6:] for line in self._lines if line.startswith("title:")), "").strip()
        return "" if isinstance(found, list | dict) or written[:1] in ("|", ">") else written.strip("\"'")

    @property
    def aliases(self) -> tuple[str, ...]:
        values = self._values if isinstance(self._values, dict) else {}
        found = values.get("aliases", values.get("alias"))
        named = found.split(",") if isinstance(found, str) else found if isinstance(found, list) else []
        return tuple(dict.fromkeys(name.strip() for name in named if isinstance(name, str) and name.strip()))


_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def _line(text: str, longest: int) -> str:
    line = " ".join(_CONTROL.sub(" ", text).split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


# Plain words: a title and a summary are shown where nobody renders Markdown

_IMAGE: Final = re.compile(r"!\[\[[^\[\]\n]*\]\]|!\[[^\[\]\n]*\]\([^()\n]*\)")
_WIKI: Final = re.compile(r"\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]*)\]\]")
_LINK: Final = re.compile(r"\[([^\[\]\n]*)\](?:\([^()\n]*\)|\[[^\[\]\n]*\])")
_FOOTNOTE: Final = re.compile(r"\[\^[^\[\]\n]*\]")
_TAG: Final = re.compile(r"</?[A-Za-z][^<>\n]*>|<!--[^<>\n]*-->")
_MARKUP: Final = re.compile(r"[\[\]<*_~=`]")
_EMPHASIS: Final = re.compile(r"\*+|(?<!\w)_+|_+(?!\w)|~~|==|`+")


def plain(text: str) -> str:
    """Returns a piece of Markdown as plain words."""
    if not _MARKUP.search(text):
        return " ".join(text.split())
    text = _FOOTNOTE.sub("", _IMAGE.sub("", text))
    text = _LINK.sub(r"\1", _WIKI.sub(r"\1", text))
    return " ".join(_EMPHASIS.sub("", _TAG.sub("", text)).split())


# The summary

_NO_PARAGRAPH: Final = re.compile(r"\s*(?:#{1,6}(?:\s|$)|\||<|%%|:::|\[[^\]\n]*\]:|(?:[-*_][ \t]*){3,}$)")
_ITEM: Final = re.compile(r"\s*(?:(?:>|[-*+]|[0-9]{1,9}[.)])[ \t]+)+(?:\[.\][ \t]+)?")
_SENTENCE_END: Final = re.compile(r"[.!?…][\"')\]”’»]*(?= )|[。！？]")
_EMPTY: Final = "An empty note."
_NO_TEXT: Final = "A note without a paragraph of text."


def _summary(body: str) -> str:
    """Returns the first sentences of the first paragraph, or of a list or quotation where there is no paragraph."""
    items = ""
    for block in _blocks(body):
        if len(block) > 1 and UNDERLINE.match(block[-1]):
            continue
        lines = [line for line in block if not _NO_PARAGRAPH.match(line)]
        if lines and not _ITEM.match(lines[0]) and (words := _sentences(plain(" ".join(lines)[:_LOOKED_AT]))):
            return words
        if lines and not items:
            items = _sentences(plain(_ITEM.sub("", lines[0])[:_LOOKED_AT]))
    return items or (_NO_TEXT if body.strip() else _EMPTY)


def _blocks(body: str) -> Iterator[Sequence[str]]:
    """Yields the lines between blank lines, without code."""
    block: list[str] = []
    for line in outside_code(body):
        if line.text.strip():
            block.append(line.text)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _sentences(text: str) -> str:
    """Returns the first two sentences, or fewer, or the words that fit."""
    line = _line(text, _LOOKED_AT)
    ends = [found.end() for _, found in zip(range(2), _SENTENCE_END.finditer(f"{line} "), strict=False)]
    fitting = [end for end in ends if end <= _LONGEST_SUMMARY]
    if fitting and (len(fitting) == 2 or len(line) > _LONGEST_SUMMARY):
        return line[: fitting[-1]]
    if len(line) <= _LONGEST_SUMMARY:
        return line
    cut = line[: _LONGEST_SUMMARY - 1]
    return f"{cut[: cut.rfind(' ')] if ' ' in cut else cut}…"
