"""The commands of Anthropic's memory tool (`memory_20250818`) on slice files.

A memory file is a slice file whose metadata names its path: no path from a model ever reaches the disk, so that none
can lead out of the workspace. A deleted file is forgotten in place and can be restored. A file that overflow divided is
shown as one text, and edited in the part that has the place. Results use the wording of the tool's documentation.
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
        paths = {name: _checked(given[name]) for name in given if name.endswith("path")}
        if given["command"] in ("create", "rename"):  # the others name a file that exists
            self.surroundings.redaction.refuse("the path", list(paths.values()))
        return command.do(self, {**given, **paths}, self._library.stamp(provenance))

    # Reading

    def _files(self) -> dict[str, SliceFile]:
        """Returns every memory file by its path. If a merge left several with one path, the last one counts."""
        found = self._folder.mentioning(KEY.encode())
        return {path: file for file in found if (path := _path_of(file)) and not file.archived and not file.purged}

    def _view(self, given: MemoryArguments, stamp: Stamp) -> str:
        path, files = given["path"], self._files()
        if path in files:
            return _view_text(path, self._shown(files[path]).text, given.get("view_range"))
        if path != ROOT and not _below(path, files):
            raise SlicebaseError("no-file", f"The path {path} does not exist. Please provide a valid path.")
        if given.get("view_range") is not None:
            raise SlicebaseError("bad-command", "view_range is for a file, not for a directory")
        shown = "\n".join(f"{_size(size)}\t{name}" for name, size in _tree(path, self._sizes(files)))
        heading = (
            f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items and node_modules:"
        )
        return f"{heading}\n{shown}"

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
        path = given["path"]
        with self._folder.writing() as writer:
            self._refuse_used(path, f"Error: File {path} already exists")
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
        return f"File created successfully at: {path}"

    def _str_replace(self, given: MemoryArguments, stamp: Stamp) -> str:
        path, old = given["path"], given["old_str"]
        with self._folder.writing() as writer:
            file = self._file(path)
            text = self._shown(file).text
            found = _places_of(old, text) or _places_of(self.surroundings.redaction.uncounted(old), text)
            if not found:
                raise SlicebaseError(
                    "edit-refused", f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
                )
            if len(found) > 1:
                lines = ", ".join(str(text.count("\n", 0, at) + 1) for at, _ in found)
                raise SlicebaseError(
                    "edit-refused",
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
                    "Please ensure it is unique",
                )
            start, size = found[0]
            self._edit(writer, file, _Edit(start, size, given["new_str"]), stamp)
            new = self._shown(self._file(path)).text
        first = new.count("\n", 0, start)
        return "The memory file has been edited.\n" + _snippet(new, first, given["new_str"].count("\n"))

    def _insert(self, given: MemoryArguments, stamp: Stamp) -> str:
        path, line = given["path"], given["insert_line"]
        with self._folder.writing() as writer:
            file = self._file(path)
            lines = _LINE.findall(self._shown(file).text)
            if not 0 <= line <= len(lines):
                raise SlicebaseError(
                    "edit-refused",
                    f"Error: Invalid `insert_line` parameter: {line}. "
                    f"It should be within the range of lines of the file: [0, {len(lines)}]",
                )
            before, text = "".join(lines[:line]), given["insert_text"]
            text = ("\n" if before and not before.endswith("\n") else "") + text
            text += "\n" if lines[line:] and not text.endswith("\n") else ""
            self._edit(writer, file, _Edit(len(before), 0, text), stamp)
        return f"The file {path} has been edited."

    def _delete(self, given: MemoryArguments, stamp: Stamp) -> str:
        path = given["path"]
        with self._folder.writing() as writer:
            files = self._files()
            gone = [name for name in files if name == path or name.startswith(path + "/")]
            if path == ROOT or not gone:
                message = (
                    f"Error: The path {path} does not exist" if path != ROOT else f"Error: {ROOT} cannot be deleted"
                )
                raise SlicebaseError("no-file" if path != ROOT else "edit-refused", message)
            logs = Logs(self._folder)
            whole = [
                part for name in gone for part in (logs.whole(files[name]) if parts_of(files[name]) else [files[name]])
            ]
            marked = [(part, archived(part, stamp.time, "deleted by a memory tool")) for part in whole if is_read(part)]
            writer.write(*(FileWrite(part, with_writer(new, stamp)) for part, new in marked))
        return f"Successfully deleted {path}"

    def _rename(self, given: MemoryArguments, stamp: Stamp) -> str:
        old, new = given["old_path"], given["new_path"]
        with self._folder.writing() as writer:
            files = self._files()
            moved = [name for name in files if name == old or name.startswith(old + "/")]
            if old == ROOT or not moved:
                raise SlicebaseError("no-file", f"Error: The path {old} does not exist")
            self._refuse_used(new, f"Error: The destination {new} already exists")
            if new.startswith(old + "/"):
                raise SlicebaseError("edit-refused", f"Error: {new} is inside {old}")
            paths = {name: set_key(files[name], f"slice.meta.{KEY}", new + name.removeprefix(old)) for name in moved}
            writer.write(*(FileWrite(files[name], with_writer(file, stamp)) for name, file in paths.items()))
        return f"Successfully renamed {old} to {new}"

    def _file(self, path: str) -> SliceFile:
        file = self._files().get(path)
        if file is None:
            raise SlicebaseError("no-file", f"Error: The path {path} does not exist. Please provide a valid path.")
        return file

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
    if odd or steps[:2] != ["", ROOT[1:]] or any(step in ("", ".", "..") for step in steps[2:]):
        raise SlicebaseError("outside-workspace", f"Error: {path!r} is not a path below {ROOT}")
    return plain


def _path_of(file: SliceFile) -> str | None:
    path = file.meta.get(KEY)
    try:
        return _checked(path) if isinstance(path, str) else None
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


def _tree(path: str, files: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Yields a folder and what it contains, two levels deep, each with its size and that of everything below."""
    sizes = {path: 0}
    for name in sorted(files):
        if not name.startswith(path + "/"):
            continue
        steps = name.removeprefix(path + "/").split("/")
        hidden = any(step.startswith(".") or step == "node_modules" for step in steps)
        sizes[path] += files[name]
        for depth in range(1, min(len(steps), _LEVELS) + 1) if not hidden else ():
            above = "/".join((path, *steps[:depth]))
            sizes[above] = sizes.get(above, 0) + files[name]
    yield from sizes.items()


