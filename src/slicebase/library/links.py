"""Links between files: to targets that exist in the workspace, under their lasting names (§ Addressing, ruling 29)."""

from collections.abc import Callable, Iterable
from typing import Final

from slicebase.core.refs import Ref, short_ref
from slicebase.errors import SlicebaseError, Where
from slicebase.files.body.overflow import part_link, whole_of
from slicebase.files.links import RELATIONSHIPS, SUFFIX, can_be_relationship, target_id, target_kind
from slicebase.files.model import DerivationSource, Link
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import append_item, delete_key, remove_item, set_key
from slicebase.library.folder import SliceFolder, outside_workspace
from slicebase.library.logs import Logs
from slicebase.library.names import Names
from slicebase.workspace.workspace import LIBRARY

_DERIVED: Final = "derived_from"
_OWNED: Final = ("file", "row", "sec")  # references into slice files
_NAMED: Final = ("file", "turn", "session", "run", "mf", "sn", "ev", "row")  # what an id alone may name


class Linker:
    """Creates and removes links. `knows_turn` asks the truth; it is called only for a link that names a turn."""

    def __init__(self, folder: SliceFolder, logs: Logs, names: Names, knows_turn: Callable[[str], bool]) -> None:
        self._folder = folder
        self._logs = logs
        self._names = names
        self._knows_turn = knows_turn

    def connected(self, file: SliceFile, rel: str, to: str, label: str | None) -> SliceFile:
        """Returns the file with one more link; a link that exists already stays as it is.

        `derived_from` another file is not only a link: the block of that name has the hash of the source as it is now.
        `has_part` to a part that overflow created for this file gets the label that makes it one of its parts again.
        """
        link = self.link(file.id or "", rel, to, label)
        part = self._folder.readable(link.to or "") if rel == "has_part" and label is None else None
        if part and whole_of(part) == file.id:
            link = Link(rel, link.to, part_link(part)[1])
            plain = [at for at, each in enumerate(file.links) if each == Link(rel, link.to)]
            for at in reversed(plain):
                file = remove_item(file, "slice.links", at)
        source = self._folder.readable(link.to or "") if rel == _DERIVED else None
        if source:
            file = _derived(file, source, self._logs.hash(source))
        known = any((each.rel, each.to) == (link.rel, link.to) for each in file.links)
        return file if known or (source and label is None) else append_item(file, "slice.links", link)

    def disconnected(self, file: SliceFile, rel: str, to: str) -> SliceFile:
        """Returns the file without a link, whether or not the link's target still exists."""
        named, found = target_id(LIBRARY, to), self._id_of(to)
        positions = _links_to(file, rel, named) or _links_to(file, rel, found)
        source = file.derived_from.id if rel == _DERIVED and file.derived_from is not None else None
        is_source = source is not None and source in (named, found)
        if not positions and not is_source:
            known = ", ".join(f"{link.rel}:{link.to}" for link in file.links)
            hint = f"its links are {known}" if known else "it has no links"
            raise SlicebaseError("no-link", f"the file has no link {rel} to {to}", hint=hint, where=Where(file.name))
        for at in reversed(positions):
            file = remove_item(file, "slice.links", at)
        return delete_key(file, "slice.derived_from") if is_source else file

    def link(self, source: str, rel: str, to: str, label: str | None = None) -> Link:
        """Returns a link as it is stored: with the complete id where a prefix or a path was given."""
        if not can_be_relationship(rel) or (rel not in RELATIONSHIPS and to in RELATIONSHIPS):
            hint = f"relationships are {', '.join(RELATIONSHIPS)}; the relationship comes before the target"
            raise SlicebaseError("bad-link", f"{rel!r} is not a relationship", hint=hint)
        target = self._target(rel, to)
        if target == source:
            raise SlicebaseError("bad-link", "a file cannot link to itself")
        return Link(rel, target, label)

    def source(self, links: Iterable[Link]) -> DerivationSource | None:
        """Returns the source of a new derived file, with the source's current hash (§ Derived Files)."""
        sources = [link.to for link in links if link.rel == _DERIVED]
        if len(sources) > 1:
            hint = "link to the others with another relationship"
            raise SlicebaseError("bad-link", "a file is derived from one other file only", hint=hint)
        original = self._folder.find(sources[0] or "") if sources else None
        return DerivationSource(original.id, self._logs.hash(original)) if original else None

    def title_of(self, target: str) -> str | None:
        """Returns the title of the file that a link or a step of a routine leads to."""
        file = self._folder.readable(target_id(LIBRARY, target))
        return file.title if file else None

    # Targets

    def _target(self, rel: str, to: str) -> str:
        ref = self._named(to)
        if ref is not None:
            return self._reference(ref)
        kind = target_kind(to)
        if kind == "path":
            return self._path(rel, to)
        raise SlicebaseError("bad-link", f"{to} is neither an id nor a path", hint="link to a pointer for it")

    def _named(self, to: str) -> Ref | None:
        """Returns the complete reference of a target that is given by a reference or an id; None for other targets."""
        ref = short_ref(to)
        if ref is not None:
            return self._names.complete(ref)
        return self._names.ref(to, _NAMED, otherwise="file") if target_kind(to) == "id" else None

    def _reference(self, ref: Ref) -> str:
        """Returns a reference as it is stored: to a file as its id. Files, rows and turns that it names must exist."""
        if ref.kind in _OWNED:
            file = self._folder.find(ref.owner)
            if ref.kind == "file":
                return file.id or ref.owner
            if ref.kind == "row":
                return f"row:{file.id}/{self._logs.row(file, ref.local)[1].id}"
        elif ref.kind == "turn" and not self._knows_turn(ref.name):
            raise SlicebaseError("no-turn", f"there is no turn {ref.name}", hint="`tt turns` lists what is stored")
        return str(ref)

    def _path(self, rel: str, to: str) -> str:
        real = self._folder.inside(to)
        if real is None:
            raise outside_workspace(to)
        if not real.exists():
            raise SlicebaseError("no-file", f"there is no {to}", hint="a path starts at the folder of the slice file")
        if real.parent == self._folder.path and real.name.endswith(SUFFIX):
            return self._folder.read(real.name).id or to
        if real.is_dir() and rel != "routes_to":
            raise SlicebaseError("bad-link", f"{to} is a folder", hint="only routes_to may lead to a folder")
        return to

    def _id_of(self, to: str) -> str:
        """Returns the complete id or reference of a target that exists, else the target itself."""
        try:
            ref = self._named(to)
        except SlicebaseError as error:
            if error.code in ("ambiguous-id", "short-id"):
                raise
            return to
        if ref is not None:
            return ref.name if ref.kind == "file" else str(ref)
        name = target_id(LIBRARY, to)
        file = self._folder.readable(name)
        return (file.id if file else None) or name


