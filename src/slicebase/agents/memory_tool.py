"""The commands of Anthropic's memory tool (`memory_20250818`) on slice files.

A memory file is a slice file whose metadata names its path: no path from a model ever reaches the disk, so that none
can lead out of the workspace. A deleted file is forgotten in place and can be restored. A file that overflow divided is
shown as one text, and edited in the part that has the place. Results, messages and edits are those of the package
`anthropic` for files in a folder (docs/adapters.md lists the differences).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from slicebase.core.parsers import decode
from slicebase.errors import SlicebaseError
from slicebase.files.body.entries import Stamp
from slicebase.files.body.overflow import ARCHIVED, part_link, parts_of
from slicebase.files.body.repeated import is_read
from slicebase.files.body.rows import Provenance
from slicebase.files.body.text import newline_of, with_ends
from slicebase.files.body.whole import whole_pieces
from slicebase.files.body.write import with_body, with_writer
from slicebase.files.create import archived, new_file
from slicebase.files.links import file_name
from slicebase.files.model import Contract
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import set_key
from slicebase.library.folder import FileWrite, FolderWriter
from slicebase.library.library import Library
from slicebase.library.logs import Logs
from slicebase.library.mentions import Mentions
from slicebase.workspace.surroundings import one_thread_at_a_time
from slicebase.workspace.workspace import LIBRARY

ROOT: Final = "/memories"
KEY: Final = "memory_path"

MemoryArguments = Mapping[str, Any]


class _Shown:
    """The text that a view shows, in pieces: each with the file that it is in, None between two, and its first byte."""

    def __init__(self, pieces: list[tuple[str, SliceFile | None, int]]) -> None:
        self._pieces = pieces
        self.text = "".join(text for text, _, _ in pieces)

    def places(self, start: int, size: int) -> list[tuple[SliceFile, int]]:
        """Returns the files that have a passage, and where in their texts; between two parts, it may be in both."""
        found, at = [], 0
        for text, file, first in self._pieces:
            if file and at <= start and start + size <= at + len(text):
                found.append((file, len(decode(file.body[:first])) + start - at))
            at += len(text)
        return found[::-1]


class _Edit(NamedTuple):
    """A passage of a text, and what is to be there instead."""

    start: int
    size: int
    text: str

    def of(self, whole: str, start: int | None = None) -> str:
        """Returns a text after the edit, also one in which the passage starts at another place."""
        at = self.start if start is None else start
        return whole[:at] + self.text + whole[at + self.size :]

    @classmethod
    def between(cls, old: str, new: str, start: int) -> "_Edit":
        """Returns the smallest edit from one text to another, if they are the same up to `start`."""
        same = 0
        while same < min(len(old), len(new)) - start and old[-1 - same] == new[-1 - same]:
            same += 1
        return cls(start, len(old) - same - start, new[start : len(new) - same])


class MemoryCommand(NamedTuple):
    """A command: its required and optional arguments, by name and type, and what it does."""

    takes: Mapping[str, type]
    may_take: Mapping[str, type]
    do: Callable[["MemoryTool", MemoryArguments, Stamp], str]


@one_thread_at_a_time
class MemoryTool:
    """Carries out the commands of the memory tool on the files of a library."""

    def __init__(self, library: Library) -> None:
        self.surroundings = library.surroundings
        self._library = library
        self._folder = library.folder
        self._mentions = Mentions(library.folder, KEY, _memory_file)

    def execute(self, given: MemoryArguments, *, provenance: Provenance | None = None) -> str:
        """Carries out the input of a tool call. Returns the tool's result; an error's message is a result, too."""
        command = COMMANDS.get(str(given.get("command")))
        if command is None:
            raise SlicebaseError(
                "bad-command", f"there is no command {given.get('command')!r}", hint=", ".join(COMMANDS)
            )
        known = {**command.takes, **command.may_take}
        for name, value in given.items():
            if name != "command" and (name not in known or type(value) is not known[name]):
                raise SlicebaseError("bad-command", f"{given['command']} does not take {name}, or not of this type")
        for name in command.takes.keys() - given.keys():
            raise SlicebaseError("bad-command", f"{given['command']} needs {name}")
        paths = {name: _checked(given[name]) for name in command.takes if name.endswith("path")}
        if given["command"] in ("create", "rename"):  # the others name a file that exists
            self.surroundings.redaction.refuse("the path", list(paths.values()))
        plain = {f"plain_{name}": path for name, path in paths.items()}
        return command.do(self, {**given, **plain}, self._library.stamp(provenance))

    # Reading

    def _files(self) -> dict[str, SliceFile]:
        """Returns every memory file by its path. If a merge left several with one path, the last one counts."""
        return dict(self._mentions.all())

    def _view(self, given: MemoryArguments, stamp: Stamp) -> str:
        path, plain, files = given["path"], given["plain_path"], self._files()
        if plain in files:
            return _view_text(path, self._shown(files[plain]).text, given.get("view_range"))
        if plain != ROOT and not _below(plain, files):
            raise SlicebaseError("no-file", f"The path {path} does not exist. Please provide a valid path.")
        heading = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
        shown = [f"{_size(size)}\t{path}/{name}" for name, size in _tree(plain, self._sizes(files))]
        return "\n".join([heading, f"{_size(_FOLDER)}\t{path}", *shown])

    def _shown(self, file: SliceFile, *unwritten: SliceFile) -> "_Shown":
        """Returns the text of a file with its parts, as if it had never been divided. Forgotten parts are not read."""
        drafts = {part.id: part for part in unwritten}
        file = drafts.get(file.id, file)
        if not parts_of(file):
            return _Shown([(file.text_for_model(), file, 0)])

        def load(part_id: str) -> SliceFile | None:
            return drafts.get(part_id) or self._folder.readable(part_id)

        return _Shown([(decode(data), source, start) for data, source, start in whole_pieces(file, load)])

    def _sizes(self, files: Mapping[str, SliceFile]) -> dict[str, int]:
        return {
            path: len(_encoded(self._shown(file).text)) if parts_of(file) else len(file.body)
            for path, file in files.items()
        }

    # Writing

    def _create(self, given: MemoryArguments, stamp: Stamp) -> str:
        path = given["plain_path"]
        with self._folder.writing() as writer:
            self._refuse_used(path, f"File {given['path']} already exists")
            file = new_file(
                id=stamp.file_id,
                title=path.removeprefix(ROOT + "/"),
                summary="A file of an agent's memory tool.",
                body_type="text",
                body=_encoded(self.surroundings.redaction.text(given["file_text"])),
                contract=Contract(purpose="What an agent keeps by its memory tool.", write="replace"),
                meta={KEY: path},
                updated_at=stamp.time,
                updated_by=stamp.who,
                name=f"{LIBRARY}/{file_name(stamp.file_id)}",
            )
            writer.add(file)
        return f"File created successfully at: {given['path']}"

    def _str_replace(self, given: MemoryArguments, stamp: Stamp) -> str:
        path, old = given["path"], given["old_str"]
        with self._folder.writing() as writer:
            file = self._file(given)
            text = self._shown(file).text
            found = _places_of(old, text) or _places_of(self.surroundings.redaction.uncounted(old), text)
            if not found:
                raise SlicebaseError(
                    "edit-refused", f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
                )
            if len(found) > 1 and text.count(old) != 1:  # overlapping ones are one
                lines = ", ".join(str(text.count("\n", 0, at) + 1) for at, _ in found)
                raise SlicebaseError(
                    "edit-refused",
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
                    "Please ensure it is unique",
                )
            start, size = found[0]
            self._edit(writer, file, _Edit(start, size, given["new_str"]), stamp)
            new = self._shown(self._file(given)).text
        first = new.count("\n", 0, start)
        return f"{_EDITED}\n{_numbered(new.split(_END), max(0, first - _AROUND), first + _AROUND + 1)}"

    def _insert(self, given: MemoryArguments, stamp: Stamp) -> str:
        line = given["insert_line"]
        with self._folder.writing() as writer:
            file = self._file(given)
            text = self._shown(file).text
            lines = _LINE.findall(text)
            if not 0 <= line <= len(lines):
                raise SlicebaseError(
                    "edit-refused",
                    f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}].",
                )
            before, inserted = "".join(lines[:line]), given["insert_text"].rstrip(_END)
            if parts_of(file):
                inserted = (_END if before and not before.endswith(_END) else "") + inserted
                edit = _Edit(len(before), 0, inserted + (_END if lines[line:] else ""))
            else:
                bare = [each.removesuffix(_END) for each in lines]
                new = _END.join([*bare[:line], inserted, *bare[line:]])
                edit = _Edit.between(text, new if new.endswith(_END) else new + _END, len(before))
            self._edit(writer, file, edit, stamp)
        return f"The file {given['path']} has been edited."

    def _delete(self, given: MemoryArguments, stamp: Stamp) -> str:
        path = given["plain_path"]
        if path == ROOT:
            raise SlicebaseError("edit-refused", f"Cannot delete the {ROOT} directory itself")
        if not self._forget(path, stamp):
            raise SlicebaseError("no-file", f"The path {given['path']} does not exist")
        return f"Successfully deleted {given['path']}"

    def clear(self, *, provenance: Provenance | None = None) -> str:
        """Forgets every memory file."""
        self._forget(ROOT, self._library.stamp(provenance))
        return "All memory cleared"

    def _forget(self, path: str, stamp: Stamp) -> bool:
        """Forgets a file, or everything in a folder, and returns whether there was something."""
        with self._folder.writing() as writer:
            files = self._files()
            gone = [name for name in files if name == path or name.startswith(path + "/")]
            logs = Logs(self._folder)
            whole = [
                part for name in gone for part in (logs.whole(files[name]) if parts_of(files[name]) else [files[name]])
            ]
            marked = [(part, archived(part, stamp.time, "deleted by a memory tool")) for part in whole if is_read(part)]
            writer.write(*(FileWrite(part, with_writer(new, stamp)) for part, new in marked))
        return bool(gone)

    def _rename(self, given: MemoryArguments, stamp: Stamp) -> str:
        old, new = given["plain_old_path"], given["plain_new_path"]
        if old == ROOT:
            raise SlicebaseError("edit-refused", f"Cannot rename the {ROOT} directory itself")
        with self._folder.writing() as writer:
            files = self._files()
            self._refuse_used(new, f"The destination {given['new_path']} already exists")
            moved = [name for name in files if name == old or name.startswith(old + "/")]
            if not moved:
                raise SlicebaseError("no-file", f"The path {given['old_path']} does not exist")
            if new.startswith(old + "/"):
                raise SlicebaseError("edit-refused", f"{new} is inside {old}")
            paths = {name: set_key(files[name], f"slice.meta.{KEY}", new + name.removeprefix(old)) for name in moved}
            writer.write(*(FileWrite(files[name], with_writer(file, stamp)) for name, file in paths.items()))
        return f"Successfully renamed {given['old_path']} to {given['new_path']}"

    def _file(self, given: MemoryArguments) -> SliceFile:
        path, files = given["plain_path"], self._files()
        if path in files:
            return files[path]
        if path == ROOT or _below(path, files):
            raise SlicebaseError("no-file", f"The path {given['path']} is not a file.")
        raise SlicebaseError("no-file", f"The path {given['path']} does not exist. Please provide a valid path.")

    def _refuse_used(self, path: str, message: str) -> None:
        """Refuses a path that is in use: by something at it or below it, or by a file above it."""
        files = self._files()
        above = (path[:at] for at in range(len(path)) if path[at] == "/")
        if path == ROOT or path in files or _below(path, files) or any(name in files for name in above):
            raise SlicebaseError("file-exists", message)

    def _edit(self, writer: FolderWriter, file: SliceFile, edit: _Edit, stamp: Stamp) -> None:
        """Writes an edit to the part that has the place, without secrets, also those that several edits put together.

        The part is chosen after which the text is what was asked for, in the line ends of that part. Between two parts
        there may be none.
        """
        shown = self._shown(file)
        places = shown.places(edit.start, edit.size)
        for part, at in places:
            here = edit._replace(text=with_ends(edit.text, newline_of(part.body, part.newline)))
            new = here.of(part.text_for_model(), at)
            is_open = part_link(part)[1] != ARCHIVED
            if is_open and self._shown(file, part.with_body(_encoded(new))).text == here.of(shown.text):
                clean = _encoded(self.surroundings.redaction.text(new))
                self._replace(writer, part, with_body(part, clean, stamp), stamp)
                return
        archive = next((part.id for part, _ in places if part_link(part)[1] == ARCHIVED), None)
        where = f"in {archive}, an archive of its older content, which is read-only" if archive else "in two parts"
        raise SlicebaseError("edit-refused", f"No edit was performed: this place of the file is {where}.")

    def _replace(self, writer: FolderWriter, old: SliceFile, new: SliceFile, stamp: Stamp) -> None:
        writer.replace(old, with_writer(new, stamp))


COMMANDS: Final[Mapping[str, MemoryCommand]] = {
    "view": MemoryCommand({"path": str}, {"view_range": list}, MemoryTool._view),
    "create": MemoryCommand({"path": str, "file_text": str}, {}, MemoryTool._create),
    "str_replace": MemoryCommand({"path": str, "old_str": str, "new_str": str}, {}, MemoryTool._str_replace),
    "insert": MemoryCommand({"path": str, "insert_line": int, "insert_text": str}, {}, MemoryTool._insert),
    "delete": MemoryCommand({"path": str}, {}, MemoryTool._delete),
    "rename": MemoryCommand({"old_path": str, "new_path": str}, {}, MemoryTool._rename),
}

_ENCODED: Final = re.compile(r"%[0-9A-Fa-f]{2}")


def _checked(path: str) -> str:
    """Returns a path below the root in its one plain form. Any other form is refused, not interpreted."""
    plain = path.rstrip("/") if path != "/" else path
    steps = plain.split("/")
    odd = "\\" in path or not path.isprintable() or _ENCODED.search(path) or path.strip() != path
    if not path.startswith(ROOT):
        raise SlicebaseError("outside-workspace", f"Path must start with {ROOT}, got: {path}")
    if odd or steps[:2] != ["", ROOT[1:]] or any(step in ("", ".", "..") for step in steps[2:]):
        raise SlicebaseError("outside-workspace", f"Path {path} would escape {ROOT} directory")
    return plain


def _memory_file(file: SliceFile) -> tuple[str, SliceFile] | None:
    """Returns a file with its path; None if it is no memory file, or forgotten."""
    path = file.meta.get(KEY)
    try:
        return (_checked(path), file) if isinstance(path, str) and not file.archived and not file.purged else None
    except SlicebaseError:
        return None


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise SlicebaseError("lone-surrogate", "the text contains half of a surrogate pair") from None


def _below(path: str, files: Mapping[str, SliceFile]) -> bool:
    return any(name.startswith(path + "/") for name in files)


_LEVELS: Final = 2  # of folders that a view shows
_FOLDER: Final = 4096  # bytes: what most file systems say of a small folder


def _tree(path: str, sizes: Mapping[str, int], depth: int = 1) -> Iterator[tuple[str, int]]:
    """Yields what a folder contains, two levels deep: the path below the folder, and the size."""
    inside: dict[str, int | None] = {}
    for name, size in sizes.items():
        if name.startswith(path + "/"):
            step, _, below = name.removeprefix(path + "/").partition("/")
            inside[step] = None if below else size
    for step, size_of_file in sorted(inside.items()):
        if step.startswith("."):
            continue
        if size_of_file is not None:
            yield step, size_of_file
            continue
        yield f"{step}/", _FOLDER
        if depth < _LEVELS:
            yield from ((f"{step}/{name}", size) for name, size in _tree(f"{path}/{step}", sizes, depth + 1))


def _size(count: int) -> str:
    power = min(max(0, count.bit_length() - 1) // 10, 3)
    size = count / 1024**power
    return f"{size:.{0 if size.is_integer() else 1}f}{'BKMG'[power]}"


_MOST_LINES: Final = 999_999


def _view_text(path: str, text: str, view_range: list[Any] | None) -> str:
    lines = text.split(_END)
    if len(lines) > _MOST_LINES:
        raise SlicebaseError("out-of-range", f"File {path} exceeds maximum line limit of 999,999 lines.")
    first, last = 1, len(lines)
    if view_range is not None and len(view_range) == 2:
        if any(type(each) is not int for each in view_range):
            raise SlicebaseError("bad-command", "view_range must be two line numbers")
        first, last = max(1, view_range[0]), len(lines) if view_range[1] == -1 else view_range[1]
    return f"Here's the content of {path} with line numbers:\n{_numbered(lines, first - 1, last)}"


def _places_of(passage: str, text: str) -> list[tuple[int, int]]:
    """Returns where a passage begins in a text, and how long it is there; if it is nowhere, however its lines end."""
    loose = r"(?<!\r)\r*\n".join(map(re.escape, re.split(r"\r*\n", passage)))
    pattern = re.escape(passage) if passage in text else loose
    return [(match.start(), len(match[1])) for match in re.finditer(f"(?=({pattern}))", text)]


_END: Final = "\n"
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")  # with its end: the lines that `view` numbers
_AROUND: Final = 2  # lines shown on each side of an edit
_EDITED: Final = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"


def _numbered(lines: list[str], start: int, end: int) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines[start:end], start + 1))
