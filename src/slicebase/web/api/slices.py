"""Context slices around turns, and the policies that they are selected with."""

from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import Meta, Struct

from slicebase.core.ids import is_uuid
from slicebase.graph.export import ContextSlice
from slicebase.graph.policy import SlicePolicyV1, policy_with
from slicebase.verbs.drawn import DrawnSlice
from slicebase.verbs.tree import MOST_ROWS
from slicebase.web.endpoints import Name, Nothing, Parameters, Raw, get

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.verbs.policies import PolicyEntry


class SliceQuery(Parameters, frozen=True, kw_only=True):
    """A turn and a policy: a name or a hash, and parameters that replace those of it."""

    turn: Name
    policy: Annotated[str, Meta(max_length=200, description="A name or a hash.")] = "default"
    max_nodes: int | None = None
    max_radius: int | None = None
    synthesis: float | None = None
    planning: float | None = None
    consolidation: float | None = None
    debugging: float | None = None
    exploration: float | None = None
    salience_weight: float | None = None
    distance_decay: float | None = None
    include_siblings: bool | None = None
    max_siblings_per_node: int | None = None


_SMALL: Final = 1000  # turns that a slice may select in the event loop
_WEIGHTS: Final = ("synthesis", "planning", "consolidation", "debugging", "exploration")
_OTHERS: Final = (
    "max_nodes", "max_radius", "salience_weight", "distance_decay", "include_siblings", "max_siblings_per_node",
)  # fmt: skip


def policy_of(memory: "Slicebase", asked: SliceQuery) -> SlicePolicyV1:
    """Returns the policy that a request asks for, by its name or hash: never one in a file of this machine."""
    base, changes = memory.graph.requested_policy(asked.policy), assignments(asked)
    return policy_with(base, changes) if changes else base


def assignments(asked: SliceQuery) -> list[str]:
    """Returns the parameters of a request that replace those of its policy, as `tt slice --set` takes them."""
    named = [(f"phase_weights.{name}", getattr(asked, name)) for name in _WEIGHTS]
    named += [(name, getattr(asked, name)) for name in _OTHERS]
    return [f"{name}={_written(value)}" for name, value in named if value is not None]


def _written(value: float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def select(memory: "Slicebase", asked: SliceQuery) -> Raw:
    """Returns the context slice around a turn: the SliceExport, byte for byte."""
    return _exported(memory.graph.select(asked.turn, policy_of(memory, asked)))


def select_now(memory: "Slicebase", asked: SliceQuery) -> Raw | None:
    """Returns what `select` returns, where that takes no time: the session is cached, and the slice is small."""
    if "truth" not in memory.__dict__ or not is_uuid(asked.turn):
        return None
    with memory.truth.database.without_waiting():
        policy = policy_of(memory, asked)
        if policy.max_nodes > _SMALL:
            return None
        found = memory.truth.sessions.kept_slice_around(asked.turn, policy)
    return None if found is None else _exported(found)


def _exported(found: ContextSlice) -> Raw:
    return Raw(found.export, {"etag": f'"{found.export_hash}"', "slice-id": found.slice_id})


class DrawQuery(SliceQuery, frozen=True, kw_only=True):
    """A turn, a policy, and the rows of the tree that are seen."""

    first: Annotated[int, Meta(ge=0, le=2**53 - 1)] = 0
    limit: Annotated[int, Meta(ge=0, le=MOST_ROWS)] = 0


def draw(memory: "Slicebase", asked: DrawQuery) -> DrawnSlice:
    """Returns the context slice around a turn as it is drawn on the tree of its session."""
    base = memory.graph.requested_policy(asked.policy)  # a name or a hash, never a file
    given = assignments(asked)
    return memory.graph.draw(asked.turn, base, given, name=asked.policy, first=asked.first, limit=asked.limit)


class PolicyRow(Struct, frozen=True):
    """A policy: its names, its hash, where it comes from, and its parameters."""

    policy: str
    params_hash: str
    names: tuple[str, ...]
    origin: str
    saved: str
    by: str
    source: str
    parameters: dict[str, Any]


class PolicyList(Struct, frozen=True):
    """The presets, and the policies that are stored."""

    policies: tuple[PolicyRow, ...]


def list_policies(memory: "Slicebase", asked: Nothing) -> PolicyList:
    """Lists the policies of context slices."""
    return PolicyList(tuple(map(policy_row, memory.policies.list_policies())))


def policy_row(entry: "PolicyEntry") -> PolicyRow:
    """Returns a policy as the API shows it."""
    return PolicyRow(
        entry.id, entry.policy.params_hash, entry.names, entry.origin, entry.saved, entry.by, entry.source,
        {**entry.policy.as_json()},
    )  # fmt: skip


ENDPOINTS: Final = (
    get("/slices/{turn}", "graph.select", select, now=select_now),
    get("/slices/{turn}/drawn", "graph.draw", draw),
    get("/policies", "policies.list_policies", list_policies),
)
