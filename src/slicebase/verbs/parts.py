"""What verbs work with: the parts of an open workspace, each made when it is first asked for.

`slicebase.base.Slicebase` is one. A verb takes the parts and builds only what it uses: asking for the folder of slice
files does not open the library, its index or the database.
"""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # start-up counts: a verb imports what it needs
    from slicebase.index.turns import TurnIndex
    from slicebase.library.chunks import LibraryChunks
    from slicebase.library.finder import Finder
    from slicebase.library.folder import SliceFolder
    from slicebase.library.library import Library
    from slicebase.truth.truth import Truth
    from slicebase.verbs.evidence import ChunkTexts
    from slicebase.verbs.graph import Graph
    from slicebase.verbs.runs import RunVerbs
    from slicebase.workspace.workspace import Workspace


class Parts(Protocol):
    @property
    def workspace(self) -> "Workspace": ...

    @property
    def truth(self) -> "Truth": ...

    @property
    def turn_index(self) -> "TurnIndex": ...

    @property
    def folder(self) -> "SliceFolder": ...

    @property
    def finder(self) -> "Finder": ...

    @property
    def library(self) -> "Library": ...

    @property
    def library_chunks(self) -> "LibraryChunks": ...

    @property
    def chunks(self) -> "ChunkTexts": ...

    @property
    def graph(self) -> "Graph": ...

    @property
    def runs(self) -> "RunVerbs": ...
