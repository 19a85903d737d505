"""Draws the atlas of a session as SVG: its tree, every turn coloured by its influence.

Each turn has a row of its own below its first parent, and each branch a lane. Rows go on in the next column where a
column is full. The picture has no script and no text of a turn, asks for nothing from elsewhere, and follows
the colour scheme of who looks at it. The same atlas gives the same bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, sqrt
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

from slicebase.errors import SlicebaseError
from slicebase.graph.atlas import SessionAtlas
from slicebase.graph.compact import TURN_KINDS, CompactSession
from slicebase.graph.policy import MILLION

MOST_DRAWN: Final = 50_000  # turns; a picture of them has about 8 MB
LEVELS: Final = 6  # of influence: each colour is for as many turns, but for equal ones
_PITCH: Final = 11  # pixels between rows and between lanes
_MARGIN: Final = 24
_HEAD: Final = 62  # pixels above the tree
_GAP: Final = 3  # lanes between columns
_LEAST_ROWS: Final = 14
_WIDER: Final = 1.6  # how many times as wide as high the tree is
_RINGS: Final = 8  # turns that are marked as bridges
_LEAST_WIDTH: Final = 560  # of the heading
_LONGEST_TITLE: Final = 55  # letters that the least width has a place for

_STYLE: Final = """
text { font: 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #3e4c59; }
.title { font-size: 15px; font-weight: 600; fill: #1f2933; }
.page { fill: #ffffff; }
path { fill: none; stroke: #cbd2d9; stroke-width: 1.4; }
.other { stroke-dasharray: 3 3; }
circle { stroke: none; }
.l0 { fill: #d6e4f0; } .l1 { fill: #a9cce3; } .l2 { fill: #6fb1d6; }
.l3 { fill: #3b8fc2; } .l4 { fill: #1f6ba5; } .l5 { fill: #0b3c6f; }
.none { fill: #ffffff; stroke: #9aa5b1; stroke-width: 1.2; }
.bridge { fill: none; stroke: #d9480f; stroke-width: 1.6; }
@media (prefers-color-scheme: dark) {
text { fill: #c5ced8; } .title { fill: #f1f5f9; } .page { fill: #14191f; } path { stroke: #3c4753; }
.l0 { fill: #243b4e; } .l1 { fill: #2b5876; } .l2 { fill: #3378a0; }
.l3 { fill: #4c9fcb; } .l4 { fill: #85c5e8; } .l5 { fill: #d6eefc; }
.none { fill: #14191f; stroke: #7b8794; } .bridge { stroke: #ff922b; }
}
"""


class _Spot(NamedTuple):
    row: int
    lane: int


class _Tree(NamedTuple):
    """The turns as a tree by their first parents, in the order of the rows, and where they stand."""

    order: Sequence[int]
    spots: Mapping[int, _Spot]
    above: Mapping[int, int]


class _Page(NamedTuple):
    """How the rows are divided into columns: the rows of a column, and the first lane of each column."""

    rows: int
    starts: Sequence[int]
    lanes: int

    def x(self, column: int, lane: int) -> int:
        return _MARGIN + _PITCH * (self.starts[column] + lane)

    def y(self, row: int) -> int:
        return _HEAD + _MARGIN + _PITCH * (row % self.rows)

    def point(self, spot: _Spot) -> tuple[int, int]:
        return self.x(spot.row // self.rows, spot.lane), self.y(spot.row)


def svg(atlas: SessionAtlas) -> str:
    """Returns the picture of a session's atlas. Raises `too-large` for a session with too many turns."""
    session = atlas.session
    if len(session) > MOST_DRAWN:
        hint = "`tt atlas --json` has the figures of a session of any size"
        raise SlicebaseError("too-large", f"a picture of {len(session)} turns is too large", hint=hint)
    tree = _tree(session)
    page = _page([tree.spots[turn] for turn in tree.order])
    width = max(_LEAST_WIDTH, 2 * _MARGIN + _PITCH * page.lanes)
    height = _HEAD + 2 * _MARGIN + _PITCH * min(page.rows, len(session))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" aria-label="{_title(atlas)}">',
            f"<style>{_STYLE}</style>",
            f'<rect class="page" width="{width}" height="{height}"/>',
            *_heading(atlas),
            *_edges(session, tree, page),
            *_turns(atlas, tree, page),
            "</svg>\n",
        ]
    )


def _tree(session: CompactSession) -> _Tree:
    """Returns where each turn stands. Of a turn's children, the one with most below it goes on in the turn's lane.

    The others come before it, each in the lane beside. So lanes never cross, and there are few of them: of n turns, at
    most the logarithm of n to base 2, and one.
    """
    rank = session.columns.rank
    times = [fields[-1] for fields in session.columns.packing.iter_unpack(session.columns.rest)]
    downwards = _parents_first(session)
    above = {turn: min(parents, key=rank.__getitem__) for turn in downwards if (parents := session.parents_of(turn))}
    below: dict[int, list[int]] = {turn: [] for turn in downwards}
    sizes = dict.fromkeys(downwards, 1)
    for turn in reversed(downwards):
        if turn in above:
            sizes[above[turn]] += sizes[turn]
            below[above[turn]].append(turn)

    def by_time(turn: int) -> tuple[int, int]:
        return times[turn], rank[turn]

    spots: dict[int, _Spot] = {}
    pending = [(turn, 0) for turn in sorted((turn for turn in downwards if turn not in above), key=by_time)[::-1]]
    while pending:
        turn, lane = pending.pop()
        spots[turn] = _Spot(len(spots), lane)
        if below[turn]:
            main = max(below[turn], key=lambda child: (sizes[child], -times[child], -rank[child]))
            pending.append((main, lane))
            beside = sorted((child for child in below[turn] if child != main), key=by_time)
            pending += [(child, lane + 1) for child in reversed(beside)]
    return _Tree(list(spots), spots, above)


def _parents_first(session: CompactSession) -> list[int]:
    """Returns the turns, each after all its parents."""
    missing = [len(session.parents_of(turn)) for turn in range(len(session))]
    found = [turn for turn in range(len(session)) if not missing[turn]]
    for turn in found:  # it grows
        for child in session.children_of(turn):
            missing[child] -= 1
            if not missing[child]:
                found.append(child)
    return found


def _page(spots: Sequence[_Spot]) -> _Page:
    """Divides the rows into columns, so that the picture is somewhat wider than high."""
    if not spots:
        return _Page(1, [0], 1)
    usual = sum(spot.lane for spot in spots) / len(spots) + 1 + _GAP
    rows = max(_LEAST_ROWS, ceil(sqrt(len(spots) * usual / _WIDER)))
    starts, lanes = [], 0
    for first in range(0, len(spots), rows):
        starts.append(lanes)
        lanes += max(spot.lane for spot in spots[first : first + rows]) + 1 + _GAP
    return _Page(rows, starts, lanes - _GAP)


def _title(atlas: SessionAtlas, longest: int | None = None) -> str:
    title = f"Atlas of session {_printable(atlas.session_id)}"
    if longest is not None and len(title) > longest:
        title = f"{title[: longest - 1]}…"
    return escape(title, {'"': "&quot;"})


def _counted(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def _heading(atlas: SessionAtlas) -> Iterator[str]:
    turns = len(atlas.session)
    yield f'<text class="title" x="{_MARGIN}" y="28">{_title(atlas, _LONGEST_TITLE)}</text>'
    yield (
        f'<text x="{_MARGIN}" y="48">{_counted(turns, "turn")}, {_counted(len(atlas.survey.anchors), "slice")}, '
        f"{_counted(turns - atlas.reached, 'turn')} that no slice reaches</text>"
    )
    x = _MARGIN
    for level in range(LEVELS):
        yield f'<circle class="l{level}" cx="{x + 5}" cy="64" r="{_radius(level)}"/>'
        x += 14
    yield f'<text x="{x + 4}" y="68">influence</text>'
    yield f'<circle class="bridge" cx="{x + 79}" cy="64" r="5"/><text x="{x + 90}" y="68">bridge</text>'
    yield f'<circle class="none" cx="{x + 145}" cy="64" r="3"/><text x="{x + 156}" y="68">in no slice</text>'


def _radius(level: int) -> str:
    return f"{2.6 + 0.36 * level:.1f}"


def _edges(session: CompactSession, tree: _Tree, page: _Page) -> Iterator[str]:
    """Yields the edges: of the tree in the lanes of the parents, through all columns between; others straight."""
    for turn in tree.order:
        spot = tree.spots[turn]
        x, y = page.point(spot)
        for parent in session.parents_of(turn):
            from_spot = tree.spots[parent]
            if parent != tree.above[turn]:
                above_x, above_y = page.point(from_spot)
                yield f'<path class="other" d="M{above_x} {above_y}L{x} {y}"/>'
                continue
            lane, last = from_spot.lane, spot.row // page.rows
            path = f"M{page.x(from_spot.row // page.rows, lane)} {page.y(from_spot.row)}"
            for column in range(from_spot.row // page.rows, last):
                path += f"V{page.y(page.rows - 1) + _PITCH // 2}M{page.x(column + 1, lane)} {page.y(0) - _PITCH // 2}"
            here = page.x(last, lane)
            path += f"V{y}" if here == x else f"V{y - _PITCH // 2}Q{here} {y} {x} {y}"
            yield f'<path d="{path}"/>'


def _turns(atlas: SessionAtlas, tree: _Tree, page: _Page) -> Iterator[str]:
    session, found, levels = atlas.session, atlas.survey, _levels(atlas)
    bridges = {figure.turn for figure in atlas.figures(_RINGS, by_bridge=True)}
    for turn in tree.order:
        x, y = page.point(tree.spots[turn])
        name = session.id_of(turn)
        role, phase = TURN_KINDS[session.columns.kind[turn]]
        known = f"turn:{name[:8]} · {role} · {phase}"
        told = f"in {_counted(found.slices[turn], 'slice')}, influence {found.influence[turn] / MILLION:.2f}"
        level = levels.get(turn)
        look = f'class="l{level}" r="{_radius(level)}"' if level is not None else 'class="none" r="3"'
        yield f'<circle {look} cx="{x}" cy="{y}"><title>{known} · {told}</title></circle>'
        if name in bridges:
            yield f'<circle class="bridge" cx="{x}" cy="{y}" r="5.2"/>'


def _levels(atlas: SessionAtlas) -> dict[int, int]:
    """Returns the level of influence of each turn that a slice reaches. Turns of equal influence have the same."""
    found = atlas.survey
    reached = sorted(turn for turn in range(len(atlas.session)) if found.slices[turn])
    ordered = sorted(found.influence[turn] for turn in reached)
    first: dict[int, int] = {}
    for place, influence in enumerate(ordered):
        first.setdefault(influence, place)
    return {turn: first[found.influence[turn]] * LEVELS // len(ordered) for turn in reached}
