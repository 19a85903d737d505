"""What the log of a run says about manifests and sources: the events, and whether a manifest agrees (ruling 54)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from itertools import zip_longest

from msgspec.structs import asdict, replace

from slicebase.core.hashing import canonical
from slicebase.runs.event import MAX_PAYLOAD, Event, EventDraft
from slicebase.runs.records import ManifestLogged, SourceLogged, StateInherited
from slicebase.runs.state import Json
from slicebase.runs.values import each_of

# What a log says about each manifest that is known; None for one that was purged.
ManifestsLogged = Mapping[str, ManifestLogged | None]
BoundSteps = Callable[[Set[int]], Set[int]]  # returns which of these steps have manifests in the log before
_DEFAULTS = ManifestLogged(manifest_id="")


def differences(payload: Mapping[str, Json], known: ManifestLogged) -> Iterator[str]:
    """Yields the fields of a MANIFEST event that are not those of its manifest. An absent one has its default.

    Chunks that do not fit into the event follow in SOURCE events.
    """
    for name, value in asdict(known).items():
        found, expected = payload.get(name, getattr(_DEFAULTS, name)), value
        if isinstance(expected, tuple):  # the state takes a value that is not a list as a list of one
            found = found if isinstance(found, tuple) else tuple(each_of(found))
            expected = expected[: len(found)] if name == "chunk_ids" else expected
        if found != expected and not _is_mistyped(found, expected):
            yield name


def _is_mistyped(found: Json, expected: object) -> bool:
    """Returns whether the check of keys and types reports a value of a MANIFEST event, since the snapshot has it."""
    if isinstance(expected, tuple):
        return not all(isinstance(each, str) for each in found)
    if isinstance(expected, dict):
        return not isinstance(found, dict) or not all(type(number) is int for number in found.values())
    return isinstance(expected, int) and type(found) is not int


def no_steps(steps: Set[int]) -> Set[int]:
    """Knows no manifests before these events."""
    return frozenset()


def steps_without_manifest(events: Iterable[Event], bound_before: BoundSteps = no_steps) -> list[int]:
    """Returns the steps that have an action in these events, and no manifest in them or before.

    An action without content is none: a step that is ended logs what it did not. The log before is asked only about
    steps that would fail.
    """
    acted, bound = dict[int, None](), set[int]()
    for event in events:
        if event.step is not None and event.type == "MANIFEST":
            bound.add(event.step)
        elif event.step is not None and event.type == "ACT_DONE" and event.payload:
            acted[event.step] = None
    unbound = acted.keys() - bound
    before = bound_before(unbound) if unbound else frozenset()
    return [step for step in acted if step in unbound and step not in before]


# The events


def source_events(source_ids: Iterable[str], chunk_ids: Iterable[str], step: int | None = None) -> Iterator[EventDraft]:
    """Yields SOURCE events for these ids, as many as their size needs."""
    for sources, chunks in zip_longest(_batches(source_ids), _batches(chunk_ids), fillvalue=()):
        yield EventDraft.of("SOURCE", SourceLogged(source_ids=sources, chunk_ids=chunks), step=step)


def inherited_events(chunk_ids: Iterable[str], manifest_ids: Iterable[str], policy: str | None) -> Iterator[EventDraft]:
    """Yields INHERITED events for what a fork cites no more and has not seen itself; none if there is nothing."""
    batches = list(zip_longest(_batches(chunk_ids), _batches(manifest_ids), fillvalue=()))
    for chunks, manifests in batches or ([((), ())] if policy is not None else []):
        inherited = StateInherited(chunk_ids_cited=chunks, manifest_ids=manifests, policy_snapshot_ref=policy)
        yield EventDraft.of("INHERITED", inherited)


def manifest_events(manifest: ManifestLogged, step: int | None = None) -> Iterator[EventDraft]:
    """Yields the event of a manifest, and SOURCE events for the selected chunks that do not fit into its payload."""
    first, *rest = list(_batches(manifest.chunk_ids)) or [()]
    yield EventDraft.of("MANIFEST", replace(manifest, chunk_ids=first), step=step)
    yield from source_events((), (chunk_id for batch in rest for chunk_id in batch), step=step)


_BATCH = MAX_PAYLOAD // 2 - 1024  # bytes of ids; a payload contains at most two batches


def _batches(ids: Iterable[str]) -> Iterator[tuple[str, ...]]:
    batch: list[str] = []
    size = 0
    for name in ids:
        size += len(canonical(name)) + 1
        if batch and size > _BATCH:
            yield tuple(batch)
            batch, size = [], len(canonical(name)) + 1
        batch.append(name)
    if batch:
        yield tuple(batch)
