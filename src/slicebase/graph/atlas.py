"""Which turns of a session matter: what the context slices of many anchors have in common.

The slice of each anchor is selected, and each turn counts the slices of *other* anchors in which it stands: every turn
stands in its own. All figures are integers (millionths where they are fractions), so that sums do not depend on their
order, and the same session, anchors and policy give the same atlas on every machine (ruling 43).
"""

from array import array
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from heapq import nsmallest
from itertools import pairwise
from operator import add
from typing import Annotated, Any, Final, NamedTuple

from msgspec import Meta, Struct

from slicebase.core.hashing import LARGEST_INTEGER, digest_of_pieces
from slicebase.graph.best_first import NO_TURN, Entry, expand
from slicebase.graph.compact import TURN_KINDS, CompactSession
from slicebase.graph.policy import MILLION, SlicePolicyV1
from slicebase.graph.turn import Role

ATLAS: Final = "atlas/1"  # what the figures mean; it changes when they do
NOTHING_ABOVE: Final = -1
_KEPT_SLICES: Final = 4096  # of anchors whose descendants may follow


class AnchorChoice(Struct, frozen=True, forbid_unknown_fields=True):
    """Which turns of a session are anchors: those with these roles (all if empty), or so many of them."""

    roles: tuple[Role, ...] = ()
    sample: Annotated[int, Meta(ge=1, le=LARGEST_INTEGER)] | None = None


