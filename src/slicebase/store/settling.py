"""Finishing what a killed writer began: overflow writes a part first, and then the file that it is a part of."""

from slicebase.files.body.overflow import parts_of, settled, whole_of
from slicebase.files.slice_file import SliceFile
from slicebase.store.logs import Logs
from slicebase.store.shelf import Pen, Shelf


def unfinished(shelf: Shelf) -> list[str]:
    """The ids of files that do not name a part which overflow made of them."""
    parts = [(whole, part.id) for part in shelf.mentioning(b"part_of") if (whole := whole_of(part))]
    files = {whole: shelf.readable(whole) for whole, _ in parts}
    return sorted({whole for whole, part in parts if (file := files[whole]) and part not in parts_of(file)})


def finish_overflow(pen: Pen, logs: Logs, file: SliceFile) -> bool:
    """Joins such parts to their file; answers whether there were any."""
    new = settled(file, logs.of(file)[1:])
    pen.replace(file, new)
    return new is not file


def finish_all(shelf: Shelf) -> list[str]:
    """The same for every file; answers which they were."""
    logs = Logs(shelf)
    with shelf.writing() as pen:
        return [name for name in unfinished(shelf) if finish_overflow(pen, logs, pen.find(name))]
