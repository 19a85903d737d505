"""The index of slice files: disposable, and updated before every query (docs/finding.md).

A file is read again when its size, its times or its inode differ from the stored ones. A change can leave all of them
the same only within one tick of the disk's clock. So a file that was changed in the tick of the scan of the folder, or
later, is stored as uncertain, and the next query reads it again. The same is true of the notes that pointers name.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, Final, TypeVar

import apsw

from slicebase.errors import SlicebaseError
from slicebase.index.disposable import Disposable, reading, writing
from slicebase.index.schema import FILES_LAYOUT, MANY_FILES, ReadProgress
from slicebase.workspace.boundary import cannot_read
from slicebase.workspace.workspace import Workspace, create_local_folder

if TYPE_CHECKING:  # start-up counts: most libraries have no notes
    from slicebase.index.notes import AtHand, Cleaning

_Answer = TypeVar("_Answer")

# What tells an index from another one: a new one after damage, or one in memory.
_STATE: Final = "SELECT length(listing), length(notes), cleaned, (SELECT count(*) FROM files) FROM state"


class FileIndex:
    """The index of the slice files of a workspace, and of the notes that they point to."""

    def __init__(
        self, workspace: Workspace, cleaning: "Cleaning", progress: ReadProgress = lambda done, total: None
    ) -> None:
        self._root = workspace.root
        self._library = workspace.library
        self._workspace = workspace
        self._cleaning = cleaning
        self.progress = progress
        self.before_long_update: Callable[[int], None] = lambda files: None  # may raise: then nothing is updated
        self.database = Disposable(workspace.files, FILES_LAYOUT)
        self.unreadable = 0  # files that could not be read at the last query
        self._known: object = None  # the state of the index at the last query

    def has_files(self) -> bool:
        """Returns whether there are slice files, without opening the index; true where that cannot be seen."""
        try:
            with os.scandir(self._library) as entries:
                return any(entry.name.endswith(".slice") for entry in entries)
        except FileNotFoundError:
            return False
        except OSError:
            return True

    def ask(self, question: Callable[[apsw.Connection], _Answer], at_hand: "AtHand | None" = None) -> _Answer:
        """Updates the index, calls `question` with a connection to it, and returns the result.

        `at_hand` is what the caller has just read and written, so that it is not read a second time.
        """
        return self._ask(question, lambda connection: self._bring_up_to_date(connection, at_hand))

    def ask_again(self, question: Callable[[apsw.Connection], _Answer]) -> _Answer:
        """Asks about what the last query has found, without a new look at the folder, which takes longer."""

        def update(connection: apsw.Connection) -> None:
            if connection.execute(_STATE).get != self._known:
                self._bring_up_to_date(connection, None)

        return self._ask(question, update)

    def _ask(
        self, question: Callable[[apsw.Connection], _Answer], update: Callable[[apsw.Connection], None]
    ) -> _Answer:
        def with_current_files(connection: apsw.Connection) -> _Answer:
            update(connection)
            with reading(connection):
                self._known = connection.execute(_STATE).get
                self.unreadable = connection.execute("SELECT count(*) FROM files WHERE problem IS NOT NULL").get
                return question(connection)

        if not self.database.exists():
            with suppress(SlicebaseError):  # where nothing can be written, the index is built in memory
                create_local_folder(self._root)
        return self.database.ask(with_current_files)

    def _bring_up_to_date(self, connection: apsw.Connection, at_hand: "AtHand | None") -> None:
        from slicebase.workspace.journal import Journal  # imported here for a fast start: many have turns only

        Journal(self._workspace).settle_if_free()
        known, notes, cleaned = connection.execute("SELECT listing, notes, cleaned FROM state").get
        files = listing(self._library)
        current = "\0".join(files)
        if known == current and (known or self._is_empty(connection)) and self._notes_are_the_same(notes, cleaned):
            return
        if len(files) > MANY_FILES:  # before the transaction: another process may be at it
            stored: Any = connection.execute("SELECT name, stamp FROM files")
            if (new := len(set(files) - set(map("\0".join, stored)))) > MANY_FILES:
                self.before_long_update(new)
        from slicebase.index.file_reader import Update

        with writing(connection):
            tick = self.database.tick()
            update = Update(connection, self._library, self._cleaning, self.progress, at_hand)
            update.run(listing(self._library), tick)
            update.run_notes()

    def _is_empty(self, connection: apsw.Connection) -> bool:
        """Returns whether the index has no files: a listing that is not certain is empty, too."""
        return not connection.execute("SELECT EXISTS (SELECT 1 FROM files)").get

    def _notes_are_the_same(self, known: str, cleaned: str) -> bool:
        """Returns whether the notes have the stamps of the last update, and secrets are replaced as they were then."""
        if not known:
            return True
        from slicebase.workspace.note_files import stamps  # start-up counts: most libraries have no notes

        listed = known.split("\0")
        return listed[1::2] == stamps(self._root, listed[::2]) and cleaned == self._cleaning.state()


def listing(folder: "str | os.PathLike[str]") -> list[str]:
    """Returns the slice files of a folder, each as its name, a zero byte and its stamp: size, times and inode.

    Symbolic links are left out, because they can point anywhere. So are names that are not UTF-8: they cannot be ids.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return []
    except OSError as error:  # this user may not read it, or it is no folder
        raise cannot_read(error, Path(folder)) from None
    found = []
    try:
        for name in os.listdir(descriptor):
            if name.endswith(".slice") and name[0] != "." and (name.isascii() or name.isprintable()):
                try:
                    status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                except FileNotFoundError:
                    continue  # the file was removed just now
                except PermissionError as error:  # a folder whose names can be listed, and no more
                    raise cannot_read(error, Path(folder, name)) from None
                if S_ISREG(status.st_mode):
                    found.append(f"{name}\0{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}")
    finally:
        os.close(descriptor)
    return found
