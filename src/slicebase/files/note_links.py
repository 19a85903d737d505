"""Links between notes: `[[wiki links]]` and Markdown links, found in a text and resolved to paths (docs/notes.md).

A wiki link names a note by its name, its alias or the end of its path, whatever the case. Where several notes have that
name, the nearest one is meant, as in Obsidian: of the same added folder, then in or below the folder of the linking
note, then the one with the shortest path. A Markdown link names a path from the folder of the linking note.
"""

import posixpath
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple

from slicebase.files.body.sections import end_of_fence, outside_code

NOTE_SUFFIXES: Final = (".md", ".markdown", ".txt")
MOST_LINKS: Final = 1000  # different targets of one note that are looked at


class NoteLink(NamedTuple):
    """A link as a note writes it: the kind, and the target without heading and label."""

    kind: Literal["wiki", "path"]
    target: str


# Finding links in a text

_WIKI: Final = re.compile(r"\[\[([^\[\]\n]+)\]\]")
_INLINE: Final = re.compile(r"\]\([ \t]*(?:<([^<>\n]+)>|([^\s()<>]+(?:\([^\s()<>]*\)[^\s()<>]*)*))")
_DEFINITION: Final = re.compile(r" {0,3}\[(?!\^)[^\[\]\n]+\]:[ \t]*(?:<([^<>\n]+)>|(\S+))")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:|//")
_ESCAPE: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_TICKS: Final = re.compile(r"`+")


_QUOTED: Final = re.compile(r"(?: {0,3}>[ \t]?)+")
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]|$)")
_INDENTED: Final = ("    ", "\t")
_COMMENT: Final = re.compile(r"<!--|%%")
_COMMENT_ENDS: Final = {"<!--": "-->", "%%": "%%"}


def note_links(text: str) -> tuple[NoteLink, ...]:
    """Returns the links of a text in their order, each once. Code, comments and addresses in the web are none."""
    found: dict[NoteLink, None] = {}
    if not _may_have_links(text):
        return ()
    lines = _lines(text)
    if any(mark in text for mark in _COMMENT_ENDS):
        lines = _without_comments("\n".join(map(_without_code, lines))).split("\n")
    else:
        lines = map(_without_code, filter(_may_have_links, lines))
    for line in filter(_may_have_links, lines):
        found.update(dict.fromkeys(_in_line(line)))
        if len(found) >= MOST_LINKS:
            break
    return tuple(found)[:MOST_LINKS]


def _may_have_links(text: str) -> bool:
    return "[[" in text or "](" in text or "]:" in text


def _lines(text: str) -> Iterable[str]:
    """Returns the lines outside code and HTML blocks. Most notes have no sign of these."""
    lines: Iterable[str] = text.split("\n")
    if any(mark in text for mark in ("```", "~~~", "<")):
        lines = [line.text for line in outside_code(text)]
        if ">" in text:
            lines = _outside_quoted_fences(lines)
    return _outside_indented_code(lines) if any(mark in text for mark in _INDENTED) else lines


def _outside_quoted_fences(lines: Iterable[str]) -> Iterator[str]:
    """Yields the lines without fenced code in quotations. It ends with its fence or with the quotation."""
    end: re.Pattern[str] | None = None
    for line in lines:
        quoted = _QUOTED.match(line)
        rest = line[quoted.end() :] if quoted else ""
        if not quoted:
            end = None
            yield line
        elif end is None:
            end = end_of_fence(rest)
            yield "" if end else line
        else:
            end = None if end.search(rest) else end
            yield ""


def _outside_indented_code(lines: Iterable[str]) -> Iterator[str]:
    """Yields the lines without indented code: after a blank line, and not in a list, whose paragraphs are indented."""
    may_begin, in_list = True, False
    for line in lines:
        is_code = line.startswith(_INDENTED) and may_begin and not in_list
        if not line.strip():
            may_begin = True
        elif not is_code:
            is_item = _ITEM.match(line) is not None
            in_list = is_item or (in_list and (not may_begin or line[0] in " \t"))
            may_begin = False
        yield "" if is_code else line


def _without_comments(text: str) -> str:
    """Returns a text without comments of HTML and Obsidian. A mark that nothing ends is text."""
    kept, place, at = [], 0, 0
    open_ended: set[str] = set()  # marks that nothing ends any more, so that the text is searched only once for each
    while found := _COMMENT.search(text, at):
        end = -1 if found[0] in open_ended else text.find(_COMMENT_ENDS[found[0]], found.end())
        if end < 0:
            open_ended.add(found[0])
            at = found.end()
            continue
        kept.append(text[place : found.start()])
        place = at = end + len(_COMMENT_ENDS[found[0]])
    return " ".join([*kept, text[place:]])


def _in_line(line: str) -> Iterator[NoteLink]:
    for inner in _WIKI.findall(line) if "[[" in line else ():
        name = inner.partition("|")[0].rstrip("\\").partition("#")[0].strip()
        if name:
            yield NoteLink("wiki", name)
    targets = _INLINE.findall(line) if "](" in line else []
    if "]:" in line and (definition := _DEFINITION.match(line)):
        targets.append((definition[1] or "", definition[2] or ""))
    for given in targets:
        target = _unescaped(given[0] or given[1]).partition("#")[0].partition("?")[0].strip()
        if target and not _SCHEME.match(target):
            yield NoteLink("path", target)


