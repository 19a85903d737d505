"""What verbs work with: the parts of an open workspace, each made when it is first asked for.

A verb builds only what it uses: to reach the folder of slice files, neither the library nor its index is made.
"""

from functools import cached_property
from typing import TYPE_CHECKING, Self

from slicebase.workspace.workspace import Workspace

if TYPE_CHECKING:  # start-up counts: a part is imported when it is made
    from slicebase.index.schema import ReadProgress
    from slicebase.index.turns import TurnIndex
    from slicebase.library.chunks import LibraryChunks
    from slicebase.library.finder import Finder
    from slicebase.library.folder import SliceFolder
    from slicebase.library.library import Library
    from slicebase.truth.truth import Truth
    from slicebase.workspace.settings import Settings


class Parts:
    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.index_progress: ReadProgress = lambda done, total: None

    @cached_property
    def settings(self) -> "Settings":
        from slicebase.workspace.settings import load_settings

        return load_settings(self.workspace.root)

    @cached_property
    def truth(self) -> "Truth":
        from slicebase.truth.truth import Truth

        return Truth(self.workspace.database, create=True)

    @cached_property
    def turn_index(self) -> "TurnIndex":
        """The full-text index of turns, as it was at its last filling."""
        from slicebase.index.turns import TurnIndex

        return TurnIndex(self.workspace.cache / "turns.db")

    @cached_property
    def folder(self) -> "SliceFolder":
        """The slice files on disk, without index or settings."""
        from slicebase.library.folder import SliceFolder

        return SliceFolder(self.workspace)

    @cached_property
    def finder(self) -> "Finder":
        """The library's verbs that only look: they start quicker than those that write."""
        from slicebase.library.finder import Finder

        return Finder(self.workspace, self.index_progress)

    @cached_property
    def library(self) -> "Library":
        from slicebase.library.library import Library

        return Library(self.workspace, self.settings, lambda: self.truth, self.index_progress)

    @cached_property
    def library_chunks(self) -> "LibraryChunks":
        """Rows and sections of slice files, as a question finds them."""
        from slicebase.index.turns import TurnIndex
        from slicebase.library.chunks import LibraryChunks

        return LibraryChunks(self.library, TurnIndex(self.workspace.chunks))

    def close(self) -> None:
        for part in ("library_chunks", "turn_index", "truth"):
            if part in self.__dict__:
                self.__dict__.pop(part).close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
