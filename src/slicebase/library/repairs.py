"""Repairs files that overflow divided: what a killed writer left unfinished, and content that a merge left twice.

Overflow writes a part first, and then the file that it is a part of: a writer that is killed in between leaves a part
that its file does not name. Two branches that archive the same content leave it in two parts.
"""

from slicebase.files.body.overflow import parts_of, whole_of, with_parts
from slicebase.files.body.repeated import Shortened
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


def unfinished_overflows(folder: SliceFolder) -> list[str]:
    """Returns the ids of files that do not name a part that overflow created from them."""
    parts = [(whole, part.id) for part in folder.mentioning(b"part_of") if (whole := whole_of(part))]
    files = {whole: folder.readable(whole) for whole, _ in parts}
    return sorted({whole for whole, part in parts if (file := files[whole]) and part not in parts_of(file)})


def finish_overflow(writer: FolderWriter, logs: Logs, file: SliceFile) -> bool:
    """Joins the parts that a file does not name yet to it. Returns whether there were any."""
    new = with_parts(file, logs.of(file)[1:])
    writer.replace(file, new)
    return new is not file


def finish_overflows(folder: SliceFolder) -> list[str]:
    """Finishes the overflow of every file where that is necessary. Returns the ids of these files."""
    logs = Logs(folder)
    with folder.writing() as writer:
        return [
            file_id for file_id in unfinished_overflows(folder) if finish_overflow(writer, logs, writer.find(file_id))
        ]
