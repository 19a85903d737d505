"""Draws the rooms of the package and their imports: `python -m tools.house` writes docs/images/house.svg.

Floors are bands, rooms are boxes, and an arrow leads from a room to one that it imports. An arrow that a path of other
arrows implies is left out. The same tree gives the same bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape

from tools.imports import PROJECT
from tools.layout import Edge, Layout, graph_of, place, reduced, spread
from tools.rooms import House, Room, Size, read_house

PICTURE = PROJECT / "docs" / "images" / "house.svg"

CAPTIONS = {
    "faces": "parse, call, print",
    "object": "what an application holds",
    "verbs": "read, decide, write",
    "state": "disk and databases",
    "pure": "values in, values out",
    "ground": "what every room uses",
}
TINTS = ("#eaf1fa", "#eff7ee")  # of the bands, alternately
MARGIN = 14
LABEL = 86  # width of the floors' labels
BOX = 252
GAP = 18  # between boxes
BEND = 26  # width that an arrow takes beside boxes
ROW = 26  # between rows of one floor
BAND = 14  # between a band's edge and its boxes
APART = 8  # between bands
HEAD = 64  # above the first band
FOOT = 84  # below the last
PAD = 10  # inside a box
LINE = 15
PART = 38  # height of a room inside a room
BAR = 40  # width of the longest bar in the table
# Widths of letters in DejaVu Sans, rounded up, in parts of the font size: what fits in them fits in most fonts.
WIDTHS = {**dict.fromkeys("ijl", 0.28), **dict.fromkeys(" .,:;'", 0.34), **dict.fromkeys("frt-()", 0.42), "m": 0.98}
CAPITAL = 0.78
LETTER = 0.64
SMALL = 11

STYLE = """
text { font-family: "DejaVu Sans", Verdana, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 11px; fill: #1f2933; }
.title { font-size: 18px; font-weight: bold; }
.floor-name { font-size: 15px; font-weight: bold; }
.room-name { font-size: 14px; font-weight: bold; }
.part-name { font-weight: bold; }
.quiet { fill: #52606d; }
.right { text-anchor: end; }
.figure { font-size: 20px; font-weight: bold; }
.box { fill: #ffffff; stroke: #7b8794; }
.part-box { fill: #f5f7fa; stroke: #cbd2d9; }
.bar { fill: #c3d3e8; }
.line { fill: none; stroke: #8fa8cb; }
.arrow polygon { fill: #8fa8cb; }
"""


@dataclass(frozen=True)
class Frame:
    """A rectangle in the drawing."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Returns the x of the right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Returns the y of the lower edge."""
        return self.y + self.height

    @property
    def middle(self) -> float:
        """Returns the x of the centre."""
        return self.x + self.width / 2


@dataclass(frozen=True)
class Plan:
    """Where everything is: bands of floors, boxes of rooms and gaps for bends, and the left edge of the table."""

    bands: Mapping[str, Frame]
    boxes: Mapping[str, Frame]
    layout: Layout
    table: float
    width: float
    height: float


def main() -> None:
    """Writes the drawing of the package as it is on disk."""
    house = read_house()
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(draw(house), encoding="utf-8", newline="\n")
    print(f"{PICTURE.relative_to(PROJECT)}: {len(house.rooms)} rooms, {figures(house.size)}")


def draw(house: House) -> str:
    """Returns the drawing as the text of an SVG file."""
    plan = planned(house)
    width, height = number(plan.width), number(plan.height)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' role="img">',
        "<title>The rooms of Slicebase and what they import</title>",
        f"<style>{STYLE}</style>",
        rectangle(Frame(0, 0, plan.width, plan.height), fill="#ffffff"),
        text(MARGIN, 30, "The rooms of Slicebase", "title"),
        text(MARGIN, 50, "Imports point down: a room imports only rooms below it.", "quiet"),
        *draw_floors(plan),
        *draw_arrows(house, plan),
    ]
    for room in house.rooms.values():
        lines += draw_room(room, plan.boxes[room.name])
    lines += [*draw_table(house, plan), *draw_figures(house, plan), "</svg>", ""]
    return "\n".join(lines)


# Planning


def planned(house: House) -> Plan:
    """Returns the places of everything, from the top floor down."""
    names = {floor: [room.name for room in rooms] for floor, rooms in house.floors.items()}
    graph = graph_of(house.rooms, house.imports)
    layout = place(list(names.values()), graph, reduced(graph), BOX + GAP, BEND)
    first = min(layout.centres[node] for row in layout.rows for node in row if node in house.rooms) - BOX / 2
    shift = MARGIN + LABEL + BAND - first
    boxes: dict[str, Frame] = {}
    bands: dict[str, Frame] = {}
    y = float(HEAD)
    for floor, rooms in house.floors.items():
        top, low = y, y + BAND
        for row in (row for row in layout.rows if set(row) & set(names[floor])):
            height = max(height_of(house.rooms[node]) for node in row if node in house.rooms)
            for node in row:
                wide = BOX if node in house.rooms else 0
                tall = height_of(house.rooms[node]) if node in house.rooms else height
                boxes[node] = Frame(layout.centres[node] + shift - wide / 2, low, wide, tall)
            low += height + ROW
        rows = sum(1 + len(room.parts) for room in rooms)
        y = max(low - ROW, top + BAND + LINE * rows) + BAND
        bands[floor] = Frame(MARGIN, top, 0, y - top)
        y += APART
    table = max(frame.right for frame in boxes.values()) + GAP
    width = table + columns(house)[-1] + BAND + MARGIN
    bands = {floor: Frame(band.x, band.y, width - 2 * MARGIN, band.height) for floor, band in bands.items()}
    return Plan(bands, boxes, layout, table, width, y - APART + FOOT)


def sentence(room: Room) -> list[str]:
    """Returns the lines of a room's subject, as its box shows them."""
    return wrapped(room.subject, BOX - 2 * PAD)


def height_of(room: Room) -> float:
    """Returns the height of a room's box."""
    return PAD + 14 + LINE * len(sentence(room)) + PAD + (PART + PAD if room.parts else 0)


def columns(house: House) -> tuple[float, float, float, float]:
    """Returns where modules and lines end, bars begin and largest modules end, from the left edge of the table."""
    every = [each for room in house.rooms.values() for each in (room, *room.parts)]
    modules = max(breadth(each.file) for each in every) + PAD + breadth("modules")
    lines = modules + PAD + breadth("99,999")
    largest = lines + PAD + BAR + PAD + max(breadth(largest_of(each.size)) for each in every)
    return modules, lines, lines + PAD / 2, largest


def largest_of(size: Size) -> str:
    """Returns the name and the length of the largest module."""
    return f"{size.largest.removesuffix('.py')} {size.largest_lines}"


# Drawing: coordinates have at most one decimal, which keeps the file small and the same on every machine.


def draw_floors(plan: Plan) -> Iterator[str]:
    """Draws the floors: a band each, with its name and what the floor is for."""
    for order, (floor, band) in enumerate(plan.bands.items()):
        yield f'<g class="floor" data-floor="{floor}">'
        yield rectangle(band, "band", 8, TINTS[order % 2])
        yield text(band.x + PAD, band.y + 26, floor, "floor-name")
        for line, caption in enumerate(wrapped(CAPTIONS.get(floor, ""), LABEL)):
            yield text(band.x + PAD, band.y + 44 + line * LINE, caption, "quiet")
        yield "</g>"


def draw_room(room: Room, frame: Frame) -> Iterator[str]:
    """Draws a room: its name, figures and subject, and the rooms inside it."""
    left, right = frame.x + PAD, frame.right - PAD
    y = frame.y + PAD + 11
    yield f'<g class="room" data-room="{room.name}">'
    yield rectangle(frame, "box", 6)
    yield text(left, y, room.file, "room-name")
    yield text(right, y, figures(room.size), "quiet right")
    for line in sentence(room):
        y += LINE
        yield text(left, y + 3, line)
    width = (right - left + 6) / max(1, len(room.parts)) - 6
    for order, part in enumerate(room.parts):
        inner = Frame(left + order * (width + 6), y + PAD + 3, width, PART)
        yield f'<g class="part" data-room="{room.name}/{part.name}">'
        yield f"<title>{escape(part.subject)}</title>"
        yield rectangle(inner, "part-box", 4)
        yield text(inner.x + 5, inner.y + 15, part.name, "part-name")
        yield text(inner.x + 5, inner.y + 30, counted(part.size.modules, "module"), "quiet")
        yield "</g>"
    yield "</g>"


def draw_arrows(house: House, plan: Plan) -> Iterator[str]:
    """Draws an arrow for each import that no path of other arrows implies."""
    starts = ports(plan, house, down=True)
    ends = ports(plan, house, down=False)
    for edge, chain in plan.layout.chains.items():
        start, end = plan.boxes[edge[0]], plan.boxes[edge[1]]
        points = [(starts[edge], start.bottom)]
        for bend in (plan.boxes[node] for node in chain[1:-1]):
            points += [(bend.x, bend.y), (bend.x, bend.bottom)]
        yield from draw_arrow(edge, house.imports[edge], [*points, (ends[edge], end.y)])


def ports(plan: Plan, house: House, *, down: bool) -> dict[Edge, float]:
    """Returns the x at which each arrow leaves its room (`down`) or arrives: towards the other end, side by side."""
    found: dict[Edge, float] = {}
    for room in house.rooms:
        frame = plan.boxes[room]
        wanted: list[tuple[float, Edge]] = []
        for edge, chain in plan.layout.chains.items():
            if edge[0 if down else 1] == room:
                other = plan.boxes[chain[1 if down else -2]]
                aim = (other.middle + frame.middle) / 2 if other.width else other.x
                wanted.append((min(max(aim, frame.x + 2 * PAD), frame.right - 2 * PAD), edge))
        wanted.sort()
        places = spread([x for x, _ in wanted], [1.0] * len(wanted), [18.0] * (len(wanted) - 1)) if wanted else []
        found |= {edge: x for (_, edge), x in zip(wanted, places, strict=True)}
    return found


def draw_arrow(edge: Edge, count: int, points: Sequence[tuple[float, float]]) -> Iterator[str]:
    """Draws a smooth arrow through these points, thick when many modules import. It is upright at each point."""
    thick = thickness(count)
    tip = 6 + thick
    x, y = points[-1]
    stops = [*points[:-1], (x, y - tip + 1)]
    path = f"M{number(stops[0][0])} {number(stops[0][1])}"
    for (x0, y0), (x1, y1) in pairwise(stops):
        half = number((y0 + y1) / 2)
        path += f" C{number(x0)} {half} {number(x1)} {half} {number(x1)} {number(y1)}"
    corners = [(x, y), (x - tip / 2, y - tip), (x + tip / 2, y - tip)]
    yield f'<g class="arrow" data-from="{edge[0]}" data-to="{edge[1]}" data-modules="{count}">'
    yield f"<title>{counted(count, 'module')} of {edge[0]} import{'s' if count == 1 else ''} {edge[1]}</title>"
    yield f'<path class="line" d="{path}" stroke-width="{number(thick)}"/>'
    yield f'<polygon points="{" ".join(f"{number(x)},{number(y)}" for x, y in corners)}"/>'
    yield "</g>"


def thickness(count: int) -> float:
    """Returns how thick the arrow for this many importing modules is."""
    return min(6.0, 1 + count / 3)


def draw_table(house: House, plan: Plan) -> Iterator[str]:
    """Draws the table of rooms beside the floors: modules, lines with a bar, and the largest module."""
    modules, lines, bars, largest = (plan.table + edge for edge in columns(house))
    longest = max(room.size.lines for room in house.rooms.values())
    yield text(plan.table, HEAD - 10, "room", "quiet")
    yield text(modules, HEAD - 10, "modules", "quiet right")
    yield text(lines, HEAD - 10, "lines", "quiet right")
    yield text(largest, HEAD - 10, "largest module", "quiet right")
    for floor, rooms in house.floors.items():
        y = plan.bands[floor].y + BAND + SMALL
        for room in sorted(rooms, key=lambda room: plan.boxes[room.name].y):
            for each in (room, *room.parts):
                shade = "" if each is room else " quiet"
                yield f'<g class="sizes" data-room="{each.name if each is room else f"{room.name}/{each.name}"}">'
                yield rectangle(Frame(bars, y - 9, BAR * each.size.lines / longest, LINE - 5), "bar", 2)
                yield text(plan.table + (0 if each is room else PAD), y, each.file, shade.strip())
                yield text(modules, y, f"{each.size.modules}", f"right{shade}")
                yield text(lines, y, f"{each.size.lines:,}", f"right{shade}")
                yield text(largest, y, largest_of(each.size), f"right{shade}")
                yield "</g>"
                y += LINE


def draw_figures(house: House, plan: Plan) -> Iterator[str]:
    """Draws the figures of the whole package and the meaning of the arrows below the floors."""
    size = house.size
    x, y = float(MARGIN + PAD), plan.height - FOOT + 40
    for name, value, caption in (
        ("modules", f"{size.modules}", "modules"),
        ("lines", f"{size.lines:,}", "lines"),
        ("rooms", f"{len(house.rooms)}", "rooms"),
        ("largest", f"{size.largest_lines}", f"lines in the largest module, {size.largest}"),
    ):
        yield text(x, y, value, "figure", f"figure-{name}")
        yield text(x, y + 18, caption, "quiet")
        x += max(breadth(value, 22), breadth(caption)) + 2 * PAD
    most = max(house.imports[edge] for edge in plan.layout.chains)
    meaning = "Arrows show direct imports; those that other arrows imply are left out."
    x = plan.width - MARGIN - PAD - breadth(meaning)
    for count in (1, most):
        yield f'<path class="line" d="M{number(x)} {number(y - 4)} h26" stroke-width="{number(thickness(count))}"/>'
        yield text(x + 34, y, f"{counted(count, 'module')} import{'s' if count == 1 else ''}", "quiet")
        x += 160
    yield text(plan.width - MARGIN - PAD, y + 18, meaning, "quiet right")


def figures(size: Size) -> str:
    """Returns modules and lines in words."""
    return f"{counted(size.modules, 'module')}, {size.lines:,} lines"


def counted(count: int, what: str) -> str:
    """Returns a number with its noun."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def wrapped(content: str, width: float) -> list[str]:
    """Returns small text as lines that fit in a width."""
    lines: list[str] = []
    for word in content.split():
        if lines and breadth(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def breadth(content: str, size: int = SMALL) -> float:
    """Returns the width that text takes at most."""
    return size * sum(WIDTHS.get(letter, CAPITAL if letter.isupper() else LETTER) for letter in content)


def number(value: float) -> str:
    """Returns a coordinate as text."""
    return f"{value:.1f}".removesuffix(".0")


def text(x: float, y: float, content: str, kind: str = "", name: str = "") -> str:
    """Returns a line of text as SVG."""
    marks = (f' id="{name}"' if name else "") + (f' class="{kind}"' if kind else "")
    return f'<text{marks} x="{number(x)}" y="{number(y)}">{escape(content)}</text>'


def rectangle(frame: Frame, kind: str = "", corner: int = 0, fill: str = "") -> str:
    """Returns a rectangle as SVG."""
    marks = (f' class="{kind}"' if kind else "") + (f' rx="{corner}"' if corner else "")
    marks += f' fill="{fill}"' if fill else ""
    x, y, width, height = map(number, (frame.x, frame.y, frame.width, frame.height))
    return f'<rect{marks} x="{x}" y="{y}" width="{width}" height="{height}"/>'


if __name__ == "__main__":
    main()
