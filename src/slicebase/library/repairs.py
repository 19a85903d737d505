"""Repairs logs of several files: what a killed writer left unfinished, and rows that a merge left in two files.

Overflow writes a part first, and then the file that it is a part of: a writer that is killed in between leaves a part
that its file does not name. Two branches that archive the same rows leave them in two parts.
"""

from slicebase.files.body.overflow import parts_of, whole_of, with_parts
from slicebase.files.body.whole import in_reading_order, without_repeated
from slicebase.files.check.between import part_links
from slicebase.files.links import reach
from slicebase.files.slice_file import SliceFile
from slicebase.library.folder import FileWrite, FolderWriter, Logs, SliceFolder

# Rows that a merge left in two files


def repeating_files(folder: SliceFolder) -> list[tuple[SliceFile, SliceFile]]:
    """Returns the files of which rows are in an earlier file of the same log, each with its version without them."""
    files = {file.id: file for file in folder.mentioning(b"part_of", b"has_part") if file.body_type == "jsonl"}
    joined: dict[str, list[str]] = {}
    for file in files.values():
        for one, other in part_links(file):
            joined.setdefault(one, []).append(other)
            joined.setdefault(other, []).append(one)
    done: set[str] = set()
    found: list[tuple[SliceFile, SliceFile]] = []
    for start in sorted(joined):
        if start not in done:
            log = reach(joined, [start])
            done |= log
            found += without_repeated(in_reading_order(files[name] for name in log if name in files))
    return found


def remove_repeated(folder: SliceFolder) -> None:
    """Removes the rows of logs that are in an earlier file, too."""
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