def _size(count: int) -> str:
    size = float(count)
    for unit in ("", "K", "M"):
        if size < 1024:
            return f"{size:.0f}" if not unit else f"{size:.1f}{unit}"
        size /= 1024
    return f"{size:.1f}G"


_MOST_LINES: Final = 999_999


def _view_text(path: str, text: str, view_range: list[Any] | None) -> str:
    lines = text.split("\n")
    if len(lines) > _MOST_LINES:
        raise SlicebaseError("out-of-range", f"File {path} exceeds maximum line limit of 999,999 lines.")
    first, last = 1, len(lines)
    if view_range is not None:
        if len(view_range) != 2 or any(type(each) is not int for each in view_range):
            raise SlicebaseError("bad-command", "view_range must be two line numbers")
        first, last = view_range[0], len(lines) if view_range[1] == -1 else view_range[1]
        if not 1 <= first <= last:
            raise SlicebaseError("out-of-range", f"view_range {view_range} does not name lines of {path}")
    return f"Here's the content of {path} with line numbers:\n{_numbered(lines, first - 1, last)}"


def _places_of(passage: str, text: str) -> list[tuple[int, int]]:
    """Returns where a passage begins in a text, and how long it is there, however its lines end."""
    pattern = r"(?<!\r)\r*\n".join(map(re.escape, re.split(r"\r*\n", passage)))
    found = re.finditer(f"(?=({pattern}))", text) if passage else ()
    return [(match.start(), len(match[1])) for match in found]


_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")  # with its end: the lines that `view` numbers
_AROUND: Final = 4  # lines shown on each side of an edit


def _snippet(text: str, first: int, more: int) -> str:
    return _numbered(text.split("\n"), max(0, first - _AROUND), first + more + _AROUND + 1)


def _numbered(lines: list[str], start: int, end: int) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines[start:end], start + 1))
