"""Repairs files that overflow divided: what a killed writer left unfinished, and content that a merge left twice.

Overflow writes a part first, and then the file that it is a part of: a writer that is killed in between leaves a part
that its file does not name. Two branches that archive the same content leave it in two parts.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from slicebase.files.body.lines import read_lines
from slicebase.files.body.overflow import CONTINUED, Unnamed, joined, unnamed_parts, whole_of
from slicebase.files.body.repeated import Shortened
from slicebase.files.body.whole import repairs
from slicebase.files.merge_additions import has_name
from slicebase.files.slice_file import SliceFile
from slicebase.library.folder import FileWrite, FolderWriter, SliceFolder
from slicebase.library.logs import AbsentPart, Logs

# Content that a merge left in two parts

_LINES: Final = ("conversation", "routine")


def repeating_files(folder: SliceFolder) -> Shortened:
    """Returns the files that repeat content of other files of the same object, each with its version without it."""
    return repairs(folder.mentioning(b"part_of", b"has_part"))


def remove_repeated(folder: SliceFolder) -> None:
    """Removes the content of files that another file of the same object has, too."""
    with folder.writing() as writer:
        writer.write(*(FileWrite(old, new) for old, new in repeating_files(folder)))


class LinesTwice(NamedTuple):
    """A file and another one of the same object that both have some lines, which are the same by their times or ids."""

    file: SliceFile
    other: SliceFile
    lines: int


def lines_in_two_files(folder: SliceFolder) -> Iterator[LinesTwice]:
    """Yields files of conversations and routines that have lines of each other, in the order of their content.

    Only what names itself is known again: a sentence, and a line without a time, may have been written twice.
    """
    logs = Logs(folder)
    for top in folder.mentioning(b"has_part"):
        known: dict[bytes, SliceFile] = {}
        whole = logs.read(top) if top.body_type in _LINES and whole_of(top) is None else []
        for file in sorted(whole, key=lambda part: part.id == top.id):
            own = {line.raw for line in read_lines(file.body).lines if has_name(line.value)}
            found = Counter(known[line].name for line in own & known.keys())
            yield from (LinesTwice(file, other, found[other.name]) for other in whole if other.name in found)
            known |= dict.fromkeys(own, file)


# Overflow that a killed writer did not finish


class Unfinished(NamedTuple):
    """What is left to do where overflow moved content: by itself, and by people."""

    files: list[str]  # that do not name a part which overflow created from them
    strays: list[SliceFile]  # parts that their file does not name, and of which it is not certain what they are
    absent: list[tuple[SliceFile, AbsentPart]]  # files, each with a part that it names, and that cannot be read


def unfinished_overflows(folder: SliceFolder) -> Unfinished:
    """Returns what overflow left to do."""
    parts: dict[str, list[SliceFile]] = {}
    for part in folder.mentioning(b"part_of"):
        parts.setdefault(whole_of(part) or "", []).append(part)
    files, strays = [], []
    for file_id in sorted(parts.keys() - {""}):
        file = folder.readable(file_id)
        if file is not None:
            found = _certain(folder, unnamed_parts(file, parts[file_id]))
            files += [file_id] if found.continued or found.copies else []
            strays += found.strays
    logs = Logs(folder)
    absent = ((file, part) for file in folder.mentioning(b"has_part") for part in logs.absent(file))
    # What was purged on purpose is no problem, and what a part lacks is one of that part.
    own = [(file, part) for file, part in absent if part.owner == file.id and part.remedy]
    return Unfinished(files, strays, own)


def _certain(folder: SliceFolder, found: Unnamed) -> Unnamed:
    """Returns unnamed parts without those copies that another file names: somebody needs them."""
    needed = [
        part for part in found.copies if any(file.id != part.id for file in folder.mentioning((part.id or "").encode()))
    ]
    return found._replace(copies=[part for part in found.copies if part not in needed], strays=[*found.strays, *needed])


def finish_overflow(writer: FolderWriter, logs: Logs, file: SliceFile) -> bool:
    """Finishes what an interrupted writer left of a file. Returns whether there was anything.

    A part that continues the file is joined to it. A move to an archive is undone: the file still has everything.
    """
    found = _certain(writer.folder, unnamed_parts(file, logs.of(file)[1:]))
    new = file
    for part in found.continued:
        new = joined(new, part.id or "", CONTINUED)
    writer.replace(file, new)
    for part in found.copies:
        writer.remove(part)
    return bool(found.continued or found.copies)


def finish_overflows(folder: SliceFolder) -> list[str]:
    """Finishes the overflow of every file where that is necessary. Returns the ids of these files."""
    logs = Logs(folder)
    with folder.writing() as writer:
        files = unfinished_overflows(folder).files
        return [file_id for file_id in files if finish_overflow(writer, logs, writer.find(file_id))]