def _derived(file: SliceFile, source: SliceFile, source_hash: str | None) -> SliceFile:
    """Returns the file with its source and the source's hash of this moment (§ Derived Files, ruling 24).

    A hash that was recorded before stays: only `refresh`, which replaces the text too, may say that it is up to date.
    """
    before = file.derived_from
    if before and before.id and before.id != source.id:
        raise SlicebaseError(
            "bad-link",
            f"the file is derived from {before.id} already",
            hint=f"a file is derived from one other file only; `tt disconnect {file.id} {_DERIVED} {before.id}` first",
            where=Where(file.name),
        )
    if before and before.id and before.hash:
        return file
    if source_hash is None:
        raise SlicebaseError(
            "bad-link",
            f"{source.id} is a pointer without a hash, so that nobody can tell when it changes",
            hint=f"`tt refresh {source.id}` records the hash of a local payload",
            where=Where(source.name),
        )
    return set_key(file, f"slice.{_DERIVED}", DerivationSource(source.id, source_hash))


def _links_to(file: SliceFile, rel: str, target: str) -> list[int]:
    """Returns the places of the links with this relationship to a target, which its path may name, too."""
    return [
        at
        for at, link in enumerate(file.links)
        if link.rel == rel and link.to and target in (link.to, target_id(LIBRARY, link.to))
    ]
