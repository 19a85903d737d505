"""The proof of a stored context slice: a bundle, a SliceExport, or a SliceExport of the published kernel.

`examine` checks what can be checked without a workspace: the checklist of §11 and the order of §6.2; of a bundle also
every hash, its signature, and that the selection follows from the policy and from the graph in the bundle.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, Literal, NamedTuple

from msgspec import to_builtins

from slicebase.core.parsers import read_json
from slicebase.errors import Exit, SlicebaseError
from slicebase.graph.bundle import (
    AroundGraph,
    Bundle,
    GraphAround,
    is_signed_by,
    looked_at_beside,
    read_bundle,
    snapshot_hash,
)
from slicebase.graph.export import SCHEMA_VERSION, ExportFinding, SliceExport, checklist, read_export
from slicebase.graph.kernel_export import KernelExport, read_ours_or_kernel
from slicebase.graph.policy import PRESETS, SlicePolicyV1, policy_from
from slicebase.graph.select import select

ProofStatus = Literal["VERIFIED", "CONSISTENT", "DRIFTED", "PURGED", "UNVERIFIABLE", "BROKEN"]
Kind = Literal["bundle", "export", "kernel export"]

_EXITS: Final[dict[ProofStatus, Exit]] = {
    "VERIFIED": Exit.DONE,
    "CONSISTENT": Exit.DONE,
    "DRIFTED": Exit.DONE,
    "PURGED": Exit.UNVERIFIABLE,
    "UNVERIFIABLE": Exit.UNVERIFIABLE,
    "BROKEN": Exit.FINDINGS,
}


class Unchecked(NamedTuple):
    """A check that could not be made, and why. What `stops` it leaves nothing that could be relied on."""

    check: str
    why: str
    stops: bool = False


class Drift(NamedTuple):
    """What has changed in the graph since, as it may."""

    what: Literal["new turns", "new edges", "new annotations"]
    refs: tuple[str, ...]


class SliceProof(NamedTuple):
    """The result of checking a stored context slice.

    VERIFIED: the workspace gives exactly this. CONSISTENT: there is no workspace with its turns, and its parts agree.
    DRIFTED: it was right, and the graph has grown or was annotated again. PURGED: the content of a turn was purged.
    UNVERIFIABLE: something that it needs is missing. BROKEN: something contradicts it.
    """

    status: ProofStatus
    kind: Kind
    export: SliceExport
    findings: tuple[ExportFinding, ...] = ()
    drift: tuple[Drift, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()
    explained: tuple[str, ...] = ()  # what explains another slice_id: spelling, ties

    @property
    def exit(self) -> Exit:
        """The exit status of `tt slice --verify`."""
        return _EXITS[self.status]

    def as_json(self) -> dict[str, Any]:
        """Returns the result as plain values."""
        return {
            "status": self.status,
            "kind": self.kind,
            "slice_id": self.export.slice_id,
            "anchor_turn_id": self.export.anchor_turn_id,
            "policy_params_hash": self.export.policy_params_hash,
            "findings": [to_builtins(each) for each in self.findings],
            "drift": [{"what": each.what, "refs": list(each.refs)} for each in self.drift],
            "unchecked": [{"check": each.check, "why": each.why} for each in self.unchecked],
            "explained": list(self.explained),
        }

    def __repr__(self) -> str:
        return f"SliceProof(status={self.status!r}, kind={self.kind!r}, slice_id={self.export.slice_id!r})"


class ExaminedSlice(NamedTuple):
    """A stored context slice, and what is known about it without a workspace."""

    kind: Kind
    export: SliceExport
    bundle: Bundle | None
    policy: SlicePolicyV1 | None
    findings: tuple[ExportFinding, ...]
    unchecked: tuple[Unchecked, ...]
    explained: tuple[str, ...]

    def proof(self, status: ProofStatus | None = None, **more: Any) -> SliceProof:
        """Returns the result, with this status unless a finding or a missing part says otherwise."""
        fields = {name: getattr(self, name) for name in ("kind", "export", "findings", "unchecked", "explained")} | more
        if fields["findings"]:
            status = "BROKEN"
        elif any(each.stops for each in fields["unchecked"]):
            status = "UNVERIFIABLE"
        return SliceProof(status or "CONSISTENT", **fields)


FindPolicy = Callable[[str], SlicePolicyV1 | None]


def examine(
    data: bytes,
    *,
    key: bytes | None = None,
    policy: SlicePolicyV1 | None = None,
    find_policy: FindPolicy = PRESETS.by_hash.get,
) -> ExaminedSlice:
    """Checks a stored context slice without a workspace. Raises an error for bytes that are none.

    `key` checks the signature of a bundle. A SliceExport names its policy by a hash: `policy` is the policy, unless
    `find_policy` knows it.
    """
    if _is_bundle(data):
        return _examined_bundle(data, read_bundle(data), key, policy)
    stored = read_ours_or_kernel(data)
    export = stored.export if isinstance(stored, KernelExport) else stored
    chosen = policy or find_policy(export.policy_params_hash)
    findings = [*checklist(export, chosen), *_order(export)]
    explained: tuple[str, ...] = ()
    unchecked = [] if chosen else [Unchecked("budget", f"no policy {export.policy_params_hash} is known here")]
    if key is not None:
        findings.append(ExportFinding("signature", "there is none", "a signature", None))
    if isinstance(stored, KernelExport):
        unchecked += [Unchecked(name, "how the kernel makes it is not known") for name in stored.further]
        if export.slice_id == stored.fingerprint != export.fingerprint:
            findings = [each for each in findings if each.check != "slice-id"]
            explained = ("spelling",)
    kind: Kind = "kernel export" if isinstance(stored, KernelExport) else "export"
    return ExaminedSlice(kind, export, None, chosen, tuple(findings), tuple(unchecked), explained)


def _is_bundle(data: bytes) -> bool:
    value = read_json(data)
    return isinstance(value, dict) and "anchor_turn_id" not in value


def _examined_bundle(data: bytes, bundle: Bundle, key: bytes | None, given: SlicePolicyV1 | None) -> ExaminedSlice:
    try:
        export = read_export(bundle.export.encode())
    except SlicebaseError as error:
        raise SlicebaseError(error.code, f"the export in the bundle: {error.message}", hint=error.hint) from None
    policy = policy_from(bundle.policy)
    findings = list(_bundle_findings(data, bundle, export, policy))
    if given is not None and given != policy:
        hashes = given.params_hash, policy.params_hash
        findings.append(ExportFinding("policy", "the bundle has another policy", *hashes))
    unchecked: tuple[Unchecked, ...] = ()
    if bundle.signature is not None and key is None:
        unchecked = (Unchecked("signature", "no key was given", stops=True),)
    elif key is not None and not is_signed_by(bundle, key):
        found = bundle.signature and bundle.signature.value
        findings.append(ExportFinding("signature", "the bundle is not signed with this key", "its signature", found))
    return ExaminedSlice("bundle", export, bundle, policy, tuple(findings), unchecked, ())


def _bundle_findings(
    data: bytes, bundle: Bundle, export: SliceExport, policy: SlicePolicyV1
) -> Iterator[ExportFinding]:
    """Yields what contradicts itself in a bundle, from the bytes to the selection."""
    if bundle.to_bytes() != data:
        yield ExportFinding("bytes", "the bundle is not written as its values give it", None, None)
    if export.to_bytes() != bundle.export.encode():
        yield ExportFinding("export-bytes", "the export is not written as its values give it", None, None)
    if policy.as_json() != bundle.policy:
        yield ExportFinding("policy", "the policy is not complete, or not in its form", policy.as_json(), bundle.policy)
    failed = [*checklist(export, policy), *_order(export)]
    yield from failed
    if not bundle.annotators or list(bundle.annotators) != sorted({*bundle.annotators}):
        yield ExportFinding("annotators", "they are not in their order, or there are none", None, bundle.annotators)
    if not _is_around(bundle.graph, export):
        yield ExportFinding("graph", "the graph in the bundle is not that of the export", None, None)
        return
    derived = snapshot_hash(export, bundle.graph, bundle.annotators)
    if derived != bundle.graph_snapshot_hash:
        message = "the graph in the bundle has another hash"
        yield ExportFinding("graph-snapshot-hash", message, derived, bundle.graph_snapshot_hash)
    known = {turn.id for turn in export.turns}
    within = {(parent, turn.id) for turn in bundle.graph.turns for parent in turn.parents if parent in known}
    if within != {(edge.parent, edge.child) for edge in export.edges}:
        yield ExportFinding("edges", "the edges are not those of the graph in the bundle", None, None)
    if not failed:
        yield from _selection_findings(bundle.graph, export, policy)


def _is_around(around: GraphAround, export: SliceExport) -> bool:
    """Returns whether a graph has the turns of the export and others as siblings, all in the order of ids."""
    turns, siblings = [turn.id for turn in export.turns], [each.id for each in around.siblings]
    if [turn.id for turn in around.turns] != turns or siblings != sorted({*siblings} - {*turns}):
        return False
    parents = [(each.id, each.parents) for each in around.turns] + [(each.id, each.parents) for each in around.siblings]
    return all(list(above) == sorted({*above} - {turn}) for turn, above in parents)


def _selection_findings(around: GraphAround, export: SliceExport, policy: SlicePolicyV1) -> Iterator[ExportFinding]:
    """Yields a finding where the selection, or what it looked at, does not follow from the graph in the bundle."""
    turns = [turn.id for turn in export.turns]
    graph = AroundGraph(export, around)
    selected = sorted(each.turn_id for each in select(graph, export.anchor_turn_id, policy))
    if selected != turns:
        message = "the policy selects other turns from the graph in the bundle"
        yield ExportFinding("selection", message, selected, turns)
        return
    siblings, looked_at = [each.id for each in around.siblings], looked_at_beside(graph, {*turns}, policy)
    if looked_at != siblings:
        message = "the siblings in the bundle are not those that the selection looked at"
        yield ExportFinding("graph", message, looked_at, siblings)


def _order(export: SliceExport) -> Iterator[ExportFinding]:
    """Yields a finding where turns or edges are not in the order of §6.2, or one is there twice; also ruling 13.

    The schema is checked, too: the slice_id covers its version, but whoever writes another one can make that again.
    """
    if export.schema_version != SCHEMA_VERSION:
        message = "the schema of the export is not known"
        yield ExportFinding("schema-version", message, SCHEMA_VERSION, export.schema_version)
    turns = [turn.id for turn in export.turns]
    if turns != sorted(set(turns)):
        yield ExportFinding("order", "the turns are not in the order of their ids, or one is there twice", None, None)
    if len({turn.session_id for turn in export.turns}) > 1:
        yield ExportFinding("session", "the turns are of several sessions, and a slice stays in one", None, None)
    if list(export.edges) != sorted(set(export.edges)):
        yield ExportFinding("order", "the edges are not in their order, or one is there twice", None, None)
