"""What a snapshot says that the one before does not: storage keeps this, since snapshots are cumulative (ruling 37)."""

from collections.abc import Mapping

from slicebase.runs.state import ITEMS, Json

_COLLECTIONS = {kind.collection: kind.id for kind in ITEMS.values()}


def delta(previous: Mapping[str, Json], snapshot: Mapping[str, Json]) -> dict[str, Json]:
    """For two snapshots of a run, of which the second follows the first."""
    before, after = previous["state"], snapshot["state"]
    change = {
        name: [item for item in items if item["changed"] == snapshot["sequence"]] if name in _COLLECTIONS else items
        for name, items in after.items()
    }
    change["source_coverage"] = {
        name: ids[len(before["source_coverage"][name]) :] for name, ids in after["source_coverage"].items()
    }
    return {name: change if name == "state" else value for name, value in snapshot.items()}


def patched(previous: Mapping[str, Json], change: Mapping[str, Json]) -> dict[str, Json]:
    """The snapshot that a delta was made from."""
    before, after = previous["state"], change["state"]
    state = {
        name: _merged(before[name], value, _COLLECTIONS[name]) if name in _COLLECTIONS else value
        for name, value in after.items()
    }
    state["source_coverage"] = {
        name: before["source_coverage"][name] + ids for name, ids in after["source_coverage"].items()
    }
    return {name: state if name == "state" else value for name, value in change.items()}


def _merged(before: list[Json], after: list[Json], key: str) -> list[Json]:
    """Items at their first places, as they are now."""
    return list({item[key]: item for items in (before, after) for item in items}.values())
