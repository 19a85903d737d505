"""Links between files: to targets that exist in the workspace, under their lasting names (§ Addressing, ruling 29)."""

from collections.abc import Callable, Iterable
from typing import Final

from slicebase.core.refs import Ref, parse
from slicebase.errors import SlicebaseError, Where
from slicebase.files.links import RELATIONSHIPS, SUFFIX, target_id, target_kind
from slicebase.files.model import DerivationSource, Link
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import append_item, remove_item
from slicebase.library.folder import Logs, SliceFolder, outside_workspace
from slicebase.workspace.workspace import LIBRARY

_OWNED: Final = ("file", "row", "sec")  # references into slice files


class Linker:
    """Creates and removes links. `knows_turn` asks the truth; it is called only for a link that names a turn."""

    def __init__(self, folder: SliceFolder, logs: Logs, knows_turn: Callable[[str], bool]) -> None:
        self._folder = folder
        self._logs = logs
        self._knows_turn = knows_turn

    def connected(self, file: SliceFile, rel: str, to: str, label: str | None) -> SliceFile:
        """Returns the file with one more link; a link that exists already stays as it is."""
        link = self.link(file.id or "", rel, to, label)
        known = any((each.rel, each.to) == (link.rel, link.to) for each in file.links)
        return file if known else append_item(file, "slice.links", link)

    def disconnected(self, file: SliceFile, rel: str, to: str) -> SliceFile:
        """Returns the file without a link, whether or not the link's target still exists."""
        wanted = self._id_of(to)
        positions = [
            at
            for at, link in enumerate(file.links)
            if link.rel == rel and link.to and wanted in (link.to, target_id(LIBRARY, link.to))
        ]
        if not positions:
            known = ", ".join(f"{link.rel}:{link.to}" for link in file.links)
            hint = f"its links are {known}" if known else "it has no links"
            raise SlicebaseError("no-link", f"the file has no link {rel} to {to}", hint=hint, where=Where(file.name))
        for at in reversed(positions):
            file = remove_item(file, "slice.links", at)
        return file

    def link(self, source: str, rel: str, to: str, label: str | None = None) -> Link:
        """Returns a link as it is stored: with the complete id where a prefix or a path was given."""
        if rel not in RELATIONSHIPS:
            hint = f"relationships are {', '.join(RELATIONSHIPS)}"
            raise SlicebaseError("bad-link", f"{rel!r} is not a relationship", hint=hint)
        target = self._target(rel, to)
        if target == source:
            raise SlicebaseError("bad-link", "a file cannot link to itself")
        return Link(rel, target, label)

    def source(self, links: Iterable[Link]) -> DerivationSource | None:
        """Returns the source of a new derived file, with the source's current hash (§ Derived Files)."""
        sources = [link.to for link in links if link.rel == "derived_from"]
        if len(sources) > 1:
            hint = "link to the others with another relationship"
            raise SlicebaseError("bad-link", "a file is derived from one other file only", hint=hint)
        original = self._folder.find(sources[0] or "") if sources else None
        return DerivationSource(original.id, original.hash) if original else None

    def title_of(self, target: str) -> str | None:
        """Returns the title of the file that a link or a step of a routine leads to."""
        file = self._folder.readable(target_id(LIBRARY, target))
        return file.title if file else None

    # Targets

    def _target(self, rel: str, to: str) -> str:
        kind = target_kind(to)
        if kind == "reference":
            return self._reference(parse(to))
        if kind == "path":
            return self._path(rel, to)
        if kind == "uri":
            raise SlicebaseError("bad-link", f"{to} is neither an id nor a path", hint="link to a pointer for it")
        return self._folder.find(to).id or to

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
        """Returns the complete id of a target that is an existing file, else the target itself."""
        name = target_id(LIBRARY, to)
        file = self._folder.readable(name)
        return (file.id if file else None) or name
