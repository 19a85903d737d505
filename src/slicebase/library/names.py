"""What an id names: completes short ids and references, for every verb that takes one (rulings 7 and 53).

A complete id comes first. Then the beginning of an id counts that only one thing has. A row is found by its id alone
where nothing else is meant: its file names it. What nothing begins with is left as it is, for the verb to say that it
does not exist.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from slicebase.core.ids import is_ulid, is_uuid
from slicebase.core.refs import Ref, parse, prefixed
from slicebase.core.short_ids import the_only
from slicebase.errors import SlicebaseError
from slicebase.files.body.rows import read_rows
from slicebase.files.slice_file import SliceFile
from slicebase.library.folder import SliceFolder
from slicebase.workspace.workspace import Workspace

if TYPE_CHECKING:  # keeps start-up fast: most ids are those of files
    from slicebase.truth.names import StoredNames
    from slicebase.truth.truth import Truth

# The plural of each kind, and the error for one that does not exist where its reference must be complete.
_KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "file": ("files", "no-file"),
    "row": ("rows", "no-row"),
    "turn": ("turns", "no-turn"),
    "session": ("sessions", "no-session"),
    "run": ("runs", "no-run"),
    "ev": ("pieces of evidence", "no-evidence"),
    "mf": ("manifests", "no-manifest"),
    "sn": ("snapshots", "no-snapshot"),
}
_FULL: Final = 32  # hex digits of an id that is made from a digest
_HEX: Final = frozenset("0123456789abcdef-")


class Names:
    """Completes what is given of ids and references."""

    def __init__(self, workspace: Workspace, folder: SliceFolder, truth: "Callable[[], Truth]") -> None:
        self._workspace = workspace
        self._folder = folder
        self._truth = truth

    def id(self, kind: str, given: str) -> str:
        """Returns the complete id of a thing of this kind, given by its id, a short id or a reference."""
        ref = prefixed(given)
        if ref is not None and ref.kind != kind:
            raise SlicebaseError("bad-reference", f"{given!r} is not a reference of the kind {kind}")
        return self.complete(parse(given, bare=kind, short=True)).id

    def ref(self, given: str, kinds: Sequence[str], otherwise: str | None = None) -> Ref:
        """Returns the complete reference of what is given by its id, a short id or a reference.

        `kinds` are those that an id without a prefix can have; `otherwise` is the kind of one that nothing has.
        """
        if prefixed(given) is not None:
            return self.complete(parse(given, short=True))
        for kind in kinds:
            if given and self._knows(kind, given):
                return Ref(kind, given.lower() if kind == "turn" else given)
        others = [kind for kind in kinds if kind != "row"]
        found = {str(ref): ref for kind in others for ref in self._beginning(kind, given)} if given else {}
        if not found and given and "row" in kinds:
            found = {str(ref): ref for ref in self._rows(given)}
        only = the_only(given, found, "things")
        return found[only] if only else parse(given, bare=otherwise)

    def complete(self, ref: Ref) -> Ref:
        """Returns a reference with complete ids."""
        if ref.kind in _IN_FILES:
            owner = self.complete(Ref("file", ref.owner)).name
            whole = ref._replace(name=owner + ref.name[len(ref.owner) :])
            return self._whole_row(whole) if ref.kind == "row" else whole
        if ref.kind == "claim":
            return ref._replace(name=self.complete(Ref("run", ref.owner)).name + ref.name[len(ref.owner) :])
        if ref.kind not in _KINDS or self._knows(ref.kind, ref.name, trusting=True):
            return ref
        found = {str(each): each for each in self._beginning(ref.kind, ref.name)}
        head = len(str(ref)) - len(ref.name)
        only = the_only(str(ref), found, _KINDS[ref.kind][0], head)
        if only is None and ref.kind in _OF_FIXED_LENGTH:
            raise SlicebaseError(_KINDS[ref.kind][1], f"there is no {ref}")
        return found[only] if only else ref

    def _whole_row(self, ref: Ref) -> Ref:
        file = None if is_ulid(ref.local) else self._folder.readable(ref.owner)
        ids = [row.id for row in read_rows(file.body).rows if row.id] if file else []
        if ref.local in ids:
            return ref
        only = the_only(ref.local, (row for row in ids if row.startswith(ref.local)), "rows")
        return Ref("row", f"{ref.owner}/{only}") if only else ref

    # What there is

    def _knows(self, kind: str, name: str, *, trusting: bool = False) -> bool:
        """Returns whether something has this id. With `trusting`, an id of the complete form is not looked up."""
        if kind == "file":
            return (trusting and is_ulid(name)) or name in self._folder.beginning(name)
        if kind == "row":
            return False
        if kind in _OF_FIXED_LENGTH:
            has_form = is_uuid(name) if kind == "turn" else len(name) == _FULL and set(name) <= _HEX
            return has_form and (trusting or self._is_stored(kind, name))
        return self._is_stored(kind, name)

    def _is_stored(self, kind: str, name: str) -> bool:
        stored = self._stored
        return stored is not None and stored.knows(kind, Ref(kind, name.lower() if kind == "turn" else name).id)

    def _beginning(self, kind: str, prefix: str) -> Iterator[Ref]:
        """Yields what has an id of this kind that begins with a prefix."""
        if kind == "file":
            yield from (Ref("file", file_id) for file_id in self._folder.beginning(prefix))
            return
        digits = prefix.lower()
        if (kind in _OF_FIXED_LENGTH and not set(digits) <= _HEX) or self._stored is None:
            return
        sought = Ref(kind, digits if kind in _OF_FIXED_LENGTH else prefix)
        for found in self._stored.beginning(kind, sought.id):
            name = found.partition("_")[2] if kind in _OF_DIGEST else found
            if name.startswith(sought.name):
                yield Ref(kind, name)

    def _rows(self, prefix: str) -> Iterator[Ref]:
        for file in self._folder.mentioning(prefix.encode(errors="surrogatepass")):
            yield from _rows_beginning(file, prefix)

    @property
    def _stored(self) -> "StoredNames | None":
        """The ids in the database, or None if there is no database: to look for an id creates none."""
        if not self._workspace.database.exists():
            return None
        from slicebase.truth.names import StoredNames

        return StoredNames(self._truth().database)


_IN_FILES: Final = ("row", "sec")
_OF_DIGEST: Final = ("ev", "mf", "sn")
_OF_FIXED_LENGTH: Final = ("turn", *_OF_DIGEST)


def _rows_beginning(file: SliceFile, prefix: str) -> Iterator[Ref]:
    for row in read_rows(file.body).rows if file.body_type == "jsonl" else ():
        if row.id and row.id.startswith(prefix):
            yield Ref("row", f"{file.id}/{row.id}")
