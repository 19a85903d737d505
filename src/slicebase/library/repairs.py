"""Repairs files that overflow divided: what a killed writer left unfinished, and content that a merge left twice.

Overflow writes a part first, and then the file that it is a part of: a writer that is killed in between leaves a part
that its file does not name. Two branches that archive the same content leave it in two parts.
"""

from typing import NamedTuple

from slicebase.files.body.overflow import parts_of, whole_of, with_parts
from slicebase.files.body.repeated import Shortened, is_read
from slicebase.files.body.whole import repairs
from slicebase.files.slice_file import SliceFile
from slicebase.library.folder import FileWrite, FolderWriter, Logs, SliceFolder

# Content that a merge left in two parts


def repeating_files(folder: SliceFolder) -> Shortened:
    """Returns the files that repeat content of other files of the same object, each with its version without it."""
    return repairs(folder.mentioning(b"part_of", b"has_part"))


def remove_repeated(folder: SliceFolder) -> None:
    """Removes the content of files that another file of the same object has, too."""
    with folder.writing() as writer:
        writer.write(*(FileWrite(old, new) for old, new in repeating_files(folder)))


# Overflow that a killed writer did not finish


class Unfinished(NamedTuple):
    """What is left to do where overflow moved content: by itself, and by people."""

    files: list[str]  # that do not name a part which overflow created from them
    strays: list[SliceFile]  # archives that their file does not name, and that have not what is at their place there
    missing: list[tuple[SliceFile, str]]  # files, each with a part that it names, and that does not exist


def unfinished_overflows(folder: SliceFolder) -> Unfinished:
    """Returns what overflow left to do."""
    parts: dict[str, list[SliceFile]] = {}
    for part in folder.mentioning(b"part_of"):
        parts.setdefault(whole_of(part) or "", []).append(part)
    files, strays = [], []
    for file_id in sorted(parts.keys() - {""}):
        file = folder.readable(file_id)
        if file is None:
            continue
        finished = with_parts(file, parts[file_id])
        files += [file_id] if finished is not file else []
        unnamed = (part for part in parts[file_id] if part.id not in parts_of(finished))
        strays += [part for part in unnamed if part.taken_from and is_read(part)]
    named = ((file, part) for file in folder.mentioning(b"has_part") for part in parts_of(file))
    return Unfinished(files, strays, [(file, part) for file, part in named if not folder.has(part)])


def finish_overflow(writer: FolderWriter, logs: Logs, file: SliceFile) -> bool:
    """Joins the parts that a file does not name yet to it. Returns whether there were any."""
    new = with_parts(file, logs.of(file)[1:])
    writer.replace(file, new)
    return new is not file


def finish_overflows(folder: SliceFolder) -> list[str]:
    """Finishes the overflow of every file where that is necessary. Returns the ids of these files."""
    logs = Logs(folder)
    with folder.writing() as writer:
        files = unfinished_overflows(folder).files
        return [file_id for file_id in files if finish_overflow(writer, logs, writer.find(file_id))]
