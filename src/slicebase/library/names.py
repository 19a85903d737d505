"""What an id names: completes short ids and references, for every verb that takes one (rulings 7 and 53).

A complete id comes first. Then the beginning of an id counts that only one thing has. A name that a person chose and
that is also the short id of something else is neither: where an id has been printed, nobody knows of which of the two
it is. A row is found by its id alone where nothing else is meant: its file names it. What nothing begins with is left
as it is, for the verb to say that it does not exist.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from slicebase.core.ids import is_ulid
from slicebase.core.refs import Ref, parse, prefixed
from slicebase.core.short_ids import is_made, may_be_short, the_only
from slicebase.errors import SlicebaseError
from slicebase.files.body.rows import read_rows
from slicebase.files.slice_file import SliceFile
from slicebase.library.folder import SliceFolder
from slicebase.workspace.surroundings import Surroundings, one_thread_at_a_time
from slicebase.workspace.workspace import Workspace

if TYPE_CHECKING:  # keeps start-up fast: most ids are those of files
    from slicebase.truth.names import StoredNames


@one_thread_at_a_time
class Names:
    """Completes what is given of ids and references."""

    def __init__(
        self,
        workspace: Workspace,
        surroundings: Surroundings,
        folder: SliceFolder,
        stored: "Callable[[], StoredNames]",
    ) -> None:
        self.surroundings = surroundings
        self._workspace = workspace
        self._folder = folder
        self._open_stored = stored

    def ref(self, given: str, kinds: Sequence[str], otherwise: str | None = None) -> Ref:
        """Returns the complete reference of what is given by its id, a short id or a reference.

        `kinds` are those that an id without a prefix can have; `otherwise` is the kind of one that nothing has.
        """
        if prefixed(given) is not None:
            return self.complete(parse(given, short=True))
        bare = [Ref(kind, given.lower() if kind == "turn" else given) for kind in kinds] if given else []
        for ref in bare:
            if self._is_named(ref):
                self._refuse_short(given, ref, bare)
                return ref
        found = {str(each): each for ref in bare for each in self._beginning(ref)}
        if not found and given and "row" in kinds:
            found = {str(each): each for each in self._rows(given)}
        only = the_only(given, found, "things")
        return found[only] if only else parse(given, bare=otherwise)

    def _refuse_short(self, given: str, named: Ref, bare: Sequence[Ref]) -> None:
        """Raises `ambiguous-id` if what names one thing is also the short id of a thing of another kind."""
        if not may_be_short(given):  # the database is not opened for it
            return
        others: list[Ref] = []
        with suppress(SlicebaseError):  # nothing of a database that cannot be opened is found by an id
            others += [each for ref in bare if ref.kind != named.kind for each in self._beginning(ref)]
        the_only(given, map(str, (named, *(each for each in others if is_made(each.name)))), "things")

    def complete(self, ref: Ref) -> Ref:
        """Returns a reference with complete ids."""
        if ref.kind in _IN_FILES:
            whole = self._with_owner(ref, "file")
            return self._whole_row(whole) if ref.kind == "row" else whole
        if ref.kind == "claim":
            return self._with_owner(ref, "run")
        if ref.kind == "file":
            return self._whole_file(ref)
        stored = self._stored
        return ref if ref.kind == "doc" or stored is None else stored.complete(ref)

    def _with_owner(self, ref: Ref, kind: str) -> Ref:
        return ref._replace(name=self.complete(Ref(kind, ref.owner)).name + ref.name[len(ref.owner) :])

    def _whole_file(self, ref: Ref) -> Ref:
        file = None if is_ulid(ref.name) else self._folder.readable(ref.name)
        if is_ulid(ref.name) or (file and file.id == ref.name):
            return ref
        ids = self._folder.beginning(ref.name)
        only = ref.name if ref.name in ids else the_only(ref.name, ids, "files")
        return Ref("file", only) if only else ref

    def _whole_row(self, ref: Ref) -> Ref:
        file = None if is_ulid(ref.local) else self._folder.readable(ref.owner)
        ids = self._folder.once("row ids", file, lambda: _row_ids(file)) if file else {}
        if ref.local in ids:
            return ref
        only = the_only(ref.local, (row for row in ids if row.startswith(ref.local)), "rows")
        return Ref("row", f"{ref.owner}/{only}") if only else ref

    # What there is

    def _is_named(self, ref: Ref) -> bool:
        """Returns whether an id without a prefix is the complete id of a thing of this kind."""
        if ref.kind == "file":
            return ref.name in self._folder.beginning(ref.name)
        stored = self._stored if ref.kind != "row" else None
        return stored is not None and stored.is_named(ref)

    def _beginning(self, ref: Ref) -> Iterable[Ref]:
        if ref.kind == "file":
            return [Ref("file", file_id) for file_id in self._folder.beginning(ref.name)]
        stored = self._stored if ref.kind != "row" else None
        return stored.beginning(ref) if stored is not None else ()

    def _rows(self, prefix: str) -> Iterator[Ref]:
        for file in self._folder.mentioning(prefix.encode(errors="surrogatepass")):
            for row in read_rows(file.body).rows if file.body_type == "jsonl" else ():
                if row.id and row.id.startswith(prefix):
                    yield Ref("row", f"{file.id}/{row.id}")

    @property
    def _stored(self) -> "StoredNames | None":
        """The ids in the database, or None if there is no database: to look for an id creates none."""
        return self._open_stored() if self._workspace.has_memory else None


def _row_ids(file: SliceFile) -> dict[str, None]:
    return dict.fromkeys(row.id for row in read_rows(file.body).rows if row.id)


_IN_FILES: Final = ("row", "sec")