def chosen_anchors(session: CompactSession, choice: AnchorChoice) -> Sequence[int]:
    """Returns the anchors in order of time and id. A sample is spread evenly over that order."""
    kinds = {number for number, (role, _) in enumerate(TURN_KINDS) if not choice.roles or role in choice.roles}
    kind, rank = session.columns.kind, session.columns.rank
    turns = [turn for turn in range(len(session)) if kind[turn] in kinds]
    times = [fields[-1] for fields in session.columns.packing.iter_unpack(session.columns.rest)]
    turns.sort(key=lambda turn: (times[turn], rank[turn]))
    if choice.sample is None or choice.sample >= len(turns):
        return turns
    return [turns[place * len(turns) // choice.sample] for place in range(choice.sample)]


class Survey(NamedTuple):
    """The figures of a session. Those of turns are indexed by turn, those of anchors are in the order of `anchors`."""

    anchors: Sequence[int]
    slices: Sequence[int]  # by turn: how many slices of other anchors have it
    influence: Sequence[int]  # by turn: the sum of its priorities in them, in millionths
    carried: Sequence[int]  # by turn: how many turns of these slices were reached through it
    sizes: Sequence[int]  # by anchor: how many turns its slice has
    above: Sequence[int]  # by anchor: the nearest anchor above it, or NOTHING_ABOVE
    shared: Sequence[int]  # by anchor: how many turns its slice and that of the anchor above have in common


class Counted(NamedTuple):
    """What some of the anchors add to a survey."""

    slices: "array[int]"
    influence: Sequence[int]
    carried: "array[int]"
    sizes: "array[int]"
    shared: "array[int]"


def survey(
    session: CompactSession,
    anchors: Sequence[int],
    policy: SlicePolicyV1,
    run: "Callable[[Callable[[slice], Counted], list[slice]], Iterable[Counted]]" = map,
    parts: int = 1,
) -> Survey:
    """Selects the slice of each anchor, and counts; compiled where the session has a kernel.

    `run` calls a function for each of so many parts of the anchors. Compiled, several threads can do that at once.
    """
    above = anchors_above(session, anchors)
    count = _count_compiled if session.kernel is not None and _fits(policy, len(anchors)) else count_plain
    bounds = [len(anchors) * part // parts for part in range(parts + 1)]

    def counted(part: slice) -> Counted:
        return count(session, anchors[part], above[part], policy)

    total, *others = run(counted, [slice(*each) for each in pairwise(bounds)])
    for more in others:
        total = Counted(
            array("I", map(add, total.slices, more.slices)),
            list(map(add, total.influence, more.influence)),
            array("Q", map(add, total.carried, more.carried)),
            total.sizes + more.sizes,
            total.shared + more.shared,
        )
    return Survey(anchors, *total[:4], above, total.shared)


def _fits(policy: SlicePolicyV1, anchors: int) -> bool:
    """Returns whether the sum of so many priorities is an integer of 64 bits, whatever the turns are."""
    highest = max(map(abs, policy.scoring.weights)) + policy.scoring.salience_weight
    return MILLION * (highest + 1) * anchors < 2**62


def _count_compiled(
    session: CompactSession, anchors: Sequence[int], above: Sequence[int], policy: SlicePolicyV1
) -> Counted:
    assert session.kernel is not None
    found = session.kernel.survey(anchors, above, policy)
    slices, influence, carried, sizes, shared = (array(code, each) for code, each in zip("IqQII", found, strict=True))
    return Counted(slices, influence, carried, sizes, shared)


def count_plain(
    session: CompactSession, anchors: Sequence[int], above: Sequence[int], policy: SlicePolicyV1
) -> Counted:
    """Counts without a kernel."""
    slices, carried = array("I", bytes(4 * len(session))), array("Q", bytes(8 * len(session)))
    influence = [0] * len(session)
    selected = _Selections(lambda turn: expand(session, turn, policy))
    sizes, shared = array("I"), array("I")
    for anchor, upper in zip(anchors, above, strict=True):
        entries, turns = selected[anchor]
        sizes.append(len(entries))
        shared.append(0 if upper == NOTHING_ABOVE else len(turns & selected[upper][1]))
        through: defaultdict[int, int] = defaultdict(int)
        for negated, _, _, turn, source, _ in reversed(entries):  # a turn comes after the one that it was reached from
            if turn != anchor:
                slices[turn] += 1
                influence[turn] += round(-negated * MILLION)
                carried[turn] += through[turn]
                through[source] += through[turn] + 1
    return Counted(slices, influence, carried, sizes, shared)


class _Selections:
    """The slices of anchors. Those that were used last are kept: the next anchors are mostly below them."""

    def __init__(self, expanded: Callable[[int], list[Entry]]) -> None:
        self._expanded = expanded
        self._kept: OrderedDict[int, tuple[list[Entry], set[int]]] = OrderedDict()

    def __getitem__(self, anchor: int) -> tuple[list[Entry], set[int]]:
        if anchor not in self._kept:
            entries = self._expanded(anchor)
            self._kept[anchor] = entries, {entry[3] for entry in entries}
            if len(self._kept) > _KEPT_SLICES:
                self._kept.popitem(last=False)
        self._kept.move_to_end(anchor)
        return self._kept[anchor]


def anchors_above(session: CompactSession, anchors: Iterable[int]) -> "array[int]":
    """Returns for each anchor the nearest anchor above it, by the first parents in the order of ids."""
    wanted, rank = set(anchors), session.columns.rank
    nearest: dict[int, int] = {}  # by turn: the nearest anchor above it

    def first_parent(turn: int) -> int:
        return min(session.parents_of(turn), key=rank.__getitem__, default=NO_TURN)

    def look_up(turn: int) -> int:
        path = [turn]
        while (turn := first_parent(turn)) != NO_TURN and turn not in wanted and turn not in nearest:
            path.append(turn)
        found = turn if turn in wanted else nearest.get(turn, NOTHING_ABOVE)
        nearest.update(dict.fromkeys(path, found))
        return found

    return array("q", map(look_up, anchors))


# Results


class TurnFigure(NamedTuple):
    """A turn in an atlas."""

    turn: str
    slices: int
    influence: int  # millionths
    carried: int


class Seam(NamedTuple):
    """Where the context changes: an anchor, the anchor above it, and how much their slices have in common."""

    turn: str
    above: str
    overlap: int  # millionths: what both slices have, of what either has


class SessionAtlas:
    """The atlas of one session."""

    def __init__(self, session: CompactSession, found: Survey) -> None:
        self.session = session
        self.survey = found

    @property
    def session_id(self) -> str:
        """The id of the session."""
        return self.session.session_id

    @cached_property
    def digest(self) -> str:
        """The digest of all figures: those of the turns, then those of the anchors, each in the order of ids."""
        return digest_of_pieces(line.encode() for line in self._lines())

    def _lines(self) -> Iterator[str]:
        session, found = self.session, self.survey
        for turn in session.by_id:
            yield f"{session.id_of(turn)} {found.slices[turn]} {found.influence[turn]} {found.carried[turn]}\n"
        rank = session.columns.rank
        for place in sorted(range(len(found.anchors)), key=lambda place: rank[found.anchors[place]]):
            above = found.above[place]
            name = "-" if above == NOTHING_ABOVE else session.id_of(above)
            yield f"{session.id_of(found.anchors[place])} {found.sizes[place]} {name} {found.shared[place]}\n"

    @property
    def reached(self) -> int:
        """How many turns stand in the slice of another turn."""
        return len(self.session) - self.survey.slices.count(0)

    def unreached(self, limit: int | None = None) -> list[str]:
        """Returns the turns that stand in no slice but perhaps their own, by id."""
        session, slices = self.session, self.survey.slices
        found = (session.id_of(turn) for turn in session.by_id if not slices[turn])
        return list(found) if limit is None else [turn for turn, _ in zip(found, range(limit), strict=False)]

    def figures(self, limit: int, *, by_bridge: bool = False) -> list[TurnFigure]:
        """Returns the turns with most influence, or the bridges: those through which most turns were reached."""
        found, rank = self.survey, self.session.columns.rank
        values = found.carried if by_bridge else found.influence
        listed = (turn for turn in range(len(self.session)) if found.slices[turn] and (values[turn] or not by_bridge))
        best = nsmallest(limit, listed, key=lambda turn: (-values[turn], rank[turn]))
        return [
            TurnFigure(self.session.id_of(turn), found.slices[turn], found.influence[turn], found.carried[turn])
            for turn in best
        ]

    def overlaps(self) -> Iterator[tuple[int, int]]:
        """Yields the places of the anchors that have one above, each with the overlap of both slices in millionths."""
        found = self.survey
        sizes = dict(zip(found.anchors, found.sizes, strict=True))
        for place, above in enumerate(found.above):
            if above != NOTHING_ABOVE:
                either = found.sizes[place] + sizes[above] - found.shared[place]
                yield place, found.shared[place] * MILLION // either

    def seams(self, limit: int) -> list[Seam]:
        """Returns where slices have least in common with the slice of the anchor above; none where both are equal."""
        found, session = self.survey, self.session
        rank = session.columns.rank
        unlike = (each for each in self.overlaps() if each[1] < MILLION)
        least = nsmallest(limit, unlike, key=lambda each: (each[1], rank[found.anchors[each[0]]]))
        return [
            Seam(session.id_of(found.anchors[place]), session.id_of(found.above[place]), overlap)
            for place, overlap in least
        ]


class Totals(NamedTuple):
    """The figures of an atlas as a whole."""

    turns: int
    anchors: int
    reached: int
    slice_turns: int  # of all slices together
    overlap: int | None  # the mean overlap with the slice above, in millionths

    @property
    def coverage(self) -> int:
        """The share of the turns that stand in the slice of another turn, in millionths."""
        return self.reached * MILLION // self.turns if self.turns else 0


def totals(sessions: Iterable[SessionAtlas]) -> Totals:
    """Adds the figures of sessions up."""
    turns = anchors = reached = slice_turns = overlap = pairs = 0
    for each in sessions:
        turns += len(each.session)
        anchors += len(each.survey.anchors)
        reached += each.reached
        slice_turns += sum(each.survey.sizes)
        for _, shared in each.overlaps():
            overlap += shared
            pairs += 1
    return Totals(turns, anchors, reached, slice_turns, overlap // pairs if pairs else None)


# What an atlas was made from


_Length = Annotated[int, Meta(ge=0, le=LARGEST_INTEGER)]


class SurveyedSession(Struct, frozen=True, forbid_unknown_fields=True):
    """A session in the state in which it was surveyed: the lengths and heads of its chains, and the result."""

    session: str
    turns: _Length
    links: _Length
    annotations: _Length
    heads: tuple[str, str, str]  # of the chains of turns, links and annotations; empty for an empty chain
    result: str  # the digest of all figures


class AtlasManifest(Struct, frozen=True, forbid_unknown_fields=True):
    """What an atlas was made from, so that it can be made again, also when its sessions have grown."""

    atlas: str
    policy: dict[str, Any]
    anchors: AnchorChoice
    sessions: tuple[SurveyedSession, ...]