def _without_code(line: str) -> str:
    """Returns a line without its code spans. A span ends with as many backticks as it begins with."""
    if "`" not in line:
        return line
    runs = list(_TICKS.finditer(line))
    following: dict[int, int] = {}  # the next run of each length, read from the end
    ends = [0] * len(runs)
    for at in range(len(runs) - 1, -1, -1):
        length = len(runs[at][0])
        ends[at] = following.get(length, -1)
        following[length] = at
    kept, place, at = [], 0, 0
    while at < len(runs):
        if ends[at] < 0:
            at += 1
            continue
        kept.append(line[place : runs[at].start()])
        place, at = runs[ends[at]].end(), ends[at] + 1
    return " ".join([*kept, line[place:]])


def _unescaped(target: str) -> str:
    if "%" not in target:
        return target
    return _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), target.encode()).decode(errors="replace")


# Resolving them


class NamedNote(NamedTuple):
    """A note that links can name: its path from the workspace, the folder that was added, and its other names."""

    path: str
    folder: str
    aliases: tuple[str, ...] = ()


class ResolvedLinks(NamedTuple):
    """The notes that a note links to, in the order of its text, and how many links name no note."""

    paths: tuple[str, ...]
    unresolved: int


class NoteNames:
    """Finds the notes that links name, among all notes of a workspace."""

    def __init__(self, notes: Iterable[NamedNote]) -> None:
        self._notes = {note.path: note for note in notes}
        self._paths: dict[str, str] = {}
        self._names: dict[str, list[str]] = {}
        self._aliases: dict[str, list[str]] = {}
        for path in sorted(self._notes, reverse=True):  # of two paths that differ in case, the first one stays
            self._paths[_key(path)] = path
        for path in sorted(self._notes):
            for name in {_stem(_key(path)), _key(path)}:
                self._names.setdefault(name.rpartition("/")[2], []).append(path)
            for alias in self._notes[path].aliases:
                self._aliases.setdefault(_key(alias), []).append(path)

    def resolved(self, source: str, links: Iterable[NoteLink]) -> ResolvedLinks:
        """Returns the paths of the notes that the links of a note name, each once, without the note itself."""
        found: dict[str, None] = {}
        unresolved = 0
        for link in links:
            path = self._of_path(source, link.target) if link.kind == "path" else self._of_name(source, link.target)
            if path is None:
                unresolved += _is_meant_as_note(link)
            elif path != source:
                found[path] = None
        return ResolvedLinks(tuple(found), unresolved)

    def _of_path(self, source: str, target: str) -> str | None:
        above = source.rpartition("/")[0]
        folder = self._notes[source].folder if source in self._notes else "."
        starts = ("" if folder == "." else folder, "") if target.startswith("/") else (above,)
        for start in starts:
            path = posixpath.normpath(f"{start}/{target.lstrip('/')}").lstrip("/")
            for suffix in ("", *NOTE_SUFFIXES):
                if path + suffix in self._notes:
                    return path + suffix
                if found := self._paths.get(_key(path + suffix)):
                    return found
        return None

    def _of_name(self, source: str, target: str) -> str | None:
        if target.startswith(("./", "../", "/")):
            return self._of_path(source, target)
        sought = _key(target)
        named = self._names.get(sought.rpartition("/")[2], [])
        if "/" in sought:
            named = [path for path in named if _ends_with(_key(path), posixpath.normpath(sought))]
        return self._nearest(source, named or self._aliases.get(sought, []))

    def _nearest(self, source: str, paths: list[str]) -> str | None:
        if len(paths) < 2:
            return paths[0] if paths else None
        folder = self._notes[source].folder if source in self._notes else "."
        above = source.rpartition("/")[0]

        def distance(path: str) -> tuple[bool, bool, int, int, str]:
            beside = not above or path.startswith(f"{above}/")
            return self._notes[path].folder != folder, not beside, path.count("/"), len(path), path

        return min(paths, key=distance)


def _is_meant_as_note(link: NoteLink) -> bool:
    """Returns whether a link that names no note was meant to: an image or a folder is not."""
    name = link.target.rpartition("/")[2].lower()
    return name.endswith(NOTE_SUFFIXES) or (link.kind == "wiki" and not _ATTACHMENT.search(name))


_ATTACHMENT: Final = re.compile(r"\.[a-z][a-z0-9]{1,4}$")


def _key(name: str) -> str:
    """Returns a name as names are compared: some systems write accents as characters of their own."""
    return unicodedata.normalize("NFC", name).casefold() if not name.isascii() else name.lower()


def _stem(path: str) -> str:
    return next((path.removesuffix(suffix) for suffix in NOTE_SUFFIXES if path.endswith(suffix)), path)


def _ends_with(path: str, sought: str) -> bool:
    return any(f"/{form}".endswith(f"/{sought}") for form in (path, _stem(path)))
