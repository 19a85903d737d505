"""The chain of seals, for people to look at: what each seal covers, of which database it is, and whether it holds."""

from typing import Literal, NamedTuple

from slicebase.errors import SlicebaseError
from slicebase.files.slice_file import SliceFile
from slicebase.index.entries import Filters
from slicebase.truth.acts import identities
from slicebase.verbs.parts import Parts
from slicebase.verbs.seal import KIND, SealedLog, broken_seals, find_seal, is_seal, sealed_log
from slicebase.verbs.verify_chains import VerifyFinding
from slicebase.verbs.witnesses import is_ours

SealState = Literal["holds", "drifted", "broken", "foreign", "unverifiable"]


class SealReport(NamedTuple):
    """What a seal says, and how it compares with what is stored."""

    file: SliceFile
    log: SealedLog | None  # None if its first line cannot be read
    chains: int
    files: int
    state: SealState
    findings: tuple[VerifyFinding, ...]


def seals(parts: Parts) -> list[SliceFile]:
    """Returns the seals of the library that can be read, the last written one first. Only these files are read."""
    found = []
    for entry in parts.finder.list_files(Filters(meta={"slicebase": KIND}, archived=True)):
        try:
            file = parts.folder.read(entry.name)
        except (SlicebaseError, FileNotFoundError):
            continue
        found += [file] if is_seal(file) else []
    return sorted(found, key=lambda file: (file.updated_at or "", file.id or ""), reverse=True)


def seal_report(parts: Parts, name: str | SliceFile, *, with_files: bool) -> SealReport:
    """Compares a seal with the chains of the database and, with `with_files`, with the library, which takes longer."""
    file = find_seal(parts.folder, name) if isinstance(name, str) else name
    if not is_seal(file):
        raise SlicebaseError("no-file", f"{file.id} is no seal", hint="`tt list --meta slicebase=seal` shows them")
    log, lines = sealed_log(file), file.body.splitlines(keepends=True)
    of_files = sum(line.startswith(b'["file",') for line in lines)
    chains = sum(line.startswith(b'["chain",') for line in lines)
    if log is None or not is_ours(log, identities(parts.truth.database.connection)):
        return SealReport(file, log, chains, of_files, "foreign" if log else "unverifiable", ())
    compared = lines if with_files else [line for line in lines if not line.startswith(b'["file",')]
    with parts.truth.database.reading():
        findings = tuple(broken_seals(parts.truth, parts.folder, file.with_body(b"".join(compared))))
    return SealReport(file, log, chains, of_files, _state(findings), findings)


def _state(findings: tuple[VerifyFinding, ...]) -> SealState:
    seen = {finding.status for finding in findings}
    if "BROKEN" in seen:
        return "broken"
    if "UNVERIFIABLE" in seen:
        return "unverifiable"
    return "drifted" if seen else "holds"
