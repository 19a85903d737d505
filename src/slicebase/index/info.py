"""Everything that is known about one slice file."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import apsw
import msgspec

from slicebase.errors import SlicebaseError, Where
from slicebase.files.body.whole import object_version
from slicebase.files.check.between import PART_LINKS, FileLocation
from slicebase.files.check.file import check_parsed
from slicebase.files.explore import Stated
from slicebase.files.findings import FORMAT_RULES, Finding
from slicebase.files.slice_file import SliceFile
from slicebase.index.entries import FileEntry, find_file, get_file
from slicebase.index.links import links_into, links_out_of
from slicebase.index.payloads import with_payload_state
from slicebase.workspace.atomic import read_bytes
from slicebase.workspace.workspace import LIBRARY, Workspace


class Info(NamedTuple):
    """A slice file with its links in both directions."""

    entry: FileEntry
    file: SliceFile
    version: str  # of the file with all its parts
    links_out: Sequence[Stated]
    links_in: Sequence[Stated]
    findings: Sequence[Finding]  # what is wrong with the file by itself

    @property
    def is_wrong(self) -> bool:
        """Whether a finding is an error or a warning, or what the file is made from is not what it was.

        A hint says only what could be better.
        """
        return self.entry.is_outdated or any(FORMAT_RULES[finding.rule].severity != "hint" for finding in self.findings)

    def __repr__(self) -> str:
        links = f"links_out={len(self.links_out)}, links_in={len(self.links_in)}"
        return f"Info(ref={self.entry.ref!r}, {links}, findings={len(self.findings)})"

    def as_json(self, now: int, half_life: float) -> dict[str, Any]:
        """Returns everything as `tt info --json` prints it."""
        file = self.file
        fields = {
            "contract": file.contract,
            "meta": dict(file.meta),
            "payload": file.payload,
            "derived_from": file.derived_from,
            "version": self.version,
            "links": {
                "out": [each.as_json() for each in self.links_out],
                "in": [each.as_json() for each in self.links_in],
            },
            "findings": [
                {name: value for name, value in each._asdict().items() if name != "file"} for each in self.findings
            ],
        }
        return {**self.entry.as_json(now, half_life), **msgspec.to_builtins(fields)}


def file_info(connection: apsw.Connection, workspace: Workspace, given: str) -> Info:
    """Returns everything about the file with this id, which can be shortened (ruling 21)."""
    entry = with_payload_state(workspace.root, find_file(connection, given))
    name = f"{LIBRARY}/{entry.name}"
    try:
        data = read_bytes(workspace.library / entry.name)
    except FileNotFoundError:  # removed since the index was updated
        raise SlicebaseError("no-file", f"there is no file with the id {entry.id}", where=Where(name)) from None
    file = SliceFile.parse(data, name)
    checked = check_parsed(file, FileLocation(name, name))
    findings = checked.findings
    if not any(link.rel in PART_LINKS for link in file.links):
        findings = (*findings, *checked.log_findings)  # it is a log by itself
    version = object_version(file, lambda part_id: _bytes_of(connection, workspace, part_id))
    return Info(entry, file, version, links_out_of(connection, entry.id), links_into(connection, entry.id), findings)


def _bytes_of(connection: apsw.Connection, workspace: Workspace, file_id: str) -> bytes | None:
    entry = get_file(connection, file_id)
    try:
        return read_bytes(workspace.library / entry.name) if entry else None
    except (SlicebaseError, FileNotFoundError):
        return None
